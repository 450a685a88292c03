"""Fixtures of the tests of reports."""

from collections import defaultdict
from typing import Any

import pytest


@pytest.fixture
def without_pictures(monkeypatch: pytest.MonkeyPatch) -> None:
    """Draw nothing: drawing takes most of the time of a report."""
    pictures: dict[str, Any] = defaultdict(str, signals=defaultdict(str))
    monkeypatch.setattr("scoring.views.report.charts.pictures", lambda _: pictures)
