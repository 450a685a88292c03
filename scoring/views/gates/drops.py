"""The gate on drops, and the baseline it compares with: the sidecars of an earlier revision, or a file of scores."""

import json
from collections.abc import Iterator, Mapping, Sequence
from operator import attrgetter
from pathlib import Path
from typing import Any, NamedTuple

from rubric import BAND_INSUFFICIENT
from rubric.breakdown import TOLERANCE
from scoring.errors import InputError, OptionError, SettingsError
from scoring.evidence.git.repository import GitRepository
from scoring.examine import ExaminedIteration, LogView
from scoring.files import in_checkout, read_file
from scoring.sidecars.scores import PersistedScore, is_iteration_score_name, parse_iteration_score
from scoring.views.gates.gate import Gate, GateOption, Looks, is_enough, weakest


class BaselineScore(NamedTuple):
    """An earlier score of an iteration, in [0, 1] or None, and whether it rested on enough evidence for a mean."""

    rubric_version: str
    value: float | None
    suffices: bool = True


class Baseline(NamedTuple):
    """Earlier scores by iteration, and where they come from, in words."""

    source: str
    scores: Mapping[int, BaselineScore]


class Drop(NamedTuple):
    """How far a score may be below a baseline, of which as many of the newest iterations as ``last`` make the mean."""

    most: float
    baseline: Baseline
    last: int | None = None


def _demanded(most: float | None, name: str | None, log: LogView) -> Drop:
    if most is None or name is None:
        raise OptionError("--max-drop and --baseline go together: give both or none")
    untrusted = log.options.get("trusted", False) and in_checkout(name, log.repo_dir)
    baseline = (
        _from_file(Path(name))
        if Path(name).is_file() and not untrusted
        else _from_revision(name, log)
    )
    return Drop(most, baseline, log.selection.last)


def _fell(demand: Drop, one: ExaminedIteration) -> Iterator[str]:
    score, before = one.score, _before(demand, one)
    if before is not None and before - score.value > demand.most + TOLERANCE:
        below = f"{before - score.value:.3f} below the {before:.3f} of {demand.baseline.source}"
        yield f"score {score.value:.3f} is {below}; {weakest(score)}"


def _before(demand: Drop, one: ExaminedIteration) -> float | None:
    """Return the earlier score of an iteration, where the two compare."""
    score, old = one.score, demand.baseline.scores.get(one.record.iteration)
    return (
        old.value if score.scored and old and old.rubric_version == score.rubric_version else None
    )


def _not_compared(demand: Drop, one: ExaminedIteration) -> Iterator[str]:
    old = demand.baseline.scores.get(one.record.iteration)
    if not one.score.scored:
        return
    if old is None:
        yield f"not in the baseline {demand.baseline.source}"
    elif old.value is None:
        yield "had no score in the baseline"
    elif old.rubric_version != one.score.rubric_version:
        yield f"was scored under rubric {old.rubric_version} in the baseline; scores compare under one rubric only"


def _mean_fell(demand: Drop, scores: Sequence[PersistedScore]) -> Iterator[str]:
    source = demand.baseline.source
    newest = [score for _, score in sorted(demand.baseline.scores.items())[-(demand.last or 0) :]]
    known = {score.rubric_version for score in newest}
    versions = {score.rubric_version for score in scores if score.scored}
    if not versions:
        return
    earlier = [
        (s.value, s.suffices)
        for s in newest
        if s.value is not None and s.rubric_version in versions
    ]
    comparable = [score for score in scores if score.scored and score.rubric_version in known]
    old = [value for value, suffices in earlier if suffices]
    new = [score.value for score in comparable if is_enough(score)]
    if old and new:
        before, now = sum(old) / len(old), sum(new) / len(new)
        if before - now > demand.most + TOLERANCE:
            yield f"the mean score {now:.3f} is {before - now:.3f} below the {before:.3f} of {source}"
    elif not (earlier and comparable):  # else there is only not enough evidence for a mean
        raise SettingsError(
            f"--max-drop: nothing to compare: {source} was scored under rubric {', '.join(sorted(known))}, "
            f"this log under {', '.join(sorted(versions))}; score both under one rubric"
        )


_MOST = GateOption(
    "max-drop", "Neither a score nor their mean is more than D below the baseline.", "D", "share"
)
_BEFORE = "What 'run --json' printed earlier, or a revision that has the sidecars."
_OPTIONS = (_MOST, GateOption("baseline", _BEFORE, "FILE|REV", "text"))
_SHOWN = attrgetter("most", "baseline.source")
_COMPARES: Looks = (
    lambda demand, one: _before(demand, one) is not None,
    "no iteration has a score to compare with",
)
MAX_DROP = Gate(_OPTIONS, _fell, _mean_fell, _COMPARES, _not_compared, _demanded, _SHOWN)


def _from_file(path: Path) -> Baseline:
    """Read what ``run --json``, ``check --json`` or ``export --format jsonl`` printed."""
    text = read_file(path, 256 << 20).decode("utf-8", "replace")
    try:
        try:
            data = json.loads(text)
        except ValueError:
            data = [json.loads(line) for line in text.splitlines() if line.strip()]
        rows = data["iterations"] if isinstance(data, dict) and "iterations" in data else data
        scores = dict(map(_score_of, rows if isinstance(rows, list) else [rows]))
    except (ValueError, TypeError, KeyError, RecursionError) as e:
        raise InputError(
            f"{path}: no scores to compare with; a baseline is what 'da-score run --json' or "
            "'da-score export --format jsonl --tables iterations' printed, or a revision of the repository"
        ) from e
    if not scores:
        raise InputError(f"{path}: holds no iterations to compare with")
    return Baseline(str(path), scores)


def _score_of(row: Mapping[str, Any]) -> tuple[int, BaselineScore]:
    value = row["value"] if "value" in row else row["score"]
    iteration, version = row["iteration"], row["rubric_version"]
    if type(iteration) is not int or not isinstance(version, str):
        raise TypeError
    if not row["scored"] or value is None:
        return iteration, BaselineScore(version, None)
    if type(value) not in (int, float) or not 0 <= value <= 1 + TOLERANCE:
        raise ValueError
    return iteration, BaselineScore(version, float(value), row.get("band") != BAND_INSUFFICIENT)


def _from_revision(name: str, log: LogView) -> Baseline:
    repository, iter_log_dir = GitRepository(log.repo_dir), log.iter_log_dir
    named = repository.resolve(
        [f"refs/remotes/{name}", f"refs/heads/{name}", name]
    )  # a tag comes last
    if (sha := next(filter(None, named.values()), None)) is None:
        raise InputError(f"--baseline {name!r} is neither a file nor a revision of {log.repo_dir}")
    top, folder = repository.top_level.resolve(), iter_log_dir.resolve()
    if not folder.is_relative_to(top):
        raise InputError(
            f"--baseline {name!r}: {iter_log_dir} is outside the repository; give a file instead"
        )
    scores: dict[int, BaselineScore] = {}
    for file, data in repository.files_at(
        sha, folder.relative_to(top).as_posix(), is_iteration_score_name
    ).items():
        score = parse_iteration_score(data, f"{name}:{file}")
        value, suffices = score.value if score.scored else None, score.band != BAND_INSUFFICIENT
        scores[score.iteration] = BaselineScore(score.rubric_version, value, suffices)
    if not scores:
        raise InputError(
            f"--baseline {name!r}: no iter-N.score.yaml is committed there in {iter_log_dir}; commit the sidecars, "
            "or give a file that 'da-score run --json' printed"
        )
    return Baseline(f"{name} ({sha[:12]})", scores)
