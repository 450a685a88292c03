"""What ``doctor`` shows: what was found to score from and what to do about it, as lines, tables and JSON."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from operator import attrgetter
from pathlib import Path
from typing import Any

from msgspec import Struct, structs

from scoring.evidence.transcripts.facts import FileFound, TranscriptSurvey
from scoring.text import counted, short, some_spans, spans
from scoring.views.doctor import AttributionFound, Examination
from scoring.views.doctor.findings import Finding
from scoring.views.table import AnyCell, Block, Cell, Column, Line, Table, pairs

_COUNTS_OF = attrgetter("name", "sessions", "files", "turns", "tool_calls")
_EXAMPLES, _MOST_SESSIONS, _MOST_ITERATIONS, _MOST_FINDINGS = 2, 5, 10, 5


def doctor_page(
    seen: Examination, found: Sequence[Finding], every: bool, list_files: bool
) -> Iterator[Block]:
    """Yield what was looked at and what to do, with ``every`` all of it; ``list_files`` lists every transcript."""
    title = f"da-score doctor — rubric {seen.rubric.version}, {seen.rubric.evidence} evidence"
    yield from (Line(title, "bold"), Line(), pairs(list(_heads(seen)), 12))
    survey, lines = seen.transcripts, seen.attribution
    unclaimed = survey.unclaimed if list_files else survey.unclaimed[:_MOST_SESSIONS]
    tables: dict[tuple[str, ...], Sequence[Sequence[AnyCell]]] = {
        ("PLACE", "NAMED BY", "FILES", "STATE"): [
            (str(root.path), root.origin, root.files, root.problem or "read")
            for root in survey.roots
        ],
        ("HARNESS", "SESSIONS", "FILES", "TURNS", "TOOL CALLS", "FAILED", "DUPLICATES DROPPED"): [
            (*_COUNTS_OF(h), "unknown" if h.ends_unknown else h.tool_errors, h.duplicates_dropped)
            for h in survey.harnesses
        ],
        ("LINES FOUND BY", "ITERATIONS", "SESSIONS"): [(m, *n) for m, n in lines.methods.items()]
        if lines
        else [],
        ("ITERATIONS", "WITHOUT A SESSION BECAUSE", "WHICH"): [
            (
                len(numbers),
                why,
                some_spans(numbers, len(numbers) if list_files else _MOST_ITERATIONS),
            )
            for why, numbers in (lines.without if lines else {}).items()
        ],
        ("SESSION OF NO ITERATION", "HARNESS", "LINES", "TRANSCRIPT"): [
            (one.session, one.harness, one.lines, str(one.path)) for one in unclaimed
        ],
        ("TRANSCRIPTS", "LEFT OUT BECAUSE", "FOR EXAMPLE"): list(_left_out(survey.files)),
        ("LINES", "SKIPPED BECAUSE"): [(count, why) for why, count in survey.lines_skipped.items()],
        ("SIGNAL", "PRESENT", "OF"): [
            (s.signal, f"{s.share * 100:.0f} %", f"{s.present}/{s.total}") for s in seen.signals
        ],
    }
    if list_files:
        columns = ("TRANSCRIPT", "HARNESS", "SESSIONS", "WORKED IN", "LEFT OUT BECAUSE")
        step = (
            1 if _looked_into(survey.files) else len(columns) - 1
        )  # else the first and the last say all
        tables[columns[::step]] = [
            (str(f.path), f.harness or "-", len(f.sessions), f.cwd or "-", f.left_out or "-")[
                ::step
            ]
            for f in survey.files
        ]
    for heads, rows in tables.items():
        if rows and (every or heads[0] == "SIGNAL"):
            yield from (Line(), Table([Column(head) for head in heads], rows))
    yield Line()
    if not found:
        yield Line("Nothing is missing.")
        return
    yield Line("WHAT TO DO", "bold")
    for number, finding in enumerate(found if every else found[:_MOST_FINDINGS], 1):
        level = Cell(finding.level, style="bold red" if finding.level == "problem" else "yellow")
        yield Line([f"{number:>3}. ", level, f": {finding.what}"])
        yield Line(f"     → {finding.advice}")
        if finding.change and not finding.advice.startswith("nothing"):
            yield Line(f"     → then {finding.change}", "dim")
    if not every and len(found) > _MOST_FINDINGS:
        yield Line(
            f"{len(found) - _MOST_FINDINGS} more, and what was found: da-score doctor --all", "dim"
        )


def _heads(seen: Examination) -> Iterator[tuple[str, str]]:
    log, repository = seen.log, seen.repository
    schemas = ", ".join(
        f"schema {version}: {count}" for version, count in log.schema_versions.items()
    )
    broken = f", {len(log.broken)} that cannot be read" if log.broken else ""
    found = f"{counted(len(log.iterations), 'iteration')} in {log.path}{broken}" + (
        schemas and f" ({schemas})"
    )
    yield "LOG", log.problem or found
    yield "REPOSITORY", repository.problem or f"{repository.top_level}"
    if repository.branches:
        on = repository.branch or "no branch"
        yield "BRANCH", f"{on}, of {repository.branches} local"
    if repository.remotes:
        yield "REMOTES", ", ".join(f"{name}: {address}" for name, address in repository.remotes)
    if trunk := repository.trunk:
        tip = f" at {short(trunk.commit)}" if trunk.commit else ""
        yield "TRUNK", f"{trunk.name or 'none'}{tip}: {trunk.how}"
        yield "HISTORY", "shallow" if trunk.shallow else "complete"
        count = len(repository.unresolved)
        missing = f"{count} {'does' if count == 1 else 'do'} not resolve: {spans(sorted(repository.unresolved))}"
        if log.iterations:
            yield (
                "COMMITS",
                missing if repository.unresolved else "every one that the log names is here",
            )
    files = seen.transcripts.files
    left_out = sum(bool(file.left_out) for file in files)
    sessions = len({session for file in files if not file.left_out for session in file.sessions})
    with_sessions = f", with {counted(sessions, 'session')}" if _looked_into(files) else ""
    counting = counted(len(files) - left_out, "file counts", "files count")
    yield (
        "TRANSCRIPTS",
        f"{counting}{with_sessions}; {left_out} {'is' if left_out == 1 else 'are'} left out",
    )
    if seen.attribution is not None:
        held = seen.transcripts.checkpoints
        missing = f"; {len(held.missing)} of these are not in this clone" if held.missing else ""
        yield (
            "CHECKPOINTS",
            f"{held.count} in git, with {counted(held.transcripts, 'transcript')}{missing}",
        )
        without = len(seen.transcripts.unclaimed)
        if sessions or held.transcripts:
            belong = "belongs" if without == 1 else "belong"
            some = f"{without} that worked in this repository {belong} to no iteration"
            none = "every one that worked in this repository belongs to an iteration"
            yield "SESSIONS", some if without else none


def _looked_into(files: Sequence[FileFound]) -> bool:
    """Return whether harness and sessions of transcripts are known, which the reference's rules do not ask for."""
    return not files or any(file.harness or file.sessions or file.cwd for file in files)


