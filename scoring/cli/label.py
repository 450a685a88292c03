"""``da-score label``: people judge iterations, and their judgements are imported, listed and compared."""

import os
import sys
from collections.abc import Collection
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import click

from scoring.cli import app
from scoring.cli.completion import complete_iterations
from scoring.cli.output import complain, on_terminal, reply, say, show, warn, write, write_json
from scoring.cli.reading import iteration_named, log_view
from scoring.errors import GitError, InputError
from scoring.evidence.git.repository import GitRepository
from scoring.evidence.git.starter import as_text
from scoring.evidence.labels import HALLUCINATIONS, SCOPES, Judgement, label_facts
from scoring.examine import ExaminedIteration
from scoring.jobs.label_file import NewLabel, add_labels
from scoring.log.load import load_iteration_log, no_such_entry
from scoring.log.selection import Selection
from scoring.log.settings import Settings
from scoring.sidecars.scores import iteration_score_path
from scoring.text import counted, cut, printable
from scoring.views import labelled
from scoring.views.score_pages import iteration_page

_MOST_FAULTS = 50

_AS = click.option(
    "--as",
    "actor",
    metavar="NAME",
    help="Whose judgement it is.  [default: git's user.name, or USER]",
)


@click.command("label", cls=app.OwnCommand)
@click.argument("named", metavar="N", shell_complete=complete_iterations)
@_AS
@click.option(
    "--correctness",
    type=app.Whole(0, 3),
    metavar="0..3",
    help="How correct the work is; 3 is best.",
)
@click.option(
    "--scope", type=click.Choice(SCOPES[::-1]), help="Whether it did what was asked, and only that."
)
@click.option(
    "--hallucination", type=click.Choice(HALLUCINATIONS[::-1]), help="How much of it is made up."
)
@click.option("--note", metavar="TEXT", help="Why, in at most 4,000 bytes.")
@click.option("--override", is_flag=True, hidden=True)
@app.settings_options(*app.SCORING_OPTIONS)
def label_one(
    named: str, actor: str | None, override: bool, settings: Settings, **given: Any
) -> None:
    """Label one iteration."""
    if override:
        raise click.UsageError(
            "--override was removed; write admin_override: true into the label by hand."
        )
    asks = all(value is None for value in given.values())
    if asks and not (on_terminal() and sys.stdin is not None and sys.stdin.isatty()):
        raise click.UsageError(
            "Nothing to say: give --correctness, --scope, --hallucination or --note; on a terminal it asks."
        )
    iteration = iteration_named(named, settings)
    if iteration not in _iterations(settings):
        raise no_such_entry(settings.iter_log_dir, iteration)
    who = _actor(actor, settings)
    if asks:
        given = asked(iteration, who, settings)
        if all(value is None for value in given.values()):
            say("Nothing was answered, so nothing was written.\n")
            return
    note, judgement = given.pop("note"), Judgement(**given)
    label = NewLabel(iteration, who, judgement, note)
    if problem := label.problem():
        raise InputError(problem)
    (path,) = add_labels(settings.iter_log_dir, [label])
    if settings.json:
        rows = labelled.label_rows(
            iteration, label_facts(settings.iter_log_dir, iteration).labels or ()
        )
        write_json([row for row in rows if row["actor"] == who][-1] | {"path": str(path)})
    else:
        say(f"{printable(str(path))}: labelled by {printable(who)}\n")


def _iterations(settings: Settings, selection: Selection | None = None) -> Collection[int]:
    records = load_iteration_log(settings.iter_log_dir, broken=lambda e: warn(str(e)))
    return dict.fromkeys(
        record.iteration for record in (selection.select(records) if selection else records)
    )


def _actor(given: str | None, settings: Settings) -> str:
    if given is not None:
        return given.strip()
    try:
        name = GitRepository(settings.repo_dir).user_name
    except GitError:
        name = ""
    name = name or os.environ.get("USER", "").strip()
    if not name:
        raise click.UsageError(
            "There is no name to label under: give --as NAME, or set git's user.name."
        )
    return name


@click.group(
    "label",
    cls=app.OwnGroup,
    own=label_one,
    usage="N",
    epilog="Example:  da-score label 3 --correctness 3",
)
def command() -> None:
    """Say what you think of iteration N, or look at labels.

    On a terminal, without a value, shows the change and the breakdown of the score, and asks. Labelling again changes
    what you give and keeps the rest; the file has the history. Labels are kept in iter-N.labels.yaml beside the entry,
    and vote as human_label from rubric 3.0.0 on.
    """


@command.command("import", epilog="Example:  da-score label import labels.csv --as ann")
@click.argument("file", type=app.PATH)
@_AS
@app.settings_options(*app.LOG_OPTIONS)
def import_(file: Path, actor: str | None, settings: Settings) -> int | None:
    """Take labels from a CSV or JSONL file: all of them, or none.

    Columns, or keys: iteration, actor, correctness, scope, hallucination, note. Every row that cannot
    be taken is named with its line, and then nothing is written. A row without an actor is yours.
    """
    from scoring.jobs.label_import import read_rows  # pydantic

    labels, faults = read_rows(file, _iterations(settings), _actor(actor, settings))
    for fault in faults[:_MOST_FAULTS]:
        complain(fault)
    if faults:
        more = (
            f"; {len(faults) - _MOST_FAULTS} more are not shown"
            if len(faults) > _MOST_FAULTS
            else ""
        )
        complain(f"{file}: {counted(len(faults), 'fault')}, so nothing was imported{more}")
        return 1
    written = add_labels(settings.iter_log_dir, labels)
    text = f"Imported {counted(len(labels), 'label')} into {counted(len(written), 'file')}\n"
    reply(settings.json, {"labels": len(labels), "written": list(map(str, written))}, text)
    return None


