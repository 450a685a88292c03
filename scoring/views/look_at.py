"""The units of work that most deserve a look, each with its reason and where to look."""

import importlib.util
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Literal, NamedTuple, TypeAlias, get_args

from scoring.evidence.attribution.collecting import SAID_WRONG
from scoring.evidence.git.commit_names import only_tidies
from scoring.evidence.git.facts import TakenBack
from scoring.evidence.openable import openable
from scoring.evidence.transcripts.facts import NS
from scoring.frozen import PlainData
from scoring.outcomes.outcome import STILL_IN_WORK
from scoring.outcomes.unit import Unit
from scoring.text import and_more, counted, printable, short

from .amounts import cost_text
from .landing_text import STATE_WORDS, undone_text
from .table import SHA, SUBJECT, Cells, Column, Line, Page, Table, subject_cell
from .work_rows import WorkRow, WorkRows, day_of, in_state

MOST_SHOWN = 5  # units

LEAST_CORRECTIONS = 3
"""How many prompts of a person that say what is wrong make a unit worth a look."""

_MOVES = re.compile(
    r"\b(?:mov(?:e[sd]?|ing)|relocat\w+|migrat\w+|extract\w*)\b", re.IGNORECASE
)
"""What the subject of a commit says that moves work elsewhere."""

_TRIAL = re.compile(r"(?:debug|probe|wip|temp)\b", re.IGNORECASE)
"""How the subject of a commit begins that is a trial."""

_STOPGAP = re.compile(r"\b(?:work-?arounds?|stop-?gaps?)\b", re.IGNORECASE)
"""What the subject of a commit says that drops what was not meant to stay."""

ReasonKind: TypeAlias = Literal[
    "taken_back",
    "reverted",
    "tests_failed",
    "defective",
    "lost",
    "corrected",
]

_WORST_FIRST: tuple[ReasonKind, ...] = get_args(ReasonKind)

_LISTED_KINDS: Mapping[ReasonKind, tuple[str, str]] = {
    "taken_back": ("taken back", "state = 'taken_back'"),
    "reverted": ("reverted", "state = 'reverted'"),
    "tests_failed": ("with failing tests at the end", ""),
    "defective": ("fixed later", "defective and state = 'landed'"),
    "lost": ("lost", "state = 'lost'"),
}
"""For kinds of trouble, what people read, and a condition in SQL for the rows of ``work``.

The condition is "" where no column shows the kind.
"""


NOTHING_JUDGED = (
    "Nothing could be looked at: no session is here, and no work can be judged."
)
"""Stands where no unit could have a reason, in place of the words that none has one."""

_UNITS = "select unit, cost, subject from work"
"""What a query that lists units begins with."""


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


def is_commit(where: str) -> bool:
    """Return whether a place is a commit, and not a line of a transcript."""
    return where.isalnum()


class _OtherWork(NamedTuple):
    """What is known of all of the work, by which a unit is judged.

    Attributes:
        unit_of: the unit of each commit, by SHA.
        passed_at: for each session, when its last unit with passing tests ended, in nanoseconds.
        landed_at: for each session, when its last unit that landed ended, in nanoseconds.
    """

    unit_of: Mapping[str, Unit]
    passed_at: Mapping[object, int]
    landed_at: Mapping[object, int]

    def were_still_in_work(self, unit: Unit, commit: str) -> bool:
        """Return whether a commit that undid or fixed a unit was part of the same work.

        They were in any of these cases:

        - one merge brought both;
        - one session led to both;
        - the unit of the commit ended less than an hour after ``unit``.
        """
        if commit in unit.mended_in_branch:
            return True
        later = self.unit_of.get(commit)
        if later is None:
            return False
        seconds = ((later.ended or 0) - (unit.ended or 0)) // NS
        return seconds < STILL_IN_WORK or _are_of_one_session(unit, later)


