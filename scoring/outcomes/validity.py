"""Whether a score foretells what becomes of the work (``docs/VALIDITY.md``, "Validity").

How well is the chance that sound work has a higher figure than defective work (AUC), or Spearman's correlation;
intervals draw whole sessions. The module is long because each way to compare is here, and each outcome.
"""

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeAlias

import msgspec

from rubric import BAND_INSUFFICIENT, Rubric, Score
from scoring.errors import silent
from scoring.evidence.facts import IterationFacts
from scoring.evidence.labels import label_facts
from scoring.evidence.rewards import rewards
from scoring.evidence.rules import ATTRIBUTED, Sources
from scoring.outcomes.ledger import Unit, ledger
from scoring.outcomes.outcome import Outcome, OutcomeRules, log_outcomes
from scoring.prediction import GroupedDraws, within
from scoring.score import score_log_under
from scoring.scored import ScoredLog
from scoring.sidecars.meaning import TOO_FEW, USEFUL, WEAK
from scoring.sidecars.scores import PersistedScore
from scoring.signals.human_label import HUMAN_LABEL, label_value
from scoring.signals.values import SignalSet
from scoring.statistics import Interval

OutcomeName: TypeAlias = Literal[
    "defective", "survival", "reverted", "label", "landed", "yield", "reward"
]
OUTCOMES: tuple[OutcomeName, ...] = (
    "defective",
    "survival",
    "reverted",
    "label",
    "landed",
    "yield",
    "reward",
)
BY_DEGREES = (
    "survival",
    "label",
    "yield",
)  # no yes or no: shares of lines, and what people said, 0 to 1
BEFORE_LANDING = ("landed", "yield")  # to be foretold by what is known of the work before it lands

LEAST_LINES = 5  # added lines of code from which on an iteration counts here
LEAST_CASES, LEAST_OF_A_KIND = 30, 10

COIN, WRONG_WAY, LINES_DO = (
    "no better than a coin",
    "points the wrong way",
    "no better than counting lines",
)


@dataclass(frozen=True, slots=True)
class Case:
    """An iteration with its score ``value``, figures by name, and its outcome ``truth``: the higher the better."""

    iteration: int
    session: str
    value: float | None
    band: str
    lines_added: int
    truth: float
    signals: Mapping[str, float | None]
    observed: Mapping[str, float | None]
    task: str = ""


class Foretold(NamedTuple):
    """How well one figure foretells: of how many cases, the AUC or correlation, and its interval; None if unknown."""

    n: int
    auc: float | None
    interval: Interval | None
    rarer: int = LEAST_OF_A_KIND  # how many cases are of the rarer kind, where there are two


class BandRow(NamedTuple):
    """The cases of one band: how many, and the share of sound ones, or their mean outcome, 0 to 1."""

    band: str
    n: int
    sound: float


@dataclass(frozen=True, slots=True)
class Validity:
    """Whether a score, and each part of it, foretells an outcome; ``sufficient`` leaves out insufficient evidence."""

    outcome: OutcomeName
    rubric: str
    horizon_days: float
    positives: int | None
    score: Foretold
    verdict: str
    sufficient: Foretold
    signals: Mapping[str, Foretold]
    observed: Mapping[str, Foretold]
    baselines: Mapping[str, Foretold]
    bands: tuple[BandRow, ...]
    foretelling: tuple[str, ...] = ()

    @property
    def tried(self) -> int:
        """How many single observations were tried: those that differ, and are known of enough cases."""
        return sum(_chance_of(found) is not None for found in self.observed.values())

    @property
    def measure(self) -> str:
        """What the figures are."""
        return "spearman" if self.outcome in BY_DEGREES else "auc"

    def as_dict(self) -> dict[str, Any]:
        """Return plain data; the key ``auc`` holds the figure also where that is a correlation."""
        parts = {
            "signals": self.signals,
            "observations": self.observed,
            "baselines": self.baselines,
        }
        return {
            "outcome": self.outcome,
            "rubric": self.rubric,
            "horizon_days": self.horizon_days,
            "measure": self.measure,
            "positives": self.positives,
            **_plain(self.score),
            "verdict": self.verdict,
            "sufficient": _plain(self.sufficient),
            **{
                name: {key: _plain(value) for key, value in part.items()}
                for name, part in parts.items()
            },
            "bands": [row._asdict() for row in self.bands],
            "single": {"tried": self.tried, "foretelling": list(self.foretelling)},
        }


