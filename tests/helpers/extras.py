"""What is installed, found out without importing it: every run collects every file of tests."""

from importlib.util import find_spec

import pytest


def needs(*packages: str) -> pytest.MarkDecorator:
    """Skip tests where one of these packages is not installed."""
    missing = [name for name in packages if find_spec(name) is None]
    return pytest.mark.skipif(
        bool(missing), reason=f"not installed: {', '.join(missing)}"
    )
