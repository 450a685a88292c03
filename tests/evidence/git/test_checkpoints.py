"""Checkpoints in git: layouts, hostile metadata, missing objects, how often git is asked."""

import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from helpers.checkpoints import (
    BRANCH,
    REF,
    REMOTE,
    ULID,
    Files,
    about,
    name,
    record,
    usage,
)
from helpers.doors import ends, watched_doors
from helpers.harness_lines import cases
from helpers.repos import Repo

from scoring.evidence.git import checkpoint_files, checkpoints, starter
from scoring.evidence.git.checkpoints import (
    Checkpoint,
    CheckpointSession,
    TokenTotals,
    checkpoint_ids,
    read_checkpoints,
)
from scoring.evidence.git.repository import GitRepository

REAL = Path(
    os.environ.get(
        "DA_SCORE_SHARED_REAL", Path(__file__).parents[4] / "shared" / "real"
    )
)

ID = name(7)
PLACE = f"{ID[:2]}/{ID[2:]}"
ON_BRANCH = f"entire/checkpoints/v1:{PLACE}"


def read(
    repo: Repo, warn: Callable[[str], None] = pytest.fail
) -> dict[str, Checkpoint]:
    return dict(read_checkpoints(GitRepository(repo.path), warn))


def one(repo: Repo, files: Files) -> Checkpoint:
    record(repo, {ID: files})
    (found,) = read(repo).values()
    return found


def only(repo: Repo, **keys: Any) -> CheckpointSession:
    (session,) = one(
        repo, {"0/metadata.json": about(**keys), "0/full.jsonl": b"{}\n"}
    ).sessions
    return session


