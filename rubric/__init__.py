"""The outcome-scoring rubric: data (``versions/*.yaml``) and its model.

It knows nothing of logs, git or transcripts. A name is loaded when it is first asked for, so that
a command that only wants the version loads no model.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .breakdown import *  # noqa: F403
    from .datafiles import *  # noqa: F403
    from .model import *  # noqa: F403
    from .registry import *  # noqa: F403

# Each imports only from those before it.
_MODULES = ("datafiles", "breakdown", "model", "registry")


def __getattr__(name: str) -> Any:
    if not name.startswith("_"):
        for module in _MODULES:
            names = vars(import_module(f"rubric.{module}"))
            if name in names:
                return globals().setdefault(name, names[name])
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
