"""Under ``check --trusted`` no gate on tests holds where a transcript of the work is not read."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from helpers.commands import DaScore, Outcome
from helpers.pull_requests import (
    FILES,
    TRUNK,
    Check,
    begin_beside_the_trunk,
    put,
    session,
    trusted_check,
)
from helpers.repos import Repo

from scoring.evidence.harnesses import json_reader, lines
from scoring.evidence.harnesses.not_read import shows_one_of
from scoring.evidence.transcripts.transcript_files import TranscriptFile

OLD = "../home/projects/x/old.jsonl"

Bound = Callable[[pytest.MonkeyPatch], None]


@pytest.fixture
def change(repo: Repo, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Repo:
    """A commit of a session beside the trunk, on a machine that has its transcript."""
    begin_beside_the_trunk(repo, tmp_path / "home", monkeypatch)
    sha = repo.commit(FILES, "Add a")
    put(repo, {"../home/projects/x/s.jsonl": transcript(repo, sha)})
    return repo


@pytest.fixture
def check(change: Repo, da_score: DaScore) -> Check:
    run = trusted_check(change, da_score)

    def check(*options: str) -> Outcome:
        # what is kept of a transcript was read under the bounds of then
        return run("--no-failing-tests", "--no-cache", "--trunk", TRUNK, *options)

    return check


def transcript(repo: Repo, sha: str, name: str = "s") -> str:
    return session(repo, name, result=f"[own {sha[:7]}] Add a\n 2 files changed")


def a_line_is_too_long(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(lines, "LINE_LIMIT", 300)


def there_are_too_many_lines(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(json_reader, "MOST_LINES", 3)


SAID: dict[Bound, str] = {
    a_line_is_too_long: "lines are skipped (over 16 MiB)",
    there_are_too_many_lines: "more than 3 lines",
}
BOUNDS: list[Bound] = list(SAID)


@pytest.mark.parametrize("bound", BOUNDS, ids=lambda bound: bound.__name__)
@pytest.mark.parametrize("base", [("--base", TRUNK), ()], ids=["a base", "all"])
def test_a_bound_that_the_session_of_the_work_reaches_ends_the_gate(
    check: Check,
    monkeypatch: pytest.MonkeyPatch,
    bound: Bound,
    base: tuple[str, ...],
) -> None:
    assert check(*base).status == 0
    bound(monkeypatch)
    found = check(*base)
    assert found.status == 3
    assert f"s.jsonl: {SAID[bound]}; " in found.out
    assert "make it readable, or move it away" in found.out


@pytest.mark.parametrize("bound", BOUNDS, ids=lambda bound: bound.__name__)
def test_a_session_of_other_work_ends_no_gate(
    change: Repo, check: Check, monkeypatch: pytest.MonkeyPatch, bound: Bound
) -> None:
    elsewhere = transcript(change, "f" * 40, "t").replace(str(change.path), "/other")
    put(
        change,
        {
            "../home/projects/x/s.jsonl": "",
            "../home/projects/y/t.jsonl": elsewhere,
        },
    )
    bound(monkeypatch)
    assert check("--base", TRUNK).status == 0
    assert check().status == 0


@pytest.mark.parametrize("branch", ["a]b", "x" * 200 + "/" + "y" * 200])
def test_a_commit_is_found_in_a_text_whatever_the_name_of_its_branch(
    tmp_path: Path, branch: str
) -> None:
    path = tmp_path / "s.jsonl"
    path.write_text(f"[{branch} 1234567] Add a\\n")
    transcript = TranscriptFile(str(path), whole=False)
    assert shows_one_of(transcript, ["1234567" + "a" * 33])
    assert shows_one_of(transcript, ["7654321" + "a" * 33]) is False


def test_lines_with_too_many_values_end_the_gate(
    check: Check, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(json_reader, "has_many_values", lambda text: b"passed" in text)
    found = check("--base", TRUNK)
    assert found.status == 3
    assert "commas, colons and brackets" in found.out


@pytest.mark.parametrize(
    ("days", "status"), [(1, 3), (-1, 0)], ids=["new", "before the branch"]
)
def test_what_cannot_be_opened_ends_the_gate_unless_it_is_older(
    change: Repo, check: Check, days: int, status: int
) -> None:
    path = change.path / OLD
    os.mkfifo(path)
    began = int(change.git("log", "-1", "--format=%ct", TRUNK))
    os.utime(path, (began + days * 86_400, began + days * 86_400))
    assert check("--base", TRUNK).status == status
    assert check().status == status


def test_a_real_line_over_the_limit_ends_the_gate(change: Repo, check: Check) -> None:
    """The line with the run of the tests has 17 MiB, so that it is not read."""
    path = change.path / "../home/projects/x/s.jsonl"
    text = path.read_text()
    path.write_text(text.replace("3 passed", "x" * (17 << 20) + " 3 passed"))
    found = check("--base", TRUNK)
    assert found.status == 3
    assert "s.jsonl: lines are skipped (over 16 MiB); " in found.out
    assert "the line at byte" in found.err


def test_what_cannot_be_opened_is_of_the_work_by_the_id_in_its_name(
    change: Repo, check: Check
) -> None:
    """A rollout of Codex has the time before the id. It is older than the branch."""
    name = "5e8ff9bf-55ba-3508-199d-22e984129be6"
    put(change, {"../home/projects/x/s.jsonl": transcript(change, change.head(), name)})
    assert check("--base", TRUNK).status == 0
    path = change.path / f"../home/projects/x/rollout-2026-01-01T00-00-00-{name}.jsonl"
    os.mkfifo(path)
    os.utime(path, (1, 1))
    assert check("--base", TRUNK).status == 3


def test_where_head_has_no_commit_nothing_is_proposed(
    change: Repo, check: Check
) -> None:
    os.mkfifo(change.path / OLD)
    change.git("checkout", "-q", "--orphan", "empty")
    assert check().status == 0
    found = check("--base", TRUNK)
    assert found.status not in (0, 3)
    assert "HEAD has no commit" in found.err


def test_without_trust_or_on_the_trunk_what_cannot_be_opened_ends_no_gate(
    change: Repo, da_score: DaScore, check: Check
) -> None:
    os.mkfifo(change.path / OLD)
    assert check("--base", TRUNK).status == 3
    assert da_score("check", "--no-failing-tests", "--base", TRUNK).status == 0
    change.git("update-ref", TRUNK, "HEAD")
    assert check("--max-reverted", "0").status == 0


def test_gates_without_transcripts_hold(change: Repo, check: Check) -> None:
    os.mkfifo(change.path / OLD)
    found = check("--max-reverted", "0")
    failed = [line for line in found.lines if line.startswith("FAIL")]
    assert [line.split(": ")[1] for line in failed] == ["no-failing-tests"]


def test_what_fails_while_it_is_searched_may_show_a_commit(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    path = tmp_path / "s.jsonl"
    path.write_text("no commit\n")
    transcript = TranscriptFile(str(path), whole=False)
    assert shows_one_of(transcript, {"f" * 40}) is False

    def fail(*_: int) -> bytes:
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(os, "read", fail)
    assert shows_one_of(transcript, {"f" * 40}) is None
