"""Files of labels: what is read of them, and that nothing in them stops anything."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from helpers.doors import ends
from helpers.labels import content, edit, label, write

from scoring.evidence.labels import Judgment, LabelFacts, label_facts, labels_in

PATH = Path("iter-5.labels.yaml")


def read(*labels: Any, **more: Any) -> LabelFacts:
    return labels_in(content(*labels, **more), PATH, 5)


def test_a_label_is_read_whole() -> None:
    (found,) = (
        read(
            label(
                "ann",
                edit(1),
                edit(3, "partial", "none", free_text="why"),
                role="admin",
            )
        ).labels
        or ()
    )
    assert (found.id, found.actor, found.role) == ("label-ann", "ann", "admin")
    assert (found.overrides, len(found.history)) == (False, 2)
    assert (found.latest.judgment, found.latest.note) == (
        Judgment(3, "partial", "none"),
        "why",
    )


@pytest.mark.parametrize("version", ["2.0.0", "0.9", "10.0", "one", None, ""], ids=str)
def test_another_major_is_not_read_and_says_so(version: object) -> None:
    found = read(label("ann", edit(3)), schema_version=version)
    assert found.labels is None
    assert (
        f"schema version {version}" if version else "no schema_version"
    ) in found.problem


def test_a_file_of_another_iteration_is_not_read() -> None:
    assert (
        read(label("ann", edit(3)), iteration=6).problem
        == "iter-5.labels.yaml: is of iteration 6"
    )


def without(fields: dict[str, Any], name: str) -> dict[str, Any]:
    return {key: value for key, value in fields.items() if key != name}


def structured(**values: Any) -> dict[str, Any]:
    """Return a label of bob whose only edit says something else."""
    return label("bob", edit(2) | {"structured": edit(2)["structured"] | values})


WRONG = {
    "no mapping": ("text", "mapping"),
    "nobody's": (label(" ", edit(3)), "the label has no actor"),
    "without an id": (label("bob", edit(3), id=" "), "the label has no id"),
    "with the id of another": (
        label("bob", edit(3), id="label-ann"),
        "two labels have the id",
    ),
    "of another iteration": (label("bob", edit(3), iteration=6), "is of iteration 6"),
    "of no iteration": (
        without(label("bob", edit(3)), "iteration"),
        "is of iteration 0",
    ),
    "of another major": (
        label("bob", edit(3), schema_version="2.0.0"),
        "schema version 2.0.0",
    ),
    "of no schema": (
        without(label("bob", edit(3)), "schema_version"),
        "no schema_version",
    ),
    "without a role": (without(label("bob", edit(3)), "role"), "role is missing"),
    "with an unknown role": (
        label("bob", edit(3), role="owner"),
        "role is owner, not one of",
    ),
    "with a list as a role": (label("bob", edit(3), role=["admin"]), "text belongs"),
    "with a word as a flag": (
        label("bob", edit(3), admin_override="so"),
        "true or false",
    ),
    "without history": (without(label("bob", edit(3)), "history"), "has no history"),
    "with an empty history": (label("bob"), "has no history"),
    "with a mapping as history": (
        label("bob", history={"not": "a list"}),
        "a list belongs",
    ),
    "updated at no time": (
        label("bob", edit(3), updated_at="soon"),
        "soon is not a time",
    ),
    "with an edit that is a word": (
        label("bob", history=["no edit"]),
        "a mapping belongs",
    ),
    "with an edit of nobody": (
        label("bob", edit(3, actor="")),
        "the edit has no actor",
    ),
    "with an edit without a role": (
        label("bob", without(edit(3), "role")),
        "role is missing",
    ),
    "with an edit at no time": (
        label("bob", edit(3, timestamp="12:00")),
        "is not a time",
    ),
    "with a long note": (
        label("bob", edit(3, free_text="ä" * 2001)),
        "free_text has 4002 bytes",
    ),
    "that judges nothing": (
        label("bob", without(edit(3), "structured")),
        "no judgment",
    ),
    "too correct": (structured(correctness=4), "correctness is 4, not 0 to 3"),
    "not correct enough": (structured(correctness=-1), "correctness is -1, not 0 to 3"),
    "correct in words": (structured(correctness="good"), "a whole number belongs"),
    "without a scope": (structured(scope_judgement=None), "scope_judgement is missing"),
    "with an underscore": (
        structured(scope_judgement="on_target"),
        "scope_judgement is on_target",
    ),
    "with an unknown word": (structured(hallucination="lots"), "hallucination is lots"),
}


@pytest.mark.parametrize(("wrong", "said"), WRONG.values(), ids=WRONG)
def test_one_wrong_label_costs_the_file_as_in_the_reference(
    wrong: object, said: str
) -> None:
    found = read(label("ann", edit(3)), wrong)
    assert found.labels is None
    assert found.problem.startswith("iter-5.labels.yaml: ")
    assert said in found.problem


@pytest.mark.parametrize(
    "right",
    [
        pytest.param(None, id="nothing in the list"),
        pytest.param(
            label("bob", edit(3), x_tool={"mood": 1}), id="keys of other tools"
        ),
        pytest.param(
            label("bob", edit(3, free_text="ä" * 2000)), id="a note of 4,000 bytes"
        ),
        pytest.param(
            label("bob", edit(3, role="readonly"), role="readonly"), id="readonly"
        ),
        pytest.param(without(label("bob", edit(3)), "updated_at"), id="no time"),
        pytest.param(
            structured(correctness=None), id="a correctness that is left out is 0"
        ),
    ],
)
def test_what_the_reference_takes_is_taken(right: object) -> None:
    found = read(label("ann", edit(3)), right)
    assert found.labels
    assert [each.position for each in found.labels] == list(range(len(found.labels)))
    for each in found.labels[1:]:
        expected = (
            0
            if right == structured(correctness=None)
            else each.latest.judgment.correctness
        )
        assert each.latest.judgment.correctness == expected


class TestTimes:
    @pytest.mark.parametrize(
        "same",
        [
            '"2026-03-01T12:00:00Z"',
            "2026-03-01T12:00:00Z",
            '"2026-03-01T13:00:00+01:00"',
            "2026-03-01T07:30:00.000-04:30",
            "2026-03-01 12:00:00",
            "2026-3-1 12:0:0.0",
            "2026-03-01t12:00:00Z",
        ],
    )
    def test_are_compared_as_times(self, same: str) -> None:
        data = content(label("ann", edit(1)), label("bob", edit(1), updated_at="TIME"))
        ann, bob = labels_in(data.replace(b"TIME", same.encode()), PATH, 5).labels or ()
        assert ann.updated == bob.updated is not None

    def test_a_day_alone_is_its_first_moment(self) -> None:
        data = content(label("ann", edit(1), updated_at="TIME"))
        (ann,) = labels_in(data.replace(b"TIME", b"2026-03-01"), PATH, 5).labels or ()
        assert ann.updated == 1_772_323_200 * 10**9

    def test_text_in_quotes_is_rfc_3339_alone(self) -> None:
        found = read(label("ann", edit(1), updated_at="2026-03-01 12:00:00"))
        assert "is not a time" in found.problem


def read_in_time(folder: Path) -> LabelFacts:
    return ends(lambda: label_facts(folder, 5))


class TestHostile:
    def refused(self, folder: Path) -> str:
        found = read_in_time(folder)
        assert found.labels is None
        assert "\n" not in found.problem
        return found.problem

    def test_what_is_no_file_of_text(self, tmp_path: Path) -> None:
        path = tmp_path / PATH
        os.mkfifo(path)
        assert "not a plain file" in self.refused(tmp_path)
        path.unlink()
        path.mkdir()
        assert "directory" in self.refused(tmp_path)
        path.rmdir()
        path.touch()
        os.truncate(path, 20 << 20)
        assert "larger than 16 MiB" in self.refused(tmp_path)

    @pytest.mark.parametrize(
        ("data", "said"),
        [
            pytest.param(b"[" * 5000, "deep", id="deep"),
            pytest.param(b"labels: [\n", "line", id="cut off"),
            pytest.param(b"\xff\xfe\xff", "", id="no text"),
            pytest.param(b"", "no schema_version", id="empty"),
            pytest.param(b"- a\n", "mapping", id="a list"),
            pytest.param(
                b"schema_version: 1.0.0\nlabels: word\n",
                "a list belongs",
                id="labels are a word",
            ),
        ],
    )
    def test_text_that_is_no_file_of_labels(
        self, tmp_path: Path, data: bytes, said: str
    ) -> None:
        (tmp_path / PATH).write_bytes(data)
        assert said in self.refused(tmp_path)

    def test_aliases_that_multiply_end_soon(self, tmp_path: Path) -> None:
        lines = ["schema_version: '1.0.0'", "a: &a0 {actor: x, history: []}"]
        lines += [
            f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 9)
        ]
        (tmp_path / PATH).write_text("\n".join([*lines, "labels: *a8"]))
        assert not read_in_time(tmp_path).labels

    def test_many_labels_cost_linear_time(self, tmp_path: Path) -> None:
        write(tmp_path, *(label(str(number), edit(3)) for number in range(1500)))
        assert len(read_in_time(tmp_path).labels or ()) == 1500


def test_a_rubric_without_labels_does_not_load_their_reader() -> None:
    code = (
        "import sys, scoring.score, scoring.cli.run; "
        "print([n for n in ('scoring.jobs.label_file', 'ruamel.yaml') if n in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert done.stdout == "[]\n"
