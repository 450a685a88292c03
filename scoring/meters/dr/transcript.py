"""The transcript of a deliberation: its model, and how one is read from JSON or JSONL, unknown keys ignored."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, TypeAlias, TypeVar

import pydantic
from pydantic import BaseModel, Field

from scoring.errors import TranscriptError
from scoring.meters.dr.extraction import transcript_of, with_claims
from scoring.meters.plaindata import (
    checked,
    decode,
    is_object,
    json_schema,
    raised_as,
    read_given,
    read_json,
    utf8,
)
from scoring.text import shown

HEADER, ROUND = "transcript_header", "round"  # the types of the lines that count in JSONL
_LINES_SUFFIXES = (".jsonl", ".ndjson")


_Text = Annotated[pydantic.StrictStr, pydantic.AfterValidator(utf8)]
_Texts = Annotated[
    tuple[_Text, ...], pydantic.AfterValidator(lambda texts: tuple(filter(str.strip, texts)))
]
_or_empty = pydantic.BeforeValidator(
    lambda texts: () if texts is None else texts,
    json_schema_input_type=tuple[pydantic.StrictStr, ...] | None,
)
_OptionalTexts = Annotated[_Texts, _or_empty]


class _Model(BaseModel):
    model_config = pydantic.ConfigDict(frozen=True, extra="ignore")


_M = TypeVar("_M", bound=BaseModel)


class Outputs(_Model):
    """What a round put out."""

    claims: _Texts = Field(description="The claims of the round, one statement each.")
    open_questions: _OptionalTexts = Field(
        default=(), description="Questions that are open at the end of the round."
    )
    next_actions: _OptionalTexts = Field(
        default=(), description="What is to be done next, one action each."
    )
    decisions: _OptionalTexts = Field(
        default=(), description="Decisions that were taken; not measured."
    )
    citations: Any = Field(default=None, description="Sources, of any form; not measured.")
    summary: _Text | None = Field(
        default=None, description="The round in a few sentences; compared by level L2."
    )
    text: Any = Field(
        default=None,
        description="The round as it was said; da-score dr cuts claims out of it where none are given.",
    )
    claims_from: Any = Field(
        default=None,
        description='"text" where the claims were cut out of the text by rules, which is rough.',
    )
    responses: Any = Field(
        default=None,
        description="An object with what each agent said, by name; compared by dr score --agents.",
    )


class Round(_Model):
    """One round of a deliberation."""

    round: pydantic.StrictInt = Field(
        description="The number of the round; rounds are ordered by it, and each has its own."
    )
    outputs: Outputs
    agent: Any = Field(default=None, description="Who put this round out, where one agent did.")
    inputs: Any = Field(default=None, description="What the round was given; not measured.")
    telemetry: Any = Field(default=None, description="What the round cost; not measured.")


class _Head(_Model):
    """What a transcript says of itself beside its rounds."""

    version: Any = Field(default=None, description="The version of the format.")
    conversation_id: Any = Field(default=None, description="What the conversation is known by.")
    topic: _Text | None = Field(default=None, description="What the conversation is about.")


class Transcript(_Head):
    """A deliberation: one round at least, in the order of their numbers."""

    rounds: Annotated[tuple[Round, ...], Field(min_length=1)]

    @pydantic.model_validator(mode="before")
    @classmethod
    def _order(cls, data: Any) -> Any:
        """Put rounds that are rounds already in order, and refuse a number that is given twice."""
        if not isinstance(data, Mapping) or not isinstance(
            rounds := data.get("rounds"), list | tuple
        ):
            return data
        numbers = [number for item in rounds if (number := _number(item)) is not None]
        for before, after in zip(ordered := sorted(numbers), ordered[1:], strict=False):
            if before == after:
                raise ValueError(f"round {after} is given twice; number every round once")
        if len(numbers) != len(rounds):  # the field says what is wrong with the others
            return data
        return {**data, "rounds": tuple(sorted(rounds, key=lambda item: _number(item) or 0))}


def _number(item: Any) -> int | None:
    number = item.get("round") if isinstance(item, Mapping) else getattr(item, "round", None)
    return number if isinstance(number, int) and not isinstance(number, bool) else None


class HeaderLine(_Head):
    """The line of a transcript in JSONL that says what it is about."""

    type: Literal["transcript_header"]


class RoundLine(Round):
    """The line of one round in JSONL."""

    type: Literal["round"]


def transcript_schema() -> dict[str, Any]:
    """Return the JSON schema of a transcript."""
    return json_schema(Transcript.model_json_schema())


def line_schema() -> dict[str, Any]:
    """Return the JSON schema of a line of a transcript in JSONL; lines of other types are ignored."""
    adapter: pydantic.TypeAdapter[Any] = pydantic.TypeAdapter(
        Annotated[HeaderLine | RoundLine, Field(discriminator="type")]
    )
    return json_schema({"title": "Line of a transcript", **adapter.json_schema()})


def read_transcript(path: Path | str, texts: bool = False) -> Transcript:
    """Read a transcript from a file, ``-`` is standard input; ``texts`` has claims cut out of text; TranscriptError."""
    with raised_as(TranscriptError):
        data, source = read_given(path, "a transcript, JSON or JSONL")
        return parse_transcript(decode(data, source), source, texts)


def parse_transcript(text: str, source: str, texts: bool = False) -> Transcript:
    """Read a transcript, JSON or JSONL, from text; ``source`` is named in the TranscriptError for what is none."""
    with raised_as(TranscriptError):
        if not text.strip():
            raise TranscriptError(f"{source}: is empty; a transcript has at least one round")
        header, given = (
            _from_lines(text, source) if _is_lines(text, source) else _from_document(text, source)
        )
        rounds: dict[int, Round] = {}
        places: dict[int, str] = {}
        for place, named, item in given:
            if (
                texts
                and isinstance(item, dict)
                and isinstance(outputs := item.get("outputs"), dict)
            ):
                item["outputs"] = with_claims(
                    outputs
                )  # in place, so that a key given twice stays known
            found = checked_part(Round, item, source, named)
            if (before := places.setdefault(found.round, place)) != place:
                what = f"round {found.round} is given already by {before}; number each once"
                raise TranscriptError(f"{source}: {place}: {what}")
            rounds[found.round] = found
        if not rounds:
            raise TranscriptError(f"{source}: no rounds; a transcript has at least one")
        return Transcript(
            rounds=tuple(rounds.values()), **dict(checked_part(_Head, header, source, ""))
        )


_Given: TypeAlias = tuple[
    dict[str, Any], list[tuple[str, str, Any]]
]  # the head, and rounds, each with its place twice


def _from_document(text: str, source: str) -> _Given:
    document = read_json(text, source)
    if not isinstance(document, dict):
        raise TranscriptError(f"{source}: {shown(document)} where an object with rounds belongs")
    if "rounds" not in document:
        raise TranscriptError(f"{source}: rounds: is missing; a transcript has a list of rounds")
    rounds, given = document.pop("rounds"), []
    if not isinstance(rounds, list):
        raise TranscriptError(f"{source}: rounds: {shown(rounds)} where a list of rounds belongs")
    for n, item in enumerate(rounds):
        place, number = f"rounds[{n}]", _number(item)
        given.append((place, place if number is None else f"round {number}", item))
    return document, given


def _from_lines(text: str, source: str) -> _Given:
    headers: list[dict[str, Any]] = []
    rounds = []
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip():
            continue
        place, value = f"line {number}", read_json(line, source, number)
        if not isinstance(value, dict):
            raise TranscriptError(f"{source}: {place}: {shown(value)} where an object belongs")
        kind = value.get("type")
        if kind == ROUND:
            rounds.append((place, place, value))
        elif kind == HEADER:
            checked_part(HeaderLine, value, source, place)
            headers.append(value)
        elif kind is None and ("outputs" in value or "rounds" in value):
            raise TranscriptError(
                f'{source}: {place}: type: is missing; a line of a round has "type": "{ROUND}"'
            )
    return headers[0] if headers else {}, rounds


def extracted(data: bytes, source: str) -> dict[str, Any]:
    """Return running text, or a transcript with texts, with claims, as plain data; InputError when broken."""
    text = decode(data, source)
    if not text.strip():
        raise TranscriptError(f"{source}: is empty; give a text or a transcript")
    if text.lstrip()[0] != "{":
        return transcript_of(text)
    given = parse_transcript(text, source, texts=True)
    return given.model_dump(mode="json", exclude_unset=True, exclude_none=True)


def _is_lines(text: str, source: str) -> bool:
    """Return whether text is JSONL: its first value has a type or another one after it; if broken, by its name."""
    start = len(text) - len(text.lstrip())
    try:
        first, end = json.JSONDecoder().raw_decode(text, start)
    except (ValueError, RecursionError):
        line, newline, _ = text[start:].partition("\n")
        return source.endswith(_LINES_SUFFIXES) or bool(newline and is_object(line))
    alone = not text[end:].strip()
    return (
        isinstance(first, dict)
        and not (alone and "rounds" in first)
        and ("type" in first or not alone)
    )


def checked_part(model: type[_M], value: Any, source: str, place: str) -> _M:
    """Return a part of a transcript as a model; TranscriptError, with its place, when it is not what it should be."""
    if not isinstance(value, dict):
        raise TranscriptError(f"{source}: {place}: {shown(value)} where an object belongs")
    found, faults = checked(model, value, place)
    if found is None:
        more = f" (and {len(faults) - 1} more)" if len(faults) > 1 else ""
        raise TranscriptError(f"{source}: {faults[0]}{more}")
    return found
