"""``da-score meeting``: whether a deliberation may end, must go on, or should be parked."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.shell_completion import CompletionItem

from scoring.cli.app import settings_options
from scoring.cli.output import on_terminal, warn, write, write_json
from scoring.log.settings import Settings

if TYPE_CHECKING:  # the models take longer to load than the help to print
    from scoring.meters.meeting.config import MeetingConfig
    from scoring.meters.meeting.records import JudgeRecord

SCORE = "score"
"""The command that is meant where none is named."""

_JSON = "--json"
_CONFIG_HELP = "default, tactical, strategic, or a file: .json, .yaml or .toml, whole or partial."


class _FileOrCommand(click.Group):
    """A group whose first argument may be a file, which is then scored."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        first = next((n for n, argument in enumerate(args) if argument != _JSON), len(args))
        if first < len(args) and args[first] in self.commands:
            args = [args[first], *args[:first], *args[first + 1 :]]
        elif args and not set(args) & set(ctx.help_option_names):
            args = [SCORE, *args]
        return super().parse_args(ctx, args)

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        return [*super().shell_complete(ctx, incomplete), CompletionItem(incomplete, type="file")]

    def format_usage(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        formatter.write_usage(ctx.command_path, "[OPTIONS] FILE")
        for name in self.list_commands(ctx):
            formatter.write_usage(ctx.command_path, f"{name} [OPTIONS] ...", prefix="       ")

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        score.format_options(ctx, formatter)
        self.format_commands(ctx, formatter)


@click.group("meeting", cls=_FileOrCommand, epilog="Example:  da-score meeting rounds.jsonl --config tactical")
def command() -> None:
    """Score each round of a deliberation of several experts, and say whether it may end.

    FILE holds one judge's record per round: a JSON object, a JSON list or JSONL; - is standard input. "meeting FILE" is
    short for "meeting score FILE". docs/DELIBERATION.md explains scores and rules. It says nothing about whether what
    was agreed is right.
    """


@command.command(SCORE, epilog="Example:  da-score meeting score rounds.jsonl --json")
@click.argument("file", metavar="FILE", type=click.Path(allow_dash=True))
@click.option("--config", default="default", show_default=True, metavar="NAME|FILE", help=_CONFIG_HELP)
@click.option(
    "--plot",
    type=click.Path(path_type=Path),
    metavar="FILE.svg",
    help="Draw the scores over the rounds, with thresholds and statuses.",
)
@settings_options()
def score(file: str, config: str, plot: Path | None, settings: Settings) -> None:
    """Score the rounds of a meeting; the same as "meeting FILE"."""
    from scoring.meters.meeting.meter import score_meeting
    from scoring.meters.meeting.records import read_meeting_records

    if plot is not None:
        from scoring.meters.figures import check_plot

        check_plot(plot)
    judged_by = _config(config)
    records = read_meeting_records(file)
    verdicts = score_meeting(records, judged_by)
    if settings.json:
        write_json([verdict.as_dict() for verdict in verdicts])
    elif on_terminal():
        from scoring.cli.meeting_screen import show_meeting

        show_meeting(verdicts, judged_by, _title(records, file), config)
    else:
        from scoring.cli.meeting_text import meeting_text

        write(meeting_text(verdicts, judged_by, _title(records, file), config))
    if plot is not None:
        from scoring.files import write_atomically
        from scoring.meters.meeting.plot import draw_meeting

        write_atomically(plot, draw_meeting(verdicts, judged_by), mode=0o644)


def _title(records: "Sequence[JudgeRecord]", file: str) -> str:
    """Return what a meeting is called: its id, else the file."""
    named = next((record.meeting_id for record in records if record.meeting_id), None)
    return named or ("standard input" if file == "-" else file)


def _config(name: str) -> "MeetingConfig":
    """Find a config, and warn of keys in it that mean nothing."""
    from scoring.meters.meeting.config import find_meeting_config, unknown_keys

    found = find_meeting_config(name)
    for key in unknown_keys(found):
        warn(f"{name}: {key} is no key of a config and is ignored")
    return found


@command.command("schema", epilog="Example:  da-score meeting schema record > record.schema.json")
@click.argument("kind", type=click.Choice(["record", "config"]))
@settings_options()
def schema(kind: str, settings: Settings) -> None:  # noqa: ARG001 - a schema is JSON anyway
    """Print the JSON schema of a judge's record or of a config."""
    from scoring.meters.meeting.schema import config_schema, record_schema

    write_json(record_schema() if kind == "record" else config_schema())


_SHARE = click.FloatRange(0, 1)


@command.command("simulate", epilog="Example:  da-score meeting simulate --seed 7 --agreement 0.5 --out made.jsonl")
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True, help="Another seed is another meeting.")
@click.option("--rounds", type=click.IntRange(1, 100), default=10, show_default=True, help="How many rounds it has.")
@click.option("--experts", type=click.IntRange(1, 100), default=5, show_default=True, help="How many take part.")
@click.option(
    "--agreement", type=_SHARE, default=0.3, show_default=True, help="How likely a dissenter comes over in a round."
)
@click.option(
    "--exploration", type=_SHARE, default=0.5, show_default=True, help="How likely an aspect goes deeper in a round."
)
@click.option(
    "--novelty-decay", type=_SHARE, default=0.3, show_default=True, help="How much less is new from round to round."
)
@click.option("--drift", type=_SHARE, default=0.1, show_default=True, help="How much of what is said is off topic.")
@click.option("--config", "configs", multiple=True, metavar="FILE", help="Also try this config; may be given again.")
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Write the records: one a line if the name ends with .jsonl, else as a JSON list.",
)
@settings_options()
def simulate(configs: tuple[str, ...], out: Path | None, settings: Settings, **knobs: Any) -> None:
    """Make up a deliberation from a seed, and show when each preset would end it and by which rule.

    The same seed and knobs give the same meeting on every machine.
    """
    from scoring.meters.meeting.config import PRESETS, preset
    from scoring.meters.meeting.simulate import MeetingKnobs, endings, simulate_meeting

    tried = {name: preset(name) for name in PRESETS} | {name: _config(name) for name in configs}
    meeting = MeetingKnobs(**knobs)
    records = simulate_meeting(meeting)
    found = endings(records, tried)
    if out is not None:
        _write_records(out, records)
    if settings.json:
        from scoring.cli.meeting_text import simulation_payload

        write_json(simulation_payload(meeting, records, found))
    elif on_terminal():
        from scoring.cli.meeting_screen import show_simulation

        show_simulation(meeting, found, out)
    else:
        from scoring.cli.meeting_text import simulation_text

        write(simulation_text(meeting, found, out))


def _write_records(path: Path, records: "Sequence[JudgeRecord]") -> None:
    from scoring.files import write_atomically

    data = [record.model_dump(exclude_unset=True) for record in records]
    lines = "".join(json.dumps(item) + "\n" for item in data)
    text = lines if path.suffix.lower() == ".jsonl" else json.dumps(data, indent=1) + "\n"
    write_atomically(path, text.encode(), mode=0o644)
