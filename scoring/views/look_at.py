"""The units of work that most deserve a look, each with its reason and where to look."""

import re
from collections.abc import Container, Iterator, Mapping
from typing import Literal, NamedTuple, TypeAlias, get_args

from scoring.evidence.git.commit_names import only_tidies
from scoring.evidence.git.facts import TakenBack
from scoring.evidence.openable import counts_events, openable
from scoring.evidence.transcripts.facts import NS
from scoring.frozen import PlainData
from scoring.outcomes.outcome import DAY
from scoring.outcomes.unit import Unit
from scoring.text import counted

from .amounts import cost_text
from .landing_text import STATE_WORDS, undone_text
from .work_rows import WorkRow, WorkRows, in_state

MOST_SHOWN = 5  # units

LEAST_CORRECTIONS = 3
"""How many prompts of a person that say what is wrong make a unit a corrected one."""

_MOVES = re.compile(
    r"\b(?:mov(?:e[sd]?|ing)|relocat\w+|migrat\w+|extract\w*|from tracking)\b",
    re.IGNORECASE,
)
"""What the subject of a commit says that moves work elsewhere, or keeps it without git."""

_STOPGAP = re.compile(
    r"\b(?:work-?arounds?|stop-?gaps?|temporar(?:y|ily))\b|^(?:debug|probe|wip|temp)\b",
    re.IGNORECASE,
)
"""What the subject of a commit says of work that was not meant to stay."""

_STILL_IN_WORK = 3600
"""Work that a commit undoes in less than so many seconds was still in work."""

_LEAST_LINES = 5
"""How many lines undone work changed at least, outside of tests, documents and CI."""

_LEAST_REVERTED = 100
"""How many where the work is reverted, and no session shows what it did, or where it is lost."""

_LEAST_COST = 1.0
"""What lost work of fewer lines cost at least, in US dollars."""

_PLANS_CHANGE = 30 * DAY
"""Work that is undone after so many seconds served its time, or is undone for other reasons."""

ReasonKind: TypeAlias = Literal[
    "taken_back",
    "reverted",
    "tests_failed",
    "lost",
]

_WORST_FIRST: tuple[ReasonKind, ...] = get_args(ReasonKind)

TROUBLE_KINDS: dict[str, str] = {
    "taken_back": "taken back",
    "reverted": "reverted",
    "tests_failed": "with failing tests at the end",
    "defective": "fixed later",
    "lost": "lost",
    "corrected": f"corrected {LEAST_CORRECTIONS} times or more",
}
"""What people read for each kind of trouble that units may have."""

