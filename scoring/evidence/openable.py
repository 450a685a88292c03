"""Places in transcripts by the names under which they can be opened in this clone.

Evidence names the transcript of a checkpoint by the branch that everybody shares. A plain clone
has that branch only as one of a remote, and ``git show`` takes only the name that is here.
"""

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
    if observed is None or not any(
        str(lines.path).startswith(f"{BRANCH}:") for lines in observed.lines
    ):
        return facts

    branch = name_of_branch(GitRepository(repo_dir))
    lines = [each._replace(path=_opened(each.path, branch)) for each in observed.lines]
    seen = [each._replace(path=_opened(each.path, branch)) for each in observed.seen]
    claims = [each._replace(path=_opened(each.path, branch)) for each in observed.claims]
    shown = replace(observed, lines=tuple(lines), seen=tuple(seen), claims=tuple(claims))
    return replace(facts, observed=shown)


def openable_survey(survey: TranscriptSurvey, repo_dir: Path | str) -> TranscriptSurvey:
    """Return what the reading of transcripts met with, with their paths as they open here."""
    if not survey.checkpoints.count:
        return survey

    branch = name_of_branch(GitRepository(repo_dir))
    roots = [replace(each, path=_opened(each.path, branch)) for each in survey.roots]
    files = [replace(each, path=_opened(each.path, branch)) for each in survey.files]
    unclaimed = [replace(each, path=_opened(each.path, branch)) for each in survey.unclaimed]
    missing = tuple(_opened(path, branch) for path in survey.checkpoints.missing)
    return replace(
        survey,
        roots=tuple(roots),
        files=tuple(files),
        unclaimed=tuple(unclaimed),
        checkpoints=replace(survey.checkpoints, missing=missing),
    )


def _opened(path: Path, branch: str) -> Path:
    return Path(openable(str(path), branch))
