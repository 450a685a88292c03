"""Classes of values: which of their fields are compared."""

from scoring.frozen import PartlyCompared
from scoring.log.model import ImplBlock, IterationRecord, VerifierRecord
from scoring.signals.values import SignalValue


def test_some_fields_are_not_compared() -> None:
    class Said(PartlyCompared):
        what: str
        why: str = ""

        _ignored = frozenset({"why"})

    assert Said("a", "b") == Said("a", "c") != Said("b", "b")
    assert len({Said("a", "b"), Said("a", "c"), Said("b")}) == 2
    assert Said("a") != "a"
    assert ImplBlock(retries_reported=False, tests_total_claim=True) == ImplBlock()
    assert VerifierRecord(retries_reported=False) == VerifierRecord()
    assert SignalValue(
        True, 1.0, "x", reason="a", source="claimed", fact="b"
    ) == SignalValue(True, 1.0, "x")
    assert SignalValue(True, 1.0, "x", cap="a") != SignalValue(True, 1.0, "x")
    assert hash(IterationRecord(impl=ImplBlock(retries_reported=False))) == hash(
        IterationRecord()
    )
