"""``da-score rubric``: the released rubrics, and a check for one's own."""

from dataclasses import asdict
from pathlib import Path

import click

from rubric import RUBRIC_VERSION, Rubric, find_rubric, load_rubric, released_rubric, rubric_versions
from scoring.cli.app import settings_options
from scoring.cli.output import write, write_json
from scoring.settings import Settings
from scoring.text import printable


@click.group("rubric", epilog="Example:  da-score rubric show 2.1.0")
def command() -> None:
    """List, show and check rubrics."""


@command.command("list", epilog="Example:  da-score rubric list --json")
@settings_options()
def list_(settings: Settings) -> None:
    """List the released rubrics."""
    rubrics = [released_rubric(version) for version in rubric_versions()]
    if settings.json:
        write_json(
            [{"version": r.version, "signals": len(r.signals), "default": r.version == RUBRIC_VERSION} for r in rubrics]
        )
        return
    for r in rubrics:
        write(f"{r.version:<10}{len(r.signals)} signals{'  (default)' if r.version == RUBRIC_VERSION else ''}\n")


@command.command("show", epilog="Example:  da-score rubric show 2.0.2")
@click.argument("rubric", metavar="[VERSION|FILE]", required=False)
@settings_options()
def show(rubric: str | None, settings: Settings) -> None:
    """Show the signals, weights and bands of a rubric, by default the one that scores."""
    found = find_rubric(rubric or settings.rubric)
    if settings.json:
        write_json(asdict(found))
    else:
        write(_text(found))


@command.command("validate", epilog="Example:  da-score rubric validate my-rubric.yaml")
@click.argument("file", type=click.Path(path_type=Path))
@settings_options()
def validate(file: Path, settings: Settings) -> None:
    """Check a rubric file; exit 1 and say what is wrong when it is not valid."""
    found = load_rubric(file)
    if settings.json:
        write_json({"valid": True, "version": found.version, "signals": len(found.signals)})
    else:
        write(f"{file}: valid rubric {printable(found.version)}, {len(found.signals)} signals\n")


def _text(rubric: Rubric) -> str:
    lines = [f"Rubric {printable(rubric.version)}   {rubric.combination}\n\n"]
    lines.append(f"{'SIGNAL':<22}{'WEIGHT':<9}{'TWO-WAY':<9}LABEL\n")
    for s in rubric.signals:
        lines.append(f"{printable(s.id):<22}{s.weight:<9.4g}{'yes' if s.two_way else 'no':<9}{printable(s.label)}\n")
        lines.append(f"{'':<40}{printable(s.description)}\n")
    lines.append("\nBANDS  " + "   ".join(f"{printable(b.name)} from {b.min:g}" for b in rubric.bands) + "\n")
    return "".join(lines)
