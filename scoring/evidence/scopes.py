"""The door to declared task scopes: ``.agents/workflow/plans/*/TASKS.yaml`` (contract section 1.3)."""

from pathlib import Path

from scoring.errors import InputError
from scoring.evidence.files import list_names, read_file
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
    plans = Path(repo_dir) / PLANS_DIR
    scopes: dict[str, tuple[str, ...]] = {}
    try:
        names = list_names(plans)
    except InputError:
        return scopes
    for name in names:
        try:
            node = parse(read_file(plans / name / TASKS_NAME))
            tasks = [] if node is None else Reader().struct(node, _PLAN).get("tasks", [])
        except (InputError, FileNotFoundError):
            continue
        for task in tasks:
            if task.get("write_scope"):
                scopes.setdefault(task.get("id", ""), tuple(task["write_scope"]))
    return scopes
