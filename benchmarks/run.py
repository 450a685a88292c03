"""``python -m benchmarks`` makes or takes a backlog, measures, and writes the page's tables."""

import argparse
import os
import platform
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path

from benchmarks.corpus import (
    Corpus,
    add_size_options,
    make_corpus,
    open_corpus,
    size_of,
)
from benchmarks.measure import HERE
from benchmarks.parts import compare, growth, long_log, memory, profile, scale, trunk
from benchmarks.setting import Setting
from benchmarks.tables import put
from scoring.text import counted

PARTS: dict[str, Callable[[Setting], str]] = {
    "compare": compare.measure,
    "memory": memory.measure,
    "growth": growth.measure,
    "entries": long_log.measure,
    "trunk": trunk.measure,
    "profile": profile.measure,
    "scale": scale.measure,
}
"""Every part, by the name that its marks in the document have."""

_ONLY_WHEN_NAMED = ("scale",)
"""Parts that take half an hour and gigabytes of files in memory."""


def main(argv: Sequence[str] | None = None) -> int:
    """Measure."""
    options = _parser().parse_args(argv)
    chosen = _chosen_parts(options)
    with _corpus(options) as (corpus, directory):
        facts = _facts(corpus, options.repeat)
        print(
            f"{facts}\nload average {', '.join(f'{load:.1f}' for load in os.getloadavg())}"
        )
        put(options.out, "facts", facts)
        for name in chosen:
            print(f"\n{name}", flush=True)
            room = directory / name
            room.mkdir()
            setting = Setting(
                corpus,
                room,
                options.repeat,
                options.out,
                not options.no_plots,
                options.trunk,
            )
            table = PARTS[name](setting)
            print(f"\n{table}", flush=True)
            put(options.out, name, table)
            shutil.rmtree(room)
    return 0


def _chosen_parts(options: argparse.Namespace) -> list[str]:
    names = options.only
    if not names:
        names = [name for name in PARTS if name not in _ONLY_WHEN_NAMED]
    return [name for name in names if name not in (options.without or ())]


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    add_size_options(parser)
    parser.add_argument(
        "--corpus",
        type=Path,
        metavar="DIR",
        help="take this backlog; make it when it is not there",
    )
    parser.add_argument(
        "--repeat", type=int, default=5, metavar="N", help="rounds that count"
    )
    parser.add_argument(
        "--trunk",
        type=int,
        default=50_000,
        metavar="N",
        help="how many commits a long trunk has",
    )
    parser.add_argument(
        "--out",
        type=Path,
        default=HERE.parent / "docs",
        metavar="DIR",
        help="where PERFORMANCE.md is",
    )
    parser.add_argument(
        "--only",
        action="append",
        choices=PARTS,
        help="measure this part; may be given several times",
    )
    parser.add_argument(
        "--without",
        action="append",
        choices=PARTS,
        help="leave this part out; likewise",
    )
    parser.add_argument("--no-plots", action="store_true", help="draw nothing")
    return parser


@contextmanager
def _corpus(options: argparse.Namespace) -> Iterator[tuple[Corpus, Path]]:
    """Give a backlog, and a directory on the same file system that is removed in the end."""
    named: Path | None = options.corpus and options.corpus.absolute()
    if named:
        named.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(
        prefix="benchmarks-", dir=named and named.parent
    ) as name:
        directory = Path(name)
        if named is not None and named.exists():
            yield open_corpus(named), directory
        else:
            yield (
                make_corpus(named or directory / "corpus", size_of(options)),
                directory,
            )


def _facts(corpus: Corpus, repeat: int) -> str:
    """Return a sentence that says what is measured, and with what."""
    size = corpus.size
    files = corpus.files
    commits = size.iterations * size.commits + size.extra_commits
    largest = max(file.stat().st_size for file in files)
    printed = subprocess.run(
        ["git", "--version"], capture_output=True, text=True, check=True
    )
    git = printed.stdout.split()[2]
    programs = (
        f"Python {platform.python_version()}, git {git}, orjson {version('orjson')}"
    )
    decimals = 0 if corpus.transcript_bytes > 1e7 else 1
    amount = f"{corpus.transcript_bytes / 1e6:.{decimals}f} MB"
    return (
        f"{size.iterations} iterations, {commits:,} commits, {amount} of "
        f"transcripts in {len(files)} files (the largest {largest / 1e6:.1f} MB); "
        f"{counted(repeat, 'round')}; {len(os.sched_getaffinity(0))} processors, {programs}."
    )
