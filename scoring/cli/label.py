"""``da-score label``: people judge iterations, and their judgments are imported and compared."""

import os
import sys
from collections.abc import Collection
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import click

from scoring.errors import GitError, InputError
from scoring.evidence.git.repository import GitRepository
from scoring.evidence.git.starter import as_text
from scoring.evidence.labels import HALLUCINATIONS, SCOPES, Judgment, label_facts
from scoring.examine import ExaminedIteration
from scoring.frozen import PlainData, Texts
from scoring.jobs.label_file import NewLabel, add_labels
from scoring.log.load import load_iteration_log, no_such_entry
from scoring.log.selection import Selection
from scoring.log.settings import Settings
from scoring.sidecars.scores import iteration_score_path
from scoring.text import counted, cut, printable, short
from scoring.views import labeled
from scoring.views.label_agreement import agreement_of, agreement_page
from scoring.views.score_pages import iteration_page

from .group import DefaultCommand, GroupWithDefault
from .iteration_names import complete_iterations, iteration_named
from .options import (
    LOG_OPTIONS,
    PATH,
    SCORING_OPTIONS,
    Whole,
    choice,
    selection_options,
    settings_options,
    valued,
)
from .output import (
    complain,
    complain_of_fault,
    is_terminal,
    on_terminal,
    progress,
    reply,
    say,
    show,
    warn,
    write,
)
from .reading import log_view

_DIFF_BYTES = 1 << 20
_DIFF_LINES = 200
_DIFF_COLUMNS = 200
"""How much of a change is read and shown: bytes, lines, and characters of a line."""

_SHOW_OPTIONS = (
    "--no-color",
    "--no-ext-diff",
    "--no-textconv",
    "--stat",
    "--patch",
    "--format=medium",
)

_AS_OPTION = valued(
    "--as",
    "NAME",
    "Whose judgment it is.  [default: git's user.name, or USER]",
    key="actor",
)


@click.command("label", cls=DefaultCommand)
@click.argument("name", metavar="N", shell_complete=complete_iterations)
@_AS_OPTION
@valued(
    "--correctness", "0..3", "How correct the work is; 3 is best.", type=Whole(0, 3)
)
@choice("--scope", SCOPES[::-1], "Whether it did what was asked, and only that.")
@choice("--hallucination", HALLUCINATIONS[::-1], "How much of it is made up.")
@valued("--note", "TEXT", "Why, in at most 4,000 bytes.")
@settings_options(*SCORING_OPTIONS)
def label_one(
    name: str,
    actor: str | None,
    settings: Settings,
    **answers: Any,
) -> None:
    """Label one iteration."""
    iteration = iteration_named(name, settings)
    if iteration not in _iterations(settings):
        raise no_such_entry(settings.iter_log_dir, iteration)

    asks = _has_no_answer(answers)
    if asks and not (on_terminal() and is_terminal(sys.stdin)):
        raise click.UsageError(
            "Nothing to say: give --correctness, --scope, --hallucination or --note; "
            "on a terminal it asks."
        )
    actor = _actor_or_default(actor, settings)

    if asks:
        answers = _ask(iteration, actor, settings)
        if _has_no_answer(answers):
            say("Nothing was answered, so nothing was written.\n")
            return

    note = answers.pop("note")
    label = NewLabel(iteration, actor, Judgment(**answers), note)
    if problem := label.problem():
        raise InputError(problem)
    (path,) = add_labels(settings.iter_log_dir, [label])

    facts = label_facts(settings.iter_log_dir, iteration)
    rows = labeled.label_rows(iteration, facts.labels or ())
    newest = [row for row in rows if row["actor"] == actor][-1]
    text = f"{printable(path)}: labeled by {printable(actor)}\n"
    reply(settings, newest | {"path": path}, text)


