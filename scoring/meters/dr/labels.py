"""Labelled transcripts: what people expected of one, beside its rounds under ``_expected``.

In JSONL the label stands in the header line. Of a label only the signal is required; classes are read where they are
given, and whatever else it says is for people.
"""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_args

from scoring.errors import InputError, TranscriptError
from scoring.files import list_names, read_file
from scoring.meters.dr.recommendation import Signal
from scoring.meters.dr.thresholds import Level
from scoring.meters.dr.transcript import HEADER, Transcript, decoded, parse_transcript
from scoring.meters.faults import shown

KEY = "_expected"
SIGNALS: tuple[Signal, ...] = get_args(Signal)
_LEVELS: tuple[Level, ...] = get_args(Level)
_SUFFIXES = (".json", ".jsonl", ".ndjson")


@dataclass(frozen=True, slots=True)
class Label:
    """What people expected; a class is None where they named none."""

    signal: Signal
    novelty: Level | None = None
    readiness: Level | None = None


@dataclass(frozen=True, slots=True)
class Labelled:
    """A transcript with its label; ``file`` is its name in the directory."""

    file: str
    transcript: Transcript
    label: Label


@dataclass(frozen=True, slots=True)
class Collection:
    """Everything in a directory: nothing is left out without being named here."""

    labelled: tuple[Labelled, ...]
    unlabelled: tuple[str, ...]
    """Transcripts without a label."""
    broken: tuple[tuple[str, str], ...]
    """Files that are no transcript or have a label that cannot be read, with the reason."""
    others: tuple[str, ...]
    """What is not named as a transcript is, and directories; not read."""


def read_collection(directory: Path) -> Collection:
    """Read every transcript directly in a directory, in the order of their names.

    Raises:
        InputError: the directory cannot be listed.
    """
    labelled, unlabelled, broken, others = [], [], [], []
    for name in list_names(directory):
        path = directory / name
        if path.is_dir() or not name.endswith(_SUFFIXES):
            others.append(name)
            continue
        try:
            found = _read(path)
        except InputError as e:
            broken.append((name, str(e)))
            continue
        if found is None:
            unlabelled.append(name)
        else:
            labelled.append(found)
    return Collection(tuple(labelled), tuple(unlabelled), tuple(broken), tuple(others))


def _read(path: Path) -> Labelled | None:
    try:
        text = decoded(read_file(path), str(path))
    except FileNotFoundError as e:
        raise InputError(f"{path}: no such file") from e
    transcript = parse_transcript(text, str(path))
    expected = _expected(text)
    if expected is None:
        return None
    return Labelled(path.name, transcript, _label(expected, f"{path}: {KEY}"))


def _expected(text: str) -> Any:
    """Return the label in the text of a transcript, of whatever kind it is; None when there is none."""
    try:
        documents = [json.loads(text)]
    except ValueError:  # one document per line
        values = [json.loads(line) for line in text.split("\n") if line.strip()]
        documents = [value for value in values if value.get("type") == HEADER]
    return next((found for d in documents if (found := d.get(KEY)) is not None), None)


def _label(expected: Any, where: str) -> Label:
    if not isinstance(expected, dict):
        raise TranscriptError(f"{where}: {shown(expected)} where an object belongs")
    if "stop_recommendation" not in expected:
        raise TranscriptError(f"{where}: stop_recommendation: is missing; a label says {', '.join(SIGNALS)}")
    return Label(
        _one_of(expected, "stop_recommendation", SIGNALS, where),
        _one_of(expected, "novelty_classification", (*_LEVELS, None), where),
        _one_of(expected, "readiness_classification", (*_LEVELS, None), where),
    )


def _one_of(expected: dict[str, Any], key: str, known: tuple[Any, ...], where: str) -> Any:
    value = expected.get(key)
    if not any(value is one or (isinstance(value, str) and value == one) for one in known):
        named = ", ".join(one for one in known if one)
        raise TranscriptError(f"{where}: {key}: {shown(value)} is not one of {named}")
    return value
