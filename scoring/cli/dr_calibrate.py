"""``da-score dr calibrate``: the meter compared with what people expected of labelled transcripts."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from scoring.cli.app import settings_options
from scoring.cli.output import warn, write, write_json
from scoring.cli.reading import cache_dir
from scoring.errors import InputError
from scoring.log.settings import Settings, tables_of
from scoring.text import printable

if TYPE_CHECKING:  # the model of a transcript takes long to import
    from scoring.meters.dr.calibrate import Agreement, Calibration, Collection
    from scoring.meters.dr.settings import Tuning

EXIT_ERROR = 1
_WIDTHS = (17, 9, 8, 18, 10)


def tuning_of(settings: Settings, thresholds: Path | None) -> "Tuning":
    """Return how settings, and a file that wins over them, tune the meter."""
    from scoring.meters.dr.settings import tuning_from
    from scoring.meters.plaindata import read_config

    tables = tables_of(settings.repo_dir, "dr")
    if thresholds is not None:
        tables.append((str(thresholds), read_config(thresholds)))
    return tuning_from(tables)


@click.command("calibrate", epilog="Example:  da-score dr calibrate labelled/ --json")
@click.argument("directory", metavar="DIR", type=click.Path(path_type=Path))
@click.option(
    "--k",
    "ks",
    type=click.IntRange(1, 1_000_000),
    multiple=True,
    default=(1, 2),
    show_default="1 and 2",
    help="Rounds in a row that must be low; may be given several times.",
)
@click.option("--no-semantic", is_flag=True, help="Leave level L2 out, though its model is installed.")
@click.option(
    "--thresholds",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="A TOML, JSON or YAML file with thresholds and words; it wins over the settings.",
)
@settings_options("repo-dir", "cache-dir", "no-cache")
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

        embed, left_out = (open_embedder(cache_dir(settings)), "") if is_installed() else (None, NOT_INSTALLED)
    asked = [Setting(k, semantic) for semantic in ([False, True] if embed else [False]) for k in dict.fromkeys(ks)]
    found = measure(collection.labelled, asked, embed, tuning)
    if settings.json:
        write_json(calibration_payload(collection, found, left_out))
    else:
        write(calibration_text(directory, collection, found, left_out))
    return EXIT_ERROR if collection.broken else None


def calibration_text(
    directory: Path, collection: "Collection", found: "tuple[Calibration, ...]", left_out: str = ""
) -> str:
    """Return a calibration as text: agreement per setting, then a confusion table and the files that disagree."""
    counts = f"{len(collection.labelled)} labelled, {len(collection.unlabelled)} without a label"
    head = f"Calibration — {directory}\n{counts}, {len(collection.broken)} broken\n\n"
    lines = [head, _row("SETTING", "AGREE", "SHARE", "95 % INTERVAL", "NOVELTY", "READINESS")]
    for c in found:
        a = c.agreement
        low, high = a.interval
        share = "-" if a.share is None else f"{a.share:.3f}"
        classes = (_count(c.agreement_on("novelty")), _count(c.agreement_on("readiness")))
        lines.append(_row(str(c.setting), _count(a), share, f"{low:.3f} to {high:.3f}", *classes))
    if left_out:
        lines.append(f"L2 not measured: {left_out}\n")
    for c in found:
        lines += ["\n", *_details(c)]
    lines += _not_counted(collection)
    return printable_lines("".join(lines))


def _row(*cells: str) -> str:
    padded = [f"{text:<{width}}" for text, width in zip(cells, _WIDTHS, strict=False)]
    return "".join([*padded, *cells[len(_WIDTHS) :]]).rstrip() + "\n"


def _count(a: "Agreement") -> str:
    return f"{a.agreed} of {a.total}" if a.total else "-"


def _details(c: "Calibration") -> list[str]:
    confusion = c.confusion()
    lines = [f"{c.setting}\n", "  " + "".join(f"{cell:<12}" for cell in ("EXPECTED", *confusion)).rstrip() + "\n"]
    for wanted, by_found in confusion.items():
        lines.append("  " + "".join(f"{cell:<12}" for cell in (wanted, *map(str, by_found.values()))).rstrip() + "\n")
    for o in c.outcomes:
        if not o.agrees:
            lines.append(f"  {o.file}: expected {o.expected.signal}, found {o.found.signal} by the rule {o.rule}\n")
            lines.append(f"    {o.why}\n")
        if o.other_classes:
            lead = "    the label wants" if not o.agrees else f"  {o.file}: the same signal, but the label wants"
            lines.append(f"{lead} {'; '.join(o.other_classes)}\n")
    return lines


def _not_counted(collection: "Collection") -> list[str]:
    rows = [(file, "no label") for file in collection.unlabelled]
    rows += [(file, f"broken: {why}") for file, why in collection.broken]
    rows += [(file, "not named as a transcript is (.json, .jsonl, .ndjson)") for file in collection.others]
    return ["\nNot counted\n", *(f"  {file}: {why}\n" for file, why in rows)] if rows else []


def printable_lines(text: str) -> str:
    """Return lines with control characters escaped, line breaks apart."""
    return "".join(f"{printable(line)}\n" for line in text.split("\n")[:-1])