@click.group(
    "label",
    cls=GroupWithDefault,
    default=label_one,
    usage="N",
)
def command() -> None:
    """Record your judgment of iteration N, or look at labels.

    On a terminal, without a value, shows the change and the breakdown of the score, and asks. Your
    first label of an iteration needs --correctness, --scope and --hallucination. If you label it
    again, what you give is changed and the rest is kept; the file keeps the history. Labels are
    in iter-N.labels.yaml next to the entry, and vote as human_label since rubric 3.0.0.

    Example:  da-score label 3 --correctness 3 --scope on-target --hallucination none
    """


@command.command("import")
@click.argument("file", type=PATH)
@_AS_OPTION
@settings_options(*LOG_OPTIONS)
def import_(file: Path, actor: str | None, settings: Settings) -> int | None:
    """Take labels from a CSV or JSONL file: all of them, or none.

    Columns, or keys: iteration, actor, correctness, scope, hallucination, note. A row without an
    actor is yours. If a row cannot be taken, prints its line and why, and imports nothing.

    Example:  da-score label import labels.csv --as ann
    """
    from scoring.jobs.label_import import read_rows  # loads pydantic

    labels, faults = read_rows(
        file, _iterations(settings), _actor_or_default(actor, settings)
    )
    if faults:
        for fault in faults:
            complain_of_fault(fault)
        complain(f"{file}: {counted(len(faults), 'fault')}, so nothing was imported")
        return 1

    paths = add_labels(settings.iter_log_dir, labels)
    value = {"labels": len(labels), "written": paths}
    text = (
        f"Imported {counted(len(labels), 'label')} into {counted(len(paths), 'file')}\n"
    )
    reply(settings, value, text)
    return None


@command.command("list")
@settings_options(*LOG_OPTIONS)
@selection_options
def list_(settings: Settings, selection: Selection) -> None:
    """List the labels of the log.

    Example:  da-score label list --json
    """
    labels = labeled.labels_of(
        settings.iter_log_dir, _iterations(settings, selection), warn
    )
    rows: list[PlainData] = []
    for iteration, of_iteration in labels.items():
        rows += labeled.label_rows(iteration, of_iteration)
    reply(settings, rows, labeled.list_page(rows))


@command.command("next")
@valued(
    "--as",
    "NAME",
    "Also offer iterations that others have labeled and NAME has not.",
    key="actor",
)
@settings_options(*SCORING_OPTIONS)
def next_(actor: str | None, settings: Settings) -> None:
    """Name the iteration without a label that teaches most.

    That is one with a score far from those of its neighbors. Of several, it is one that rests
    on little evidence, and then the oldest.

    Example:  da-score label next --as ann
    """
    with progress("Scoring the log"):
        scores = [
            (each.score, each.record.task_id) for each in log_view(settings).examine()
        ]
    iterations = [score.iteration for score, _ in scores]
    labels = labeled.labels_of(settings.iter_log_dir, iterations, warn)
    waiting = labeled.candidates(scores, labels, actor)

    first = waiting[0] if waiting else {"iteration": None}
    value = first | {"waiting": len(waiting), "total": len(scores)}
    reply(settings, value, labeled.next_page(waiting, len(scores)))


@command.command
@settings_options(*SCORING_OPTIONS)
def agreement(settings: Settings) -> None:
    """Measure how far people agree, and how far the score agrees with them.

    Prints Krippendorff's alpha for each judgment, Cohen's weighted kappa for each two people,
    and the rank correlation of the score with the labels, each with a 95 % bootstrap interval.

    Example:  da-score label agreement --json
    """
    scores = [each.score for each in log_view(settings).examine()]
    iterations = [score.iteration for score in scores]
    labels = labeled.labels_of(settings.iter_log_dir, iterations, warn)

    result = agreement_of(labels, scores)
    reply(settings, result.as_dict(), agreement_page(result))


def _iterations(
    settings: Settings, selection: Selection | None = None
) -> Collection[int]:
    """Return the numbers of the iterations of the log, or of the selected ones, in its order.

    There is a warning for each entry that cannot be read.
    """
    records = load_iteration_log(settings.iter_log_dir, broken=lambda e: warn(str(e)))
    if selection:
        records = selection.select(records)
    return dict.fromkeys(record.iteration for record in records)


