"""The tables that a log becomes; a new column is one line in ``columns.toml``, and one in ``docs/TABLES.md``."""

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, Literal, NamedTuple, Self, TypeAlias, TypeVar

from msgspec.structs import replace

from rubric import BAND_INSUFFICIENT, Rubric, SignalContribution
from scoring.errors import silent
from scoring.examine import ExaminedIteration, LogView, PreloadedEvidence
from scoring.outcomes.spending import KINDS, PaidWork, Purchase, purchase, without_claimed_cost
from scoring.sessions import SessionIterRef, SessionScore, session_score
from scoring.settings_table import read_toml
from scoring.views.work_rows import work_of

Kind: TypeAlias = Literal["text", "integer", "number", "yes/no"]
DataRow: TypeAlias = dict[str, Any]  # one row: a value or None for every column, in their order
T = TypeVar("T")


class Of(NamedTuple, Generic[T]):
    """What a row is taken from: the log as it was named, the number of the iteration, and what the row is about."""

    log: str
    iteration: int
    it: T


@dataclass(frozen=True, slots=True)
class DataColumn(Generic[T]):
    """A column of a table; one that ``may_miss`` is None where nothing is known, never 0 or an empty text."""

    name: str
    kind: Kind
    unit: str
    meaning: str
    take: Callable[[Of[T]], Any]
    may_miss: bool = False

    def as_dict(self) -> dict[str, str | bool]:
        """Return what is said of the column as plain data."""
        return {
            name: getattr(self, name) for name in ("name", "kind", "unit", "meaning", "may_miss")
        }


_KINDS: dict[str, tuple[Kind, str]] = {
    "text": ("text", ""),
    "word": ("text", ""),
    "flag": ("yes/no", ""),
}
_KINDS |= {"count": ("integer", ""), "check": ("yes/no", ""), "dollars": ("number", "US dollars")}
_KINDS |= dict.fromkeys(("share", "score", "any score", "vote", "sum"), ("number", "0 to 1"))
_KINDS |= {unit: ("number", unit) for unit in ("seconds", "minutes")}
_MADE: dict[str, Callable[[Any], Any]] = {
    "text?": lambda text: text or None,
    "score?": lambda score: (
        score.value if score.scored and score.band != BAND_INSUFFICIENT else None
    ),
    "any score?": lambda score: score.value if score.scored else None,
    "vote?": lambda signal: float(signal.sub_score) if signal.present else None,
    "check?": lambda signal: bool(signal.sub_score) if signal.present else None,
    "word": str,
    "sum": float,
}
"""What the value of a column is made of, where its kind says so: a score is that of an iteration or a session."""


def _at(place: str, made: Callable[[Any], Any] | None = None) -> Callable[[Of[Any]], Any]:
    def take(of: Of[Any]) -> Any:
        value = of.it
        for name in place.split("."):
            if isinstance(value, tuple) and name in ("0", "-1"):
                value = value[int(name)]
            elif value is not None:
                value = value[name] if isinstance(value, dict) else getattr(value, name)
        return made(value) if made and value is not None else value

    return take


def _tokens(spending: str, kind: str) -> Callable[[Of[Any]], Any]:
    used = _at(spending)
    return lambda of: found.tokens[kind] if (found := used(of)) and found.spent else None


def _joined(of: Of[Any], kind: str) -> str | None:
    return ", ".join(name or "unknown" for name in getattr(of.it.spending, kind, ())) or None


class GroupSeen(NamedTuple):
    """The iterations of one session or one task under one rubric, with what their tokens bought."""

    score: SessionScore
    bought: Purchase
    sessions: int


class Voted(NamedTuple):
    """The row of one signal in a score, and the rubric of that."""

    rubric_version: str
    row: SignalContribution


_COMPUTED: dict[tuple[str, str], Callable[[Of[Any]], Any]] = {
    ("iterations", "used_models"): lambda of: _joined(of, "models"),
    ("iterations", "cost"): lambda of: (used := without_claimed_cost(of.it.spending)) and used.cost,
    ("iterations", "unpriced_models"): lambda of: _joined(of, "unpriced"),
    ("integrity", "delta"): lambda of: float(of.it.delta) if of.it.comparable else None,
    ("integrity", "over_claim"): lambda of: of.it.delta < 0,
    ("group", "iterations"): lambda of: len(of.it.score.iterations),
    ("group", "scored_iterations"): lambda of: sum(ref.scored for ref in of.it.score.per_iteration),
    ("work", "iterations"): lambda of: ", ".join(map(str, of.it.values["iterations"])) or None,
}
for _kind in KINDS:
    _COMPUTED["iterations", f"used_{_kind}_tokens"] = _tokens("spending", _kind)
    _COMPUTED["group", f"used_{_kind}_tokens"] = _tokens("bought.spending", _kind)


