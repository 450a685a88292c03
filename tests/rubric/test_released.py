"""Released rubrics and profiles: they never change, and are read without a reader of YAML."""

import hashlib
import json
import shutil
import sys
from dataclasses import MISSING, fields, is_dataclass, replace
from fractions import Fraction
from pathlib import Path

import pytest
from helpers.rubrics import VALID, Changes, bands, first

from rubric import (
    RUBRIC_VERSION,
    Rubric,
    RubricError,
    SignalID,
    SignalSpec,
    default_rubric,
    load_rubric,
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
    "3.0.0": "62e7970484733f604f5113ee41c5f972233e2dcf85d628f4e519ed17cf88151f",
    "3.1.0": "bf4c1df57c8a3e6ea6b7196e2347b2f07c258675295841cb5e96053689fb6fcf",
}
"""Never edit a line: a rubric that has been released does not change.

A new version is a new line.
"""

PROFILES_NAMED_LATER = {
    "2.2.0": {"diminishing_returns": "dr-1"},
}
"""Never add a line.

These were released while what their meter goes by was written in the code, and the profile says the
same in data. So their digests are those of the data without it, and the name of the profile is
pinned here instead.
"""

PROFILE_DIGESTS = {
    "dr-1": "bb58d9aad4bb95675c9b0a6876c06841d3334818354882fab210366ca7157f9b",
    "dr-2": "77fbc256a6e2747e3f81fb6390351a4cf25ae1c2a9666bfbac1cf06fdbea39cd",
}
"""Never edit a line: a profile that a released rubric names does not change.

A new profile is a new line.
"""


def test_versions_are_ordered_by_number_not_by_spelling(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in (
        "2.10.0.yaml",
        "2.9.0.yaml",
        "10.0.0.yaml",
        "2.9.0.yaml.orig",
        "notes.md",
    ):
        (tmp_path / name).touch()
    monkeypatch.setattr(registry, "VERSIONS_DIR", tmp_path)
    assert rubric_versions() == ["2.9.0", "2.10.0", "10.0.0"]


@pytest.mark.parametrize("version", rubric_versions())
def test_a_released_rubric_is_valid_and_has_the_version_of_its_file_name(
    version: str,
) -> None:
    rubric = released_rubric(version)
    rubric.validate()
    assert rubric.version == version


@pytest.mark.parametrize(
    "path",
    [*registry.VERSIONS_DIR.glob("*.yaml"), *PROFILES_DIR.glob("*.yaml")],
    ids=str,
)
def test_beside_a_released_file_is_what_it_says_as_json(path: Path) -> None:
    assert path.with_suffix(".json").read_text("utf-8") == as_json(path), (
        "run python -m rubric"
    )
    assert read_released(path) == read_data(path)


@pytest.fixture
def released(tmp_path: Path) -> Path:
    for path in registry.VERSIONS_DIR.glob("3.1.0.*"):
        shutil.copy(path, tmp_path)
    return tmp_path / "3.1.0.yaml"


def test_a_released_rubric_needs_no_reader_of_yaml(
    released: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "yaml", None)
    assert isinstance(read_released(released), dict)


@pytest.mark.parametrize(
    "beside",
    [None, b"", b"{", b"[]", b"{}", b'{"checksum": 1, "data": {}}', b"[" * 10**5],
)
def test_without_json_of_just_this_yaml_the_yaml_counts(
    released: Path, beside: bytes | None
) -> None:
    if beside is None:
        released.with_suffix(".json").unlink()
    else:
        released.with_suffix(".json").write_bytes(beside)
    assert read_released(released) == read_data(released)


def test_the_json_of_a_yaml_that_was_changed_does_not_count(released: Path) -> None:
    released.write_text(
        released.read_text().replace("version: 3.1.0", "version: 9.9.9")
    )
    found = read_released(released)
    assert isinstance(found, dict)
    assert found["version"] == "9.9.9"


def test_the_json_beside_a_custom_rubric_says_nothing(released: Path) -> None:
    released.with_suffix(".json").write_bytes(
        as_json(released).replace("3.1.0", "9.9.9").encode()
    )
    assert load_rubric(released).version == "3.1.0"


def test_the_default_rubric_is_a_released_one() -> None:
    assert RUBRIC_VERSION in rubric_versions()
    assert default_rubric() is released_rubric(RUBRIC_VERSION)


def test_2_2_0_is_2_1_0_times_0_92_and_one_signal_more() -> None:
    old, new = released_rubric("2.1.0"), released_rubric("2.2.0")
    *same, last = new.signals
    assert [replace(spec, weight=1.0) for spec in same] == [
        replace(spec, weight=1.0) for spec in old.signals
    ]
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


@pytest.mark.parametrize(
    "version", ["", "2.1", "2.1.0.yaml", "2.1.0 ", "../versions/2.1.0", "latest"]
)
def test_a_version_that_is_not_released_is_refused_with_those_that_are(
    version: str,
) -> None:
    with pytest.raises(RubricError) as caught:
        released_rubric(version)
    assert (
        str(caught.value)
        == f"rubric {version!r} is not released; released: {', '.join(rubric_versions())}"
    )


def _told(value: object) -> object:
    """Return plain data, without fields that have their default.

    So a new field moves no old digest.
    """
    if is_dataclass(value):
        return {
            f.name: _told(getattr(value, f.name))
            for f in fields(value)
            if f.default is MISSING or getattr(value, f.name) != f.default
        }
    return [_told(item) for item in value] if isinstance(value, tuple) else value


def digest(rubric: Rubric) -> str:
    return hashlib.sha256(
        json.dumps(_told(rubric), sort_keys=True, separators=(",", ":")).encode()
    ).hexdigest()


def as_released(version: str) -> Rubric:
    """Return a rubric without the profiles that it has named only since after its release."""
    rubric = released_rubric(version)
    later = PROFILES_NAMED_LATER.get(version, {})
    assert all(
        (spec := rubric.signal(name)) and spec.profile == profile
        for name, profile in later.items()
    )
    return replace(
        rubric,
        signals=tuple(
            replace(s, profile="") if s.id in later else s for s in rubric.signals
        ),
    )


@pytest.mark.parametrize("version", rubric_versions())
def test_a_released_rubric_never_changes(version: str) -> None:
    assert digest(as_released(version)) == RELEASED_DIGESTS.get(
        version, "(a new version: pin its digest)"
    )


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
    with pytest.raises(
        RubricError,
        match=r"^profile '\.\./versions/2\.1\.0' is not released; released: dr-1",
    ):
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


def test_a_removed_version_says_what_to_name_instead() -> None:
    with pytest.raises(RubricError, match=r"^rubric 2\.3\.0 was removed; use 3\.1\.0$"):
        released_rubric("2.3.0")
