"""``da-score meeting``: whether a deliberation may end, must go on, or should be parked."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from scoring.errors import InputError, OptionError
from scoring.frozen import PlainData, Texts
from scoring.log.settings import Settings
from scoring.meters.plaindata import read_standard_input
from scoring.text import printable
from scoring.worker_processes import sigterm_as_interrupt

from .group import GroupWithDefault
from .options import PATH, Number, Whole, choice, flag, settings_options, valued
from .output import reply, warn, write, write_json

if TYPE_CHECKING:
    from scoring.meters.meeting.autopilot import Ask
    from scoring.meters.meeting.config import MeetingConfig
    from scoring.meters.meeting.state_file import MeetingState

_FILE = click.argument("file", metavar="FILE", type=click.Path(allow_dash=True))
_CONFIG_OPTION = valued(
    "--config",
    "NAME|FILE",
    "default, tactical, strategic, or a file: .json, .yaml or .toml, whole or partial."
    "  [default: default, or that of a state of meeting run]",
)


@click.command
@_FILE
@_CONFIG_OPTION
@flag("--semantic", "Also compare messages by meaning; needs the extra 'semantic'.")
@settings_options()
def score(
    file: str,
    config: str | None,
    semantic: bool,
    settings: Settings,
) -> None:
    """Score the rounds of a meeting, as "meeting FILE" does.

    Example:  da-score meeting score rounds.jsonl --json
    """
    from scoring.meters.dr import open_embedder
    from scoring.meters.meeting import score_meeting
    from scoring.meters.meeting.record_reading import read_meeting
    from scoring.views.meter_pages import meeting_view

    records, state = read_meeting(file)
    meeting_config = _config(config or state.get("config", "default"))
    embed = open_embedder(settings.store_dir) if semantic else None
    verdicts = score_meeting(records, meeting_config, embed)

    ids = [record.meeting_id for record in records if record.meeting_id]
    title = "standard input" if file == "-" else file
    if ids:
        title = ids[0]
    page = meeting_view(
        verdicts, meeting_config, title, config or meeting_config.meeting_type
    )
    reply(settings, [verdict.as_dict() for verdict in verdicts], page)


@click.group(
    "meeting",
    cls=GroupWithDefault,
    default=score,
    usage="FILE",
)
def command() -> None:
    """Score each round of a meeting of experts, and say whether it may end.

    FILE holds a judge's record of each round: a JSON object, a JSON list or JSONL; - is standard
    input. "meeting FILE" is short for "meeting score FILE". docs/DELIBERATION.md explains scores
    and rules. The command says nothing about whether the experts agreed on the right thing.

    Example:  da-score meeting rounds.jsonl
    """


command.add_command(score)


def _config(config: str | PlainData) -> "MeetingConfig":
    """Return a config by its name or file, or the one that a state holds.

    Warns of keys of a file that have no meaning.
    """
    from scoring.meters.meeting.config import (
        find_meeting_config,
        meeting_config,
        unknown_keys,
    )

    if not isinstance(config, str):
        return meeting_config(config)

    found = find_meeting_config(config)
    for key in unknown_keys(found):
        warn(f"{config}: {key} is not a key of a config and is ignored")
    return found


@command.command
@valued(
    "--state",
    "FILE",
    "The file that keeps the meeting.",
    key="path",
    required=True,
    type=PATH,
)
@valued("--config", "NAME|FILE", "What a new meeting is judged by.  [default: default]")
@valued("--topic", "TEXT", "What is to be decided, for experts and judge.")
@valued(
    "--expert",
    "NAME=COMMAND",
    "An expert: the command answers a prompt. Give it once for each expert.",
    key="experts",
    multiple=True,
)
@valued(
    "--judge",
    "COMMAND",
    "The judge: the command gets the next question as JSON, and answers with a record.",
)
@click.option(
    "--timeout",
    type=Number(0.01, 86400),
    default=600,
    help="How many seconds one answer may take.",
)
@click.option(
    "--rounds", type=Whole(1, 1000), help="Hold at most this many rounds now."
)
@flag("--example", "Let scripted experts and a scripted judge show how it goes.")
@choice(
    "--answer",
    ["yes", "no", "park", "end"],
    "What people answer: yes or no to the open question, park it, or ask to end.",
)
@valued(
    "--option",
    "NAME",
    "With --answer yes: what was decided.  [default: the leading option]",
)
@settings_options()
def run(
    path: Path,
    config: str | None,
    topic: str | None,
    experts: Texts,
    judge: str | None,
    timeout: float,
    rounds: int | None,
    example: bool,
    answer: str | None,
    option: str | None,
    settings: Settings,
) -> None:
    """Hold a meeting between commands: experts speak, and a judge writes records.

    A command gets a prompt on standard input and answers on standard output, an expert with text
    and the judge with a record. They go on until people must answer a question, or the meeting is
    over. The state keeps every answer at once, so the same command continues wherever it was
    stopped. Without experts, judge and answer, a record may come from standard input; without
    that too, the command says what the meeting needs next.

    Example:  da-score meeting run --state meeting.json --example
    """
    from scoring.meters.meeting import driver, scripted
    from scoring.meters.meeting.autopilot import ask_command, run_rounds
    from scoring.meters.meeting.next_step import lines_of_question, what_next
    from scoring.meters.meeting.state_file import open_state, save_state

    if option is not None and answer != "yes":
        raise OptionError("--option goes with --answer yes")
    if example and (experts or judge):
        raise OptionError(
            "--example has its own experts and judge; leave --expert and --judge out"
        )

    if example:
        ask_experts = scripted.scripted_experts()
        ask_judge: Ask | None = scripted.scripted_judge
    else:
        ask_experts = _commands_of_experts(experts, timeout)
        ask_judge = (
            ask_command("--judge", judge, timeout) if judge is not None else None
        )

    state = open_state(path, _config(config) if config else None)
    if example:
        topic = topic or state.topic or scripted.TOPIC
    if topic is not None:
        state = state.model_copy(update={"topic": topic})

    missing = driver.missing_for_end(state) if answer == "end" else []
    if answer is not None and not missing:
        state = save_state(path, _answered(state, answer, option))

    if (ask_experts or ask_judge) and not missing:
        with sigterm_as_interrupt():
            state = run_rounds(path, state, ask_experts, ask_judge, rounds)
    elif answer is None and sys.stdin and not sys.stdin.isatty():
        record = read_standard_input()
        if record.strip():
            state = save_state(
                path, driver.take_record(state, record, "standard input")
            )

    question = what_next(state)
    if missing:
        question = question | {"missing": missing}
    text = "".join(f"{line}\n" for line in lines_of_question(question))
    reply(settings, question, text)


def _commands_of_experts(arguments: Texts, timeout: float) -> "dict[str, Ask]":
    """Return how to ask each expert, by name, from arguments such as NAME=COMMAND.

    Raises:
        OptionError: an argument has another form, or names an expert again.
    """
    from scoring.meters.meeting.autopilot import ask_command

    commands: dict[str, Ask] = {}
    for argument in arguments:
        name, _, command_line = argument.partition("=")
        if not name.strip() or not command_line.strip() or name in commands:
            raise OptionError(
                f"--expert {argument}: give each expert once, as NAME=COMMAND"
            )
        commands[name] = ask_command(f"--expert {name}:", command_line, timeout)
    return commands


def _answered(state: "MeetingState", answer: str, option: str | None) -> "MeetingState":
    """Return a meeting after people answered the open question, parked it, or wished to end it.

    Args:
        state: the meeting.
        answer: ``yes``, ``no``, ``park`` or ``end``.
        option: what was decided with ``yes``; None for the leading option.
    """
    from scoring.meters.meeting import driver

    if answer == "park":
        return driver.park(state)
    if answer == "end":
        return driver.wish_to_end(state)
    return driver.take_answer(state, answer == "yes", option)


@command.command("no-decision")
@_FILE
@_CONFIG_OPTION
@settings_options()
def without_decision(file: str, config: str | None, settings: Settings) -> None:
    """Write down a meeting that ends without a decision, as Markdown or JSON.

    Says what the options, the positions and the blockers were.

    Example:  da-score meeting no-decision rounds.jsonl > no-decision.md
    """
    from scoring.meters.meeting import score_meeting
    from scoring.meters.meeting.record_reading import read_meeting
    from scoring.meters.meeting.undecided import as_markdown, no_decision

    records, state = read_meeting(file)
    phase = state.get("phase")
    if phase == "decided":
        raise InputError(
            f"{file}: the meeting ended with a decision: {printable(state.get('decision'))}"
        )

    verdicts = score_meeting(records, _config(config or state.get("config", "default")))
    may_go_on = False if phase == "no_decision" else None
    document = no_decision(records, verdicts, may_go_on=may_go_on)

    if settings.json:
        write_json(document)
    else:
        write(as_markdown(document))


@command.command
@click.argument("kind", type=click.Choice(["record", "config"]))
@settings_options()
def schema(kind: str, settings: Settings) -> None:  # noqa: ARG001 - a schema is JSON in any case
    """Print the JSON Schema of a judge's record or of a config.

    Example:  da-score meeting schema record > record.schema.json
    """
    from scoring.meters.meeting.config import config_schema
    from scoring.meters.meeting.records import record_schema

    write_json(record_schema() if kind == "record" else config_schema())
