"""What a rubric is, and what it scores.

A rubric never changes in place: two scores compare when, and only when, the versions that they
name do.
"""

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import NewType

from .breakdown import (
    BAND_INSUFFICIENT,
    BAND_UNSCORED,
    TOLERANCE,
    Score,
    SignalContribution,
    SignalReading,
    SignalReadings,
    coverage_of,
)
from .datafiles import RubricError, profile_names

SignalID = NewType("SignalID", str)
"""Names one signal, such as ``landed``."""

CombinationMethod = NewType("CombinationMethod", str)
"""Names how sub-scores become one value."""

COMBINE_WEIGHTED_MEAN_RENORMALIZED = CombinationMethod("weighted_mean_renormalized")
"""The only method: the weighted mean over the signals that are present."""

EVIDENCE_REFERENCE = "reference"
EVIDENCE_ATTRIBUTED = "attributed"
EVIDENCE = (EVIDENCE_REFERENCE, EVIDENCE_ATTRIBUTED)
"""The rules under which evidence is found and read."""

STRICT = "strict"
LENIENT = "lenient"
LOADING = (STRICT, LENIENT)
"""Whether one broken entry stops the load (strict), or the others are scored without it."""

REFERENCE_TEXT = "reference"
FULL_TEXT = "full"
TEXT = (REFERENCE_TEXT, FULL_TEXT)
"""What a pipe has: what the reference prints, or the text of a terminal."""

REFERENCE_SIDECAR = "reference"
BOUNDS_SIDECAR = "bounds"
SIDECAR = (REFERENCE_SIDECAR, BOUNDS_SIDECAR)
"""What sidecars hold: what the reference writes, or also bounds and coverage."""

REFERENCE_FLAGS = "reference"
ALL_FLAGS = "all"
TEST_FLAGS = (REFERENCE_FLAGS, ALL_FLAGS)
"""Which test flags are read: those of the reference, or also ``impl.tests_total_pass`` of schema 2.
"""

WEIGHT_TOLERANCE = 1e-9
"""How far the sum of a rubric's weights may be from 1."""


@dataclass(frozen=True, slots=True)
class SignalSpec:
    """One signal of a rubric.

    Attributes:
        id: the id of the signal.
        label: its name for people.
        weight: its weight, above 0; the weights of a rubric sum to 1.
        description: the question that the signal answers; "" without one.
        two_way: whether agents also report it themselves, so that claims can be compared.
        profile: the released profile of its meter; "" without a meter, and for the first profile.
    """

    id: SignalID
    label: str = ""
    weight: float = 0.0
    description: str = ""
    two_way: bool = False
    profile: str = ""


@dataclass(frozen=True, slots=True)
class ScoreBand:
    """A name for some values.

    Attributes:
        name: the name.
        min: the lowest value of the band, from 0 to 1, which belongs to it. The ``min`` of the
            next better band does not.
    """

    name: str
    min: float


