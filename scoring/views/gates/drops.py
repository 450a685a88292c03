"""The gate on drops, and the baseline it compares with: the sidecars of an earlier revision, or a file of scores."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from rubric import BAND_INSUFFICIENT
from rubric.scorer import TOLERANCE
from scoring.errors import InputError, OptionError, SettingsError
from scoring.evidence.git.repository import GitRepository
from scoring.files import read_file
from scoring.sidecars.scores import is_iteration_score_name, parse_iteration_score
from scoring.views.examined import Examined, LogView
from scoring.views.gates.gate import CheckedScore, Gate, GateOption, weakest

_SIZE_LIMIT = 256 << 20


@dataclass(frozen=True, slots=True)
class BaselineScore:
    """An earlier score of an iteration, in [0, 1]; None when there was nothing to score.

    ``suffices`` is whether it rested on enough evidence to count in a mean.
    """

    rubric_version: str
    value: float | None
    suffices: bool = True


@dataclass(frozen=True, slots=True)
class Baseline:
    """Earlier scores by iteration, and where they come from, in words."""

    source: str
    scores: Mapping[int, BaselineScore]


class MaxDrop(Gate):
    """No score, nor their mean, is more than a number below a baseline; scores compare under one rubric only."""

    options = (
        GateOption("max-drop", "No score, nor their mean, is more than D below the baseline.", "D", "share"),
        GateOption(
            "baseline", "What 'run --json' printed earlier, or a revision that has the sidecars.", "FILE|REV", "text"
        ),
    )

    def __init__(self, value: float, log: LogView, baseline: Baseline) -> None:
        """Compare with ``baseline``; as many of its newest iterations as are checked make the mean."""
        super().__init__(value, log)
        self.baseline = baseline

    @classmethod
    def demanded(cls, given: Mapping[str, Any], log: LogView) -> Self | None:
        """Return the demand with its baseline: a file if there is one of this name, else a revision.

        Raises:
            OptionError: one of the two options is missing.
            InputError: the baseline is neither a file nor a revision, or holds no scores.
        """
        most, name = (given.get(option.key) for option in cls.options)
        if (most is None) != (name is None):
            raise OptionError("--max-drop and --baseline go together: give both or none")
        if most is None:
            return None
        file = Path(str(name))
        return cls(most, log, _from_file(file) if file.is_file() else _from_revision(str(name), log))

    def as_dict(self) -> dict[str, Any]:
        """Return the largest drop, and where the baseline comes from."""
        return {"max_drop": self.value, "baseline": self.baseline.source}

    def fails(self, one: Examined) -> Iterator[str]:
        """Compare the score with the earlier one, where the two compare."""
        score, old = one.score, self.baseline.scores.get(one.record.iteration)
        if score.scored and old and old.value is not None and old.rubric_version == score.rubric_version:
            drop = old.value - score.value
            if drop > self.value + TOLERANCE:
                before = f"the {old.value:.3f} of {self.baseline.source}"
                yield f"score {score.value:.3f} is {drop:.3f} below {before}; {weakest(score)}"

    def notes(self, one: Examined) -> Iterator[str]:
        """Say of a score why it does not compare."""
        old = self.baseline.scores.get(one.record.iteration)
        if not one.score.scored:
            return
        if old is None:
            yield f"not in the baseline {self.baseline.source}"
        elif old.value is None:
            yield "had no score in the baseline"
        elif old.rubric_version != one.score.rubric_version:
            was = f"was scored under rubric {old.rubric_version} in the baseline"
            yield f"{was}; scores compare under one rubric only"

    def fails_whole(self, scores: Sequence[CheckedScore]) -> Iterator[str]:
        """Compare the mean with that of the baseline, under the rubrics that both have.

        Raises:
            SettingsError: they have none in common.
        """
        newest = dict(sorted(self.baseline.scores.items())[-(self.log.selection.last or 0) :])
        known = {score.rubric_version for score in newest.values()}
        versions = {score.rubric_version for score in scores if score.scored}
        before_now = [s for s in newest.values() if s.value is not None and s.rubric_version in versions]
        comparable = [score for score in scores if score.scored and score.rubric_version in known]
        if not versions:
            return
        old = [s.value for s in before_now if s.value is not None and s.suffices]
        new = [score.value for score in comparable if score.band != BAND_INSUFFICIENT]
        if before_now and comparable and not (old and new):  # without enough evidence there is no mean to compare
            return
        if not old or not new:
            raise SettingsError(
                f"--max-drop: nothing to compare: {self.baseline.source} was scored under rubric "
                f"{', '.join(sorted(known))}, this log under {', '.join(sorted(versions))}; score both under one rubric"
            )
        before, now = sum(old) / len(old), sum(new) / len(new)
        if before - now > self.value + TOLERANCE:
            yield f"the mean score {now:.3f} is {before - now:.3f} below the {before:.3f} of {self.baseline.source}"


def _from_file(path: Path) -> Baseline:
    """Read what ``run --json``, ``check --json`` or ``export --format jsonl`` printed."""
    text = read_file(path, _SIZE_LIMIT).decode("utf-8", "replace")
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
    sha = repository.resolve([name])[name]
    if sha is None:
        raise InputError(f"--baseline {name!r} is neither a file nor a revision of {log.repo_dir}")
    top, folder = repository.top_level.resolve(), iter_log_dir.resolve()
    if not folder.is_relative_to(top):
        raise InputError(f"--baseline {name!r}: {iter_log_dir} is outside the repository; give a file instead")
    scores: dict[int, BaselineScore] = {}
    for file, data in repository.files_at(sha, folder.relative_to(top).as_posix(), is_iteration_score_name).items():
        score = parse_iteration_score(data, f"{name}:{file}")
        value, suffices = score.value if score.scored else None, score.band != BAND_INSUFFICIENT
        scores[score.iteration] = BaselineScore(score.rubric_version, value, suffices)
    if not scores:
        raise InputError(
            f"--baseline {name!r}: no iter-N.score.yaml is committed there in {iter_log_dir}; commit the sidecars, "
            "or give a file that 'da-score run --json' printed"
        )
    return Baseline(f"{name} ({sha[:12]})", scores)
