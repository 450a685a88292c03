"""A made history: a trunk, with work that was reverted, rebased or never merged here and there."""

import os
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import IO

from benchmarks.made.prose import phrase, sentences
from benchmarks.made.times import START, STEP

TRUNK = "master"

_ENVIRONMENT = {
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_NOSYSTEM": "1",
    "HOME": os.devnull,
    "PATH": os.environ.get("PATH", os.defpath),
}


@dataclass(frozen=True, slots=True)
class Work:
    """What an iteration did, as its entry will tell it."""

    iteration: int
    task: str
    commit: str
    subject: str
    time: int


def package(n: int) -> str:
    """Return the folder of a made package."""
    return f"src/package{n:02d}/"


PACKAGES = 40


def git(repo: Path, *arguments: str) -> str:
    """Run git in a made repository, with nobody's configuration, and return what it prints."""
    command = ["git", "-C", os.fspath(repo), *arguments]
    return subprocess.run(
        command, env=_ENVIRONMENT, check=True, capture_output=True, text=True
    ).stdout.strip()


def write_history(
    repo: Path,
    tasks: Mapping[str, tuple[str, ...]],
    iterations: int,
    commits: int,
    extra: int,
    seed: int,
) -> list[Work]:
    """Make a repository without checked out files, and return what each iteration did in it.

    Args:
        repo: where; it does not exist yet.
        tasks: the write scope of each task.
        iterations: how many there are.
        commits: how many commits each makes; the last is the one that its entry names.
        extra: how many commits the trunk holds from before the first iteration.
        seed: the same one makes the same commits.
    """
    repo.mkdir(parents=True)
    git(
        repo,
        "init",
        "-q",
        "--template=",
        "--object-format=sha1",
        f"--initial-branch={TRUNK}",
    )
    rng = Random(f"{seed} history")
    with _importer(repo) as stream:
        for n in range(extra):
            anywhere = [package(rng.randrange(PACKAGES))]
            stream.commit(rng, phrase(rng), START - (extra - n) * 60, anywhere, files=1)
        works: list[Work] = []
        for number in range(1, iterations + 1):
            works.append(
                _iterate(
                    stream, rng, number, commits, tasks, works[-1] if works else None
                )
            )
    return works


def _iterate(
    stream: "_Stream",
    rng: Random,
    number: int,
    commits: int,
    tasks: Mapping[str, tuple[str, ...]],
    last: Work | None,
) -> Work:
    """Commit the work of one iteration."""
    began = START + STEP * (number - 1)
    if last and last.iteration % 11 == 4:
        message = f'Revert "{last.subject}"\n\nThis reverts commit {last.commit}.\n'
        stream.commit(
            rng, message, began + 30, [package(rng.randrange(PACKAGES))], files=2
        )
    task = rng.choice(list(tasks))
    for n in range(1, commits + 1):
        subject = f"{phrase(rng)} ({number}.{n})"
        time = began + STEP * n // commits
        scope = (
            list(tasks[task])
            if rng.random() < 0.7
            else [*tasks[task], package(rng.randrange(PACKAGES))]
        )
        branch = f"work/{number}" if n == commits and number % 19 == 7 else TRUNK
        stream.commit(
            rng,
            f"{subject}\n\n{sentences(rng, rng.randint(0, 4))}\n",
            time,
            scope,
            rng.randint(1, 7),
            branch,
        )
    sha = stream.sha()
    if number % 13 == 6:  # it was rebased: what the entry names is gone
        sha = f"{rng.getrandbits(160):040x}"
    return Work(number, task, sha, subject, time)


class _Stream:
    """A running ``git fast-import``."""

    def __init__(self, given: IO[bytes], answers: IO[bytes]) -> None:
        self._given, self._answers = given, answers
        self._mark = 0
        self._trunk = 0

    def commit(
        self,
        rng: Random,
        message: str,
        time: int,
        folders: list[str],
        files: int,
        branch: str = TRUNK,
    ) -> None:
        """Commit some files in some folders, on top of the trunk."""
        self._mark += 1
        text = message.encode()
        self._write(f"commit refs/heads/{branch}\nmark :{self._mark}\n")
        self._write(
            f"author A <a@example.org> {time} +0000\ncommitter C <c@example.org> {time} +0000\n"
        )
        self._write(f"data {len(text)}\n{message}\n")
        if self._trunk:
            self._write(f"from :{self._trunk}\n")
        for _ in range(files):
            body = sentences(rng, 2).encode()
            path = f"{rng.choice(folders)}module{rng.randrange(30):02d}.py"
            self._write(f"M 100644 inline {path}\ndata {len(body)}\n")
            self._given.write(body + b"\n")
        if branch == TRUNK:
            self._trunk = self._mark

    def sha(self) -> str:
        """Return the SHA of the last commit."""
        self._write(f"get-mark :{self._mark}\n")
        self._given.flush()
        return self._answers.readline().decode().strip()

    def _write(self, text: str) -> None:
        self._given.write(text.encode())


@contextmanager
def _importer(repo: Path) -> Iterator[_Stream]:
    command = ["git", "-C", os.fspath(repo), "fast-import", "--quiet", "--done"]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=_ENVIRONMENT
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        yield _Stream(process.stdin, process.stdout)
        process.stdin.write(b"done\n")
        process.stdin.close()
    if process.returncode:
        raise subprocess.CalledProcessError(process.returncode, command)