def look_at(rows: WorkRows) -> list[PlainData]:
    """Return at most :data:`MOST_SHOWN` units that are worth a look, as data.

    The worst reason comes first, and for one reason the dearest unit. A unit is listed once, with
    its worst reason that has a place to look at; so is a failed run that several units share.

    Args:
        rows: the work, in the order in which it ended.
    """
    others = _other_work(rows)
    reasons = []
    for row in sorted(rows, key=lambda row: (-(row.cost or 0), row.unit.unit)):
        for reason in _reasons(row, others):
            if reason.where:
                reasons.append((row, reason))
                break

    reasons.sort(key=lambda pair: _WORST_FIRST.index(pair[1].kind))
    worst: dict[str, PlainData] = {}
    for row, reason in reasons:
        unit = row.unit
        # a run may be of several
        key = reason.where if reason.kind == "tests_failed" else unit.unit
        value = {
            "unit": unit.unit,
            **{
                name: row.values.get(name)
                for name in ("iteration", "ended", "subject", "commit")
            },
            "reason": reason.kind,
            "text": reason.text,
            "where": place_of(reason.where, row),
        }
        worst.setdefault(key, value)
    return list(worst.values())[:MOST_SHOWN]


def reasons_to_look(row: WorkRow, rows: WorkRows) -> list[Reason]:
    """Return the reasons to look at one unit, the worst first, each with a place to look at.

    They are those of :func:`look_at`, and that it is in :func:`failing_tests`.

    Args:
        row: the unit.
        rows: all of the work, in the order in which it ended.
    """
    reasons = list(_reasons(row, _other_work(rows)))
    kinds = {reason.kind for reason in reasons}
    if "tests_failed" not in kinds and row in failing_tests(rows):
        where = _sightings(row.unit).get("tests", "")
        reasons.append(Reason("tests_failed", "its last test run failed", where))
    return [
        reason._replace(where=place_of(reason.where, row))
        for reason in reasons
        if reason.where
    ]


def place_of(where: str, row: WorkRow) -> str:
    """Return a place as a person can open it here.

    Args:
        where: a commit, or a line of a transcript as ``path:line``.
        row: the unit that the place is about.
    """
    # no editor opens a line of a database
    if ".db:" in where and len(row.unit.sessions) == 1:
        where = f"{where} (session {row.values['session_id']})"
    return openable(where, row.unit.checkpoint_branch)


def _other_work(rows: WorkRows) -> _OtherWork:
    """Return what is known of all of the work, by which a unit is judged."""
    unit_of = {row.unit.commit: row.unit for row in rows if row.unit.commit}
    landed = in_state(rows, "landed")
    return _OtherWork(unit_of, _last_passes(rows), _last_ends(landed))


def _are_of_one_session(unit: Unit, later: Unit | None) -> bool:
    return later is not None and not set(unit.sessions).isdisjoint(later.sessions)


def _last_ends(rows: WorkRows) -> dict[object, int]:
    """Return for each session when the last one of some units ended, in nanoseconds.

    Args:
        rows: the units, in the order in which they ended. A later row replaces an earlier one.
    """
    ended_at: dict[object, int] = {}
    for row in rows:
        ended_at.update(dict.fromkeys(row.unit.sessions, row.unit.ended or 0))
    return ended_at


def _last_passes(rows: WorkRows) -> dict[object, int]:
    passed = [row for row in rows if row.unit.last_passed]
    return _last_ends([row for row in passed if row.unit.kind != "talk"])


def failing_tests(rows: WorkRows) -> list[WorkRow]:
    """Return the work, without talk, of which the last test run failed and that is not set aside.

    Args:
        rows: the work, in the order in which it ended.
    """
    return [row for row, why_not in failed_runs(rows) if not why_not]


def failed_runs(rows: WorkRows) -> list[tuple[WorkRow, str]]:
    """Return the work of which the last test run failed, each with why it is set aside, or "".

    Talk is left out. Other work is set aside if it neither landed nor is open, or if the same tests
    passed later in its session, or if a later unit of one of its sessions, talk aside, ended with
    passing tests.

    Args:
        rows: the work, in the order in which it ended.
    """
    passed_at = _last_passes(rows)
    failed = []
    for row in rows:
        unit = row.unit
        if unit.last_passed is not False or unit.kind == "talk":
            continue

        why_not = ""
        if unit.state not in ("landed", "open"):
            why_not = STATE_WORDS.get(unit.state, unit.state)
        elif _passed_later(unit, passed_at):
            why_not = "with tests that passed later in the session"
        failed.append((row, why_not))
    return failed


