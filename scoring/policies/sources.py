"""Where the evidence of one log comes from, and by which rules: what every reading begins with."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, Unpack

from scoring.evidence.transcripts.facts import Reading, TranscriptPlaces, Warn, silent
from scoring.policies.door import EvidencePolicy, Transcripts

Way = Literal["auto", "none"]
"""What may be said of transcripts instead of naming folders: the harnesses' own places, or none at all."""


class Options(Reading, total=False):
    """How evidence is found and read.

    Beside how transcripts are read: ``transcripts`` is what to do when no folder is named, ``trunk`` the branch on
    which work lands; without them the rubric's rules decide.
    """

    transcripts: Way | None
    trunk: str | None


@dataclass(frozen=True, slots=True)
class Sources:
    """Where the evidence of one log comes from, under one policy."""

    policy: EvidencePolicy
    repo_dir: Path | str
    places: TranscriptPlaces
    trunk: str | None = None
    reading: Reading = field(default_factory=Reading)

    @classmethod
    def of(
        cls,
        policy: EvidencePolicy,
        repo_dir: Path | str,
        directories: Sequence[Path | str] = (),
        hinted: Sequence[Path] = (),
        transcripts: str | None = None,
        trunk: str | None = None,
        **reading: Unpack[Reading],
    ) -> "Sources":
        """Decide where transcripts are looked for.

        Args:
            policy: the rules.
            repo_dir: a directory in the repository.
            directories: folders that are named by hand.
            hinted: folders that a harness named.
            transcripts: ``auto``, ``none``, or None for what the policy does when no folder is named.
            trunk: the branch on which work lands; None finds it out.
            reading: how transcripts are read.
        """
        if transcripts == "none":
            directories = hinted = ()
        auto = policy.looks_around and not directories and transcripts != "none"
        places = TranscriptPlaces(Path(repo_dir), tuple(map(Path, directories)), auto, tuple(hinted))
        return cls(policy, repo_dir, places, trunk, reading)

    @classmethod
    def under(
        cls,
        policy: EvidencePolicy,
        repo_dir: Path | str,
        directories: Sequence[Path | str],
        options: Options,
        hinted: Sequence[Path] = (),
    ) -> "Sources":
        """Decide the same from the options of a library function."""
        reading: Reading = {}
        if "warn" in options:
            reading["warn"] = options["warn"]
        if "cache_dir" in options:
            reading["cache_dir"] = options["cache_dir"]
        if "processes" in options:
            reading["processes"] = options["processes"]
        if "keep" in options:
            reading["keep"] = options["keep"]
        way, trunk = options.get("transcripts"), options.get("trunk")
        return cls.of(policy, repo_dir, directories, hinted, way, trunk, **reading)

    @property
    def warn(self) -> Warn:
        """Takes a line of text about what is skipped."""
        return self.reading.get("warn", silent)

    def transcripts(self) -> Transcripts:
        """Prepare to read the transcripts."""
        return self.policy.transcripts(self.places, **self.reading)
