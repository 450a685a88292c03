"""Files of labels: what is read of them, and that nothing in them stops anything."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from helpers.doors import ends
from helpers.labels import content, edit, label, write

from scoring.evidence.labels import Judgement, LabelFacts, label_facts, labels_in

PATH = Path("iter-5.labels.yaml")


def read(*labels: Any, **more: Any) -> LabelFacts:
    return labels_in(content(*labels, **more), PATH, 5)


def only(*labels: Any, **more: Any) -> Judgement:
    """Return the latest judgement of the one label in a file."""
    return judged(read(*labels, **more))


def judged(facts: LabelFacts) -> Judgement:
    (found,) = facts.labels or ()
    assert found.latest
    return found.latest.judgement


def test_a_label_is_read_whole() -> None:
    (found,) = (
        read(
            label("ann", edit(1), edit(3, "partial", "none", free_text="why"), role="admin")
        ).labels
        or ()
    )
    assert (found.id, found.actor, found.role) == ("label-ann", "ann", "admin")
    assert (found.overrides, len(found.history)) == (False, 2)
    assert found.latest
    assert (found.latest.judgement, found.latest.note) == (Judgement(3, "partial", "none"), "why")


@pytest.mark.parametrize("version", ["2.0.0", "0.9", "10.0", "one", None, ""], ids=str)
def test_another_major_is_not_read_and_says_so(version: object) -> None:
    found = read(label("ann", edit(3)), schema_version=version)
    assert found.labels is None
    assert (f"schema version {version}" if version else "no schema_version") in found.problem


def test_a_label_of_another_major_is_left_out_and_the_others_are_read() -> None:
    found = read(label("ann", edit(3), schema_version="2.0.0"), label("bob", edit(1)))
    assert [one.actor for one in found.labels or ()] == ["bob"]
    assert "schema version 2.0.0" in found.notes[0]


def test_a_file_of_another_iteration_is_not_read() -> None:
    assert (
        read(label("ann", edit(3)), iteration=6).problem == "iter-5.labels.yaml: is of iteration 6"
    )


@pytest.mark.parametrize(
    "broken",
    [
        pytest.param("text", id="no mapping"),
        pytest.param(label("", edit(3)), id="nobody's"),
        pytest.param(label("bob", edit(3), iteration=6), id="of another iteration"),
        pytest.param(label("bob", history={"not": "a list"}), id="its history is no list"),
        pytest.param(label("bob", edit(3), role=["admin"]), id="its role is a list"),
        pytest.param(label("bob", "no edit"), id="an edit is no mapping"),  # type: ignore[arg-type]
    ],
)
def test_a_broken_label_costs_itself_alone(broken: object) -> None:
    found = read(label("ann", edit(3)), broken, None, label("cid", edit(2)))
    assert [(one.actor, one.position) for one in found.labels or ()] == [("ann", 0), ("cid", 2)]
    assert len(found.notes) == 1
    assert found.notes[0].endswith("this label is left out")


class TestWords:
    @pytest.mark.parametrize(
        "values",
        [
            *({"correctness": given} for given in (4, -1, 2.5, "good", True, "9" * 400)),
            {"scope_judgement": "wide"},
            {"hallucination": "lots"},
        ],
        ids=lambda values: str(values)[:30],
    )
    def test_a_word_that_is_unknown_counts_as_not_given_and_is_noted(
        self, values: dict[str, Any]
    ) -> None:
        known = {"correctness": 2, "scope_judgement": "partial", "hallucination": "none"}
        facts = read(label("ann", edit() | {"structured": known | values}))
        (name,) = values
        expected = [None if word == name else value for word, value in known.items()]
        assert [
            getattr(judged(facts), word.removesuffix("_judgement")) for word in known
        ] == expected
        assert facts.notes[0].split(": ")[1].startswith(f"{name} ")
        assert "it counts as not given" in facts.notes[0]

    @pytest.mark.parametrize(
        ("role", "overrides"), [("admin", True), ("reviewer", True), ("readonly", False)]
    )
    def test_an_override_is_one_of_anybody_whose_label_counts(
        self, role: str, overrides: bool
    ) -> None:
        facts = read(label("ann", edit(2), role=role, admin_override=True))
        assert facts.labels
        assert facts.labels[0].overrides is overrides
        assert [note.partition("; ")[2] for note in facts.notes] == ["it overrides nothing"] * (
            not overrides
        )

    def test_an_edit_by_somebody_who_may_only_read_is_passed_over(self) -> None:
        assert only(label("ann", edit(2), edit(0, role="readonly"))) == Judgement(2)


class TestTimes:
    @pytest.mark.parametrize(
        "same",
        [
            "2026-03-01T12:00:00Z",
            "2026-03-01T13:00:00+01:00",
            "2026-03-01T07:30:00.000-04:30",
            "2026-03-01 12:00:00Z",
        ],
    )
    def test_are_compared_as_times(self, same: str) -> None:
        one, other = (
            read(label("ann", edit(1)), label("bob", edit(1), updated_at=same)).labels or ()
        )
        assert one.updated == other.updated is not None


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
                b"schema_version: 1.0.0\nlabels: word\n", "a list belongs", id="labels are a word"
            ),
        ],
    )
    def test_text_that_is_no_file_of_labels(self, tmp_path: Path, data: bytes, said: str) -> None:
        (tmp_path / PATH).write_bytes(data)
        assert said in self.refused(tmp_path)

    def test_aliases_that_multiply_end_soon(self, tmp_path: Path) -> None:
        lines = ["schema_version: '1.0.0'", "a: &a0 {actor: x, history: []}"]
        lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 9)]
        (tmp_path / PATH).write_text("\n".join([*lines, "labels: *a8"]))
        assert not read_in_time(tmp_path).labels

    def test_many_broken_labels_cost_linear_time_and_few_notes(self, tmp_path: Path) -> None:
        write(tmp_path, *([{"actor": ["x"]}] * 1500))
        assert len(read_in_time(tmp_path).notes) == 20


def test_a_rubric_without_labels_does_not_load_their_reader() -> None:
    code = (
        "import sys, scoring.score, scoring.cli.run; "
        "print([n for n in ('scoring.jobs.label_file', 'ruamel.yaml') if n in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
