"""Places in transcripts by the names under which they can be opened in this clone.

Evidence names the transcript of a checkpoint by the branch that everybody shares. A plain clone
has that branch only as one of a remote, and ``git show`` takes only the name that is here.
"""

from collections.abc import Callable
from pathlib import Path

from msgspec.structs import replace

from scoring.evidence.facts import IterationFacts
from scoring.evidence.git.checkpoint_files import BRANCH, name_of_branch
from scoring.evidence.git.repository import GitRepository
from scoring.evidence.transcripts.facts import TranscriptSurvey


def openable(path: str, branch: str) -> str:
    """Return a place, with the branch of checkpoints by its name here.

    Args:
        path: a path or ``path:line``; one that is not on the branch is returned as it is.
        branch: what git calls the branch with checkpoints here.
    """
    if path.partition(":")[0] == BRANCH:
        return f"{branch}{path.removeprefix(BRANCH)}"
    return path


def openable_facts(facts: IterationFacts, repo_dir: Path | str) -> IterationFacts:
    """Return what is known of an iteration, with the places in transcripts as they open here."""
    observed = facts.observed
    if not observed or not any(
        str(lines.path).startswith(f"{BRANCH}:") for lines in observed.lines
    ):
        return facts

    opened = _opener(repo_dir)
    shown = {}
    for name in ("lines", "seen", "claims"):
        places = []
        for place in getattr(observed, name):
            places.append(place._replace(path=opened(place.path)))
        shown[name] = tuple(places)
    return replace(facts, observed=replace(observed, **shown))


def openable_survey(survey: TranscriptSurvey, repo_dir: Path | str) -> TranscriptSurvey:
    """Return what the reading of transcripts met with, with their paths as they open here."""
    if not survey.checkpoints.count:
        return survey

    opened = _opener(repo_dir)
    missing = tuple(map(opened, survey.checkpoints.missing))
    shown = {}
    for name in ("roots", "files", "unclaimed"):
        places = []
        for place in getattr(survey, name):
            places.append(replace(place, path=opened(place.path)))
        shown[name] = tuple(places)
    checkpoints = replace(survey.checkpoints, missing=missing)
    return replace(survey, checkpoints=checkpoints, **shown)


def _opener(repo_dir: Path | str) -> Callable[[Path], Path]:
    """Return what gives a path by the name under which it opens here."""
    branch = name_of_branch(GitRepository(repo_dir))
    return lambda path: Path(openable(str(path), branch))
