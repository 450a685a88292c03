"""``da-score lint``: check a log against the schema of entries."""

import click

from scoring.cli.app import EVIDENCE_OPTIONS, settings_options
from scoring.cli.output import reply
from scoring.cli.reading import sources
from scoring.evidence.rules import ATTRIBUTED
from scoring.log.settings import Settings
from scoring.text import counted, printable


@click.command(epilog="Example:  da-score lint --json")
@settings_options(*EVIDENCE_OPTIONS)
def command(settings: Settings) -> int | None:
    """Check the entries of a log: what each holds, and what they say together.

    Errors are broken files, unknown keys, values of a wrong type, two files of one iteration, and a commit that two
    entries name. Warnings are sessions that no transcript knows, and values that are read as other than they look.
    Exit 1 when there is an error.
    """
    from scoring.evidence.attribution.attributed import AttributedScan
    from scoring.jobs.lint import lint_log

    sessions: set[str] | None = None
    if settings.transcripts != "none":
        with sources(settings, ATTRIBUTED).transcripts().start() as scan:
            assert isinstance(scan, AttributedScan)
            sessions = scan.session_ids()
    count, found = lint_log(settings.iter_log_dir, settings.repo_dir, sessions)
    errors = sum(one.level == "error" for one in found)
    warnings = len(found) - errors
    rows = [one._asdict() | {"path": str(one.path)} for one in found]
    lines = [
        f"{printable(f'{one.path}:{one.line}' if one.line else str(one.path))}: {one.level}: {printable(one.text)}\n"
        for one in found
    ]
    total = (
        f"{counted(errors, 'error')}, {counted(warnings, 'warning')}"
        if found
        else "nothing is wrong"
    )
    lines.append(f"{counted(count, 'entry', 'entries')}: {total}\n")
    value = {"entries": count, "errors": errors, "warnings": warnings, "findings": rows}
    reply(settings.json, value, "".join(lines))
    return 1 if errors else None
