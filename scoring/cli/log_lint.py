"""``da-score log lint``: check a log against the schema of entries."""

from scoring.jobs.lint import lint_log
from scoring.log.settings import Settings
from scoring.text import counted, printable

from .options import EVIDENCE_OPTIONS, flag, settings_command
from .output import WARNINGS, reply
from .reading import observing_sources


@settings_command(*EVIDENCE_OPTIONS)
@flag("--strict", "Also report keys that only dot-agents knows.")
def command(settings: Settings, strict: bool) -> int | None:
    """Check the entries of a log, each by itself and all together.

    Errors are broken files, unknown keys, values of a wrong type, two files of one iteration, and
    a commit that two entries name. Keys that dot-agents writes and da-score ignores are right
    unless you say --strict. Warnings, which --quiet only counts, are sessions that no transcript
    knows, and values that do not mean what they look like. Exits with 1 when there is an error.

    Example:  da-score log lint --json
    """
    # stays None, for not known, where the settings say that no transcript is read
    session_ids = None
    if settings.transcripts != "none":
        from scoring.evidence.attribution.attributed import AttributedScan

        with observing_sources(settings).transcripts().start() as scan:
            assert isinstance(scan, AttributedScan)
            session_ids = scan.session_ids()

    count, findings = lint_log(
        settings.iter_log_dir, settings.repo_dir, session_ids, strict
    )
    errors = sum(finding.level == "error" for finding in findings)

    value = {
        "entries": count,
        "errors": errors,
        "warnings": len(findings) - errors,
        "findings": [finding._asdict() for finding in findings],
    }

    lines = []
    for finding in findings:
        if WARNINGS.quiet and finding.level == "warning":
            continue
        place = str(finding.path)
        if finding.line:
            place += f":{finding.line}"
        lines.append(
            f"{printable(place)}: {finding.level}: {printable(finding.text)}\n"
        )

    total = "nothing is wrong"
    if findings:
        total = (
            f"{counted(errors, 'error')}, {counted(len(findings) - errors, 'warning')}"
        )
    lines.append(f"{counted(count, 'entry', 'entries')}: {total}\n")
    reply(settings, value, "".join(lines))
    return 1 if errors else None
