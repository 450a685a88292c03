"""How commands read transcripts: warnings to standard error, and the index in the user's cache directory."""

from pathlib import Path

from scoring.cli.output import warn
from scoring.evidence.transcripts.scan import Reading
from scoring.settings import Settings


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
