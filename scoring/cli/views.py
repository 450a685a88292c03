"""Which logs a command goes through, each under the settings of its own repository."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from rubric import find_rubric
from scoring.cli.reading import options as evidence_options
from scoring.cli.reading import settings_of
from scoring.log.find import FoundLog, find_logs
from scoring.log.settings import Settings, resolve_settings
from scoring.views.columns import DataRow, table_rows
from scoring.views.examined import LogView


def log_view(settings: Settings, recompute: bool = False, last: int | None = None) -> LogView:
    """Return the one log that some settings name.

    Raises:
        RubricError: its rubric cannot be used.
    """
    return LogView(
        settings.iter_log_dir,
        settings.repo_dir,
        settings.transcript_dirs,
        find_rubric(settings.rubric),
        recompute,
        last,
        options=evidence_options(settings),
    )


def log_views(roots: Sequence[Path], options: Mapping[str, Any], recompute: bool = False) -> list[LogView]:
    """Return the logs below some roots, or without roots the one that the options name.

    Raises:
        InputError: a root does not exist or holds no log.
        NotARepositoryError, RubricError, SettingsError: a log cannot be gone through.
    """
    if not roots:
        return [log_view(resolve_settings(options), recompute)]
    return [_view_of(found, options, recompute) for found in find_logs(roots)]


def _view_of(found: FoundLog, options: Mapping[str, Any], recompute: bool) -> LogView:
    return replace(log_view(settings_of(found, options), recompute), iter_log_dir=found.iter_log_dir)


def rows_of(views: Iterable[LogView]) -> Iterator[tuple[str, DataRow]]:
    """Yield the rows of every table of some logs, each with the name of its table."""
    for view in views:
        yield from table_rows(view.iter_log_dir, view.rubric, view.examine())
