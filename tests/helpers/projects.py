"""What tests of commands know of the demo, and how they see what a command wrote."""

from collections.abc import Mapping
from pathlib import Path

CODEX_SESSION = "019cbd3b-b01a-7970-85d9-5954058b4714"
CLAUDE_SESSION = "5c0e1b7a-93d4-4f0e-8a6b-2d71c94be310"
LOG = ".agents/active/iteration-log"

READING = {
    "run": ["run", "--no-write"],
    "iteration": ["iteration", "3"],
    "session": ["session", CLAUDE_SESSION],
    "records": ["records"],
    "signals": ["signals"],
    "integrity": ["integrity"],
    "rubric list": ["rubric", "list"],
    "rubric show": ["rubric", "show", "2.0.2"],
    "rubric diff": ["rubric", "diff", "2.0.2", "2.1.0"],
}
"""A call of each command that writes nothing."""


def tree(root: Path) -> dict[str, tuple[int, int, bytes]]:
    """Everything below a directory: mode, time of change and content."""
    return {
        str(path.relative_to(root)): (
            path.lstat().st_mode,
            path.lstat().st_mtime_ns,
            path.read_bytes() if path.is_file() else b"",
        )
        for path in root.rglob("*")
    }


def changed(before: Mapping[str, object], after: Mapping[str, object]) -> set[str]:
    return {name for name in before.keys() | after.keys() if before.get(name) != after.get(name)}
