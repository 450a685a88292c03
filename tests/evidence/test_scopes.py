"""Declared task scopes: which plan files are read, and which task's scope counts."""

import os
from pathlib import Path

import pytest
from helpers.doors import ends, make_fifo

from scoring.evidence.scopes import declared_scopes

PLANS = ".agents/workflow/plans"


def plan(root: Path, name: str, text: str | bytes) -> Path:
    path = root / PLANS / name / "TASKS.yaml"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


def declared(root: Path | str) -> dict[str, tuple[str, ...]]:
    return {task: scope.entries for task, scope in declared_scopes(root).items()}


def tasks(*given: tuple[str, str]) -> str:
    return "tasks:\n" + "".join(
        f"- {{id: {task}, write_scope: {scope}}}\n" for task, scope in given
    )


def test_the_repository_may_be_named_by_text_and_relatively(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan(tmp_path, "p", tasks(("t", "[x]")))
    assert declared(str(tmp_path)) == {"t": ("x",)}
    monkeypatch.chdir(tmp_path)
    assert declared(".") == {"t": ("x",)}


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("tasks: [", id="broken-yaml"),
        pytest.param("tasks: {a: b}\n", id="tasks-is-a-mapping"),
        pytest.param("tasks: [word]\n", id="task-is-a-word"),
        pytest.param("- id: t\n", id="list"),
        pytest.param(
            tasks(("t", "[bad]"), ("u", "src/")), id="scope-of-another-task-is-a-word"
        ),
        pytest.param(
            tasks(("t", "[bad]"), ("u", "[{a: b}]")),
            id="entry-of-another-task-is-a-mapping",
        ),
        pytest.param(tasks(("[t]", "[bad]")), id="id-is-a-list"),
        pytest.param(
            "tasks: [{id: t, id: t, write_scope: [bad]}]\n", id="key-given-twice"
        ),
        pytest.param(b"tasks: \xff\n", id="not-utf-8"),
    ],
)
def test_a_plan_that_cannot_be_parsed_is_skipped_whole(
    tmp_path: Path, text: str | bytes
) -> None:
    plan(tmp_path, "a", text)
    plan(tmp_path, "b", tasks(("t", "[good]")))
    assert declared(tmp_path) == {"t": ("good",)}


def test_what_is_no_plan_is_skipped(tmp_path: Path) -> None:
    plan(tmp_path, "b", tasks(("t", "[good]")))
    plans = tmp_path / PLANS
    (plans / "README.md").write_text("a file where a folder is expected")
    (plans / "empty").mkdir()
    (plans / "folder/TASKS.yaml").mkdir(parents=True)
    (plans / "link").symlink_to("nowhere")
    (plans / "loop").symlink_to("loop")
    (plans / "other").mkdir()
    (plans / "other/tasks.yaml").write_text(tasks(("t", "[bad]")))
    make_fifo(plans / "a-fifo/TASKS.yaml")
    os.truncate(plan(tmp_path, "a-huge", tasks(("t", "[bad]"))), (16 << 20) + 1)
    assert ends(lambda: declared(tmp_path)) == {"t": ("good",)}


def test_a_plan_folder_may_be_a_link(tmp_path: Path) -> None:
    plan(tmp_path, "../elsewhere", tasks(("t", "[x]")))
    (tmp_path / PLANS).mkdir(parents=True, exist_ok=True)
    (tmp_path / PLANS / "p").symlink_to("../elsewhere")
    assert declared(tmp_path) == {"t": ("x",)}
