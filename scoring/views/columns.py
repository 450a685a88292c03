"""The tables that a log becomes: what each column means, and how its value is taken from what was examined.

A new column is one line here, and one in docs/TABLES.md. The module is long because it is the list of them.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Generic, Literal, NamedTuple, Self, TypeAlias, TypeVar

from rubric import Rubric, SignalContribution
from scoring.sessions import SessionIterRef, SessionScore, session_score
from scoring.sidecars.scores import PersistedScore
from scoring.signals.values import SignalValue
from scoring.views.examined import Examined
from scoring.views.spending import KINDS, Purchase, Used, purchase

Kind: TypeAlias = Literal["text", "integer", "number", "yes/no"]
DataRow: TypeAlias = dict[str, Any]
"""One row: a value or None for every column, in their order."""
T = TypeVar("T")


class Of(NamedTuple, Generic[T]):
    """What a row is taken from: the log as it was named, the number of the iteration, and what the row is about."""

    log: str
    iteration: int
    it: T


@dataclass(frozen=True, slots=True)
class DataColumn(Generic[T]):
    """A column of a table: its value is taken by ``take`` from what a row is of.

    Attributes:
        unit: in which unit, or which values there are; empty where there is nothing to say.
        may_miss: whether it holds None where nothing is known; that is never 0 and never an empty text.
    """

    name: str
    kind: Kind
    unit: str
    meaning: str
    take: Callable[[Of[T]], Any]
    may_miss: bool = False

    def as_dict(self) -> dict[str, str | bool]:
        """Return what is said of the column as plain data."""
        return {name: getattr(self, name) for name in ("name", "kind", "unit", "meaning", "may_miss")}


Take: TypeAlias = str | Callable[[Of[Any]], Any]
"""What takes a value from what a row is of: a function, or the names of attributes of what it is about."""


def _column(name: str, kind: Kind, unit: str, meaning: str, take: Take, missing: bool = False) -> DataColumn[Any]:
    return DataColumn(name, kind, unit, meaning, _at(take.split(".")) if isinstance(take, str) else take, missing)


def _at(names: Sequence[str]) -> Callable[[Of[Any]], Any]:
    """Return what takes an attribute of an attribute; None where one on the way is."""

    def take(of: Of[Any]) -> Any:
        value = of.it
        for name in names:
            value = None if value is None else getattr(value, name)
        return value

    return take


def _text(name: str, meaning: str, take: Take, unit: str = "", missing: bool = False) -> DataColumn[Any]:
    return _column(name, "text", unit, meaning, take, missing)


def _count(name: str, unit: str, meaning: str, take: Take, missing: bool = False) -> DataColumn[Any]:
    return _column(name, "integer", unit, meaning, take, missing)


def _share(name: str, meaning: str, take: Take, missing: bool = False) -> DataColumn[Any]:
    return _column(name, "number", "0 to 1", meaning, take, missing)


def _flag(name: str, meaning: str, take: Take, missing: bool = False) -> DataColumn[Any]:
    return _column(name, "yes/no", "", meaning, take, missing)


def _dollars(name: str, meaning: str, take: Take) -> DataColumn[Any]:
    return _column(name, "number", "US dollars", meaning, take, True)


def _seconds(meaning: str, take: Take) -> DataColumn[Any]:
    return _column("duration", "number", "seconds", meaning, take, True)


def _used(spending: str, meaning: str) -> Iterator[DataColumn[Any]]:
    """Yield the columns of the tokens that were used, by kind; ``spending`` is the attribute that has them."""
    for kind in KINDS:
        yield _count(f"used_{kind}_tokens", "tokens", meaning, _tokens(spending, kind), True)
        meaning = "likewise"


def _tokens(spending: str, kind: str) -> Callable[[Of[Any]], Any]:
    used = _at(spending.split("."))
    return lambda of: found.tokens[kind] if (found := used(of)) and found.spent else None


def _listed(of: Of[Any], kind: str) -> str | None:
    names = getattr(of.it.spending, kind, None)
    return ", ".join(name or "unknown" for name in names) if names else None


def _objective(name: str, meaning: str = "likewise") -> DataColumn[Any]:
    """Return a column of an objective check, which has no part in the score."""
    return _flag(name, meaning, lambda of: _seen(getattr(of.it.signals.objective, name)), True)


def _seen(value: SignalValue | None) -> bool | None:
    return bool(value.sub_score) if value and value.present else None


def _sub_score(value: SignalValue | SignalContribution) -> float | None:
    return float(value.sub_score) if value.present else None


def _value(score: PersistedScore | SessionScore) -> float | None:
    return score.value if score.scored else None


class GroupSeen(NamedTuple):
    """The iterations of one session or one task under one rubric, with what their tokens bought."""

    score: SessionScore
    bought: Purchase
    sessions: int


_Columns: TypeAlias = tuple[DataColumn[Any], ...]

_LOG = _text("log", "the log directory, as it was named", lambda of: of.log)
_ITERATION = _count("iteration", "", "the number of the iteration", lambda of: of.iteration)

_ITERATIONS: _Columns = (
    _LOG,
    _ITERATION,
    _text("date", "when the agent says it was", "record.date", "as in the entry"),
    _text("task_id", "the task that was worked on", "record.task_id"),
    _text("wave", "the wave of work it belongs to", "record.wave"),
    _text("commit", "the commit it led to", "record.commit", "as in the entry"),
    _text("session_id", "the agent's session", lambda of: of.it.record.agent.session_id or None, missing=True),
    _text("harness", "what ran the agent", lambda of: of.it.record.agent.harness or None, missing=True),
    _text("model", "the model it ran", lambda of: of.it.record.agent.model or None, missing=True),
    _count("schema_version", "", "the schema of the entry", "record.schema_version"),
    _text("rubric_version", "the rubric of the score", "score.rubric_version"),
    _text("origin", "where the score comes from", "origin", "sidecar, computed"),
    _text("state", "what it is worth", "state.name", "current, stale, unverified"),
    _text("state_reason", "why it is stale or unverified", lambda of: of.it.state.reason or None, missing=True),
    _flag("scored", "whether there was anything to score", "score.scored"),
    _share("score", "the score", lambda of: _value(of.it.score), True),
    _text("band", "the name of the score", "score.band"),
    _share(
        "computed",
        "what the evidence gives now, under the rubric that was asked for",
        lambda of: _value(of.it.computed),
        True,
    ),
    _count("signals_present", "signals", "how many signals voted", "score.coverage.present"),
    _count("signals_total", "signals", "how many the rubric has", "score.coverage.total"),
    _share("weight_present", "the share of the rubric's weight that voted", "score.coverage.weight"),
    _share("bounds_low", "the score if every absent signal were 0", "score.bounds.low"),
    _share("bounds_high", "the score if every absent signal were 1", "score.bounds.high"),
    _count("retries", "times", "what the agent says it had to try again", "record.impl.retries"),
    _count("files_changed", "files", "as in the entry", "record.files_changed"),
    _count("lines_added", "lines", "as in the entry", "record.lines_added"),
    _count("lines_removed", "lines", "as in the entry", "record.lines_removed"),
    _count("input_tokens", "tokens", "as the log itself counted them", "record.session_tokens.input_tokens", True),
    _count("output_tokens", "tokens", "likewise", "record.session_tokens.output_tokens", True),
    _count("cache_read_tokens", "tokens", "likewise", "record.session_tokens.cache_read_tokens", True),
    _count("cache_creation_tokens", "tokens", "likewise", "record.session_tokens.cache_creation_tokens", True),
    _objective("ran_cli_command", "seen in the transcripts, where they cover the iteration"),
    _objective("committed_after_tests"),
    _objective("read_loop_state"),
    _objective("ran_tests", "seen in the iteration's own lines, where the rubric's evidence gives it some"),
    _objective("tests_passed_last"),
    _objective("edited_after_tests"),
    _objective("user_interrupted"),
    _objective("reverted_own_work"),
    _flag(
        "linked_traces_to_outcomes",
        "whether a verifier named a trace and its outcome",
        "score.linked_traces_to_outcomes",
    ),
    _text(
        "outcome",
        "whether it is known what became of the work within the horizon",
        "outcome.status",
        "known, too_young, not_landed",
        True,
    ),
    _text("landed_commit", "the trunk's commit that brought the work", "outcome.commit", missing=True),
    _count("code_lines", "lines", "the lines of code that this commit added", "outcome.lines_added", True),
    _count("code_lines_changed", "lines", "those that later commits changed", "outcome.lines_changed", True),
    _count("code_lines_fixed", "lines", "those that fixes changed", "outcome.lines_fixed", True),
    _share("survival", "the share of these lines that is still there", "outcome.survival", True),
    _flag("reverted", "whether the trunk took the work back", "outcome.reverted", True),
    _text("reverted_by", "the commit that did", "outcome.reverted_by", missing=True),
    _flag("defective", "whether it was reverted, or fixes changed 5 % of its lines", "outcome.defective", True),
    _text(
        "used_from", "where the tokens are known from", "spending.source", "transcripts, lines, checkpoint, entry", True
    ),
    _text(
        "used_models",
        "the models that answered",
        lambda of: _listed(of, "models"),
        "by tokens",
        True,
    ),
    *_used("spending", "the prompt, without what the cache holds"),
    _dollars("cost", "what these tokens cost, as far as prices are known; needs the extra cost", "spending.cost"),
    _text(
        "unpriced_models",
        "those of them with no known price",
        lambda of: _listed(of, "unpriced"),
        "",
        True,
    ),
    _seconds("from the first line to the last", "spending.seconds"),
    _count("used_shared_with", "", "the iteration that counts the same lines", "spending.shared_with", True),
)

_SIGNALS: _Columns = (
    _LOG,
    _ITERATION,
    _text("rubric_version", "the rubric of the score", lambda of: of.it[0]),
    _text("signal", "the signal", lambda of: of.it[1].signal),
    _text("label", "its name for people", lambda of: of.it[1].label),
    _flag("present", "whether it voted", lambda of: of.it[1].present),
    _share("sub_score", "its vote", lambda of: _sub_score(of.it[1]), True),
    _share("nominal_weight", "its weight in the rubric", lambda of: of.it[1].nominal_weight),
    _share("effective_weight", "its weight among the signals that voted", lambda of: of.it[1].effective_weight),
    _share("contribution", "what it added to the score", lambda of: float(of.it[1].contribution)),
    _text("source", "whether the vote was observed or claimed", lambda of: of.it[1].source, "observed, claimed", True),
    _flag("applicable", "whether the signal has anything to say of the iteration", lambda of: of.it[1].applicable),
    _text("detail", "what produced the vote, or why there is none", lambda of: of.it[1].detail),
)

_INTEGRITY: _Columns = (
    _LOG,
    _ITERATION,
    _text("signal", "the signal that was claimed", lambda of: str(of.it.signal)),
    _text("role", "who claimed it", lambda of: str(of.it.role), "impl, verifier, review"),
    _share("claimed", "the claim", lambda of: _sub_score(of.it.claimed), True),
    _share("observed", "what was seen", lambda of: _sub_score(of.it.observed), True),
    _column(
        "delta",
        "number",
        "-1 to 1",
        "observed minus claimed; below 0 is an over-claim",
        lambda of: float(of.it.delta) if of.it.comparable else None,
        True,
    ),
    _flag("over_claim", "whether more was claimed than was seen", lambda of: of.it.delta < 0),
    _text("claimed_detail", "where the claim comes from", "claimed.detail"),
    _text("observed_detail", "where the observation comes from", "observed.detail"),
)

_GROUP: _Columns = (
    _count("iterations", "iterations", "how many belong to it", lambda of: len(of.it.score.iterations)),
    _count(
        "scored_iterations",
        "iterations",
        "how many of them have a score",
        lambda of: sum(ref.scored for ref in of.it.score.per_iteration),
    ),
    _count(
        "insufficient_iterations",
        "iterations",
        "how many of them have a score on too little evidence, and are not in the mean",
        "score.insufficient",
    ),
    _count("first_iteration", "", "the first of them", lambda of: of.iteration),
    _count("last_iteration", "", "the last of them", lambda of: of.it.score.iterations[-1]),
    _flag("scored", "whether any of them has a score", "score.scored"),
    _share("score", "the mean of their scores", lambda of: _value(of.it.score), True),
    _text("band", "the name of that mean", "score.band"),
    *_used("bought.spending", "what its iterations used; lines that two share count once"),
    _dollars("cost", "what these tokens cost", "bought.cost"),
    _seconds("the sum of the durations of its iterations", "bought.spending.seconds"),
    _count("priced_iterations", "iterations", "how many of them have a cost", "bought.priced"),
    _count("landed_iterations", "iterations", "how many of these landed and stayed", "bought.landed"),
    _dollars("cost_per_landed", "the cost by those that landed and stayed", "bought.per_landed"),
    _dollars("cost_unsound", "the cost of work that was reverted or fixed", "bought.unsound"),
    _dollars("cost_not_landed", "the cost of work that never landed", "bought.not_landed"),
)


def _rubric_of(what: str) -> DataColumn[Any]:
    meaning = f"the rubric of its scores; a {what} scored under two has two rows"
    return _text("rubric_version", meaning, "score.rubric_version")


_SESSIONS: _Columns = (
    _LOG,
    _text("session_id", "the agent's session", "score.session_id"),
    _rubric_of("session"),
    *_GROUP,
)

_TASKS: _Columns = (
    _LOG,
    _text("task_id", "the task", "score.session_id"),
    _rubric_of("task"),
    _count("sessions", "sessions", "how many sessions worked on it", "sessions"),
    *_GROUP,
)

TABLES: dict[str, _Columns] = {
    "iterations": _ITERATIONS,
    "signals": _SIGNALS,
    "integrity": _INTEGRITY,
    "sessions": _SESSIONS,
    "tasks": _TASKS,
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
    used: Used

    @classmethod
    def of(cls, one: Examined) -> Self:
        """Return an iteration as a member."""
        record, score = one.record, one.score
        return cls(record.agent.session_id, record.task_id, SessionIterRef.of(score), score.rubric_version, one.used)


def group_rows(log: Path, rubric: Rubric, members: Sequence[Member]) -> Iterator[tuple[str, DataRow]]:
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
                found = GroupSeen(score, purchase(member.used for member in group), len(sessions))
                yield table, _row(table, log, score.iterations[0], found)


def table_rows(log: Path, rubric: Rubric, examined: Iterable[Examined]) -> Iterator[tuple[str, DataRow]]:
    """Yield the rows of every table of one log, each with the name of its table, as the pass goes on."""
    members = []
    for one in examined:
        members.append(Member.of(one))
        number = one.record.iteration
        yield "iterations", _row("iterations", log, number, one)
        for row in one.score.breakdown:
            yield "signals", _row("signals", log, number, (one.score.rubric_version, row))
        for pair in one.signals.integrity:
            yield "integrity", _row("integrity", log, number, pair)
    yield from group_rows(log, rubric, members)
