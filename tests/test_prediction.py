"""How often the better of two cases of a group has the higher value.

What else the module measures is tested with the outcomes that it is for, in
``tests/outcomes/test_validity.py``.
"""

from scoring.prediction import within


def test_within_groups_only_pairs_of_one_group_count() -> None:
    """Across groups the order is the wrong way round, which does not matter."""
    truths = [0, 0.5, 0.5, 1]
    assert within(["a", "a", "b", "b"], truths, [1, 2, 0.1, 0.2]).auc == 1.0
    assert within(["a", "a", "b", "b"], truths, [2, 1, 0.1, 0.1]).auc == 0.25
    assert within(["a", "b"], [0, 1], [1, 2])[:3] == (2, None, None)
