"""``iter-N.evidence.yaml``: where a score comes from, kept beside its sidecar (contract section 10).

The two files are written one after the other, in the order that loses nothing should only one of them be written: the
evidence first, so that no score stands without the numbers behind it; but after the score when the new evidence lacks
something that the old one has, so that no score outlives what it was computed from.
"""

import datetime
from collections.abc import Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

from scoring.errors import InputError
from scoring.evidence.transcripts.facts import NS, HarnessFacts, timestamp_ns
from scoring.files import read_file, write_atomically, write_together
from scoring.origin import Origin, lost_between
from scoring.sidecars.emitter import Value, emit
from scoring.sidecars.scores import PersistedScore, write_each, write_persisted_score
from scoring.yamlread import Node, Reader, Take, items_of, parse

_COUNTS = tuple(f.name for f in fields(HarnessFacts) if f.name not in ("name", "flags"))
"""The counts of a harness, in the order in which they are written."""


def evidence_path(iter_log_dir: Path | str, iteration: int) -> Path:
    """Return where the evidence behind an iteration's score is kept."""
    return Path(iter_log_dir) / f"iter-{iteration}.evidence.yaml"


def write_score(iter_log_dir: Path | str, score: PersistedScore, origin: Origin | None = None) -> Path:
    """Persist a score, and with it where it comes from when that is known; return the path of the score.

    Raises:
        WriteError: one of the two could not be written; its old file is untouched.
    """
    if origin is None or is_kept(iter_log_dir, origin, score.rubric_version):
        return write_persisted_score(iter_log_dir, score)
    before = read_origin(iter_log_dir, score.iteration)
    if before is not None and lost_between(before, origin):
        path = write_persisted_score(iter_log_dir, score)
        write_origin(iter_log_dir, origin, score.rubric_version)
        return path
    write_origin(iter_log_dir, origin, score.rubric_version)
    return write_persisted_score(iter_log_dir, score)


def write_scores(iter_log_dir: Path | str, scores: Sequence[tuple[PersistedScore, Origin | None]]) -> list[Path]:
    """Persist many scores in order, each with where it comes from, and return the paths of the scores.

    The evidence that may go first is written before the first score, all of it together.

    Raises:
        WriteError: at the first that could not be written; its ``written`` holds the paths of scores written before.
    """
    first: list[tuple[Path, bytes]] = []
    for score, origin in scores:
        if origin is not None and not is_kept(iter_log_dir, origin, score.rubric_version):
            before = read_origin(iter_log_dir, score.iteration)
            if before is None or not lost_between(before, origin):
                data = emit(origin_as_dict(origin, score.rubric_version))
                first.append((evidence_path(iter_log_dir, score.iteration), data))
    write_together(first)
    return write_each(scores, lambda pair: write_score(iter_log_dir, *pair))


def write_origin(iter_log_dir: Path | str, origin: Origin, rubric_version: str) -> Path:
    """Write where a score comes from, and return the path.

    Raises:
        WriteError: it could not be written; the old file is untouched.
    """
    path = evidence_path(iter_log_dir, origin.iteration)
    write_atomically(path, emit(origin_as_dict(origin, rubric_version)))
    return path


def is_kept(iter_log_dir: Path | str, origin: Origin, rubric_version: str) -> bool:
    """Tell whether the file holds exactly this already, without parsing it."""
    try:
        data = read_file(evidence_path(iter_log_dir, origin.iteration))
    except (FileNotFoundError, InputError):
        return False
    return data == emit(origin_as_dict(origin, rubric_version))


def origin_as_dict(origin: Origin, rubric_version: str) -> dict[str, Value]:
    """Return the content of the file, keys in their order."""
    harnesses: list[Value] = [
        {"name": facts.name, **{name: getattr(facts, name) for name in _COUNTS}} for facts in origin.harnesses
    ]
    return {
        "iteration": origin.iteration,
        "rubric_version": rubric_version,
        "window": {"start": _stamp(origin.start), "end": _stamp(origin.end)},
        "trunk": {"ref": origin.trunk_ref, "commit": origin.trunk_commit or ""},
        "landed": {"method": origin.landed},
        "harnesses": harnesses,
    }


def _stamp(time: int | None) -> str:
    """Return a time as RFC 3339 in UTC, with as many digits below a second as it has; "" for none."""
    if time is None:
        return ""
    seconds, rest = divmod(time, NS)
    at = datetime.datetime(1970, 1, 1) + datetime.timedelta(seconds=seconds)
    return at.isoformat(timespec="seconds") + (f".{rest:09}".rstrip("0") if rest else "") + "Z"


def _time(reader: Reader, node: Node) -> int | None:
    text = reader.string(node)
    return timestamp_ns(text) if text else None


def _block(shape: Mapping[str, Take]) -> Take:
    return lambda reader, node: reader.struct(node, shape)


_HARNESS: dict[str, Take] = {"name": Reader.string, **dict.fromkeys(_COUNTS, Reader.integer)}
_SHAPE: dict[str, Take] = {
    "iteration": Reader.integer,
    "rubric_version": Reader.string,
    "window": _block({"start": _time, "end": _time}),
    "trunk": _block({"ref": Reader.string, "commit": Reader.string}),
    "landed": _block({"method": Reader.string}),
    "harnesses": items_of(lambda reader, node: HarnessFacts(**{"name": ""} | reader.struct(node, _HARNESS))),
}


def read_origin(iter_log_dir: Path | str, iteration: int) -> Origin | None:
    """Read where a score came from; None when that was not kept, or the file is not whole or of another iteration."""
    try:
        node = parse(read_file(evidence_path(iter_log_dir, iteration)))
        given: dict[str, Any] = {} if node is None else Reader().struct(node, _SHAPE)
    except (FileNotFoundError, InputError):
        return None
    if given.get("iteration") != iteration or not given.keys() >= _SHAPE.keys():
        return None
    window, trunk = given["window"], given["trunk"]
    return Origin(
        iteration,
        window.get("start"),
        window.get("end"),
        trunk.get("ref", ""),
        trunk.get("commit") or None,
        given["landed"].get("method", ""),
        tuple(given["harnesses"]),
    )