def _plain(found: Foretold) -> dict[str, Any]:
    return {"n": found.n, "auc": found.auc, "interval": found.interval and list(found.interval)}


_OWN = {"label": HUMAN_LABEL, **dict.fromkeys(BEFORE_LANDING, "landed")}
LANDED = {
    "landed": 1.0,
    "reverted": 1.0,
    "lost": 0.0,
}  # whether work landed, by the state of its unit


def case_of(
    facts: IterationFacts,
    signals: SignalSet,
    score: Score | PersistedScore,
    outcome: Outcome | None,
    name: OutcomeName,
    log_dir: Path | str = "",
    unit: Unit | None = None,
    reward: float | None = None,
) -> Case | None:
    """Return an iteration as a case for one outcome; None where that is unknown, or too few lines were added."""
    lines = outcome.lines_added if outcome else None
    if name in BEFORE_LANDING:
        lines = unit.written_here or facts.record.lines_added if unit else None
    if name == "reward":
        lines = facts.record.lines_added
    elif outcome is None or lines is None or lines < LEAST_LINES:
        return None
    iteration, truth = facts.record.iteration, outcome.survival if outcome else None
    if name in BEFORE_LANDING:
        truth = (
            None
            if unit is None
            else unit.landed_share
            if name == "yield"
            else LANDED.get(unit.state)
        )
    elif name == "reward":
        truth = reward
    elif name == "label":
        label = label_value(facts.labels or label_facts(Path(log_dir), iteration), iteration)
        truth = float(label.sub_score) if label.present else None
    elif name != "survival":
        truth = float(not getattr(outcome, name))
    if truth is None:
        return None
    seen = facts.observed.sessions if facts.observed else ()
    session = facts.record.agent.session_id or next(iter(seen), _alone(iteration))
    value = score.value if score.scored else None
    if own := _OWN.get(name):  # what the outcome itself adds to the score foretells nothing
        value = score.without(own)
    parts = {
        str(r.signal): float(r.sub_score) if r.present else None
        for r in score.breakdown
        if r.signal != own
    }
    seen_values = observations(facts, signals)
    task = facts.record.task_id
    return Case(iteration, session, value, score.band, lines or 0, truth, parts, seen_values, task)


def validity(
    cases: Sequence[Case], outcome: OutcomeName, rubric: str, horizon_days: float
) -> Validity:
    """Find out whether a score foretells the outcome that the truth of the cases is; those without one are left out."""
    scored = [case for case in cases if case.value is not None]
    binary = outcome not in BY_DEGREES
    draws = GroupedDraws([case.session for case in scored], [case.truth for case in scored], binary)

    def over(take: Callable[[Case], float | None]) -> Foretold:
        if outcome == "reward":  # runs of different tasks do not compare
            known = [
                (case.task, value, case.truth)
                for case in scored
                if (value := take(case)) is not None
            ]
            return (
                Foretold(len(known), *within(*zip(*known, strict=True)))
                if known
                else Foretold(0, None, None)
            )
        values = [take(case) for case in scored]
        kinds = Counter(
            case.truth == 0 for case, value in zip(scored, values, strict=True) if value is not None
        )
        return Foretold(
            *draws.measured(values), min(kinds[True], kinds[False]) if binary else LEAST_OF_A_KIND
        )

    def all_of(part: str) -> dict[str, Foretold]:
        names = dict.fromkeys(name for case in scored for name in getattr(case, part))
        return {name: over(lambda case, name=name: getattr(case, part).get(name)) for name in names}  # type: ignore[misc]

    score = over(lambda case: case.value)
    baselines = {
        "lines_added": over(lambda case: -case.lines_added),
        "constant": over(lambda _: 0.0),
    }
    positives = (
        sum(case.truth < 1 if outcome == "reward" else case.truth == 0 for case in scored)
        if binary
        else None
    )
    verdict = verdict_of(score, positives, [base.auc for base in baselines.values()], binary)
    observed = all_of("observed")
    return Validity(
        *(outcome, rubric, horizon_days, positives, score, verdict),
        sufficient=over(lambda case: None if case.band == BAND_INSUFFICIENT else case.value),
        signals=all_of("signals"),
        observed=observed,
        baselines=baselines,
        bands=_by_band(scored),
        foretelling=()
        if verdict == TOO_FEW
        else _clear_of_chance(observed, 0.5 if binary else 0.0),
    )


