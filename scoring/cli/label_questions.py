"""What ``da-score label N`` shows and asks on a terminal: the change, how its score came about, and four questions."""

from contextlib import closing, suppress
from typing import Any

import click
from msgspec.structs import replace

from scoring.cli.output import say, show, write
from scoring.cli.reading import log_view
from scoring.errors import GitError
from scoring.evidence.git.repository import GitRepository
from scoring.evidence.git.starter import as_text
from scoring.evidence.labels import HALLUCINATIONS, SCOPES
from scoring.log.settings import Settings
from scoring.sidecars.scores import iteration_score_path
from scoring.text import cut, printable
from scoring.views.examined import Examined
from scoring.views.score_pages import iteration_page

_DIFF_LIMIT, _DIFF_LINES, _LINE_WIDTH = 1 << 20, 200, 200
"""How much of a change is read, in bytes, and how much of that is shown, in lines and characters of a line."""


def asked(iteration: int, actor: str, settings: Settings) -> dict[str, Any]:
    """Show an iteration, and return the answers; None where a question is passed over."""
    for one in replace(log_view(settings), only=iteration).examine():
        _show_change(one, settings)
        show(iteration_page(one.score, (), iteration_score_path(settings.iter_log_dir, iteration)))
    say(f"\nLabel iteration {iteration} as {printable(actor)}; Enter passes a question over.\n")
    correctness = _choice("Correctness, 0 to 3 (best)", ("0", "1", "2", "3"))
    return {
        "correctness": None if correctness is None else int(correctness),
        "scope": _choice("Scope", SCOPES[::-1]),
        "hallucination": _choice("Hallucination", HALLUCINATIONS[::-1]),
        "note": _answer("Note"),
    }


def _show_change(one: Examined, settings: Settings) -> None:
    """Show the beginning of what the commit of an iteration changed."""
    if not (sha := one.facts.landing.sha):
        say("The commit of this iteration does not resolve here; there is no change to show.\n\n")
        return
    how = ("--no-color", "--no-ext-diff", "--no-textconv", "--stat", "--patch", "--format=medium")
    shown = b""
    with suppress(GitError), closing(GitRepository(settings.repo_dir).pieces("show", *how, sha)) as pieces:
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
