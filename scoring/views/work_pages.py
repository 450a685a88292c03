"""All of the work of a repository, as data and for people (``docs/VALIDITY.md``, "All of the work")."""

import datetime
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeAlias

from scoring.errors import GitError, NotARepositoryError
from scoring.evidence.attribution.sightings import STOPPED
from scoring.evidence.harnesses.readers import ATTRIBUTED_HARNESSES
from scoring.evidence.rules import ATTRIBUTED, Sources
from scoring.evidence.transcripts.facts import NS
from scoring.examine import LogView, PreloadedEvidence
from scoring.outcomes.ledger import State, Unit, ledger, ledger_of
from scoring.outcomes.outcome import OutcomeRules
from scoring.outcomes.prices import stored_prices
from scoring.outcomes.spending import Spending
from scoring.sidecars.provenance import time_stamp
from scoring.statistics import wilson
from scoring.text import counted
from scoring.views.spending_text import cost_text

JUDGED: tuple[State, ...] = (
    "landed",
    "reverted",
    "lost",
    "unclear",
)  # it is decided whether it landed
STATES: tuple[State, ...] = ("landed", "reverted", "open", "lost", "unclear")
NOTHING: tuple[State, ...] = ("lost", "reverted")  # the trunk has nothing of it
MOST_LOOKED_AT = 5
LEAST_STOPS = 3  # that make a unit worth a look

Reason: TypeAlias = Literal["reverted", "tests_failed", "defective", "lost", "corrected"]
_REASONS: tuple[Reason, ...] = ("reverted", "tests_failed", "defective", "lost", "corrected")


def spending_of_unit(unit: Unit) -> Spending:
    """Return what a unit used."""
    spent = unit.counted.stated if unit.counted else ()
    return Spending("transcripts", spent, (unit.minutes or 0) * 60, unit.ended)


def _to_the_second(ns: int | None) -> str | None:
    return None if ns is None else f"{time_stamp(ns)[:19]}Z"


def tokens_of(unit: Unit, cached: frozenset[str]) -> dict[str, int | None]:
    """Return tokens as the files have them; those of harnesses in ``cached`` do not say what the cache was given."""
    every = unit.counted.harnesses if unit.counted else ()
    found = [one for one in every if one.turns > one.unmeasured]
    outputs = [one.output_tokens for one in every if one.output_tokens or one in found]
    stating = [one.cache_creation_tokens for one in found if one.name not in cached]
    given, written = sum(one.input_tokens for one in found), sum(stating)
    if unit.counted and len(stating) == len(
        found
    ):  # of a response for which nothing was written, too
        given = sum(one.input_tokens for one in unit.counted.spent)
        written = sum(one.cache_write_tokens for one in unit.counted.spent)
    return {
        "input": given if found else None,
        "output": sum(outputs) if outputs else None,
        "cache_read": sum(one.cache_read_tokens for one in found) if found else None,
        "cache_creation": written if stating else None,
    }


class WorkRow(NamedTuple):
    """A unit as the table ``work`` has it, with its cost."""

    unit: Unit
    cost: float | None
    values: dict[str, Any]


def work_row(unit: Unit, cached: frozenset[str]) -> WorkRow:
    """Return the row of a unit."""
    harness, session = unit.session or (None, None)
    found = unit.counted
    nothing = (
        unit.kind == "talk" and found and not (found.turns or found.spent)
    )  # no response that was billed
    cost = 0.0 if nothing else spending_of_unit(unit).cost
    values = {
        **{name: getattr(unit, name) for name in ("unit", "kind", "state", "iteration")},
        "iterations": sorted({one.iteration for one in unit.entries}),
        "commit": unit.commit,
        "checkpoints": unit.checkpoints,
        "subject": unit.subject,
        "session_id": session,
        "harness": harness,
        "model": (found and found.model) or None,
        "author": unit.author[0] or unit.author[1] or None,
        "began": _to_the_second(found.began if found else None),
        "ended": _to_the_second(unit.ended),
        "tokens": tokens_of(unit, cached),
        "cost": cost,
        "calls": found.tool_calls if found else None,
        "minutes": unit.minutes,
        "lines_written": unit.lines_written,
        "lines_landed": unit.lines_landed,
        "yield": unit.landed_share,
        "defective": unit.defective,
    }
    return WorkRow(unit, cost, values)


