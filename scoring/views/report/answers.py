"""What a report answers: what became of the work, by month, harness and model, what scores rest on, what changed."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from scoring.outcomes.ledger import Unit
from scoring.text import shortened
from scoring.views.look_at import look_at
from scoring.views.report.digest import Digest
from scoring.views.report.reported import ReportedIteration
from scoring.views.work_rows import WorkRow

_WORST = 5


class Piece(NamedTuple):
    """A row of the table of all work: a unit and its iterations, or an iteration that is in no known unit."""

    place: int
    row: WorkRow | None
    lines: list[ReportedIteration]

    @property
    def commit(self) -> str:
        """The commit of the work; "" where there is none."""
        return (self.row.values["commit"] if self.row else self.lines[0].commit) or ""

    @property
    def subject(self) -> str:
        """The commit's subject, else what an entry says; "" where neither is known."""
        return shortened(self.row.values["subject"]) if self.row else ""

    @property
    def by(self) -> str:
        """The model, or else the harness, that did it; "" where neither is known."""
        return shortened(self.row.values["model"] or self.row.values["harness"]) if self.row else ""

    @property
    def date(self) -> str:
        """The day on which it ended; "" where that is not known."""
        return str(
            (self.row and self.row.values["ended"]) or (self.lines[0].date if self.lines else "")
        )[:10]


def fleet_work(rows: Iterable[Mapping[str, Any]]) -> list[WorkRow]:
    """Return the rows of a fleet's table of work as those of one log are, by when they ended."""
    found = []
    for row in sorted(rows, key=lambda one: (one["ended"] or "", one["repository"], one["unit"])):
        unit = Unit(
            row["unit"], row["kind"], row["commit"], minutes=row["minutes"], state=row["state"]
        )
        unit.defective = row["defective"]
        found.append(
            WorkRow(
                unit,
                row["cost"],
                {"subject": None, "tokens": {"output": row["output_tokens"]}, **row},
            )
        )
    return found


def pieces(digest: Digest) -> list[Piece]:
    """Return all of the work, by when it ended, and then the iterations that are in no unit; of a fleet none."""
    if digest.is_fleet:
        return []
    left = {line.iteration: line for line in digest.lines}
    found = [
        (row, [left.pop(n) for n in row.values["iterations"] if n in left]) for row in digest.work
    ]
    alone = [(None, [line]) for line in left.values()]
    return [Piece(place, row, lines) for place, (row, lines) in enumerate([*found, *alone])]


def looked_at(rows: Sequence[Piece]) -> list[tuple[Piece, dict[str, Any]]]:
    """Return the pieces of work that are worth a look, each with the reason and where it is."""
    known = {piece.row.unit.unit: piece for piece in rows if piece.row}
    return [
        (known[one["unit"]], one) for one in look_at([piece.row for piece in rows if piece.row])
    ]


class SignalRow(NamedTuple):
    """A signal over the log: where it is present, its mean there, what it takes from the mean score, and where."""

    label: str
    present: int
    mean: float | None
    lost: float
    zeros: list[int]
    worst: list[ReportedIteration]


def signal_rows(digest: Digest) -> list[SignalRow]:
    """Return every signal, the one that takes most from the mean score first."""
    enough, made = [line for line in digest.lines if line.counted], []
    for signal, label in digest.signals.items():
        values = [
            value for line in digest.lines if (value := line.sub_scores.get(signal)) is not None
        ]
        votes = [
            (row, line)
            for line in enough
            for row in line.rows
            if row.signal == signal and row.present
        ]
        worst = sorted(
            (pair for pair in votes if pair[0].lost > 0),
            key=lambda one: (-one[0].lost, -one[1].iteration),
        )
        made.append(
            SignalRow(
                label,
                len(values),
                sum(values) / len(values) if values else None,
                sum(row.lost for row, _ in votes) / (len(enough) or 1),
                [line.iteration for row, line in votes if row.lost > 0 and not row.sub_score],
                [line for _, line in worst[:_WORST]],
            )
        )
    return sorted(made, key=lambda row: (not row.present, -row.lost, row.label))


def nothing_known(digest: Digest) -> list[str]:
    """Return what this log has nothing of, as parts of one sentence."""
    never = [label for name, label in digest.signals.items() if not digest.presence(name)]
    found = [f"{'signals' if len(never) > 1 else 'the signal'} {', '.join(never)}"] if never else []
    parts = {
        "hook outcomes": digest.hooks,
        "sessions": digest.sessions,
        "claims": digest.integrity or digest.words,
        "deliberations": digest.deliberated,
    }
    return found + [name for name, part in parts.items() if not part]
