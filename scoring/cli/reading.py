"""How commands read evidence: by which rules, where from, and what is said of settings that those rules do not know."""

from collections.abc import Sequence
from pathlib import Path

from rubric import evidence_of
from scoring.cli.output import warn
from scoring.evidence.transcripts.reader import Warn
from scoring.evidence.transcripts.scan import Reading
from scoring.policies import POLICIES, EvidencePolicy
from scoring.policies.sources import Sources
from scoring.settings import Settings


def sources(
    settings: Settings,
    policy: EvidencePolicy | None = None,
    hinted: Sequence[Path] = (),
    warn: Warn = warn,
) -> Sources:
    """Return where evidence comes from under some settings.

    Args:
        settings: what was set.
        policy: the rules; by default those of the rubric of the settings, which is not loaded for that.
        hinted: folders of transcripts that a harness named.
        warn: takes warnings, also of settings that have no effect under the policy.

    Raises:
        RubricError: the rubric that the settings name cannot be used.
    """
    policy = policy or POLICIES[evidence_of(settings.rubric)]
    for text in without_effect(settings, policy):
        warn(text)
    how = reading(settings) | {"warn": warn}
    found = settings.transcript_dirs
    return Sources.of(policy, settings.repo_dir, found, hinted, settings.transcripts, settings.trunk, **how)


def without_effect(settings: Settings, policy: EvidencePolicy) -> list[str]:
    """Return a warning for every setting that the rules of a policy do not know."""
    if policy.looks_around:
        return []
    where = f"rubric {settings.rubric} has the evidence rules of the reference"
    texts = []
    if settings.trunk is not None:
        texts.append(f"{where}, whose trunk is the local branch master: trunk {settings.trunk!r} has no effect")
    if settings.transcripts == "auto":
        texts.append(f"{where}, which know no harness's own places: name folders with --transcript-dir")
    return texts


def reading(settings: Settings) -> Reading:
    """Return how transcripts are read under some settings."""
    return {"warn": warn, "cache_dir": cache_dir(settings), "processes": settings.processes}


def cache_dir(settings: Settings) -> Path | None:
    """Return where the cache lies; None when there is to be none."""
    if settings.no_cache:
        return None
    if settings.cache_dir:
        return settings.cache_dir
    from platformdirs import user_cache_path  # a cache directory that is named does not pay for it

    return user_cache_path("da-score", appauthor=False)
