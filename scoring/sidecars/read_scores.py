"""Reads score sidecars back, those of iterations and those of sessions, and checks them."""

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rubric import SignalContribution, Source
from rubric.breakdown import TOLERANCE
from rubric.model import BOUNDS_SIDECAR, REFERENCE_SIDECAR
from scoring.errors import InputError, NotFoundError, YamlError
from scoring.files import read_file
from scoring.frozen import PlainData
from scoring.sessions import SessionIterRef, SessionScore
from scoring.text import shown
from scoring.yamlnodes import MOST_EVENTS, Node
from scoring.yamlread import TAKES, Reader, Take, items_of, parse, struct_of

from .scores import (
    PersistedScore,
    iteration_score_path,
    session_score_path,
)

MOST_IN_SIDECAR = 20_000
"""How many values, lists and mappings the sidecar of an iteration may have."""

_EMPTY = {take: kind() for kind, take in TAKES.items()}
"""What a missing field reads as."""

_SOURCES: dict[str, Source] = {"observed": "observed", "claimed": "claimed"}


def _fields_of_file(model: type, **others: Take) -> dict[str, Take]:
    """Return how fields of a class take their nodes, by name.

    Args:
        model: the class. Only its fields that hold a single value count.
        others: how further fields, or these in another way, take their nodes.
    """
    kinds = model.__annotations__
    return {name: TAKES[kind] for name, kind in kinds.items() if kind in TAKES} | others


def _take_row(reader: Reader, node: Node) -> SignalContribution:
    content = _with_missing_fields(reader, node, _ROW, applicable=True)
    content["source"] = _SOURCES.get(content["source"])
    return SignalContribution(**content)


def _take_session_member(reader: Reader, node: Node) -> SessionIterRef:
    return SessionIterRef(**_with_missing_fields(reader, node, _MEMBER))


_ROW = _fields_of_file(SignalContribution, source=Reader.string)
del _ROW["fact"]  # no file has it

_SCORE = _fields_of_file(
    PersistedScore,
    breakdown=items_of(_take_row),
    bounds=struct_of({"low": Reader.number, "high": Reader.number}),
)
del _SCORE["sidecar"]  # whether there are bounds says it

_MEMBER = _fields_of_file(SessionIterRef)

_SESSION = _fields_of_file(
    SessionScore,
    iterations=items_of(Reader.integer),
    per_iteration=items_of(_take_session_member),
)


def _with_missing_fields(
    reader: Reader, node: Node, shape: Mapping[str, Take], **missing: Any
) -> PlainData:
    """Return the values of a mapping's fields. A missing field reads as "", 0, False or ().

    Args:
        reader: takes the nodes.
        node: the mapping.
        shape: how each field takes its node, by name.
        missing: what other values missing fields read as, by name.

    Raises:
        YamlError: a value does not fit its field.
    """
    empty = {name: _EMPTY.get(take, ()) for name, take in shape.items()}
    return {**empty, **missing, **reader.struct(node, shape)}


def read_iteration_score(iter_log_dir: Path | str, iteration: int) -> PersistedScore:
    """Read a persisted score back, without a check of its numbers. A missing field reads as empty.

    Raises:
        NotFoundError: the file does not exist.
        InputError: the file cannot be read, is a link to elsewhere, or is not a score sidecar.
    """
    path = iteration_score_path(iter_log_dir, iteration)
    return _score_in(_read(path), str(path))


def parse_iteration_score(data: bytes, name: str) -> PersistedScore:
    """Read and check the bytes of an iteration's sidecar, called ``name`` in errors.

    Raises:
        InputError: the bytes are not a score sidecar, or do not pass :func:`check_numbers`.
    """
    score = _score_in(data, name)
    check_numbers(score, name)
    return score


def read_score(iter_log_dir: Path | str, iteration: int) -> PersistedScore:
    """Read a persisted score back, and check its numbers.

    Raises:
        NotFoundError: the file does not exist.
        InputError: the file cannot be read, is a link to elsewhere, is not a score sidecar or that
            of another iteration, or does not pass :func:`check_numbers`.
    """
    path = iteration_score_path(iter_log_dir, iteration)
    score = parse_iteration_score(_read(path), str(path))
    if score.iteration != iteration:
        raise InputError(f"{path}: is the score of iteration {score.iteration}")
    return score


