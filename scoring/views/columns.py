"""The tables that a log becomes, and what each of their columns holds."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

Kind: TypeAlias = Literal["text", "integer", "number", "yes/no"]
Row: TypeAlias = dict[str, Any]
"""One row: a value or None for every column, in their order."""


@dataclass(frozen=True, slots=True)
class Column:
    """A column: its name, what kind of value it holds, in which unit, and what it means.

    A column that ``may_miss`` holds None where there is nothing to say; that is never 0 and never an empty text.
    """

    name: str
    kind: Kind
    unit: str
    meaning: str
    may_miss: bool = False


def _key(*more: Column) -> tuple[Column, ...]:
    return (
        Column("log", "text", "", "the log directory, as it was named"),
        Column("iteration", "integer", "", "the number of the iteration"),
        *more,
    )


_SHARE = "0 to 1"

ITERATIONS = _key(
    Column("date", "text", "as in the entry", "when the agent says it was"),
    Column("task_id", "text", "", "the task that was worked on"),
    Column("wave", "text", "", "the wave of work it belongs to"),
    Column("commit", "text", "as in the entry", "the commit it led to"),
    Column("session_id", "text", "", "the agent's session", may_miss=True),
    Column("harness", "text", "", "what ran the agent", may_miss=True),
    Column("model", "text", "", "the model it ran", may_miss=True),
    Column("schema_version", "integer", "", "the schema of the entry"),
    Column("rubric_version", "text", "", "the rubric of the score"),
    Column("origin", "text", "sidecar, computed", "where the score comes from"),
    Column("scored", "yes/no", "", "whether there was anything to score"),
    Column("score", "number", _SHARE, "the score", may_miss=True),
    Column("band", "text", "", "the name of the score"),
    Column(
        "computed", "number", _SHARE, "what the evidence gives now, under the rubric that was asked for", may_miss=True
    ),
    Column("signals_present", "integer", "signals", "how many signals voted"),
    Column("signals_total", "integer", "signals", "how many the rubric has"),
    Column("weight_present", "number", _SHARE, "the share of the rubric's weight that voted"),
    Column("retries", "integer", "times", "what the agent says it had to try again"),
    Column("files_changed", "integer", "files", "as in the entry"),
    Column("lines_added", "integer", "lines", "as in the entry"),
    Column("lines_removed", "integer", "lines", "as in the entry"),
    Column("input_tokens", "integer", "tokens", "as the log itself counted them", may_miss=True),
    Column("output_tokens", "integer", "tokens", "likewise", may_miss=True),
    Column("cache_read_tokens", "integer", "tokens", "likewise", may_miss=True),
    Column("cache_creation_tokens", "integer", "tokens", "likewise", may_miss=True),
    Column("ran_cli_command", "yes/no", "", "seen in the transcripts, where they cover the iteration", may_miss=True),
    Column("committed_after_tests", "yes/no", "", "likewise", may_miss=True),
    Column("read_loop_state", "yes/no", "", "likewise", may_miss=True),
    Column("linked_traces_to_outcomes", "yes/no", "", "whether a verifier named a trace and its outcome"),
)

SIGNALS = _key(
    Column("rubric_version", "text", "", "the rubric of the score"),
    Column("signal", "text", "", "the signal"),
    Column("label", "text", "", "its name for people"),
    Column("present", "yes/no", "", "whether it voted"),
    Column("sub_score", "number", _SHARE, "its vote", may_miss=True),
    Column("nominal_weight", "number", _SHARE, "its weight in the rubric"),
    Column("effective_weight", "number", _SHARE, "its weight among the signals that voted"),
    Column("contribution", "number", _SHARE, "what it added to the score"),
    Column("detail", "text", "", "what produced the vote, or why there is none"),
)

INTEGRITY = _key(
    Column("signal", "text", "", "the signal that was claimed"),
    Column("role", "text", "impl, verifier, review", "who claimed it"),
    Column("claimed", "number", _SHARE, "the claim", may_miss=True),
    Column("observed", "number", _SHARE, "what was seen", may_miss=True),
    Column("delta", "number", "-1 to 1", "observed minus claimed; below 0 is an over-claim", may_miss=True),
    Column("over_claim", "yes/no", "", "whether more was claimed than was seen"),
    Column("claimed_detail", "text", "", "where the claim comes from"),
    Column("observed_detail", "text", "", "where the observation comes from"),
)

SESSIONS = (
    Column("log", "text", "", "the log directory, as it was named"),
    Column("session_id", "text", "", "the agent's session"),
    Column("rubric_version", "text", "", "the rubric of its scores; a session scored under two has two rows"),
    Column("iterations", "integer", "iterations", "how many belong to it"),
    Column("scored_iterations", "integer", "iterations", "how many of them have a score"),
    Column("first_iteration", "integer", "", "the first of them"),
    Column("last_iteration", "integer", "", "the last of them"),
    Column("scored", "yes/no", "", "whether any of them has a score"),
    Column("score", "number", _SHARE, "the mean of their scores", may_miss=True),
    Column("band", "text", "", "the name of that mean"),
)

TABLES: Mapping[str, tuple[Column, ...]] = {
    "iterations": ITERATIONS,
    "signals": SIGNALS,
    "integrity": INTEGRITY,
    "sessions": SESSIONS,
}
"""Every table, with its columns in order."""
