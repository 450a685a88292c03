"""Gates: what a log must hold up to, checked iteration by iteration, with the reasons in words.

A new gate is a :class:`~scoring.views.gates.gate.Gate` with its function in a file here, and its line in :data:`GATES`.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple
from xml.etree import ElementTree

from rubric import BAND_INSUFFICIENT
from scoring.examine import ExaminedIteration, LogView
from scoring.sidecars.scores import PersistedScore
from scoring.sidecars.states import State
from scoring.text import as_utf8, counted, cut, visible
from scoring.views.gates import drops, gate
from scoring.views.gates.gate import Demand, Gate, mean_score
from scoring.views.table import number

GATES: list[Gate] = [
    *(
        gate.MIN_SCORE,
        gate.MIN_BAND,
        gate.MIN_MEAN,
        gate.MIN_COVERAGE,
        gate.MIN_LOW,
        drops.MAX_DROP,
    ),
    *(
        gate.NO_OVER_CLAIMS,
        gate.NO_UNSCORED,
        gate.NO_UNRESOLVED_COMMITS,
        gate.NO_STALE,
        gate.REQUIRE_VERIFIED,
    ),
]
"""Every gate, in the order of the help."""

SIDECAR = "sidecar"  # under which name a sidecar fails that says more than the evidence gives; no option asks for it

_AGAIN = "; 'da-score iteration {} --recompute' writes what the evidence gives"
_MOST_ROWS = 500  # of a table on a page: GitHub shows no summary of more than 1 MiB
_LINK = re.compile(r"://|@|www\.", re.IGNORECASE)
"""What a page makes a link of by itself: a comment in between shows nothing, and there is no link."""

_LONGEST = 300  # characters of a text, on a page and in a name


class Failure(NamedTuple):
    """One gate that one iteration did not hold up to; ``iteration`` is None for the log as a whole."""

    gate: str
    iteration: int | None
    reason: str


@dataclass(frozen=True, slots=True)
class Checked:
    """One iteration that was checked, with what it failed."""

    iteration: int
    task_id: str
    score: PersistedScore
    failures: tuple[Failure, ...]
    notes: tuple[str, ...] = ()
    state: State | None = None

    def as_dict(self) -> dict[str, Any]:
        """Return plain data."""
        return {
            "iteration": self.iteration,
            "task_id": self.task_id,
            **self.score.summary(),
            **(
                {"state": self.state.name, "state_reason": self.state.reason or None}
                if self.state
                else {}
            ),
            "passed": not self.failures,
            "failures": _plain(self.failures),
            "notes": list(self.notes),
        }


def _plain(failures: Iterable[Failure]) -> list[dict[str, str]]:
    return [{"gate": failure.gate, "reason": failure.reason} for failure in failures]


@dataclass(slots=True)
class Verdict:
    """What a check found: each iteration, and the log as a whole. ``demanded`` is what was demanded, as plain data."""

    demanded: dict[str, Any]
    iterations: list[Checked] = field(default_factory=list)
    whole: list[Failure] = field(default_factory=list)

    @property
    def failures(self) -> list[Failure]:
        """Everything that failed, by iteration, the log as a whole at the end."""
        return [f for one in self.iterations for f in one.failures] + self.whole

    @property
    def passed(self) -> bool:
        """Whether nothing failed."""
        return not self.failures

    @property
    def mean(self) -> float | None:
        """The mean score of the iterations that have one on enough evidence."""
        return mean_score([one.score for one in self.iterations])

    def as_dict(self) -> dict[str, Any]:
        """Return plain data."""
        return {
            "passed": self.passed,
            "gates": self.demanded,
            "mean": self.mean,
            "iterations": [one.as_dict() for one in self.iterations],
            "failures": _plain(self.whole),
        }


def demands(given: Mapping[str, Any], log: LogView) -> list[Demand]:
    """Return the demands that some options make, by key; SettingsError, or InputError for a baseline without scores."""
    found = []
    for kind in GATES:
        values = [given.get(option.key) for option in kind.options]
        if any(value is not None and value is not False for value in values):
            found.append((kind, kind.demanded(*values, log)))
    return found


def check(
    examined: Iterable[ExaminedIteration],
    made: Sequence[Demand],
    last: int | None = None,
    allow_empty: bool = False,
) -> Verdict:
    """Check iterations, in order, by what the evidence gives; ``last`` is for the verdict to say.

    Where evidence is gone the sidecar counts, with a note. A sidecar that says more fails, and so does a demand
    that finds nothing to look at, unless allowed. SettingsError where a drop has nothing to compare with.
    """
    demanded = {
        option.key: False if option.kind == "flag" else None
        for kind in GATES
        for option in kind.options
    }
    for kind, value in made:
        demanded |= zip((option.key for option in kind.options), kind.shown(value), strict=True)
    verdict = Verdict(demanded | {"last": last})
    unseen = dict(enumerate(made))
    for one in examined:
        now = one.by_evidence
        verdict.iterations.append(_checked(now, made))
        unseen = {
            n: demand for n, demand in unseen.items() if not demand[0].looks[0](demand[1], now)
        }
    scores = [one.score for one in verdict.iterations]
    for kind, value in made:
        verdict.whole += [
            Failure(kind.name, None, reason) for reason in kind.fails_whole(value, scores)
        ]
    for kind, _ in () if allow_empty else unseen.values():
        why = f"{kind.looks[1]} for --{kind.name}; --allow-empty lets that pass"
        verdict.whole.append(Failure(kind.name, None, why))
    return verdict


def _checked(one: ExaminedIteration, made: Sequence[Demand]) -> Checked:
    iteration, state, failures = one.record.iteration, one.state, []
    if state.says_more:
        failures.append(Failure(SIDECAR, iteration, f"{state.says_more}{_AGAIN.format(iteration)}"))
    failures += [
        Failure(kind.name, iteration, reason)
        for kind, value in made
        for reason in kind.fails(value, one)
    ]
    notes = [note for kind, value in made for note in kind.notes(value, one)]
    if not one.score.scored:
        notes.insert(0, "no signal is present, so there is no score to check")
    elif one.score.band == BAND_INSUFFICIENT:
        notes.insert(0, "not enough evidence, so the mean leaves its score out")
    said = state.says_more or any(str(state) in failure.reason for failure in failures)
    if state.name != "current" and not said:
        notes.append(str(state))
    return Checked(iteration, one.record.task_id, one.score, tuple(failures), tuple(notes), state)


def junit(verdict: Verdict, log: str) -> bytes:
    """Return a check as JUnit XML: a test case per iteration, and one for the log as a whole."""
    tests = str(len(verdict.iterations) + 1)
    failures = str(sum(bool(one.failures) for one in verdict.iterations) + bool(verdict.whole))
    counts = {
        "name": "da-score check",
        "tests": tests,
        "failures": failures,
        "errors": "0",
        "skipped": "0",
    }
    suite = ElementTree.Element("testsuite", counts)
    for one in verdict.iterations:
        name = f"iteration {one.iteration}" + (
            f" ({cut(one.task_id, _LONGEST)})" if one.task_id else ""
        )
        case = _case(suite, log, name, one.failures)
        if one.notes:
            ElementTree.SubElement(case, "system-out").text = _xml("\n".join(one.notes))
    _case(suite, log, "the log as a whole", verdict.whole)
    suites = ElementTree.Element("testsuites", suite.attrib)
    suites.append(suite)
    ElementTree.indent(suites)
    return bytes(ElementTree.tostring(suites, encoding="utf-8", xml_declaration=True)) + b"\n"


def _case(
    suite: ElementTree.Element, log: str, name: str, failures: Sequence[Failure]
) -> ElementTree.Element:
    case = ElementTree.SubElement(suite, "testcase", classname=_xml(log), name=_xml(name), time="0")
    if failures:
        failure = ElementTree.SubElement(
            case, "failure", message=_xml(failures[0].reason), type=failures[0].gate
        )
        failure.text = _xml("\n".join(f"{f.gate}: {f.reason}" for f in failures))
    return case


def _xml(text: str) -> str:
    """Return text that XML can hold: the rest, and what has no shape, is escaped."""
    return "\n".join(visible(as_utf8(line)) for line in text.split("\n"))


def markdown(verdict: Verdict, log: str) -> str:
    """Return a check as Markdown for a page that shows a build's summary."""
    head = (
        "passed"
        if verdict.passed
        else f"failed: {len(verdict.failures)} of the gates' demands are not met"
    )
    mean = "none" if verdict.mean is None else f"{verdict.mean:.3f}"
    count = len(verdict.iterations)
    lines = [f"## Iteration scores: {head}", ""]
    lines += [f"Log <code>{_md(log)}</code>, {counted(count, 'iteration')}, mean {mean}.", ""]
    if verdict.failures:
        lines += ["| iteration | gate | reason |", "| ---: | --- | --- |"]
        for f in verdict.failures[:_MOST_ROWS]:
            lines.append(
                f"| {'all' if f.iteration is None else f.iteration} | {f.gate} | {_md(f.reason)} |"
            )
        lines += ["", *_left_out(len(verdict.failures), "failures")]
    lines += ["<details><summary>Iterations</summary>", ""]
    lines += ["| iteration | task | score | band | |", "| ---: | --- | ---: | --- | --- |"]
    for one in verdict.iterations[-_MOST_ROWS:]:
        score = number(one.score.value, one.score.scored)
        found = "fails" if one.failures else "; ".join(one.notes)
        lines.append(
            f"| {one.iteration} | {_md(one.task_id)} | {score} | {_md(one.score.band)} | {_md(found)} |"
        )
    return "\n".join([*lines, "", *_left_out(count, "older iterations"), "</details>", ""])


def _left_out(count: int, what: str) -> list[str]:
    return [f"and {count - _MOST_ROWS} more {what}", ""] if count > _MOST_ROWS else []


def _md(text: str) -> str:
    """Return text that is nothing but text in a Markdown table: no mark, no entity, and no link of its own."""
    safe = cut(visible(as_utf8(text)), _LONGEST).replace("\\", "\\\\").replace("&", "&amp;")
    for mark in "|`*_[]<>":
        safe = safe.replace(mark, f"&#{ord(mark)};" if mark in "<>" else "\\" + mark)
    return _LINK.sub(
        lambda m: f"{m[0][:-1]}<!-- -->{m[0][-1]}" if m[0] != "@" else "<!-- -->@", safe
    )
