"""Score sidecars: what is persisted of a score, where, and how it is read back (``docs/SIDECARS.md``, "Scores").

The module is long because writing and reading back are two sides of one format, for iterations and for sessions.
"""

import dataclasses
import math
import operator
import re
from collections.abc import Callable, Mapping, Sequence
from itertools import takewhile
from pathlib import Path
from typing import Any

from msgspec.structs import asdict

from rubric import Score, SignalContribution, Source
from rubric.breakdown import TOLERANCE, Breakdown
from rubric.model import BOUNDS_SIDECAR, REFERENCE_SIDECAR
from scoring.errors import InputError, NotFoundError, WriteError, YamlError
from scoring.files import holds, read_file, write_atomically, write_together
from scoring.frozen import Frozen
from scoring.log.model import IterationRecord
from scoring.sessions import SessionIterRef, SessionScore
from scoring.sidecars.emitter import Value, emit
from scoring.text import shown
from scoring.yamlnodes import Node
from scoring.yamlread import Reader, Take, items_of, parse

_REFERENCE: dict[str, Take] = {
    "signal": Reader.string,
    "label": Reader.string,
    "present": Reader.boolean,
    "sub_score": Reader.number,
    "detail": Reader.string,
    "nominal_weight": Reader.number,
    "effective_weight": Reader.number,
    "contribution": Reader.number,
}
_values_of = operator.attrgetter(*_REFERENCE)
_WHOLE = _REFERENCE | {"source": Reader.string, "applicable": Reader.boolean, "cap": Reader.string}
_EMPTY: dict[Take, Any] = {
    Reader.string: "",
    Reader.boolean: False,
    Reader.number: 0.0,
    Reader.integer: 0,
}
_SOURCES: dict[str, Source] = {"observed": "observed", "claimed": "claimed"}


def _reference_row(row: SignalContribution) -> dict[str, Value]:
    """Return a row as the reference writes it, keys in their order; an empty detail is left out."""
    values = dict(zip(_REFERENCE, _values_of(row), strict=True))
    if not row.detail:
        del values["detail"]
    return values


def _whole_row(row: SignalContribution) -> dict[str, Value]:
    """Return a row as a sidecar with bounds has it: with ``source``, ``applicable`` and ``cap`` where they matter."""
    more: dict[str, Value] = {"source": row.source, "applicable": row.applicable, "cap": row.cap}
    return _reference_row(row) | {
        name: value for name, value in more.items() if value not in (None, True, "")
    }


def _printed_row(row: SignalContribution) -> dict[str, Value]:
    """Return a row as commands print it in JSON: with all that a row may have, null where this one does not have it."""
    more = {
        "source": row.source,
        "applicable": row.applicable,
        "cap": row.cap or None,
        "fact": row.fact or None,
    }
    return _reference_row(row) | more


def _take_row(reader: Reader, node: Node) -> SignalContribution:
    given = _whole(reader, node, _WHOLE, applicable=True)
    return SignalContribution(**given | {"source": _SOURCES.get(given["source"])})


SESSION_ID_LIMIT = 200  # the longest session id, in bytes, that becomes a file name

_NO_FILE_NAME = "session id {!r} cannot be a file name; it has no score file"
_ITERATION_SCORE = re.compile(r"iter-[0-9]+\.score\.yaml")

PersistedContribution = (
    SignalContribution  # one row of a persisted breakdown: the row of the score, as it is
)


class PersistedScore(Breakdown, Frozen, frozen=True):
    """One iteration's score as it is on disk; ``sidecar`` is what that holds of it (:data:`rubric.model.SIDECAR`)."""

    iteration: int
    rubric_version: str
    scored: bool
    value: float
    band: str
    breakdown: tuple[PersistedContribution, ...]
    linked_traces_to_outcomes: bool = False
    sidecar: str = REFERENCE_SIDECAR

    def as_dict(self) -> dict[str, Value]:
        """Return the content of the sidecar, keys in their order; what the format leaves out is left out."""
        bounds = self.sidecar == BOUNDS_SIDECAR
        return self._content(
            _whole_row if bounds else _reference_row, self._sure() if bounds else {}
        )

    def payload(self) -> dict[str, Value]:
        """Return the score as every command prints it in JSON: its sidecar with sources, caps, bounds and coverage."""
        return self._content(_printed_row, {}) | self._sure()

    def summary(self) -> dict[str, Value]:
        """Return what a command prints of the score in JSON where it prints no rows."""
        return {name: getattr(self, name) for name in _HEAD} | self._sure()

    def _content(
        self, shown: Callable[[SignalContribution], dict[str, Value]], sure: dict[str, Value]
    ) -> dict[str, Value]:
        head = {name: getattr(self, name) for name in ("iteration", *_HEAD)}
        linked = {"linked_traces_to_outcomes": True} if self.linked_traces_to_outcomes else {}
        return head | sure | {"breakdown": list(map(shown, self.breakdown))} | linked

    def _sure(self) -> dict[str, Value]:
        return {
            "bounds": dataclasses.asdict(self.bounds),
            "coverage": dataclasses.asdict(self.coverage),
        }


