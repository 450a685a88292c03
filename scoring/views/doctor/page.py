"""What ``doctor`` shows: what was found to score from and what to do about it, as lines, tables and JSON."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from scoring.evidence.transcripts.facts import FileFound
from scoring.text import short, spans
from scoring.views.doctor import Examination
from scoring.views.doctor.findings import Finding
from scoring.views.table import Block, Cell, Column, Line, Table, pairs

_EXAMPLES = 2
_HARNESS = ("HARNESS", "SESSIONS", "FILES", "TURNS", "TOOL CALLS", "FAILED", "DUPLICATES DROPPED")
_FILE = ("TRANSCRIPT", "HARNESS", "SESSIONS", "WORKED IN", "LEFT OUT BECAUSE")
_LEVEL_STYLES = {"problem": "bold red", "note": "yellow"}


def doctor_page(seen: Examination, found: Sequence[Finding], list_files: bool) -> Iterator[Block]:
    """Yield what was looked at, and then what to do; ``list_files`` lists every transcript."""
    yield Line(f"da-score doctor — rubric {seen.rubric.version}, {seen.rubric.evidence} evidence", "bold")
    yield Line()
    yield pairs(list(_heads(seen)), 12)
    tables: list[tuple[Sequence[str], Iterable[Sequence[str]]]] = [
        (("PLACE", "NAMED BY", "FILES", "STATE"), _roots(seen)),
        (_HARNESS, _harnesses(seen)),
        (("TRANSCRIPTS", "LEFT OUT BECAUSE", "FOR EXAMPLE"), _left_out(seen)),
        (("LINES", "SKIPPED BECAUSE"), [(str(n), why) for why, n in seen.transcripts.lines_skipped.items()]),
        (("SIGNAL", "PRESENT", "OF"), _signals(seen)),
        (_FILE, _files(seen) if list_files else ()),
    ]
    for heads, rows in tables:
        if shown := list(rows):
            yield Line()
            yield Table([Column(head) for head in heads], shown)
    yield Line()
    if not found:
        yield Line("Nothing is missing.")
        return
    yield Line("WHAT TO DO", "bold")
    for number, finding in enumerate(found, 1):
        level = Cell(finding.level, style=_LEVEL_STYLES.get(finding.level, ""))
        yield Line([f"{number:>3}. ", level, f": {finding.what}"])
        yield Line(f"     → {finding.advice}")


def _heads(seen: Examination) -> Iterator[tuple[str, str]]:
    log, repository = seen.log, seen.repository
    schemas = ", ".join(f"schema {version}: {count}" for version, count in log.schema_versions.items())
    broken = f", {len(log.broken)} that cannot be read" if log.broken else ""
    yield (
        "LOG",
        log.problem or f"{len(log.iterations)} iterations in {log.path}{broken}" + (schemas and f" ({schemas})"),
    )
    yield "REPOSITORY", repository.problem or f"{repository.top_level}"
    if trunk := repository.trunk:
        tip = f" at {short(trunk.commit)}" if trunk.commit else ""
        yield "TRUNK", f"{trunk.name or 'none'}{tip}: {trunk.how}"
        yield "HISTORY", "shallow" if trunk.shallow else "complete"
        missing = f"{len(repository.unresolved)} do not resolve: {spans(sorted(repository.unresolved))}"
        yield "COMMITS", missing if repository.unresolved else "every one that the log names is here"
    files = seen.transcripts.files
    left_out = sum(bool(file.left_out) for file in files)
    sessions = len({session for file in files if not file.left_out for session in file.sessions})
    yield "TRANSCRIPTS", f"{len(files) - left_out} files count, with {sessions} sessions; {left_out} are left out"


def _roots(seen: Examination) -> Iterator[tuple[str, ...]]:
    for root in seen.transcripts.roots:
        yield str(root.path), root.origin, str(root.files), root.problem or "read"


def _signals(seen: Examination) -> Iterator[tuple[str, ...]]:
    for signal in seen.signals:
        yield signal.signal, f"{signal.share * 100:.0f} %", f"{signal.present}/{signal.total}"


def _harnesses(seen: Examination) -> Iterator[tuple[str, ...]]:
    for h in seen.transcripts.harnesses:
        counts = (h.sessions, h.files, h.turns, h.tool_calls, h.tool_errors, h.duplicates_dropped)
        yield h.name, *map(str, counts)


def _left_out(seen: Examination) -> Iterator[tuple[str, ...]]:
    reasons = Counter(file.left_out for file in seen.transcripts.files if file.left_out)
    for reason, count in reasons.most_common():
        examples = [_example(file) for file in seen.transcripts.files if file.left_out == reason]
        yield str(count), reason, ", ".join(list(dict.fromkeys(examples))[:_EXAMPLES])


def _example(file: FileFound) -> str:
    """Return what says most about a transcript that is left out: where its work was done, or else its path."""
    return file.cwd or str(file.path)


def _files(seen: Examination) -> Iterator[tuple[str, ...]]:
    for file in seen.transcripts.files:
        yield str(file.path), file.harness or "-", str(len(file.sessions)), file.cwd or "-", file.left_out or "-"


def doctor_payload(seen: Examination, found: Sequence[Finding]) -> dict[str, Any]:
    """Return everything as data."""
    log, repository, survey = seen.log, seen.repository, seen.transcripts
    places = seen.sources.places
    return {
        "rubric_version": seen.rubric.version,
        "evidence": seen.rubric.evidence,
        "log": {
            "path": str(log.path),
            "iterations": len(log.iterations),
            "schema_versions": {str(version): count for version, count in log.schema_versions.items()},
            "broken": list(log.broken),
            "problem": log.problem or None,
        },
        "repository": {
            "path": str(repository.path),
            "top_level": _text(repository.top_level),
            "git_version": ".".join(map(str, repository.git_version)) or None,
            "shallow": repository.trunk.shallow if repository.trunk else None,
            "problem": repository.problem or None,
        },
        "trunk": asdict(repository.trunk) if repository.trunk else None,
        "trunk_problem": repository.trunk_problem or None,
        "commits": {
            "unresolved": [{"iteration": n, "commit": commit} for n, commit in repository.unresolved.items()],
            "without": list(repository.without_commit),
        },
        "transcripts": {
            "auto": places.auto,
            "roots": [
                {**asdict(root), "path": str(root.path), "problem": root.problem or None} for root in survey.roots
            ],
            "files": [
                {
                    "path": str(file.path),
                    "harness": file.harness or None,
                    "sessions": list(file.sessions),
                    "cwd": file.cwd or None,
                    "counts": not file.left_out,
                    "left_out": file.left_out or None,
                }
                for file in survey.files
            ],
            "lines_skipped": survey.lines_skipped,
            "duplicates_dropped": seen.duplicates,
            "harnesses": [
                {name: count for name, count in asdict(harness).items() if name != "flags"}
                for harness in survey.harnesses
            ],
            "uncovered_iterations": list(seen.uncovered),
        },
        "signals": [
            {"signal": s.signal, "present": s.present, "iterations": s.total, "share": s.share, "absent": s.absent}
            for s in seen.signals
        ],
        "warnings": list(seen.warnings),
        "findings": [finding.as_dict() for finding in found],
    }


def _text(path: Path | None) -> str | None:
    return None if path is None else str(path)
