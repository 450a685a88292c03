"""A pull request of one commit with its entry, and the transcript of the session that made it."""

import json
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import pytest

from helpers.commands import DaScore, Outcome
from helpers.repos import Repo

LOG = ".agents/active/iteration-log"
TRUNK = "refs/remotes/origin/main"
CHECKPOINT = "a1b2c3d4e5f6"
FILES = {
    "src/a.py": "def total(prices):\n    return sum(prices)\n",
    "tests/test_a.py": "def test_total():\n    assert total([1, 2]) == 3\n",
}

Check: TypeAlias = Callable[..., Outcome]
"""Checks a pull request as :func:`trusted_check` does; takes further options."""

Edits: TypeAlias = Mapping[str, list[tuple[str, str]]]
"""The old and the new text of each edit, by file."""

NO_EDITS: Edits = {}


def propose(repo: Repo) -> str:
    """Commit the files with their entry, and return the commit."""
    repo.commit({"README": "x\n"})
    sha = repo.commit(FILES, f"Add a\n\nEntire-Checkpoint: {CHECKPOINT}\n")
    put(repo, {f"{LOG}/iter-1.yaml": entry(1, sha)})
    return sha


def begin_beside_the_trunk(
    repo: Repo, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Begin the branch ``own`` where a folder outside of the checkout may have transcripts."""
    repo.commit({"README": "x\n"})
    repo.git("update-ref", TRUNK, "HEAD")
    repo.branch("own")
    _work_on_a_machine(repo, home, monkeypatch)


def propose_to_a_machine(
    repo: Repo, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Propose the files where a folder outside of the checkout may have transcripts."""
    propose(repo)
    _work_on_a_machine(repo, home, monkeypatch)


def _work_on_a_machine(repo: Repo, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put(repo, {".git/info/exclude": ".agents\n"})
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(home))
    monkeypatch.chdir(repo.path)


def trusted_check(repo: Repo, da_score: DaScore) -> Check:
    """Return what checks a pull request under rubric 3.1.0 and believes nothing that it brings."""

    def run(*options: str) -> Outcome:
        places = ("--repo-dir", str(repo.path), "--iter-log-dir", str(repo.path / LOG))
        return da_score("check", "--trusted", "--rubric", "3.1.0", *places, *options)

    return run


def entry(number: int, sha: str) -> str:
    """An entry that names a commit and claims that the tests pass."""
    return (
        f"schema_version: 2\niteration: {number}\ntask_id: t\ncommit: {sha}\n"
        "impl: {tests_total_pass: true}\n"
    )


def put(repo: Repo, files: dict[str, str]) -> None:
    for name, text in files.items():
        path = repo.path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


class Replaced(NamedTuple):
    """An edit of a session that replaces one text of a file."""

    path: str
    old: str
    new: str
    everywhere: bool = False


Step: TypeAlias = tuple[str, str] | Replaced
"""A command with what it prints, or an edit."""


def session(
    repo: Repo,
    name: str = "s",
    *,
    files: Mapping[str, str] = FILES,
    edits: Edits = NO_EDITS,
    diff: Sequence[str] = (),
    tests: str = "3 passed in 0.1s",
    command: str = "git commit -m 'Add a'",
    result: str = "",
    before: Sequence[Step] = (),
    after: Sequence[tuple[str, str]] = (),
) -> str:
    """Return the transcript of a session that edits, tests, and makes the newest commit.

    Args:
        repo: the repository, in which that commit is checked out.
        name: the id of the session.
        files: what it writes.
        edits: the old and the new text of each edit, by file.
        diff: the lines of the diff that the result of each edit states, with their signs.
        tests: what its test run prints.
        command: the command by which it commits.
        result: what that prints; by default what git prints for the newest commit.
        before: commands between the tests and the commit, each with what it prints, and edits.
        after: commands after the commit.
    """
    sha, made = repo.git("log", "-1", "--format=%H %ct").split()
    result = result or f"[master {sha[:7]}] Add a\n 2 files changed"

    calls: list[tuple[str, dict[str, Any], str]] = []
    for path, text in files.items():
        written = {"file_path": str(repo.path / path), "content": text}
        calls.append(("Write", written, "written"))
    for path, texts in edits.items():
        for old, new in texts:
            edited = {"file_path": str(repo.path / path)}
            calls.append(("Edit", {**edited, "old_string": old, "new_string": new}, ""))
    calls.append(("Bash", {"command": "pytest -q"}, tests))
    for step in (*before, (command, result), *after):
        if isinstance(step, Replaced):
            edited = {"file_path": str(repo.path / step.path)}
            replaced = {"old_string": step.old, "new_string": step.new}
            options = {"replace_all": step.everywhere}
            calls.append(("Edit", {**edited, **replaced, **options}, ""))
        else:
            calls.append(("Bash", {"command": step[0]}, step[1]))

    lines: list[dict[str, Any]] = []
    for index, (tool, arguments, answer) in enumerate(calls):
        seconds = int(made) + 1 + len(after) - len(calls) + index
        time = datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%S.000Z")
        shared = {
            "sessionId": name,
            "cwd": str(repo.path),
            "timestamp": time,
            "version": "2",
        }
        message = {
            "id": f"{name}m{index}",
            "role": "assistant",
            "model": "claude-x",
            "content": [
                {
                    "type": "tool_use",
                    "id": f"{name}c{index}",
                    "name": tool,
                    "input": arguments,
                }
            ],
            "usage": {
                "input_tokens": 1,
                "output_tokens": 1,
                "cache_read_input_tokens": 99,
            },
        }
        ids = {"uuid": f"{name}a{index}", "requestId": f"{name}r{index}"}
        lines.append({**shared, **ids, "type": "assistant", "message": message})

        tool_result = {
            "type": "tool_result",
            "tool_use_id": f"{name}c{index}",
            "content": answer,
            "is_error": tool == "Bash" and "failed" in answer,
        }
        answered = {"role": "user", "content": [tool_result]}
        answer_line = {"type": "user", "uuid": f"{name}b{index}", "message": answered}
        if tool == "Edit" and diff:
            stated = {"structuredPatch": [{"lines": list(diff)}]}
            answer_line["toolUseResult"] = stated
        lines.append({**shared, **answer_line})
    return "".join(json.dumps(line) + "\n" for line in lines)