LISTED_KINDS: dict[str, str] = TROUBLE_KINDS | {
    "open": "open",
    "unclear": "unclear",
    "landed": "landed",
    "talk": "of talk",
}
"""What people read for every kind of units that ``work --list`` takes."""


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
        failing: the ids of the units in :func:`failing_tests`.
        landed_at: for each session, when its last unit that landed ended, in nanoseconds.
    """

    unit_of: Mapping[str, Unit]
    failing: Container[str]
    landed_at: Mapping[object, int]


def look_at(rows: WorkRows) -> list[PlainData]:
    """Return at most :data:`MOST_SHOWN` units that are worth a look, as data.

    The worst reason comes first, then the dearest unit, then the newest. A unit is listed once, by
    its worst reason that has a place to look at; so is a failed run that several units share.

    Args:
        rows: the work, in the order in which it ended.
    """
    others = _other_work(rows)
    newest_first = rows[::-1]
    reasons = []
    for row in sorted(newest_first, key=lambda row: -(row.cost or 0)):
        for reason in _reasons(row, others):
            if reason.where:
                reasons.append((row, reason))
                break

    reasons.sort(key=lambda pair: _WORST_FIRST.index(pair[1].kind))
    worst: dict[str, PlainData] = {}
    for row, reason in reasons:
        unit = row.unit
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
    others = _other_work(rows)
    reasons = list(_reasons(row, others))
    kinds = {reason.kind for reason in reasons}
    if "tests_failed" not in kinds and row.unit.unit in others.failing:
        text = "its last test run failed"
        reasons.append(Reason("tests_failed", text, _failed_at(row.unit)))
    return [
        reason._replace(where=place_of(reason.where, row))
        for reason in reasons
        if reason.where
    ]


def place_of(where: str, row: WorkRow) -> str:
    """Return a place as a person can open it here.

    For a line of a document that is the document; with a line of a database comes its session.

    Args:
        where: a commit, or a line of a transcript as ``path:line``.
        row: the unit that the place is about.
    """
    if ".db:" in where:  # no editor opens a line of a database
        if len(row.unit.sessions) == 1:
            where = f"{where} (session {row.values['session_id']})"
    elif not is_commit(where) and counts_events(each for each, _ in row.unit.sessions):
        where = where.rpartition(":")[0]
    return openable(where, row.unit.checkpoint_branch)


def _other_work(rows: WorkRows) -> _OtherWork:
    """Return what is known of all of the work, by which a unit is judged."""
    unit_of = {row.unit.commit: row.unit for row in rows if row.unit.commit}
    failing = {row.unit.unit for row in failing_tests(rows)}
    landed = in_state(rows, "landed")
    return _OtherWork(unit_of, failing, _last_ends(landed))


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
    """Return for each session when its last commit with passing tests ended, in nanoseconds.

    Only commits that landed, or are open and not missing in HEAD, count. ``rows`` are in order.
    """
    passed = []
    for row in rows:
        is_here = row.unit.state in ("landed", "open") and not row.is_elsewhere
        if row.unit.last_tests.hold and row.unit.kind == "commit" and is_here:
            passed.append(row)
    return _last_ends(passed)


def failing_tests(rows: WorkRows) -> list[WorkRow]:
    """Return the work, without talk, of which the last test run failed and that is not set aside.

    Args:
        rows: the work, in the order in which it ended.
    """
    return [row for row, why_not in failed_runs(rows) if not why_not]


def failed_runs(rows: WorkRows) -> list[tuple[WorkRow, str]]:
    """Return the work of which the last test run failed, each with why it is set aside, or "".

    Talk is left out. Other work is set aside if it neither landed nor is open, if nothing of what
    is proposed is left in HEAD, if the same tests passed later in its session, or if a later commit
    of one of its sessions, landed or open, ended with passing tests.

    Args:
        rows: the work, in the order in which it ended.
    """
    passed_at = _last_passes(rows)
    failed = []
    for row in rows:
        unit = row.unit
        if unit.last_tests.hold is not False or unit.kind == "talk":
            continue

        why_not = ""
        if unit.state not in ("landed", "open"):
            why_not = STATE_WORDS.get(unit.state, unit.state)
        elif row.is_undone:
            why_not = "with nothing left of it in HEAD"
        elif unit.passed_later or _happened_later(unit, passed_at):
            why_not = "with tests that passed later in the session"
        failed.append((row, why_not))
    return failed


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

    is_listed = not _why_not_listed(row, others)
    taken = _undone_by(unit)
    if taken and is_listed and unit.state in ("reverted", "taken_back"):
        yield Reason(unit.state, undone_text(taken, unit.state), taken.by)

    # Tests that failed from the beginning may be broken otherwise, or need what is not there.
    is_new = unit.last_tests.newly_failed and unit.unit in others.failing
    if is_new and unit.state == "landed":
        text = "landed, and its last test run failed, after one that passed"
        yield Reason("tests_failed", text, _failed_at(unit))

    if unit.state == "lost" and is_listed:
        text = f"lost, cost {cost_text(row.cost)}"
        if unit.lines_written:
            text += f", {counted(unit.lines_written, 'line')} written"
        commit = landing.sha if landing else None
        yield Reason("lost", text, commit or unit.first_line)


def _undone_by(unit: Unit) -> TakenBack | None:
    """Return the commit that undid a unit, or None for one that is not undone."""
    if unit.state not in ("reverted", "taken_back") or not unit.landing:
        return None
    return unit.landing.undone.taken_back if unit.landing.undone else None


def _why_meant(unit: Unit, taken: TakenBack, others: _OtherWork) -> str:
    """Return why what undid a unit needs no look, or "".

    What its own session or branch took back was a trial, and so was what a commit takes back within
    an hour and says so. What another one removes without a word was hardly meant to go. Small work
    that only git shows is often a person's, with a little help, or reverted for other reasons.
    """
    later = others.unit_of.get(taken.by)
    if unit.undone_in_branch:
        return "undone on the same branch before the merge"
    if only_tidies(taken.subject) or only_tidies(unit.subject or ""):
        return "a subject speaks of tidying"
    if _STOPGAP.search(taken.subject) or _STOPGAP.search(unit.subject or ""):
        return "a subject speaks of a trial or a workaround"
    is_only_stated = unit.state == "reverted" and not unit.sessions
    least = _LEAST_REVERTED if is_only_stated else _LEAST_LINES
    if taken.size < least:
        return f"fewer than {least} lines outside of tests, documents and CI"
    if taken.back_in:
        return "came back"
    if taken.seconds >= _PLANS_CHANGE:
        return "undone after 30 days or more"
    if later and not set(unit.sessions).isdisjoint(later.sessions):
        return "undone in the same session"
    if not taken.said:
        # What moved to another repository is not gone.
        return "its subject speaks of a move" if _MOVES.search(taken.subject) else ""
    if taken.seconds < _STILL_IN_WORK:
        return "undone within an hour"
    if later and ((later.ended or 0) - (unit.ended or 0)) < _STILL_IN_WORK * NS:
        return "undone by work of the same hour"
    return ""


def _why_not_listed(row: WorkRow, others: _OtherWork) -> str:
    """Return why undone or lost work needs no look, or ""."""
    unit = row.unit
    taken = _undone_by(unit)
    if taken:
        return _why_meant(unit, taken, others)

    if unit.state != "lost":
        return ""
    # Data and notes may well be meant to come to nothing. What its own session landed later took
    # the place of an attempt.
    if not row.cost:
        return "at no known cost"
    if not unit.wrote_code:
        return "without code"
    if unit.product_lines < _LEAST_REVERTED and row.cost < _LEAST_COST:
        return (
            f"fewer than {_LEAST_REVERTED} lines outside of tests, documents and CI, "
            f"and under {cost_text(_LEAST_COST)}"
        )
    if _happened_later(unit, others.landed_at):
        return "the session landed later work"
    return ""


def _failed_at(unit: Unit) -> str:
    """Return where the last test run of a unit failed, as ``path:line``, or "" if it did not."""
    if not unit.last_tests.failed_at:
        return ""
    path, line = unit.last_tests.failed_at
    return f"{path}:{line}"


def passed_over(rows: WorkRows) -> Iterator[tuple[WorkRow, str]]:
    """Yield the undone and lost work that needs no look, each with the reason in words.

    Args:
        rows: the work, in the order in which it ended.
    """
    others = _other_work(rows)
    for row in rows:
        why = _why_not_listed(row, others)
        if why:
            yield row, why


def units_of_kind(rows: WorkRows, kind: str) -> list[WorkRow]:
    """Return the units of one of :data:`LISTED_KINDS`, of ``defective`` only those that landed.

    Args:
        rows: the work, in the order in which it ended.
        kind: the kind.
    """
    if kind == "tests_failed":
        return failing_tests(rows)
    if kind == "defective":
        return [row for row in in_state(rows, "landed") if row.unit.defective]
    if kind == "corrected":
        return [row for row in rows if _corrections(row.unit) >= LEAST_CORRECTIONS]
    return list(in_state(rows, kind))


def _corrections(unit: Unit) -> int:
    """Return how many prompts of a person say what is wrong with a unit."""
    return sum(observed.corrections.words or 0 for observed in unit.observed)
