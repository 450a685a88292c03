"""Under ``check --trusted`` a session counts for the commit that it made, and for no other one."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from helpers.commands import DaScore
from helpers.pull_requests import (
    FILES,
    LOG,
    Check,
    entry,
    propose_to_a_machine,
    put,
    session,
    trusted_check,
)
from helpers.repos import Repo

OTHER = {
    "src/a.py": "def total(prices):\n    return 0  # sends the prices away first\n",
    "src/b.py": "def send(prices):\n    raise NotImplementedError(prices)\n",
}


@pytest.fixture
def change(repo: Repo, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Repo:
    """A commit with its entry, on a machine that has transcripts outside of the checkout."""
    propose_to_a_machine(repo, tmp_path / "home", monkeypatch)
    return repo


@pytest.fixture
def check(change: Repo, da_score: DaScore) -> Check:
    return trusted_check(change, da_score)


def keep(repo: Repo, text: str, name: str = "s") -> None:
    """Keep a transcript on the machine, outside of the checkout."""
    put(repo, {f"../home/projects/x/{name}.jsonl": text})


def name_commit(repo: Repo, sha: str, number: int = 1) -> None:
    put(repo, {f"{LOG}/iter-{number}.yaml": entry(number, sha)})


def counts(check: Check) -> bool:
    """Return whether anything but git is evidence for the iteration."""
    return check("--min-coverage", "0.25").status == 0


def in_a_commit_that_says_where_it_was_picked(repo: Repo) -> None:
    good = repo.head()
    keep(repo, session(repo))
    repo.branch("own", "HEAD~1")
    name_commit(
        repo, repo.commit(OTHER, f"Add a\n\n(cherry picked from commit {good})")
    )


def in_a_commit_of_the_same_subject(repo: Repo) -> None:
    keep(repo, session(repo))
    repo.branch("own", "HEAD~1")
    repo.git("branch", "-D", "master")
    name_commit(repo, repo.commit(OTHER, "Add a"))


def in_seven_digits_of_a_commit_that_is_gone(repo: Repo) -> None:
    keep(repo, session(repo, result="[master abcdef1] Add a\n 2 files changed"))
    name_commit(repo, "abcdef1")


def with_other_lines(repo: Repo) -> None:
    """The digits are those of the commit, as those of a commit that was made to have them."""
    keep(repo, session(repo, files=OTHER))


def with_one_file_of_two(repo: Repo) -> None:
    keep(repo, session(repo, files={"src/a.py": FILES["src/a.py"]}))


def in_a_page_that_is_printed(repo: Repo) -> None:
    keep(repo, session(repo, command="cat NOTES.md"))


def in_a_page_that_is_printed_after_a_commit(repo: Repo) -> None:
    """The session commits something else, and then shows a page of the pull request."""
    shown = f"[master {repo.head()[:7]}] Add a\n 2 files changed"
    keep(
        repo,
        session(
            repo,
            files=OTHER,
            command="git commit -m 'Something else' && cat NOTES.md",
            result=f"[master abcdef1] Something else\n 2 files changed\n{shown}",
        ),
    )


def by_a_quiet_commit(repo: Repo) -> None:
    keep(repo, session(repo, command="git commit -qm 'Add a'", result="done"))


def by_a_tag_of_the_digits_that_git_printed(repo: Repo) -> None:
    """The commit of the session is gone, and another one with the same lines has its name."""
    keep(repo, session(repo, result="[master abcdef1] Add a\n 2 files changed"))
    repo.tag("abcdef1")


def in_a_commit_that_only_deletes(repo: Repo) -> None:
    name_commit(repo, repo.commit({"src/a.py": None}, "Remove a"))
    keep(repo, session(repo))


def in_a_commit_with_a_program_in_lines_of_two_characters(repo: Repo) -> None:
    repo.branch("own", "HEAD~1")
    name_commit(
        repo, repo.commit({**FILES, "src/b.js": "[]\n[\n(!\n)+\n" * 99}, "Add a")
    )
    keep(repo, session(repo))


def in_a_line_that_a_hook_prints(repo: Repo) -> None:
    """The session commits something else, and a hook of the checkout names this commit."""
    shown = f"[master {repo.head()[:7]}] Add a\n 2 files changed"
    own = "[master abcdef1] Something else\n 2 files changed"
    command = "git commit -m 'Something else'"
    keep(repo, session(repo, files=OTHER, command=command, result=f"{shown}\n{own}"))


def in_a_commit_with(name: str, content: str | bytes) -> Callable[[Repo], None]:
    """Return what commits the files of the session with one more that it did not write."""

    def shown(repo: Repo) -> None:
        keep(repo, session(repo))
        repo.branch("own", "HEAD~1")
        name_commit(repo, repo.commit({**FILES, name: content}, "Add a"))
        keep(repo, session(repo))

    shown.__name__ = f"in a commit with {name!a}"
    return shown


def in_a_merge_that_brings_more(repo: Repo) -> None:
    keep(repo, session(repo))
    repo.branch("side", "HEAD~1")
    repo.commit(OTHER, "Other")
    parents = ("-p", "master", "-p", "side")
    merge = repo.git("commit-tree", "side^{tree}", *parents, given=b"Add a").strip()
    repo.reset(merge)
    name_commit(repo, merge)


def by_a_sub_agent_that_wrote_something_else(repo: Repo) -> None:
    lines = []
    for line in session(repo, files=OTHER).splitlines():
        lines.append(
            json.dumps({**json.loads(line), "isSidechain": True, "agentId": "a1"})
        )
    put(repo, {"../home/projects/x/s/subagents/agent-a1.jsonl": "\n".join(lines)})
    keep(repo, session(repo, files={}, command="ls", result="x"))


def by_two_files_with_one_id(repo: Repo) -> None:
    keep(repo, session(repo, files=OTHER, command="ls", result="x"))
    keep(repo, session(repo, files={}, tests="9 passed in 0.1s"), "t")


CELL = ["import os\n", "os.system('x')\n", "print(2)\n"]
NOTEBOOK = json.dumps({"cells": [{"cell_type": "code", "source": CELL}]}, indent=1)


def in_a_commit_whose_attributes_hide_a_file(repo: Repo) -> None:
    hidden = {".gitattributes": "src/b.py -diff\n", "src/b.py": OTHER["src/b.py"] * 9}
    repo.branch("own", "HEAD~1")
    name_commit(repo, repo.commit({**FILES, **hidden}, "Add a"))
    keep(
        repo, session(repo, files={**FILES, ".gitattributes": hidden[".gitattributes"]})
    )


def in_a_squash_of_its_commit_and_another(repo: Repo) -> None:
    keep(repo, session(repo))
    repo.branch("own", "HEAD~1")
    repo.git("branch", "-D", "master")
    name_commit(
        repo, repo.commit({**FILES, "src/b.py": OTHER["src/b.py"]}, "Add a (#7)")
    )


def in_a_commit_of_a_submodule(repo: Repo) -> None:
    head = repo.head()
    repo.git("update-index", "--add", "--cacheinfo", f"160000,{head},vendor/lib")
    repo.git("commit", "-q", "-m", "Add a")
    name_commit(repo, repo.head())
    keep(repo, session(repo))


def printed_by(command: str) -> Callable[[Repo], None]:
    def shown(repo: Repo) -> None:
        line = f"[master {repo.head()[:7]}] Add a"
        keep(repo, session(repo, command=command.replace("LINE", line)))

    shown.__name__ = command
    return shown


SHOWN = [
    by_a_tag_of_the_digits_that_git_printed,
    in_a_commit_that_only_deletes,
    in_a_line_that_a_hook_prints,
    in_a_merge_that_brings_more,
    in_a_commit_with("src/\u00e9.py", OTHER["src/a.py"]),
    in_a_commit_with("src/a\u0301.py", OTHER["src/a.py"]),
    in_a_commit_with("page.ipynb", NOTEBOOK),
    in_a_commit_with("lib.so", b"\x7fELF\0" + bytes(range(256)) * 40),
    by_a_sub_agent_that_wrote_something_else,
    by_two_files_with_one_id,
    in_a_commit_with_a_program_in_lines_of_two_characters,
    in_a_commit_whose_attributes_hide_a_file,
    in_a_squash_of_its_commit_and_another,
    in_a_commit_of_a_submodule,
    printed_by("echo 'LINE'"),
    printed_by("printf '%s\\n' 'LINE'"),
    printed_by("python3 -c \"print('LINE')\""),
    printed_by("git commit -qm 'Add a' && cat NOTES.md"),
    printed_by("git merge -q other && cat NOTES.md"),
    printed_by("git log -1"),
    printed_by("git ci -m 'Add a'"),
    printed_by("sh commit.sh"),
    in_a_commit_that_says_where_it_was_picked,
    in_a_commit_of_the_same_subject,
    in_seven_digits_of_a_commit_that_is_gone,
    with_other_lines,
    with_one_file_of_two,
    in_a_page_that_is_printed,
    in_a_page_that_is_printed_after_a_commit,
    by_a_quiet_commit,
]


def test_a_session_counts_by_the_sha_that_git_printed(
    change: Repo, check: Check
) -> None:
    keep(change, session(change))
    assert counts(check)


def test_a_session_counts_by_a_sha_that_its_entry_shortens(
    change: Repo, check: Check
) -> None:
    keep(change, session(change))
    name_commit(change, change.head()[:8])
    assert counts(check)


@pytest.mark.parametrize("shown", SHOWN, ids=lambda shown: str(shown.__name__))
def test_a_session_does_not_count(
    change: Repo, check: Check, shown: Callable[[Repo], None]
) -> None:
    shown(change)
    assert not counts(check)


def test_what_speaks_against_a_commit_counts_against_each_entry_that_names_it(
    change: Repo, check: Check
) -> None:
    """Another entry cannot take the failed tests of a commit from the one that is looked at."""
    keep(change, session(change, tests="1 failed in 0.1s"))
    name_commit(change, change.head(), 2)
    found = check("--no-over-claims", "--last", "1")
    assert found.status == 3
    assert "iteration 2: no-over-claims: impl over-claimed tests" in found.out
    assert "evidence shared with iteration 1" in found.out


def test_what_speaks_for_a_commit_counts_for_its_first_entry(
    change: Repo, check: Check
) -> None:
    keep(change, session(change))
    name_commit(change, change.head(), 2)
    found = check("--min-coverage", "0.25")
    assert [line.split(":")[0] for line in found.lines if line.startswith("FAIL")] == [
        "FAIL  iteration 2"
    ]


def test_a_revert_counts_against_each_entry_that_names_the_commit(
    change: Repo, check: Check
) -> None:
    name_commit(change, change.head(), 2)
    change.revert("HEAD")
    scores = [
        row["value"] for row in check("--no-unscored", "--json").json["iterations"]
    ]
    assert scores == [0, 0]


def test_no_file_is_written_where_a_link_leads_into_the_folder_of_git(
    change: Repo, check: Check
) -> None:
    config = change.path / ".git/config"
    before = config.read_bytes()
    (change.path / "out").symlink_to(".git")
    found = check("--no-over-claims", "--junit", str(change.path / "out/config"))
    assert found.status not in (0, 3)
    assert "is in the folder of git" in found.err
    assert config.read_bytes() == before

    (change.path / "reports").mkdir()
    report = change.path / "reports/j.xml"
    assert check("--no-over-claims", "--junit", str(report)).status in (0, 3)
    assert report.exists()
