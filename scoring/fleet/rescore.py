"""BulkScores what a data set keeps under another rubric: from what signals observed, without git and transcripts.

That gives what scoring anew would give where both rubrics have evidence read alike, by the keys of their data: the
evidence rules, the profile of the diminishing-returns meter, and whether a broken entry stops a log.
"""

import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from typing import Any

from rubric import Rubric
from rubric.model import STRICT
from scoring.errors import FleetError
from scoring.fleet.bulk import BulkScores, Known, numbers_of, score_in_bulk, words_of
from scoring.fleet.commits import Commit, PartFile
from scoring.fleet.dataset import DataSet
from scoring.fleet.lease import held
from scoring.fleet.sources import evidence_key
from scoring.fleet.tables import FLEET_TABLES, ITERATION, REPOSITORY
from scoring.sidecars.fingerprint import digest_of
from scoring.signals.table import SIGNALS
from scoring.views.formats import arrow_schema

_COPIED = ("integrity", "outcomes", "provenance", "kept")
"""The tables that are the same under both rubrics."""


@dataclass(frozen=True, slots=True)
class Rescored:
    """What was scored anew, from the rows of which rubric; ``left_out`` says what was not, and why."""

    rubric: str
    source: str
    repositories: int
    iterations: int
    left_out: tuple[str, ...] = ()

    def as_dict(self) -> dict[str, Any]:
        """Return plain data."""
        return {**asdict(self), "left_out": list(self.left_out)}


def rescore(dataset: DataSet, rubric: Rubric, source: str | None = None) -> Rescored:
    """Add rows under a rubric, made of those under ``source``, or else of the first rubric that reads evidence alike.

    Raises:
        FleetError: no rows were read alike, or another fleet writes the data set.
        WriteError, InputError: the data set cannot be written or read; then nothing counts.
    """
    with held(dataset.store) as dataset.lease:
        dataset.load()
        dataset.sweep()
        source = _source(dataset, rubric, source)
        dataset.tidy()
        commits = dataset.of(source)
        broken = {d.repository for c in commits for d in c.done if d.broken} if rubric.loading == STRICT else set()
        said = [f"{name}: has broken entries, at which rubric {rubric.version} stops" for name in sorted(broken)]
        failed = dataset.state(source).failed
        said += [f"{name}: failed under rubric {source}: {failed[name].reason}" for name in sorted(failed)]
        stood = bool(dataset.of(rubric.version))
        iterations = repositories = 0
        known: Known = {}
        for commit in commits:
            done, count = _rescored(dataset, commit, rubric, broken, known)
            iterations, repositories = iterations + count, repositories + done
        if stood:
            dataset.tidy()
    return Rescored(rubric.version, source, repositories, iterations, tuple(said))


def _source(dataset: DataSet, rubric: Rubric, wanted: str | None) -> str:
    """Return the rubric whose rows can be taken."""
    where = dataset.store.url
    ours = _alike(evidence_key(rubric))
    candidates = [wanted] if wanted else [name for name in dataset.rubrics if name != rubric.version]
    if not any(dataset.of(name) for name in candidates):
        what = f"of rubric {wanted}" if wanted else f"of another rubric than {rubric.version}"
        raise FleetError(f"{where}: there are no rows {what}; run 'da-score fleet' first")
    said = []
    for name in candidates:
        theirs = [_alike(commit.evidence) for commit in dataset.of(name)]
        if all(one == ours for one in theirs):
            missing = _missing(dataset, dataset.of(name), rubric)
            if not missing:
                return name
            said.append(f"rubric {name} was kept without {', '.join(missing)}")
        else:
            differ = sorted({key for one in theirs for key in ours if one.get(key) != ours[key]})
            words = ", ".join(f"{key} {theirs[0].get(key) or 'none'!s} there and {ours[key]!s} here" for key in differ)
            said.append(f"rubric {name}: {words}")
    raise FleetError(
        f"{where}: rubric {rubric.version} cannot be scored from what is kept, because evidence is read otherwise "
        f"({'; '.join(said)}); run 'da-score fleet FLEET.toml --rubric {rubric.version}' instead"
    )


def _alike(key: dict[str, Any]) -> dict[str, Any]:
    """Return what two rubrics must have alike. Whether a broken entry stops a log only decides which logs have rows."""
    return {name: value for name, value in key.items() if name != "loading"}


