"""Things with the same key are put together in the order in which they came."""

import pytest

from scoring.grouping import lists_by_key


@pytest.mark.parametrize(
    ("pairs", "lists"),
    [
        pytest.param([], {}, id="nothing"),
        pytest.param([("a", 1)], {"a": [1]}, id="one pair"),
        pytest.param(
            [("b", 2), ("a", 3), ("b", 1), ("b", 2)],
            {"b": [2, 1, 2], "a": [3]},
            id="a key that comes again, with an item that comes again",
        ),
    ],
)
def test_each_key_has_its_items_in_order(
    pairs: list[tuple[str, int]], lists: dict[str, list[int]]
) -> None:
    found = lists_by_key(pairs)
    assert found == lists
    assert list(found) == list(lists)
