"""``da-score meeting``: whether a deliberation may end, must go on, or should be parked."""

import signal
import sys
from pathlib import Path
from typing import Any

import click

from scoring.cli.app import PATH, Number, OwnGroup, Whole, settings_options
from scoring.cli.output import reply, warn, write, write_json
from scoring.errors import InputError, OptionError
from scoring.log.settings import Settings, cache_dir_of
from scoring.meters.plaindata import read_standard_input
from scoring.text import printable

_FILE = click.argument("file", metavar="FILE", type=click.Path(allow_dash=True))
_CONFIG = click.option(
    "--config",
    metavar="NAME|FILE",
    help="default, tactical, strategic, or a file: .json, .yaml or .toml, whole or partial."
    "  [default: default, or what a state of meeting run has]",
)


@click.command("score", epilog="Example:  da-score meeting score rounds.jsonl --json")
@_FILE
@_CONFIG
@click.option(
    "--semantic",
    is_flag=True,
    help="Compare messages by meaning as well; needs the extra 'semantic'.",
)
@settings_options()
def score(file: str, config: str | None, semantic: bool, settings: Settings) -> None:
    """Score the rounds of a meeting; the same as "meeting FILE"."""
    from scoring.meters.dr import open_embedder
    from scoring.meters.meeting import score_meeting
    from scoring.meters.meeting.records import read_meeting
    from scoring.views.meter_pages import meeting_view

    records, state = read_meeting(file)
    judged_by = _config(config or state.get("config", "default"))
    verdicts = score_meeting(
        records, judged_by, open_embedder(cache_dir_of(settings)) if semantic else None
    )
    named = next((record.meeting_id for record in records if record.meeting_id), None)
    title = named or ("standard input" if file == "-" else file)
    page = meeting_view(verdicts, judged_by, title, config or judged_by.meeting_type)
    reply(settings.json, [verdict.as_dict() for verdict in verdicts], page)


@click.group(
    "meeting",
    cls=OwnGroup,
    own=score,
    usage="FILE",
    epilog="Example:  da-score meeting rounds.jsonl",
)
def command() -> None:
    """Score each round of a deliberation of several experts, and say whether it may end.

    FILE holds one judge's record per round: a JSON object, a JSON list or JSONL; - is standard input. "meeting FILE" is
    short for "meeting score FILE". docs/DELIBERATION.md explains scores and rules. It says nothing about whether what
    was agreed is right.
    """


command.add_command(score)


def _config(name: Any) -> Any:
    from scoring.meters.meeting.config import find_meeting_config, meeting_config, unknown_keys

    if not isinstance(name, str):
        return meeting_config(name)
    found = find_meeting_config(name)
    for key in unknown_keys(found):
        warn(f"{name}: {key} is no key of a config and is ignored")
    return found


