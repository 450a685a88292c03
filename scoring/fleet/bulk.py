"""The scorer over columns: what :meth:`rubric.Rubric.score` gives for one iteration, for a million of them at once.

The same operations in the same order, so the same bits: weights and contributions are added signal by signal, as
``combine`` adds them, and what it sums exactly is summed exactly here. Coverage depends only on which signals are
present and applicable, so that is asked of the rubric's own functions once for each such pattern.
"""

import math
from dataclasses import dataclass
from typing import Any

from rubric import BAND_INSUFFICIENT, BAND_UNSCORED, Rubric, SignalContribution
from rubric.scorer import Coverage, coverage_of
from scoring.fleet.tables import CLAIMS, SEEN, how_column, kept_column


@dataclass(slots=True)
class BulkScores:
    """The scores of some iterations, as arrays; those of signals are by signal, in the rubric's order."""

    value: Any
    scored: Any
    band: Any
    coverage: tuple[Any, Any, Any]
    bounds: tuple[Any, Any]
    present: list[Any]
    sub_score: list[Any]
    applicable: list[Any]
    effective: list[Any]
    contribution: list[Any]
    source: list[Any]
    nominal: list[float]
    observed: list[Any]
    claimed: list[Any]

    def columns(self) -> dict[str, Any]:
        """Return the columns of ``iterations`` that a rubric decides, as Arrow's arrays."""
        import pyarrow as pa

        present, total, weight = self.coverage
        return {
            "scored": pa.array(self.scored),
            "score": pa.array(self.value, mask=~self.scored),
            "band": self.band,
            "signals_present": pa.array(present),
            "signals_total": pa.array(total),
            "weight_present": pa.array(weight),
            "bounds_low": pa.array(self.bounds[0]),
            "bounds_high": pa.array(self.bounds[1]),
        }

    def signal_columns(self) -> dict[str, Any]:
        """Return the columns of ``signals`` that a rubric decides, iteration by iteration."""
        import numpy as np
        import pyarrow as pa

        def woven(arrays: list[Any]) -> Any:
            return np.stack(arrays, axis=1).reshape(-1)

        present = woven(self.present)
        said = pa.DictionaryArray.from_arrays(
            pa.array(woven(self.source), mask=woven(self.source) < 0), pa.array(["observed", "claimed"])
        )
        observed, claimed = woven(self.observed), woven(self.claimed)
        return {
            "present": pa.array(present),
            "sub_score": pa.array(woven(self.sub_score), mask=~present),
            "nominal_weight": pa.array(np.tile(np.array(self.nominal), len(self.value))),
            "effective_weight": pa.array(woven(self.effective)),
            "contribution": pa.array(woven(self.contribution)),
            "source": said,
            "applicable": pa.array(woven(self.applicable)),
            "observed": pa.array(observed, mask=np.isnan(observed)),
            "claimed": pa.array(claimed, mask=np.isnan(claimed)),
        }


_ORIGINS = {"observed": 0, "claimed": 1}

Known = dict[int, Coverage]
"""The coverage of patterns of present and applicable signals under one rubric, for several calls to share."""


def words_of(rubric: Rubric) -> list[str]:
    """Return the columns of ``kept`` that hold words, of which there are few: they are best read as dictionaries."""
    return [how_column(spec.id, way) for spec in rubric.signals for way in (CLAIMS, SEEN)]


def numbers_of(rubric: Rubric) -> list[str]:
    """Return the columns of ``kept`` that hold the sub-scores that a rubric needs, and whether work was seen."""
    return ["tool_calls_seen", *(kept_column(spec.id, way) for spec in rubric.signals for way in (CLAIMS, SEEN))]


def score_in_bulk(kept: Any, rubric: Rubric, known: Known | None = None) -> BulkScores:
    """Score the rows of ``kept``, a ``pyarrow.Table``, under a rubric."""
    import numpy as np

    way = CLAIMS if rubric.claims_vote else SEEN
    rows = kept.num_rows
    present, sub, applicable, source, observed, claimed = [], [], [], [], [], []
    caps = np.full(rows, 0, np.int8)
    names = [band.name for band in rubric.bands]
    for spec in rubric.signals:
        value, words, which = _column(kept, spec.id, way)
        there = ~np.isnan(value)
        present.append(there)
        sub.append(np.where(there, value, 0.0))
        origins = [word.partition(":")[0] for word in words]
        applicable.append(_of_each(which, [origin != "inapplicable" for origin in origins]))
        source.append(_of_each(which, [_ORIGINS.get(origin, -1) for origin in origins], np.int8))
        cap = [names.index(c) if (c := word.partition(":")[2]) in names else 0 for word in words]
        caps = np.maximum(caps, np.where(there, _of_each(which, cap, np.int8), 0))
        other = _column(kept, spec.id, SEEN if way == CLAIMS else CLAIMS)
        ways = {way: (value, words, which), SEEN if way == CLAIMS else CLAIMS: other}
        seen, (said, said_words, said_which) = ways[SEEN][0], ways[CLAIMS]
        is_claim = _of_each(said_which, [word.partition(":")[0] == "claimed" for word in said_words])
        observed.append(seen)
        claimed.append(np.where(is_claim, said, np.nan))
    weights = [spec.weight for spec in rubric.signals]
    total, value = np.zeros(rows), np.zeros(rows)
    for weight, there in zip(weights, present, strict=True):
        total = total + np.where(there, weight, 0.0)
    scored = total > 0
    effective, contribution = [], []
    for weight, there, one in zip(weights, present, sub, strict=True):
        share = np.where(there, weight / np.where(scored, total, 1.0), 0.0)
        effective.append(share)
        contribution.append(share * one)
        value = value + contribution[-1]
    coverage, index = _coverage(rubric, present, applicable, {} if known is None else known)
    weight_present = np.array([one.weight for one in coverage])[index]
    enough = np.array([rubric.suffices(one.weight) for one in coverage])[index]
    calls = kept.column("tool_calls_seen").fill_null(-1).to_numpy()
    band = _bands(rubric, value, scored, enough & ~(scored & (calls == 0)), caps)
    counts = (
        np.array([one.present for one in coverage], np.int64)[index],
        np.array([one.total for one in coverage], np.int64)[index],
        weight_present,
    )
    bounds = _bounds(weights, present, applicable, sub)
    lists = present, sub, applicable, effective, contribution, source, weights, observed, claimed
    return BulkScores(value, scored, band, counts, bounds, *lists)