def work_rows(units: Iterable[Unit], cache_dir: Path | None) -> list[WorkRow]:
    """Return the rows of units, in their order, with the prices that ``cache_dir`` keeps."""
    cached = frozenset(
        harness.name for harness in ATTRIBUTED_HARNESSES if harness.input_holds_cached
    )
    with stored_prices(cache_dir):
        return [work_row(unit, cached) for unit in units]


def work_of(view: LogView, known: PreloadedEvidence | None = None) -> list[WorkRow]:
    """Return all of the work of a log's repository, under attributed evidence, by when it ended; none without a trunk.

    What no entry names is selected by time alone. Raises as :meth:`LogView.examine`.
    """
    sources = Sources.under(ATTRIBUTED, view.repo_dir, view.transcript_dirs, view.options)
    rules = view.outcomes or OutcomeRules()
    records = (
        known.evidence.records
        if known
        else sources.entries([view.rubric], view.iter_log_dir, view.broken)
    )
    by, chosen = view.selection, view.selection.numbers(records)
    takes_others = by.last is None and by.task is None and by.only is None

    def is_wanted(unit: Unit) -> bool:
        if unit.entries:
            return any(one.iteration in chosen for one in unit.entries)
        return takes_others and (by.since is None or is_since(unit, by.since))

    try:
        found = (
            ledger_of(*known, rules)
            if known
            else ledger(records, view.iter_log_dir, sources, rules)
        )
    except NotARepositoryError:
        raise
    except GitError as e:
        sources.warn(f"what became of the work is not known: {e}")
        return []
    del known, records  # what rows need of the evidence is in the units
    return work_rows(filter(is_wanted, found.units), sources.cache_dir)


def work_summary(rows: Sequence[WorkRow]) -> dict[str, Any]:
    """Return the counts and costs of some units; talk is no unit that could land, and its cost is in the whole."""
    states = Counter(row.unit.state for row in rows)
    nothing = [row for row in rows if row.unit.state in NOTHING]
    judged = [row.unit.defective for row in rows if row.unit.defective is not None]
    return {
        "units": sum(states[state] for state in STATES),
        **{state: states[state] for state in (*STATES, "talk")},
        "judged": len(judged),
        "defective": sum(judged),
        "cost": _cost(rows),
        **{
            f"cost_{of}": _cost(row for row in rows if row.unit.state == of)
            for of in ("landed", "lost", "talk")
        },
        "came_to_nothing": {
            "units": len(nothing),
            "lost": states["lost"],
            "reverted": states["reverted"],
            "without_cost": sum(row.cost is None for row in nothing),
            "cost": _cost(nothing),
        },
        "missing_subagents": sum(row.unit.missing_subagents for row in rows),
    }


def _cost(rows: Iterable[WorkRow]) -> float | None:
    costs = [row.cost for row in rows]
    known = [cost for cost in costs if cost is not None]
    return sum(known) if known or not costs else None


_BY: dict[str, Callable[[WorkRow], str]] = {
    "harness": lambda row: row.values["harness"] or "unknown",
    "model": lambda row: row.values["model"] or "unknown",
    "month": lambda row: (row.values["ended"] or "unknown")[:7],
}


def work_by(rows: Sequence[WorkRow]) -> dict[str, list[dict[str, Any]]]:
    """Return the same by harness, model and month."""
    return {
        name: [_group(key, some) for key, some in sorted(grouped(rows, of).items())]
        for name, of in _BY.items()
    }


def grouped(rows: Iterable[WorkRow], of: Callable[[WorkRow], str]) -> dict[str, list[WorkRow]]:
    """Return some work by the name that each piece has."""
    found: dict[str, list[WorkRow]] = {}
    for row in rows:
        found.setdefault(of(row), []).append(row)
    return found


