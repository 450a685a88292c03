"""Where transcripts are found, which copy of one is read, and whose work counts."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from helpers.harness_lines import (
    as_bytes,
    cases,
    counts,
    meta,
    read,
    response,
    tokens,
    turn,
    write,
)
from helpers.repos import Repo
from helpers.timing import seconds_of, too_slow

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

from scoring.evidence.harnesses.discovery import discover
from scoring.evidence.harnesses.readers import HARNESSES
from scoring.evidence.harnesses.unread import UNREAD
from scoring.evidence.transcripts import opening
from scoring.evidence.transcripts.facts import TranscriptPlaces, TranscriptSurvey


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "home"
    folder.mkdir()
    monkeypatch.setenv("HOME", str(folder))
    return folder


def turns(places: TranscriptPlaces | Path, **keys: Any) -> int:
    return read(places, **keys)[0][0].turns


def left_out(survey: TranscriptSurvey) -> dict[str, str]:
    return {file.path.name: file.left_out for file in survey.files if file.left_out}


def rollout(
    path: Path, name: str = "1", cwd: str = "/work/app", given: int = 100
) -> Path:
    return write(
        path, meta(1, name, cwd), turn(2, cwd=cwd), tokens(3, counts(given, 60, 7))
    )


def compress(path: Path) -> Path:
    packed = path.with_name(path.name + ".zst")
    packed.write_bytes(zstd.compress(path.read_bytes()))
    path.unlink()
    return packed


def auto(repo: Repo | Path) -> TranscriptPlaces:
    return TranscriptPlaces(repo.path if isinstance(repo, Repo) else repo, auto=True)


@pytest.mark.parametrize(
    "variable",
    [
        "CLAUDE_CONFIG_DIR",
        "CLINE_DATA_DIR",
        "CLINE_DIR",
        "CODEX_HOME",
        "CURSOR_CONFIG_DIR",
        "GOOSE_PATH_ROOT",
        "KIMI_SHARE_DIR",
        "OPENCODE_DB",
        "PI_CODING_AGENT_DIR",
        "PI_CODING_AGENT_SESSION_DIR",
        "XDG_DATA_HOME",
    ],
)
@pytest.mark.usefixtures("home")
def test_a_home_of_an_unknown_user_has_no_sessions(
    monkeypatch: pytest.MonkeyPatch, variable: str
) -> None:
    monkeypatch.setenv(variable, "~nobody-by-this-name/x")
    for harness in HARNESSES:
        assert not any(one.path.exists() for one in harness.homes(os.environ))
    assert [harness.count_sessions(os.environ) for harness in UNREAD] == [0] * len(
        UNREAD
    )


class TestFolder:
    @pytest.mark.parametrize(
        ("name", "problem"),
        [
            ("missing", "no such directory; skipped"),
            ("file.jsonl", "not a directory; skipped"),
            ("empty", "no *.jsonl"),
        ],
    )
    def test_that_is_named_and_gives_nothing_is_warned_of(
        self, tmp_path: Path, name: str, problem: str
    ) -> None:
        (tmp_path / "empty").mkdir()
        write(tmp_path / "file.jsonl", response(1))
        warnings: list[str] = []
        (found,), survey = read(tmp_path / name, warn=warnings.append)
        assert found.turns == 0
        assert [
            text.startswith(f"transcript directory {tmp_path / name}: {problem}")
            for text in warnings
        ] == [True]
        assert survey.roots[0].problem

    def test_that_cannot_be_listed_is_skipped_with_a_warning(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        write(tmp_path / "t" / "a.jsonl", response(1))
        write(tmp_path / "t" / "closed" / "b.jsonl", response(2, "msg_2"))
        scandir = os.scandir

        def refuse(path: Any) -> Any:
            if str(path).endswith("closed"):
                raise PermissionError(13, "Permission denied", path)
            return scandir(path)

        monkeypatch.setattr(os, "scandir", refuse)
        warnings: list[str] = []
        assert turns(tmp_path / "t", warn=warnings.append) == 1
        assert warnings == [
            f"transcript directory {tmp_path / 't' / 'closed'}: permission denied; skipped"
        ]


class TestFile:
    def test_with_two_names_is_read_once(self, tmp_path: Path) -> None:
        path = rollout(tmp_path / "t" / "a.jsonl")
        os.link(path, tmp_path / "t" / "b.jsonl")
        (tmp_path / "t" / "c.jsonl").symlink_to(path)
        (found,), survey = read(
            TranscriptPlaces(
                Path("/nowhere"), (tmp_path / "t", tmp_path / "t" / "..", tmp_path)
            )
        )
        assert found.turns == 1
        assert set(left_out(survey).values()) == {"another name of a file that is read"}

    def test_that_is_no_file_is_warned_of_and_left_out(self, tmp_path: Path) -> None:
        rollout(tmp_path / "t" / "a.jsonl")
        os.mkfifo(tmp_path / "t" / "b.jsonl")
        (tmp_path / "t" / "c.jsonl").symlink_to("nowhere")
        warnings: list[str] = []
        assert turns(tmp_path / "t", warn=warnings.append) == 1
        assert warnings == [
            f"transcript {tmp_path}/t/b.jsonl: is not a plain file; skipped",
            f"transcript {tmp_path}/t/c.jsonl: no such file or directory; skipped",
        ]

    def test_that_is_compressed_ends_without_a_line_break(self, tmp_path: Path) -> None:
        path = tmp_path / "t" / "a.jsonl.zst"
        path.parent.mkdir()
        path.write_bytes(
            zstd.compress(as_bytes([response(1), response(2, "msg_2")])[:-1])
        )
        for _ in range(2):
            assert turns(tmp_path / "t", cache_dir=tmp_path / "cache") == 2
        path.write_bytes(
            path.read_bytes() + zstd.compress(b"\n" + as_bytes([response(3, "msg_3")]))
        )
        assert turns(tmp_path / "t", cache_dir=tmp_path / "cache") == 3

    @cases(
        "data, limits, said",
        {
            "garbage": (b"no zstd", {}, "no zstd data that can be read"),
            "bomb": (
                zstd.compress(b"{}\n" * 100_000),
                {"LIMIT": 200_000},
                "more than 0 GiB",
            ),
            "window": (
                zstd.compress(
                    os.urandom(1 << 20) * 9,
                    options={zstd.CompressionParameter.window_log: 24},
                ),
                {"WINDOW_LOG_LIMIT": 20},
                "no zstd data that can be read",
            ),
        },
    )
    def test_that_cannot_be_decompressed_is_skipped(
        self,
        tmp_path: Path,
        monkeypatch: pytest.MonkeyPatch,
        data: bytes,
        limits: dict[str, int],
        said: str,
    ) -> None:
        for name, value in limits.items():
            monkeypatch.setattr(opening, name, value)
        path = write(tmp_path / "t" / "a.jsonl.zst")
        path.write_bytes(data)
        write(tmp_path / "t" / "b.jsonl", response(1))
        warnings: list[str] = []
        (found,), survey = read(tmp_path / "t", warn=warnings.append)
        assert found.turns == 1
        assert [text.startswith(f"transcript {path}: {said}") for text in warnings] == [
            True
        ]
        assert left_out(survey) == {"a.jsonl.zst": "cannot be read"}


class TestRollout:
    @pytest.mark.parametrize("packed", ["", "active", "archived"])
    def test_is_read_once_where_it_is_active(self, tmp_path: Path, packed: str) -> None:
        archived = rollout(
            tmp_path / "t" / "archived_sessions" / "rollout-1.jsonl", given=900
        )
        active = rollout(
            tmp_path / "t" / "sessions" / "2026" / "04" / "12" / "rollout-1.jsonl"
        )
        for name, path in (("active", active), ("archived", archived)):
            if name == packed:
                compress(path)
        (found,), survey = read(tmp_path / "t")
        assert (found.turns, found.input_tokens) == (1, 100)
        assert list(left_out(survey).values()) == [
            "an archived or second copy of a rollout that is read"
        ]


class TestAutomatic:
    def test_places_are_those_of_the_harnesses(self, home: Path, repo: Repo) -> None:
        cwd = str(repo.path)
        for n, place in enumerate(
            (".claude/projects/-x", ".config/claude/projects/-x/s/subagents/deep")
        ):
            write(home / place / f"{n}.jsonl", response(n, f"msg_{n}", cwd=cwd))
        write(home / ".claude" / "history.jsonl", response(8, "msg_8", cwd=cwd))
        rollout(home / ".codex" / "sessions" / "2026" / "rollout-1.jsonl", "1", cwd)
        rollout(home / ".codex" / "archived_sessions" / "rollout-2.jsonl", "2", cwd)
        rollout(home / ".codex" / "sessions" / "other.jsonl", "3", cwd)
        (found,), survey = read(auto(repo))
        assert [(h.name, h.turns) for h in found.harnesses] == [
            ("claude", 2),
            ("codex", 2),
        ]
        with_files = [root for root in survey.roots if root.files]
        assert [(root.origin, root.harness, root.files) for root in with_files] == [
            ("~/.config/claude", "claude", 1),
            ("~/.claude", "claude", 1),
            ("~/.codex", "codex", 1),
            ("~/.codex", "codex", 1),
        ]

    def test_places_that_are_not_there_are_told_without_a_warning(
        self, home: Path, repo: Repo
    ) -> None:
        warnings: list[str] = []
        _, survey = read(auto(repo), warn=warnings.append)
        assert {root.problem for root in survey.roots} == {"no such directory"}
        assert not warnings
        assert not list(home.iterdir())

    def test_places_may_be_moved(
        self, home: Path, repo: Repo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        cwd = str(repo.path)
        write(
            home / ".claude" / "projects" / "a.jsonl", response(1, "msg_usual", cwd=cwd)
        )
        write(home / "own" / "projects" / "b.jsonl", response(2, "msg_own", cwd=cwd))
        write(
            tmp_path / "other" / "projects" / "c.jsonl",
            response(3, "msg_other", cwd=cwd),
        )
        rollout(tmp_path / "codex" / "sessions" / "rollout-1.jsonl", "1", cwd)
        monkeypatch.setenv("CLAUDE_CONFIG_DIR", f"~/own, {tmp_path}/other,")
        monkeypatch.setenv("CODEX_HOME", str(tmp_path / "codex"))
        (found,), survey = read(auto(repo))
        assert [(h.name, h.turns) for h in found.harnesses] == [
            ("claude", 2),
            ("codex", 1),
        ]
        with_files = [root for root in survey.roots if root.files]
        assert {root.origin for root in with_files} == {
            "CLAUDE_CONFIG_DIR",
            "CODEX_HOME",
        }


class TestWorkTrees:
    @pytest.fixture
    def work(self, home: Path, repo: Repo) -> Any:
        """A function that tells whether work in a folder counts, for the tree that is named."""
        repo.commit({"a": "b"}, "begin")

        def counts_for(folder: Path | str, named: Path | None = None) -> bool:
            write(
                home / ".claude" / "projects" / "a.jsonl", response(1, cwd=str(folder))
            )
            rollout(home / ".codex" / "sessions" / "rollout-1.jsonl", "1", str(folder))
            (found,), survey = read(auto(named or repo.path))
            shares = {h.name: h.turns for h in found.harnesses}
            assert shares in ({}, {"claude": 1, "codex": 1})
            expected = "" if shares else "work in another folder"
            assert {file.left_out for file in survey.files} == {expected}
            return bool(shares)

        return counts_for

    def test_is_done_in_the_repository_or_below(
        self, work: Any, repo: Repo, tmp_path: Path
    ) -> None:
        (repo.path / "src" / "deep").mkdir(parents=True)
        (repo.path / "empty" / ".git").mkdir(parents=True)
        (repo.path / "text").mkdir()
        (repo.path / "text" / ".git").write_text("nothing\n")
        for only_like_a_repository in ("empty", "text"):
            assert work(repo.path / only_like_a_repository)
        assert work(repo.path)
        assert work(repo.path / "src" / "deep")
        assert work(repo.path / "gone" / "folder")
        assert work(f"{repo.path}/src/../src/")
        assert work(repo.path, named=repo.path / "src")
        assert not work(tmp_path)
        assert not work(f"{repo.path}-other")
        assert not work("relative")
        assert not work("/")

    def test_is_done_in_a_work_tree_that_was_moved_or_under_another_name(
        self, work: Any, repo: Repo, tmp_path: Path
    ) -> None:
        repo.git("worktree", "add", "-q", "--detach", str(tmp_path / "two"))
        (tmp_path / "two").rename(tmp_path / "three")
        assert work(tmp_path / "three" / "src")
        (tmp_path / "link").symlink_to(repo.path)
        assert work(tmp_path / "link" / "src")
        assert work(repo.path, named=tmp_path / "link")

    def test_is_not_done_in_another_repository_inside(
        self, work: Any, repo: Repo, tmp_path: Path
    ) -> None:
        other = Repo(repo.path / "vendor" / "other")
        assert not work(other.path)
        assert not work(other.path / "src" / "gone")
        assert work(repo.path / "vendor")
        module = Repo(tmp_path / "module")
        module.commit({"a": "b"}, "begin")
        repo.git(
            "-c",
            "protocol.file.allow=always",
            "submodule",
            "--quiet",
            "add",
            str(module.path),
            "sub",
        )
        assert not work(repo.path / "sub" / "src")

    def test_cannot_be_told_where_no_folder_is_named(
        self, home: Path, repo: Repo
    ) -> None:
        write(home / ".claude" / "projects" / "a.jsonl", response(1, cwd=None))
        write(
            home / ".codex" / "sessions" / "rollout-1.jsonl", tokens(1, counts(1, 1, 1))
        )
        (found,), survey = read(auto(repo))
        assert found.turns == 0
        assert {file.left_out for file in survey.files} == {
            "names no folder it worked in"
        }


def test_looking_for_all_harnesses_in_an_empty_home_is_faster_than_starting_python(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    places = TranscriptPlaces(tmp_path, auto=True)

    def look() -> None:
        found = discover(places, (*HARNESSES, *UNREAD), lambda _: None)
        assert found.transcripts == ()

    def start_python() -> None:
        subprocess.run([sys.executable, "-c", "pass"], check=True)

    assert not too_slow(lambda: seconds_of(look), lambda: seconds_of(start_python))


class TestVeryManyFiles:
    @pytest.fixture
    def folders(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[Path]:
        """Ten folders that are links to one folder of a transcript and nine other files."""
        monkeypatch.setattr("scoring.evidence.harnesses.discovery.MOST_FILES", 35)
        (tmp_path / "many").mkdir()
        write(tmp_path / "many/a.jsonl", response(1))
        for number in range(9):
            (tmp_path / f"many/{number}.txt").touch()
        links = [tmp_path / f"link-{number}" for number in range(10)]
        for link in links:
            link.symlink_to(tmp_path / "many")
        return links

    def test_are_counted_in_all_folders_together_and_named_once(
        self, folders: list[Path]
    ) -> None:
        warnings: list[str] = []
        places = TranscriptPlaces(folders[0], tuple(folders))
        found = discover(places, HARNESSES, warnings.append)
        (warning,) = warnings
        assert warning.startswith(f"transcript directory {folders[3]}: more than 35 ")
        assert [root.files for root in found.roots] == [1, 1, 1, *[0] * 7]
        assert all(root.problem for root in found.roots[3:])

    def test_are_no_matter_in_folders_that_hold_fewer_together(
        self, folders: list[Path]
    ) -> None:
        places = TranscriptPlaces(folders[0], tuple(folders[:3]))
        found = discover(places, HARNESSES, pytest.fail)
        assert [root.files for root in found.roots] == [1, 1, 1]
