"""Explainable quality scores for the iterations of a coding agent.

The way through the package: files on disk → :mod:`scoring.evidence` → :mod:`scoring.records` →
:mod:`scoring.signals` → :mod:`rubric` → :mod:`scoring.sidecars`. The public names are listed in ``__init__.pyi``, for
type checkers and for the loader below, which imports a name when it is first used: a command pays only for what it
needs.

>>> from scoring import score_log
>>> log = score_log(".agents/active/iteration-log", ".")            # doctest: +SKIP
>>> [(i.score.iteration, i.score.value, i.score.band) for i in log.iterations]  # doctest: +SKIP
"""

import functools
import importlib
from pathlib import Path
from typing import Any


@functools.cache
def _homes() -> dict[str, str]:
    """Return the module of each public name."""
    import ast  # the command line never gets here

    stub = ast.parse(Path(__file__).with_suffix(".pyi").read_text("utf-8"))
    return {
        alias.name: node.module
        for node in stub.body
        if isinstance(node, ast.ImportFrom) and node.module
        for alias in node.names
    }


def __getattr__(name: str) -> Any:
    if name == "__all__":
        return sorted(_homes())
    if name.startswith("_") or name not in _homes():
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module(_homes()[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_homes()})
