"""``da-score dr``: the diminishing-returns meter over the transcript of a deliberation.

The module is long because the meter has eight commands, each a few lines, that share their options.
"""

import json
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import repeat
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from scoring.cli.app import LOG_OPTIONS, Number, Whole, settings_options
from scoring.cli.output import WARNINGS, say, show, warn, write_json
from scoring.errors import InputError
from scoring.files import read_file, write_atomically
from scoring.log.settings import Settings, cache_dir_of, tables_of
from scoring.meters.figures import check_plot, draw_convergence
from scoring.text import cut, json_escaped, printable, quote
from scoring.views.table import Block, Cell, Column, Line, Table, TableRow

if TYPE_CHECKING:  # the model of a transcript takes long to import
    from scoring.meters.dr import DRResult, Transcript
    from scoring.meters.dr.calibrate import Agreement, Calibration, Collection
    from scoring.meters.dr.profile import Tuning

METER_SETTINGS = ("repo-dir", "cache-dir", "no-cache")
EXIT_ERROR, EXIT_INTERRUPTED = 1, 130
STANDARD_INPUT = "-"
_STYLES = {"SHIP": "bold green", "ESCALATE": "bold red", "CONTINUE": "bold yellow"}
_QUOTED = 200
_CALIBRATION_WIDTHS = (17, 9, 8, 18, 10, 0)


@click.group("dr", epilog="Example:  da-score dr stop deliberation.json")
def command() -> None:
    """Say whether a deliberation still finds something new, and whether it is ready to act.

    A transcript is JSON, or JSONL with a line per round; 'da-score dr schema' says of what. Under [dr] the settings may
    tune the meter, as a file given with --thresholds may: k, a table of thresholds, and words that add to the lists.
    """


def _thresholds(holds: str) -> Callable[..., Any]:
    return click.option(
        "--thresholds",
        type=click.Path(path_type=Path),
        metavar="FILE",
        help=f"A TOML, JSON or YAML file with {holds}; it wins over the settings.",
    )


