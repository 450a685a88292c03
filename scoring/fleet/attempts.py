"""An attempt at a repository: what is known of it, and what a worker runs, which says that it begins, and scores."""

import contextlib
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from rubric import Rubric
from scoring.fleet.fleet_toml import FleetConfig
from scoring.fleet.on_worker import Result, score_repository
from scoring.fleet.sources import Repository
from scoring.fleet.splitting import PartRead, read_part

BEGUN = "da-score-fleet-begun"
"""The topic on which workers say which attempt they begin with."""

A_WHILE = 1.0
"""After how many seconds a worker begins with no more of those that came together, and returns what it has."""


@dataclass(slots=True)
class Task:
    """One repository on its way: how often it was handed out and failed.

    ``alone`` says that it goes to a worker without others, because something happened where it was.
    """

    repository: Repository
    attempts: int = 0
    handed_out: int = 0
    lost: int = 0
    alone: bool = False


def begin_and_score(one: Repository, config: FleetConfig, rubric: Rubric, key: str, *parts: list[PartRead]) -> Result:
    """Say on a worker that an attempt begins, and score the repository."""
    begin(key)
    return score_repository(one, config, rubric, parts)


def score_some(
    score: Callable[..., Result],
    some: Sequence[Repository],
    config: FleetConfig,
    rubric: Rubric,
    key: str,
    *parts: list[PartRead],
) -> list[Result]:
    """Score repositories on a worker, one after another, and return the results of those that it came to in a while."""
    began = time.monotonic()
    found: list[Result] = []
    for number, one in enumerate(some):
        if found and time.monotonic() - began > A_WHILE:
            break
        found.append(score(one, config, rubric, f"{key}.{number}", *parts))
    return found


def begin_and_read(
    one: Repository, config: FleetConfig, rubric: Rubric, key: str, part: int, parts: int
) -> list[PartRead]:
    """Say on a worker that an attempt begins, and read one part of the transcripts."""
    begin(f"{key}.0")
    return read_part(one, config, rubric, part, parts)


def begin(key: str) -> None:
    """Say on a worker that an attempt begins."""
    from distributed import get_worker

    with contextlib.suppress(Exception):  # nothing but the count of attempts depends on it
        get_worker().log_event(BEGUN, key)