class TestLayout:
    def test_has_a_folder_for_each_session(self, repo: Repo) -> None:
        files: Files = {
            "metadata.json": {
                "checkpoint_id": ID,
                "files_touched": ["a.py", "b.py"],
                "sessions": [{}, {}],
            },
            "0/metadata.json": about("s1"),
            "0/full.jsonl": b"one\n",
            "0/prompt.txt": b"never read",
            "10/metadata.json": about("s3", agent="Codex", token_usage=None),
            "10/full.jsonl": b"three\n",
            "2/metadata.json": about(
                "s2", checkpoint_transcript_start=7, transcript_lines_at_start=3
            ),
            "2/full.jsonl": b"two\n",
        }
        found = one(repo, files)
        assert (found.id, found.files_touched) == (ID, ("a.py", "b.py"))
        assert [(s.session_id, s.agent, s.start, s.size) for s in found.sessions] == [
            ("s1", "Claude Code", 0, 4),
            ("s2", "Claude Code", 7, 4),
            ("s3", "Codex", 0, 6),
        ]
        first, _, third = found.sessions
        assert first.blobs == (repo.git("rev-parse", f"{BRANCH}:{PLACE}/0/full.jsonl"),)
        assert (first.path, first.created_at) == (
            f"{ON_BRANCH}/0/full.jsonl",
            "2026-04-12T10:00:00Z",
        )
        assert (first.tokens, third.tokens) == (TokenTotals(1, 2, 3, 4, 5), None)

    @cases(
        "files, ids, path",
        {
            "the older name": (
                {"0/metadata.json": about(), "0/transcript.jsonl": b"x"},
                ["s1"],
                "0/transcript.jsonl",
            ),
            "the older name above": (
                {"metadata.json": about("s9"), "transcript.jsonl": b"x"},
                ["s9"],
                "transcript.jsonl",
            ),
            "one session above": (
                {"metadata.json": about("s9"), "full.jsonl": b"x"},
                ["s9"],
                "full.jsonl",
            ),
            "the transcript above of the session below": (
                {
                    "metadata.json": {},
                    "transcript.jsonl": b"x",
                    "0/metadata.json": about(),
                },
                ["s1"],
                "transcript.jsonl",
            ),
            "one session above and one below": (
                {
                    "metadata.json": about("s9"),
                    "full.jsonl": b"x",
                    "1/metadata.json": about(),
                },
                ["s9", "s1"],
                "full.jsonl",
            ),
            "the newer name before the older": (
                {
                    "0/full.jsonl": b"x",
                    "0/transcript.jsonl": b"old",
                    "0/metadata.json": about(),
                },
                ["s1"],
                "0/full.jsonl",
            ),
            "a compact one above, which says the same": (
                {
                    "0/full.jsonl": b"x",
                    "transcript.jsonl": b"compact",
                    "0/metadata.json": about(),
                },
                ["s1"],
                "0/full.jsonl",
            ),
            "a transcript without metadata": (
                {"metadata.json": b"gone wrong", "0/full.jsonl": b"x"},
                [""],
                "0/full.jsonl",
            ),
        },
    )
    def test_of_older_tools(
        self, repo: Repo, files: Files, ids: list[str], path: str
    ) -> None:
        found = one(repo, files)
        assert [session.session_id for session in found.sessions] == ids
        assert found.sessions[0].path == f"{ON_BRANCH}/{path}"
        assert found.sessions[0].size == 1

    def test_takes_the_files_of_the_sessions_where_the_checkpoint_names_none(
        self, repo: Repo
    ) -> None:
        below: Files = {
            "0/metadata.json": about(files_touched=["a", "b"]),
            "1/metadata.json": about(files_touched=["b"]),
        }
        assert one(
            repo, {"metadata.json": {"files_touched": None}, **below}
        ).files_touched == (
            "a",
            "b",
        )
        assert one(
            repo, {"metadata.json": {"files_touched": ["c"]}, **below}
        ).files_touched == ("c",)

    @pytest.mark.parametrize(
        ("keys", "start"),
        [
            ({"checkpoint_transcript_start": 4, "transcript_lines_at_start": 4}, 4),
            ({"checkpoint_transcript_start": None}, None),
            (
                {
                    "checkpoint_transcript_start": None,
                    "cli_version": None,
                    "transcript_lines_at_start": 5,
                },
                5,
            ),
            ({"checkpoint_transcript_start": None, "cli_version": None}, None),
        ],
    )
    def test_says_from_where_it_counts(
        self, repo: Repo, keys: dict[str, Any], start: int | None
    ) -> None:
        assert only(repo, **keys).start == start

    @pytest.mark.parametrize(
        ("written", "read_as"),
        [
            ("2026-01-05-4555072a-e039", "4555072a-e039"),
            ("2026-01-05-2026-01-06-x", "2026-01-06-x"),
            ("4555072a-2026-01-05-e039", "4555072a-2026-01-05-e039"),
            ("2026-01-05-", "2026-01-05-"),
            ("2026-1-5-x", "2026-1-5-x"),
        ],
    )
    def test_strips_the_date_of_older_session_ids(
        self, repo: Repo, written: str, read_as: str
    ) -> None:
        assert only(repo, session_id=written).session_id == read_as


