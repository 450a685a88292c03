"""The rubric package: what makes a rubric valid, how it scores, and how its files are read."""

import hashlib
import json
import math
import shutil
import sys
from collections.abc import Mapping
from dataclasses import MISSING, dataclass, field, fields, is_dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from helpers.tables import cases
from hypothesis import given, settings
from hypothesis import strategies as st

from rubric import (
    BAND_INSUFFICIENT,
    BAND_UNSCORED,
    COMBINE_WEIGHTED_MEAN_RENORMALIZED,
    RUBRIC_VERSION,
    CombinationMethod,
    Coverage,
    Rubric,
    RubricError,
    Score,
    ScoreBand,
    SignalID,
    SignalSpec,
    coverage_of,
    default_rubric,
    find_rubric,
    load_rubric,
    parse_rubric,
    profile_names,
    registry,
    released_profile,
    released_rubric,
    rubric_versions,
)
from rubric.datafiles import PROFILES_DIR, as_json, read_data, read_released

RELEASED_DIGESTS = {
    "2.0.2": "61bc91f8d7b6e26dc65568929b019a089d6bbc58bdf2b43f6a3c18b97c401ad7",
    "2.1.0": "ca7e8152a5f6d36031b31a535163e4a91ccccc9eddf02f3be153d6cf52daff42",
    "2.2.0": "3108d003916db7d1b1770a4b9d1ffb9763ae45f6058604eca9dd157969fe98b8",
    "2.3.0": "156c96d9868c06293dcbe937075a37cdf0ef9eeb2917beb80ad20d2cea198886",
    "3.0.0": "7cd4887ce10a5a7ed67fb574d2b73135ea9e937512f7d62e7aefd1e13968d8e7",
    "3.1.0": "7e4160f44bd48d724a960e0d55c12aef666d004706f02b1be0a00161e250a570",
}
"""Never edit a line: a rubric that has been released does not change. A new version is a new line."""

PROFILES_NAMED_LATER = {"2.2.0": {"diminishing_returns": "dr-1"}, "2.3.0": {"diminishing_returns": "dr-1"}}
"""Never add a line. These were released while what their meter goes by was written in the code; the profile says the
same in data. So their digests are those of the data without it, and the name of the profile is pinned here instead."""

PROFILE_DIGESTS = {"dr-1": "bb58d9aad4bb95675c9b0a6876c06841d3334818354882fab210366ca7157f9b"}
"""Never edit a line: a profile that a released rubric names does not change. A new profile is a new line."""


@dataclass(frozen=True)
class Reading:
    """A signal's value, as the scorer sees it."""

    present: bool
    sub_score: float = 0.0
    detail: str = ""


@dataclass(frozen=True)
class Readings:
    """One iteration's signals; those that are not given are absent."""

    given: Mapping[str, Reading] = field(default_factory=dict)
    iteration: int = 1

    def value(self, signal_id: str) -> Reading:
        return self.given.get(signal_id, Reading(False, detail="nothing known"))


def present(**sub_scores: float) -> Readings:
    return Readings({name: Reading(True, sub_score) for name, sub_score in sub_scores.items()})


def signal(name: str, weight: float, *, two_way: bool = False) -> SignalSpec:
    return SignalSpec(SignalID(name), name.title(), weight, f"About {name}.", two_way)


Changes = dict[str, Any]

VALID = Rubric(
    version="1.0.0",
    combination=COMBINE_WEIGHTED_MEAN_RENORMALIZED,
    signals=(signal("a", 0.5, two_way=True), signal("b", 0.25), signal("c", 0.25, two_way=True)),
    bands=(ScoreBand("good", 0.5), ScoreBand("bad", 0.0)),
)


def weights(*given: float) -> Changes:
    return {"signals": tuple(signal(name, weight) for name, weight in zip("abcdef", given, strict=False))}


def bands(**minima: float) -> Changes:
    return {"bands": tuple(ScoreBand(name, low) for name, low in minima.items())}


def first(**changes: Any) -> Changes:
    """Return the signals of the valid rubric with changes to the first one."""
    return {"signals": (replace(VALID.signals[0], **changes), *VALID.signals[1:])}


def weighing(*given: float) -> Rubric:
    return replace(VALID, **weights(*given))


# Validity: one row per invariant. The change on the left breaks it, the one on the right just does not.