@dataclass(frozen=True, slots=True)
class Rubric:
    """A versioned rubric.

    Attributes:
        version: its number.
        combination: how sub-scores become one value.
        signals: in the order in which they vote.
        bands: from best to worst.
        evidence: one of :data:`EVIDENCE`.
        claims_vote: whether what an agent says of its own work can vote.
        minimum_coverage: the share of the weight, 0 to 1, below which a score has no band.
        loading: one of :data:`LOADING`.
        text: one of :data:`TEXT`.
        sidecar: one of :data:`SIDECAR`.
        test_flags: one of :data:`TEST_FLAGS`.
    """

    version: str
    combination: CombinationMethod
    signals: tuple[SignalSpec, ...]
    bands: tuple[ScoreBand, ...]
    evidence: str = EVIDENCE_REFERENCE
    claims_vote: bool = True
    minimum_coverage: float = 0.0
    loading: str = STRICT
    text: str = REFERENCE_TEXT
    sidecar: str = REFERENCE_SIDECAR
    test_flags: str = REFERENCE_FLAGS

    def validate(self) -> None:
        """Check the rubric.

        Raises:
            RubricError: names the first invariant that does not hold.
        """
        for problem in self.problems():
            raise RubricError(f"rubric {self.version or '(no version)'}: {problem}")

    def problems(self) -> Iterator[str]:
        """Yield what is wrong with this rubric, in words. A valid one yields nothing."""
        if not self.version:
            yield "version is empty"
        yield from self._choice_problems()
        if not 0 <= self.minimum_coverage <= 1:
            yield (
                f"minimum_coverage is {self.minimum_coverage};"
                " it is a share of the weight, from 0 to 1"
            )
        yield from self._signal_problems()
        yield from self._band_problems()

    def _choice_problems(self) -> Iterator[str]:
        """Yield what is wrong with the fields that take one of a few values."""
        method = COMBINE_WEIGHTED_MEAN_RENORMALIZED
        if not self.combination:
            yield "combination method is empty"
        elif self.combination != method:
            yield f"combination method {self.combination!r} is unknown; known: {method}"

        choices = {
            "evidence": EVIDENCE,
            "loading": LOADING,
            "text": TEXT,
            "sidecar": SIDECAR,
            "test_flags": TEST_FLAGS,
        }
        for name, known in choices.items():
            value = getattr(self, name)
            if (name, value) == ("evidence", "corrected"):
                yield f"evidence 'corrected' was removed; use {EVIDENCE_ATTRIBUTED!r}"
            elif value not in known:
                yield f"{name} {value!r} is unknown; known: {', '.join(known)}"

    def _signal_problems(self) -> Iterator[str]:
        """Yield what is wrong with the signals: their ids, weights and profiles."""
        if not self.signals:
            yield "there are no signals"
            return

        ids = set()
        total = 0.0
        for spec in self.signals:
            if not spec.id:
                yield "a signal has no id"
            if spec.id in ids:
                yield f"signal {spec.id!r} is listed twice"
            if not (spec.weight > 0 and math.isfinite(spec.weight)):
                yield f"signal {spec.id!r} has weight {spec.weight}; weights are above 0"
            if spec.profile and spec.profile not in profile_names():
                released = ", ".join(profile_names())
                yield f"signal {spec.id!r} names the profile {spec.profile!r}; released: {released}"

            ids.add(spec.id)
            total += spec.weight

        # Written so that a sum that is not a number is a problem too.
        if not abs(total - 1.0) <= WEIGHT_TOLERANCE:
            yield f"weights sum to {total}; they must sum to 1"

    def _band_problems(self) -> Iterator[str]:
        """Yield what is wrong with the bands, which have names and go down to 0."""
        if not self.bands:
            yield "there are no bands"
            return

        for band in self.bands:
            if not band.name:
                yield f"the band from {band.min} has no name"
        for upper, lower in zip(self.bands, self.bands[1:], strict=False):
            if not lower.min < upper.min:
                below = f"band {lower.name!r} ({lower.min})"
                yield f"{below} does not lie below {upper.name!r} ({upper.min})"
        if self.bands[-1].min != 0:
            yield f"the lowest band starts at {self.bands[-1].min}; it must start at 0"

    def band(self, value: float) -> str:
        """Return the name of the band of ``value``.

        Values outside 0 to 1 take the nearest band. "" where the rubric has no bands.
        """
        for band in self.bands:
            if value >= band.min:
                return band.name
        return self.bands[-1].name if self.bands else ""

    def signal(self, signal_id: str) -> SignalSpec | None:
        """Return the spec of ``signal_id``, or None when this rubric does not have it."""
        for spec in self.signals:
            if spec.id == signal_id:
                return spec
        return None

    def two_way_signals(self) -> tuple[SignalSpec, ...]:
        """Return the signals that have a self-reported side, in the order of the rubric."""
        return tuple(spec for spec in self.signals if spec.two_way)

    def score(self, readings: SignalReadings) -> Score:
        """Combine one iteration's signals into its score.

        With no signal present the value is 0 and ``scored`` is False. The band is the first of
        these:

        - ``insufficient``: the coverage is below ``minimum_coverage``; or a signal is present,
          and it is known that none of the iteration's own tool calls was seen.
        - ``unscored``: no signal is present.
        - The band of the value, or a worse one to which a row caps it.
        """
        # One by one, as the reference adds them: sum() rounds otherwise.
        total = 0.0
        for spec in self.signals:
            if readings.value(spec.id).present:
                total += spec.weight

        value = 0.0
        rows = []
        for spec in self.signals:
            row = _row(spec, total, readings.value(spec.id))
            value += row.contribution
            rows.append(row)

        saw_no_call = getattr(readings, "tool_calls", None) == 0
        if (total and saw_no_call) or not self.suffices(coverage_of(rows).weight):
            band = BAND_INSUFFICIENT
        elif not total:
            band = BAND_UNSCORED
        else:
            band = self._capped(self.band(value), rows)

        return Score(
            iteration=readings.iteration,
            rubric_version=self.version,
            value=value,
            scored=total > 0,
            band=band,
            breakdown=tuple(rows),
            sidecar=self.sidecar,
        )

    def suffices(self, weight: float) -> bool:
        """Return whether a share of the weight, 0 to 1, is enough for a band."""
        return weight >= self.minimum_coverage - TOLERANCE

    def _capped(self, band: str, rows: Iterable[SignalContribution]) -> str:
        """Return the worst of a band and the caps of rows that name a band of this rubric."""
        names = [known.name for known in self.bands]
        worst = names.index(band)
        for row in rows:
            if row.cap in names:
                worst = max(worst, names.index(row.cap))
        return names[worst]

    def score_all(self, sets: Iterable[SignalReadings]) -> list[Score]:
        """Score many iterations, in order."""
        return list(map(self.score, sets))


def _row(spec: SignalSpec, total: float, reading: SignalReading) -> SignalContribution:
    """Return the row of one signal.

    Args:
        spec: the signal in the rubric.
        total: the sum of the weights of all signals that are present.
        reading: what the signal says of the iteration.
    """
    sub_score = 0.0
    effective = 0.0
    # fields that a reading may lack: those of an absent signal
    optional = ["applicable"]
    if reading.present:
        sub_score = reading.sub_score
        effective = spec.weight / total
        optional = ["source", "cap", "fact"]  # those of a present one

    return SignalContribution(
        signal=spec.id,
        label=spec.label,
        present=reading.present,
        sub_score=sub_score,
        detail=reading.detail,
        nominal_weight=spec.weight,
        effective_weight=effective,
        contribution=effective * sub_score,
        **{name: getattr(reading, name) for name in optional if hasattr(reading, name)},
    )