def session_as_dict(session: SessionScore) -> dict[str, Value]:
    """Return the content of a session's sidecar, keys in their order."""
    return asdict(session) | {"per_iteration": list(map(asdict, session.per_iteration))}


def derive_linked_traces_to_outcomes(record: IterationRecord) -> bool:
    """Tell whether any verifier named a pair of a trace and its outcome."""
    return any(verifier.linked_traces for verifier in record.verifiers)


def build_persisted_score(score: Score, record: IterationRecord | None = None) -> PersistedScore:
    """Build what is persisted of a score, with the markers that come from its record."""
    linked = record is not None and derive_linked_traces_to_outcomes(record)
    kept = (
        score.iteration,
        score.rubric_version,
        score.scored,
        score.value,
        score.band,
        score.breakdown,
    )
    return PersistedScore(*kept, linked, score.sidecar)


def iteration_score_path(iter_log_dir: Path | str, iteration: int) -> Path:
    """Return where the score of an iteration is persisted."""
    return Path(iter_log_dir) / f"iter-{iteration}.score.yaml"


def session_score_path(iter_log_dir: Path | str, session_id: str) -> Path:
    """Return where the score of a session is persisted; InputError where the id cannot be a file name."""
    if not is_plain_session_id(session_id):
        raise InputError(_NO_FILE_NAME.format(session_id))
    return Path(iter_log_dir) / f"session-{session_id}.score.yaml"


def is_plain_session_id(session_id: str) -> bool:
    """Tell whether a session id can be part of a file name."""
    return (
        session_id not in ("", ".", "..")
        and not any(c in "/\\" or c < " " or "\x7f" <= c <= "\x9f" for c in session_id)
        and len(session_id.encode("utf-8", "surrogateescape")) <= SESSION_ID_LIMIT
    )


def write_iteration_score(iter_log_dir: Path | str, score: Score) -> Path:
    """Persist a score without the markers of its record, and return where; raises as :func:`write_persisted_score`."""
    return write_persisted_score(iter_log_dir, build_persisted_score(score))


def write_iteration_score_with_record(
    iter_log_dir: Path | str, score: Score, record: IterationRecord
) -> Path:
    """Persist a score with the markers of its record, and return where; raises as :func:`write_persisted_score`."""
    return write_persisted_score(iter_log_dir, build_persisted_score(score, record))


def write_persisted_score(iter_log_dir: Path | str, score: PersistedScore) -> Path:
    """Persist a score that was built before, and return where; WriteError where it cannot, the old file untouched."""
    path = iteration_score_path(iter_log_dir, score.iteration)
    write_atomically(path, emit(score.as_dict()))
    return path


def write_iteration_scores(iter_log_dir: Path | str, scores: Sequence[Score]) -> list[Path]:
    """Persist scores in order, return where; the ``written`` of a WriteError holds the paths written before."""
    persisted = map(build_persisted_score, scores)
    return _write_all(
        [
            (iteration_score_path(iter_log_dir, one.iteration), emit(one.as_dict()))
            for one in persisted
        ]
    )


def write_session_score(iter_log_dir: Path | str, session: SessionScore) -> Path:
    """Persist a session's score, and return where; raises as its path, and as :func:`write_persisted_score`."""
    path = session_score_path(iter_log_dir, session.session_id)
    write_atomically(path, emit(session_as_dict(session)))
    return path


def write_session_scores(iter_log_dir: Path | str, sessions: Sequence[SessionScore]) -> list[Path]:
    """Persist session scores in order and return where; raises as :func:`write_iteration_scores`."""
    plain = list(takewhile(lambda session: is_plain_session_id(session.session_id), sessions))
    paths = [session_score_path(iter_log_dir, session.session_id) for session in plain]
    _write_all(
        [(path, emit(session_as_dict(session))) for path, session in zip(paths, plain, strict=True)]
    )
    if len(plain) < len(sessions):
        raise WriteError(_NO_FILE_NAME.format(sessions[len(plain)].session_id), tuple(paths))
    return paths


def _write_all(files: Sequence[tuple[Path, bytes]]) -> list[Path]:
    try:
        write_together(files)
    except WriteError as e:
        raise WriteError(str(e), tuple(path for path, data in files if holds(path, data))) from e
    return [path for path, _ in files]


_HEAD: dict[str, Take] = {
    "rubric_version": Reader.string,
    "scored": Reader.boolean,
    "value": Reader.number,
    "band": Reader.string,
}
_REF: dict[str, Take] = {
    "iteration": Reader.integer,
    **{k: v for k, v in _HEAD.items() if k != "rubric_version"},
}