def _group(name: str, rows: Sequence[WorkRow]) -> dict[str, Any]:
    whole = work_summary(rows)
    kept = {key: whole[key] for key in ("units", "landed", "lost", "judged", "defective")}
    landed = _share(whole["landed"], sum(whole[name] for name in JUDGED))
    defective = _share(whole["defective"], whole["judged"])
    return {
        "name": name,
        **kept,
        "landed_share": landed,
        "defective_share": defective,
        "cost": whole["cost"],
    }


def _share(part: int, whole: int) -> dict[str, float | None]:
    low, high = wilson(part, whole) if whole else (None, None)
    return {"value": part / whole if whole else None, "low": low, "high": high}


def look_at(rows: Sequence[WorkRow]) -> list[dict[str, Any]]:
    """Return the units that are worth a look, worst and dearest first; failed first and passed later come last."""
    passed = {
        name: unit.ended or 0
        for unit in (row.unit for row in rows)
        if unit.last_passed
        for name in unit.lines
    }
    found = []
    for row in rows:
        if said := _why(row):
            reason, text, where = said
            mended = reason == "tests_failed" and any(
                passed.get(n, 0) > (row.unit.ended or 0) for n in row.unit.lines
            )
            place = len(_REASONS) if mended else _REASONS.index(reason)
            text += "; a later run of the same session passed" if mended else ""
            if (
                where and ".db:" in where and len(row.unit.lines) == 1
            ):  # no editor opens a line of a database
                where += f" (session {row.values['session_id']})"
            one = {
                key: row.values.get(key)
                for key in ("unit", "iteration", "ended", "subject", "commit")
            }
            one |= {"unit": row.unit.unit, "reason": reason, "text": text, "where": where}
            found.append((place, -(row.cost or 0), row.unit.unit, one))
    return [one for *_, one in sorted(found, key=lambda one: one[:3])[:MOST_LOOKED_AT]]


def _why(row: WorkRow) -> tuple[Reason, str, str | None] | None:
    unit, outcome = row.unit, row.unit.outcome
    seen = [one.observed for one in unit.entries if one.observed]
    places = {
        key: f"{at.path}:{at.line}" for one in seen for at in one.seen for key in (at.kind, at.what)
    }
    stops = sum(one.corrections.stops for one in seen)
    if unit.state == "reverted" and unit.landing:
        return (
            "reverted",
            f"reverted by {(unit.landing.reverted_by or '')[:12]}",
            unit.landing.reverted_by,
        )
    if unit.state == "landed" and unit.last_passed is False:
        return "tests_failed", "landed, and the last test run before it failed", places.get("tests")
    if outcome and outcome.reverted_by:
        return (
            "defective",
            f"taken back by {outcome.reverted_by[:12]}, and landed again",
            outcome.reverted_by,
        )
    if outcome and outcome.main_fix:
        sha, lines = outcome.main_fix
        share = f"{lines} of its {outcome.lines_added} lines of code"
        return "defective", f"{share} were changed by the fix {sha[:12]}", sha
    if unit.state == "lost" and unit.counted:
        cost = f", cost {cost_text(row.cost)}" if row.cost else ""
        written = f", {counted(unit.lines_written, 'line')} written" if unit.lines_written else ""
        return (
            "lost",
            f"came to nothing{cost}{written}",
            unit.commit or unit.first_line[1] or unit.unit,
        )
    if stops >= LEAST_STOPS:
        where = next(filter(None, map(places.get, STOPPED)), None)
        return "corrected", f"interrupted or refused {counted(stops, 'time')}", where
    return None


def is_since(unit: Unit, first: datetime.date) -> bool:
    """Whether a unit ended on a day, in UTC, or later."""
    day = datetime.datetime(first.year, first.month, first.day, tzinfo=datetime.UTC)
    return unit.ended is not None and unit.ended >= int(day.timestamp()) * NS
