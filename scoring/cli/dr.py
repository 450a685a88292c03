"""``da-score dr``: the diminishing-returns meter over the transcript of a deliberation; long, for its ten commands."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from scoring.cli.app import LOG_OPTIONS, PATH, Whole, settings_options
from scoring.cli.output import reply, warn, write_json
from scoring.errors import InputError
from scoring.files import write_atomically
from scoring.jobs.write_beside import save_deliberation
from scoring.log.settings import Settings, cache_dir_of, tables_of
from scoring.meters.plaindata import read_config, read_given
from scoring.text import json_escaped, printable
from scoring.views.table import Line

SIGNALS, LEVELS = ("CONTINUE", "SHIP", "ASK", "ESCALATE"), ("HIGH", "MEDIUM", "LOW")
METER_SETTINGS = ("repo-dir", "cache-dir", "no-cache")
EXIT_STATUS = {"SHIP": 0, "ASK": 10, "CONTINUE": 11, "ESCALATE": 12}  # of dr stop --exit-code
_INPUT = "a transcript or a text"


@click.group("dr", epilog="Example:  da-score dr stop deliberation.json")
def command() -> None:
    """Say whether a deliberation still finds something new, and whether it is ready to act.

    A transcript is JSON, or JSONL with a line per round, as 'da-score dr schema' describes it. [dr] in the settings may
    tune the meter, as a file given with --thresholds may: k, a table of thresholds, and words that add to the lists.
    """


def _thresholds(holds: str) -> Callable[..., Any]:
    says = f"A TOML, JSON or YAML file with {holds}; it wins over the settings."
    return click.option("--thresholds", type=PATH, metavar="FILE", help=says)


def meter_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command the options that tune the meter."""
    for option in (_thresholds("k, thresholds and words"), _SEMANTIC, _K):
        function = option(function)
    return function


_K = click.option(
    "--k", type=Whole(1, 1_000_000), help="Rounds in a row that must be low.  [default: 2]"
)
_SEMANTIC = click.option(
    "--semantic", is_flag=True, help="Compare meanings too (level L2); needs the extra 'semantic'."
)
_OBSERVE = click.option(
    "--observe", is_flag=True, help="Observe structural agreement and how firm the signal is."
)
_FILE = click.argument("file", type=PATH, metavar="FILE")


def _tables_for(settings: Settings, thresholds: Path | None) -> list[tuple[str, Any]]:
    given = [] if thresholds is None else [(str(thresholds), read_config(thresholds))]
    return [*tables_of(settings.repo_dir, "dr"), *given]


def _scored(
    file: Path, settings: Settings, k: int | None, semantic: bool, thresholds: Path | None
) -> tuple[dict[str, Any], Any, Any]:
    from scoring.meters.dr import open_embedder, read_transcript, score_transcript
    from scoring.meters.dr.profile import tuning_from

    profile, words = tuning_from(_tables_for(settings, thresholds))
    embed = open_embedder(cache_dir_of(settings)) if semantic else None
    meter: dict[str, Any] = {
        "profile": replace(profile, k=k or profile.k),
        "words": words,
        "embed": embed,
    }
    transcript = read_transcript(file, texts=True)
    return meter, transcript, score_transcript(transcript, **meter)


@command.command("score", epilog="Example:  da-score dr score deliberation.json --observe")
@_FILE
@meter_options
@_OBSERVE
@click.option(
    "--agents",
    nargs=2,
    metavar="NAME NAME",
    help="Observe how alike the latest responses of two are.",
)
@settings_options(*METER_SETTINGS)
def score(
    file: Path, settings: Settings, observe: bool, agents: tuple[str, str] | None, **tuning: Any
) -> None:
    """Score a transcript and print everything about it as JSON; - reads standard input."""
    from scoring.meters.dr.observations import observations

    meter, transcript, result = _scored(file, settings, **tuning)
    found = result.payload()
    if observe or agents:
        found["observations"] = observations(transcript, result, agents, **meter)
    write_json(found)