def _chance_of(found: Foretold, none: float = 0.5) -> float | None:
    few = found.n < LEAST_CASES or found.rarer < LEAST_OF_A_KIND
    if (
        few
        or found.auc is None
        or found.interval is None
        or found.auc == found.interval.low == none
    ):
        return None
    spread = (found.interval.high - found.interval.low) / 2 / 1.96
    return math.erfc(abs(found.auc - none) / spread / math.sqrt(2)) if spread else 0.0


def _clear_of_chance(found: Mapping[str, Foretold], none: float) -> tuple[str, ...]:
    chances = sorted(
        (p, name) for name, one in found.items() if (p := _chance_of(one, none)) is not None
    )
    clear = (n for n, (p, _) in enumerate(chances) if p * (len(chances) - n) >= 0.05)
    return tuple(name for _, name in chances[: next(clear, len(chances))])


def _by_band(cases: Sequence[Case]) -> tuple[BandRow, ...]:
    groups: dict[str, list[Case]] = {}
    for case in cases:
        groups.setdefault(case.band, []).append(case)
    means = {
        band: math.fsum(case.value or 0.0 for case in found) / len(found)
        for band, found in groups.items()
    }
    rows = ((band, groups[band]) for band in sorted(groups, key=lambda band: (-means[band], band)))
    return tuple(
        BandRow(band, len(found), math.fsum(c.truth for c in found) / len(found))
        for band, found in rows
    )


def verdict_of(
    score: Foretold, positives: int | None, baselines: Sequence[float | None], binary: bool = True
) -> str:
    """Return in words what an interval says; a correlation of 0 and an AUC of 0.5 are a coin alike."""
    few = positives is not None and min(positives, score.n - positives) < LEAST_OF_A_KIND
    if few or score.n < LEAST_CASES or score.auc is None or score.interval is None:
        return TOO_FEW
    low, high = score.interval if binary else ((end + 1) / 2 for end in score.interval)
    said = WRONG_WAY if high < 0.5 else USEFUL if low > 0.6 else WEAK if low > 0.5 else COIN
    best = max((base for base in baselines if base is not None), default=None)
    return f"{said}, {LINES_DO}" if best is not None and score.auc <= best else said


def gain_over(
    before: Sequence[Case], after: Sequence[Case], outcome: OutcomeName
) -> dict[str, Any]:
    """Return ``n``, ``gain`` and paired ``interval`` of how much better one score foretells than another."""
    if outcome == "reward":  # runs of one task compare in another way
        return {"n": 0, "gain": None, "interval": None}
    old = {case.iteration: case.value for case in before if case.value is not None}
    both = [case for case in after if case.value is not None and case.iteration in old]
    binary = outcome not in BY_DEGREES
    draws = GroupedDraws([case.session for case in both], [case.truth for case in both], binary)
    gain, interval = draws.gain(
        [old[case.iteration] for case in both], [case.value or 0.0 for case in both]
    )
    return {"n": len(both), "gain": gain, "interval": interval and list(interval)}