INVARIANTS = [
    pytest.param({"version": ""}, "version is empty", {"version": "0"}, id="a version is needed"),
    pytest.param({"combination": ""}, "combination method is empty", {}, id="a method is needed"),
    pytest.param(
        {"combination": "median"},
        "combination method 'median' is unknown; known: weighted_mean_renormalized",
        {"combination": "weighted_mean_renormalized"},
        id="the method must be a known one",
    ),
    pytest.param({"signals": ()}, "there are no signals", weights(1.0), id="one signal is needed and enough"),
    pytest.param(first(id=""), "a signal has no id", first(id=" "), id="a signal needs an id"),
    pytest.param(first(id="b"), "signal 'b' is listed twice", first(id="B"), id="ids are unique, with regard to case"),
    pytest.param(
        weights(1.0, 0.0),
        "signal 'b' has weight 0.0; weights are above 0",
        weights(1.0, 5e-324),
        id="a weight of 0 is too small, the smallest number is not",
    ),
    pytest.param(
        weights(1.25, -0.25),
        "signal 'b' has weight -0.25; weights are above 0",
        weights(0.75, 0.25),
        id="a weight is not negative",
    ),
    pytest.param(
        weights(0.5, 0.5 + 1.1e-9),
        f"weights sum to {0.5 + (0.5 + 1.1e-9)}; they must sum to 1",
        weights(0.5, 0.5 + 0.9e-9),
        id="weights may sum to a billionth more than 1",
    ),
    pytest.param(
        weights(0.5, 0.5 - 1.1e-9),
        f"weights sum to {0.5 + (0.5 - 1.1e-9)}; they must sum to 1",
        weights(0.5, 0.5 - 0.9e-9),
        id="weights may sum to a billionth less than 1",
    ),
    pytest.param(
        first(profile="dr"),
        f"signal 'a' names the profile 'dr'; released: {', '.join(profile_names())}",
        first(profile="dr-1"),
        id="a profile must be a released one",
    ),
    pytest.param({"bands": ()}, "there are no bands", bands(any=0.0), id="one band is needed and enough"),
    pytest.param(
        bands(good=0.5, **{"": 0.0}),
        "the band from 0.0 has no name",
        bands(good=0.5, **{" ": 0.0}),
        id="a band needs a name",
    ),
    pytest.param(
        bands(good=0.5, fair=0.5, bad=0.0),
        "band 'fair' (0.5) does not lie below 'good' (0.5)",
        bands(good=0.5, fair=math.nextafter(0.5, 0.0), bad=0.0),
        id="bands do not start together",
    ),
    pytest.param(
        bands(fair=0.5, good=0.75, bad=0.0),
        "band 'good' (0.75) does not lie below 'fair' (0.5)",
        bands(good=0.75, fair=0.5, bad=0.0),
        id="bands go from best to worst",
    ),
    pytest.param(
        bands(good=0.5, bad=5e-324),
        "the lowest band starts at 5e-324; it must start at 0",
        bands(good=5e-324, bad=0.0),
        id="the lowest band starts at 0",
    ),
    pytest.param(
        bands(good=0.5, bad=-0.25),
        "the lowest band starts at -0.25; it must start at 0",
        bands(good=0.5, bad=-0.0),
        id="no band starts below 0",
    ),
]


@pytest.mark.parametrize(("broken", "problem", "sound"), INVARIANTS)
def test_a_broken_invariant_is_named_and_nothing_else_is(broken: Changes, problem: str, sound: Changes) -> None:
    rubric = replace(VALID, **broken)
    assert list(rubric.problems()) == [problem]
    with pytest.raises(RubricError) as caught:
        rubric.validate()
    assert str(caught.value) == f"rubric {rubric.version or '(no version)'}: {problem}"
    replace(VALID, **sound).validate()


@pytest.mark.parametrize(
    ("changes", "problems"),
    [
        *(
            (
                weights(0.5, weight),
                [
                    f"signal 'b' has weight {weight}; weights are above 0",
                    f"weights sum to {weight}; they must sum to 1",
                ],
            )
            for weight in (math.nan, math.inf, -math.inf)
        ),
        (bands(good=math.nan, bad=0.0), ["band 'bad' (0.0) does not lie below 'good' (nan)"]),
        (bands(bad=math.nan), ["the lowest band starts at nan; it must start at 0"]),
    ],
)
def test_a_number_that_is_not_finite_is_refused(changes: Changes, problems: list[str]) -> None:
    assert list(replace(VALID, **changes).problems()) == problems