@command.command("list", epilog="Example:  da-score label list --json")
@app.settings_options(*app.LOG_OPTIONS)
@app.selection_options
def list_(settings: Settings, selection: Selection) -> None:
    """List the labels of the log."""
    found = labelled.labels_of(settings.iter_log_dir, _iterations(settings, selection), warn)
    rows = [row for n, labels in found.items() for row in labelled.label_rows(n, labels)]
    reply(settings.json, rows, labelled.list_page(rows))


@command.command("next", epilog="Example:  da-score label next --as ann")
@click.option(
    "--as", "actor", metavar="NAME", help="Also offer what others have labelled and NAME has not."
)
@app.settings_options(*app.SCORING_OPTIONS)
def next_(actor: str | None, settings: Settings) -> None:
    """Name the unlabelled iteration from which most can be learned.

    One with a score far from those of its neighbours; of several, one that rests on little evidence, then an old one.
    """
    scores = [(one.score, one.record.task_id) for one in log_view(settings).examine()]
    labels = labelled.labels_of(
        settings.iter_log_dir, [score.iteration for score, _ in scores], warn
    )
    waiting = labelled.candidates(scores, labels, actor)
    first = waiting[0] if waiting else {"iteration": None}
    value = first | {"waiting": len(waiting), "total": len(scores)}
    reply(settings.json, value, labelled.next_page(waiting, len(scores)))


@command.command("agreement", epilog="Example:  da-score label agreement --json")
@app.settings_options(*app.SCORING_OPTIONS)
def agreement(settings: Settings) -> None:
    """Measure how far people agree, and the score with them.

    Krippendorff's alpha per judgement, Cohen's weighted kappa per two people, and the rank correlation of the score
    with the labels, each with a 95 % bootstrap interval.
    """
    scores = [one.score for one in log_view(settings).examine()]
    labels = labelled.labels_of(settings.iter_log_dir, [score.iteration for score in scores], warn)
    found = labelled.agreement_of(labels, scores)
    reply(settings.json, found.as_dict(), labelled.agreement_page(found))


_DIFF_LIMIT, _DIFF_LINES, _LINE_WIDTH = (
    1 << 20,
    200,
    200,
)  # of a change: bytes read, lines shown, characters of a line


def asked(iteration: int, actor: str, settings: Settings) -> dict[str, Any]:
    """Show an iteration, and return the answers; None where a question is passed over."""
    for one in log_view(settings, selection=Selection(only=(iteration,))).examine():
        _show_change(one, settings)
        show(iteration_page(one.score, (), iteration_score_path(settings.iter_log_dir, iteration)))
    say(f"\nLabel iteration {iteration} as {printable(actor)}; Enter skips a question.\n")
    correctness = _choice("Correctness, 0 to 3 (best)", ("0", "1", "2", "3"))
    return {
        "correctness": None if correctness is None else int(correctness),
        "scope": _choice("Scope", SCOPES[::-1]),
        "hallucination": _choice("Hallucination", HALLUCINATIONS[::-1]),
        "note": _answer("Note"),
    }


def _show_change(one: ExaminedIteration, settings: Settings) -> None:
    if not (sha := one.facts.landing.sha):
        say(
            "The commit of this iteration is not in this repository; there is no change to show.\n\n"
        )
        return
    how = ("--no-color", "--no-ext-diff", "--no-textconv", "--stat", "--patch", "--format=medium")
    shown = b""
    with (
        suppress(GitError),
        closing(GitRepository(settings.repo_dir).chunks("show", *how, sha)) as pieces,
    ):
        while len(shown) < _DIFF_LIMIT and (piece := next(pieces, b"")):
            shown += piece
    lines = as_text(shown[:_DIFF_LIMIT]).split("\n")
    for line in lines[:_DIFF_LINES]:
        write(cut(printable(line.expandtabs(4)), _LINE_WIDTH) + "\n")
    if len(lines) > _DIFF_LINES:
        say(f"… cut after {_DIFF_LINES} lines; 'git show {sha[:12]}' shows all of it\n")
    write("\n")


def _choice(question: str, words: tuple[str, ...]) -> str | None:
    while True:
        answer = _answer(f"{question} [{'/'.join(words)}]")
        if answer is None or answer in words:
            return answer
        meant = [word for word in words if word.startswith(answer)]
        if len(meant) == 1:
            return meant[0]
        say(f"One of {', '.join(words)}, or nothing.\n")


def _answer(question: str) -> str | None:
    text: str = click.prompt(question, default="", show_default=False)
    return text.strip() or None
