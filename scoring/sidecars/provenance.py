"""Provenance: what the score of an iteration was computed from, in numbers, kept in ``iter-N.evidence.yaml``.

Only this shows whether evidence was lost or changed (``docs/SIDECARS.md``, "Provenance"). It is written before the
score, but after it when the new evidence lacks something of the old: no score outlives what it was computed from.
"""

import datetime
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from msgspec.structs import fields

from scoring.errors import WriteError
from scoring.evidence.facts import IterationFacts
from scoring.evidence.transcripts.facts import NS, HarnessFacts, Observed, timestamp_ns
from scoring.files import holds, write_together
from scoring.frozen import Frozen
from scoring.sidecars.emitter import Value, emit
from scoring.sidecars.scores import PersistedScore, iteration_score_path
from scoring.yamlread import Reader, Take, items_of, read_fields


class Loss(Frozen, frozen=True):
    """Evidence of an old score that is missing now: of which signal, and what in words where that is known."""

    signal: str
    what: str = ""


class OwnLines(Frozen, frozen=True):
    """How an iteration's lines were found (``method``, or None), and what was seen, as counts.

    ``last`` is the verdict of the last test run, ``passed`` or ``failed``, or None; ``words`` None if foreign.
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
    words: int | None = None
    reports: int = 0

    @classmethod
    def of(cls, observed: Observed) -> "OwnLines":
        """Return what is kept of what was observed."""
        tests, seen = observed.tests, observed.corrections
        last = None if tests.last_passed is None else "passed" if tests.last_passed else "failed"
        ran = tests.runs, tests.failed, last, tests.edited_after
        by_user = seen.interrupts, seen.rejections, seen.resets
        return cls(
            observed.method,
            observed.sessions,
            *ran,
            *by_user,
            words=seen.words,
            reports=seen.reports,
        )

    def blocks(self) -> dict[str, dict[str, Any]]:
        """Return the blocks of the file, in their order."""
        return {
            block: {name: getattr(self, name) for name in names} for block, names in _BLOCKS.items()
        }

    def lost(self, now: "OwnLines") -> Iterator[Loss]:
        """Yield what is missing ``now``."""
        if self.method and not now.method:
            yield Loss(
                "correction_pressure",
                f"its lines were found by {self.method} and are not found any more",
            )
        if now.runs < self.runs and set(now.sessions) <= set(self.sessions):
            yield Loss("tests", f"{now.runs} of {self.runs} test runs are left")

    def changed(self, now: "OwnLines") -> Iterator[str]:
        """Yield in words what differs ``now``."""
        if self.method != now.method:
            yield f"its lines are found by {now.method or 'nothing'}, and were by {self.method or 'nothing'}"
        if self.sessions != now.sessions:
            yield f"sessions: {', '.join(self.sessions) or 'none'} → {', '.join(now.sessions) or 'none'}"
        before, after = self.blocks(), now.blocks()
        for block in ("tests", "corrections"):
            for name, was in before[block].items():
                if was != (is_now := after[block][name]):
                    yield f"{block}: {name} {str(was).lower()} → {str(is_now).lower()}"


_BLOCKS = {
    "attribution": ("method", "sessions"),
    "tests": ("runs", "failed", "last", "edited_after"),
    "corrections": ("interrupts", "rejections", "resets", "words", "reports"),
}


class Provenance(Frozen, frozen=True):
    """What the transcript and git signals of one iteration were computed from.

    ``start`` and ``end`` of its window are in ns since 1970, None where open or without one. ``landed`` is the
    method that found the work, "" when unknown; ``own`` is None where the rules give no lines of their own.
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