def test_all_problems_are_listed_in_reading_order_and_the_first_is_raised() -> None:
    broken = Rubric("", CombinationMethod(""), (), ())
    assert list(broken.problems()) == [
        "version is empty",
        "combination method is empty",
        "there are no signals",
        "there are no bands",
    ]
    with pytest.raises(RubricError, match=r"^rubric \(no version\): version is empty$"):
        broken.validate()


# Bands


@pytest.mark.parametrize("version", rubric_versions())
@pytest.mark.parametrize(
    ("value", "band"),
    [
        pytest.param(1.0, "excellent", id="the best value"),
        pytest.param(0.85, "excellent", id="the edge belongs to the upper band: 0.85"),
        pytest.param(math.nextafter(0.85, 0), "good", id="a hair below 0.85"),
        pytest.param(0.70, "good", id="the edge belongs to the upper band: 0.70"),
        pytest.param(math.nextafter(0.70, 0), "fair", id="a hair below 0.70"),
        pytest.param(0.50, "fair", id="the edge belongs to the upper band: 0.50"),
        pytest.param(math.nextafter(0.50, 0), "poor", id="a hair below 0.50"),
        pytest.param(0.0, "poor", id="the worst value"),
        pytest.param(-0.0, "poor", id="minus zero is zero"),
        pytest.param(math.nextafter(1.0, 2), "excellent", id="a hair above 1"),
        pytest.param(7.0, "excellent", id="far above 1"),
        pytest.param(math.inf, "excellent", id="infinity"),
        pytest.param(-0.5, "poor", id="below 0"),
        pytest.param(-math.inf, "poor", id="minus infinity"),
        pytest.param(math.nan, "poor", id="not a number"),
    ],
)
def test_a_value_is_named_by_the_band_it_lies_in_or_the_nearest(version: str, value: float, band: str) -> None:
    assert released_rubric(version).band(value) == band


# Looking signals up


@pytest.mark.parametrize(("name", "found"), [("b", 1), ("", None), ("B", None), ("b ", None), ("d", None)])
def test_a_signal_is_found_by_its_exact_id(name: str, found: int | None) -> None:
    assert VALID.signal(name) == (None if found is None else VALID.signals[found])


def test_two_way_signals_come_in_rubric_order_and_one_way_signals_do_not_come() -> None:
    assert [spec.id for spec in VALID.two_way_signals()] == ["a", "c"]
    assert weighing(0.5, 0.5).two_way_signals() == ()


# Scores


def breakdown(score: Score) -> dict[str, tuple[float, float, float]]:
    return {row.signal: (row.sub_score, row.effective_weight, row.contribution) for row in score.breakdown}


def test_the_weights_of_absent_signals_go_to_the_present_ones() -> None:
    """The digits are those of the reference."""
    score = default_rubric().score(
        present(landed=1.0, verifier=0.75, tests=0.5, correction_pressure=0.5, scope=1.0, token_efficiency=0.9)
    )
    assert breakdown(score) == {
        "landed": (1.0, 0.22222222222222224, 0.22222222222222224),
        "verifier": (0.75, 0.19999999999999998, 0.15),
        "tests": (0.5, 0.18888888888888888, 0.09444444444444444),
        "correction_pressure": (0.5, 0.14444444444444446, 0.07222222222222223),
        "scope": (1.0, 0.14444444444444446, 0.14444444444444446),
        "hook_outcomes": (0.0, 0.0, 0.0),
        "token_efficiency": (0.9, 0.09999999999999999, 0.09),
    }
    assert (score.value, score.scored, score.band) == (0.7733333333333333, True, "good")


def test_effective_weights_are_rounded_before_they_are_multiplied_and_nothing_is_clamped() -> None:
    """The reference's last digit: dividing once at the end would give exactly 1."""
    ones = dict.fromkeys(("landed", "verifier", "tests", "correction_pressure", "scope", "token_efficiency"), 1.0)
    score = default_rubric().score(present(**ones))
    assert score.value == 1.0000000000000002
    assert score.band == "excellent"


def test_sums_run_in_rubric_order() -> None:
    forward = weighing(0.1, 0.2, 0.3, 0.4)
    backward = replace(forward, signals=forward.signals[::-1])
    readings = present(a=1.0, b=1.0, c=1.0)
    assert forward.score(readings).value == 0.9999999999999999
    assert backward.score(readings).value == 1.0


