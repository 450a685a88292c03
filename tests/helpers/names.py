"""What the documents name by dotted paths."""

import importlib
from typing import Any


def look_up(dotted: str) -> Any:
    """Return what a dotted path of modules and attributes names, or None."""
    parts = dotted.split(".")
    found: Any = importlib.import_module(parts[0])
    for n, part in enumerate(parts[1:], start=2):
        if not hasattr(found, part):
            try:
                importlib.import_module(".".join(parts[:n]))
            except ModuleNotFoundError:
                return None
        found = getattr(found, part)
    return found
