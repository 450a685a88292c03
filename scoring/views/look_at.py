"""The units of work that most deserve a look, each with its reason and where to look."""

import importlib.util
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal, NamedTuple, TypeAlias, get_args

from scoring.evidence.attribution.collecting import SAID_WRONG
from scoring.evidence.openable import openable
from scoring.evidence.transcripts.facts import NS
from scoring.frozen import PlainData
from scoring.outcomes.unit import Unit
from scoring.text import counted, printable, short
from scoring.views.landing_text import taken_back_text
from scoring.views.spending_text import cost_text
from scoring.views.table import SHA, SUBJECT, Column, Line, Page, Table, subject_cell
from scoring.views.work_rows import WorkRow, day_of, in_state

MOST_SHOWN = 5  # units

LEAST_CORRECTIONS = 3
"""How many prompts of a person that say what is wrong make a unit worth a look."""

LEAST_SECONDS = 3600
"""How long work lasted that deserves a look because it was undone: a trial ends sooner."""

ReasonKind: TypeAlias = Literal[
    "taken_back", "reverted", "tests_failed", "defective", "lost", "corrected"
]

_WORST_FIRST: tuple[ReasonKind, ...] = get_args(ReasonKind)

_LISTED_KINDS: Mapping[ReasonKind, tuple[str, str]] = {
    "taken_back": ("taken back", "state = 'taken_back'"),
    "reverted": ("reverted", "state = 'reverted'"),
    "tests_failed": ("with failing tests at the end", ""),
    "defective": ("fixed later", "defective and state = 'landed'"),
    "lost": ("lost", "state = 'lost'"),
}
"""What people read for kinds of trouble, and the rows of the table of work that are of each."""


class Reason(NamedTuple):
    """Why a unit is worth a look.

    Attributes:
        kind: the kind of reason, by which units are ordered.
        text: the reason in words.
        where: a commit that git has, or a line of a transcript as ``path:line``; "" where neither
            is known, and then it is not shown.
    """

    kind: ReasonKind
    text: str
    where: str


def look_at(rows: Sequence[WorkRow]) -> list[PlainData]:
    """Return the units that are worth a look as data, worst and dearest first."""
    passed_at = _last_passes(rows)
    unit_of = {row.unit.commit: row.unit for row in rows if row.unit.commit}
    landed_at = _last_ends(in_state(rows, "landed"))

    reasons = []
    for row in sorted(rows, key=lambda row: (-(row.cost or 0), row.unit.unit)):
        reason = _reason(row, passed_at, unit_of, landed_at)
        if reason is not None:
            reasons.append((row, reason))

    reasons.sort(key=lambda pair: _WORST_FIRST.index(pair[1].kind))
    shown: dict[str, tuple[WorkRow, Reason]] = {}
    for row, reason in reasons:
        is_of_tests = reason.kind == "tests_failed"  # one run may be the last of several
        shown.setdefault(reason.where if is_of_tests else row.unit.unit, (row, reason))
    return [_payload(row, reason) for row, reason in list(shown.values())[:MOST_SHOWN]]


def _was_still_in_work(unit: Unit, commit: str, unit_of: Mapping[str, Unit]) -> bool:
    """Return whether a commit that undid or fixed a unit was part of the same work.

    One session led to both, or they are less than an hour apart.
    """
    later = unit_of.get(commit)
    if later is None:
        return False
    seconds = ((later.ended or 0) - (unit.ended or 0)) // NS
    return seconds < LEAST_SECONDS or _are_of_one_session(unit, later)


def _are_of_one_session(unit: Unit, later: Unit | None) -> bool:
    return later is not None and not set(unit.sessions).isdisjoint(later.sessions)


def _last_ends(rows: Iterable[WorkRow]) -> dict[object, int]:
    """Return for each session when the last of some units ended."""
    ended_at: dict[object, int] = {}
    for row in rows:
        ended_at.update(dict.fromkeys(row.unit.sessions, row.unit.ended or 0))
    return ended_at


def _last_passes(rows: Iterable[WorkRow]) -> dict[object, int]:
    return _last_ends(row for row in rows if row.unit.last_passed)


def failing_tests(rows: Sequence[WorkRow]) -> list[WorkRow]:
    """Return the landed or open work that failed its last test run and that no later run mended."""
    passed_at = _last_passes(rows)
    return [
        row
        for row in rows
        if row.unit.state in ("landed", "open")
        and row.unit.last_passed is False
        and not _happened_later(row.unit, passed_at)
    ]


def _happened_later(unit: Unit, times: Mapping[object, int]) -> bool:
    """Return whether something happened in a session of a unit after the unit ended."""
    ended = unit.ended or 0
    return any(times.get(session, 0) > ended for session in unit.sessions)


def _payload(row: WorkRow, reason: Reason) -> PlainData:
    where = reason.where
    is_in_database = ".db:" in where
    if is_in_database and len(row.unit.sessions) == 1:  # no editor opens a line of a database
        where = f"{where} (session {row.values['session_id']})"
    where = openable(where, row.unit.checkpoint_branch)

    return {
        "unit": row.unit.unit,
        **{key: row.values.get(key) for key in ("iteration", "ended", "subject", "commit")},
        "reason": reason.kind,
        "text": reason.text,
        "where": where,
    }


def _reason(
    row: WorkRow,
    passed_at: Mapping[object, int],
    unit_of: Mapping[str, Unit],
    landed_at: Mapping[object, int],
) -> Reason | None:
    """Return the worst reason to look at a unit, or None if none can be opened.

    Args:
        row: the unit.
        passed_at: for each session when its last unit with passing tests ended.
        unit_of: the unit of each commit.
        landed_at: for each session when its last unit that landed ended.
    """
    reasons = (
        _undone(row.unit, unit_of),
        _tests_failed(row.unit, passed_at),
        _defective(row.unit, unit_of),
        _lost(row, landed_at),
        _corrected(row.unit),
    )
    for reason in reasons:
        if reason is not None and reason.where:
            return reason
    return None


