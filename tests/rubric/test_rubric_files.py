"""Files of rubrics: what is read of them, and why one is refused."""

from pathlib import Path

import pytest
from helpers.rubrics import VALID
from helpers.tables import cases

from rubric import (
    RubricError,
    SignalID,
    SignalSpec,
    find_rubric,
    load_rubric,
    parse_rubric,
    released_rubric,
)

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
    """Return why a file is refused, without the path.

    Whatever the reason, it is one line a person can read.
    """
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
    rubric_file.write_text(
        FILE.replace("label: B,", "label: B, profile: dr-1,"), "utf-8"
    )
    assert [spec.profile for spec in load_rubric(rubric_file).signals] == [
        "",
        "dr-1",
        "",
    ]


def test_comments_and_layout_do_not_change_the_rubric(rubric_file: Path) -> None:
    rubric_file.write_text(
        "# ours\n" + FILE.replace(", two_way: false", "").replace("0.25", "0.250"),
        "utf-8",
    )
    assert load_rubric(rubric_file) == VALID


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
def test_a_file_with_one_thing_wrong_is_refused_by_name(
    rubric_file: Path, old: str, new: str, reason: str
) -> None:
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
            "version:\n- &a0 [x,x,x,x,x]\n"
            + "".join(f"- &a{n} [{','.join([f'*a{n - 1}'] * 9)}]\n" for n in (1, 2, 3)),
            "",
            id="aliases that multiply",
        ),
        pytest.param(
            FILE.replace("0.5,", "1" + "0" * 400 + ","),
            "",
            id="a weight no double holds",
        ),
    ],
)
def test_no_file_however_odd_is_refused_otherwise_than_in_one_line(
    rubric_file: Path, text: str, reason: str
) -> None:
    rubric_file.write_text(text, "utf-8")
    assert refusal(rubric_file).startswith(reason)


def test_bytes_that_are_no_text_are_refused(rubric_file: Path) -> None:
    rubric_file.write_bytes(b"version: \xff\n")
    assert refusal(rubric_file).startswith("cannot read the rubric: ")


def test_a_path_without_a_file_is_refused_as_such(tmp_path: Path) -> None:
    assert refusal(tmp_path / ("n" * 300 + ".yaml"))
    assert refusal(tmp_path / "none.yaml") == refusal(tmp_path) == "no such rubric file"


def test_a_file_as_large_as_allowed_is_read_and_one_of_a_byte_more_refused(
    rubric_file: Path,
) -> None:
    rubric_file.write_text(FILE + "#" * ((128 << 10) - len(FILE)), "utf-8")
    assert load_rubric(rubric_file) == VALID
    rubric_file.write_text(rubric_file.read_text() + "#", "utf-8")
    assert refusal(rubric_file) == "larger than 128 KiB; this is no rubric"


def test_a_user_names_a_rubric_by_its_version() -> None:
    assert find_rubric("2.0.2") is released_rubric("2.0.2")


@pytest.mark.parametrize("name", ["mine.yaml", "mine.yml", "./mine", "folder/mine"])
def test_a_user_names_a_rubric_by_its_file(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
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
        RubricError,
        match=r"^rubric 'mine' is not released; released: .*; the file of that name is \./mine$",
    ):
        find_rubric("mine")