def test_an_absent_signal_keeps_its_row_and_its_reason_and_nothing_else() -> None:
    score = VALID.score(Readings({"a": Reading(True, 0.5, "seen"), "b": Reading(False, 0.75, "not seen")}))
    a, b, c = score.breakdown
    assert (a.present, a.detail, a.effective_weight, a.contribution) == (True, "seen", 1.0, 0.5)
    assert (b.signal, b.label, b.present, b.detail, b.nominal_weight) == ("b", "B", False, "not seen", 0.25)
    assert (b.sub_score, b.effective_weight, b.contribution) == (0.0, 0.0, 0.0)
    assert (c.present, c.detail) == (False, "nothing known")


def test_absent_is_not_zero() -> None:
    assert VALID.score(present(a=0.5)).value == 0.5
    assert VALID.score(present(a=0.5, b=0.0, c=0.0)).value == 0.25
    zero = VALID.score(present(c=0.0))
    assert (zero.value, zero.scored, zero.band) == (0.0, True, "bad")


def test_an_iteration_without_any_signal_is_unscored_and_still_has_every_row() -> None:
    score = VALID.score(Readings(iteration=7))
    assert (score.iteration, score.rubric_version) == (7, "1.0.0")
    assert (score.value, score.scored, score.band) == (0.0, False, BAND_UNSCORED)
    assert [(row.signal, row.present, row.detail) for row in score.breakdown] == [
        (name, False, "nothing known") for name in "abc"
    ]


def test_a_reading_the_rubric_does_not_ask_for_has_no_vote() -> None:
    assert VALID.score(present(a=0.5, other=1.0)) == VALID.score(present(a=0.5))


def test_many_iterations_are_scored_in_the_order_they_come() -> None:
    readings = [Readings(iteration=n) for n in (3, 1, 2, 1)]
    assert VALID.score_all(readings) == [VALID.score(one) for one in readings]


sub_scores = st.floats(0, 1) | st.sampled_from([-0.0, 0.0, 1.0, 5e-324])


@st.composite
def rubrics_and_sub_scores(draw: st.DrawFn) -> tuple[Rubric, dict[str, float]]:
    rubric = released_rubric(draw(st.sampled_from(rubric_versions())))
    given_ids = draw(st.sets(st.sampled_from([str(spec.id) for spec in rubric.signals])))
    return rubric, {name: draw(sub_scores) for name in sorted(given_ids)}


ROUNDING = 1e-15
"""What the roundings of one score can add up to; the contract clamps nothing."""


@settings(derandomize=True, deadline=None)
@given(rubrics_and_sub_scores())
def test_any_score_is_the_mean_of_what_is_present(drawn: tuple[Rubric, dict[str, float]]) -> None:
    rubric, given_scores = drawn
    score = rubric.score(present(**given_scores))
    assert score.scored is bool(given_scores)
    assert 0.0 <= score.value <= 1.0 + ROUNDING  # which NaN is not
    assert math.copysign(1.0, score.value) == 1.0
    total = 0.0
    for row in score.breakdown:
        total += row.contribution
    assert score.value == total
    voted = [
        (Fraction(spec.weight), Fraction(given_scores[spec.id])) for spec in rubric.signals if spec.id in given_scores
    ]
    if voted:
        exact = sum(w * s for w, s in voted) / sum(w for w, _ in voted)
        assert abs(score.value - exact) <= ROUNDING
        assert abs(sum(row.effective_weight for row in score.breakdown) - 1) <= ROUNDING
        enough = score.coverage.weight >= rubric.minimum_coverage
        assert score.band == (rubric.band(score.value) if enough else BAND_INSUFFICIENT)


@settings(derandomize=True, deadline=None)
@given(rubrics_and_sub_scores(), st.data())
def test_a_better_sub_score_never_lowers_the_value(drawn: tuple[Rubric, dict[str, float]], data: st.DataObject) -> None:
    rubric, given_scores = drawn
    better = {name: data.draw(st.floats(max(score, 0.0), 1)) for name, score in given_scores.items()}
    assert rubric.score(present(**better)).value >= rubric.score(present(**given_scores)).value


# Coverage


def test_coverage_counts_the_signals_that_voted_and_their_weight() -> None:
    coverage = VALID.score(present(a=0.0, c=1.0)).coverage
    assert coverage == Coverage(present=2, total=3, weight=0.75)
    assert str(coverage) == "2 of 3 signals, 75.0 % of the weight"