def log_cases(
    rubrics: Sequence[Rubric],
    log_dir: Path | str,
    sources: Mapping[str, Sources],
    rules: OutcomeRules,
    outcome: OutcomeName,
    broken: Callable[[str], object] = str,
    scored: Callable[[ScoredLog], object] = silent,
) -> list[list[Case]]:
    """Return the cases of a log for an outcome under each rubric; LogError, GitError and NotARepositoryError."""
    logs: list[ScoredLog] = score_log_under(rubrics, log_dir, sources)
    for text in dict.fromkeys(text for log in logs for text in log.broken):
        broken(text)
    for log in logs:
        scored(log)
    place = next(iter(sources.values()))
    records = [one.record for one in logs[0].iterations]
    trunk = next((of.trunk for of in sources.values() if of.trunk), None)
    became = {
        one.iteration: one
        for one in log_outcomes(records, place.repo_dir, rules, place.cache_dir, trunk)
    }
    graded = rewards(records, Path(log_dir), Path(place.repo_dir)) if outcome == "reward" else {}
    units: dict[int | None, Unit] = {}
    if outcome in BEFORE_LANDING:
        attributed = msgspec.structs.replace([*sources.values()][-1], rules=ATTRIBUTED)
        units = {
            unit.iteration: unit for unit in ledger(records, Path(log_dir), attributed, rules).units
        }
    found: list[list[Case]] = []
    sessions: dict[int, str] = {}
    for log in logs:
        made = []
        for one in log.iterations:
            n, known = one.record.iteration, (one.facts, one.signals, one.score)
            made.append(
                case_of(*known, became.get(n), outcome, log_dir, units.get(n), graded.get(n))
            )
        found.append([case for case in made if case])
        for case in found[-1]:
            if case.session != _alone(case.iteration):
                sessions.setdefault(case.iteration, case.session)
    # Rules that give iterations no lines of their own do not know their session; others may.
    return [
        [replace(case, session=sessions.get(case.iteration, case.session)) for case in cases]
        for cases in found
    ]


def _alone(iteration: int) -> str:
    return f"iteration {iteration}"


def observations(facts: IterationFacts, signals: SignalSet) -> dict[str, float | None]:
    """Return what was observed of an iteration as numbers, beside its signals; None where nothing was."""
    seen = facts.observed if facts.observed and facts.observed.method else None
    used = seen if seen and seen.tool_calls else None
    tests, shown = used.tests if used else None, facts.transcripts
    turns = shown if shown and shown.turns else None
    found: dict[str, float | None] = {
        **_figures(seen, "tool_calls"),
        **_figures(
            tests, test_runs="runs", failed_test_runs="failed", last_tests_passed="last_passed"
        ),
        **_figures(tests if tests and tests.runs else None, edited_after_tests="edited_after"),
        **_figures(
            seen and seen.corrections, "interrupts", "rejections", "corrections", "resets", "words"
        ),
        **_figures(
            used and used.work, edits="edits", files_edited="files", most_edits_of_a_file="most"
        ),
        **_figures(used and used.work, sub_agents="agents", context_compactions="compactions"),
        "sessions": len(seen.sessions) if seen else None,
        "checkpoints": len(seen.checkpoints) if seen else None,
        **_figures(
            turns, "turns", "input_tokens", "output_tokens", "cache_reads", "cache_creations"
        ),
        **_figures(turns, calls_with_verdict="tool_calls"),
        **_figures(shown if shown and shown.tool_calls else None, "tool_errors"),
        **_figures(shown, "tool_error_rate"),
        **_figures(turns, "cache_hit_rate"),
        "files_changed": len(facts.changed.files) or None if not facts.changed.unknown else None,
    }
    for name in ("ran_cli_command", "committed_after_tests", "read_loop_state"):
        value = getattr(signals.objective, name)
        found[name] = float(value.sub_score) if value and value.present else None
    return found


def _figures(source: object, *same: str, **names: str) -> dict[str, float | None]:
    found = {
        key: getattr(source, name, None)
        for key, name in (dict(zip(same, same, strict=True)) | names).items()
    }
    return {key: float(value) if isinstance(value, bool) else value for key, value in found.items()}
