"""Reads and checks a judge's records of a meeting."""

import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from scoring.errors import MeetingError
from scoring.frozen import PlainData
from scoring.meters.meeting.records import LARGEST, JudgeRecord, with_own_votes
from scoring.meters.plaindata import checked, decode, fault, raised_as, read_given, read_values
from scoring.settings_table import is_whole
from scoring.text import shown


class MeetingFile(NamedTuple):
    """What a file holds of a meeting.

    Attributes:
        records: the judge's records, sorted by round.
        state: the state of ``meeting run`` that has them; empty where the file is only records.
    """

    records: list[JudgeRecord]
    state: PlainData


def read_meeting_records(source: Path | str) -> list[JudgeRecord]:
    """Read a meeting's records, sorted by round, from a file or for ``-`` from standard input.

    Raises:
        InputError: the file cannot be read.
        MeetingError: it is not JSON, or records are wrong. It lists every fault.
    """
    return read_meeting(source).records


def read_meeting(source: Path | str) -> MeetingFile:
    """Read a meeting's records as :func:`read_meeting_records` does, with the state around them."""
    data, name = read_given(source, "a judge's records, or - for standard input")
    return _parse(data, name)


def parse_meeting_records(text: str | bytes, source: str = "judge") -> list[JudgeRecord]:
    """Read a meeting's records, JSON or JSONL, sorted by round.

    Args:
        text: the JSON.
        source: where it is from, as errors say it.

    Raises:
        MeetingError: the text is not JSON, or records are wrong. It lists every fault.
    """
    return _parse(text, source).records


_FENCED = re.compile(r"^[ \t]*```[A-Za-z]*[ \t]*\r?\n(.*?)^[ \t]*```[ \t]*\r?$", re.M | re.S)


def _without_fence(text: str) -> str:
    """Return the JSON in the only code fence of a text, on its lines, or the text."""
    if text.lstrip()[:1] in ("{", "["):
        return text
    fenced = list(_FENCED.finditer(text))
    if len(fenced) != 1:
        return text
    return "\n" * text.count("\n", 0, fenced[0].start(1)) + fenced[0][1]


def _parse(text: str | bytes, source: str) -> MeetingFile:
    with raised_as(MeetingError):
        if isinstance(text, bytes):
            text = decode(text, source)
        text = _without_fence(text)
        values = read_values(text, source)

    state: PlainData = {}
    if len(values) == 1 and isinstance(values[0], dict):
        document = values[0]
        if isinstance(document.get("records"), list):
            state = document
            values = document["records"]

    try:
        return MeetingFile(check_records(values), state)
    except MeetingError as e:
        raise MeetingError(*(f"{source}: {fault_text}" for fault_text in e.faults)) from e


def check_records(items: Iterable[JudgeRecord | Mapping[str, Any]]) -> list[JudgeRecord]:
    """Return the records of one meeting, sorted by round.

    Args:
        items: models or plain data, in any order.

    Raises:
        MeetingError: ``items`` is empty, a record is wrong, two are of one round, or they are of
            several meetings. It lists every fault.
    """
    values: list[Any] = list(items)
    if not values:
        raise MeetingError("no record; a meeting has one for each round")

    heads = [_RecordHead.of(item, number) for number, item in enumerate(values, start=1)]
    records: list[JudgeRecord] = []
    faults: list[str] = []
    for item, head in zip(values, heads, strict=True):
        if isinstance(item, JudgeRecord):
            records.append(item)
        elif isinstance(item, Mapping):
            record, faults_of_record = checked(JudgeRecord, item, head.where)
            faults += faults_of_record
            if record is not None:
                records.append(record)
        else:
            faults.append(fault(head.where, "", f"{shown(item)} where an object belongs"))

    faults += _repeated_rounds(heads)
    faults += _other_meetings(heads)
    if faults:
        raise MeetingError(*faults)
    return sorted(map(with_own_votes, records), key=lambda record: record.round_index)


class _RecordHead(NamedTuple):
    """What tells records apart, before they are checked.

    Attributes:
        round_index: the number of the round; None without a sensible one.
        meeting_id: the id of the meeting; None where it is not text.
        where: what errors call the record.
    """

    round_index: int | None
    meeting_id: str | None
    where: str

    @classmethod
    def of(cls, item: Any, number: int) -> "_RecordHead":
        """Return the head of a record, the ``number``-th of all."""
        data: PlainData = {}
        if isinstance(item, JudgeRecord | Mapping):
            data = dict(item)

        round_index = data.get("round_index")
        if not is_whole(round_index, -LARGEST, LARGEST):
            round_index = None
        where = f"record {number}" if round_index is None else f"round {round_index}"

        meeting_id = data.get("meeting_id")
        if not isinstance(meeting_id, str):
            meeting_id = None
        return cls(round_index, meeting_id, where)


def _repeated_rounds(heads: Sequence[_RecordHead]) -> list[str]:
    positions: dict[int, list[str]] = {}
    for number, head in enumerate(heads, start=1):
        if head.round_index is not None:
            positions.setdefault(head.round_index, []).append(str(number))

    faults = []
    for round_index, numbers in positions.items():
        if len(numbers) > 1:
            reason = f"given {len(numbers)} times, in records {', '.join(numbers)}"
            faults.append(fault(f"round {round_index}", "round_index", reason))
    return faults


def _other_meetings(heads: Sequence[_RecordHead]) -> list[str]:
    """Return a fault for each record of another meeting than the first one that names any."""
    named = [head for head in heads if head.meeting_id is not None]
    faults = []
    for head in named:
        first = named[0].meeting_id
        if head.meeting_id != first:
            reason = f"{shown(head.meeting_id)} is another meeting than {shown(first)}"
            faults.append(fault(head.where, "meeting_id", reason))
    return faults
