"""``python -m benchmarks reader FILE`` prints what a reader understands of a transcript.

It also prints what the reader does not understand.
"""

import argparse
from collections.abc import Iterator, Sequence
from pathlib import Path

from scoring.evidence.commands.testruns import TestTools
from scoring.evidence.harnesses.readers import HARNESSES
from scoring.evidence.transcripts.discovery import discover
from scoring.evidence.transcripts.facts import TranscriptPlaces
from scoring.evidence.transcripts.reading import Reading
from scoring.evidence.transcripts.rows import (
    BREAK,
    CALL,
    COMPACTION,
    EDIT,
    INTERRUPT,
    MADE,
    NOTE,
    PROMPT,
    REJECTION,
    RESPONSE,
    RUN,
    SAID,
    STATED,
    VERDICT,
    Rows,
)
from scoring.evidence.transcripts.tally import NOT_STATED, OUTPUT_ALONE

VERDICTS = {1: "passed", 0: "failed", -1: "no verdict"}


def understood(rows: Rows) -> Iterator[tuple[str, str]]:
    """Yield what the rows of a transcript say: a name and a value each."""

    def of(kind: int) -> list[tuple[int, ...]]:
        return [row[2:] for row in rows.tables.get(kind, ())]

    for span in rows.spans:
        agent = f", sub-agent of {span.parent or 'it'}" if span.agent else ""
        session = f"session {span.session or '?'}, folder {span.cwd or '?'}"
        yield "lines of", f"{session}, model {span.model or '?'}{agent}"
    measured = [row[4:8] for row in of(RESPONSE) if row[4] != NOT_STATED and row[8] != OUTPUT_ALONE]
    sums = [
        sum(column) for column in zip(*measured, *(row[1:] for row in of(STATED)), strict=True)
    ] or ["unknown"] * 4
    failed = [row[-1] for row in of(VERDICT)]
    breaks = [row[0] for row in of(BREAK)]
    yield "lines", f"{len(rows.lines)}"
    yield (
        "texts of the user",
        f"{sum(row[0] < 0 for row in of(SAID))}, {len(of(PROMPT))} of them about the work before",
    )
    yield (
        "responses",
        f"{len(of(RESPONSE))}, {len(measured)} with tokens; totals stated {len(of(STATED))} times",
    )
    yield "tokens", "output {}, input {}, read from the cache {}, written to it {}".format(*sums)
    yield "calls", f"{len(of(CALL))}, {len(failed)} ended, {sum(failed)} failed"
    yield "refusals, interruptions", f"{breaks.count(REJECTION)}, {breaks.count(INTERRUPT)}"
    yield "edited files", ", ".join(sorted({rows.texts[row[0]] for row in of(EDIT)})) or "none"
    yield "test runs", ", ".join(VERDICTS[row[3]] for row in of(RUN)) or "none"
    yield (
        "commits",
        ", ".join(f"{row[2]:x}" if row[3] else "without a SHA" for row in of(MADE)) or "none",
    )
    yield "compactions", f"{sum(row[0] == COMPACTION for row in of(NOTE))}"


def main(arguments: Sequence[str]) -> int:
    """Print what is understood of each transcript, and return 1 where one is not known at all."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks reader", description=__doc__)
    parser.add_argument("file", type=Path, help="a transcript, or a folder of some")
    path: Path = parser.parse_args(arguments).file
    folder = path if path.is_dir() else path.parent
    found = discover(TranscriptPlaces(Path("/"), (folder,)), HARNESSES, print).transcripts
    reading, known = Reading(HARNESSES, TestTools), 0
    for one in found:
        if path not in (folder, one.path):
            continue
        read = reading.read(one)
        for name, rows in (read.rows or {}).items():
            known += 1
            print(f"{one.path}: {name}")
            for what, value in understood(rows):
                print(f"  {what}: {value}")
            for reason, count in sorted(rows.skipped.items()):
                print(f"  not understood, {count} times: {reason}")
        if not read.rows:
            print(f"{one.path}: no harness knows it")
    if not known:
        print(f"{path}: no transcript; a reader's `files` and `claims` say which files are its")
    return int(not known)
