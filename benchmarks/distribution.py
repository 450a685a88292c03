"""``python -m benchmarks.distribution REPO LOG`` shows how the signals of a log are distributed.

Where LOG is not there yet, it is made first: an entry for each commit of the trunk, merges left
out, that names a checkpoint (``docs/EVIDENCE.md``, "Checkpoints in git"). Only numbers are printed,
as a table of Markdown; nothing else is written, and no word of a transcript.
"""

import argparse
import json
import statistics
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from rubric import find_rubric
from scoring.evidence.git.checkpoints import checkpoint_ids, read_checkpoints
from scoring.evidence.git.repository import GitRepository
from scoring.evidence.git.starter import as_text
from scoring.examine import LogView

NAMED = "+"
"""After the version of a rubric: give it the transcripts of all checkpoints as a folder."""


@dataclass
class Distribution:
    """What one signal, or the score, was in the iterations of a log."""

    total: int = 0
    values: list[float] = field(default_factory=list)

    def __str__(self) -> str:
        """Return how often it is present, its mean and quartiles, and the shares of 0 and of 1."""
        values = self.values
        if not values:
            return f"0/{self.total}"
        quartiles = (
            statistics.quantiles(values, n=4, method="inclusive")
            if len(values) > 1
            else values * 3
        )
        ends = [
            sum(value == end for value in values) / len(values) * 100 for end in (0, 1)
        ]
        low, middle, high = quartiles
        spread = f"{statistics.fmean(values):.2f} ({low:.2f} {middle:.2f} {high:.2f})"
        return f"{len(values)}/{self.total}: {spread}, {ends[0]:.0f} % at 0, {ends[1]:.0f} % at 1"


def make_log(repo: Path, log: Path) -> int:
    """Write an entry for each commit of the trunk that names a checkpoint; return how many."""
    log.mkdir(parents=True)
    text = as_text(
        GitRepository(repo).run(
            "log", "--no-merges", "--reverse", "-z", "--format=%H%x00%aI%x00%s%x00%B"
        )
    )
    fields = text.split("\0")
    count = 0
    for sha, day, subject, message in zip(
        fields[0::4], fields[1::4], fields[2::4], fields[3::4], strict=False
    ):
        if checkpoint_ids(message):
            count += 1
            entry = {
                "schema_version": 2,
                "iteration": count,
                "date": day[:10],
                "task_id": f"t{count}",
                "commit": sha,
            }
            (log / f"iter-{count}.yaml").write_text(
                json.dumps(entry | {"impl": {"summary": subject}})
            )
    return count


def write_transcripts(repo: Path, folder: Path) -> None:
    """Write the transcripts of all checkpoints into a folder."""
    opened = GitRepository(repo)
    for checkpoint in read_checkpoints(opened).values():
        for number, session in enumerate(checkpoint.sessions):
            if session.blobs and not session.missing:
                contents = opened.contents(session.blobs)
                whole = b"".join(contents[blob] for blob in session.blobs)
                (folder / f"{checkpoint.id}-{number}.jsonl").write_bytes(whole)


def distributions(
    repo: Path, log: Path, version: str, folder: Path
) -> tuple[dict[str, Distribution], Counter[str]]:
    """Score a log without writing, and return the values of signals and score, and the bands."""
    folders = (folder,) if version.endswith(NAMED) else ()
    rubric = find_rubric(version.removesuffix(NAMED))
    view = LogView(
        log,
        repo,
        folders,
        rubric,
        recompute=True,
        options={} if folders else {"transcripts": "none"},
    )
    found: dict[str, Distribution] = {}
    bands: Counter[str] = Counter()
    for one in view.examine():
        rows = [
            (row.signal, row.present, row.sub_score) for row in one.computed.breakdown
        ]
        for name, present, value in [
            *rows,
            ("score", one.computed.scored, one.computed.value),
        ]:
            signal = found.setdefault(name, Distribution())
            signal.total += 1
            signal.values += [value] if present else []
        bands[one.computed.band] += 1
    return found, bands


def table(repo: Path, log: Path, versions: Sequence[str]) -> Iterator[str]:
    """Yield the lines of the table: a row a signal, a column a rubric."""
    with tempfile.TemporaryDirectory() as folder:
        if any(version.endswith(NAMED) for version in versions):
            write_transcripts(repo, Path(folder))
        columns = {
            version: distributions(repo, log, version, Path(folder))
            for version in versions
        }
    heads = [version.replace(NAMED, ", transcripts named") for version in versions]
    yield f"| signal | {' | '.join(heads)} |"
    yield f"|---|{'---|' * len(heads)}"
    for name in dict.fromkeys(name for found, _ in columns.values() for name in found):
        cells = (str(found.get(name, "-")) for found, _ in columns.values())
        yield f"| {name} | {' | '.join(cells)} |"
    counts = (
        ", ".join(f"{band} {count}" for band, count in bands.most_common())
        for _, bands in columns.values()
    )
    yield f"| bands | {' | '.join(counts)} |"


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the table for a repository and a log."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.distribution", description=__doc__
    )
    parser.add_argument("repo", type=Path)
    parser.add_argument("log", type=Path)
    parser.add_argument(
        "--rubric",
        action="append",
        metavar="VERSION",
        help="3.1.0, 3.1.0+ with transcripts named, …",
    )
    given = parser.parse_args(arguments)
    if not given.log.exists():
        make_log(given.repo, given.log)
    for line in table(
        given.repo, given.log, given.rubric or ["2.2.0", f"2.2.0{NAMED}", "3.1.0"]
    ):
        print(line)
    return 0


if __name__ == "__main__":
    sys.exit(main())
