"""What became of each piece of coding agents' work, and how good it was, with explainable scores.

The way through the package: files on disk → :mod:`scoring.log` → :mod:`scoring.evidence` →
:mod:`scoring.signals` → :mod:`rubric` → :mod:`scoring.sidecars` → :mod:`scoring.views` and
:mod:`scoring.jobs`. ``docs/ARCHITECTURE.md`` draws it.

The public names are those of :mod:`scoring.api`, which is loaded when the first of them is used,
so that a command loads only what it needs.

>>> from scoring import score_log
>>> log = score_log(".agents/active/iteration-log", ".")            # doctest: +SKIP
>>> [(i.score.iteration, i.score.value, i.score.band) for i in log.iterations]  # doctest: +SKIP
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.2.0"

if TYPE_CHECKING:
    from .api import *  # noqa: F403 - its names are the public ones


def __getattr__(name: str) -> Any:
    if name.startswith("__") and name != "__all__":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    public = vars(import_module("scoring.api"))
    if name == "__all__":
        return __dir__()
    if name not in public:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return globals().setdefault(name, public[name])


def __dir__() -> list[str]:
    return sorted(
        name for name in vars(import_module("scoring.api")) if not name.startswith("_")
    )
