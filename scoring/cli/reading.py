"""Which logs a command reads, from where it takes evidence, and under which rules."""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from msgspec.structs import replace

from rubric import Rubric, find_rubric, rubric_behind
from scoring.cli.app import swept
from scoring.cli.group import BROKEN
from scoring.cli.output import complain, warn
from scoring.errors import GitError, LogError, NotFoundError, SettingsError, Warn, silent
from scoring.evidence.rules import RULES, EvidenceRules, Options, Sources, options_of, rules_of
from scoring.log.find import FoundLog, find_logs
from scoring.log.load import load_iteration_log
from scoring.log.selection import Selection
from scoring.log.settings import Settings, cache_dir_of, days_of, resolve_settings
from scoring.text import short

if TYPE_CHECKING:
    from scoring.evidence.facts import IterationFacts
    from scoring.examine import LogView
    from scoring.outcomes.outcome import OutcomeRules
    from scoring.sidecars.fingerprint import Meaning
    from scoring.sidecars.scores import PersistedScore
    from scoring.views.columns import DataRow

_EVERYTHING = Selection()
_SHA_DIGITS = 7  # fewer of them name no commit


def settings_of_whole(options: Mapping[str, Any], files: bool = True) -> Settings:
    """Return the settings for a whole repository, and not for a folder in it, for a command that makes files there."""
    from scoring.evidence.git.repository import (
        GitRepository,
    )  # other commands begin before it is loaded

    settings = swept(resolve_settings(options, files=files))
    try:
        top = GitRepository(settings.repo_dir).top_level
    except GitError:  # the code that needs the repository says so
        return settings
    if top.samefile(settings.repo_dir):
        return settings
    return resolve_settings({**options, "repo-dir": top}, files=files)


def sources(
    settings: Settings,
    rules: EvidenceRules | None = None,
    warn: Warn = warn,
    hinted: Sequence[Path] = (),
) -> Sources:
    """Return where evidence comes from under some settings, by default those of their rubric; RubricError."""
    rules = rules or rules_of(find_rubric(settings.rubric))
    how = options(settings, rules, warn)
    return Sources.under(rules, settings.repo_dir, settings.transcript_dirs, how, hinted)


def sources_of_each(rubrics: Sequence[Rubric], settings: Settings) -> dict[str, Sources]:
    """Return where evidence comes from, by rules, for the rubrics; a setting that only some know has an effect."""
    names = {rubric.evidence for rubric in rubrics}
    places = settings.repo_dir, settings.transcript_dirs
    hows = {
        name: options(settings, RULES[name], warn if len(names) == 1 else silent) for name in names
    }
    return {
        name: Sources.under(RULES[name], *places, {**how, "warn": warn})
        for name, how in hows.items()
    }


def options(settings: Settings, rules: EvidenceRules | None = None, warn: Warn = warn) -> Options:
    """Return the same as the options of a library function; raises as :func:`sources`."""
    rules = rules or rules_of(find_rubric(settings.rubric))
    for text in without_effect(settings, rules):
        warn(text)
    return {**options_of(settings), "warn": warn}


def without_effect(settings: Settings, rules: EvidenceRules) -> list[str]:
    """Return a warning for every setting that some evidence rules do not know."""
    if rules.as_observed:
        return []
    where = f"rubric {settings.rubric} gives iterations no lines of their own"
    named = {"worktrees": settings.worktrees, "test-commands": settings.test_commands}
    texts = [f"{where}: the setting {name} has no effect" for name, value in named.items() if value]
    where = f"rubric {settings.rubric} has the evidence rules of the reference"
    if settings.trunk is not None:
        texts.append(
            f"{where}, where the trunk is the local branch master: trunk {settings.trunk!r} has no effect"
        )
    if settings.transcripts == "auto":
        texts.append(
            f"{where}, which know no default transcript directories: name folders with --transcript-dir"
        )
    return texts


def settings_of(log: FoundLog, options: Mapping[str, Any]) -> Settings:
    """Return the settings of the repository that a log is about; NotARepositoryError where nothing says which it is."""
    from scoring.evidence.git.repository import GitRepository

    repository = (
        options.get("repo-dir") or log.repo_dir or GitRepository(log.iter_log_dir).top_level
    )
    return swept(resolve_settings({**options, "repo-dir": repository}))


def outcome_rules(settings: Settings) -> "OutcomeRules":
    """Return how outcomes are measured under some settings."""
    from scoring.outcomes.outcome import FIX_WORDS, OutcomeRules

    return OutcomeRules(
        days_of(settings.horizon), settings.code_globs, settings.fix_words or FIX_WORDS
    )


