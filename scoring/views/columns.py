"""The tables that a log becomes: what each column means, and how its value is taken from what was examined.

A new column is one line here, and one in docs/TABLES.md. The module is long because it is the list of them.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Generic, Literal, NamedTuple, TypeAlias, TypeVar

from rubric import Rubric, SignalContribution
from scoring.sessions import SessionIterRef, SessionScore, session_score
from scoring.signals.values import IntegrityObservation, SignalValue
from scoring.views.examined import Examined
from scoring.views.spending import Purchase, Used, purchase

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


def _text(
    name: str, meaning: str, take: Callable[[Of[T]], Any], unit: str = "", missing: bool = False
) -> DataColumn[T]:
    return DataColumn(name, "text", unit, meaning, take, missing)


def _count(name: str, unit: str, meaning: str, take: Callable[[Of[T]], Any], missing: bool = False) -> DataColumn[T]:
    return DataColumn(name, "integer", unit, meaning, take, missing)


def _share(name: str, meaning: str, take: Callable[[Of[T]], Any], missing: bool = False) -> DataColumn[T]:
    return DataColumn(name, "number", "0 to 1", meaning, take, missing)


def _flag(name: str, meaning: str, take: Callable[[Of[T]], Any], missing: bool = False) -> DataColumn[T]:
    return DataColumn(name, "yes/no", "", meaning, take, missing)


def _tokens(name: str, meaning: str = "likewise") -> DataColumn[Examined]:
    """Return a column of tokens that the entry counted, if it did."""
    return _count(name, "tokens", meaning, lambda of: getattr(of.it.record.session_tokens, name, None), True)


def _used(name: str) -> Callable[[Of[Examined]], Any]:
    """Return what takes a part of what an iteration used, where that is known."""
    return lambda of: getattr(of.it.spending, name, None)


def _kind(name: str, meaning: str = "likewise") -> DataColumn[Examined]:
    """Return a column of the tokens of one kind that an iteration used."""
    return _count(
        f"used_{name}",
        "tokens",
        meaning,
        lambda of: getattr(of.it.spending, name) if of.it.spending and of.it.spending.spent else None,
        True,
    )


def _listed(names: Sequence[str] | None, unknown: str = "unknown") -> str | None:
    return ", ".join(name or unknown for name in names) if names else None


def _objective(name: str, meaning: str = "likewise") -> DataColumn[Examined]:
    """Return a column of an objective check, which has no part in the score."""
    return _flag(name, meaning, lambda of: _seen(getattr(of.it.signals.objective, name)), True)


def _became(name: str) -> Callable[[Of[Examined]], Any]:
    """Return what takes a part of the outcome, where that was looked for."""
    return lambda of: getattr(of.it.outcome, name, None)


def _seen(value: SignalValue | None) -> bool | None:
    return bool(value.sub_score) if value and value.present else None


def _sub_score(value: SignalValue | SignalContribution) -> float | None:
    return float(value.sub_score) if value.present else None


class GroupSeen(NamedTuple):
    """The iterations of one session or one task under one rubric, with what their tokens bought."""

    score: SessionScore
    bought: Purchase
    sessions: int


def _sum(name: str, meaning: str = "likewise") -> DataColumn[GroupSeen]:
    """Return a column of the tokens of one kind that a group used."""
    return _count(
        f"used_{name}",
        "tokens",
        meaning,
        lambda of: getattr(used, name) if (used := of.it.bought.spending) and used.spent else None,
        True,
    )


def _dollars(name: str, meaning: str, take: Callable[[Of[T]], Any]) -> DataColumn[T]:
    return DataColumn(name, "number", "US dollars", meaning, take, True)


_LOG: DataColumn[Any] = _text("log", "the log directory, as it was named", lambda of: of.log)
_ITERATION: DataColumn[Any] = _count("iteration", "", "the number of the iteration", lambda of: of.iteration)

_ITERATIONS: tuple[DataColumn[Examined], ...] = (
    _LOG,
    _ITERATION,
    _text("date", "when the agent says it was", lambda of: of.it.record.date, "as in the entry"),
    _text("task_id", "the task that was worked on", lambda of: of.it.record.task_id),
    _text("wave", "the wave of work it belongs to", lambda of: of.it.record.wave),
    _text("commit", "the commit it led to", lambda of: of.it.record.commit, "as in the entry"),
    _text("session_id", "the agent's session", lambda of: of.it.record.agent.session_id or None, missing=True),
    _text("harness", "what ran the agent", lambda of: of.it.record.agent.harness or None, missing=True),
    _text("model", "the model it ran", lambda of: of.it.record.agent.model or None, missing=True),
    _count("schema_version", "", "the schema of the entry", lambda of: of.it.record.schema_version),
    _text("rubric_version", "the rubric of the score", lambda of: of.it.score.rubric_version),
    _text("origin", "where the score comes from", lambda of: of.it.origin, "sidecar, computed"),
    _text("state", "what it is worth", lambda of: of.it.state.name, "current, stale, unverified"),
    _text("state_reason", "why it is stale or unverified", lambda of: of.it.state.reason or None, missing=True),
    _flag("scored", "whether there was anything to score", lambda of: of.it.score.scored),
    _share("score", "the score", lambda of: of.it.score.value if of.it.score.scored else None, True),
    _text("band", "the name of the score", lambda of: of.it.score.band),
    _share(
        "computed",
        "what the evidence gives now, under the rubric that was asked for",
        lambda of: of.it.computed.value if of.it.computed.scored else None,
        True,
    ),
    _count("signals_present", "signals", "how many signals voted", lambda of: of.it.score.coverage.present),
    _count("signals_total", "signals", "how many the rubric has", lambda of: of.it.score.coverage.total),
    _share("weight_present", "the share of the rubric's weight that voted", lambda of: of.it.score.coverage.weight),
    _share("bounds_low", "the score if every absent signal were 0", lambda of: of.it.score.bounds.low),
    _share("bounds_high", "the score if every absent signal were 1", lambda of: of.it.score.bounds.high),
    _count("retries", "times", "what the agent says it had to try again", lambda of: of.it.record.impl.retries),
    _count("files_changed", "files", "as in the entry", lambda of: of.it.record.files_changed),
    _count("lines_added", "lines", "as in the entry", lambda of: of.it.record.lines_added),
    _count("lines_removed", "lines", "as in the entry", lambda of: of.it.record.lines_removed),
    _tokens("input_tokens", "as the log itself counted them"),
    _tokens("output_tokens"),
    _tokens("cache_read_tokens"),
    _tokens("cache_creation_tokens"),
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
        lambda of: of.it.score.linked_traces_to_outcomes,
    ),
    _text(
        "outcome",
        "whether it is known what became of the work within the horizon",
        lambda of: getattr(of.it.outcome, "status", None),
        "known, too_young, not_landed",
        True,
    ),
    _text("landed_commit", "the trunk's commit that brought the work", _became("commit"), missing=True),
    _count("code_lines", "lines", "the lines of code that this commit added", _became("lines_added"), True),
    _count("code_lines_changed", "lines", "those that later commits changed", _became("lines_changed"), True),
    _count("code_lines_fixed", "lines", "those that fixes changed", _became("lines_fixed"), True),
    _share("survival", "the share of these lines that is still there", _became("survival"), True),
    _flag("reverted", "whether the trunk took the work back", _became("reverted"), True),
    _text("reverted_by", "the commit that did", _became("reverted_by"), missing=True),
    _flag("defective", "whether it was reverted, or fixes changed 5 % of its lines", _became("defective"), True),
    _text(
        "used_from", "where the tokens are known from", _used("source"), "transcripts, lines, checkpoint, entry", True
    ),
    _text("used_models", "the models that answered", lambda of: _listed(_used("models")(of)), "by tokens", True),
    _kind("input_tokens", "the prompt, without what the cache holds"),
    _kind("output_tokens"),
    _kind("cache_read_tokens"),
    _kind("cache_write_tokens"),
    _dollars("cost", "what these tokens cost, as far as prices are known; needs the extra cost", _used("cost")),
    _text("unpriced_models", "those of them with no known price", lambda of: _listed(_used("unpriced")(of)), "", True),
    DataColumn("duration", "number", "seconds", "from the first line to the last", _used("seconds"), True),
    _count("used_shared_with", "", "the iteration that counts the same lines", _used("shared_with"), True),
)

_SIGNALS: tuple[DataColumn[tuple[str, SignalContribution]], ...] = (
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

_INTEGRITY: tuple[DataColumn[IntegrityObservation], ...] = (
    _LOG,
    _ITERATION,
    _text("signal", "the signal that was claimed", lambda of: str(of.it.signal)),
    _text("role", "who claimed it", lambda of: str(of.it.role), "impl, verifier, review"),
    _share("claimed", "the claim", lambda of: _sub_score(of.it.claimed), True),
    _share("observed", "what was seen", lambda of: _sub_score(of.it.observed), True),
    DataColumn(
        "delta",
        "number",
        "-1 to 1",
        "observed minus claimed; below 0 is an over-claim",
        lambda of: float(of.it.delta) if of.it.comparable else None,
        True,
    ),
    _flag("over_claim", "whether more was claimed than was seen", lambda of: of.it.delta < 0),
    _text("claimed_detail", "where the claim comes from", lambda of: of.it.claimed.detail),
    _text("observed_detail", "where the observation comes from", lambda of: of.it.observed.detail),
)

_GROUP: tuple[DataColumn[GroupSeen], ...] = (
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
        lambda of: of.it.score.insufficient,
    ),
    _count("first_iteration", "", "the first of them", lambda of: of.iteration),
    _count("last_iteration", "", "the last of them", lambda of: of.it.score.iterations[-1]),
    _flag("scored", "whether any of them has a score", lambda of: of.it.score.scored),
    _share("score", "the mean of their scores", lambda of: of.it.score.value if of.it.score.scored else None, True),
    _text("band", "the name of that mean", lambda of: of.it.score.band),
    _sum("input_tokens", "what its iterations used; lines that two share count once"),
    _sum("output_tokens"),
    _sum("cache_read_tokens"),
    _sum("cache_write_tokens"),
    _dollars("cost", "what these tokens cost", lambda of: of.it.bought.cost),
    DataColumn(
        "duration",
        "number",
        "seconds",
        "the sum of the durations of its iterations",
        lambda of: getattr(of.it.bought.spending, "seconds", None),
        True,
    ),
    _count("priced_iterations", "iterations", "how many of them have a cost", lambda of: of.it.bought.priced),
    _count("landed_iterations", "iterations", "how many of these landed and stayed", lambda of: of.it.bought.landed),
    _dollars("cost_per_landed", "the cost by those that landed and stayed", lambda of: of.it.bought.per_landed),
    _dollars("cost_unsound", "the cost of work that was reverted or fixed", lambda of: of.it.bought.unsound),
    _dollars("cost_not_landed", "the cost of work that never landed", lambda of: of.it.bought.not_landed),
)


def _rubric_of(what: str) -> DataColumn[GroupSeen]:
    meaning = f"the rubric of its scores; a {what} scored under two has two rows"
    return _text("rubric_version", meaning, lambda of: of.it.score.rubric_version)


_SESSIONS: tuple[DataColumn[GroupSeen], ...] = (
    _LOG,
    _text("session_id", "the agent's session", lambda of: of.it.score.session_id),
    _rubric_of("session"),
    *_GROUP,
)

_TASKS: tuple[DataColumn[GroupSeen], ...] = (
    _LOG,
    _text("task_id", "the task", lambda of: of.it.score.session_id),
    _rubric_of("task"),
    _count("sessions", "sessions", "how many sessions worked on it", lambda of: of.it.sessions),
    *_GROUP,
)

TABLES: dict[str, tuple[DataColumn[Any], ...]] = {
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


@dataclass(frozen=True, slots=True)
class GroupRows:
    """Collects the members of sessions and of tasks during a pass over a log, and makes the rows of both tables."""

    log: Path
    rubric: Rubric
    members: dict[tuple[str, str, str], list[SessionIterRef]] = field(default_factory=dict)
    used: dict[tuple[str, str, str], list[Used]] = field(default_factory=dict)
    sessions: dict[tuple[str, str, str], set[str]] = field(default_factory=dict)

    def add(self, examined: Examined) -> None:
        """Note one iteration."""
        score, record = examined.score, examined.record
        session = record.agent.session_id
        member, used = SessionIterRef.of(score), examined.used
        for table, name in (("sessions", session), ("tasks", record.task_id)):
            if not name:
                continue
            key = table, name, score.rubric_version
            self.members.setdefault(key, []).append(member)
            self.used.setdefault(key, []).append(used)
            self.sessions.setdefault(key, set()).update(filter(None, [session]))

    def rows(self) -> Iterator[tuple[str, DataRow]]:
        """Yield the rows with the names of their tables: by session and rubric version, then by task and version."""
        for key in sorted(self.members):
            table, name, version = key
            score = replace(session_score(self.rubric, name, self.members[key]), rubric_version=version)
            group = GroupSeen(score, purchase(self.used[key]), len(self.sessions[key]))
            yield table, _row(table, self.log, score.iterations[0], group)


def table_rows(log: Path, rubric: Rubric, examined: Iterable[Examined]) -> Iterator[tuple[str, DataRow]]:
    """Yield the rows of every table of one log, each with the name of its table, as the pass goes on."""
    groups = GroupRows(log, rubric)
    for one in examined:
        groups.add(one)
        number = one.record.iteration
        yield "iterations", _row("iterations", log, number, one)
        for row in one.score.breakdown:
            yield "signals", _row("signals", log, number, (one.score.rubric_version, row))
        for pair in one.signals.integrity:
            yield "integrity", _row("integrity", log, number, pair)
    yield from groups.rows()
