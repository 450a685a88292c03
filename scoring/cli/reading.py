"""Which logs a command reads, where their evidence comes from, and under which rules."""

import itertools
import os
import re
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from msgspec.structs import replace

from rubric import Rubric, find_rubric, rubric_behind
from scoring.errors import GitError, LogError, Warn, silent
from scoring.evidence.rules import (
    ATTRIBUTED,
    EvidenceRules,
    Options,
    Sources,
    options_of,
    rules_of,
)
from scoring.evidence.scopes import is_code
from scoring.frozen import PlainData
from scoring.log.find import FoundLog, find_logs
from scoring.log.selection import Selection
from scoring.log.settings import Settings, resolve_settings
from scoring.outcomes.outcome_rules import outcome_rules

from .group import BROKEN_ENTRIES
from .options import prepared_settings
from .output import complain_of_fault, progress, warn

if TYPE_CHECKING:
    from scoring.examine import LogView
    from scoring.views.columns import NamedRow

_EVERYTHING = Selection()

LEFT_OUT = "it is left out"
"""What every command says of an entry that it cannot read and goes on without."""

_WARNED_ENTRIES = "da-score.warned"
"""Under this key the context of a command keeps the warnings about broken entries."""

_TRACKED_FILES = ("ls-files", "-z", "--full-name", ":/")

# Settings


def settings_of_whole_repository(options: PlainData, files: bool = True) -> Settings:
    """Return the settings for a whole repository, also when the command runs in a folder of it.

    For commands that write files into the repository. Outside of one they are as for any command.

    Args:
        options: values of options by long name; None where one was not given.
        files: whether the settings files of the repository count.

    Raises:
        SettingsError: a setting cannot be used.
    """
    # most commands load it later
    from scoring.evidence.git.repository import GitRepository

    settings = prepared_settings(options, files=files)
    try:
        top_level = GitRepository(settings.repo_dir).top_level
    except GitError:  # whatever needs the repository says so
        return settings

    if top_level.samefile(settings.repo_dir):
        return settings
    return resolve_settings({**options, "repo-dir": top_level}, files=files)


def settings_of_log(log: FoundLog, options: PlainData) -> Settings:
    """Return the settings of the repository that a log is about, with that log.

    Raises:
        NotARepositoryError: nothing says which repository that is.
        SettingsError: a setting cannot be used.
    """
    from scoring.evidence.git.repository import GitRepository

    named = options.get("repo-dir") or log.repo_dir
    repository = named or GitRepository(log.iter_log_dir).top_level
    settings = prepared_settings({**options, "repo-dir": repository})
    return replace(settings, iter_log_dir=log.iter_log_dir)


def settings_without_effect(settings: Settings, rules: EvidenceRules) -> Iterator[str]:
    """Yield a warning for each setting that has no effect under these rules of evidence."""
    if rules.as_observed:
        return

    no_lines = f"rubric {settings.rubric} gives iterations no lines of their own"
    if settings.worktrees:
        yield f"{no_lines}: the setting worktrees has no effect"
    if settings.test_commands:
        yield f"{no_lines}: the setting test-commands has no effect"
    as_reference = f"rubric {settings.rubric} has the evidence rules of the reference"
    if settings.trunk is not None:
        yield (
            f"{as_reference}, where the trunk is the local branch master: "
            f"trunk {settings.trunk!r} has no effect"
        )
    if settings.transcripts == "auto":
        yield (
            f"{as_reference}, which know no default transcript directories: "
            "name folders with --transcript-dir"
        )


def globs_without_files(settings: Settings) -> Iterator[str]:
    """Yield a warning for each pattern of code that fits no file of the repository.

    Yields nothing where git cannot list the files.
    """
    if not settings.code_globs:
        return

    # most commands load it later
    from scoring.evidence.git.repository import GitRepository

    try:
        listing = GitRepository(settings.repo_dir).run(*_TRACKED_FILES)
    except GitError:
        return
    files = os.fsdecode(listing).split("\0")
    for glob in settings.code_globs:
        if not any(is_code(path, [glob]) for path in files):
            yield (
                f"code-globs {glob!r} fits no file that git tracks: * is any part of a name and ** "
                "any folders, and every other sign is itself"
            )