def check_numbers(score: PersistedScore, name: str) -> None:
    """Refuse a score that cannot be shown and added up. ``name`` is its file, for errors.

    Raises:
        InputError: a number is not finite, or is not from 0 to 1; or the score has no breakdown
            although it is scored.
    """
    _check_value(score.value, name)
    # The reference reads an empty file as a score that says nothing, and that is shown.
    if score.scored and not score.breakdown:
        raise InputError(f"{name}: it is scored and has no breakdown")

    for row in score.breakdown:
        signal = shown(row.signal)
        numbers = (
            row.sub_score,
            row.nominal_weight,
            row.effective_weight,
            row.contribution,
        )
        if not all(map(math.isfinite, numbers)):
            raise InputError(f"{name}: signal {signal} has a number that is not finite")
        for number in numbers:
            if not 0 <= number <= 1 + TOLERANCE:
                raise InputError(
                    f"{name}: signal {signal} has the number {number:g}, not one from 0 to 1"
                )


def _check_value(value: float, name: str, advice: str = "") -> None:
    """Refuse a value that is not from 0 to 1.

    Raises:
        InputError: the value is outside, or not a number. The text ends in ``advice``.
    """
    if not 0 <= value <= 1 + TOLERANCE:
        raise InputError(f"{name}: its value {value:g} is not from 0 to 1{advice}")


def _score_in(data: bytes, name: str) -> PersistedScore:
    """Return the score in the bytes of a sidecar, unchecked. Raises an InputError as _parsed."""
    content = _parsed(data, name, _SCORE, MOST_IN_SIDECAR)
    has_bounds = bool(content.pop("bounds"))
    content["sidecar"] = BOUNDS_SIDECAR if has_bounds else REFERENCE_SIDECAR
    return PersistedScore(**content)


def read_session_score(iter_log_dir: Path | str, session_id: str) -> SessionScore:
    """Read a session's persisted score back, without a check of its values.

    A missing field reads as empty.

    Raises:
        NotFoundError: the file does not exist.
        InputError: the file cannot be read, is a link to elsewhere, or is not a score sidecar; or
            the id cannot be a file name.
    """
    path = session_score_path(iter_log_dir, session_id)
    return SessionScore(**_parsed(_read(path), str(path), _SESSION))


def read_session(iter_log_dir: Path | str, session_id: str) -> SessionScore:
    """Read a session's persisted score back, and check its values.

    Raises:
        NotFoundError: the file does not exist.
        InputError: the file cannot be read, is a link to elsewhere, is not a score sidecar, or has
            a value that is not from 0 to 1; or the id cannot be a file name.
    """
    session = read_session_score(iter_log_dir, session_id)
    path = session_score_path(iter_log_dir, session_id)

    advice = "; this is no score sidecar, score its iterations again"
    _check_value(session.value, str(path), advice)
    for member in session.per_iteration:
        _check_value(member.value, f"{path}: iteration {member.iteration}", advice)
    return session


def _read(path: Path) -> bytes:
    """Return the bytes of a sidecar.

    Raises:
        NotFoundError: the file does not exist.
        InputError: it cannot be read, is too large, or is a link out of its folder.
    """
    try:
        return read_file(path, within=path.parent)
    except FileNotFoundError as e:
        raise NotFoundError(
            f"{path}: no such score; score the log first with 'da-score run'"
        ) from e


def _parsed(
    data: bytes, name: str, shape: Mapping[str, Take], most: int = MOST_EVENTS
) -> PlainData:
    """Return the values of the fields of a sidecar, where a missing field reads as empty.

    Other keys are ignored.

    Args:
        data: the YAML.
        name: what errors call the sidecar.
        shape: how each field takes its node, by name.
        most: how many values, lists and mappings the sidecar may have.

    Raises:
        InputError: the data is empty, is not YAML, has more than ``most`` values, or does not fit
            the fields.
    """
    try:
        node = parse(data, most)
        if node is None:
            raise YamlError("it is empty")
        reader = Reader()
        reader.allow(most)
        return _with_missing_fields(reader, node, shape)
    except YamlError as e:
        raise InputError(
            f"{name}: {e}; this is no score sidecar, score it again"
        ) from e