def _missing(dataset: DataSet, commits: Sequence[Commit], rubric: Rubric) -> list[str]:
    """Return the signals of a rubric that are not kept: those that are newer than the rows."""
    known = {signal.id for signal in SIGNALS}
    missing = {spec.id for spec in rubric.signals if spec.id not in known}
    for commit in commits[:1]:
        for part in commit.parts:
            if part.table == "kept":
                names = set(dataset.names(part.name))
                missing |= {spec.id for spec in rubric.signals if f"{spec.id}_seen" not in names}
                break
    return sorted(missing)


def _rescored(dataset: DataSet, commit: Commit, rubric: Rubric, broken: set[str], known: Known) -> tuple[int, int]:
    """Add what one commit becomes, and return of how many repositories and iterations."""
    done = tuple(d for d in commit.done if d.repository not in broken)
    new = Commit(
        dataset.next_id(),
        rubric.version,
        digest_of(repr(rubric).encode()),
        evidence_key(rubric),
        done,
    )
    by_month: dict[str, dict[str, PartFile]] = {}
    for part in commit.parts:
        by_month.setdefault(part.month, {})[part.table] = part
    gone = broken & {d.repository for d in commit.done}
    with ThreadPoolExecutor(max(2, os.cpu_count() or 1)) as pool:
        jobs = [pool.submit(_month, dataset, new, parts, rubric, gone, known) for parts in by_month.values()]
        parts = [part for job in jobs for part in job.result()]
    dataset.put(new, parts)
    return len(done), sum(part.rows for part in parts if part.table == "iterations")


def _month(
    dataset: DataSet, new: Commit, parts: dict[str, PartFile], rubric: Rubric, gone: set[str], known: Known
) -> list[PartFile]:
    """Write what one month of a commit becomes."""
    written: list[PartFile] = []
    month = next(iter(parts.values())).month
    for table in _COPIED:
        if table in parts and not gone:
            written.append(dataset.copy(parts[table], rubric.version, new.id))
        elif table in parts:
            rows = _without(dataset.read(parts[table].name), gone)
            if rows.num_rows:
                written.append(dataset.write(table, rubric.version, month, new.id, [rows]))
    if "kept" in parts and "iterations" in parts:
        words = words_of(rubric)
        wanted = [REPOSITORY, ITERATION, *numbers_of(rubric), *words]
        kept = _without(dataset.read(parts["kept"].name, wanted, words), gone)
        iterations = _without(dataset.read(parts["iterations"].name), gone)
        if not kept.select([REPOSITORY, ITERATION]).equals(iterations.select([REPOSITORY, ITERATION])):
            raise FleetError(f"{parts['kept'].name}: its rows are not those of iterations; score anew with --force")
        scores = score_in_bulk(kept, rubric, known)
        for table, rows in (
            ("iterations", _with_scores(iterations, scores)),
            ("signals", _signal_rows(kept, scores, rubric)),
        ):
            if rows.num_rows:
                written.append(dataset.write(table, rubric.version, month, new.id, [rows]))
    return written


def _without(rows: Any, gone: set[str]) -> Any:
    if not gone:
        return rows
    import pyarrow as pa
    from pyarrow import compute

    held = compute.is_in(rows.column(REPOSITORY), value_set=pa.array(sorted(gone), pa.string()))
    return rows.filter(compute.invert(held))


def _with_scores(iterations: Any, scores: BulkScores) -> Any:
    """Return the rows of ``iterations`` with other scores."""
    for name, values in scores.columns().items():
        at = iterations.schema.get_field_index(name)
        iterations = iterations.set_column(at, iterations.schema.field(at), values)
    return iterations


def _signal_rows(kept: Any, scores: BulkScores, rubric: Rubric) -> Any:
    """Return the rows of ``signals``: for each iteration those of the rubric's signals, in its order."""
    import numpy as np
    import pyarrow as pa

    count = len(rubric.signals)
    schema = arrow_schema(FLEET_TABLES["signals"])
    each = np.repeat(np.arange(kept.num_rows, dtype=np.int32), count)
    columns = scores.signal_columns()
    for name in (REPOSITORY, ITERATION):
        column = kept.column(name).combine_chunks()
        if name == REPOSITORY:
            column = column.dictionary_encode()
            column = pa.DictionaryArray.from_arrays(column.indices.take(pa.array(each)), column.dictionary)
        else:
            column = column.take(pa.array(each))
        columns[name] = column
    which = pa.array(np.tile(np.arange(count, dtype=np.int32), kept.num_rows))
    columns["signal"] = pa.DictionaryArray.from_arrays(which, pa.array([spec.id for spec in rubric.signals]))
    fields = [schema.field(name).with_type(columns[name].type) for name in schema.names]
    return pa.table([columns[name] for name in schema.names], schema=pa.schema(fields))