# Evidence and outcomes


def rubric_of(settings: Settings) -> Rubric:
    """Return the rubric that the settings name.

    Raises:
        RubricError: the rubric is not known, or its file cannot be read or is not valid.
    """
    return find_rubric(settings.rubric)


def sources(
    settings: Settings,
    rules: EvidenceRules | None = None,
    warn: Warn = warn,
    hinted: Sequence[Path] = (),
) -> Sources:
    """Return where the evidence of a log comes from.

    Args:
        settings: the settings of the command.
        rules: how evidence is read; by default as the rubric of the settings asks.
        warn: takes a warning about settings without effect, and about what is skipped later.
        hinted: transcript folders that a harness names, read in addition to the others.

    Raises:
        RubricError: the rubric is not known, or its file cannot be read or is not valid.
    """
    if rules is None:
        rules = rules_of(rubric_of(settings))
    options = library_options(settings, rules, warn)
    return Sources.under(
        rules, settings.repo_dir, settings.transcript_dirs, options, hinted
    )


def observing_sources(
    settings: Settings, warn: Warn = warn, hinted: Sequence[Path] = ()
) -> Sources:
    """Return where evidence comes from under the rules of attribution, whatever rubric scores.

    Args:
        settings: the settings of the command.
        warn: takes a warning about settings without effect, and about what is skipped later.
        hinted: transcript folders that a harness names, read in addition to the others.
    """
    return sources(settings, ATTRIBUTED, warn, hinted)


def sources_by_rules(
    rubrics: Sequence[Rubric], settings: Settings
) -> dict[str, Sources]:
    """Return where evidence comes from under several rubrics, by the name of their rules.

    Warns of settings without effect only where all rubrics have the same rules: otherwise a
    setting that some of them ignore still affects the others.
    """
    rules_by_name = {rubric.evidence: rules_of(rubric) for rubric in rubrics}
    if len(rules_by_name) == 1:
        of_first = replace(settings, rubric=rubrics[0].version)
        return {name: sources(of_first, rules) for name, rules in rules_by_name.items()}

    options: Options = {**options_of(settings), "warn": warn}
    return {
        name: Sources.under(rules, settings.repo_dir, settings.transcript_dirs, options)
        for name, rules in rules_by_name.items()
    }


def library_options(settings: Settings, rules: EvidenceRules, warn: Warn) -> Options:
    """Return settings as the options of a library function.

    Args:
        settings: the settings of the command.
        rules: how evidence is read.
        warn: takes a warning about settings without effect, and about what is skipped later. With
            ``silent`` git is not asked for what to warn of.
    """
    if warn is not silent:
        for text in (
            *settings_without_effect(settings, rules),
            *globs_without_files(settings),
        ):
            warn(text)
    return {**options_of(settings), "warn": warn}


# Entries that cannot be read


def report_broken_entries(*errors: str | LogError) -> None:
    """Print why entries are left out, each reason once in a command.

    The exit status of the command is then 1.
    """
    for text in map(str, errors):
        if _is_new(text, BROKEN_ENTRIES):
            complain_of_fault(f"{text}; {LEFT_OUT}")


def _is_new(text: str, key: str) -> bool:
    """Return whether a message is new to this command, and note it under a key of its context."""
    known: dict[str, None] = click.get_current_context().meta.setdefault(key, {})
    is_new = text not in known
    known[text] = None
    return is_new


def warn_of_broken_entry(error: LogError) -> None:
    """Warn once that an entry is left out, for a command that can answer without entries."""
    reported = click.get_current_context().meta.get(BROKEN_ENTRIES, {})
    if str(error) not in reported and _is_new(str(error), _WARNED_ENTRIES):
        warn(f"{error}; {LEFT_OUT}")


