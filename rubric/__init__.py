"""The outcome-scoring rubric: data (``versions/*.yaml``) and its model, without logs, git or transcripts.

A name is loaded when it is first asked for: a command that only wants the version loads no model.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rubric.breakdown import *  # noqa: F403
    from rubric.datafiles import *  # noqa: F403
    from rubric.model import *  # noqa: F403
    from rubric.registry import *  # noqa: F403

_MODULES = (
    "datafiles",
    "breakdown",
    "model",
    "registry",
)  # where the names are; each imports some of those before it


def __getattr__(name: str) -> Any:
    for module in _MODULES if not name.startswith("_") else ():
        if name in (found := vars(import_module(f"rubric.{module}"))):
            return globals().setdefault(name, found[name])
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
