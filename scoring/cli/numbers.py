"""Numbers that options take."""

import math
from typing import Any

import click


class Number(click.FloatRange):
    """A number in a range; not-a-number, which no comparison holds back, lies in none."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Return a value as a number; raise click's error where it is none in the range."""
        number: float = super().convert(value, param, ctx)
        if math.isnan(number):
            self.fail(f"{value!r} is not a number.", param, ctx)
        return number


SHARE = Number(0, 1)
"""From 0 to 1."""