def _columns(table: str, what: str = "") -> Iterator[DataColumn[Any]]:
    for name, kind, meaning, *more in _LISTED[table]:
        place, unit = (*more, "", "")[:2]
        word = kind.removesuffix("?")
        its_kind, its_unit = _KINDS.get(word, ("integer", word))
        take = _COMPUTED.get((table, name)) or _at(
            place + name if place[-1:] in ("", ".") else place, _MADE.get(kind)
        )
        yield DataColumn(
            name, its_kind, unit or its_unit, meaning.replace("{what}", what), take, word != kind
        )


_LISTED = read_toml((Path(__file__).parent / "columns.toml").read_text("utf-8"))
_LOG: DataColumn[Any] = DataColumn(
    "log", "text", "", "the log directory, as it was named", lambda of: of.log
)
_ITERATION: DataColumn[Any] = DataColumn(
    "iteration", "integer", "", "the number of the iteration", lambda of: of.iteration
)
_TASK, *_OF_TASK = _columns("task")
_RUBRIC, *_OF_GROUP = _columns("group", "task")

TABLES: dict[str, tuple[DataColumn[Any], ...]] = {
    **{
        name: (_LOG, _ITERATION, *_columns(name)) for name in ("iterations", "signals", "integrity")
    },
    "sessions": (_LOG, *_columns("session"), *_columns("group", "session")),
    "tasks": (_LOG, _TASK, _RUBRIC, *_OF_TASK, *_OF_GROUP),
    "work": (_LOG, *_columns("work")),
}
"""Every table, with its columns in order."""


def _row(table: str, log: Path, iteration: int, it: object) -> DataRow:
    of = Of(str(log), iteration, it)
    return {column.name: column.take(of) for column in TABLES[table]}


class Member(NamedTuple):
    """One iteration of a session and of a task: their names, its score, and what it used."""

    session: str
    task: str
    score: SessionIterRef
    rubric_version: str
    paid_work: PaidWork

    @classmethod
    def of(cls, one: ExaminedIteration) -> Self:
        """Return an iteration as a member."""
        record, score = one.record, one.score
        used = one.paid_work._replace(spending=without_claimed_cost(one.spending))
        return cls(
            record.agent.session_id,
            record.task_id,
            SessionIterRef.of(score),
            score.rubric_version,
            used,
        )


def group_rows(
    log: Path, rubric: Rubric, members: Sequence[Member]
) -> Iterator[tuple[str, DataRow]]:
    """Yield the rows of sessions, and then those of tasks, each by name and rubric version, with their tables."""
    for table, named in (("sessions", "session"), ("tasks", "task")):
        groups: dict[tuple[str, str], list[Member]] = {}
        for member in members:
            groups.setdefault((getattr(member, named), member.rubric_version), []).append(member)
        for (name, version), group in sorted(groups.items(), key=lambda one: one[0]):
            if name:
                score = session_score(rubric, name, [member.score for member in group])
                score = replace(score, rubric_version=version)
                sessions = {member.session for member in group if member.session}
                found = GroupSeen(
                    score, purchase(member.paid_work for member in group), len(sessions)
                )
                yield table, _row(table, log, score.iterations[0], found)


def table_rows(
    log: Path, rubric: Rubric, examined: Iterable[ExaminedIteration]
) -> Iterator[tuple[str, DataRow]]:
    """Yield the rows of every table of one log, each with the name of its table, as the pass goes on."""
    members = []
    for one in examined:
        members.append(Member.of(one))
        number = one.record.iteration
        yield "iterations", _row("iterations", log, number, one)
        for row in one.score.breakdown:
            yield "signals", _row("signals", log, number, Voted(one.score.rubric_version, row))
        for pair in one.signals.integrity:
            yield "integrity", _row("integrity", log, number, pair)
    yield from group_rows(log, rubric, members)


def rows_of_view(
    view: LogView, tables: Collection[str] = tuple(TABLES)
) -> Iterator[tuple[str, DataRow]]:
    """Yield the rows that some tables of a log need, each with its table's name; raises as :func:`work_of`."""
    read: list[PreloadedEvidence] = []
    keep = read.append if "work" in tables else silent
    if any(name != "work" for name in tables):
        named = replace(view, subjects="iterations" in tables)
        yield from table_rows(view.iter_log_dir, view.rubric, named.examine(keep))
    if "work" in tables:
        yield from (
            ("work", _row("work", view.iter_log_dir, 0, row)) for row in work_of(view, *read)
        )
