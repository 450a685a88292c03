"""A file that a person wrote is only written where everything else in it stays as it is."""

from pathlib import Path

import pytest

from scoring.errors import InputError
from scoring.jobs.round_trip import with_changed_list

PATH = Path("iter-5.labels.yaml")


def with_another(text: str) -> str:
    """Return a document with one more label."""
    return with_changed_list(
        text.encode(), PATH, "labels", lambda nodes: nodes.append("another")
    ).decode()


@pytest.mark.parametrize(
    "text",
    [
        "# c\nlabels:   # hi\n  - {id: a,   v: 1}   # c\n  - id: b\n    v: .5e3\n",
        "labels: # hi\n  - {id: a} # c\n  - id: b\n    v: 5\n",
    ],
)
def test_comments_that_would_run_into_values_are_refused(text: str) -> None:
    with pytest.raises(
        InputError, match=rf"^{PATH}: cannot be kept as it is \(its comments"
    ):
        with_another(text)


@pytest.mark.parametrize(
    "item",
    [
        "{id: a,   v: 1}   # c",
        "id: !!str 3",
        "id: !mine a",
        "id: .5e3",
        "id: ~",
        "{id: &a b, v: *a}",
        "id: |\n      a\n      b",
        "id: 'it''s'",
        "id: [{a: 1}]",
    ],
)
def test_all_other_items_stay_as_they_are(item: str) -> None:
    text = f"labels:\n  - {item}\n  - id: b\n"
    assert with_another(text) == f"{text}  - another\n"


def test_a_name_may_be_given_to_two_parts() -> None:
    text = "labels:\n  - &a one\n  - &a two\n"
    assert with_another(text) == text + "  - another\n"
