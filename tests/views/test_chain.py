"""Whose work it is: how doctor counts it, and how explain follows it down to the line."""

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from helpers.checkpoints import BRANCH, REF, REMOTE, ULID, about, record
from helpers.commands import DaScore
from helpers.facts import facts_of
from helpers.harness_lines import cases
from helpers.histories import History
from helpers.repos import Repo
from msgspec.structs import replace

from scoring.evidence import openable
from scoring.evidence.facts import IterationFacts
from scoring.evidence.git.checkpoint_files import name_of_branch
from scoring.evidence.git.facts import ANCESTOR, Landing, Unknown
from scoring.evidence.git.repository import GitRepository
from scoring.evidence.transcripts.facts import NS, IterationWindow, TranscriptFacts
from scoring.evidence.transcripts.observed_facts import (
    LinesFound,
    Observed,
    SeenAt,
    TestsSeen,
    WorkSeen,
)
from scoring.log.model import IterationRecord
from scoring.log.places import EntryPlaces
from scoring.sidecars.provenance import OwnLines
from scoring.signals.signal import KEEP_TRANSCRIPT, seen_texts
from scoring.signals.table import signal_of
from scoring.views.explain_text import chain_lines, lines_found
from scoring.views.score_pages import chain_payload, kept_payload

ABSENT = "0123456789ab"
NO_TRANSCRIPT = "the checkpoint that its commit names has no transcript here"

Run = Callable[..., Any]


@pytest.fixture
def made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> History:
    """Five iterations.

    One is found by its commit, one by its checkpoint, and one shares that checkpoint. One is
    without its checkpoint, and one in a work tree that is gone.
    """
    history = History(tmp_path)
    mine = history.session("mine")
    mine.edit(100, 1, "src/a.py")
    mine.run(110, 2, "pytest -q", "2 passed in 0.1s")
    mine.interrupt(120)
    first = history.commit(200, "by its session")
    mine.commits(200, 3, first, "by its session")
    history.entry(first, "by its session")

    kept = history.session("kept", stored=False)
    kept.edit(300, 4, "src/b.py")
    kept.run(310, 5, "pytest -q", "1 failed, 2 passed in 0.1s", failed=True)
    held = history.checkpoint(1, ({"session": "kept"}, kept.lines))
    history.entry(
        history.commit(400, "by its checkpoint", held, files={"src/b.py": "1"}),
        "by its checkpoint",
    )
    history.entry(
        history.commit(410, "shares it", held, files={"src/b.py": "2"}), "shares it"
    )
    history.entry(
        history.commit(500, "its checkpoint is elsewhere", ABSENT),
        "its checkpoint is elsewhere",
    )

    gone = history.session("gone", tmp_path / "trees" / "one")
    gone.edit(600, 6, "src/c.py")
    gone.run(610, 8, "./check --all", "fine")
    history.entry(history.commit(700, "in a work tree"), "in a work tree")
    stray = history.session("stray")
    stray.edit(900, 7, "src/d.py")
    history.write()
    monkeypatch.setenv("HOME", str(history.home))
    monkeypatch.chdir(history.repo)
    return history


@pytest.fixture
def run(made: History, da_score: DaScore) -> Run:
    """Run a command on the made history, and return what it prints, with ``--json`` as data."""

    def command(*arguments: str, rubric: str = "3.1.0") -> Any:
        found = da_score(
            *arguments, "--iter-log-dir", made.log, "--no-cache", "--rubric", rubric
        )
        assert found.status == 0
        return json.loads(found.out) if "--json" in arguments else found.out

    return command


