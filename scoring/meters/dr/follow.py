"""Follows a transcript in JSONL while it grows, in a file or on a pipe, and scores it as rounds arrive."""

import os
import select
import time
from collections.abc import Callable, Iterator
from itertools import islice, takewhile
from pathlib import Path
from typing import Any, NamedTuple

from scoring.errors import InputError, TranscriptError
from scoring.files import SIZE_LIMIT, read_file, reason
from scoring.meters import rounded
from scoring.meters.dr.dr_result import DRResult
from scoring.meters.dr.novelty import RoundNovelty
from scoring.meters.dr.readiness import RoundReadiness
from scoring.meters.dr.recommendation import RoundSignal
from scoring.meters.dr.transcript import Round, Transcript, decoded, transcript_of_lines
from scoring.meters.plaindata import is_object

_PART = 1 << 20


class RoundScore(NamedTuple):
    """What the meter says as of one round."""

    novelty: RoundNovelty
    readiness: RoundReadiness
    recommendation: RoundSignal

    def payload(self) -> dict[str, Any]:
        """Return it as plain values."""
        new, ready = self.novelty, self.readiness
        return {
            "round": new.round,
            "claims": new.claims,
            "new_claims": new.new_claims,
            "novelty_rate": rounded(new.rate),
            "novelty_classification": new.level,
            "action_readiness": rounded(ready.value),
            "readiness_classification": ready.level,
            "signal": self.recommendation.signal,
            "rationale": self.recommendation.rationale,
        }

    def line(self) -> str:
        """Return it as a line of text."""
        new, ready = self.novelty, self.readiness
        return (
            f"round {new.round:<4} {new.new_claims:>4} of {new.claims:<4} new  novelty {new.rate:.3f} {new.level:<6}  "
            f"readiness {ready.value:.2f} {ready.level:<6}  {self.recommendation.signal}\n"
        )


class Update(NamedTuple):
    """What the latest content of a growing transcript adds."""

    new: list[RoundScore]  # the rounds that were not known, in order, each scored together with those before it
    replaced: bool  # whether what was read before is no longer the beginning, so that every round is new


def follow(
    contents: Iterator[tuple[bytes, bool]], source: str, score: Callable[[Transcript], DRResult]
) -> Iterator[Update]:
    """Yield what each whole content of a growing transcript adds, given with whether it is the end; TranscriptError."""
    read = b""
    known: tuple[Round, ...] = ()
    for data, is_final in contents:
        whole = data if is_final else whole_lines(data)
        replaced = not whole.startswith(read)
        read = whole
        transcript = transcript_of_lines(decoded(whole, source), source, texts=True, is_final=is_final)
        rounds = transcript.rounds if transcript else ()
        pairs = zip(() if replaced else known, rounds, strict=False)
        same = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))
        known = rounds
        if transcript is None or same == len(rounds):
            yield Update([], replaced)
            continue
        result = score(transcript)
        rows = zip(result.novelty, result.readiness, result.recommendations, strict=True)
        yield Update([RoundScore(*row) for row in islice(rows, same, None)], replaced)


def whole_lines(data: bytes) -> bytes:
    """Return the lines that are complete; the last one is, without a line feed, when it is an object of JSON."""
    end = data.rfind(b"\n") + 1
    return data if is_object(data[end:]) else data[:end]


def contents_of(
    path: Path, interval: float, must_exist: bool = False, sleep: Callable[[float], None] = time.sleep
) -> Iterator[tuple[bytes, bool]]:
    """Yield a file's content, now and on change (``interval`` in seconds), and that it is no end; TranscriptError."""
    seen = None
    while True:
        try:
            found = path.stat()
            state = (found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns)
            if state != seen:
                data = read_file(path)
                seen = state
                yield data, False
        except FileNotFoundError as e:
            if must_exist:
                raise TranscriptError(f"{path}: no such file; name a transcript in JSONL") from e
            seen = None
        except (OSError, ValueError) as e:
            text = str(e) if isinstance(e, InputError) else f"{path}: {reason(e)}"
            raise TranscriptError(f"{text}; watch a plain file") from e
        sleep(interval)


def growing_contents(descriptor: int, only_whole: bool = False) -> Iterator[tuple[bytes, bool]]:
    """Yield all read so far, and whether it ended, when no more waits or ``only_whole`` at the end; TranscriptError."""
    data = bytearray()
    while True:
        try:
            part = os.read(descriptor, _PART)
        except OSError as e:
            raise TranscriptError(f"standard input: {reason(e)}") from e
        data += part
        if len(data) > SIZE_LIMIT:
            raise TranscriptError(f"standard input: larger than {SIZE_LIMIT >> 20} MiB")
        if not part:
            yield bytes(data), True
            return
        if not only_whole and not select.select([descriptor], [], [], 0)[0]:
            yield bytes(data), False
