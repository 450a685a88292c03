"""A made backlog to measure on: a repository with its log, and transcripts of two harnesses.

``python -m benchmarks.corpus DIR`` makes one. The same numbers and the same seed make the same
bytes::

    DIR/corpus.json          the numbers it was made with DIR/repo                 a git repository,
    trunk master; the log lies in .agents/active/iteration-log DIR/transcripts/claude   *.jsonl
    DIR/transcripts/codex    *.jsonl
"""

import argparse
import json
import os
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from random import Random

from benchmarks.made.entries import LOG, make_tasks, write_log, write_plans
from benchmarks.made.history import write_history
from benchmarks.made.sessions import write_transcripts
from benchmarks.made.times import START, STEP

_MANIFEST, _REPO, _TRANSCRIPTS = "corpus.json", "repo", "transcripts"


@dataclass(frozen=True, slots=True)
class Size:
    """How large a backlog is."""

    iterations: int = 200
    commits: int = field(default=5, metadata={"help": "commits per iteration"})
    transcript_mb: float = field(
        default=256, metadata={"help": "transcripts, in million bytes"}
    )
    extra_commits: int = field(
        default=0,
        metadata={"help": "commits on the trunk from before the first iteration"},
    )
    seed: int = 1


@dataclass(frozen=True, slots=True)
class Corpus:
    """Where the parts of a backlog lie."""

    size: Size
    repo: Path
    log: Path
    transcripts: tuple[Path, ...]

    @property
    def claude(self) -> Path:
        """The directory with the transcripts of Claude Code."""
        return self.transcripts[0]

    @property
    def files(self) -> list[Path]:
        """Every transcript."""
        return [
            path
            for directory in self.transcripts
            for path in sorted(directory.iterdir())
        ]

    @property
    def transcript_bytes(self) -> int:
        """How many bytes all transcripts have together."""
        return sum(path.stat().st_size for path in self.files)


def make_corpus(directory: Path, size: Size) -> Corpus:
    """Make a backlog in a directory that does not exist yet, or is empty."""
    repo = directory / _REPO
    tasks = make_tasks(size.seed)
    works = write_history(
        repo, tasks, size.iterations, size.commits, size.extra_commits, size.seed
    )
    write_plans(repo, tasks)
    log = write_log(repo, works, size.seed)
    end = START + STEP * size.iterations
    folders = write_transcripts(
        directory / _TRANSCRIPTS,
        int(size.transcript_mb * 1e6),
        START - STEP,
        end,
        size.seed,
    )
    (directory / _MANIFEST).write_text(
        json.dumps(asdict(size)) + "\n", "utf-8"
    )  # last: now it is whole
    return Corpus(size, repo, log, folders)


def open_corpus(directory: Path) -> Corpus:
    """Open a backlog that was made before.

    Raises:
        OSError: there is none, or it was not made to its end.
    """
    size = Size(**json.loads((directory / _MANIFEST).read_text("utf-8")))
    folders = tuple(sorted((directory / _TRANSCRIPTS).iterdir()))
    return Corpus(size, directory / _REPO, directory / _REPO / LOG, folders)


def part_of(corpus: Corpus, size: int, directory: Path) -> Corpus:
    """Return a backlog with about ``size`` bytes of another one's transcripts, as hard links."""
    files = corpus.files
    Random(0).shuffle(files)
    folders = _folders(corpus, directory)
    left = size
    for path in files:
        if (length := path.stat().st_size) <= left:
            left -= length
            os.link(path, directory / path.parent.name / path.name)
    return Corpus(corpus.size, corpus.repo, corpus.log, folders)


def multiplied(corpus: Corpus, factor: int, directory: Path) -> Corpus:
    """Return a backlog with several copies of another one's transcripts, under other names."""
    folders = _folders(corpus, directory)
    for path in corpus.files:
        for n in range(factor):
            os.link(path, directory / path.parent.name / f"{n}-{path.name}")
    return Corpus(corpus.size, corpus.repo, corpus.log, folders)


def _folders(corpus: Corpus, directory: Path) -> tuple[Path, ...]:
    folders = tuple(directory / folder.name for folder in corpus.transcripts)
    for folder in folders:
        folder.mkdir(parents=True)
    return folders


def add_size_options(parser: argparse.ArgumentParser) -> None:
    """Give a parser an option for each number of a size."""
    for each in fields(Size):
        kind = float if each.type is float else int
        name = f"--{each.name.replace('_', '-')}"
        parser.add_argument(
            name,
            type=kind,
            default=each.default,
            help=each.metadata.get("help"),
            metavar="N",
        )


def size_of(options: argparse.Namespace) -> Size:
    """Return the size that parsed options ask for."""
    return Size(**{each.name: getattr(options, each.name) for each in fields(Size)})


def main(argv: list[str] | None = None) -> int:
    """Make a backlog."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.corpus", description="Make a backlog to measure on."
    )
    parser.add_argument("directory", type=Path)
    add_size_options(parser)
    options = parser.parse_args(argv)
    corpus = make_corpus(options.directory, size_of(options))
    megabytes = corpus.transcript_bytes / 1e6
    print(f"{options.directory}: {len(corpus.files)} transcripts, {megabytes:.1f} MB")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