@command.command("run", epilog="Example:  da-score meeting run --state meeting.json --example")
@click.option(
    "--state",
    "path",
    required=True,
    type=PATH,
    metavar="FILE",
    help="The file that keeps the meeting.",
)
@click.option(
    "--config", metavar="NAME|FILE", help="What a new meeting is judged by.  [default: default]"
)
@click.option("--topic", metavar="TEXT", help="What is to be decided, for experts and judge.")
@click.option(
    "--expert",
    "experts",
    multiple=True,
    metavar="NAME=COMMAND",
    help="Answers a prompt; give one for each.",
)
@click.option(
    "--judge",
    metavar="COMMAND",
    help="Writes a record when it is given, as JSON, what to ask next.",
)
@click.option(
    "--timeout",
    type=Number(0.01, 86400),
    default=600,
    show_default=True,
    help="Seconds for one answer.",
)
@click.option("--rounds", type=Whole(1, 1000), help="Hold at most this many rounds now.")
@click.option("--example", is_flag=True, help="Scripted experts and judge, to see how it goes.")
@click.option(
    "--answer",
    type=click.Choice(["yes", "no", "park", "end"]),
    help="What people answer: yes or no to the open question, park it, or ask to end.",
)
@click.option(
    "--option",
    metavar="NAME",
    help="With --answer yes: what was decided.  [default: the leading option]",
)
@settings_options()
def run(
    path: Path,
    config: str | None,
    topic: str | None,
    experts: tuple[str, ...],
    judge: str | None,
    timeout: float,
    rounds: int | None,
    example: bool,
    answer: str | None,
    option: str | None,
    settings: Settings,
) -> None:
    """Drive a meeting between commands: experts speak, a judge writes a record, and people answer where they must.

    A command gets a prompt on standard input and answers on standard output: experts text, the judge a record. They are
    asked until a question is open or the meeting is over. Every answer is kept in the state at once, so that the same
    command takes it up again wherever it was stopped. Without a judge a record may come from standard input; without
    anything it says what the meeting needs next.
    """
    from scoring.meters.meeting import driver, scripted
    from scoring.meters.meeting.autopilot import ask_command, run_rounds
    from scoring.meters.meeting.next_step import lines_of_question, what_next
    from scoring.meters.meeting.state_file import open_state, save_state

    if option is not None and answer != "yes":
        raise OptionError("--option goes with --answer yes")
    if example and (experts or judge):
        raise OptionError(
            "--example has experts and a judge of its own; leave --expert and --judge out"
        )
    given_by = _experts(experts).items()
    asked = {name: ask_command(f"--expert {name}:", text, timeout) for name, text in given_by}
    judging = None if judge is None else ask_command("--judge", judge, timeout)
    state = open_state(path, _config(config) if config else None)
    if example:
        asked = scripted.scripted_experts()
        judging = scripted.scripted_judge
        topic = topic or state.topic or scripted.TOPIC
    if topic is not None:
        state = state.model_copy(update={"topic": topic})
    if answer in ("yes", "no"):
        state = save_state(path, driver.take_answer(state, answer == "yes", option))
    elif answer == "park":
        state = save_state(path, driver.park(state))
    missing = driver.missing_for_end(state) if answer == "end" else []
    if answer == "end" and not missing:
        state = save_state(path, driver.wish_to_end(state))
    if (asked or judging) and not missing:
        previous = signal.signal(
            signal.SIGTERM, signal.default_int_handler
        )  # ends what was asked, too
        try:
            state = run_rounds(path, state, asked, judging, rounds)
        finally:
            signal.signal(signal.SIGTERM, previous)
    elif (
        answer is None
        and sys.stdin
        and not sys.stdin.isatty()
        and (given := read_standard_input()).strip()
    ):
        state = save_state(path, driver.take_record(state, given, "standard input"))
    question = what_next(state) | ({"missing": missing} if missing else {})
    reply(settings.json, question, "".join(f"{line}\n" for line in lines_of_question(question)))


def _experts(given: tuple[str, ...]) -> dict[str, str]:
    found: dict[str, str] = {}
    for expert in given:
        name, equals, asked = expert.partition("=")
        if not (name.strip() and equals and asked.strip()) or name in found:
            raise OptionError(f"--expert {expert}: give each expert once, as NAME=COMMAND")
        found[name] = asked
    return found


@command.command(
    "no-decision", epilog="Example:  da-score meeting no-decision rounds.jsonl > no-decision.md"
)
@_FILE
@_CONFIG
@settings_options()
def without_decision(file: str, config: str | None, settings: Settings) -> None:
    """Write down a meeting that ends without a decision: options, positions and blockers, as Markdown or JSON."""
    from scoring.meters.meeting import score_meeting
    from scoring.meters.meeting.records import read_meeting
    from scoring.meters.meeting.undecided import as_markdown, no_decision

    records, state = read_meeting(file)
    if state.get("phase") == "decided":
        raise InputError(
            f"{file}: the meeting ended with a decision: {printable(str(state.get('decision')))}"
        )
    verdicts = score_meeting(records, _config(config or state.get("config", "default")))
    found = no_decision(
        records, verdicts, may_go_on=False if state.get("phase") == "no_decision" else None
    )
    write_json(found) if settings.json else write(as_markdown(found))


@command.command("schema", epilog="Example:  da-score meeting schema record > record.schema.json")
@click.argument("kind", type=click.Choice(["record", "config"]))
@settings_options()
def schema(kind: str, settings: Settings) -> None:  # noqa: ARG001 - a schema is JSON anyway
    """Print the JSON schema of a judge's record or of a config."""
    from scoring.meters.meeting.config import config_schema
    from scoring.meters.meeting.records import record_schema

    write_json(record_schema() if kind == "record" else config_schema())
