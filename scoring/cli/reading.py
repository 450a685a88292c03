"""How commands read evidence: by which rules, where from, and what is said of settings that those rules do not know."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rubric import Rubric, evidence_of
from scoring.cli.output import warn
from scoring.evidence.transcripts.facts import Warn, silent
from scoring.log.settings import Settings, resolve_settings
from scoring.policies import POLICIES
from scoring.policies.door import EvidencePolicy
from scoring.policies.sources import Options, Sources

if TYPE_CHECKING:
    from scoring.log.find import FoundLog


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
    return Sources.under(policy, settings.repo_dir, settings.transcript_dirs, options(settings, policy, warn), hinted)


def sources_of_each(rubrics: Sequence[Rubric], settings: Settings) -> dict[str, Sources]:
    """Return where evidence comes from under the rules of each of some rubrics, by the name of the rules.

    A setting that only some of them know has an effect, so nothing is said of it.
    """
    rules = dict.fromkeys(rubric.evidence for rubric in rubrics)
    silently: Warn = warn if len(rules) == 1 else silent
    found = {}
    for name in rules:
        how = options(settings, POLICIES[name], silently)
        how["warn"] = warn
        found[name] = Sources.under(POLICIES[name], settings.repo_dir, settings.transcript_dirs, how)
    return found


def options(settings: Settings, policy: EvidencePolicy | None = None, warn: Warn = warn) -> Options:
    """Return the same as the options of a library function; raises as :func:`sources`."""
    policy = policy or POLICIES[evidence_of(settings.rubric)]
    for text in without_effect(settings, policy):
        warn(text)
    found: Options = {"warn": warn, "cache_dir": cache_dir(settings), "processes": settings.processes}
    found["trunk"] = settings.trunk
    if settings.transcripts is not None:
        found["transcripts"] = "none" if settings.transcripts == "none" else "auto"
    return found


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


def settings_of(log: "FoundLog", options: Mapping[str, Any]) -> Settings:
    """Return the settings of the repository that a log is about.

    Raises:
        NotARepositoryError: nothing says which repository that is: the log lies in none.
        SettingsError: its settings cannot be used.
    """
    from scoring.evidence.git.repository import GitRepository  # most commands look at one log only

    repository = options.get("repo-dir") or log.repo_dir or GitRepository(log.iter_log_dir).top_level
    return resolve_settings({**options, "repo-dir": repository})


def cache_dir(settings: Settings) -> Path | None:
    """Return where the cache lies; None when there is to be none."""
    if settings.no_cache:
        return None
    if settings.cache_dir:
        return settings.cache_dir
    from platformdirs import user_cache_path  # a cache directory that is named does not pay for it

    return user_cache_path("da-score", appauthor=False)
