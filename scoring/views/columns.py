"""The tables that a log becomes: what each column means, and how its value is taken from what was examined.

A new column is one line here, and one in docs/TABLES.md; the module is as long as the list of them.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, Literal, NamedTuple, Self, TypeAlias, TypeVar

from msgspec.structs import replace

from rubric import BAND_INSUFFICIENT, Rubric
from scoring.sessions import SessionIterRef, SessionScore, session_score
from scoring.views.examined import Examined, LogView
from scoring.views.spending import KINDS, Purchase, Used, billed, purchase
from scoring.views.work_pages import work_of

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
    """A column of a table: ``take`` takes its value; one that ``may_miss`` is None where nothing is known."""

    name: str
    kind: Kind
    unit: str
    meaning: str
    take: Callable[[Of[T]], Any]
    may_miss: bool = False

    def as_dict(self) -> dict[str, str | bool]:
        """Return what is said of the column as plain data."""
        return {name: getattr(self, name) for name in ("name", "kind", "unit", "meaning", "may_miss")}


_KINDS: dict[str, tuple[Kind, str]] = {"text": ("text", ""), "flag": ("yes/no", ""), "count": ("integer", "")}
_KINDS |= {"dollars": ("number", "US dollars"), "seconds": ("number", "seconds")}
_KINDS |= dict.fromkeys(("share", "score", "any score", "vote"), ("number", "0 to 1")) | {"check": ("yes/no", "")}
_KINDS |= {"minutes": ("number", "minutes")}
_MADE: dict[str, Callable[[Any], Any]] = {
    "text?": lambda text: text or None,
    "score?": lambda score: score.value if score.scored and score.band != BAND_INSUFFICIENT else None,
    "any score?": lambda score: score.value if score.scored else None,
    "vote?": lambda signal: float(signal.sub_score) if signal.present else None,
    "check?": lambda signal: bool(signal.sub_score) if signal.present else None,
}
"""What the value of a column is made of, where its kind says so: a score is that of an iteration or a session."""


def _column(
    name: str, kind: str, meaning: str, take: str | Callable[[Of[Any]], Any] = "", unit: str = ""
) -> DataColumn[Any]:
    """Return a column; ``kind`` is what is counted, with ``?`` where it may miss, ``take`` attributes with dots."""
    word = kind.removesuffix("?")
    its_kind, its_unit = _KINDS.get(word, ("integer", word))
    if isinstance(take, str):
        take = _at(take + name if take.endswith(".") or not take else take, _MADE.get(kind))
    return DataColumn(name, its_kind, unit or its_unit, meaning, take, word != kind)


def _at(path: str, made: Callable[[Any], Any] | None = None) -> Callable[[Of[Any]], Any]:
    """Return what takes an attribute of an attribute, and what is made of it; None where one on the way is."""

    def take(of: Of[Any]) -> Any:
        value = of.it
        for name in path.split("."):
            value = None if value is None else getattr(value, name)
        return made(value) if made and value is not None else value

    return take


def _used(spending: str, meaning: str) -> Iterator[DataColumn[Any]]:
    """Yield the columns of the tokens that were used, by kind; ``spending`` is the attribute that has them."""
    used = _at(spending)

    def tokens(kind: str) -> Callable[[Of[Any]], Any]:
        return lambda of: found.tokens[kind] if (found := used(of)) and found.spent else None

    for kind in KINDS:
        yield _column(f"used_{kind}_tokens", "tokens?", meaning if kind == KINDS[0] else "likewise", tokens(kind))


def _listed(of: Of[Any], kind: str) -> str | None:
    return ", ".join(name or "unknown" for name in getattr(of.it.spending, kind, ())) or None


class GroupSeen(NamedTuple):
    """The iterations of one session or one task under one rubric, with what their tokens bought."""

    score: SessionScore
    bought: Purchase
    sessions: int


_Columns: TypeAlias = tuple[DataColumn[Any], ...]


def _check(name: str, meaning: str = "likewise") -> DataColumn[Any]:
    return _column(name, "check?", meaning, "signals.objective.")


def _row_of(name: str, kind: str, meaning: str, unit: str = "") -> DataColumn[Any]:
    return _column(name, kind, meaning, lambda of: getattr(of.it[1], name), unit)


_LOG = _column("log", "text", "the log directory, as it was named", lambda of: of.log)
_ITERATION = _column("iteration", "count", "the number of the iteration", lambda of: of.iteration)

_ITERATIONS: _Columns = (
    _LOG,
    _ITERATION,
    _column("date", "text", "when the agent says it was", "record.", "as in the entry"),
    _column("task_id", "text", "the task that was worked on", "record."),
    _column("wave", "text", "the wave of work it belongs to", "record."),
    _column("commit", "text", "the commit it led to", "record.", "as in the entry"),
    _column("session_id", "text?", "the agent's session", "record.agent."),
    _column("harness", "text?", "what ran the agent: as in the entry, else what its lines show"),
    _column("model", "text?", "the model it ran: as in the entry, else what its lines show"),
    _column("schema_version", "count", "the schema of the entry", "record."),
    _column("rubric_version", "text", "the rubric of the score", "score."),
    _column("origin", "text", "where the score comes from", "", "sidecar, computed"),
    _column("state", "text", "what it is worth", "state.name", "current, stale, unverified"),
    _column("state_reason", "text?", "why it is stale or unverified", "state.reason"),
    _column("scored", "flag", "whether there was anything to score", "score."),
    _column("score", "score?", "the score, where there is enough evidence for one"),
    _column("score_raw", "any score?", "the score, however little evidence there is", "score"),
    _column("band", "text", "the name of the score", "score."),
    _column("computed", "score?", "what the evidence gives now, under the rubric that was asked for"),
    _column("signals_present", "signals", "how many signals voted", "score.coverage.present"),
    _column("signals_total", "signals", "how many the rubric has", "score.coverage.total"),
    _column("weight_present", "share", "the share of the rubric's weight that voted", "score.coverage.weight"),
    _column("bounds_low", "share", "the score if every absent signal were 0", "score.bounds.low"),
    _column("bounds_high", "share", "the score if every absent signal were 1", "score.bounds.high"),
    _column("retries", "times", "what the agent says it had to try again", "record.impl."),
    _column("files_changed", "files", "as in the entry", "record."),
    _column("lines_added", "lines", "as in the entry", "record."),
    _column("lines_removed", "lines", "as in the entry", "record."),
    _column("input_tokens", "tokens?", "as the log itself counted them", "record.session_tokens."),
    _column("output_tokens", "tokens?", "likewise", "record.session_tokens."),
    _column("cache_read_tokens", "tokens?", "likewise", "record.session_tokens."),
    _column("cache_creation_tokens", "tokens?", "likewise", "record.session_tokens."),
    _check("ran_cli_command", "seen in the transcripts, where they cover the iteration"),
    _check("committed_after_tests"),
    _check("read_loop_state"),
    _check("ran_tests", "seen in the iteration's own lines, where the rubric's evidence gives it some"),
    *map(_check, ("tests_passed_last", "edited_after_tests", "user_interrupted", "reverted_own_work")),
    _column("linked_traces_to_outcomes", "flag", "whether a verifier named a trace and its outcome", "score."),
    _column("outcome", "text?", "whether its outcome is known", "outcome.status", "known, too_young, not_landed"),
    _column("landed_commit", "text?", "the trunk's commit that brought the work", "outcome.commit"),
    _column("code_lines", "lines?", "the lines of code that this commit added", "outcome.lines_added"),
    _column("code_lines_changed", "lines?", "those that later commits changed", "outcome.lines_changed"),
    _column("code_lines_fixed", "lines?", "those that fixes changed", "outcome.lines_fixed"),
    _column("survival", "share?", "the share of these lines that is still there", "outcome."),
    _column("reverted", "flag?", "whether the trunk took the work back", "outcome."),
    _column("reverted_by", "text?", "the commit that did", "outcome."),
    _column("defective", "flag?", "whether it was reverted, or fixes changed 5 % of its lines", "outcome."),
    _column(
        "used_from", "text?", "where tokens are known from", "spending.source", "transcripts, lines, checkpoint, entry"
    ),
    _column("used_models", "text?", "the models that answered", lambda of: _listed(of, "models"), "by tokens"),
    *_used("spending", "the prompt, without what the cache holds"),
    _column(
        "cost",
        "dollars?",
        "what these tokens cost, where transcripts show them and prices are known; needs the extra cost",
        lambda of: (used := billed(of.it.spending)) and used.cost,
    ),
    _column("unpriced_models", "text?", "those of them with no known price", lambda of: _listed(of, "unpriced")),
    _column("duration", "seconds?", "from the first line to the last", "spending.seconds"),
    _column("used_shared_with", "count?", "the iteration whose part this one shares", "spending.shared_with"),
)

_SIGNALS: _Columns = (
    _LOG,
    _ITERATION,
    _column("rubric_version", "text", "the rubric of the score", lambda of: of.it[0]),
    _row_of("signal", "text", "the signal"),
    _row_of("label", "text", "its name for people"),
    _row_of("present", "flag", "whether it voted"),
    _column("sub_score", "share?", "its vote", lambda of: _MADE["vote?"](of.it[1])),
    _row_of("nominal_weight", "share", "its weight in the rubric"),
    _row_of("effective_weight", "share", "its weight among the signals that voted"),
    _column("contribution", "share", "what it added to the score", lambda of: float(of.it[1].contribution)),
    _row_of("source", "text?", "whether the vote was observed or claimed", "observed, claimed"),
    _row_of("applicable", "flag", "whether the signal has anything to say of the iteration"),
    _row_of("detail", "text", "what produced the vote, or why there is none"),
)

_INTEGRITY: _Columns = (
    _LOG,
    _ITERATION,
    _column("signal", "text", "the signal that was claimed", lambda of: str(of.it.signal)),
    _column("role", "text", "who claimed it", lambda of: str(of.it.role), "impl, verifier, review"),
    _column("claimed", "vote?", "the claim"),
    _column("observed", "vote?", "what was seen"),
    _column(
        "delta",
        "share?",
        "observed minus claimed; below 0 is an over-claim",
        lambda of: float(of.it.delta) if of.it.comparable else None,
        "-1 to 1",
    ),
    _column("over_claim", "flag", "whether more was claimed than was seen", lambda of: of.it.delta < 0),
    _column("claimed_detail", "text", "where the claim comes from", "claimed.detail"),
    _column("observed_detail", "text", "where the observation comes from", "observed.detail"),
)


def _group(what: str, *named: DataColumn[Any]) -> _Columns:
    """Return the columns of a table with a row for each session or task: its name first, then what both have."""
    name, *more = named
    rubric = f"the rubric of its scores; a {what} scored under two has two rows"
    return (
        _LOG,
        name,
        _column("rubric_version", "text", rubric, "score.rubric_version"),
        *more,
        _column("iterations", "iterations", "how many belong to it", lambda of: len(of.it.score.iterations)),
        _column(
            "scored_iterations",
            "iterations",
            "how many of them have a score",
            lambda of: sum(ref.scored for ref in of.it.score.per_iteration),
        ),
        _column(
            "insufficient_iterations",
            "iterations",
            "how many of them have a score on too little evidence, and are not in the mean",
            "score.insufficient",
        ),
        _column("first_iteration", "count", "the first of them", lambda of: of.iteration),
        _column("last_iteration", "count", "the last of them", lambda of: of.it.score.iterations[-1]),
        _column("scored", "flag", "whether any of them has a score", "score."),
        _column("score", "score?", "the mean of their scores"),
        _column("band", "text", "the name of that mean", "score."),
        *_used("bought.spending", "what its iterations used; lines that two share count once"),
        _column("cost", "dollars?", "what these tokens cost", "bought."),
        _column("duration", "seconds?", "the sum of the durations of its iterations", "bought.spending.seconds"),
        _column("priced_iterations", "iterations", "how many of them have a cost", "bought.priced"),
        _column("landed_iterations", "iterations", "how many of these landed and stayed", "bought.landed"),
        _column("cost_per_landed", "dollars?", "the cost by those that landed and stayed", "bought.per_landed"),
        _column("cost_unsound", "dollars?", "the cost of work that was reverted or fixed", "bought.unsound"),
        _column("cost_not_landed", "dollars?", "the cost of work that never landed", "bought.not_landed"),
    )


def _work(name: str, kind: str, meaning: str, unit: str = "") -> DataColumn[Any]:
    """Return a column of the table of work, whose values are those of ``da-score work --json``."""
    return _column(name, kind, meaning, lambda of: of.it.values[name], unit)


def _work_tokens(kind: str) -> DataColumn[Any]:
    meaning = "as the files of the harness count them, each response once" if kind == "input" else "likewise"
    return _column(f"{kind}_tokens", "tokens?", meaning, lambda of: of.it.values["tokens"][kind])


_WORK: _Columns = (
    _LOG,
    _work("unit", "text", "the name of the unit, the same in every run"),
    _work("kind", "text", "what it is", "commit, rest, talk"),
    _work("state", "text", "what became of it", "landed, reverted, open, lost, unclear, talk"),
    _work("iteration", "count?", "the lowest iteration that it is of"),
    _column(
        "iterations",
        "text?",
        "all of them",
        lambda of: ", ".join(map(str, of.it.values["iterations"])) or None,
        "with commas between",
    ),
    _work("commit", "text?", "the commit that it is, or became"),
    _work("subject", "text?", "the first line of its message"),
    _work("session_id", "text?", "the session with the most output tokens"),
    _work("harness", "text?", "the harness of this session"),
    _work("model", "text?", "the model with the most output tokens"),
    _work("author", "text?", "who wrote the commit, or whose session it was"),
    _work("began", "text?", "the time of its first line", "RFC 3339, UTC"),
    _work("ended", "text?", "the time of its last line, or of its commit", "RFC 3339, UTC"),
    *map(_work_tokens, ("input", "output", "cache_read", "cache_creation")),
    _work("cost", "dollars?", "what these tokens cost, as far as prices are known; needs the extra cost"),
    _work("calls", "calls?", "calls of tools that ended"),
    _work("minutes", "minutes?", "the time between its lines, pauses of more than five minutes left out"),
    _work("lines_written", "lines?", "the lines that edits added, where all of these are here"),
    _work("lines_landed", "lines?", "how many of them are on the trunk a horizon later"),
    _work("yield", "share?", "the share of them that is"),
    _work("defective", "flag?", "whether it was reverted, or fixes changed 5 % of its lines"),
)

_SESSIONS = _column("sessions", "sessions", "how many sessions worked on it")
TABLES: dict[str, _Columns] = {
    "iterations": _ITERATIONS,
    "signals": _SIGNALS,
    "integrity": _INTEGRITY,
    "sessions": _group("session", _column("session_id", "text", "the agent's session", "score.")),
    "tasks": _group("task", _column("task_id", "text", "the task", "score.session_id"), _SESSIONS),
    "work": _WORK,
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
        used = one.used._replace(spending=billed(one.spending))
        return cls(record.agent.session_id, record.task_id, SessionIterRef.of(score), score.rubric_version, used)


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


def rows_of_view(view: LogView, tables: Collection[str] = tuple(TABLES)) -> Iterator[tuple[str, DataRow]]:
    """Yield the rows that some tables of a log need, each with its table's name; raises as :func:`work_of`."""
    if any(name != "work" for name in tables):
        yield from table_rows(view.iter_log_dir, view.rubric, view.examine())
    if "work" in tables:
        yield from (("work", _row("work", view.iter_log_dir, 0, row)) for row in work_of(view))