def _whole(
    reader: Reader, node: Node, shape: Mapping[str, Take], **missing: bool
) -> dict[str, Any]:
    """Take a mapping; missing fields read as empty, or as is said."""
    return (
        {name: _EMPTY.get(take, ()) for name, take in shape.items()}
        | missing
        | reader.struct(node, shape)
    )


_SCORE: dict[str, Take] = _HEAD | {
    "iteration": Reader.integer,
    "breakdown": items_of(_take_row),
    "bounds": lambda reader, node: reader.struct(
        node, {"low": Reader.number, "high": Reader.number}
    ),
    "linked_traces_to_outcomes": Reader.boolean,
}
_SESSION: dict[str, Take] = _HEAD | {
    "session_id": Reader.string,
    "iterations": items_of(Reader.integer),
    "per_iteration": items_of(lambda reader, node: SessionIterRef(**_whole(reader, node, _REF))),
}


def read_iteration_score(iter_log_dir: Path | str, iteration: int) -> PersistedScore:
    """Read a persisted score back; NotFoundError names the path, InputError where the file is no score sidecar."""
    path = iteration_score_path(iter_log_dir, iteration)
    return _score(_read(path), str(path))


def parse_iteration_score(data: bytes, name: str) -> PersistedScore:
    """Read the bytes of an iteration's sidecar, called ``name`` in errors; InputError where they are none."""
    score = _score(data, name)
    check_numbers(score, name)
    return score


def read_score(iter_log_dir: Path | str, iteration: int) -> PersistedScore:
    """Read a persisted score back to go on with it, checked; NotFoundError names the path, InputError."""
    path = iteration_score_path(iter_log_dir, iteration)
    score = parse_iteration_score(_read(path), str(path))
    if score.iteration != iteration:
        raise InputError(f"{path}: is the score of iteration {score.iteration}")
    return score


def check_numbers(score: PersistedScore, name: str) -> None:
    """Make sure, or raise InputError, that a score read from ``name`` can be shown and added up, be it right or not."""
    _check_value(score.value, name)
    if (
        score.scored and not score.breakdown
    ):  # one that says nothing, as the reference reads an empty file, is shown
        raise InputError(f"{name}: it is scored and has no breakdown")
    for row in score.breakdown:
        numbers = (row.sub_score, row.nominal_weight, row.effective_weight, row.contribution)
        if not all(map(math.isfinite, numbers)):
            raise InputError(f"{name}: signal {shown(row.signal)} has a number that is not finite")
        for number in numbers:
            if not 0 <= number <= 1 + TOLERANCE:
                raise InputError(
                    f"{name}: signal {shown(row.signal)} has the number {number:g}, not one from 0 to 1"
                )


def _check_value(value: float, name: str, advice: str = "") -> None:
    if not 0 <= value <= 1 + TOLERANCE:
        raise InputError(f"{name}: its value {value:g} is not from 0 to 1{advice}")


def is_iteration_score_name(name: str) -> bool:
    """Tell whether a file name is that of an iteration's sidecar."""
    return _ITERATION_SCORE.fullmatch(name) is not None


def _score(data: bytes, name: str) -> PersistedScore:
    given = _parsed(data, name, _SCORE)
    sidecar = BOUNDS_SIDECAR if given.pop("bounds") else REFERENCE_SIDECAR
    return PersistedScore(**given | {"breakdown": tuple(given["breakdown"]), "sidecar": sidecar})


def read_session_score(iter_log_dir: Path | str, session_id: str) -> SessionScore:
    """Read a session's persisted score back; raises as :func:`read_iteration_score`."""
    path = session_score_path(iter_log_dir, session_id)
    given = _parsed(_read(path), str(path), _SESSION)
    return SessionScore(
        **given | {name: tuple(given[name]) for name in ("iterations", "per_iteration")}
    )


def read_session(iter_log_dir: Path | str, session_id: str) -> SessionScore:
    """Read a session's persisted score back to go on with it; it is checked, and raises, as :func:`read_score`."""
    session, path = (
        read_session_score(iter_log_dir, session_id),
        session_score_path(iter_log_dir, session_id),
    )
    advice = "; this is no score sidecar, score its iterations anew"
    _check_value(session.value, str(path), advice)
    for ref in session.per_iteration:
        _check_value(ref.value, f"{path}: iteration {ref.iteration}", advice)
    return session


def _read(path: Path) -> bytes:
    try:
        return read_file(path, within=path.parent)
    except FileNotFoundError as e:
        raise NotFoundError(
            f"{path}: no such score; score the log first with 'da-score run'"
        ) from e


def _parsed(data: bytes, name: str, shape: Mapping[str, Take]) -> dict[str, Any]:
    try:
        node = parse(data)
        if node is None:
            raise YamlError("it is empty")
        return _whole(Reader(), node, shape)
    except YamlError as e:
        raise InputError(f"{name}: {e}; this is no score sidecar, score it anew") from e
