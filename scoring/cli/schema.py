"""``da-score schema``: what files may hold, as JSON Schema."""

from typing import Any

import click

from scoring.cli.app import shared_options
from scoring.cli.output import write_json


@click.group("schema", epilog="Example:  da-score schema entry > entry.schema.json")
def command() -> None:
    """Print the JSON Schema of a file, for an editor or for an agent's instructions."""


@command.command("entry", epilog="Example:  da-score schema entry > entry.schema.json")
@shared_options()
def entry(options: dict[str, Any]) -> None:
    """Print what an entry of the log (iter-N.yaml) may hold, both schemas, with a description of every field."""
    del options  # it prints JSON either way
    from scoring.log.schema import (
        entry_schema,
    )  # pydantic takes longer to load than the help to print

    write_json(entry_schema())