def exit_if_broken(log_dir: Path, iteration: int) -> None:
    """End the command with status 1 if the entry of this iteration was reported as broken."""
    context = click.get_current_context()
    about_entry = re.compile(rf"{re.escape(str(log_dir))}/iter-0*{iteration}\.yaml: ")
    for text in context.meta.get(BROKEN_ENTRIES, {}):
        if about_entry.match(text):
            context.exit(1)


# Views of logs


def log_view(
    settings: Settings,
    recompute: bool = False,
    selection: Selection = _EVERYTHING,
    outcomes: bool = False,
    lenient: bool = False,
    shows_sidecars: bool = True,
) -> "LogView":
    """Return the view of the log that the settings name.

    Args:
        settings: the settings of the command.
        recompute: whether scores are computed even where there are sidecars.
        selection: which iterations the view shows.
        outcomes: whether it also says what became of the work.
        lenient: whether to warn of broken entries and go on, whatever the rubric asks.
        shows_sidecars: whether the command shows scores of sidecars, so that it warns of those
            of another rubric.

    Raises:
        RubricError: as of :func:`rubric_of`.
    """
    return _view(
        settings,
        rubric_of(settings),
        warn,
        recompute=recompute,
        selection=selection,
        broken=warn_of_broken_entry if lenient else report_broken_entries,
        lenient=lenient,
        outcomes=outcome_rules(settings) if outcomes else None,
        says_other_rubrics=shows_sidecars,
    )


def _view(settings: Settings, rubric: Rubric, warn: Warn, **more: Any) -> "LogView":
    """Return the view of the log that the settings name, under a rubric.

    Args:
        settings: the settings of the command.
        rubric: the rubric, which also chooses the rules of evidence.
        warn: takes warnings.
        more: other fields of the view.
    """
    from scoring.examine import LogView

    return LogView(
        settings.iter_log_dir,
        settings.repo_dir,
        settings.transcript_dirs,
        rubric,
        options=library_options(settings, rules_of(rubric), warn),
        **more,
    )


def silent_view(settings: Settings, version: str, selection: Selection) -> "LogView":
    """Return a view of some iterations that prints no warnings.

    Args:
        settings: the settings of the command.
        version: the version of the rubric. Where no released rubric has it, the rubric of the
            settings is used.
        selection: which iterations the view shows.

    Raises:
        RubricError: neither rubric can be used.
    """
    rubric = rubric_behind(version, settings.rubric)
    return _view(settings, rubric, silent, selection=selection)


def rows_of_logs(
    roots: Sequence[Path],
    options: PlainData,
    recompute: bool,
    selection: Selection,
    tables: Collection[str],
) -> "Iterator[NamedRow]":
    """Return the rows of tables, each with the name of its table.

    They are read when they are taken, with the errors of ``rows_of_view``.

    Args:
        roots: folders below which logs are found. Without roots, the log of the options is read.
        options: values of options by long name.
        recompute: whether scores are computed even where there are sidecars.
        selection: which iterations have rows.
        tables: the names of the tables.

    Raises:
        InputError: a root contains no log.
        NotARepositoryError, SettingsError: as of :func:`settings_of_log`.
        RubricError: as of :func:`rubric_of`.
    """
    from scoring.views.columns import rows_of_view

    all_settings = [settings_of_log(log, options) for log in find_logs(roots)]
    if not roots:
        all_settings = [prepared_settings(options)]

    views = [
        log_view(each, recompute, selection, outcomes=True) for each in all_settings
    ]
    rows = (row for view in views for row in rows_of_view(view, tables))
    return _after_reading(rows)


def _after_reading(rows: "Iterator[NamedRow]") -> "Iterator[NamedRow]":
    """Yield rows, and say on a terminal what is read until the first one comes."""
    with progress("Reading transcripts and git"):
        first = list(itertools.islice(rows, 1))
    yield from first
    yield from rows
