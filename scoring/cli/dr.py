"""``da-score dr``: the diminishing-returns meter over the transcript of a deliberation."""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from scoring.cli.app import Number, settings_options
from scoring.cli.dr_calibrate import calibrate, tuning_of
from scoring.cli.output import on_terminal, warn, write, write_json
from scoring.cli.reading import cache_dir
from scoring.log.settings import Settings
from scoring.text import cut, quote

if TYPE_CHECKING:  # the model of a transcript takes long to import
    from scoring.meters.dr import DRResult, Transcript
    from scoring.views.table import Block

METER_SETTINGS = ("repo-dir", "cache-dir", "no-cache")
EXIT_INTERRUPTED = 130
STANDARD_INPUT = "-"
_STYLES = {"SHIP": "bold green", "ESCALATE": "bold red", "CONTINUE": "bold yellow"}
_QUOTED = 200


@click.group("dr", epilog="Example:  da-score dr stop deliberation.json")
def command() -> None:
    """Say whether a deliberation still finds something new, and whether it is ready to act.

    A transcript is JSON, or JSONL with a line per round; 'da-score dr schema' says of what. Under [dr] the settings may
    tune the meter, as a file given with --thresholds may: k, a table of thresholds, and words that add to the lists.
    """


def meter_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command the options that tune the meter."""
    for option in (
        click.option("--k", type=click.IntRange(1, 1_000_000), help="Rounds in a row that must be low.  [default: 2]"),
        click.option("--semantic", is_flag=True, help="Compare meanings as well (level L2); needs da-score[semantic]."),
        click.option(
            "--thresholds",
            type=click.Path(path_type=Path),
            metavar="FILE",
            help="A TOML, JSON or YAML file with k, thresholds and words; it wins over the settings.",
        ),
    )[::-1]:
        function = option(function)
    return function


_FILE = click.argument("file", type=click.Path(path_type=Path, allow_dash=True), metavar="FILE")


def meter_of(
    settings: Settings, k: int | None, semantic: bool, thresholds: Path | None
) -> "Callable[[Transcript], DRResult]":
    """Return the meter that options and settings ask for."""
    from scoring.meters.dr import open_embedder, score_transcript

    tuning = tuning_of(settings, thresholds)
    embed = open_embedder(cache_dir(settings)) if semantic else None
    rounds = tuning.k if k is None else k
    return lambda transcript: score_transcript(
        transcript, k=rounds, embed=embed, words=tuning.words, thresholds=tuning.thresholds
    )


def read(file: Path) -> "Transcript":
    """Read a transcript from a file, or from standard input for ``-``."""
    from scoring.meters.dr.transcript import decoded, parse_transcript, read_transcript

    if str(file) != STANDARD_INPUT:
        return read_transcript(file)
    from scoring.meters.dr.follow import read_all

    return parse_transcript(decoded(read_all(_standard_input()), "standard input"), "standard input")


def _standard_input() -> int:
    return 0 if sys.stdin is None else sys.stdin.fileno()


@command.command("score", epilog="Example:  da-score dr score deliberation.json --plot rounds.svg")
@_FILE
@meter_options
@click.option("--plot", type=click.Path(path_type=Path), metavar="FILE.svg", help="Draw the rounds as well.")
@settings_options(*METER_SETTINGS)
def score(file: Path, settings: Settings, plot: Path | None, **tuning: Any) -> None:
    """Score a transcript and print everything about it as JSON; - reads standard input."""
    if plot is not None:
        from scoring.meters.figures import check_plot

        check_plot(plot)
    meter = meter_of(settings, **tuning)
    transcript = read(file)
    result = meter(transcript)
    if plot is not None:
        from scoring.files import write_atomically
        from scoring.meters.figures import draw_convergence

        write_atomically(plot, draw_convergence(result, transcript.topic or ""), mode=0o644)
    write_json(result.payload())


@command.command("stop", epilog="Example:  da-score dr stop deliberation.jsonl --k 1")
@_FILE
@meter_options
@settings_options(*METER_SETTINGS)
def stop(file: Path, settings: Settings, **tuning: Any) -> None:
    """Say whether to continue, to ship or to escalate, with three reasons and what to do next."""
    meter = meter_of(settings, **tuning)
    transcript = read(file)
    advice = meter(transcript).advice(transcript)
    if settings.json:
        write_json(advice)
        return
    from scoring.views.table import draw, pipe_text

    if on_terminal():
        from scoring.cli.screen import _console

        draw(advice_view(advice), _console())
    else:
        write(pipe_text(advice_view(advice)))


def advice_view(advice: dict[str, Any]) -> "list[Block]":
    """Return an advice as a line for the signal and one for each part."""
    from scoring.views.table import Cell, Column, Line, Table, TableRow

    following = advice["next_action"]
    if advice["first_next_action"]:
        following += f" First: {quote(cut(advice['first_next_action'], _QUOTED))}"
    rows = [(str(i), reason) for i, reason in enumerate(advice["reasons"], 1)] + [("Next", following)]
    if advice["flags"]:
        rows.append(("Flags", "; ".join(f"{f['flag']} in {_rounds(f['rounds'])}" for f in advice["flags"])))
    lines = [TableRow((Cell(label, style="bold"), text)) for label, text in rows]
    lines.append(TableRow((Cell("Note", style="bold"), advice["does_not_claim"]), style="dim"))
    return [
        Line((Cell(advice["signal"], style=_STYLES[advice["signal"]]), f"  as of round {advice['round']}")),
        Line(only="terminal"),
        Table((Column("", width=5), Column("")), lines, heads=False),
    ]


def _rounds(numbers: list[int]) -> str:
    shown = ", ".join(map(str, numbers[:5])) + (f" and {len(numbers) - 5} more" if len(numbers) > 5 else "")
    return f"round {shown}" if len(numbers) == 1 else f"rounds {shown}"


@command.command("watch", epilog="Example:  da-score dr watch deliberation.jsonl --until-stop")
@_FILE
@meter_options
@click.option("--once", is_flag=True, help="Print the rounds that are there and end.")
@click.option("--until-stop", is_flag=True, help="End at the first round that says ship or escalate.")
@click.option("--interval", type=Number(0.01, 3600), default=0.5, show_default=True, help="Seconds between two looks.")
@settings_options(*METER_SETTINGS)
def watch(file: Path, settings: Settings, once: bool, until_stop: bool, interval: float, **tuning: Any) -> None:
    """Score a growing JSONL file whenever a round arrives, and print a line for each; - reads standard input.

    A last line that is only half written is waited for, and so is a file that is not there yet. A file that shrinks or
    is replaced is read anew. Control-C ends it.
    """
    from scoring.meters.dr.follow import TranscriptFollower, contents_of, growing_contents

    meter = meter_of(settings, **tuning)
    is_stream = str(file) == STANDARD_INPUT
    following = TranscriptFollower("standard input" if is_stream else str(file), meter)
    if is_stream:
        contents = growing_contents(_standard_input(), only_whole=once)
    else:
        contents = contents_of(file, interval, must_exist=once)
        if not once and not file.exists():
            warn(f"{file}: no such file yet; waiting for it")
    try:
        for data, is_final in contents:
            scores = following.update(data, is_final)
            if following.replaced:
                warn(f"{file}: shrank or was replaced; reading it anew")
            for found in scores:
                if settings.json:
                    write_json(found.payload(), indent=None)
                else:
                    write(found.line())
                if until_stop and found.recommendation.signal != "CONTINUE":
                    return
            if once:
                return
    except KeyboardInterrupt:
        raise click.exceptions.Exit(EXIT_INTERRUPTED) from None


@command.command("schema", epilog="Example:  da-score dr schema > transcript.schema.json")
@click.option("--lines", is_flag=True, help="The schema of a line of JSONL instead.")
@settings_options()
def schema(lines: bool, settings: Settings) -> None:  # noqa: ARG001 - a schema is JSON in any case
    """Print the JSON schema of a transcript."""
    from scoring.meters.dr.transcript import line_schema, transcript_schema

    write_json(line_schema() if lines else transcript_schema())


command.add_command(calibrate)