def _passed_later(unit: Unit, passed_at: Mapping[object, int]) -> bool:
    """Return whether its tests, or later work of its session, passed after the unit."""
    return unit.passed_later or _happened_later(unit, passed_at)


def _happened_later(unit: Unit, times: Mapping[object, int]) -> bool:
    """Return whether one of a unit's sessions has a time after the end of the unit.

    Args:
        unit: the unit.
        times: when something happened last in a session, in nanoseconds, by session.
    """
    ended = unit.ended or 0
    return any(times.get(session, 0) > ended for session in unit.sessions)


def _reasons(row: WorkRow, others: _OtherWork) -> Iterator[Reason]:
    """Yield the reasons to look at a unit, the worst first."""
    unit = row.unit
    landing = unit.landing

    taken = _undone_by(unit)
    if (
        taken
        and unit.state in ("reverted", "taken_back")
        and not _why_meant(unit, taken, others)
    ):
        yield Reason(unit.state, undone_text(taken, unit.state), taken.by)

    # Tests that failed from the beginning may be broken otherwise, or need what is not there.
    if unit.state == "landed" and unit.last_tests.newly_failed:
        if not _passed_later(unit, others.passed_at):
            text = (
                "landed, and the last test run before it failed, after one that passed"
            )
            yield Reason("tests_failed", text, _sightings(unit).get("tests", ""))

    # What its own session or branch fixes was still in work.
    outcome = unit.outcome
    if outcome and outcome.main_fix and not _TRIAL.match(unit.subject or ""):
        sha, fixed_lines = outcome.main_fix
        if not others.were_still_in_work(unit, sha):
            share = f"{fixed_lines} of its {outcome.lines_added} lines of code"
            yield Reason(
                "defective", f"{share} were changed by the fix {short(sha)}", sha
            )

    if unit.state == "lost" and not _why_not_listed(row, others):
        text = f"lost, cost {cost_text(row.cost)}"
        if unit.lines_written:
            text += f", {counted(unit.lines_written, 'line')} written"
        commit = landing.sha if landing else None
        yield Reason("lost", text, commit or unit.first_line)

    words = sum(observed.corrections.words or 0 for observed in unit.observed)
    if words >= LEAST_CORRECTIONS:
        text = f"corrected {counted(words, 'time')} by a person"
        yield Reason("corrected", text, _sightings(unit).get(SAID_WRONG, ""))


def _undone_by(unit: Unit) -> TakenBack | None:
    """Return the commit that undid a unit, or None for one that is not undone."""
    if unit.state not in ("reverted", "taken_back") or not unit.landing:
        return None
    return unit.landing.undone.taken_back if unit.landing.undone else None


def _why_meant(unit: Unit, taken: TakenBack, others: _OtherWork) -> str:
    """Return why what undid a unit needs no look, or "".

    What its own session or branch took back was a trial, and so was what a commit takes back within
    an hour and says so. What another one removes without a word was hardly meant to go.
    """
    if taken.by in unit.mended_in_branch:
        return "undone on the same branch before the merge"
    if only_tidies(taken.subject) or only_tidies(unit.subject or ""):
        return "tidied"
    if _STOPGAP.search(taken.subject):
        return "a workaround that was dropped"
    if _are_of_one_session(unit, others.unit_of.get(taken.by)):
        return "undone in the same session"
    if not taken.said:
        # What moved to another repository is not gone.
        return "moved elsewhere" if _MOVES.search(taken.subject) else ""
    if taken.seconds < STILL_IN_WORK:
        return "undone within an hour"
    in_work = others.were_still_in_work(unit, taken.by)
    return "undone by work of the same hour" if in_work else ""


