"""Provenance: what the score of an iteration was computed from, in numbers, kept in ``iter-N.evidence.yaml``.

Harnesses delete their transcripts after some weeks, and histories are rewritten. A score that is computed anew then
differs, and only this shows whether evidence was lost or has changed. It never holds a word of a conversation. See
``docs/SIDECARS.md``, "Provenance".

The file is written beside the sidecar, one after the other, in the order that loses nothing should only one of them be
written: the evidence first, so that no score is without the numbers behind it; but after the score when the new
evidence lacks something that the old one has, so that no score outlives what it was computed from.

The module is long because it writes, reads back and compares all parts of the file.
"""

import datetime
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from msgspec.structs import fields

from scoring.errors import InputError, WriteError
from scoring.evidence.facts import IterationFacts
from scoring.evidence.transcripts.facts import NS, HarnessFacts, Observed, timestamp_ns
from scoring.files import holds, read_file, write_together
from scoring.frozen import Frozen
from scoring.sidecars.emitter import Value, emit
from scoring.sidecars.scores import PersistedScore, iteration_score_path
from scoring.yamlnodes import Node
from scoring.yamlread import Reader, Take, items_of, parse


class OwnLines(Frozen, frozen=True):
    """How an iteration's lines were found, and what was seen in them.

    ``method`` is None when none were found, ``sessions`` are the ids of those that they are of. ``last`` is the verdict
    of the last test run, ``passed`` or ``failed``, None when there is none. The rest are counts, and are called as in
    :class:`~scoring.evidence.transcripts.facts.TestsSeen` and ``CorrectionsSeen``.
    """

    method: str | None = None
    sessions: tuple[str, ...] = ()
    runs: int = 0
    failed: int = 0
    last: str | None = None
    edited_after: bool = False
    interrupts: int = 0
    rejections: int = 0
    resets: int = 0

    @classmethod
    def of(cls, observed: Observed) -> "OwnLines":
        """Return what is kept of what was observed."""
        tests, seen = observed.tests, observed.corrections
        last = None if tests.last_passed is None else "passed" if tests.last_passed else "failed"
        ran = tests.runs, tests.failed, last, tests.edited_after
        return cls(observed.method, observed.sessions, *ran, seen.interrupts, seen.rejections, seen.resets)

    def as_dict(self) -> dict[str, Value]:
        """Return the keys of the file, in their order."""
        return {
            "attribution": {"method": self.method, "sessions": list(self.sessions)},
            "tests": {name: getattr(self, name) for name in _TESTS},
            "corrections": {name: getattr(self, name) for name in _CORRECTIONS},
        }

    def lost(self, now: "OwnLines") -> Iterator[tuple[str, str]]:
        """Yield what is missing ``now``: of which signal, and what in words."""
        if self.method and not now.method:
            yield "correction_pressure", f"its lines were found by {self.method} and are not found any more"
        if now.runs < self.runs and set(now.sessions) <= set(self.sessions):
            yield "tests", f"{now.runs} of {self.runs} test runs are left"

    def changed(self, now: "OwnLines") -> Iterator[str]:
        """Yield in words what differs ``now``."""
        if self.method != now.method:
            yield f"its lines are found by {now.method or 'nothing'}, and were by {self.method or 'nothing'}"
        if self.sessions != now.sessions:
            yield f"sessions: {', '.join(self.sessions) or 'none'} → {', '.join(now.sessions) or 'none'}"
        for block, names in (("tests", _TESTS), ("corrections", _CORRECTIONS)):
            for name in names:
                was, is_now = getattr(self, name), getattr(now, name)
                if was != is_now:
                    yield f"{block}: {name} {str(was).lower()} → {str(is_now).lower()}"


def _text_or_none(reader: Reader, node: Node) -> str | None:
    return reader.string(node) or None


_TESTS: Mapping[str, Take] = {
    "runs": Reader.integer,
    "failed": Reader.integer,
    "last": _text_or_none,
    "edited_after": Reader.boolean,
}
_CORRECTIONS: Mapping[str, Take] = dict.fromkeys(("interrupts", "rejections", "resets"), Reader.integer)

_OWN_LINES: Mapping[str, Mapping[str, Take]] = {
    "attribution": {"method": _text_or_none, "sessions": items_of(Reader.string)},
    "tests": _TESTS,
    "corrections": _CORRECTIONS,
}
"""The blocks of the file, and how their fields are taken."""