class TestDoctor:
    def test_counts_iterations_and_sessions_by_method(self, run: Run) -> None:
        found = run("doctor", "--json")["attribution"]
        methods = {
            method: (n["iterations"], n["sessions"])
            for method, n in found["methods"].items()
        }
        by_one = dict.fromkeys(("checkpoint", "shared", "commit"), (1, 1))
        assert methods == by_one | {"session": (0, 0), "time": (0, 0), "none": (2, 0)}
        assert {
            one["reason"]: one["iterations"]
            for one in found["iterations_without_session"]
        } == {
            NO_TRANSCRIPT: [4],
            "no transcript covers the iteration window": [5],
        }
        assert found["checkpoints"] == {
            "found": 1,
            "transcripts": 1,
            "missing": [],
            "not_fetched": [],
        }

    def test_says_so_in_tables_and_advice_where_rules_attribute(self, run: Run) -> None:
        shown = run("doctor", "--all")
        assert "CHECKPOINTS  1 in git, with 1 transcript\n" in shown
        assert (
            "SESSIONS     1 that worked in this repository belongs to no iteration\n"
            in shown
        )
        assert (
            "LINES FOUND BY  ITERATIONS  SESSIONS\ncheckpoint      1           1\n"
            in shown
        )
        assert f"1 iteration has no session: 4 ({NO_TRANSCRIPT})" in shown
        assert (
            "1 session worked here and belongs to no iteration, as stray in " in shown
        )
        assert "or the session (agent.session_id), in entries" in shown
        assert run("doctor", "--json", rubric="3.0.0")["attribution"] is None
        assert "LINES FOUND BY" not in run("doctor", "--all", rubric="3.0.0")

    def test_advises_what_would_make_signals_vote_where_claims_do_not(
        self, run: Run
    ) -> None:
        found = {
            one["topic"]: one
            for one in run("doctor", "--json")["findings"]
            if "tests is absent" in one["what"]
        }
        assert found["signals"]["advice"] == (
            f"{KEEP_TRANSCRIPT}, for the first of these reasons; "
            "da-score explain N says it for each"
        )

    def test_names_transcripts_of_checkpoints_that_are_not_in_the_clone(
        self, run: Run, made: History, da_score: Any
    ) -> None:
        (name,) = made.checkpoints
        path = f"entire/checkpoints/v1:{name[:2]}/{name[2:]}/0/full.jsonl"
        Repo.at(made.repo).lose(path)
        found = run("doctor", "--json")
        assert found["attribution"]["checkpoints"]["missing"] == [path]
        assert any(
            f["what"].startswith("1 transcript of a checkpoint is not in")
            for f in found["findings"]
        )
        settings = da_score("init", "--print", "--no-cache").out.replace("\n# ", " ")
        missing = "; 1 more of checkpoints are not in this clone."
        assert missing in settings
        assert "0 of 1 transcripts found" not in settings


def test_doctor_says_how_to_fetch_checkpoints_in_refs_of_their_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, da_score: DaScore
) -> None:
    history = History(tmp_path)
    session = history.session("s1", stored=False)
    session.edit(10, 1, "src/a.py")
    history.entry(history.commit(20, "work", ULID), "work")
    history.write()
    monkeypatch.setenv("HOME", str(history.home))
    monkeypatch.chdir(history.repo)

    def doctor() -> Any:
        found = da_score(
            "doctor",
            "--json",
            "--iter-log-dir",
            history.log,
            "--no-cache",
            "--rubric",
            "3.1.0",
        )
        return json.loads(found.out)

    found = doctor()
    assert found["attribution"]["checkpoints"]["not_fetched"] == [ULID]
    (advice,) = [
        one["advice"]
        for one in found["findings"]
        if one["what"].endswith(f"not in this clone, as {ULID}")
    ]
    assert (
        "git fetch origin 'refs/entire/checkpoints/*:refs/entire/checkpoints/*'"
        in advice
    )
    written = "".join(json.dumps(line) + "\n" for line in session.lines).encode()
    record(
        Repo.at(history.repo),
        {"": {"0/metadata.json": about("s1"), "0/full.jsonl": written}},
        REF,
    )
    found = doctor()
    assert found["attribution"]["checkpoints"]["not_fetched"] == []
    assert found["attribution"]["methods"]["checkpoint"] == {
        "iterations": 1,
        "sessions": 1,
    }


