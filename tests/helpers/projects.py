"""What tests of commands know of the demo, and how they see what a command wrote."""

from collections.abc import Mapping
from dataclasses import dataclass
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
    return {
        name
        for name in before.keys() | after.keys()
        if before.get(name) != after.get(name)
    }


@dataclass(frozen=True)
class Project:
    """A copy of the demo, and what a job reads and writes in it."""

    root: Path

    @property
    def repo(self) -> Path:
        return self.root / "repo"

    @property
    def log(self) -> Path:
        return self.repo / LOG

    @property
    def transcripts(self) -> Path:
        return self.root / "transcripts"

    @property
    def claude(self) -> Path:
        return self.transcripts / "claude"

    @property
    def codex(self) -> Path:
        return self.transcripts / "codex"

    @property
    def settings(self) -> Path:
        return self.repo / ".agents/da-score.toml"

    def entry(self, iteration: int) -> Path:
        return self.log / f"iter-{iteration}.yaml"

    def sidecar(self, iteration: int) -> Path:
        return self.log / f"iter-{iteration}.score.yaml"

    def session(self, session_id: str) -> Path:
        return self.log / f"session-{session_id}.score.yaml"

    def written(self) -> list[str]:
        """The sidecars that are there, without the ends of their names."""
        return sorted(
            path.name.removesuffix(".score.yaml")
            for path in self.log.glob("*.score.yaml")
        )

    def sidecars(self) -> dict[str, bytes]:
        return {path.name: path.read_bytes() for path in self.log.glob("*.score.yaml")}

    def tokens(self, iteration: int) -> str:
        """What the sidecar of an iteration says of its tokens."""
        lines = self.sidecar(iteration).read_text().splitlines()
        at = lines.index("    - signal: token_efficiency")
        return lines[at + 4].strip().removeprefix("detail: ").strip("'")


def edit(path: Path, old: str, new: str) -> Path:
    """Replace a part of a file, which must be there."""
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))
    return path
