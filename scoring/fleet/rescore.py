"""Scores what a data set keeps under another rubric that has evidence read alike, without git and transcripts."""

import json
from collections.abc import Collection
from dataclasses import asdict, dataclass, replace
from functools import reduce
from operator import or_
from typing import Any

from rubric import Rubric, SignalID
from rubric.model import STRICT
from scoring.errors import FleetError
from scoring.fleet import tables as fleet_tables
from scoring.fleet.dataset import DataSet, sql_text
from scoring.fleet.sources import evidence_key
from scoring.fleet.tables import CLAIMS, ITERATION, MONTH, REPOSITORY, RUBRIC, SEEN
from scoring.sidecars.fingerprint import digest_of
from scoring.signals.table import SIGNALS
from scoring.signals.values import IterationObjectives, SignalSet, absent_signal

_NO_OBJECTIVES = IterationObjectives(*[absent_signal("")] * 3)


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
    """Add rows under a rubric, made of those under ``source`` or the first that reads alike; FleetError, WriteError."""
    from pyarrow import compute as pc

    with DataSet.for_writing(dataset.url, dataset.storage) as written:
        source = _source(written, rubric, source)
        known = written.of(source)
        broken = {
            name for name, state in known.items() if state.broken and rubric.loading == STRICT
        }
        left_out = [
            f"{name}: has broken entries, at which rubric {rubric.version} stops"
            for name in sorted(broken)
        ]
        failed = sorted((name, state.reason) for name, state in known.items() if state.reason)
        left_out += [f"{name}: failed under rubric {source}: {reason}" for name, reason in failed]
        taken = [state for name, state in known.items() if state.scored and name not in broken]
        either = pc.field(RUBRIC).isin([source, rubric.version])
        months = written.rows("iterations").to_table([MONTH], filter=either).column(MONTH)
        for month in sorted(months.unique().to_pylist()):
            tables = _rescored(written, rubric, source, month, broken)
            written.put(
                tables,
                _replaced(written, rubric.version, month, {state.repository for state in taken}),
            )
        digest, evidence = digest_of(repr(rubric).encode()), json.dumps(evidence_key(rubric))
        written.note(
            [
                replace(
                    s,
                    rubric=rubric.version,
                    digest=digest,
                    evidence=evidence,
                    reason="",
                    attempts=0,
                )
                for s in taken
            ]
        )
        written.tidy()
        return Rescored(
            rubric.version, source, len(taken), sum(s.iterations for s in taken), tuple(left_out)
        )


def _source(dataset: DataSet, rubric: Rubric, wanted: str | None) -> str:
    ours = _alike(evidence_key(rubric))
    candidates = (
        [wanted] if wanted else [name for name in dataset.rubrics if name != rubric.version]
    )
    if not any(dataset.of(name) for name in candidates):
        what = f"of rubric {wanted}" if wanted else f"of another rubric than {rubric.version}"
        raise FleetError(f"{dataset.url}: there are no rows {what}; run 'da-score fleet' first")
    reasons = []
    for name in candidates:
        theirs = [
            _alike(json.loads(text))
            for text in sorted({state.evidence for state in dataset.of(name).values()})
        ]
        if all(one == ours for one in theirs):
            missing = _missing(dataset, name, rubric)
            if not missing:
                return name
            reasons.append(f"rubric {name} was kept without {', '.join(missing)}")
        else:
            differ = sorted({key for one in theirs for key in ours if one.get(key) != ours[key]})
            words = ", ".join(
                f"{key} {theirs[0].get(key) or 'none'!s} there and {ours[key]!s} here"
                for key in differ
            )
            reasons.append(f"rubric {name}: {words}")
    raise FleetError(
        f"{dataset.url}: rubric {rubric.version} cannot be scored from what is kept, because evidence is read "
        f"otherwise ({'; '.join(reasons)}); run 'da-score fleet FLEET.toml --rubric {rubric.version}' instead"
    )


def _alike(key: dict[str, Any]) -> dict[str, Any]:
    # whether a broken entry stops a log only decides which logs have rows
    return {name: value for name, value in key.items() if name != "loading"}


def _missing(dataset: DataSet, source: str, rubric: Rubric) -> list[str]:
    from pyarrow import compute as pc

    known = {signal.id for signal in SIGNALS}
    wanted = [spec.id for spec in rubric.signals if spec.id in known]
    lacks = {name: pc.field(fleet_tables.how_column(name, SEEN)).is_null() for name in wanted}
    rows = dataset.rows("kept").filter(pc.field(RUBRIC) == source)
    missing = {spec.id for spec in rubric.signals} - known
    if wanted and rows.count_rows(filter=reduce(or_, lacks.values())):
        missing |= {name for name in wanted if rows.count_rows(filter=lacks[name])}
    return sorted(missing)


def _replaced(dataset: DataSet, rubric: str, month: str, taken: set[str]) -> str | None:
    there = {name for name, state in dataset.of(rubric).items() if state.scored}
    if not there & taken:
        return None
    where = f"{RUBRIC} = {sql_text(rubric)} AND {MONTH} = {sql_text(month)}"
    stay = ", ".join(map(sql_text, sorted(there - taken)))
    return f"{where} AND {REPOSITORY} NOT IN ({stay})" if stay else where


def _rescored(
    dataset: DataSet, rubric: Rubric, source: str, month: str, left_out: Collection[str]
) -> dict[str, Any]:
    import pyarrow as pa
    from pyarrow import compute as pc

    where = (pc.field(RUBRIC) == source) & (pc.field(MONTH) == month)
    if left_out:
        where &= ~pc.field(REPOSITORY).isin(sorted(left_out))
    key = [(REPOSITORY, "ascending"), (ITERATION, "ascending")]
    tables = {
        name: dataset.rows(name).to_table(filter=where).sort_by(key)
        for name in fleet_tables.FLEET_TABLES
        if name not in ("signals", fleet_tables.WORK)
    }
    kept, iterations = tables["kept"], tables["iterations"]
    if not kept.select([REPOSITORY, ITERATION]).equals(iterations.select([REPOSITORY, ITERATION])):
        raise FleetError(
            f"{dataset.url}: in {month} kept and iterations differ; score anew with --force"
        )
    scores, signals = [], []
    for row in kept.to_pylist():
        values = {
            way: {SignalID(s.id): fleet_tables.value_kept(row, s.id, way) for s in rubric.signals}
            for way in (CLAIMS, SEEN)
        }
        voting = values[CLAIMS if rubric.claims_vote else SEEN]
        score = rubric.score(
            SignalSet(row[ITERATION], voting, _NO_OBJECTIVES, tool_calls=row["tool_calls_seen"])
        )
        scores.append(fleet_tables.score_columns(score))
        signals += [
            one | {RUBRIC: rubric.version, MONTH: month}
            for one in fleet_tables.rows_of_signals(
                row[REPOSITORY], score, values[SEEN], values[CLAIMS]
            )
        ]
    for name in scores[0] if scores else ():
        tables["iterations"] = _with(tables["iterations"], name, [one[name] for one in scores])
    tables = {
        name: _with(rows, RUBRIC, [rubric.version] * rows.num_rows) for name, rows in tables.items()
    }
    return tables | {
        "signals": pa.Table.from_pylist(signals, schema=fleet_tables.partitioned_schema("signals"))
    }


def _with(rows: Any, name: str, values: list[Any]) -> Any:
    import pyarrow as pa

    at = rows.schema.get_field_index(name)
    field = rows.schema.field(at)
    return rows.set_column(at, field, pa.array(values, field.type))