@command.command("stop", epilog="Example:  da-score dr stop deliberation.jsonl --k 1")
@_FILE
@meter_options
@_OBSERVE
@click.option(
    "--exit-code",
    is_flag=True,
    help="End with 0 to ship, 10 to ask, 11 to continue, 12 to escalate.",
)
@settings_options(*METER_SETTINGS)
def stop(file: Path, settings: Settings, observe: bool, exit_code: bool, **tuning: Any) -> int:
    """Say whether to continue, to ship, to ask or to escalate, with three reasons and the next move.

    The exit status is 0 whatever it says, unless --exit-code asks for one for each.
    """
    from scoring.meters.dr.observations import observations
    from scoring.views.meter_pages import advice_view

    meter, transcript, result = _scored(file, settings, **tuning)
    advice = result.advice(transcript)
    if observe:
        advice["observations"] = observations(transcript, result, **meter)
    reply(settings.json, advice, advice_view(advice))
    return EXIT_STATUS[result.signal] if exit_code else 0


@command.command("extract", epilog="Example:  da-score dr extract notes.md > deliberation.json")
@_FILE
@click.option("--out", type=PATH, metavar="FILE", help="Write it there instead of printing it.")
@settings_options()
def extract(file: Path, out: Path | None, settings: Settings) -> None:  # noqa: ARG001 - a transcript is JSON anyway
    """Cut claims out of running text by rules, roughly, and print a transcript to be looked through.

    FILE is text, where a line "Round 2" begins a round, or a transcript with a text and no claims in its outputs.
    Claims that are given stay as they are, and nothing is cut out of the text beside them.
    """
    from scoring.meters.dr.transcript import extracted

    found = extracted(*read_given(file, _INPUT))
    warn("claims were cut out of text by rough rules; look them through before you score them")
    if out is None:
        write_json(found)
    else:
        text = json_escaped(json.dumps(found, ensure_ascii=False, indent=2)) + "\n"
        write_atomically(out, text.encode(), mode=0o644)


@command.command("from-session", epilog="Example:  da-score dr from-session 0a1b2c3d --iteration 7")
@click.argument("session", metavar="SESSION")
@click.option(
    "--iteration", metavar="N", type=Whole(0, 10**9), help="Put it beside the entry of iteration N."
)
@settings_options(*LOG_OPTIONS, "transcript-dir", "transcripts")
def from_session(session: str, iteration: int | None, settings: Settings) -> None:
    """Write the rounds of a deliberation that a session holds: sub-agents that answered one prompt.

    SESSION is the id of one in checkpoints or transcript directories, its beginning, or a transcript of Claude Code.
    """
    from scoring.evidence.transcripts.deliberations import (
        deliberations_in,
        session_transcript,
        transcript_from,
    )
    from scoring.evidence.transcripts.facts import TranscriptPlaces

    folders = tuple(settings.transcript_dirs)
    places = TranscriptPlaces(
        settings.repo_dir, folders, not folders and settings.transcripts != "none"
    )
    session, data = session_transcript(session, places, warn)
    found = deliberations_in(data)
    if not found:
        raise InputError(
            f"{session}: no two sub-agents answered one prompt in it, so it holds no deliberation"
        )
    chosen = transcript_from(max(found, key=len), session)
    warn("claims were cut out of answers by rough rules; look them through before you rely on them")
    if iteration is None:
        return write_json(chosen)
    path = save_deliberation(settings.iter_log_dir, iteration, json.dumps(chosen).encode(), session)
    return reply(settings.json, {"path": str(path)}, f"{printable(str(path))}: saved\n")


@command.command("judge", epilog="Example:  da-score dr judge deliberation.json --verdict ESCALATE")
@_FILE
@click.option(
    "--verdict", required=True, type=click.Choice(SIGNALS), help="What should have been done."
)
@click.option("--novelty", type=click.Choice(LEVELS), help="How much was new in the last round.")
@click.option("--readiness", type=click.Choice(LEVELS), help="How ready it was to act.")
@click.option("--notes", metavar="TEXT", help="Why.")
@settings_options()
def judge(file: Path, verdict: str, settings: Settings, **said: str | None) -> None:  # noqa: ARG001
    """Add a person's verdict on a transcript, under _expected, for 'da-score dr calibrate'; - reads standard input.

    What the meter says is not shown, so that it does not sway you.
    """
    from scoring.meters.dr.calibrate import with_label

    label = {"stop_recommendation": verdict, "novelty_classification": said["novelty"]}
    label |= {"readiness_classification": said["readiness"], "notes": said["notes"]}
    write_json(
        with_label(
            *read_given(file, "a transcript"), {key: value for key, value in label.items() if value}
        )
    )


