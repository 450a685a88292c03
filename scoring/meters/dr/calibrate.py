"""How often the meter says what people expected, under several settings, and where it does not.

The agreement of a few transcripts is a few transcripts' worth: each share comes with its Wilson interval, which is
honest for small numbers and for shares near 1, where the usual interval is not.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import sqrt
from statistics import NormalDist
from typing import Any

from scoring.meters.dr.labels import SIGNALS, Collection, Label, Labelled
from scoring.meters.dr.meter import Embed, score_transcript
from scoring.meters.dr.recommendation import Signal
from scoring.meters.dr.thresholds import DEFAULT, Thresholds, rounded
from scoring.meters.dr.words import BUILT_IN, Words

CONFIDENCE = 0.95
"""How sure an interval is to hold the true share."""


@dataclass(frozen=True, slots=True)
class Setting:
    """How the meter is set: ``k``, and whether level L2 counts."""

    k: int
    semantic: bool

    def __str__(self) -> str:
        return f"k = {self.k}, {'+'.join(self.levels)}"

    @property
    def levels(self) -> tuple[str, ...]:
        """The active levels."""
        return ("L0", "L1", "L2") if self.semantic else ("L0", "L1")


@dataclass(frozen=True, slots=True)
class Outcome:
    """What the meter says of one labelled transcript."""

    file: str
    expected: Label
    found: Label
    rule: str
    """The name of the rule that decided."""
    why: str
    """What the rule saw, in words."""

    @property
    def agrees(self) -> bool:
        """Whether the signal is the expected one."""
        return self.found.signal == self.expected.signal

    @property
    def other_classes(self) -> tuple[str, ...]:
        """The classes that differ from the label, in words."""
        pairs = (
            ("novelty", self.expected.novelty, self.found.novelty),
            ("readiness", self.expected.readiness, self.found.readiness),
        )
        return tuple(f"{name} {wanted}, found {found}" for name, wanted, found in pairs if wanted not in (None, found))


@dataclass(frozen=True, slots=True)
class Agreement:
    """How many of some answers are the expected ones."""

    agreed: int
    total: int

    @property
    def share(self) -> float | None:
        """The share, 0 to 1; None when there is nothing to compare."""
        return self.agreed / self.total if self.total else None

    @property
    def interval(self) -> tuple[float, float]:
        """Where the true share lies with 95 % confidence, as far as so few can tell (Wilson)."""
        return wilson(self.agreed, self.total)


@dataclass(frozen=True, slots=True)
class Calibration:
    """What the meter says of every labelled transcript under one setting."""

    setting: Setting
    outcomes: tuple[Outcome, ...]

    @property
    def agreement(self) -> Agreement:
        """On the signal."""
        return Agreement(sum(o.agrees for o in self.outcomes), len(self.outcomes))

    def agreement_on(self, name: str) -> Agreement:
        """Return the agreement on a class, ``novelty`` or ``readiness``, over the labels that name one."""
        pairs = [(getattr(o.expected, name), getattr(o.found, name)) for o in self.outcomes]
        named = [wanted == found for wanted, found in pairs if wanted is not None]
        return Agreement(sum(named), len(named))

    @property
    def disagreements(self) -> tuple[Outcome, ...]:
        """Those with another signal than expected."""
        return tuple(o for o in self.outcomes if not o.agrees)

    def confusion(self) -> dict[Signal, dict[Signal, int]]:
        """Return how often each signal was found, by the signal that was expected."""
        counts = {wanted: dict.fromkeys(SIGNALS, 0) for wanted in SIGNALS}
        for o in self.outcomes:
            counts[o.expected.signal][o.found.signal] += 1
        return counts


def calibrate(
    labelled: Sequence[Labelled],
    settings: Iterable[Setting],
    embed: Embed | None = None,
    words: Words = BUILT_IN,
    thresholds: Thresholds = DEFAULT,
) -> tuple[Calibration, ...]:
    """Score every transcript under every setting, and hold each result against its label.

    Raises:
        ValueError: a setting asks for level L2 and there is no ``embed``.
    """
    found = []
    for setting in settings:
        if setting.semantic and embed is None:
            raise ValueError("a setting with level L2 needs an embedder")
        outcomes = (_outcome(item, setting, embed, words, thresholds) for item in labelled)
        found.append(Calibration(setting, tuple(outcomes)))
    return tuple(found)


def _outcome(item: Labelled, setting: Setting, embed: Embed | None, words: Words, thresholds: Thresholds) -> Outcome:
    result = score_transcript(
        item.transcript,
        k=setting.k,
        embed=embed if setting.semantic else None,
        words=words,
        thresholds=thresholds,
    )
    decided = result.recommendations[-1]
    on_novelty, on_readiness, what_follows = decided.reasons
    seen = {"novelty_not_low": on_novelty, "readiness_low": on_readiness}
    return Outcome(
        file=item.file,
        expected=item.label,
        found=Label(result.signal, result.novelty_classification, result.readiness_classification),
        rule=decided.rule,
        why=seen.get(decided.rule, what_follows),
    )


def wilson(agreed: int, total: int, confidence: float = CONFIDENCE) -> tuple[float, float]:
    """Return the Wilson score interval of a share, (0, 1) when there is nothing to go by."""
    if total == 0:
        return 0.0, 1.0
    z = NormalDist().inv_cdf((1 + confidence) / 2)
    share, spread = agreed / total, z * z / total
    centre = (share + spread / 2) / (1 + spread)
    half = z / (1 + spread) * sqrt(share * (1 - share) / total + spread / (4 * total))
    return max(0.0, centre - half), min(1.0, centre + half)


def payload(collection: Collection, calibrations: Iterable[Calibration], left_out: str = "") -> dict[str, object]:
    """Return everything as JSON; ``left_out`` says why level L2 was not measured."""
    return {
        "labelled": [item.file for item in collection.labelled],
        "unlabelled": list(collection.unlabelled),
        "broken": [{"file": file, "reason": why} for file, why in collection.broken],
        "others": list(collection.others),
        "semantic_left_out": left_out or None,
        "settings": [_calibration(c) for c in calibrations],
    }


def _calibration(c: Calibration) -> dict[str, object]:
    return {
        "k": c.setting.k,
        "levels": list(c.setting.levels),
        "agreement": _agreement(c.agreement),
        "novelty_agreement": _agreement(c.agreement_on("novelty")),
        "readiness_agreement": _agreement(c.agreement_on("readiness")),
        "confusion": c.confusion(),
        "files": [
            {
                "file": o.file,
                "agrees": o.agrees,
                "expected": _label(o.expected),
                "found": _label(o.found),
                "rule": o.rule,
                "why": o.why,
            }
            for o in c.outcomes
        ],
    }


def _agreement(a: Agreement) -> dict[str, object]:
    share = None if a.share is None else rounded(a.share)
    return {"agreed": a.agreed, "of": a.total, "share": share, "interval_95": [rounded(end) for end in a.interval]}


def _label(label: Label) -> dict[str, Any]:
    return {"signal": label.signal, "novelty": label.novelty, "readiness": label.readiness}