def _column(kept: Any, signal: str, way: str) -> tuple[Any, list[str], Any]:
    """Return the sub-scores of a signal, not-a-number where absent, the words that say how, and whose they are."""
    import numpy as np

    value = kept.column(kept_column(signal, way)).to_numpy().astype(np.float64, copy=False)
    words = kept.column(how_column(signal, way)).combine_chunks()
    if not hasattr(words, "indices"):
        words = words.dictionary_encode()
    return value, words.dictionary.to_pylist(), words.indices.to_numpy()


def _of_each(which: Any, values: list[Any], kind: Any = bool) -> Any:
    import numpy as np

    return np.array(values or [0], kind)[which]


def _coverage(rubric: Rubric, present: list[Any], applicable: list[Any], known: Known) -> tuple[list[Coverage], Any]:
    """Return the coverage of each pattern of present and applicable signals, and which row has which."""
    import numpy as np

    pattern = np.zeros(len(present[0]), np.int64)
    for n, (there, counts) in enumerate(zip(present, applicable, strict=True)):
        pattern |= there.astype(np.int64) << 2 * n | counts.astype(np.int64) << 2 * n + 1
    patterns, index = np.unique(pattern, return_inverse=True)
    for one in patterns.tolist():
        if one not in known:
            rows = [
                SignalContribution(
                    s.id, "", bool(one >> 2 * n & 1), 0, "", s.weight, 0, 0, None, bool(one >> 2 * n & 2)
                )
                for n, s in enumerate(rubric.signals)
            ]
            known[one] = coverage_of(rows)
    return [known[one] for one in patterns.tolist()], index


def _bounds(weights: list[float], present: list[Any], applicable: list[Any], sub: list[Any]) -> tuple[Any, Any]:
    """Return the bounds of each row; sums are exact, as ``bounds_of`` has them, and zeros change none."""
    import numpy as np

    def sums(terms: list[Any]) -> Any:
        return np.fromiter(map(math.fsum, zip(*(t.tolist() for t in terms), strict=True)), float, len(present[0]))

    def by_pattern(chosen: list[Any]) -> Any:
        pattern = np.zeros(len(present[0]), np.int64)
        for n, mask in enumerate(chosen):
            pattern |= mask.astype(np.int64) << n
        patterns, index = np.unique(pattern, return_inverse=True)
        found = [math.fsum(w for n, w in enumerate(weights) if one >> n & 1) for one in patterns.tolist()]
        return np.array(found)[index]

    total = by_pattern(applicable)
    absent = by_pattern([a & ~p for a, p in zip(applicable, present, strict=True)])
    counted = [np.where(p & a, w * s, 0.0) for w, p, a, s in zip(weights, present, applicable, sub, strict=True)]
    divisor = np.where(total == 0, 1.0, total)
    low = sums(counted) / divisor
    high = np.minimum(low + absent / divisor, 1.0)
    return np.where(total == 0, 0.0, np.minimum(low, 1.0)), np.where(total == 0, 1.0, high)


def _bands(rubric: Rubric, value: Any, scored: Any, enough: Any, caps: Any) -> Any:
    """Return the band of each row, as Arrow's array of texts."""
    import numpy as np
    import pyarrow as pa

    names = [*(band.name for band in rubric.bands), BAND_UNSCORED, BAND_INSUFFICIENT]
    last = len(rubric.bands) - 1
    which = np.full(len(value), last, np.int8)
    for n in range(last, -1, -1):
        which = np.where(value >= rubric.bands[n].min, n, which)
    which = np.where(scored, np.maximum(which, caps), last + 1)
    which = np.where(enough, which, last + 2).astype(np.int32)
    return pa.DictionaryArray.from_arrays(pa.array(which), pa.array(names)).cast(pa.string())
