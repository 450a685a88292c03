"""A judge's record of one round: what it may hold (unknown keys are kept and ignored), and how it is read."""

import functools
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, TypeAlias

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator

from scoring.errors import MeetingError
from scoring.meters.plaindata import (
    checked,
    decode,
    fault,
    json_schema,
    raised_as,
    read_given,
    read_values,
    utf8,
)
from scoring.text import shown

_LARGEST = 10**9

Text: TypeAlias = Annotated[str, AfterValidator(utf8)]
Name: TypeAlias = Annotated[Text, Field(pattern=r"\S")]
Count: TypeAlias = Annotated[int, Field(ge=0, le=_LARGEST)]
RoundNumber: TypeAlias = Annotated[int, Field(ge=1, le=_LARGEST)]
Share: TypeAlias = Annotated[float, Field(ge=0, le=1)]
Amount: TypeAlias = Annotated[float, Field(ge=0)]
CoverageLevel: TypeAlias = Literal["none", "shallow", "deep"]
Status: TypeAlias = Literal[
    "must_continue", "continue_targeted", "ready_to_decide", "park_or_abort"
]


class Block(BaseModel):
    """Part of a record or config: a number is a number and text is text, and unknown keys are kept."""

    model_config = ConfigDict(
        strict=True, frozen=True, extra="allow", allow_inf_nan=False, defer_build=True
    )


class Summary(Block):
    """What the round said, in short."""

    round_brief: Text
    key_new_points: list[Text]


class Aspect(Block):
    """How far one aspect of the decision has been explored."""

    name: Name
    coverage_level: CoverageLevel
    notes: Text | None = None


def _each_once(items: list[Any]) -> list[Any]:
    for name, count in Counter(
        item.name if isinstance(item, Aspect) else item.expert_id for item in items
    ).items():
        if count > 1:
            raise ValueError(f"{shown(name)} is named {count} times")
    return items


class Exploration(Block):
    """The aspects that the meeting has explored so far, each name once."""

    aspects: Annotated[list[Aspect], AfterValidator(_each_once)]
    exploration_score: float | None = None
    missing_critical_aspects: list[Text] | None = None


class ExpertPosition(Block):
    """What one expert prefers at the end of the round, and how surely (0 to 1)."""

    expert_id: Name
    preferred_option: Name
    confidence: Share
    notes: Text | None = None


class Convergence(Block):
    """Where the experts stand, each of them once."""

    options_considered: list[Text] | None = None
    expert_positions: Annotated[list[ExpertPosition], AfterValidator(_each_once)]
    leading_option: Text | None = None
    leading_option_support_fraction: float | None = None
    leading_option_avg_confidence: float | None = None
    convergence_score: float | None = None
    disagreement_notes: Text | None = None


class Message(Block):
    """What one speaker said in one turn."""

    message_id: Text | None = None
    speaker_id: Text | None = None
    text: Text


class Annotation(Block):
    """How much one message had to do with the decision."""

    message_id: Text
    speaker_id: Text
    topic_relevance: Literal["core", "context", "off_topic"]
    notes: Text | None = None


class Focus(Block):
    """How many messages were about the decision, its background, or neither; else the annotations are counted."""

    message_annotations: list[Annotation] | None = None
    core_count: Count
    context_count: Count
    off_topic_count: Count
    focus_score: float | None = None
    focus_drift_notes: Text | None = None

    @model_validator(mode="before")
    @classmethod
    def _counted(cls, data: Any) -> Any:
        counts = annotated(data.get("message_annotations")) if isinstance(data, Mapping) else None
        return (
            data
            if counts is None
            else {**data, **{k: n for k, n in counts.items() if data.get(k) is None}}
        )


def annotated(annotations: Any) -> dict[str, int] | None:
    """Return the counts of messages that annotations give, by field; None when they are not what they should be."""
    if not isinstance(annotations, list) or not annotations:
        return None
    items: list[Any] = [
        dict(item) if isinstance(item, BaseModel | Mapping) else {} for item in annotations
    ]
    kinds = [item.get("topic_relevance") for item in items]
    counts = {f"{kind}_count": kinds.count(kind) for kind in ("core", "context", "off_topic")}
    return counts if sum(counts.values()) == len(kinds) else None


NOT_COUNTED = "counted_from_messages"  # the key of a novelty block that the judge has not counted


class Novelty(Block):
    """How many points of the round were new, and how many had been made before; from the messages where not counted."""

    novel_points_count: Count
    repeated_points_count: Count
    novelty_score_overall: float | None = None
    novelty_score_recent: Share | None = None
    examples_novel_points: list[Text] | None = None
    examples_repeated_points: list[Text] | None = None

    @property
    def is_counted(self) -> bool:
        """Whether the judge has counted; where it has not, both counts are 0 and those of the messages count."""
        return not (self.model_extra or {}).get(NOT_COUNTED)


class CostTime(Block):
    """What the meeting has used: money in any unit, time in minutes."""

    round_index: int
    max_rounds: int
    estimated_cost_this_round: Amount
    estimated_cost_cumulative: Amount
    time_elapsed_minutes: Amount
    time_budget_minutes: Amount