class TestHostileMetadata:
    @cases(
        "content",
        {
            "empty": b"",
            "cut off": b"{",
            "a list": b"[1]",
            "no text": b"\xff\xfe{}",
            "deep": b'{"session_id": ' + b"[" * 100_000,
            "over a megabyte": b'{"session_id": "s1", "x": "'
            + b"y" * (1 << 20)
            + b'"}',
            "half a character": b'{"session_id": "\xed\xa0\x80"}',
        },
    )
    def test_is_as_if_it_were_not_there(self, repo: Repo, content: bytes) -> None:
        record(
            repo,
            {
                ID: {
                    "metadata.json": content,
                    "0/metadata.json": content,
                    "0/full.jsonl": b"x",
                }
            },
        )
        (found,) = ends(lambda: read(repo)).values()
        (session,) = found.sessions
        assert session == CheckpointSession(
            session_id="",
            agent="",
            model="",
            created_at="",
            tokens=None,
            start=None,
            path=f"{ON_BRANCH}/0/full.jsonl",
            blobs=session.blobs,
            size=1,
            missing=False,
            reviews=False,
        )

    @pytest.mark.parametrize(
        "value",
        [7, None, ["s1"], {}, "", "a\nb", "\x1b[31m", "\u202eabc", "x" * 257],
        ids=lambda value: repr(value)[:20],
    )
    def test_refuses_a_session_id_that_is_no_plain_text(
        self, repo: Repo, value: object
    ) -> None:
        files: Files = {
            "0/metadata.json": about() | {"session_id": value, "agent": value},
            "0/full.jsonl": b"x",
        }
        (session,) = one(repo, files).sessions
        assert (session.session_id, session.agent) == ("", "")
        assert session.tokens

    @pytest.mark.parametrize(
        "value",
        [-1, 1 << 41, 10**400, 1.0, True, "7", None, [7]],
        ids=lambda value: repr(value)[:12],
    )
    def test_refuses_a_number_that_cannot_be_one(
        self, repo: Repo, value: object
    ) -> None:
        said = about() | {
            "token_usage": usage(1, 2, 3, 4) | {"output_tokens": value},
            "checkpoint_transcript_start": value,
        }
        (session,) = one(
            repo, {"0/metadata.json": json.dumps(said).encode(), "0/full.jsonl": b"x"}
        ).sessions
        assert (session.tokens, session.start) == (None, None)
        assert session.session_id == "s1"

    def test_keeps_the_paths_that_are_some(self, repo: Repo) -> None:
        touched = ["a", 7, None, "", "b\0", "x" * 5000, "a", "ü/é"]
        assert one(
            repo, {"metadata.json": {"files_touched": touched}}
        ).files_touched == (
            "a",
            "ü/é",
        )

    def test_stops_at_so_many_checkpoints(
        self, repo: Repo, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        record(repo, {name(n): {"0/metadata.json": about()} for n in range(5)})
        monkeypatch.setattr(checkpoint_files, "MOST_CHECKPOINTS", 3)
        warnings: list[str] = []
        assert (
            list(read(repo, warn=warnings.append))
            == sorted(name(n) for n in range(5))[:3]
        )
        assert "more than 3" in warnings[0]

    def test_stops_at_so_many_bytes(
        self, repo: Repo, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        record(repo, {name(n): {"0/metadata.json": about(f"s{n}")} for n in range(5)})
        monkeypatch.setattr(checkpoints, "ALL_METADATA_LIMIT", 1_000)
        assert sum(bool(found.sessions) for found in read(repo).values()) == 3

    def test_takes_no_link_for_a_file(self, repo: Repo) -> None:
        blob = repo.write("blob", b"/etc/passwd")
        repo.git(
            "update-index",
            "--add",
            "--cacheinfo",
            f"120000,{blob},{PLACE}/0/full.jsonl",
        )
        repo.git(
            "update-index",
            "--add",
            "--cacheinfo",
            f"100644,{blob},{PLACE}/0/metadata.json",
        )
        repo.git(
            "update-ref",
            BRANCH,
            repo.git("commit-tree", repo.git("write-tree"), given=b""),
        )
        assert read(repo)[ID].sessions == ()


class TestBranches:
    def test_may_be_a_remotes_alone(self, repo: Repo) -> None:
        record(
            repo,
            {ID: {"0/metadata.json": about()}},
            "refs/remotes/team/fork/entire/checkpoints/v1",
        )
        assert list(read(repo)) == [ID]

    def test_are_put_together(self, repo: Repo) -> None:
        with_one: Files = {"0/metadata.json": about("one"), "0/full.jsonl": b"x"}
        with_two: Files = {"0/metadata.json": about("two"), "0/full.jsonl": b"xx"}
        record(repo, {name(1): with_one, name(3): with_one, name(4): with_one})
        record(
            repo,
            {
                name(2): with_one,
                name(3): with_two,
                name(4): {"0/metadata.json": about("three")},
            },
            REMOTE,
        )
        found = {
            at: [session.session_id for session in each.sessions]
            for at, each in read(repo).items()
        }
        assert found == {
            name(1): ["one"],
            name(2): ["one"],
            name(3): ["two"],
            name(4): ["one"],
        }

    def test_that_cannot_be_listed_are_warned_of(self, repo: Repo) -> None:
        record(repo, {ID: {"0/metadata.json": about()}})
        repo.git("update-ref", REMOTE, repo.write("tree", b""))
        record(
            repo,
            {name(9): {"0/metadata.json": about()}},
            "refs/remotes/b/entire/checkpoints/v1",
        )
        repo.lose("refs/remotes/b/entire/checkpoints/v1^{tree}")
        warnings: list[str] = []
        assert list(read(repo, warn=warnings.append)) == [ID]
        assert len(warnings) == 1


IN_REF: Files = {
    "metadata.json": {"files_touched": ["a.py"]},
    "0/metadata.json": about("s1", checkpoint_transcript_start=2),
    "0/full.jsonl": b"whole",
    "0/full.jsonl.001": b" and more",
    "0/transcript.jsonl": b"compact",
    "12/metadata.json": about("s2"),
    "12/transcript.jsonl": b"compact",
}


class TestRefsOfTheirOwn:
    def test_hold_a_checkpoint_each(self, repo: Repo) -> None:
        record(repo, {"": IN_REF}, REF)
        found = read(repo)[ULID]
        assert (found.id, found.files_touched) == (ULID, ("a.py",))
        assert [(s.session_id, s.start, s.size) for s in found.sessions] == [
            ("s1", 2, 14),
            ("s2", 0, 7),
        ]
        assert [repo.git("show", s.path) for s in found.sessions] == [
            "whole",
            "compact",
        ]

    @pytest.mark.parametrize(
        "ref",
        [
            pytest.param(
                f"00/{ULID}", id="in another folder than its last two characters"
            ),
            pytest.param(f"{ULID[-2:]}/{ULID.replace('K', 'I')}", id="no ULID"),
            pytest.param("v2/main", id="another layout"),
        ],
    )
    def test_with_another_name_are_none(self, repo: Repo, ref: str) -> None:
        record(repo, {"": IN_REF}, f"refs/entire/checkpoints/{ref}")
        assert read(repo) == {}

    def test_whose_trees_are_not_here_have_no_sessions(self, repo: Repo) -> None:
        record(repo, {"": IN_REF}, REF)
        repo.lose(f"{REF}:0")
        (session,) = read(repo)[ULID].sessions
        assert session.session_id == "s2"
        repo.lose(f"{REF}^{{tree}}")
        assert read(repo) == {}


class TestObjectsThatAreNotHere:
    def test_are_said_to_be_missing(self, repo: Repo) -> None:
        files: Files = {
            "0/metadata.json": about(),
            "0/full.jsonl": b"here",
            "0/full.jsonl.001": b"lost",
        }
        record(
            repo,
            {
                ID: files,
                name(8): {"0/metadata.json": about("lost"), "0/full.jsonl": b"here"},
            },
        )
        repo.lose(f"{BRANCH}:{PLACE}/0/full.jsonl.001")
        repo.lose(f"{BRANCH}:{name(8)[:2]}/{name(8)[2:]}/0/metadata.json")
        for _ in range(2):
            found = read(repo)
            assert [
                (s.missing, s.size, s.session_id)
                for each in found.values()
                for s in each.sessions
            ] == [
                (True, 4, "s1"),
                (False, 4, ""),
            ]
        repo.write("blob", b"lost")
        assert not read(repo)[ID].sessions[0].missing

    @pytest.mark.parametrize(
        "gives_up", [False, True], ids=["a git that goes on", "a git that gives up"]
    )
    def test_are_not_fetched(
        self,
        repo: Repo,
        tmp_path: Path,
        monkeypatch: pytest.MonkeyPatch,
        gives_up: bool,
    ) -> None:
        repo.commit({"a": "1"})
        record(
            repo,
            {
                name(n): {"0/metadata.json": about(), "0/full.jsonl": b"x%d" % n}
                for n in range(40)
            },
        )
        for key in ("uploadpack.allowFilter", "uploadpack.allowAnySHA1InWant"):
            repo.config(key, "true")
        repo.git(
            "clone",
            "-q",
            "--filter=blob:none",
            "--no-local",
            f"file://{repo.path}",
            str(tmp_path / "clone"),
        )
        clone = Repo.at(tmp_path / "clone")
        here = clone.git("cat-file", "--batch-all-objects", "--batch-check")
        if gives_up:  # as git did before it knew the variable
            monkeypatch.delitem(starter._ENVIRONMENT, "GIT_NO_LAZY_FETCH")
        found = read(clone)
        assert len(found) == 40
        assert all(
            session.missing for each in found.values() for session in each.sessions
        )
        assert clone.git("cat-file", "--batch-all-objects", "--batch-check") == here


class TestAsking:
    @pytest.mark.parametrize("count", [1, 150])
    def test_takes_as_many_processes_for_many_as_for_one(
        self, repo: Repo, count: int
    ) -> None:
        record(
            repo,
            {
                name(n): {"0/metadata.json": about(), "0/full.jsonl": b"x%d" % n}
                for n in range(count)
            },
        )
        opened = GitRepository(repo.path)
        with watched_doors() as doors:
            assert len(read_checkpoints(opened)) == count
        assert len(doors.commands) == 5


class TestMessages:
    @cases(
        "message, ids",
        {
            "a trailer": (f"Subject\n\nEntire-Checkpoint: {ID}\n", (ID,)),
            "several": (
                f"1\n\nEntire-Checkpoint: {ID}\n\n2\n\nEntire-Checkpoint: {name(2)}\nBy: X\n",
                (ID, name(2)),
            ),
            "a ULID": (f"Subject\n\nEntire-Checkpoint: {ULID}\n", (ULID,)),
            "one in small letters": (
                f"Subject\n\nEntire-Checkpoint: {ULID.lower()}\n",
                (),
            ),
            "a longer one": (f"Subject\n\nEntire-Checkpoint: {ULID}0\n", ()),
            "indented, twice": (
                f"Squashed\n\n    Entire-Checkpoint: {ID}\r\n    Entire-Checkpoint: {ID}",
                (ID,),
            ),
            "within a sentence": (f"Subject\n\nsee Entire-Checkpoint: {ID}\n", ()),
            "too long": (f"Subject\n\nEntire-Checkpoint: {ID}0\n", ()),
            "too short": (f"Subject\n\nEntire-Checkpoint: {ID[:11]}\n", ()),
            "no hex digits": (
                f"Subject\n\nEntire-Checkpoint: {ID.replace('0', 'g')}\n",
                (),
            ),
            "on the next line": ("Subject\n\nEntire-Checkpoint:\n0123456789ab\n", ()),
            "no message": ("", ()),
            "at the end of the subject": (f"Fix it Entire-Checkpoint: {ID}\n", (ID,)),
            "before the number of a pull request": (
                f"Fix it Entire-Checkpoint: {ID} (#12)\n\nBody\n",
                (ID,),
            ),
            "within the subject": (f"Fix Entire-Checkpoint: {ID} in it\n", ()),
            "in the subject of what is reverted": (
                f'Revert "Fix it Entire-Checkpoint: {ID}"\n',
                (),
            ),
            "too long in the subject": (f"Fix it Entire-Checkpoint: {ID}0\n", ()),
        },
    )
    def test_name_checkpoints(self, message: str, ids: tuple[str, ...]) -> None:
        assert checkpoint_ids(message) == ids

    def test_are_read_in_linear_time(self) -> None:
        text = (" " * 1_000 + "\t") * 2_000 + "\n" + "Entire-Checkpoint: " * 50_000
        assert ends(lambda: checkpoint_ids(text)) == ()
        assert ends(lambda: checkpoint_ids(text.replace("\n", ""))) == ()


@pytest.mark.slow
@pytest.mark.skipif(
    not REAL.exists(), reason=f"the real repositories are not at {REAL}"
)
@pytest.mark.parametrize(
    ("bundle", "checkpoints", "sessions", "transcripts"),
    [("entire-cli.bundle", 239, 259, 218), ("git-sync.bundle", 174, 305, 128)],
)
def test_reads_real_checkpoints(
    tmp_path: Path, bundle: str, checkpoints: int, sessions: int, transcripts: int
) -> None:
    clone = tmp_path / "clone"
    subprocess.run(
        ["git", "clone", "-q", "--bare", REAL / bundle, clone / ".git"], check=True
    )
    repo = Repo.at(clone)
    repo.config("core.bare", "false")
    found = read(repo)
    known = [session for each in found.values() for session in each.sessions]
    assert len(found) == checkpoints
    assert len(known) == sessions
    assert sum(bool(session.blobs) for session in known) == transcripts
    assert not any(session.missing for session in known)
