"""Reads and checks a judge's records of a meeting."""

import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from scoring.errors import MeetingError
from scoring.frozen import PlainData
from scoring.meters.plaindata import (
    checked,
    decode,
    fault,
    faults_of,
    raised_as,
    read_given,
    read_values,
)
from scoring.settings_table import is_whole
from scoring.text import shown

from .records import LARGEST, JudgeRecord, with_own_votes


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
    """Read a meeting's records, sorted by round, and the state of ``meeting run`` around them.

    The argument and the errors are those of :func:`read_meeting_records`.
    """
    return _parse(*read_given(source, "a judge's records, or - for standard input"))


def parse_meeting_records(
    text: str | bytes, source: str = "judge"
) -> list[JudgeRecord]:
    """Read a meeting's records, JSON or JSONL, sorted by round.

    Args:
        text: the JSON.
        source: where it is from, as errors say it.

    Raises:
        MeetingError: the text is not JSON, or records are wrong. It lists every fault.
    """
    return _parse(text, source).records


_FENCE_END = r"^[ \t]*```[ \t]*\r?$"
_FENCE_ENDS = re.compile(_FENCE_END, re.M)
_FENCED = re.compile(rf"^[ \t]*```[A-Za-z]*[ \t]*\r?\n(.*?){_FENCE_END}", re.M | re.S)


def _without_fence(text: str) -> str:
    """Return the JSON in the only code fence of a text, or the text as it is.

    The text stays as it is where it begins with JSON, and where it has no fence or several. JSON
    from a fence has as many line breaks before it as in the text, so that errors name its lines.
    """
    if text.lstrip().startswith(("{", "[")):
        return text
    # no fence that opens is searched for an end that never comes
    end = max((match.end() for match in _FENCE_ENDS.finditer(text)), default=0)
    fenced = list(_FENCED.finditer(text, 0, end))
    if len(fenced) != 1:
        return text
    lines_before = text.count("\n", 0, fenced[0].start(1))
    return "\n" * lines_before + fenced[0][1]


def _parse(text: str | bytes, source: str) -> MeetingFile:
    """Read records from JSON, JSONL, a fenced block of JSON, or the state of ``meeting run``.

    Raises:
        MeetingError: as :func:`parse_meeting_records`.
    """
    with raised_as(MeetingError):
        if isinstance(text, bytes):
            text = decode(text, source)
        values = read_values(_without_fence(text), source)

    state: PlainData = {}
    document = values[0] if len(values) == 1 else None
    if isinstance(document, dict) and isinstance(document.get("records"), list):
        state = document
        values = document["records"]

    with faults_of(source):
        return MeetingFile(check_records(values), state)


def check_records(
    items: Iterable[JudgeRecord | Mapping[str, Any]],
) -> list[JudgeRecord]:
    """Return the records of one meeting, sorted by round, as :func:`with_own_votes` returns them.

    Args:
        items: models or plain data, in any order.

    Raises:
        MeetingError: ``items`` is empty, a record is wrong, two are of one round, or they are of
            several meetings. It lists every fault.
    """
    values: list[Any] = list(items)
    if not values:
        raise MeetingError("no record; a meeting has one for each round")

    records = []
    faults: list[str] = []
    positions: dict[int, list[str]] = {}
    first_meeting: str | None = None
    other_meetings = []
    for number, item in enumerate(values, start=1):
        data: PlainData = {}
        if isinstance(item, JudgeRecord | Mapping):
            data = dict(item)

        where = f"record {number}"
        round_index: Any = data.get("round_index")
        if is_whole(round_index, -LARGEST, LARGEST):
            where = f"round {round_index}"
            positions.setdefault(round_index, []).append(str(number))

        try:
            records.append(_checked_record(item, where))
        except MeetingError as e:
            faults += e.faults

        meeting = data.get("meeting_id")
        if isinstance(meeting, str):
            if first_meeting is None:
                first_meeting = meeting
            if meeting != first_meeting:
                reason = (
                    f"{shown(meeting)} is another meeting than {shown(first_meeting)}"
                )
                other_meetings.append(fault(where, "meeting_id", reason))

    for round_index, numbers in positions.items():
        if len(numbers) > 1:
            reason = f"given {len(numbers)} times, in records {', '.join(numbers)}"
            faults.append(fault(f"round {round_index}", "round_index", reason))
    faults += other_meetings
    if faults:
        raise MeetingError(*faults)
    return sorted(map(with_own_votes, records), key=lambda record: record.round_index)


def _checked_record(item: Any, where: str) -> JudgeRecord:
    """Return a record, a model or plain data.

    Raises:
        MeetingError: the record is wrong. ``faults`` has every fault, which begins with ``where``.
    """
    if isinstance(item, JudgeRecord):
        return item
    if not isinstance(item, Mapping):
        raise MeetingError(fault(where, "", f"{shown(item)} where an object belongs"))
    return checked(JudgeRecord, item, where)