def _why_not_listed(row: WorkRow, others: _OtherWork) -> str:
    """Return why undone, fixed or lost work needs no look, or ""."""
    unit = row.unit
    taken = _undone_by(unit)
    if taken:
        return _why_meant(unit, taken, others)

    if unit.state == "landed" and unit.defective:
        fix = unit.outcome.main_fix if unit.outcome else None
        if _TRIAL.match(unit.subject or ""):
            return "called a trial by its subject"
        if not fix:
            return "no commit of an hour or more later is certain to be the fix"
        in_work = others.were_still_in_work(unit, fix[0])
        return (
            "fixed in the same session or branch, or by work of the same hour"
            if in_work
            else ""
        )

    if unit.state != "lost":
        return ""
    # Data and notes may well be meant to come to nothing. What its own session landed later took
    # the place of an attempt.
    if not row.cost:
        return "without a known cost"
    if not unit.wrote_code:
        return "without code"
    if _happened_later(unit, others.landed_at):
        return "the session landed later work"
    return ""


def _sightings(unit: Unit) -> dict[str, str]:
    """Return where things were seen, as ``path:line``, by their kind and also by their words.

    The last of several counts.
    """
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


def nothing_was_judged(rows: WorkRows) -> bool:
    """Return whether no work has a session here, and none has been judged."""
    return not any(row.unit.sessions or row.unit.defective is not None for row in rows)


def look_at_page(rows: WorkRows) -> Page:
    """Yield the units that most deserve a look, and how many there are of each kind of trouble."""
    worst = look_at(rows)
    shown = Counter(unit["reason"] for unit in worst)
    counts = Counter[str](row.unit.state for row in rows)
    counts["tests_failed"] = len(failing_tests(rows))
    counts["defective"] = sum(
        bool(row.unit.defective) for row in in_state(rows, "landed")
    )

    others = []
    for kind, (what, condition) in _LISTED_KINDS.items():
        if counts[kind] > shown[kind]:
            command = ""
            if not condition:
                command = ": da-score check --no-failing-tests"
            elif importlib.util.find_spec("duckdb"):
                command = f': da-score query "{_UNITS} where {condition}"'
            else:  # there is no query
                command = f": rows with {condition} in da-score export --tables work"
            others.append(f"{counted(counts[kind], 'unit')} {what}{command}")
    others += not_listed(rows, worst)

    if not worst and not others:
        said = "Nothing needs a look."
        if not rows:
            said = "Nothing to look at: no work was found or chosen."
        elif nothing_was_judged(rows):
            said = NOTHING_JUDGED
        yield said
        return

    if worst:
        yield Line("Look at", "bold")
        yield Table(_COLUMNS, list(map(_table_row, worst)))
    yield from (Line(text, "dim") for text in others)


def not_listed(rows: WorkRows, worst: Iterable[PlainData]) -> Iterator[str]:
    """Yield for each reason how much undone, fixed or lost work is not listed because of it.

    Args:
        rows: the work, in the order in which it ended.
        worst: the units that are listed, as of :func:`look_at`.
    """
    listed = {unit["unit"] for unit in worst}
    others = _other_work(rows)
    names: dict[tuple[str, str], list[str]] = {}
    for row in rows:
        unit = row.unit
        why = _why_not_listed(row, others)
        if why and unit.unit not in listed:
            word = "fixed" if unit.state == "landed" else STATE_WORDS[unit.state]
            name = short(unit.commit) if unit.commit else printable(unit.unit)
            names.setdefault((word, why), []).append(name)

    for (state, why), units in names.items():
        are = counted(len(units), f"{state} unit is", f"{state} units are")
        some = ", ".join(units[:3]) + and_more(units, 3)
        yield f"{are} not listed ({why}): {some}"


def _table_row(unit: PlainData) -> Cells:
    subject = unit["subject"]
    if not subject and not unit["commit"]:
        subject = "work without a commit"

    where = unit["where"]
    return (
        "-" if unit["iteration"] is None else unit["iteration"],
        str(day_of(unit["ended"]) or "-"),
        subject_cell(subject or ""),
        short(unit["commit"] or "-"),
        unit["text"],
        short(where) if is_commit(where) else printable(where),
    )