@pytest.mark.parametrize("version", rubric_versions())
def test_a_score_on_every_signal_is_fully_covered(version: str) -> None:
    rubric = released_rubric(version)
    coverage = rubric.score(present(**{spec.id: 0.0 for spec in rubric.signals})).coverage
    assert coverage == Coverage(len(rubric.signals), len(rubric.signals), 1.0)


def test_nothing_is_not_covered() -> None:
    assert VALID.score(Readings()).coverage == Coverage(present=0, total=3, weight=0.0)
    assert coverage_of([]) == Coverage(present=0, total=0, weight=0.0)
    assert str(coverage_of([])) == "0 of 0 signals, 0.0 % of the weight"


# The registry


def test_versions_are_ordered_by_number_not_by_spelling(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("2.10.0.yaml", "2.9.0.yaml", "10.0.0.yaml", "2.9.0.yaml.orig", "notes.md"):
        (tmp_path / name).touch()
    monkeypatch.setattr(registry, "VERSIONS_DIR", tmp_path)
    assert rubric_versions() == ["2.9.0", "2.10.0", "10.0.0"]


@pytest.mark.parametrize("version", rubric_versions())
def test_a_released_rubric_is_valid_and_has_the_version_of_its_file_name(version: str) -> None:
    rubric = released_rubric(version)
    rubric.validate()
    assert rubric.version == version


@pytest.mark.parametrize("path", [*registry.VERSIONS_DIR.glob("*.yaml"), *PROFILES_DIR.glob("*.yaml")], ids=str)
def test_beside_a_released_file_is_what_it_says_as_json(path: Path) -> None:
    assert path.with_suffix(".json").read_text("utf-8") == as_json(path), "run python -m rubric"
    assert read_released(path) == read_data(path)


@pytest.fixture
def released(tmp_path: Path) -> Path:
    for path in registry.VERSIONS_DIR.glob("3.1.0.*"):
        shutil.copy(path, tmp_path)
    return tmp_path / "3.1.0.yaml"


def test_a_released_rubric_needs_no_reader_of_yaml(released: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "yaml", None)
    assert isinstance(read_released(released), dict)


@pytest.mark.parametrize("beside", [None, b"", b"{", b"[]", b"{}", b'{"checksum": 1, "data": {}}', b"[" * 10**5])
def test_without_json_of_just_this_yaml_the_yaml_counts(released: Path, beside: bytes | None) -> None:
    if beside is None:
        released.with_suffix(".json").unlink()
    else:
        released.with_suffix(".json").write_bytes(beside)
    assert read_released(released) == read_data(released)


def test_the_json_of_a_yaml_that_was_changed_does_not_count(released: Path) -> None:
    released.write_text(released.read_text().replace("version: 3.1.0", "version: 9.9.9"))
    found = read_released(released)
    assert isinstance(found, dict)
    assert found["version"] == "9.9.9"


def test_the_json_beside_a_custom_rubric_says_nothing(released: Path) -> None:
    released.with_suffix(".json").write_bytes(as_json(released).replace("3.1.0", "9.9.9").encode())
    assert load_rubric(released).version == "3.1.0"


def test_the_default_rubric_is_a_released_one() -> None:
    assert RUBRIC_VERSION in rubric_versions()
    assert default_rubric() is released_rubric(RUBRIC_VERSION)


def test_2_2_0_is_2_1_0_times_0_92_and_one_signal_more() -> None:
    old, new = released_rubric("2.1.0"), released_rubric("2.2.0")
    *same, last = new.signals
    assert [replace(spec, weight=1.0) for spec in same] == [replace(spec, weight=1.0) for spec in old.signals]
    exact = [Fraction(repr(spec.weight)) * Fraction(92, 100) for spec in old.signals]
    assert [Fraction(repr(spec.weight)) for spec in same] == exact
    assert sum(exact) + Fraction(repr(last.weight)) == 1
    assert last == SignalSpec(
        SignalID("diminishing_returns"),
        "Diminishing returns",
        0.08,
        "Had the iteration's deliberation converged, unblocked, when it stopped.",
        two_way=False,
        profile="dr-1",
    )
    assert new.bands == old.bands


@pytest.mark.parametrize("version", ["", "2.1", "2.1.0.yaml", "2.1.0 ", "../versions/2.1.0", "latest"])
def test_a_version_that_is_not_released_is_refused_with_those_that_are(version: str) -> None:
    with pytest.raises(RubricError) as caught:
        released_rubric(version)
    assert str(caught.value) == f"rubric {version!r} is not released; released: {', '.join(rubric_versions())}"


def _told(value: object) -> object:
    """Return plain data: a field that still has its default is left out, so that a new field moves no old digest."""
    if is_dataclass(value):
        return {
            f.name: _told(getattr(value, f.name))
            for f in fields(value)
            if f.default is MISSING or getattr(value, f.name) != f.default
        }
    return [_told(item) for item in value] if isinstance(value, tuple) else value


def digest(rubric: Rubric) -> str:
    return hashlib.sha256(json.dumps(_told(rubric), sort_keys=True, separators=(",", ":")).encode()).hexdigest()


def as_released(version: str) -> Rubric:
    """Return a rubric without the profiles that it has named only since after its release."""
    rubric = released_rubric(version)
    later = PROFILES_NAMED_LATER.get(version, {})
    assert all((spec := rubric.signal(name)) and spec.profile == profile for name, profile in later.items())
    return replace(rubric, signals=tuple(replace(s, profile="") if s.id in later else s for s in rubric.signals))


@pytest.mark.parametrize("version", rubric_versions())
def test_a_released_rubric_never_changes(version: str) -> None:
    assert digest(as_released(version)) == RELEASED_DIGESTS.get(version, "(a new version: pin its digest)")


@pytest.mark.parametrize("name", profile_names())
def test_a_released_profile_never_changes(name: str) -> None:
    data = json.dumps(released_profile(name), sort_keys=True, separators=(",", ":"))
    found = hashlib.sha256(data.encode()).hexdigest()
    assert found == PROFILE_DIGESTS.get(name, "(a new profile: pin its digest)")


def test_nothing_released_disappears() -> None:
    assert set(PROFILE_DIGESTS) <= set(profile_names())
    assert set(RELEASED_DIGESTS) <= set(rubric_versions())


@pytest.mark.parametrize("version", rubric_versions())
def test_a_released_rubric_with_the_meter_names_what_it_goes_by(version: str) -> None:
    spec = released_rubric(version).signal("diminishing_returns")
    assert spec is None or spec.profile in PROFILE_DIGESTS


def test_a_profile_that_is_not_released_is_refused_with_those_that_are() -> None:
    with pytest.raises(RubricError, match=r"^profile '\.\./versions/2\.1\.0' is not released; released: dr-1"):
        released_profile("../versions/2.1.0")


@pytest.mark.parametrize(
    "changes",
    [
        pytest.param({"version": "1.0.1"}, id="the version"),
        pytest.param({"combination": "median"}, id="the method"),
        pytest.param({"signals": VALID.signals[::-1]}, id="the order of the signals"),
        pytest.param(first(id="x"), id="an id"),
        pytest.param(first(label="x"), id="a label"),
        pytest.param(first(weight=0.6), id="a weight"),
        pytest.param(first(description="x"), id="a description"),
        pytest.param(first(two_way=False), id="a two-way mark"),
        pytest.param(first(profile="dr-1"), id="a profile"),
        pytest.param(bands(better=0.5, bad=0.0), id="a band's name"),
        pytest.param(bands(good=0.6, bad=0.0), id="a band's minimum"),
    ],
)
def test_the_digest_sees_a_change_of(changes: Changes) -> None:
    assert digest(replace(VALID, **changes)) != digest(VALID)


# Rubric files

FILE = """\
version: 1.0.0
combination: weighted_mean_renormalized
signals:
  - {id: a, label: A, weight: 0.5, two_way: true, description: About a.}
  - {id: b, label: B, weight: 0.25, two_way: false, description: About b.}
  - {id: c, label: C, weight: 0.25, two_way: true, description: About c.}
bands:
  - {name: good, min: 0.5}
  - {name: bad, min: 0}
"""


@pytest.fixture
def rubric_file(tmp_path: Path) -> Path:
    path = tmp_path / "mine.yaml"
    path.write_text(FILE, "utf-8")
    return path


def refusal(path: Path) -> str:
    """Return why a file is refused, without the path; whatever the reason, it is one line a person can read."""
    with pytest.raises(RubricError) as caught:
        load_rubric(path)
    text = str(caught.value)
    assert text.startswith(f"{path}: ")
    assert text.count(str(path)) == 1
    assert "\n" not in text
    assert len(text) < 1000
    return text.removeprefix(f"{path}: ")


def test_a_rubric_file_is_read_whole(rubric_file: Path) -> None:
    assert load_rubric(rubric_file) == VALID


def test_a_rubric_file_may_name_a_released_profile(rubric_file: Path) -> None:
    rubric_file.write_text(FILE.replace("label: B,", "label: B, profile: dr-1,"), "utf-8")
    assert [spec.profile for spec in load_rubric(rubric_file).signals] == ["", "dr-1", ""]


def test_comments_and_layout_change_neither_the_rubric_nor_its_digest(rubric_file: Path) -> None:
    rubric_file.write_text("# ours\n" + FILE.replace(", two_way: false", "").replace("0.25", "0.250"), "utf-8")
    assert load_rubric(rubric_file) == VALID
    assert digest(load_rubric(rubric_file)) == digest(VALID)


def test_label_description_and_two_way_may_be_left_out() -> None:
    rubric = parse_rubric(
        {
            "version": "1",
            "combination": "weighted_mean_renormalized",
            "signals": [{"id": "a", "weight": 1}],
            "bands": [{"name": "any", "min": 0}],
        }
    )
    rubric.validate()
    assert rubric.signals == (SignalSpec(SignalID("a"), "", 1.0, "", two_way=False),)
    assert type(rubric.signals[0].weight) is float


@pytest.mark.parametrize(("old", "new", "reason"), cases("rubric_files", "wrong"))
def test_a_file_with_one_thing_wrong_is_refused_by_name(rubric_file: Path, old: str, new: str, reason: str) -> None:
    """The twin is :func:`test_a_rubric_file_is_read_whole`: the same file with nothing wrong."""
    assert FILE.count(old) >= 1
    rubric_file.write_text(FILE.replace(old, new, 1), "utf-8")
    assert refusal(rubric_file) == reason


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        *cases("rubric_files", "texts"),
        pytest.param("version: " + "[" * 2000 + "]" * 2000, "", id="deep nesting"),
        pytest.param(
            "version:\n- &a0 [x,x,x,x,x]\n" + "".join(f"- &a{n} [{','.join([f'*a{n - 1}'] * 9)}]\n" for n in (1, 2, 3)),
            "",
            id="aliases that multiply",
        ),
        pytest.param(FILE.replace("0.5,", "1" + "0" * 400 + ","), "", id="a weight no double holds"),
    ],
)
def test_no_file_however_odd_is_refused_otherwise_than_in_one_line(rubric_file: Path, text: str, reason: str) -> None:
    rubric_file.write_text(text, "utf-8")
    assert refusal(rubric_file).startswith(reason)