def _left_out(files: Sequence[FileFound]) -> Iterator[Sequence[AnyCell]]:
    reasons = Counter(file.left_out for file in files if file.left_out)
    for reason, count in reasons.most_common():
        examples = [file.cwd or str(file.path) for file in files if file.left_out == reason]
        yield count, reason, ", ".join(list(dict.fromkeys(examples))[:_EXAMPLES])


def doctor_payload(seen: Examination, found: Sequence[Finding]) -> dict[str, Any]:
    """Return everything as data."""
    log, repository, survey = seen.log, seen.repository, seen.transcripts
    return {
        "rubric_version": seen.rubric.version,
        "evidence": seen.rubric.evidence,
        "log": _plain(log) | {"iterations": len(log.iterations), "broken": log.broken},
        "repository": {
            "path": str(repository.path),
            "top_level": repository.top_level and str(repository.top_level),
            "git_version": ".".join(map(str, repository.git_version)) or None,
            "shallow": repository.trunk and repository.trunk.shallow,
            "problem": repository.problem or None,
            "branch": repository.branch or None,
            "branches": repository.branches,
            "remotes": dict(repository.remotes),
        },
        "trunk": repository.trunk and structs.asdict(repository.trunk),
        "trunk_problem": repository.trunk_problem or None,
        "commits": {
            "unresolved": [
                {"iteration": n, "commit": commit} for n, commit in repository.unresolved.items()
            ],
            "without": repository.without_commit,
        },
        "transcripts": {
            "auto": seen.sources.places.auto,
            "roots": [_plain(root) | {"harness": root.harness} for root in survey.roots],
            "files": [_file(file) for file in survey.files],
            "lines_skipped": survey.lines_skipped,
            "duplicates_dropped": sum(harness.duplicates_dropped for harness in survey.harnesses),
            "harnesses": [
                {key: n for key, n in structs.asdict(h).items() if key != "flags"}
                | {"tool_errors": None if h.ends_unknown else h.tool_errors}
                for h in survey.harnesses
            ],
            "uncovered_iterations": seen.uncovered,
        },
        "attribution": seen.attribution and _attribution(seen.attribution, survey),
        "signals": [
            {
                "signal": s.signal,
                "present": s.present,
                "iterations": s.total,
                "share": s.share,
                "absent": s.absent,
            }
            for s in seen.signals
        ],
        "warnings": seen.warnings,
        "findings": list(map(asdict, found)),
    }


def _plain(found: Any) -> dict[str, Any]:
    values = (structs.asdict(found) if isinstance(found, Struct) else asdict(found)).items()
    return {
        key: str(value) if isinstance(value, Path) else None if value == "" else value
        for key, value in values
    }


def _file(file: FileFound) -> dict[str, Any]:
    fields = _plain(file)
    left_out = fields.pop("left_out")
    return fields | {"counts": not left_out, "left_out": left_out}


def _attribution(found: AttributionFound, survey: TranscriptSurvey) -> dict[str, Any]:
    checkpoints = survey.checkpoints
    return {
        "methods": {
            name: {"iterations": n, "sessions": sessions}
            for name, (n, sessions) in found.methods.items()
        },
        "iterations_without_session": [
            {"reason": why, "iterations": n} for why, n in found.without.items()
        ],
        "sessions_without_iteration": [
            {
                "session": one.session,
                "harness": one.harness,
                "path": str(one.path),
                "lines": one.lines,
            }
            for one in survey.unclaimed
        ],
        "checkpoints": {
            "found": checkpoints.count,
            "transcripts": checkpoints.transcripts,
            "missing": list(map(str, checkpoints.missing)),
            "not_fetched": list(checkpoints.not_fetched),
        },
    }
