"""Two entries that say they are one iteration, and files whose name says another number."""

from collections.abc import Callable
from pathlib import Path

import pytest
from helpers.commands import DaScore
from helpers.pull_requests import LOG, entry, propose, put
from helpers.repos import Repo


def has_a_second_file(repo: Repo) -> str:
    put(repo, {f"{LOG}/iter-01.yaml": entry(1, repo.head())})
    return "iter-1.yaml: is iteration 1 as iter-01.yaml is, and counts instead of it; keep one"


def has_another_number_than_its_name(repo: Repo) -> str:
    put(repo, {f"{LOG}/iter-7.yaml": entry(2, repo.head())})
    return (
        "iter-7.yaml: its name says another number than its iteration, which is 2;"
        " name it iter-2"
    )


def has_a_number_below_0(repo: Repo) -> str:
    put(repo, {f"{LOG}/iter-7.yaml": entry(-7, repo.head())})
    return (
        "iter-7.yaml: its name says another number than its iteration, which is -7;"
        " correct the number"
    )


def differs_from_the_archive(repo: Repo) -> str:
    archived = f"{{iteration: 1, commit: {repo.head('HEAD~1')}}}"
    put(
        repo,
        {f"{LOG}/historical.yaml": f"schema_version: 1\niterations: [{archived}]\n"},
    )
    return "historical.yaml: iteration 1 differs from another entry of that number; keep one"


def has_a_second_document(repo: Repo) -> str:
    put(repo, {f"{LOG}/iter-1.yaml": f"{entry(1, repo.head())}---\niteration: 2\n"})
    return (
        "iter-1.yaml: what follows the first YAML document is not read, from line 7 on"
    )


def has_something_after_its_end(repo: Repo) -> str:
    put(repo, {f"{LOG}/iter-1.yaml": f"{entry(1, repo.head())}...\n]\n"})
    return (
        "iter-1.yaml: what follows the first YAML document is not read, from line 7 on"
    )


def has_an_archive_of_two_documents(repo: Repo) -> str:
    text = "schema_version: 1\niterations: []\n---\n--- 1\n"
    put(repo, {f"{LOG}/historical.yaml": text})
    return (
        "historical.yaml: what follows the first YAML document is not read, from line 4"
    )


DOUBTS = [
    has_a_second_file,
    has_another_number_than_its_name,
    has_a_number_below_0,
    differs_from_the_archive,
    has_a_second_document,
    has_something_after_its_end,
    has_an_archive_of_two_documents,
]


@pytest.fixture
def change(repo: Repo, monkeypatch: pytest.MonkeyPatch) -> Repo:
    propose(repo)
    monkeypatch.chdir(repo.path)
    return repo


@pytest.mark.parametrize("doubt", DOUBTS, ids=lambda doubt: str(doubt.__name__))
@pytest.mark.parametrize("cache", ["--no-cache", "--cache-dir=kept"])
def test_a_log_of_doubtful_numbers(
    change: Repo,
    da_score: DaScore,
    tmp_path: Path,
    doubt: Callable[[Repo], str],
    cache: str,
) -> None:
    message = doubt(change)
    kept = cache.replace("kept", str(tmp_path / "kept"))
    for _ in range(2):
        warned = da_score("check", "--rubric", "3.1.0", kept)
        assert (warned.status, message in warned.err) == (0, True)
        assert warned.err.count("\n") == 1

        refused = da_score("check", "--trusted", "--rubric", "3.1.0", kept)
        assert (refused.status, message in refused.err, refused.out) == (1, True, "")


def test_numbers_with_zeros_are_the_same_numbers(
    change: Repo, da_score: DaScore
) -> None:
    (change.path / LOG / "iter-1.yaml").rename(change.path / LOG / "iter-001.yaml")
    found = da_score("check", "--trusted", "--rubric", "3.1.0")
    assert (found.status, found.err) == (0, "")


@pytest.mark.parametrize("before", ["", "---\n", "%YAML 1.1\n---\n"])
@pytest.mark.parametrize("after", ["", "---\n", "...\n", "...\n# done\n", "---\n---\n"])
def test_marks_around_one_document_are_no_second_one(
    change: Repo, da_score: DaScore, before: str, after: str
) -> None:
    put(change, {f"{LOG}/iter-1.yaml": before + entry(1, change.head()) + after})
    found = da_score("check", "--trusted", "--rubric", "3.1.0")
    assert (found.status, found.err) == (0, "")


def test_the_rubrics_of_the_reference_read_the_first_document_without_a_word(
    change: Repo, da_score: DaScore
) -> None:
    has_a_second_document(change)
    found = da_score("run", "--no-write", "--rubric", "2.1.0")
    assert (found.status, "document" in found.err) == (0, False)


def test_lint_names_a_second_document(change: Repo, da_score: DaScore) -> None:
    has_a_second_document(change)
    found = da_score("log", "lint")
    assert "iter-1.yaml:7" in found.out
    assert "what follows the first YAML document is not read" in found.out
