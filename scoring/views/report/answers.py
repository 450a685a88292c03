"""What a report answers: the rows of all work, what to look at, and what signals do to the mean."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from scoring.frozen import PlainData
from scoring.outcomes.unit import Unit
from scoring.statistics import mean_or_none
from scoring.text import shortened
from scoring.views.look_at import look_at
from scoring.views.work_rows import WorkRow, day_of

from .digest import Digest
from .reported_iteration import ReportedIteration

_WORST = 5  # iterations of a signal that are listed


class Piece(NamedTuple):
    """A row of the table of all work.

    Attributes:
        number: the position of the row in the table, from 0. Other parts of the page link to it.
        row: the unit of work; None for an iteration that is in no unit.
        lines: the iterations of the unit, or the iteration that is in no unit.
    """

    number: int
    row: WorkRow | None
    lines: list[ReportedIteration]

    @property
    def commit(self) -> str:
        """The commit of the work, or "" without a commit."""
        if self.row:
            return self.row.values["commit"] or ""
        return self.lines[0].commit

    @property
    def subject(self) -> str:
        """The subject of the unit, or "" where that is not known or without a unit."""
        if not self.row:
            return ""
        return shortened(self.row.values["subject"])

    @property
    def by(self) -> str:
        """The model of the unit, else its harness, or "" without both or without a unit."""
        if not self.row:
            return ""
        return shortened(self.row.values["model"] or self.row.values["harness"])

    @property
    def date(self) -> str:
        """The day on which the work ended, else that of its first iteration, or "" without both."""
        if self.row and self.row.values["ended"]:
            return str(day_of(self.row.values["ended"]))
        if self.lines:
            return self.lines[0].date[:10]
        return ""


def fleet_work(rows: Iterable[PlainData]) -> list[WorkRow]:
    """Return the rows of a fleet's table of work as rows of work, what ended first coming first.

    Work without a time comes before all other. Units have what the table has, and nothing else:
    no sessions, landings or test runs.
    """
    by_end = sorted(
        rows, key=lambda row: (row["ended"] or "", row["repository"], row["unit"])
    )
    work = []
    for row in by_end:
        unit = Unit(
            row["unit"],
            row["kind"],
            row["commit"],
            minutes=row["minutes"],
            state=row["state"],
            is_settled=True,  # the table does not say when the trunks were read
            defective=row["defective"],
            # these two are absent in tables of older versions
            of_landed=bool(row["of_landed"]),
            may_be_undone=bool(row["may_be_undone"]),
        )
        values = {"subject": None, "tokens": {"output": row["output_tokens"]}, **row}
        work.append(WorkRow(unit, row["cost"], values))
    return work


def pieces(digest: Digest) -> list[Piece]:
    """Return the rows of the table of all work: the units, then the iterations that are in no unit.

    The unit that ended first comes first, after units without a time. An iteration is with the
    first unit that has it. A fleet has no rows: its table would be endless.
    """
    if digest.is_fleet:
        return []

    every_piece: list[Piece] = []
    without_unit = {line.iteration: line for line in digest.lines}
    for row in digest.work:
        numbers = [
            number for number in row.values["iterations"] if number in without_unit
        ]
        lines = [without_unit.pop(number) for number in numbers]
        every_piece.append(Piece(len(every_piece), row, lines))
    for line in without_unit.values():
        every_piece.append(Piece(len(every_piece), None, [line]))
    return every_piece


def looked_at(rows: Sequence[Piece]) -> list[tuple[Piece, PlainData]]:
    """Return the few pieces that are worth a look, worst first, each with its reason as data."""
    piece_of = {piece.row.unit.unit: piece for piece in rows if piece.row}
    worst = look_at([piece.row for piece in rows if piece.row])
    return [(piece_of[unit["unit"]], unit) for unit in worst]


class SignalRow(NamedTuple):
    """A signal over the log.

    Attributes:
        label: its name for people.
        present: in how many iterations it is present.
        mean: its mean sub-score in these; None where it is never present.
        lost: what it takes from the mean score of the iterations on enough evidence.
        zeros: the iterations on enough evidence in which its sub-score is 0.
        worst: at most five iterations on enough evidence in which it takes most from the score, the
            worst first.
    """

    label: str
    present: int
    mean: float | None
    lost: float
    zeros: list[int]
    worst: list[ReportedIteration]


def signal_rows(digest: Digest) -> list[SignalRow]:
    """Return every signal. What takes most from the mean is first, what is never present last."""
    counted = sum(line.counted for line in digest.lines)
    signals = []
    for signal, label in digest.signals.items():
        values = []
        losses = []
        losing = []
        zeros = []
        for line in digest.lines:
            for row in line.rows:
                if row.signal != signal or not row.present:
                    continue
                values.append(row.sub_score)
                lost = row.effective_weight - row.contribution
                if not line.counted:
                    continue

                losses.append(lost)
                if lost > 0:
                    losing.append((lost, line))
                    if not row.sub_score:
                        zeros.append(line.iteration)

        worst_first = sorted(losing, key=lambda pair: (-pair[0], -pair[1].iteration))
        row_of_signal = SignalRow(
            label=label,
            present=len(values),
            mean=mean_or_none(values),
            lost=sum(losses) / (counted or 1),
            zeros=zeros,
            worst=[line for _, line in worst_first[:_WORST]],
        )
        signals.append(row_of_signal)
    return sorted(signals, key=lambda row: (not row.present, -row.lost, row.label))


def nothing_known(digest: Digest) -> list[str]:
    """Return what a log has nothing of, as parts of one sentence, or [] if nothing is missing."""
    missing = []
    present = {row.signal for line in digest.lines for row in line.rows if row.present}
    never_present = [
        label for name, label in digest.signals.items() if name not in present
    ]
    if never_present:
        noun = "the signal" if len(never_present) == 1 else "signals"
        missing.append(f"{noun} {', '.join(never_present)}")

    if not digest.hooks:
        missing.append("hook outcomes")
    if not digest.sessions:
        missing.append("sessions")
    if not digest.integrity and not digest.words:
        missing.append("claims")
    if not digest.deliberated:
        missing.append("deliberations")
    return missing
