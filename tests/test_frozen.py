"""Classes of values are what dataclasses are to whoever uses them, and are made without executing text."""

import copy
import dataclasses
import pickle
from pathlib import Path

import msgspec
import pytest

from scoring.frozen import Frozen, PartlyCompared
from scoring.log.model import ImplBlock, IterationRecord, VerifierRecord
from scoring.signals.values import SignalValue


class Inner(Frozen, frozen=True):
    """A value in another."""

    name: str = "x"


class Outer(Frozen, frozen=True):
    """A value with every kind of default."""

    number: int
    place: "Path"
    inner: Inner = msgspec.field(default_factory=Inner)
    many: tuple[Inner, ...] = (Inner("a"),)
    table: dict[str, int] = {}  # noqa: RUF012 - each value has its own


def made() -> Outer:
    return Outer(1, Path("a"))


def test_the_functions_of_dataclasses_take_a_value() -> None:
    one = made()
    assert dataclasses.is_dataclass(one)
    assert [(f.name, f.type) for f in dataclasses.fields(Inner)] == [("name", str)]
    assert [f.name for f in dataclasses.fields(one)] == ["number", "place", "inner", "many", "table"]
    assert dataclasses.replace(one, number=2) == msgspec.structs.replace(one, number=2) == Outer(2, Path("a"))
    shown = {"number": 1, "place": Path("a"), "inner": {"name": "x"}, "many": ({"name": "a"},), "table": {}}
    assert dataclasses.asdict(one) == shown
    described = {f.name: f for f in dataclasses.fields(Outer)}
    assert described["inner"].default_factory is Inner
    assert described["number"].default is dataclasses.MISSING
    assert described["many"].default == (Inner("a"),)


def test_a_value_is_frozen_copied_and_sent() -> None:
    one = made()
    with pytest.raises(AttributeError):
        one.number = 2  # type: ignore[misc]  # what the test is about
    assert pickle.loads(pickle.dumps(one)) == copy.deepcopy(one) == one != Outer(1, Path("b"))
    assert repr(Inner("a")) == "Inner(name='a')"
    assert hash(Inner("a")) == hash(Inner("a"))
    assert Outer(1, Path()).table is not Outer(1, Path()).table


def test_some_fields_are_not_compared() -> None:
    class Said(PartlyCompared, frozen=True):
        what: str
        why: str = ""

        _aside = frozenset({"why"})

    assert Said("a", "b") == Said("a", "c") != Said("b", "b")
    assert len({Said("a", "b"), Said("a", "c"), Said("b")}) == 2
    assert Said("a") != "a"
    assert ImplBlock(retries_reported=False, tests_total_claim=True) == ImplBlock()
    assert VerifierRecord(retries_reported=False) == VerifierRecord()
    assert SignalValue(True, 1.0, "x", reason="a", source="claimed", fact="b") == SignalValue(True, 1.0, "x")
    assert SignalValue(True, 1.0, "x", cap="a") != SignalValue(True, 1.0, "x")
    assert hash(IterationRecord(impl=ImplBlock(retries_reported=False))) == hash(IterationRecord())
