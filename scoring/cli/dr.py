"""``da-score dr``: the diminishing-returns meter over the transcript of a deliberation."""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from scoring.cli.app import Number, settings_options
from scoring.cli.dr_calibrate import calibrate
from scoring.cli.output import on_terminal, warn, write, write_json
from scoring.cli.reading import cache_dir
from scoring.log.settings import Settings, tables_of

if TYPE_CHECKING:  # the model of a transcript takes long to import
    from scoring.meters.dr.meter import DRResult
    from scoring.meters.dr.transcript import Transcript
    from scoring.meters.dr.tuning import Tuning

METER_SETTINGS = ("repo-dir", "cache-dir", "no-cache")
EXIT_INTERRUPTED = 130
STANDARD_INPUT = "-"


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
    from scoring.meters.dr.meter import score_transcript

    tuning = tuning_of(settings, thresholds)
    embed = None
    if semantic:
        from scoring.meters.dr.semantic import open_embedder

        embed = open_embedder(cache_dir(settings))
    rounds = tuning.k if k is None else k
    return lambda transcript: score_transcript(
        transcript, k=rounds, embed=embed, words=tuning.words, thresholds=tuning.thresholds
    )


def tuning_of(settings: Settings, thresholds: Path | None) -> "Tuning":
    """Return how settings, and a file that wins over them, tune the meter."""
    from scoring.meters.configfile import read_config
    from scoring.meters.dr.tuning import tuning_from

    tables = tables_of(settings.repo_dir, "dr")
    if thresholds is not None:
        tables.append((str(thresholds), read_config(thresholds)))
    return tuning_from(tables)


def read(file: Path) -> "Transcript":
    """Read a transcript from a file, or from standard input for ``-``."""
    from scoring.meters.dr.transcript import decoded, parse_transcript, read_transcript

    if str(file) != STANDARD_INPUT:
        return read_transcript(file)
    from scoring.meters.dr.stream import read_all

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
        from scoring.meters.dr.plot import draw

        write_atomically(plot, draw(result, transcript.topic or ""), mode=0o644)
    write_json(result.payload())


@command.command("stop", epilog="Example:  da-score dr stop deliberation.jsonl --k 1")
@_FILE
@meter_options
@settings_options(*METER_SETTINGS)
def stop(file: Path, settings: Settings, **tuning: Any) -> None:
    """Say whether to continue, to ship or to escalate, with three reasons and what to do next."""
    from scoring.meters.dr.advice import advice_text, advise

    meter = meter_of(settings, **tuning)
    transcript = read(file)
    advice = advise(transcript, meter(transcript))
    if settings.json:
        write_json(advice)
    elif on_terminal():
        from scoring.cli.dr_screen import show_advice

        show_advice(advice)
    else:
        write(advice_text(advice))


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
    from scoring.meters.dr.advice import round_payload, round_text
    from scoring.meters.dr.stream import growing_contents
    from scoring.meters.dr.watch import Watch, contents_of

    meter = meter_of(settings, **tuning)
    is_stream = str(file) == STANDARD_INPUT
    following = Watch("standard input" if is_stream else str(file), meter)
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
                    write_json(round_payload(found), indent=None)
                else:
                    write(round_text(found))
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
