"""The commands with their summaries, and how help is laid out."""

from collections import ChainMap
from collections.abc import Collection, Iterable, Mapping

import click

GROUPS = {  # the commands by what they are for, in the order of the help, each with its summary
    "Start here": {
        "demo": "Make a small repository with an iteration log in DIRECTORY (a new one by default), score it, and "
        "show it.",
        "init": "Make a repository ready to be scored, after looking at it: settings, a log, the hook.",
        "run": "Say what became of the work, score every iteration and session of a log, and say what to look at.",
        "doctor": "Show what there is to score from: log, repository, trunk, transcripts, and how much each signal "
        "gets of it.",
        "explain": "Say in plain words why an iteration scored what it did.",
    },
    "Scores": {
        "iteration": "Show how the score of one iteration came about.",
        "session": "Show the score of one session that has a sidecar.",
        "signals": "Print every iteration's signals as JSON, with integrity, the objective checks and any DR "
        "transcript.",
        "integrity": "Show claimed against observed over the whole log, per role and signal.",
        "records": "Print the records of a log as JSON, both schemas in one shape.",
        "outcomes": "Say what became of the work of each iteration within the horizon.",
        "work": "Say of all work what landed, what is open, what came to nothing, and what it cost.",
        "validate": "Say whether the scores foretell what becomes of the work, in numbers and in words.",
        "label": "Say what you think of iteration N, or look at labels.",
        "rubric": "List, show, check, compare and fit rubrics.",
    },
    "Look": {
        "report": "Show what became of the work, and the log: one page of HTML to mail, publish, or open from disk.",
        "watch": "Score entries as they appear or change, a line each, until it is interrupted.",
        "query": "Ask the tables of the log, or of the logs at ROOT, in SQL.",
    },
    "Gates and data": {
        "check": "Check the scores of a log: exit 0 when all gates hold, 3 when one does not, and say which and why.",
        "export": "Write tables of the log, or of the logs at ROOT: a row per iteration, signal, claim and session.",
        "derive": "Write an entry for every commit that an agent made and no entry names.",
        "entry": "Write an entry of the log, or set a value in one.",
        "lint": "Check the entries of a log: what each holds, and what they say together.",
        "schema": "Print the JSON Schema of a file, for an editor or for an agent's instructions.",
    },
    "Jobs": {
        "close-task": "Score the iteration that was just closed (the highest, or N), and its session.",
        "backfill": "Score what is missing or out of date in the logs at ROOT: no sidecar, another rubric, or "
        "changed inputs.",
        "fleet": "Score many repositories on Dask, and keep counts, scores, ids and times of them as Parquet.",
        "hook": "Install, remove and show the hook that scores every task of an agent.",
        "completion": "Print the completion script of a shell, to be evaluated in its start-up file, or install it.",
    },
    "Meters": {
        "dr": "Say whether a deliberation still finds something new, and whether it is ready to act.",
        "meeting": "Score each round of a deliberation of several experts, and say whether it may end.",
    },
}
COMMANDS: Mapping[str, str] = ChainMap(*reversed(GROUPS.values()))  # in that order; its module has ``command``


class _Help(click.HelpFormatter):
    """Help that is folded between words only, and not inside ``da-score``."""

    def write_usage(self, prog: str, args: str = "", prefix: str | None = None) -> None:
        super().write_usage(prog.replace("-", _HYPHEN), args.replace("-", _HYPHEN), prefix)

    def write_text(self, text: str) -> None:
        super().write_text(text.replace("-", _HYPHEN))

    def write_dl(self, rows: Iterable[tuple[str, str]], col_max: int = 30, col_spacing: int = 2) -> None:
        most = col_max if self.width >= _NARROW else _NARROW // 4
        super().write_dl([(name, text.replace("-", _HYPHEN)) for name, text in rows], most, col_spacing)

    def getvalue(self) -> str:
        return super().getvalue().replace(_HYPHEN, "-")


_NARROW = 72  # help of fewer columns gives less room to the names of options, and more to what they do
_HYPHEN = "\u2011"  # a hyphen at which no line breaks


class HelpfulContext(click.Context):
    """The context of a command that folds its help like that."""

    formatter_class = _Help


def with_its_help(command: click.Command, shared: Collection[str]) -> click.Command:
    """Return a command with whole summaries, its options, and those of its commands, before the ``shared`` ones."""
    command.context_class = HelpfulContext
    command.params.sort(key=lambda param: param.name is not None and param.name.replace("_", "-") in shared)
    for inner in (command.commands if isinstance(command, click.Group) else {}).values():
        inner.short_help = inner.get_short_help_str(10**6)
        with_its_help(inner, shared)
    return command