def _undone(unit: Unit, unit_of: Mapping[str, Unit]) -> Reason | None:
    """Return that landed work was reverted, or taken back, with the state as the kind.

    What its own session took back was a trial, and so was what a commit takes back within an hour
    and says so. What another one removes without a word was hardly meant to go.
    """
    undone = unit.landing.undone if unit.landing else None
    if unit.state not in ("reverted", "taken_back") or not undone or not undone.taken_back:
        return None

    taken = undone.taken_back
    was_trial = _are_of_one_session(unit, unit_of.get(taken.by))
    if taken.said:
        is_soon = taken.seconds < LEAST_SECONDS
        was_trial = is_soon or _was_still_in_work(unit, taken.by, unit_of)
    if was_trial:
        return None
    return Reason("reverted" if taken.said else unit.state, taken_back_text(taken), taken.by)


def _tests_failed(unit: Unit, passed_at: Mapping[object, int]) -> Reason | None:
    """Return that tests failed which had passed, unless a later run of the same session passed.

    Tests that failed from the beginning may be broken otherwise, or need what is not there.
    """
    is_failing = unit.state == "landed" and unit.last_tests.newly_failed
    if not is_failing or _happened_later(unit, passed_at):
        return None
    text = "landed, and the last test run before it failed, after one that passed"
    return Reason("tests_failed", text, _sightings(unit).get("tests", ""))


def _defective(unit: Unit, unit_of: Mapping[str, Unit]) -> Reason | None:
    """Return that a fix changed the work soon. What its own session fixes was still in work."""
    outcome = unit.outcome
    if outcome is None or not outcome.main_fix:
        return None
    sha, fixed_lines = outcome.main_fix
    if _was_still_in_work(unit, sha, unit_of):
        return None
    share = f"{fixed_lines} of its {outcome.lines_added} lines of code"
    return Reason("defective", f"{share} were changed by the fix {short(sha)}", sha)


def _lost(row: WorkRow, landed_at: Mapping[object, int]) -> Reason | None:
    """Return that code came to nothing at a cost. Data and notes may well be meant to.

    What its own session landed later took the place of an attempt.
    """
    unit = row.unit
    is_lost = unit.state == "lost" and row.cost and unit.wrote_code
    if not is_lost or _happened_later(unit, landed_at):
        return None

    text = f"lost, cost {cost_text(row.cost)}"
    if unit.lines_written:
        text += f", {counted(unit.lines_written, 'line')} written"

    commit = unit.landing.sha if unit.landing else None
    return Reason("lost", text, commit or unit.first_line)


def _corrected(unit: Unit) -> Reason | None:
    """Return that a person said again and again what was wrong."""
    words = sum(observed.corrections.words or 0 for observed in unit.observed)
    if words < LEAST_CORRECTIONS:
        return None
    text = f"corrected {counted(words, 'time')} by a person"
    return Reason("corrected", text, _sightings(unit).get(SAID_WRONG, ""))


def _sightings(unit: Unit) -> dict[str, str]:
    """Return where things were seen, as ``path:line``, by their kind and by their words."""
    sightings: dict[str, str] = {}
    for observed in unit.observed:
        for sighting in observed.seen:
            where = f"{sighting.path}:{sighting.line}"
            sightings[sighting.kind] = where
            sightings[sighting.what] = where
    return sightings


_COLUMNS = (
    Column("ITER", right=True),
    Column("DATE"),
    SUBJECT,
    SHA,
    Column("WHY", prose=True),
    Column("WHERE"),
)


def look_at_page(rows: Sequence[WorkRow]) -> Page:
    """Yield the units that most deserve a look, and how many there are of each kind of trouble."""
    worst = look_at(rows)
    others = list(_kinds(rows, Counter(unit["reason"] for unit in worst)))
    if not worst and not others:
        yield "Nothing needs a look."
        return

    if worst:
        yield Line("Look at", "bold")
        yield Table(_COLUMNS, [_table_row(unit) for unit in worst])
    yield from (Line(text, "dim") for text in others)


def _kinds(rows: Sequence[WorkRow], shown: Mapping[ReasonKind, int]) -> Iterator[str]:
    """Yield how many units there are of each kind of trouble, and the command that lists them.

    Args:
        rows: the work.
        shown: how many of each kind the table has; a kind that it has whole is left out.
    """
    counts = Counter[str](row.unit.state for row in rows)
    counts["tests_failed"] = len(failing_tests(rows))
    counts["defective"] = sum(bool(row.unit.defective) for row in in_state(rows, "landed"))

    for kind, (what, condition) in _LISTED_KINDS.items():
        if counts[kind] > shown.get(kind, 0):
            command = ""
            if not condition:
                command = ": da-score check --no-failing-tests"
            elif importlib.util.find_spec("duckdb"):  # without it there is no query
                command = f': da-score query "from work where {condition}"'
            yield f"{counted(counts[kind], 'unit')} {what}{command}"


def _table_row(unit: Mapping[str, Any]) -> Sequence[Any]:
    subject = unit["subject"]
    if not subject and not unit["commit"]:
        subject = "work without a commit"

    where = unit["where"]
    is_commit = where.isalnum()
    return (
        "-" if unit["iteration"] is None else unit["iteration"],
        day_of(unit["ended"]) or "-",
        subject_cell(subject or ""),
        short(unit["commit"] or "-"),
        unit["text"],
        short(where) if is_commit else printable(where),
    )