def _own_lines_of(given: Mapping[str, Mapping[str, Any]]) -> OwnLines | None:
    blocks = [given[block] for block in _OWN_LINES if block in given]
    found = {name: value for block in blocks for name, value in block.items()}
    return OwnLines(**found | {"sessions": tuple(found.get("sessions", ()))}) if blocks else None


class Provenance(Frozen, frozen=True):
    """What the transcript and git signals of one iteration were computed from.

    ``start`` and ``end`` bound its window, in nanoseconds since 1970, UTC: ``start`` is None where the window is open,
    both are where there is none. ``trunk_commit`` is None when there is no such branch, ``landed`` is the method that
    found the work landed or not (:class:`~scoring.evidence.git.facts.Landing`), "" when it is unknown. ``own`` is None
    where the rules give iterations no lines of their own.
    """

    iteration: int
    start: int | None = None
    end: int | None = None
    trunk_ref: str = ""
    trunk_commit: str | None = None
    landed: str = ""
    harnesses: tuple[HarnessFacts, ...] = ()
    own: OwnLines | None = None


def provenance_of(facts: IterationFacts) -> Provenance:
    """Return what the transcript and git signals of one iteration are computed from."""
    window, transcripts = facts.window, facts.transcripts
    return Provenance(
        facts.record.iteration,
        window.start if window else None,
        window.end if window else None,
        facts.trunk.ref,
        facts.trunk.commit,
        facts.landing.method,
        transcripts.harnesses if transcripts else (),
        OwnLines.of(facts.observed) if facts.observed else None,
    )


class Loss(Frozen, frozen=True):
    """Evidence of an old score that is missing now: of which signal, and what in words where that is known."""

    signal: str
    what: str = ""


def lost_between(old: Provenance, new: Provenance) -> list[Loss]:
    """Return what of the old evidence is missing in the new: turns, tool calls, test runs, or the landing.

    Counts compare only within one window: when a commit was rewritten its window is another one, and fewer turns in it
    are changed evidence. An iteration's own lines compare by the sessions that they are of instead. A landing is lost
    when it was known once and is not any more.
    """
    lost = []
    comparable = (old.start, old.end) == (new.start, new.end) or new.end is None
    if old.own and new.own:
        comparable = set(new.own.sessions) <= set(old.own.sessions)
    if comparable:
        now = {facts.name: facts for facts in new.harnesses}
        for facts in old.harnesses:
            left = now.get(facts.name, HarnessFacts(facts.name))
            if left.turns < facts.turns:
                lost.append(Loss("token_efficiency", f"{left.turns} of {facts.turns} {facts.name} turns are left"))
            if left.tool_calls < facts.tool_calls:
                what = f"{left.tool_calls} of {facts.tool_calls} {facts.name} tool calls are left"
                lost.append(Loss("correction_pressure", what))
    if old.own and new.own:
        lost += [Loss(signal, what) for signal, what in old.own.lost(new.own)]
    if old.landed and not new.landed:
        lost.append(Loss("landed", f"it was known by {old.landed} and is not known any more"))
    return lost


def changed_between(old: Provenance, new: Provenance) -> list[str]:
    """Return in words what differs between two provenances of one iteration, lost evidence included."""
    said = []
    if (old.start, old.end) != (new.start, new.end):
        said.append("its window moved")
    if old.trunk_ref != new.trunk_ref:
        said.append(f"the trunk is {new.trunk_ref}, and was {old.trunk_ref}")
    if old.landed != new.landed:
        said.append(f"landed is known by {new.landed or 'nothing'}, and was by {old.landed or 'nothing'}")
    before, after = ({facts.name: facts for facts in kept.harnesses} for kept in (old, new))
    for name in sorted(before.keys() | after.keys()):
        was, now = before.get(name, HarnessFacts(name)), after.get(name, HarnessFacts(name))
        if (was.turns, was.tool_calls) != (now.turns, now.tool_calls):
            calls = f"{was.tool_calls} → {now.tool_calls} tool calls"
            said.append(f"{name}: {was.turns} → {now.turns} turns, {calls}")
        elif [getattr(was, name) for name in _COMPARED] != [getattr(now, name) for name in _COMPARED]:
            said.append(f"{name}: other numbers in as many turns and calls")
    if old.own and new.own:
        said += old.own.changed(new.own)
    return said


