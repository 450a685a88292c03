"""``da-score log schema``: what files may hold, as JSON Schema."""

from typing import Any

import click

from .options import shared_options
from .output import write_json


@click.group
def command() -> None:
    """Print the JSON Schema of a file, for an editor or an agent's instructions.

    Example:  da-score log schema entry > entry.schema.json
    """


@command.command
@shared_options()
def entry(options: dict[str, Any]) -> None:  # noqa: ARG001 - it prints JSON in any case
    """Print what an entry (iter-N.yaml) may hold in either schema, and what each field means.

    Example:  da-score log schema entry > entry.schema.json
    """
    # loads pydantic, which help does not need
    from scoring.log.schema import entry_schema

    write_json(entry_schema())
