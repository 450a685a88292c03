"""Time and memory of commands on repositories, transcripts and logs far larger than real ones.

Every command runs once at half of the size and once at the whole, with nothing kept. The time is
that of the processors, over all processes; the memory is that of the largest process.
"""

import json
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.made.history import TRUNK, git
from benchmarks.made.times import START, day, stamp
from benchmarks.measure import PYTHON, Case, environment
from benchmarks.setting import Setting
from benchmarks.tables import markdown, number

_STEP = 600
_RUN = ("run", "--no-write")
_WORK = ("work",)
_CHECK = ("check", "--min-score", "0", "--allow-empty")
_PROGRAM = (
    "import resource, subprocess, sys;"
    "done = subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE);"
    "used = resource.getrusage(resource.RUSAGE_CHILDREN);"
    "print(used.ru_utime + used.ru_stime, used.ru_maxrss);"
    "done.returncode and sys.exit(done.stderr[-2000:].decode())"
)


@dataclass(frozen=True, slots=True)
class Scale:
    """What is large: its sizes, how to write it into a folder, and the commands measured on it."""

    what: str
    size: int
    make: Callable[[Path, int], None]
    commands: Sequence[tuple[str, ...]] = (_RUN, _WORK)


def measure(setting: Setting) -> str:
    """Measure every kind of size; one is made, measured and removed before the next."""
    rows: list[tuple[str, ...]] = []
    for scale in SCALES:
        taken: list[list[tuple[float, int]]] = []
        for size in (scale.size // 2, scale.size):
            room = setting.room(f"scale-{size}")
            scale.make(room, size)
            taken.append([_used(_case(room, command)) for command in scale.commands])
            shutil.rmtree(room)
        for command, half, whole in zip(scale.commands, *taken, strict=True):
            name = f"`{' '.join(command)}`"
            print(
                f"  {scale.what.format(f'{scale.size:,}')} {name}: half {half}, whole {whole}",
                flush=True,
            )
            growth = (number(whole[n] / half[n]) for n in (0, 1))
            rows.append(
                (
                    scale.what.format(f"{scale.size:,}"),
                    name,
                    f"{whole[0]:.0f} s",
                    f"{whole[1] / 1e3:.0f} MB",
                    *growth,
                )
            )
    head = (
        "",
        "command",
        "time",
        "memory",
        "time, over that of half",
        "memory, over that of half",
    )
    return markdown(head, rows)


def _case(room: Path, command: Sequence[str]) -> Case:
    places = [
        "--repo-dir",
        str(room / "repo"),
        "--iter-log-dir",
        str(room / "log"),
        "--no-cache",
    ]
    if (room / "transcripts").exists():
        places += ["--transcript-dir", str(room / "transcripts")]
    if "report" in command:
        places += ["--out", str(room / "report.html")]
    return Case(
        "",
        (*PYTHON, "-m", "scoring", *command, *places),
        variables={"DA_SCORE_RUBRIC": "3.1.0"},
    )


def _used(case: Case) -> tuple[float, int]:
    """Run a case, and return its processor time in seconds and its peak memory in kB.

    Raises:
        RuntimeError: it failed.
    """
    command = (sys.executable, "-c", _PROGRAM, *case.command)
    done = subprocess.run(
        command, capture_output=True, text=True, env=environment(case), check=False
    )
    if done.returncode:
        raise RuntimeError(f"{' '.join(case.command)}: {done.stderr}")
    seconds, memory = done.stdout.split()
    return float(seconds), int(memory)


def _many_commits(room: Path, size: int) -> None:
    """Write a long trunk; its last commits have an entry and a session each."""
    shas = _history(room / "repo", size)
    named = range(size - min(size, 200), size)
    _entries(room / "log", shas, named)
    for n in named:
        _session(room, n, _piece(n, shas[n]))


def _long_transcript(room: Path, size: int) -> None:
    """Write one transcript of so many million bytes, of a session that made 200 commits."""
    shas = _history(room / "repo", 200)
    _entries(room / "log", shas, range(200))
    filler = _filler(size * 1_000_000 // 200)
    _session(
        room,
        0,
        (line for n, sha in enumerate(shas) for line in (*_piece(n, sha), *filler(n))),
    )


def _many_transcripts(room: Path, size: int) -> None:
    """Write so many transcripts; each fiftieth made a commit, the others left their edit alone."""
    shas = _history(room / "repo", 1000)
    _entries(room / "log", shas, range(1000))
    for n in range(size):
        made, which = n % 50 == 0 and n // 50 < len(shas), n // 50 % len(shas)
        _session(
            room, n, _piece(which, shas[which]) if made else _piece(which, None, n)
        )


def _many_entries(room: Path, size: int) -> None:
    """Write so many entries, of one commit each."""
    _entries(room / "log", _history(room / "repo", size), range(size))


SCALES = (
    Scale("{} commits", 500_000, _many_commits),
    Scale("a transcript of {} MB", 2_000, _long_transcript),
    Scale("{} transcripts", 100_000, _many_transcripts),
    Scale("{} entries", 100_000, _many_entries, (_RUN, _WORK, _CHECK, ("report",))),
)


def _path(n: int) -> str:
    return f"src/package{n % 40:02d}/module{n % 1000:03d}.py"


def _lines(n: int) -> str:
    return "".join(f"value_{n}_{part} = compute({n * 7 + part})\n" for part in range(8))


def _history(repo: Path, count: int) -> list[str]:
    """Make a repository with so many commits of one file each, and return their SHAs."""
    repo.mkdir(parents=True)
    git(
        repo,
        "init",
        "-q",
        "--template=",
        "--object-format=sha1",
        f"--initial-branch={TRUNK}",
    )
    command = [
        "git",
        "-C",
        str(repo),
        "fast-import",
        "--quiet",
        f"--export-marks={repo.parent / 'marks'}",
    ]
    with subprocess.Popen(command, stdin=subprocess.PIPE) as process:
        assert process.stdin is not None
        for n in range(count):
            who, message, body = (
                f"A <a@example.org> {START + n * _STEP} +0000",
                f"work {n}",
                _lines(n),
            )
            commit = (
                f"commit refs/heads/{TRUNK}\nmark :{n + 1}\nauthor {who}\ncommitter {who}\n"
                f"data {len(message)}\n{message}\n"
                f"M 100644 inline {_path(n)}\ndata {len(body)}\n{body}\n"
            )
            process.stdin.write(commit.encode())
    marks = dict(
        line.split() for line in (repo.parent / "marks").read_text("ascii").splitlines()
    )
    return [marks[f":{n + 1}"] for n in range(count)]


def _entries(log: Path, shas: Sequence[str], named: Iterator[int] | range) -> None:
    log.mkdir()
    for number_, n in enumerate(named, 1):
        (log / f"iter-{number_}.yaml").write_text(
            f"schema_version: 2\niteration: {number_}\n"
            f"date: '{day(START + n * _STEP)}'\ntask_id: task-{n % 97}\n"
            f"commit: {shas[n]}\nimpl: {{summary: work {n}, retries: {n % 3}}}\n"
            "verifiers: [{type: unit, status: pass}]\n"
        )


def _session(room: Path, n: int, lines: Iterator[dict[str, object]]) -> None:
    """Write a transcript of Claude Code."""
    path = room / "transcripts" / f"{n:08d}-0000-4000-8000-000000000000.jsonl"
    path.parent.mkdir(exist_ok=True)
    with open(path, "wb") as f:
        for part, line in enumerate(lines):
            known = {
                "sessionId": path.stem,
                "cwd": str(room / "repo"),
                "uuid": f"{n}-{part}",
            }
            f.write(json.dumps({**known, **line}).encode() + b"\n")


def _piece(n: int, sha: str | None, session: int = 0) -> Iterator[dict[str, object]]:
    """Yield the lines of one piece of work: a prompt, an edit, a run of tests, and any commit."""
    begun = START + n * _STEP - 60
    key = f"{n}-{session}"
    yield {
        "type": "user",
        "timestamp": stamp(begun),
        "message": {"role": "user", "content": f"do work {key}"},
    }
    calls = [
        ("Write", {"file_path": _path(n), "content": _lines(n)}, "written"),
        ("Bash", {"command": "python -m pytest -q"}, "5 passed in 0.10s"),
    ]
    if sha:
        calls.append(
            (
                "Bash",
                {"command": f"git commit -am 'work {n}'"},
                f"[{TRUNK} {sha[:9]}] work {n}",
            )
        )
    for place, (name, given, output) in enumerate(calls):
        yield from _call(
            f"{key}-{place}", begun + 20 * (place + 1), name, given, output
        )


def _call(
    key: str, time: float, name: str, given: dict[str, str], output: str
) -> Iterator[dict[str, object]]:
    used = {"type": "tool_use", "id": f"toolu_{key}", "name": name, "input": given}
    usage = {
        "input_tokens": 5,
        "output_tokens": 100,
        "cache_read_input_tokens": 9000,
        "cache_creation_input_tokens": 9,
    }
    message = {
        "role": "assistant",
        "id": f"msg_{key}",
        "model": "claude-opus-4-5",
        "content": [used],
        "usage": usage,
    }
    yield {"type": "assistant", "timestamp": stamp(time - 1), "message": message}
    result = {"type": "tool_result", "tool_use_id": f"toolu_{key}", "content": output}
    yield {
        "type": "user",
        "timestamp": stamp(time),
        "message": {"role": "user", "content": [result]},
    }


def _filler(size: int) -> Callable[[int], Iterator[dict[str, object]]]:
    """Return a function that yields about so many bytes of lines: files that are read."""
    output = "".join(f"{n:4d}  some line of a file that was read\n" for n in range(100))

    def lines(n: int) -> Iterator[dict[str, object]]:
        for part in range(size // 5_150):
            key = f"{n}-read-{part}"
            yield from _call(
                key,
                START + n * _STEP + part % 500,
                "Read",
                {"file_path": _path(part)},
                output,
            )

    return lines