@command.command("save", epilog="Example:  da-score dr save 7 deliberation.json")
@click.argument("iteration", metavar="N", type=Whole(0, 10**9))
@_FILE
@click.option("--force", is_flag=True, help="Replace the transcript that the iteration has.")
@settings_options(*LOG_OPTIONS)
def save(iteration: int, file: Path, force: bool, settings: Settings) -> None:
    """Put a transcript beside the entry of iteration N, where the meter is shown and may vote; - reads standard input.

    What is saved is checked first, and is kept as it is: JSON as iter-N.dr.json, JSONL as iter-N.dr.jsonl.
    """
    path = save_deliberation(settings.iter_log_dir, iteration, *read_given(file, _INPUT), force)
    if not any(
        (settings.iter_log_dir / name).exists()
        for name in (f"iter-{iteration}.yaml", "historical.yaml")
    ):
        warn(f"{settings.iter_log_dir}: has no entry for iteration {iteration} yet")
    reply(settings.json, {"path": str(path)}, f"{printable(str(path))}: saved\n")


@command.command("schema", epilog="Example:  da-score dr schema > transcript.schema.json")
@click.option("--lines", is_flag=True, help="The schema of a line of JSONL instead.")
@settings_options()
def schema(lines: bool, settings: Settings) -> None:  # noqa: ARG001 - a schema is JSON in any case
    """Print the JSON schema of a transcript."""
    from scoring.meters.dr.transcript import line_schema, transcript_schema

    write_json(line_schema() if lines else transcript_schema())


@command.command("calibrate", epilog="Example:  da-score dr calibrate labelled/ --json")
@click.argument("directory", metavar="DIR", type=PATH)
@click.option(
    "--k",
    "ks",
    type=Whole(1, 1_000_000),
    multiple=True,
    default=(1, 2),
    show_default="1 and 2",
    help="Rounds in a row that must be low; may be given several times.",
)
@click.option(
    "--no-semantic", is_flag=True, help="Leave level L2 out, though its model is installed."
)
@_thresholds("thresholds and words")
@settings_options(*METER_SETTINGS)
def calibrate(
    directory: Path,
    ks: tuple[int, ...],
    no_semantic: bool,
    thresholds: Path | None,
    settings: Settings,
) -> int | None:
    """Compare the meter with every labelled transcript in DIR, under each setting.

    A label is an object under _expected (in JSONL, in the header line) with stop_recommendation, and optionally
    novelty_classification and readiness_classification. Files without one are named and not counted; so are broken
    ones, and then the exit status is 1.
    """
    from scoring.meters.dr import calibrate as meter
    from scoring.meters.dr import semantic
    from scoring.meters.dr.profile import tuning_from
    from scoring.views.meter_pages import calibration_lines

    profile, words = tuning_from(_tables_for(settings, thresholds))
    collection = meter.read_collection(directory)
    for _, why in collection.broken:
        warn(why)
    if not collection.labelled:
        what = f"a label is an object under {meter.KEY} beside the rounds"
        raise InputError(f"{directory}: no labelled transcript; {what}")
    left_out = (
        "--no-semantic"
        if no_semantic
        else ""
        if semantic.is_installed()
        else semantic.NOT_INSTALLED
    )
    embed = None if left_out else semantic.open_embedder(cache_dir_of(settings))
    asked = [
        meter.Setting(k, level2)
        for level2 in ([False, True] if embed else [False])
        for k in dict.fromkeys(ks)
    ]
    found = meter.calibrate(collection.labelled, asked, embed, profile, words)
    page = map(Line, calibration_lines(directory, collection, found, left_out))
    reply(settings.json, meter.calibration_payload(collection, found, left_out), page)
    return 1 if collection.broken else None