def meter_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command the options that tune the meter."""
    function = _thresholds("k, thresholds and words")(function)
    function = click.option(
        "--semantic", is_flag=True, help="Compare meanings as well (level L2); needs the extra 'semantic'."
    )(function)
    return click.option("--k", type=Whole(1, 1_000_000), help="Rounds in a row that must be low.  [default: 2]")(
        function
    )


_OBSERVE = click.option(
    "--observe", is_flag=True, help="Also show structural agreement and how firm the signal is; neither changes it."
)
_FILE = click.argument("file", type=click.Path(path_type=Path, allow_dash=True), metavar="FILE")


def tuning_of(settings: Settings, thresholds: Path | None) -> "Tuning":
    """Return how settings, and a file that wins over them, tune the meter."""
    from scoring.meters.dr.profile import tuning_from
    from scoring.meters.plaindata import read_config

    tables = tables_of(settings.repo_dir, "dr")
    if thresholds is not None:
        tables.append((str(thresholds), read_config(thresholds)))
    return tuning_from(tables)


def meter_of(
    settings: Settings, k: int | None, semantic: bool, thresholds: Path | None
) -> "Callable[[Transcript], DRResult]":
    """Return the meter that options and settings ask for."""
    from scoring.meters.dr import open_embedder, score_transcript

    tuning = tuning_of(settings, thresholds)
    embed = open_embedder(cache_dir_of(settings)) if semantic else None
    rounds = tuning.k if k is None else k
    return lambda transcript: score_transcript(
        transcript, k=rounds, embed=embed, words=tuning.words, thresholds=tuning.thresholds
    )


def read(file: Path) -> "Transcript":
    """Read a transcript from a file, or from standard input for ``-``."""
    from scoring.meters.dr.transcript import decoded, parse_transcript, read_transcript
    from scoring.meters.plaindata import read_standard_input

    if str(file) != STANDARD_INPUT:
        return read_transcript(file, texts=True)
    return parse_transcript(decoded(read_standard_input(), "standard input"), "standard input", texts=True)


@command.command("score", epilog="Example:  da-score dr score deliberation.json --plot rounds.svg")
@_FILE
@meter_options
@click.option("--plot", type=click.Path(path_type=Path), metavar="FILE.svg", help="Draw the rounds as well.")
@_OBSERVE
@click.option("--agents", nargs=2, metavar="NAME NAME", help="Compare the latest responses of two agents; observes.")
@settings_options(*METER_SETTINGS)
def score(
    file: Path, settings: Settings, plot: Path | None, observe: bool, agents: tuple[str, str] | None, **tuning: Any
) -> None:
    """Score a transcript and print everything about it as JSON; - reads standard input."""
    if plot is not None:
        check_plot(plot)
    meter = meter_of(settings, **tuning)
    transcript = read(file)
    result = meter(transcript)
    if plot is not None:
        write_atomically(plot, draw_convergence(result, transcript.topic or ""), mode=0o644)
    observations = observations_of(transcript, result, settings, agents, **tuning) if observe or agents else None
    write_json(result.payload() | ({"observations": observations} if observations else {}))


def observations_of(
    transcript: "Transcript",
    result: "DRResult",
    settings: Settings,
    agents: tuple[str, str] | None,
    semantic: bool,
    thresholds: Path | None,
    **_: Any,
) -> dict[str, Any]:
    """Return what is only shown of a transcript: structural agreement, confidence, and how alike two agents are."""
    from dataclasses import replace

    from scoring.meters.dr import open_embedder
    from scoring.meters.dr.observations import confidence_in, observed, similarity_of
    from scoring.meters.dr.profile import DEFAULT

    tuned = tuning_of(settings, thresholds)
    embed = open_embedder(cache_dir_of(settings)) if semantic else None
    profile = replace(DEFAULT, k=result.k, thresholds=tuned.thresholds)
    confidence = confidence_in(transcript, result, profile, tuned.words, embed)
    return observed(transcript, result, confidence, similarity_of(transcript, agents, embed) if agents else None)


@command.command("stop", epilog="Example:  da-score dr stop deliberation.jsonl --k 1")
@_FILE
@meter_options
@_OBSERVE
@settings_options(*METER_SETTINGS)
def stop(file: Path, settings: Settings, observe: bool, **tuning: Any) -> None:
    """Say whether to continue, to ship or to escalate, with three reasons and what to do next."""
    meter = meter_of(settings, **tuning)
    transcript = read(file)
    result = meter(transcript)
    advice = result.advice(transcript)
    if observe:
        advice["observations"] = observations_of(transcript, result, settings, None, **tuning)
    if settings.json:
        write_json(advice)
    else:
        show(advice_view(advice))


def advice_view(advice: dict[str, Any]) -> list[Block]:
    """Return an advice as a line for the signal and one for each part."""
    following = advice["next_action"]
    if advice["first_next_action"]:
        following += f" First: {quote(cut(advice['first_next_action'], _QUOTED))}"
    rows = [(str(i), reason) for i, reason in enumerate(advice["reasons"], 1)] + [("Next", following)]
    if advice["flags"]:
        rows.append(("Flags", "; ".join(f"{f['flag']} in {_rounds(f['rounds'])}" for f in advice["flags"])))
    if observations := advice.get("observations"):
        rows.append(("Sure", _sure(observations["confidence"])))
        rows.append(("Seen", _seen(observations["structural_agreement_by_round"])))
    lines = [TableRow((Cell(label, style="bold"), text)) for label, text in rows]
    lines.append(TableRow((Cell("Note", style="bold"), advice["does_not_claim"]), style="dim"))
    return [
        Line((Cell(advice["signal"], style=_STYLES[advice["signal"]]), f"  as of round {advice['round']}")),
        Line(only="terminal"),
        Table((Column("", width=5), Column("")), lines, heads=False),
    ]


def _sure(confidence: dict[str, Any]) -> str:
    others = ", ".join(f"{count} say {signal}" for signal, count in sorted(confidence["others"].items()))
    agreed = confidence["settings"] - sum(confidence["others"].values())
    said = f"{agreed} of {confidence['settings']} neighbouring settings give the same signal"
    return f"{said}; {others}" if others else said


def _seen(agreement: list[dict[str, Any]]) -> str:
    by_class: dict[str, list[int]] = {}
    for row in agreement:
        by_class.setdefault(row["agreement"], []).append(row["round"])
    return "; ".join(f"{name} in {_rounds(rounds)}" for name, rounds in by_class.items()) or "one round only"


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
    if not once:
        WARNINGS.hold_no_longer()
    is_stream = str(file) == STANDARD_INPUT
    following = TranscriptFollower("standard input" if is_stream else str(file), meter)
    if is_stream:
        contents = growing_contents(0 if sys.stdin is None else sys.stdin.fileno(), only_whole=once)
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
                    say(found.line())
                if until_stop and found.recommendation.signal != "CONTINUE":
                    return
            if once:
                return
    except KeyboardInterrupt:
        raise click.exceptions.Exit(EXIT_INTERRUPTED) from None


@command.command("extract", epilog="Example:  da-score dr extract notes.md > deliberation.json")
@_FILE
@click.option("--out", type=click.Path(path_type=Path), metavar="FILE", help="Write it there instead of printing it.")
@settings_options()
def extract(file: Path, out: Path | None, settings: Settings) -> None:  # noqa: ARG001 - a transcript is JSON anyway
    """Cut claims out of running text by rules, roughly, and print a transcript to be looked through.

    FILE is text, where a line "Round 2" begins a round, or a transcript whose outputs have a text and no claims. Claims
    that are given stay as they are, and nothing is cut out of the text beside them.
    """
    from scoring.meters.dr.transcript import extracted

    data = read_standard_input_or(file)
    found = extracted(data, "standard input" if str(file) == STANDARD_INPUT else str(file))
    warn("claims were cut out of text by rough rules; look them through before you score them")
    if out is None:
        write_json(found)
    else:
        write_atomically(
            out, (json_escaped(json.dumps(found, ensure_ascii=False, indent=2)) + "\n").encode(), mode=0o644
        )


def read_standard_input_or(file: Path) -> bytes:
    """Return the bytes of a file, or of standard input for ``-``."""
    from scoring.meters.plaindata import read_standard_input

    if str(file) == STANDARD_INPUT:
        return read_standard_input()
    try:
        return read_file(file)
    except FileNotFoundError as e:
        raise InputError(f"{file}: no such file; name a transcript or a text") from e


@command.command("save", epilog="Example:  da-score dr save 7 deliberation.json")
@click.argument("iteration", metavar="N", type=Whole(0, 10**9))
@_FILE
@click.option("--force", is_flag=True, help="Replace the transcript that the iteration has.")
@settings_options(*LOG_OPTIONS)
def save(iteration: int, file: Path, force: bool, settings: Settings) -> None:
    """Put a transcript beside the entry of iteration N, where the meter is shown and may vote; - reads standard input.

    What is saved is checked first, and is kept as it is: JSON as iter-N.dr.json, JSONL as iter-N.dr.jsonl.
    """
    from scoring.jobs.write_beside import save_deliberation

    source = "standard input" if str(file) == STANDARD_INPUT else str(file)
    path = save_deliberation(settings.iter_log_dir, iteration, read_standard_input_or(file), source, force)
    if not any((settings.iter_log_dir / name).exists() for name in (f"iter-{iteration}.yaml", "historical.yaml")):
        warn(f"{settings.iter_log_dir}: has no entry for iteration {iteration} yet")
    if settings.json:
        write_json({"path": str(path)})
    else:
        say(f"{printable(str(path))}: saved\n")


@command.command("schema", epilog="Example:  da-score dr schema > transcript.schema.json")
@click.option("--lines", is_flag=True, help="The schema of a line of JSONL instead.")
@settings_options()
def schema(lines: bool, settings: Settings) -> None:  # noqa: ARG001 - a schema is JSON in any case
    """Print the JSON schema of a transcript."""
    from scoring.meters.dr.transcript import line_schema, transcript_schema

    write_json(line_schema() if lines else transcript_schema())


@command.command("calibrate", epilog="Example:  da-score dr calibrate labelled/ --json")
@click.argument("directory", metavar="DIR", type=click.Path(path_type=Path))
@click.option(
    "--k",
    "ks",
    type=Whole(1, 1_000_000),
    multiple=True,
    default=(1, 2),
    show_default="1 and 2",
    help="Rounds in a row that must be low; may be given several times.",
)
@click.option("--no-semantic", is_flag=True, help="Leave level L2 out, though its model is installed.")
@_thresholds("thresholds and words")
@settings_options(*METER_SETTINGS)
def calibrate(
    directory: Path, ks: tuple[int, ...], no_semantic: bool, thresholds: Path | None, settings: Settings
) -> int | None:
    """Hold the meter against every labelled transcript in DIR, under each setting.

    A label is an object under _expected (in JSONL, in the header line) with stop_recommendation, and optionally
    novelty_classification and readiness_classification. Files without one are named and not counted; so are broken
    ones, and then the exit status is 1.
    """
    from scoring.meters.dr.calibrate import KEY, Setting, calibration_payload, read_collection
    from scoring.meters.dr.calibrate import calibrate as measure

    tuning = tuning_of(settings, thresholds)
    collection = read_collection(directory)
    for _, why in collection.broken:
        warn(why)
    if not collection.labelled:
        raise InputError(f"{directory}: no labelled transcript; a label is an object under {KEY} beside the rounds")
    embed, left_out = None, "--no-semantic"
    if not no_semantic:
        from scoring.meters.dr.semantic import NOT_INSTALLED, is_installed, open_embedder

        embed, left_out = (open_embedder(cache_dir_of(settings)), "") if is_installed() else (None, NOT_INSTALLED)
    asked = [Setting(k, semantic) for semantic in ([False, True] if embed else [False]) for k in dict.fromkeys(ks)]
    found = measure(collection.labelled, asked, embed, tuning)
    if settings.json:
        write_json(calibration_payload(collection, found, left_out))
    else:
        show(map(Line, calibration_lines(directory, collection, found, left_out)))
    return EXIT_ERROR if collection.broken else None


def calibration_lines(
    directory: Path, collection: "Collection", found: "tuple[Calibration, ...]", left_out: str = ""
) -> Iterator[str]:
    """Yield a calibration as lines: agreement per setting, then a confusion table and the files that disagree."""
    yield f"Calibration — {directory}"
    counts = f"{len(collection.labelled)} labelled, {len(collection.unlabelled)} without a label"
    yield from (f"{counts}, {len(collection.broken)} broken", "")
    heads = ("SETTING", "AGREE", "SHARE", "95 % INTERVAL", "NOVELTY", "READINESS")
    yield _padded(heads, _CALIBRATION_WIDTHS)
    for c in found:
        a = c.agreement
        low, high = a.interval
        share = "-" if a.share is None else f"{a.share:.3f}"
        classes = (_count(c.agreement_on("novelty")), _count(c.agreement_on("readiness")))
        cells = (str(c.setting), _count(a), share, f"{low:.3f} to {high:.3f}", *classes)
        yield _padded(cells, _CALIBRATION_WIDTHS)
    if left_out:
        yield f"L2 not measured: {left_out}"
    for c in found:
        yield from ("", *_details(c))
    rows = [(file, "no label") for file in collection.unlabelled]
    rows += [(file, f"broken: {why}") for file, why in collection.broken]
    rows += [(file, "not named as a transcript is (.json, .jsonl, .ndjson)") for file in collection.others]
    yield from ("", "Not counted") if rows else ()
    yield from (f"  {file}: {why}" for file, why in rows)


def _padded(cells: Sequence[str], widths: Iterable[int]) -> str:
    return "".join(f"{text:<{width}}" for text, width in zip(cells, widths, strict=False)).rstrip()


def _count(a: "Agreement") -> str:
    return f"{a.agreed} of {a.total}" if a.total else "-"


def _details(c: "Calibration") -> Iterator[str]:
    confusion = c.confusion()
    yield str(c.setting)
    for cells in (("EXPECTED", *confusion), *((wanted, *map(str, by.values())) for wanted, by in confusion.items())):
        yield "  " + _padded(cells, repeat(12))
    for o in c.outcomes:
        if not o.agrees:
            yield f"  {o.file}: expected {o.expected.signal}, found {o.found.signal} by the rule {o.rule}"
            yield f"    {o.why}"
        if o.other_classes:
            lead = "    the label wants" if not o.agrees else f"  {o.file}: the same signal, but the label wants"
            yield f"{lead} {'; '.join(o.other_classes)}"
