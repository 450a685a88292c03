"""The columns and cells that pages of scores share."""

from rubric import Bounds
from rubric.breakdown import Coverage
from scoring.views.table import Cell, Column, band_text, number

BAND_STYLES = {"excellent": "bold green", "good": "green", "fair": "yellow", "poor": "red"}
BAND_STYLES |= {"insufficient": "dim", "unscored": "dim"}

ITER = Column("ITER", width=6, right=True)
SCORE = Column("SCORE", width=9, right=True)
BAND = Column("BAND", width=0)
BOUNDS = Column("BOUNDS", only="terminal")
INTERVAL = Column("95 %", only="terminal")
COVERAGE = Column("COVERAGE", only="full")
TASK = Column("TASK", width=12, cut=True)


def band_cell(band: str) -> Cell:
    """Return a band as a cell, in its colour and by the name that people read."""
    return Cell(band, band_text(band), BAND_STYLES.get(band, ""), brief=band)


def bounds_text(bounds: Bounds | None, scored: bool = True) -> str:
    """Return what the absent signals could make of a value, as a terminal shows it beside the value."""
    return f"({bounds.low:.2f}–{bounds.high:.2f})" if bounds and scored else ""


def coverage_cell(coverage: Coverage) -> Cell:
    """Return what a score rests on as a cell, in brief ``6/8 · 83 %``."""
    return Cell(None, str(coverage), brief=f"{coverage.present}/{coverage.total} · {coverage.weight * 100:.0f} %")


def value_text(value: float, scored: bool, bounds: Bounds | None) -> str:
    """Return a value with its bounds, as a terminal shows both."""
    return f"{number(value, scored)}  {bounds_text(bounds, scored)}".rstrip()
