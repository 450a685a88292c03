"""``python -m benchmarks reader FILE`` prints what a reader understands of a transcript.

It also prints what the reader does not understand.
"""

import argparse
from collections.abc import Iterator, Sequence
from pathlib import Path

from scoring.evidence.commands.testruns import TestTools
from scoring.evidence.harnesses.codex_counts import CountedTurn
from scoring.evidence.harnesses.discovery import discover
from scoring.evidence.harnesses.readers import HARNESSES
from scoring.evidence.harnesses.reading import Reading
from scoring.evidence.harnesses.unread import UNREAD
from scoring.evidence.transcripts.events import (
    Call,
    CallResult,
    ChatText,
    CommitMade,
    Compaction,
    Edit,
    Prompt,
    Response,
    StatedTotals,
    TestRun,
    TokensStated,
    TokensUsed,
    UserBreak,
)
from scoring.evidence.transcripts.facts import TranscriptPlaces
from scoring.evidence.transcripts.transcript_events import TranscriptEvents
from scoring.evidence.transcripts.transcript_files import FileRead

_NAMES = {harness.name for harness in HARNESSES}

VERDICTS = {True: "passed", False: "failed", None: "no verdict"}


def understood(events: TranscriptEvents) -> Iterator[tuple[str, str]]:
    """Yield what a transcript shows: a name and a value each."""
    for span in events.spans:
        agent = f", sub-agent of {span.parent or 'it'}" if span.agent else ""
        yield (
            "lines of",
            f"session {span.session or '?'}, folder {span.cwd or '?'}, "
            f"model {span.model or '?'}{agent}",
        )
    yield "lines", f"{len(events.lines)}"

    texts = sum(text.by_user for text in events.of(ChatText))
    yield (
        "texts of the user",
        f"{texts}, {len(events.of(Prompt))} of them about the work before",
    )

    responses = events.of(Response)
    totals = events.of(StatedTotals)
    turns = [turn for turn in events.of(CountedTurn) if not turn.repeats]
    measured = [one for one in responses if one.stated > TokensStated.OUTPUT_ONLY]
    yield (
        "responses",
        f"{len(responses) + len(turns)}, {len(measured) + len(turns)} with tokens; "
        f"totals stated {len(totals)} times",
    )
    tokens = [response.tokens for response in measured]
    tokens += [stated.tokens for stated in totals]
    tokens += [turn.response.tokens for turn in turns]
    yield "tokens", tokens_in(tokens)

    results = events.of(CallResult)
    failed = sum(result.failed for result in results)
    yield "calls", f"{len(events.of(Call))}, {len(results)} ended, {failed} failed"

    breaks = [stop.kind for stop in events.of(UserBreak)]
    refusals = breaks.count("refusal")
    interruptions = breaks.count("interruption")
    yield "refusals, interruptions", f"{refusals}, {interruptions}"

    edited = {events.texts[edit.path] for edit in events.of(Edit)}
    yield "edited files", ", ".join(sorted(edited)) or "none"
    yield (
        "test runs",
        ", ".join(VERDICTS[run.passed] for run in events.of(TestRun)) or "none",
    )
    commits = [made.sha or "without a SHA" for made in events.of(CommitMade)]
    yield "commits", ", ".join(commits) or "none"
    yield "compactions", f"{len(events.of(Compaction))}"


def tokens_in(counts: Sequence[TokensUsed]) -> str:
    """Return the sums of tokens in words."""
    if not counts:
        return "unknown"

    output, new_input, reads, writes, _ = map(sum, zip(*counts, strict=True))
    cached = f"read from the cache {reads}, written to it {writes}"
    return f"output {output}, input {new_input}, {cached}"


def main(arguments: Sequence[str]) -> int:
    """Print what is understood of each transcript, and return 1 where one is not known at all."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks reader", description=__doc__
    )
    parser.add_argument("file", type=Path, help="a transcript, or a folder of some")
    path: Path = parser.parse_args(arguments).file

    folder = path if path.is_dir() else path.parent
    places = TranscriptPlaces(Path("/"), (folder,))
    reading = Reading((*UNREAD, *HARNESSES), TestTools())
    understood_files = 0
    for transcript in discover(places, (*HARNESSES, *UNREAD), print).transcripts:
        if path in (folder, transcript.path):
            understood_files += show(transcript.path, reading.read(transcript))

    if not understood_files:
        print(
            f"{path}: no transcript; a reader's `files` and `claims` say which files are its"
        )
        return 1
    return 0


def show(path: Path, read: FileRead) -> int:
    """Print what is understood of one file, and return by how many harnesses."""
    parts = read.events or {}
    known = {name: events for name, events in parts.items() if name in _NAMES}
    if not known:
        print(
            f"{path}: no harness that is read knows it ({'+'.join(parts) or 'not readable'})"
        )
        return 0

    for name, events in known.items():
        print(f"{path}: {name}")
        for what, value in understood(events):
            print(f"  {what}: {value}")
        for reason, count in sorted(events.skipped.items()):
            print(f"  not understood, {count} times: {reason}")
    return len(known)