def lost_between(old: Provenance, new: Provenance) -> list[Loss]:
    """Return what of the old evidence is missing in the new: turns, tool calls, test runs, or the landing.

    Counts compare within one window only, an iteration's own lines by their sessions.
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
                lost.append(
                    Loss(
                        "token_efficiency",
                        f"{left.turns} of {facts.turns} {facts.name} turns are left",
                    )
                )
            if left.tool_calls < facts.tool_calls:
                what = f"{left.tool_calls} of {facts.tool_calls} {facts.name} tool calls are left"
                lost.append(Loss("correction_pressure", what))
    if old.own and new.own:
        lost += old.own.lost(new.own)
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
        said.append(
            f"landed is known by {new.landed or 'nothing'}, and was by {old.landed or 'nothing'}"
        )
    before, after = ({facts.name: facts for facts in kept.harnesses} for kept in (old, new))
    for name in sorted(before.keys() | after.keys()):
        was, now = before.get(name, HarnessFacts(name)), after.get(name, HarnessFacts(name))
        if (was.turns, was.tool_calls) != (now.turns, now.tool_calls):
            calls = f"{was.tool_calls} → {now.tool_calls} tool calls"
            said.append(f"{name}: {was.turns} → {now.turns} turns, {calls}")
        elif [getattr(was, name) for name in _COMPARED] != [
            getattr(now, name) for name in _COMPARED
        ]:
            said.append(f"{name}: other numbers in as many turns and calls")
    if old.own and new.own:
        said += old.own.changed(new.own)
    return said


_COMPARED = (
    "input_tokens",
    "output_tokens",
    "cache_read_tokens",
    "cache_creation_tokens",
    "tool_errors",
)
"""What is compared: not how the numbers are spread over files, nor how often they were repeated."""

_HARNESS = tuple(f.name for f in fields(HarnessFacts) if f.name != "flags")
"""What is written of a harness, in its order; of turns that state no tokens and of failed calls only what is known."""


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
    score, evidence = (
        place(iter_log_dir, one.score.iteration) for place in (iteration_score_path, evidence_path)
    )
    return holds(score, one.data) and (not one.evidence or holds(evidence, one.evidence))


def write_scores(iter_log_dir: Path | str, sidecars: Iterable[Sidecar]) -> None:
    """Persist scores, and what they were computed from: the evidence that may go first, the scores, the other evidence.

    Raises WriteError: some could not be written; its ``written`` holds the paths of the scores that are.
    """
    first: list[tuple[Path, bytes]] = []
    after: list[tuple[Path, bytes]] = []
    scores: list[tuple[Path, bytes]] = []
    for score, provenance, data, evidence in sidecars:
        scores.append((iteration_score_path(iter_log_dir, score.iteration), data))
        path = evidence_path(iter_log_dir, score.iteration)
        if provenance and not holds(path, evidence):
            before = read_provenance(iter_log_dir, score.iteration)
            (after if before and lost_between(before, provenance) else first).append(
                (path, evidence)
            )
    try:
        for files in (first, scores, after):
            write_together(files)
    except WriteError as e:
        raise WriteError(str(e), tuple(path for path, data in scores if holds(path, data))) from e


def provenance_as_dict(provenance: Provenance, rubric_version: str) -> dict[str, Value]:
    """Return the content of the file, keys in their order."""
    return {
        "iteration": provenance.iteration,
        "rubric_version": rubric_version,
        "window": {"start": time_stamp(provenance.start), "end": time_stamp(provenance.end)},
        "trunk": {"ref": provenance.trunk_ref, "commit": provenance.trunk_commit or ""},
        "landed": {"method": provenance.landed},
        "harnesses": [_counts_of(facts) for facts in provenance.harnesses],
        **(provenance.own.blocks() if provenance.own else {}),
    }


def _counts_of(facts: HarnessFacts) -> dict[str, Value]:
    left_out = (not facts.unmeasured and "unmeasured", facts.ends_unknown and "tool_errors")
    return {name: getattr(facts, name) for name in _HARNESS if name not in left_out}


def time_stamp(time: int | None) -> str:
    """Return a time as RFC 3339 in UTC, with as many digits below a second as it has; "" for none."""
    if time is None:
        return ""
    seconds, rest = divmod(time, NS)
    at = datetime.datetime(1970, 1, 1) + datetime.timedelta(seconds=seconds)
    return at.isoformat(timespec="seconds") + (f".{rest:09}".rstrip("0") if rest else "") + "Z"


def _take_like(written: Any) -> Take:
    """Return how a value is read back that is written as this one."""
    if isinstance(written, dict):
        shape = {name: _take_like(value) for name, value in written.items()}
        return lambda reader, node: reader.struct(node, shape)
    if isinstance(written, list | tuple):
        return items_of(_take_like(written[0]))
    if written is None:
        return lambda reader, node: None if reader.is_null(node) else reader.integer(node)
    return {int: Reader.integer, str: Reader.string, bool: Reader.boolean}[type(written)]


_OWN_LINES = OwnLines("", ("",), last="")
_WHOLE = Provenance(0, harnesses=(HarnessFacts("", unmeasured=1),), own=_OWN_LINES)
_FILE = {name: _take_like(value) for name, value in provenance_as_dict(_WHOLE, "").items()}
_NEEDED = provenance_as_dict(Provenance(0), "").keys()
"""The fields of a file that is whole: an iteration's own lines need not be in it."""


def read_provenance(iter_log_dir: Path | str, iteration: int) -> Provenance | None:
    """Read what a score was computed from; None when the file is not there, not whole, or of another iteration."""
    given = read_fields(evidence_path(iter_log_dir, iteration), _FILE, iter_log_dir) or {}
    if given.get("iteration") != iteration or not given.keys() >= _NEEDED:
        return None
    window, trunk = given["window"], given["trunk"]
    lines = {name: value for block in _BLOCKS for name, value in given.get(block, {}).items()}
    sessions = tuple(lines.get("sessions", ()))
    own = {
        "method": lines.get("method") or None,
        "sessions": sessions,
        "last": lines.get("last") or None,
    }
    return Provenance(
        iteration,
        timestamp_ns(window.get("start", "")),
        timestamp_ns(window.get("end", "")),
        trunk.get("ref", ""),
        trunk.get("commit") or None,
        given["landed"].get("method", ""),
        tuple(HarnessFacts(**{"name": ""} | harness) for harness in given["harnesses"]),
        OwnLines(**lines | own) if given.keys() & _BLOCKS.keys() else None,
    )