_COMPARED = ("input_tokens", "output_tokens", "cache_read_tokens", "cache_creation_tokens", "tool_errors")
"""What is compared: not how the numbers are spread over files, nor how often they were repeated."""

_COUNTS = tuple(f.name for f in fields(HarnessFacts) if f.name not in ("name", "flags"))
"""The counts of a harness, in the order in which they are written."""


def evidence_path(iter_log_dir: Path | str, iteration: int) -> Path:
    """Return where the evidence behind an iteration's score is kept."""
    return Path(iter_log_dir) / f"iter-{iteration}.evidence.yaml"


class Sidecar(NamedTuple):
    """The files of a score as they are written; ``evidence`` is empty where the rules keep no provenance."""

    score: PersistedScore
    provenance: Provenance | None
    data: bytes
    evidence: bytes


def sidecar_of(score: PersistedScore, provenance: Provenance | None) -> Sidecar:
    """Return the files of a score."""
    evidence = emit(provenance_as_dict(provenance, score.rubric_version)) if provenance else b""
    return Sidecar(score, provenance, emit(score.as_dict()), evidence)


def is_written(iter_log_dir: Path | str, one: Sidecar) -> bool:
    """Tell whether the files of a score are on disk, byte for byte."""
    score, evidence = (place(iter_log_dir, one.score.iteration) for place in (iteration_score_path, evidence_path))
    return holds(score, one.data) and (not one.evidence or holds(evidence, one.evidence))


def write_scores(iter_log_dir: Path | str, sidecars: Iterable[Sidecar]) -> None:
    """Persist scores, and what they were computed from: the evidence that may go first, the scores, the other evidence.

    Raises:
        WriteError: some could not be written; its ``written`` holds the paths of the scores that are.
    """
    first: list[tuple[Path, bytes]] = []
    after: list[tuple[Path, bytes]] = []
    scores: list[tuple[Path, bytes]] = []
    for score, provenance, data, evidence in sidecars:
        scores.append((iteration_score_path(iter_log_dir, score.iteration), data))
        path = evidence_path(iter_log_dir, score.iteration)
        if provenance and not holds(path, evidence):
            before = read_provenance(iter_log_dir, score.iteration)
            (after if before and lost_between(before, provenance) else first).append((path, evidence))
    try:
        for files in (first, scores, after):
            write_together(files)
    except WriteError as e:
        raise WriteError(str(e), tuple(path for path, data in scores if holds(path, data))) from e


def provenance_as_dict(provenance: Provenance, rubric_version: str) -> dict[str, Value]:
    """Return the content of the file, keys in their order."""
    harnesses: list[Value] = [
        {"name": facts.name, **{name: getattr(facts, name) for name in _COUNTS}} for facts in provenance.harnesses
    ]
    return {
        "iteration": provenance.iteration,
        "rubric_version": rubric_version,
        "window": {"start": _stamp(provenance.start), "end": _stamp(provenance.end)},
        "trunk": {"ref": provenance.trunk_ref, "commit": provenance.trunk_commit or ""},
        "landed": {"method": provenance.landed},
        "harnesses": harnesses,
        **(provenance.own.as_dict() if provenance.own else {}),
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
_WITH_OWN_LINES = _SHAPE | {block: _block(shape) for block, shape in _OWN_LINES.items()}
"""The fields of the file; one without an iteration's own lines is whole as well."""


def read_provenance(iter_log_dir: Path | str, iteration: int) -> Provenance | None:
    """Read what a score was computed from; None when the file is not there, not whole, or of another iteration."""
    try:
        node = parse(read_file(evidence_path(iter_log_dir, iteration)))
        given: dict[str, Any] = {} if node is None else Reader().struct(node, _WITH_OWN_LINES)
    except (FileNotFoundError, InputError):
        return None
    if given.get("iteration") != iteration or not given.keys() >= _SHAPE.keys():
        return None
    window, trunk = given["window"], given["trunk"]
    return Provenance(
        iteration,
        window.get("start"),
        window.get("end"),
        trunk.get("ref", ""),
        trunk.get("commit") or None,
        given["landed"].get("method", ""),
        tuple(given["harnesses"]),
        _own_lines_of(given),
    )
