"""The command lines that are measured."""

import shutil
from dataclasses import dataclass
from pathlib import Path

from benchmarks.corpus import Corpus
from benchmarks.measure import HERE, PYTHON, Case, run

FLOOR = "the floor"
NO_CACHE = "`run --no-write --no-cache`"
COLD = "`run --no-write`, empty cache"
WARM = "`run --no-write`, warm cache"
ONE_PROCESS = "`run --no-write --no-cache --processes 1`"
RECOMPUTE = "`iteration N --recompute`, warm cache"


def floor(corpus: Corpus, name: str = FLOOR) -> Case:
    """Return the floor, which everything else is compared with."""
    folders = [str(folder) for folder in corpus.transcripts]
    return Case(name, (*PYTHON, str(HERE / "floor.py"), str(corpus.repo), *folders))


@dataclass(frozen=True, slots=True)
class Program:
    """da-score on a backlog.

    Attributes:
        corpus: the backlog.
        log: a copy of its log, because some commands write into it.
        cache: the cache directory of warm runs.
    """

    corpus: Corpus
    log: Path
    cache: Path

    @classmethod
    def on(cls, corpus: Corpus, directory: Path) -> "Program":
        """Prepare to run on a backlog, with log and cache in a directory."""
        log = directory / "log"
        shutil.copytree(corpus.log, log)
        return cls(corpus, log, directory / "cache")

    def command(self, *arguments: str, cache: Path | None = None) -> tuple[str, ...]:
        """Return a command line.

        Args:
            arguments: the command, with ``--no-cache`` where it has none.
            cache: the cache directory.
        """
        places = ["--repo-dir", str(self.corpus.repo), "--iter-log-dir", str(self.log)]
        for folder in self.corpus.transcripts:
            if any(folder.iterdir()):  # da-score warns of an empty one
                places += ["--transcript-dir", str(folder)]
        if cache:
            places += ["--cache-dir", str(cache)]
        return (*PYTHON, "-m", "scoring", *arguments, *places)

    def no_cache(self, *arguments: str, name: str = NO_CACHE) -> Case:
        """Return a run that keeps nothing and knows nothing."""
        return Case(name, self.command("run", "--no-write", "--no-cache", *arguments))

    def cold(self, *arguments: str) -> Case:
        """Return a run that begins with an empty cache and fills it."""
        empty = self.cache.with_name("cold")
        return Case(
            COLD,
            self.command("run", "--no-write", *arguments, cache=empty),
            lambda: _remove(empty),
        )

    def warm(self, *arguments: str, name: str = WARM) -> Case:
        """Return a run, or another command, with a cache that an earlier run has filled."""
        arguments = arguments or ("run", "--no-write")
        return Case(name, self.command(*arguments, cache=self.cache))

    def fill_cache(self) -> None:
        """Fill the cache for what is to be warm."""
        run(self.warm())


def _remove(directory: Path) -> None:
    shutil.rmtree(directory, ignore_errors=True)