def _actor_or_default(actor: str | None, settings: Settings) -> str:
    """Return the given name, else git's name of the user, else the name in USER.

    Raises:
        click.UsageError: none of them gives a name.
    """
    if actor is not None:
        return actor.strip()

    from scoring.own_repository import own_name  # loads GitPython

    name = ""
    with suppress(GitError):
        name = own_name(settings.repo_dir)
    name = name or os.environ.get("USER", "").strip()
    if name:
        return name
    raise click.UsageError(
        "There is no name to label under: give --as NAME, or set git's user.name."
    )


# Asking on a terminal


def _has_no_answer(answers: PlainData) -> bool:
    return all(value is None for value in answers.values())


def _ask(iteration: int, actor: str, settings: Settings) -> PlainData:
    """Show an iteration, ask about it, and return the answers by the names of their options.

    The answer to a skipped question is None. The result is empty if a person who has not labeled
    the iteration before skips the first question.
    """
    for examined in log_view(
        settings, selection=Selection(only=(iteration,))
    ).examine():
        _show_change(examined, settings)
        sidecar = iteration_score_path(settings.iter_log_dir, iteration)
        show(iteration_page(examined.score, (), sidecar))

    labels = label_facts(settings.iter_log_dir, iteration).labels or ()
    is_first = all(label.actor != actor for label in labels)
    hint = "Enter stops" if is_first else "Enter keeps what you said before"
    say(f"\nLabel iteration {iteration} as {printable(actor)}; {hint}.\n")

    correctness = _ask_choice("Correctness, 0 to 3 (best)", ("0", "1", "2", "3"))
    if is_first and correctness is None:
        return {}
    return {
        "correctness": None if correctness is None else int(correctness),
        "scope": _ask_choice("Scope", SCOPES[::-1], needed=is_first),
        "hallucination": _ask_choice(
            "Hallucination", HALLUCINATIONS[::-1], needed=is_first
        ),
        "note": _ask_text("Note"),
    }


def _show_change(examined: ExaminedIteration, settings: Settings) -> None:
    """Print the commit of an iteration with its diff, cut after some lines, or that it is gone."""
    sha = examined.facts.landing.sha
    if not sha:
        say(
            "The commit of this iteration is not in this repository; "
            "there is no change to show.\n\n"
        )
        return

    # If git fails, what it printed before is shown.
    repository = GitRepository(settings.repo_dir)
    data = b""
    with (
        suppress(GitError),
        closing(repository.chunks("show", *_SHOW_OPTIONS, sha)) as pieces,
    ):
        for piece in pieces:
            data += piece
            if len(data) >= _DIFF_BYTES:
                break

    lines = as_text(data[:_DIFF_BYTES]).split("\n")
    for line in lines[:_DIFF_LINES]:
        write(cut(printable(line.expandtabs(4)), _DIFF_COLUMNS) + "\n")
    if len(lines) > _DIFF_LINES:
        whole = f"git show {short(sha)}"
        say(f"… cut after {_DIFF_LINES} lines; '{whole}' shows all of it\n")
    write("\n")


def _ask_choice(question: str, words: Texts, needed: bool = False) -> str | None:
    """Ask until the answer is one of some words, or the beginning of only one, and return the word.

    Args:
        question: the question.
        words: the words.
        needed: whether to ask again after an empty answer, which is returned as None otherwise.
    """
    while True:
        answer = _ask_text(f"{question} [{'/'.join(words)}]")
        if answer in words or (answer is None and not needed):
            return answer

        meant = [word for word in words if answer and word.startswith(answer)]
        if len(meant) == 1:
            return meant[0]
        say(f"One of {', '.join(words)}.\n")


def _ask_text(question: str) -> str | None:
    """Ask once, and return the answer, or None if it is empty."""
    text: str = click.prompt(question, default="", show_default=False)
    return text.strip() or None
