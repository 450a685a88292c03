"""How commands read transcripts: warnings to standard error, and the index in the user's cache directory."""

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scoring.cli.output import warn
from scoring.evidence.transcripts.scan import Reading
from scoring.settings import Settings, resolve_settings

if TYPE_CHECKING:
    from scoring.analysis.columns import Row
    from scoring.analysis.examined import LogView


def reading(settings: Settings) -> Reading:
    """Return how transcripts are read under some settings."""
    return {"warn": warn, "cache_dir": cache_dir(settings), "processes": settings.processes}


def cache_dir(settings: Settings) -> Path | None:
    """Return where the cache lies; None when there is to be none."""
    if settings.no_cache:
        return None
    if settings.cache_dir:
        return settings.cache_dir
    from platformdirs import user_cache_path  # a cache directory that is named does not pay for it

    return user_cache_path("da-score", appauthor=False)


def rows_of(views: "Iterable[LogView]", options: Mapping[str, Any]) -> "Iterator[tuple[str, Row]]":
    """Yield the rows of every table of some logs, each with the name of its table."""
    from rubric import default_rubric
    from scoring.analysis.tables import table_rows

    how = reading(resolve_settings(options))
    for view in views:
        yield from table_rows(view.iter_log_dir, view.rubric or default_rubric(), view.examine(**how))