def test_bytes_that_are_no_text_are_refused(rubric_file: Path) -> None:
    rubric_file.write_bytes(b"version: \xff\n")
    assert refusal(rubric_file).startswith("cannot read the rubric: ")


def test_a_path_without_a_file_is_refused_as_such(tmp_path: Path) -> None:
    assert refusal(tmp_path / ("n" * 300 + ".yaml"))
    assert refusal(tmp_path / "none.yaml") == refusal(tmp_path) == "no such rubric file"


def test_a_file_as_large_as_allowed_is_read_and_one_of_a_byte_more_refused(rubric_file: Path) -> None:
    rubric_file.write_text(FILE + "#" * ((128 << 10) - len(FILE)), "utf-8")
    assert load_rubric(rubric_file) == VALID
    rubric_file.write_text(rubric_file.read_text() + "#", "utf-8")
    assert refusal(rubric_file) == "larger than 128 KiB; this is no rubric"


def test_a_user_names_a_rubric_by_its_version() -> None:
    assert find_rubric("2.0.2") is released_rubric("2.0.2")


@pytest.mark.parametrize("name", ["mine.yaml", "mine.yml", "./mine", "folder/mine"])
def test_a_user_names_a_rubric_by_its_file(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(FILE, "utf-8")
    monkeypatch.chdir(tmp_path)
    assert find_rubric(name) == VALID


def test_a_name_that_is_neither_path_nor_suffix_is_a_version_even_where_a_file_has_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "mine").write_text(FILE, "utf-8")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(
        RubricError, match=r"^rubric 'mine' is not released; released: .*; the file of that name is \./mine$"
    ):
        find_rubric("mine")