def test_doctor_says_how_to_fetch_the_branch_of_checkpoints_where_it_is_not_here(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, da_score: DaScore
) -> None:
    history = History(tmp_path)
    history.entry(history.commit(20, "work", "00c9e2351016"), "work")
    history.write()
    monkeypatch.setenv("HOME", str(history.home))
    monkeypatch.chdir(history.repo)
    options = ("--iter-log-dir", history.log, "--no-cache", "--rubric", "3.1.0")

    text = da_score("doctor", *options).out
    assert "1 checkpoint that a commit names is not in this clone" in text
    branch = "entire/checkpoints/v1"
    refs = f"+refs/heads/{branch}:refs/remotes/origin/{branch}"
    assert f"git fetch origin '{refs}'" in text
    assert "work with an agent here first" not in text

    record(Repo.at(history.repo), {"a" * 12: {"0/metadata.json": about("s1")}})
    assert "not in this clone" not in da_score("doctor", *options).out


class TestWorktrees:
    GLOB = "../trees/*"

    @pytest.mark.parametrize("how", ["option", "variable", "file"])
    def test_that_are_gone_count_by_the_setting(
        self, run: Run, made: History, how: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        option: tuple[str, ...] = ()
        if how == "option":
            option = ("--worktrees", self.GLOB)
        elif how == "variable":
            monkeypatch.setenv("DA_SCORE_WORKTREES", f"/nowhere/*:{made.root}/trees/*")
        else:
            (made.repo / ".agents").mkdir()
            (made.repo / ".agents/da-score.toml").write_text(
                f'worktrees = "{self.GLOB}"\n'
            )
        found = run("explain", "5", "--json", *option)["attribution"]
        assert (found["method"], found["sessions"]) == ("time", ["gone"])

    @pytest.mark.parametrize(
        "glob",
        [
            pytest.param("", id="not named"),
            pytest.param("../tree/*", id="another folder is named"),
        ],
    )
    def test_that_are_gone_do_not_count_without_it(self, run: Run, glob: str) -> None:
        found = run("explain", "5", "--json", *(("--worktrees", glob) if glob else ()))[
            "attribution"
        ]
        assert (found["method"], found["problem"]) == (
            None,
            "no transcript covers the iteration window",
        )

    def test_and_test_commands_have_no_effect_under_other_rubrics(
        self, made: History, da_score: DaScore
    ) -> None:
        options = (
            "--iter-log-dir",
            made.log,
            "--no-cache",
            "--worktrees",
            "/a",
            "--test-commands",
            "./check",
        )
        shown = da_score("run", "--no-write", "--rubric", "3.0.0", *options).err
        assert (
            "rubric 3.0.0 gives iterations no lines of their own: "
            "the setting worktrees has no effect" in shown
        )
        assert "the setting test-commands has no effect" in shown

    @pytest.mark.parametrize(
        ("options", "seen"),
        [
            pytest.param(("--test-commands", "./check"), ["tests"], id="named"),
            pytest.param(
                ("--test-commands", "./check --fast"), [], id="another one named"
            ),
            pytest.param((), [], id="not named"),
        ],
    )
    def test_commands_name_further_test_runs(
        self, run: Run, options: tuple[str, ...], seen: list[str]
    ) -> None:
        found = run("explain", "5", "--json", "--worktrees", self.GLOB, *options)[
            "attribution"
        ]
        assert [one["kind"] for one in found["seen"]] == seen


class TestExplanation:
    def test_follows_the_commit_to_the_lines(self, run: Run, made: History) -> None:
        found = run("explain", "1", "--json")["attribution"]
        path = next(made.home.rglob("mine.jsonl"))
        assert (found["method"], found["sessions"], found["problem"]) == (
            "commit",
            ["mine"],
            None,
        )
        assert found["commit"] == made.commit_of(made.entries[0])
        assert found["lines"] == [
            {"path": str(path), "first": 1, "last": 7, "total": 7}
        ]
        lines = path.read_text().splitlines()
        seen = {
            one["kind"]: lines[one["line"] - 1]
            for one in found["seen"]
            if one["path"] == str(path)
        }
        for kind, text in (
            ("commit", "[main "),
            ("tests", "2 passed"),
            ("correction", "interrupted by user]"),
        ):
            assert text in seen[kind]
        assert run("iteration", "1", "--json", "--recompute")["attribution"] == found
        shown = run("explain", "1")
        assert "\nWhose work it is\n  commit " in shown
        assert (
            "  transcript lines found by commit: a session made the commit\n  session mine\n"
            in shown
        )
        assert f"  transcript lines 1 to 7 of {path}\n" in shown
        assert f"  interrupted by the user at {path}:5\n" in shown

    def test_names_the_lines_that_votes_come_from(
        self, run: Run, made: History
    ) -> None:
        path = next(made.home.rglob("mine.jsonl"))
        sources = {
            one["signal"]: one["sources"]
            for one in run("explain", "1", "--json")["signals"]
        }
        assert sources["token_efficiency"] == [f"{path}:1 to 7"]
        assert sources["tests"] == [f"last test run, passed: pytest -q at {path}:4"]
        assert sources["correction_pressure"] == [
            f"{path}:1 to 7",
            f"interrupted by the user at {path}:5",
        ]

    def test_names_the_ref_that_a_plain_clone_has(
        self, run: Run, made: History
    ) -> None:
        repo = Repo.at(made.repo)
        repo.git("update-ref", REMOTE, BRANCH)
        repo.git("update-ref", "-d", BRANCH)
        (name,) = made.checkpoints
        path = f"origin/entire/checkpoints/v1:{name[:2]}/{name[2:]}/0/full.jsonl"
        repo.git("cat-file", "-e", path)

        explained = run("explain", "2", "--json")
        chain = explained["attribution"]
        assert [lines["path"] for lines in chain["lines"]] == [path]
        assert all(seen["path"] == path for seen in chain["seen"])
        assert run("iteration", "2", "--json", "--recompute")["attribution"] == chain

        for shown in (
            run("explain", "2"),
            json.dumps(run("doctor", "--json")),
            json.dumps(explained),
        ):
            assert path in shown
            assert shown.count("entire/checkpoints/v1") == shown.count(
                "origin/entire/checkpoints/v1"
            )

    @pytest.mark.parametrize("number", [1, 2], ids=["a file", "an object in git"])
    def test_prints_commands_that_show_what_was_seen(
        self, run: Run, made: History, number: int
    ) -> None:
        chain = run("explain", str(number), "--json")["attribution"]
        wanted = set()
        for seen in chain["seen"]:
            text = (
                Repo.at(made.repo).git("show", seen["path"])
                if number == 2
                else Path(seen["path"]).read_text("utf-8")
            )
            wanted.add(text.splitlines()[seen["line"] - 1])
        assert wanted

        _, _, commands = run("explain", str(number)).partition("\nTo read these lines")
        shown = set()
        for command in commands.splitlines()[1:]:
            printed = subprocess.run(
                command, shell=True, cwd=made.repo, check=True, stdout=subprocess.PIPE
            )
            shown.add(printed.stdout.decode("utf-8").rstrip())
        assert shown == wanted

    def test_asks_once_for_that_name(
        self, run: Run, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        asked = []

        def noted(repository: GitRepository) -> str:
            asked.append(repository)
            return name_of_branch(repository)

        monkeypatch.setattr(openable, "name_of_branch", noted)
        run("log", "integrity")  # iterations 2 and 3 have lines of a transcript in git
        assert len(asked) == 1

    def test_says_with_whom_evidence_is_shared(self, run: Run) -> None:
        found = run("explain", "3", "--json")["attribution"]
        assert (found["method"], found["shared_with"], found["sessions"]) == (
            "shared",
            2,
            ["kept"],
        )
        assert found["lines"] == run("explain", "2", "--json")["attribution"]["lines"]
        shown = run("explain", "3")
        assert (
            "  shared with iteration 2, for which the tokens of that part count\n"
            in shown
        )
        assert "count for another unit of work" not in shown

    def test_says_which_checkpoint_is_not_here(self, run: Run) -> None:
        assert run("explain", "4", "--json")["attribution"]["checkpoints"] == [ABSENT]
        assert (
            f"names checkpoint {ABSENT}\n  no line of a transcript: {NO_TRANSCRIPT}\n"
            in run("explain", "4")
        )

    def test_says_what_a_sidecar_keeps_when_the_transcript_is_gone(
        self, run: Run, made: History
    ) -> None:
        run("run")
        assert run("iteration", "1", "--json")["attribution"] == {
            "method": "commit",
            "sessions": ["mine"],
            "also_active": [],
        }
        next(made.home.rglob("mine.jsonl")).unlink()
        shown = run("explain", "1")
        assert (
            "  no line of a transcript: no transcript covers the iteration window\n"
            in shown
        )
        assert (
            "  when the sidecar was written, session mine, found by commit\n" in shown
        )
        assert "when the sidecar was written, session mine" in run(
            "explain", "1", rubric="3.1.0"
        )


def facts(observed: Observed | None, **known: Any) -> IterationFacts:
    landing = Landing(
        "attributed",
        facts_of(IterationRecord(2, 1)).trunk,
        "a" * 12,
        "a" * 40,
        ANCESTOR,
        "a" * 40,
    )
    return facts_of(IterationRecord(2, 1), landing=landing, observed=observed, **known)


HERE = Path("t.jsonl")


@cases(
    "path, first, last, command",
    {
        "a name with a space": ("/a b/t.jsonl", 7, 7, "sed -n 7p '/a b/t.jsonl'"),
        "a relative name": ("a/t.jsonl", 7, 9, "sed -n 7,9p a/t.jsonl"),
        "an object in git": ("x:a/t", 7, 7, "git show x:a/t | sed -n 7p"),
        "a database, which has no lines": ("/a/opencode.db", 7, 7, ""),
        "a compressed file": ("/a/t.jsonl.zst", 7, 7, ""),
    },
)
def test_command_to_show(path: str, first: int, last: int, command: str) -> None:
    assert openable.command_to_show(Path(path), first, last) == command


class TestWords:
    @cases(
        "total, words",
        {
            "one": ((9, 9, 1), "transcript line 9 of t.jsonl"),
            "all of them": ((3, 9, 7), "transcript lines 3 to 9 of t.jsonl"),
            "some of them": (
                (3, 9, 5),
                "5 of the transcript lines 3 to 9 of t.jsonl",
            ),
        },
    )
    def test_of_lines_by_their_numbers(
        self, total: tuple[int, int, int], words: str
    ) -> None:
        assert [*lines_found(Observed(lines=(LinesFound(HERE, *total),)))] == [words]

    def test_of_a_checkpoint_that_no_commit_names(self) -> None:
        record = IterationRecord(2, 1, known_from=f"checkpoint {ABSENT}")
        landing = Landing("attributed", facts(None).trunk, unknown=Unknown.NO_COMMIT)
        changed = replace(facts(None).changed, unknown=Unknown.NO_COMMIT)
        observed = Observed("checkpoint", ("s",))
        found = facts_of(record, landing=landing, observed=observed, changed=changed)
        line, *_ = chain_lines(found, None)
        named = f"the entry names checkpoint {ABSENT}, and that names the session"
        assert line == f"transcript lines found by checkpoint: {named}"
        landed = replace(found, landing=facts(None).landing)
        named = "the commit names a checkpoint"
        assert any(named in line for line in chain_lines(landed, None))

        by_hand = replace(found, record=IterationRecord(2, 1))
        for name in ("landed", "scope"):
            signal = signal_of(name)
            assert signal
            advice = signal.advice(False, found)
            assert advice.startswith("nothing, if the work was never committed")
            assert signal.advice(False, by_hand).startswith("name the commit in")

    def test_of_much_are_few(self) -> None:
        many = tuple(LinesFound(Path(f"{n}.jsonl"), 1, 2, 2) for n in range(300))
        names = tuple(f"s{n}" for n in range(300))
        found = facts(
            Observed("checkpoint", names, lines=many, checkpoints=names), counted_for=4
        )
        lines = list(chain_lines(found, None))
        assert len(lines) < 13
        assert "the commit counts for iteration 4, which names it too" in lines
        assert "and 590 lines in 295 more transcripts" in lines
        assert "sessions s0, s1, s2, s3, s4 and 295 more" in lines
        payload = chain_payload(found)
        assert payload and (len(payload["lines"]), len(payload["sessions"])) == (
            300,
            300,
        )

    @pytest.mark.parametrize(
        ("observed", "lines"),
        [
            (
                {"work": WorkSeen(5, 2, 4)},
                ["5 edits in 2 files, 4 of them in the same file"],
            ),
            ({"work": WorkSeen(1, 1, 1)}, ["1 edit in 1 file"]),
            (
                {"work": WorkSeen(agents=2, compactions=1)},
                ["2 sub-agents started; context compacted 1 time"],
            ),
            (
                {"work": WorkSeen(agents=2, missing=1)},
                [
                    "2 sub-agents started "
                    "(1 of them has no transcript here, so that work is not counted)"
                ],
            ),
            (
                {"tests": TestsSeen(reviewing=2)},
                [
                    "2 test runs by sub-agents that edited no code, left out of the score"
                ],
            ),
            (
                {"elsewhere": 3},
                [
                    "the tokens and turns of 3 of these lines count for another unit of work"
                ],
            ),
            (
                {"by_agents": 0.2599},
                ["agents wrote at least 25 % of the lines that its commit adds"],
            ),
            ({}, []),
        ],
    )
    def test_of_how_the_work_went(
        self, observed: dict[str, Any], lines: list[str]
    ) -> None:
        found = facts(Observed("commit", ("s",), **observed))
        assert list(chain_lines(found, None))[3:] == lines
        payload = chain_payload(found)
        assert payload
        edits = observed["work"].edits if "work" in observed else 0
        assert (payload["work"]["edits"], payload["by_agents"]) == (
            edits,
            observed.get("by_agents"),
        )

    @cases(
        "known, line",
        {
            "nothing was edited": (
                {},
                "no edit tool was used in these lines, which end 2 minutes before the commit",
            ),
            "something was": ({"work": WorkSeen(1, 1, 1)}, "1 edit in 1 file"),
            "a sub-agent may have": (
                {"work": WorkSeen(agents=1)},
                "1 sub-agent started",
            ),
            "a document in a command": (
                {"by_agents": 0.5},
                "agents wrote at least 50 % of the lines that its commit adds",
            ),
            "a line shows the commit": (
                {"seen": (SeenAt("commit a", HERE, 9),)},
                "commit a at t.jsonl:9",
            ),
        },
    )
    def test_of_lines_that_end_before_the_commit(
        self, known: dict[str, Any], line: str
    ) -> None:
        window, ended = (
            IterationWindow(2, None, 200 * NS),
            TranscriptFacts(ended=70 * NS),
        )
        found = facts(
            Observed("commit", ("s",), **known), window=window, transcripts=ended
        )
        assert list(chain_lines(found, None))[3:] == [line]

    def test_of_a_commit_that_is_not_here(self) -> None:
        landing = replace(facts(None).landing, sha=None, field="gone")
        lines = list(
            chain_lines(
                facts_of(IterationRecord(2, 1), landing=landing, observed=Observed()),
                None,
            )
        )
        assert lines == [
            "commit gone, which is not here",
            "no line of a transcript: no session found for this iteration",
        ]

    @pytest.mark.parametrize(
        "kept",
        [
            pytest.param(None, id="no evidence file"),
            pytest.param(OwnLines(), id="one that found none"),
        ],
    )
    def test_of_nothing_are_none(self, kept: OwnLines | None) -> None:
        assert list(chain_lines(facts(None), kept)) == []
        assert chain_payload(facts(None)) is None
        assert kept_payload(None) is None

    def test_of_sources_name_only_what_is_of_their_kind(self) -> None:
        seen = (
            SeenAt("commit a", HERE, 9),
            SeenAt("last test run", HERE, 3, "tests"),
            SeenAt("no", HERE, 4, "correction"),
        )
        observed = Observed("commit", ("s",), seen=seen)
        known = signal_of("correction_pressure")
        assert known and list(known.sources(facts(observed), EntryPlaces())) == [
            "no at t.jsonl:4"
        ]

    def test_of_one_correction_are_one_text(self) -> None:
        seen = (
            SeenAt("refused", HERE, 4, "correction"),
            SeenAt("stopped", HERE, 5, "correction", joins=True),
            SeenAt("wrong", HERE, 7, "correction", joins=True),
            SeenAt("stopped", HERE, 9, "correction"),
            SeenAt("wrong", Path("later.jsonl"), 2, "correction", joins=True),
        )
        assert list(seen_texts(seen)) == [
            "refused at t.jsonl:4, then stopped at line 5, then wrong at line 7: one correction",
            "stopped at t.jsonl:9",
            "wrong at later.jsonl:2",
        ]