class Composite(Block):
    """The judge's own summing up; compared, never used."""

    exploration_score: float
    convergence_score: float
    focus_score: float
    low_novelty_score: float
    weights_used: dict[str, float]
    meeting_completeness_index: float


class Recommendation(Block):
    """The judge's own recommendation; its status is compared, its prompts are handed on."""

    status: Status
    rationale: list[Text]
    next_round_focus_prompts: list[Text]


class JudgeRecord(Block):
    """One judge's record of one round of a deliberation."""

    @model_validator(mode="before")
    @classmethod
    def _uncounted(cls, data: Any) -> Any:
        """Take a record with messages and without counts of points: they are counted later."""
        if (
            not isinstance(data, Mapping)
            or not (messages := data.get("messages"))
            or not isinstance(messages, list)
        ):
            return data
        novelty = {} if data.get("novelty") is None else data["novelty"]
        names = ("novel_points_count", "repeated_points_count")
        if not isinstance(novelty, Mapping) or any(novelty.get(name) is not None for name in names):
            return data
        return {**data, "novelty": {**novelty, **dict.fromkeys(names, 0), NOT_COUNTED: True}}

    meeting_id: Text | None = None
    round_index: RoundNumber
    summary: Summary | None = None
    exploration: Exploration
    convergence: Convergence
    focus: Focus
    novelty: Novelty
    cost_time: CostTime | None = None
    composite: Composite | None = None
    stop_continue_recommendation: Recommendation | None = None
    messages: list[Message] | None = None
    user_confirmed: bool | None = None


@functools.cache
def record_schema() -> dict[str, Any]:
    """Return the JSON schema of a judge's record of one round."""
    return json_schema(JudgeRecord.model_json_schema())


def read_meeting_records(source: Path | str) -> list[JudgeRecord]:
    """Read a meeting's records from a file, or for ``-`` standard input, sorted by round; InputError, MeetingError."""
    return read_meeting(source)[0]


def read_meeting(source: Path | str) -> tuple[list[JudgeRecord], Mapping[str, Any]]:
    """Read records as :func:`read_meeting_records` does, and the state of meeting run that has them; else no keys."""
    return _parsed(*read_given(source, "a judge's records, or - for standard input"))


def parse_meeting_records(text: str | bytes, source: str = "judge") -> list[JudgeRecord]:
    """Read a meeting's records, JSON or JSONL, sorted by round; MeetingError lists faults with places in ``source``."""
    return _parsed(text, source)[0]


def _parsed(text: str | bytes, source: str) -> tuple[list[JudgeRecord], Mapping[str, Any]]:
    with raised_as(MeetingError):
        values = read_values(decode(text, source) if isinstance(text, bytes) else text, source)
    state: Mapping[str, Any] = {}
    if (
        len(values) == 1
        and isinstance(values[0], Mapping)
        and isinstance(values[0].get("records"), list)
    ):
        state = values[0]
        values = state["records"]
    try:
        return check_records(values), state
    except MeetingError as e:
        raise MeetingError(*(f"{source}: {found}" for found in e.faults)) from e


def check_records(items: Iterable[JudgeRecord | Mapping[str, Any]]) -> list[JudgeRecord]:
    """Return the records of one meeting, models or plain data, sorted by round; MeetingError lists every fault."""
    given: list[Any] = list(items)
    if not given:
        raise MeetingError("no record; a meeting has one for each round")
    records: list[JudgeRecord] = []
    faults: list[str] = []
    heads = [_head(item) for item in given]
    places = [
        f"record {n}" if number is None else f"round {number}"
        for n, (number, _) in enumerate(heads, start=1)
    ]
    for item, where in zip(given, places, strict=True):
        if isinstance(item, JudgeRecord):
            records.append(item)
        elif isinstance(item, Mapping):
            record, wrong = checked(JudgeRecord, item, where)
            faults += wrong
            records += [] if record is None else [record]
        else:
            faults.append(fault(where, "", f"{shown(item)} where an object belongs"))
    numbers = [number for number, _ in heads]
    for number, count in Counter(numbers).items():
        if number is not None and count > 1:
            at = ", ".join(str(n) for n, other in enumerate(numbers, start=1) if other == number)
            faults.append(
                fault(f"round {number}", "round_index", f"given {count} times, in records {at}")
            )
    named = [
        (meeting, where)
        for (_, meeting), where in zip(heads, places, strict=True)
        if meeting is not None
    ]
    for meeting, where in named:
        if meeting != (first := named[0][0]):
            faults.append(
                fault(
                    where, "meeting_id", f"{shown(meeting)} is another meeting than {shown(first)}"
                )
            )
    if faults:
        raise MeetingError(*faults)
    return sorted(records, key=lambda record: record.round_index)


def _head(item: Any) -> tuple[int | None, str | None]:
    data: Mapping[str, Any] = dict(item) if isinstance(item, JudgeRecord | Mapping) else {}
    number, meeting = data.get("round_index"), data.get("meeting_id")
    known = isinstance(number, int) and not isinstance(number, bool) and abs(number) <= _LARGEST
    return number if known else None, meeting if isinstance(meeting, str) else None
