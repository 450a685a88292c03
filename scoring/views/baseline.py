"""What scores are compared with: the sidecars of an earlier revision, or a file of scores."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from scoring.errors import InputError
from scoring.evidence.git.repository import GitRepository
from scoring.files import read_file
from scoring.sidecars.scores import check_numbers, is_iteration_score_name, parse_iteration_score

_SIZE_LIMIT = 256 << 20
_TOLERANCE = 1e-9


@dataclass(frozen=True, slots=True)
class BaselineScore:
    """An earlier score of an iteration, in [0, 1]; None when there was nothing to score."""

    rubric_version: str
    value: float | None


@dataclass(frozen=True, slots=True)
class Baseline:
    """Earlier scores by iteration, and where they come from, in words."""

    source: str
    scores: Mapping[int, BaselineScore]

    def newest(self, count: int | None) -> "Baseline":
        """Return a baseline of the ``count`` newest iterations; of all of them when None."""
        return self if count is None else Baseline(self.source, dict(sorted(self.scores.items())[-count:]))


def find_baseline(name: str, iter_log_dir: Path, repo_dir: Path) -> Baseline:
    """Return the baseline that a name stands for: a file if there is one, else a revision of the repository.

    Raises:
        InputError: it is neither, or it holds no scores; the text says what was looked for.
    """
    return _from_file(Path(name)) if Path(name).is_file() else _from_revision(name, iter_log_dir, repo_dir)


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
    if type(value) not in (int, float) or not 0 <= value <= 1 + _TOLERANCE:
        raise ValueError
    return iteration, BaselineScore(version, float(value))


def _from_revision(name: str, iter_log_dir: Path, repo_dir: Path) -> Baseline:
    repository = GitRepository(repo_dir)
    sha = repository.resolve([name])[name]
    if sha is None:
        raise InputError(f"--baseline {name!r} is neither a file nor a revision of {repo_dir}")
    top = repository.top_level.resolve()
    folder = iter_log_dir.resolve()
    if not folder.is_relative_to(top):
        raise InputError(f"--baseline {name!r}: {iter_log_dir} lies outside the repository; give a file instead")
    scores: dict[int, BaselineScore] = {}
    for file, data in repository.files_at(sha, folder.relative_to(top).as_posix(), is_iteration_score_name).items():
        score = parse_iteration_score(data, f"{name}:{file}")
        check_numbers(score, f"{name}:{file}")
        scores[score.iteration] = BaselineScore(score.rubric_version, score.value if score.scored else None)
    if not scores:
        raise InputError(
            f"--baseline {name!r}: no iter-N.score.yaml is committed there in {iter_log_dir}; commit the sidecars, "
            "or give a file that 'da-score run --json' printed"
        )
    return Baseline(f"{name} ({sha[:12]})", scores)