def broken_entries(*texts: str | LogError) -> None:
    """Say which entries are left out because they cannot be read, each once; the command then exits with 1."""
    said: dict[str, None] = click.get_current_context().meta.setdefault(BROKEN, {})
    for text in map(str, texts):
        if text not in said:
            said[text] = None
            complain(text)


def stop_if_left_out(log_dir: Path, iteration: int) -> None:
    """End the command, with 1, where the entry of an iteration is one of those that :func:`broken_entries` said."""
    context = click.get_current_context()
    entry = re.compile(rf"{re.escape(str(log_dir))}/iter-0*{iteration}\.yaml: ")
    if any(map(entry.match, context.meta.get(BROKEN, {}))):
        context.exit(1)


def iteration_named(text: str, settings: Settings) -> int:
    """Return the iteration of a number, ``last``, a commit or a session; NotFoundError, SettingsError."""
    from scoring.evidence.git.repository import GitRepository
    from scoring.evidence.git.walk import named_commits

    if re.fullmatch(r"-?[0-9]+", text):
        return int(text)
    records = load_iteration_log(settings.iter_log_dir, broken=broken_entries)
    repository = GitRepository(settings.repo_dir)
    shas = repository.resolve([*(record.commit.strip() for record in records), text])
    if len(text) < _SHA_DIGITS and (shas[text] or "").startswith(text):
        shas[text] = None
    if text == "last" and records:
        times = {
            sha: one.time or 0
            for sha, one in named_commits(repository, filter(None, shas.values())).items()
        }
        return max(
            (times.get(shas[one.commit.strip()] or "", 0), one.iteration) for one in records
        )[1]
    found = [
        one.iteration for one in records if shas[text] and shas[one.commit.strip()] == shas[text]
    ]
    if found:
        return found[0]  # it counts for the lowest
    sessions = {
        one.agent.session_id: one.iteration
        for one in records
        if one.agent.session_id.startswith(text)
    }
    if len(sessions) > 1 and text not in sessions:
        raise SettingsError(f"several sessions begin with {text!r}: {', '.join([*sessions][:5])}")
    if not sessions:
        what = f"no iteration, commit or session is called {text!r}"
        what = f"commit {short(sha)} has no entry here" if (sha := shas[text]) else what
        raise NotFoundError(
            f"{settings.iter_log_dir}: {what}; name one by number, last, SHA, branch or session"
        )
    return sessions.get(text) or max(sessions.values())


def log_view(
    settings: Settings,
    recompute: bool = False,
    selection: Selection = _EVERYTHING,
    outcomes: bool = False,
) -> "LogView":
    """Return the one log that some settings name, with ``outcomes`` also what became of its work."""
    from scoring.examine import LogView

    log = settings.iter_log_dir, settings.repo_dir, settings.transcript_dirs
    rubric, how = find_rubric(settings.rubric), options(settings)
    rules = outcome_rules(settings) if outcomes else None
    return LogView(
        *log,
        rubric,
        recompute,
        selection=selection,
        options=how,
        broken=broken_entries,
        outcomes=rules,
    )


def view_under(version: str, settings: Settings, selection: Selection) -> "LogView":
    """Return some iterations of a log under a released rubric, or that of the settings where this is none; silently."""
    from scoring.examine import LogView

    rubric = rubric_behind(version, settings.rubric)
    how = options(settings, RULES[rubric.evidence], silent)
    log = settings.iter_log_dir, settings.repo_dir, settings.transcript_dirs
    return LogView(*log, rubric, selection=selection, options=how)


def scores_about(settings: Settings, version: str) -> tuple[object, ...]:
    """Return whose meaning is kept: the scores of a log under a rubric, for outcomes by some rules."""
    return settings.iter_log_dir.resolve(), version, outcome_rules(settings)


def meaning_of(
    settings: Settings, version: str, scores: "Iterable[tuple[PersistedScore, IterationFacts]]"
) -> "Meaning":
    """Return what is known of whether some scores under a rubric foretell what becomes of the work."""
    from scoring.sidecars.fingerprint import kept_meaning, score_mark

    marks = [score_mark(score, facts) for score, facts in scores]
    return kept_meaning(cache_dir_of(settings), scores_about(settings, version), marks)


def rows_of(
    roots: Sequence[Path],
    options: Mapping[str, Any],
    recompute: bool,
    selection: Selection,
    tables: Collection[str],
) -> "Iterator[tuple[str, DataRow]]":
    """Return the rows of tables of the logs below some roots, or of the options' log; InputError where one has none."""
    from scoring.views.columns import rows_of_view

    found = find_logs(roots) if roots else ()
    each = [replace(settings_of(log, options), iter_log_dir=log.iter_log_dir) for log in found]
    views = [
        log_view(one, recompute, selection, outcomes=True)
        for one in each or [swept(resolve_settings(options))]
    ]
    return (row for view in views for row in rows_of_view(view, tables))
