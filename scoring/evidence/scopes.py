"""The door to declared task scopes: ``.agents/workflow/plans/*/TASKS.yaml`` (contract section 1.3)."""

from collections.abc import Iterator
from pathlib import Path

from scoring.errors import InputError
from scoring.files import list_names, read_file
from scoring.yamlread import Reader, items_of, parse

PLANS_DIR = ".agents/workflow/plans"
TASKS_NAME = "TASKS.yaml"

_TASK = {"id": Reader.string, "write_scope": items_of(Reader.string)}
_PLAN = {"tasks": items_of(lambda reader, node: reader.struct(node, _TASK))}


def declared_scopes(repo_dir: Path | str) -> dict[str, tuple[str, ...]]:
    """Return the write scope of every task that declares one, by task id as written.

    Of tasks with one id the first with a scope counts, in the byte order of plan folder names. A plan file that cannot
    be read is skipped.
    """
    scopes: dict[str, tuple[str, ...]] = {}
    for _, task_id, scope in _declarations(Path(repo_dir)):
        scopes.setdefault(task_id, scope)
    return scopes


def declaring_plan(repo_dir: Path | str, task_id: str) -> Path | None:
    """Return the plan file whose declaration counts for a task; None when none declares its scope."""
    return next((path for path, declared, _ in _declarations(Path(repo_dir)) if declared == task_id), None)


def _declarations(repo_dir: Path) -> Iterator[tuple[Path, str, tuple[str, ...]]]:
    plans = repo_dir / PLANS_DIR
    try:
        names = list_names(plans)
    except InputError:
        return
    for name in names:
        path = plans / name / TASKS_NAME
        try:
            node = parse(read_file(path))
            tasks = [] if node is None else Reader().struct(node, _PLAN).get("tasks", [])
        except (InputError, FileNotFoundError):
            continue
        for task in tasks:
            if task.get("write_scope"):
                yield path, task.get("id", ""), tuple(task["write_scope"])
