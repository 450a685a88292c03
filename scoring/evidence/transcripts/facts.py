"""What transcripts show, as numbers: facts by window and by harness, and what the reading met with.

Nothing here opens a file, and nothing here holds a word of a conversation.
"""

from dataclasses import dataclass, field
from pathlib import Path

from scoring.evidence.transcripts.events import WindowFacts

CLAUDE, CODEX = "claude", "codex"
"""The harnesses, as provenance and details name them."""


@dataclass(frozen=True, slots=True)
class TranscriptPlaces:
    """Where transcripts are looked for.

    ``directories`` are named by hand and count whole, sub-folders included. ``auto`` adds the harnesses' own places
    and ``hinted`` further folders of theirs (a hook names the one of its session): in both only the work done in
    ``repo_dir`` counts.
    """

    repo_dir: Path
    directories: tuple[Path, ...] = ()
    auto: bool = False
    hinted: tuple[Path, ...] = ()


@dataclass(frozen=True, slots=True)
class HarnessFacts:
    """What one harness contributed to one window, or to everything that was read.

    ``sessions`` and ``files`` count those with at least one event in it. ``tool_calls`` are the calls with a verdict,
    each once, ``tool_errors`` those that failed. ``duplicates_dropped`` are responses and events that were written
    again and did not count again, by the time of the copy that counts. ``flags`` are the bits of an event.
    """

    name: str
    sessions: int = 0
    files: int = 0
    turns: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cache_read_tokens: int = 0
    cache_creation_tokens: int = 0
    tool_calls: int = 0
    tool_errors: int = 0
    duplicates_dropped: int = 0
    flags: int = 0


@dataclass(frozen=True, slots=True)
class ObservedFacts(WindowFacts):
    """What lies in one window, with the share of each harness that took part, sorted by name."""

    harnesses: tuple[HarnessFacts, ...] = ()

    def by_harness(self) -> tuple[HarnessFacts, ...]:
        """Return what each harness contributed."""
        return self.harnesses


@dataclass(frozen=True, slots=True)
class RootFound:
    """One place where transcripts were looked for.

    ``origin`` says who named it (``--transcript-dir``, ``CLAUDE_CONFIG_DIR``, ``~/.claude``, …), ``harness`` whose it
    is ("" for a folder named by hand), ``files`` how many transcripts lie below it, ``problem`` why it could not be
    read ("" when it could, ``no such directory`` when it is not there).
    """

    path: Path
    origin: str
    harness: str = ""
    files: int = 0
    problem: str = ""


@dataclass(frozen=True, slots=True)
class FileFound:
    """One transcript that was found. ``left_out`` says why nothing of it counts, "" when it counts.

    ``sessions`` are the ids of the sessions that it holds, ``cwd`` the last folder that it says it worked in.
    """

    path: Path
    harness: str = ""
    sessions: tuple[str, ...] = ()
    cwd: str = ""
    left_out: str = ""


@dataclass(frozen=True, slots=True)
class TranscriptSurvey:
    """What the reading of transcripts met with, for ``da-score doctor``; known when the facts are.

    ``lines_skipped`` counts lines by the reason for which they were skipped; ``harnesses`` are the totals of all that
    counts, in or outside of any window.
    """

    roots: tuple[RootFound, ...] = ()
    files: tuple[FileFound, ...] = ()
    lines_skipped: dict[str, int] = field(default_factory=dict)
    harnesses: tuple[HarnessFacts, ...] = ()
