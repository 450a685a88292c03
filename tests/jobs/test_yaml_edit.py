"""A file that a person wrote is only written where everything else in it stays as it is."""

from pathlib import Path

import pytest
from ruamel.yaml.comments import CommentedMap

from scoring.errors import InputError
from scoring.jobs.yaml_edit import with_items

PATH = Path("iter-5.labels.yaml")


def with_another(text: str) -> str:
    """Return a document with one more label."""
    item = CommentedMap(id="c", history=[CommentedMap(role="admin")])
    return with_items(text.encode(), PATH, "labels", [item], iteration=5).decode()


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
        "id: a\n    more:\n        wide: 1",
    ],
)
def test_all_other_items_stay_as_they_are(item: str) -> None:
    added = "  - id: c\n    history:\n      - role: admin\n"
    text = f"labels:\n  - id: b\n  - {item}\n"
    assert with_another(text) == text + added
    assert with_another(f"{text}# end\nb: 1\n") == f"{text}{added}# end\nb: 1\n"


def test_an_item_may_end_in_nothing() -> None:
    added = "  - id: c\n    history:\n      - role: admin\n"
    assert (
        with_another("labels:\n  - id:\nb: 1\n") == f"labels:\n  - id:\n{added}b: 1\n"
    )


def test_a_name_may_be_given_to_two_parts() -> None:
    text = "labels:\n- &a one\n- &a two\n"
    assert with_another(text) == f"{text}- id: c\n  history:\n  - role: admin\n"


@pytest.mark.parametrize(
    ("text", "new"),
    [
        pytest.param("", "iteration: 5\nlabels:\n{}\n", id="nothing"),
        pytest.param(
            "# soon\n", "# soon\n\niteration: 5\nlabels:\n{}\n", id="a comment alone"
        ),
        pytest.param("a: 1 # x\n", "a: 1 # x\nlabels:\n{}\n", id="no list"),
        pytest.param("labels:\nb: 1\n", "labels:\n{}\nb: 1\n", id="a null"),
        pytest.param("labels: []\nb: 1\n", "labels:\n{}\nb: 1\n", id="an empty list"),
    ],
)
def test_a_list_is_made(text: str, new: str) -> None:
    added = "  - id: c\n    history:\n      - role: admin"
    assert with_another(text) == new.format(added)


@pytest.mark.parametrize(
    ("text", "new"),
    [
        ("{labels: [{id: a}]} # x\n", "{labels: [{id: a}, ADDED]} # x\n"),
        ("labels: [{id: a}]\nb: 1\n", "labels: [{id: a}, ADDED]\nb: 1\n"),
        ("{a: 1, labels: []}\n", "{a: 1, labels: [ADDED]}\n"),
        ("{a: 1}\n", "{a: 1, labels: [ADDED]}\n"),
    ],
)
def test_a_flow_stays_one(text: str, new: str) -> None:
    added = "{id: c, history: [role: admin]}"
    assert with_another(text) == new.replace("ADDED", added)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("a: &a\n- id: a\nlabels: *a\n", "its parts share values by aliases"),
        ("labels:\n- &a {id: a}\n- *a\n", "its parts share values by aliases"),
        ("labels:\n- id: a\n--- 1\n", "but found another document"),
        ("labels: [\n", "expected the node content"),
    ],
)
def test_what_cannot_be_edited_is_refused(text: str, problem: str) -> None:
    with pytest.raises(
        InputError, match=rf"^{PATH}: cannot be kept as it is \(.*{problem}"
    ):
        with_another(text)
