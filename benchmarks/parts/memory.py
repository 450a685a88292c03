"""The most memory that commands take, at one and at several times the transcripts.

While a command runs, its memory is looked at again and again: all that its process holds, and what
the processes that it started hold alone, so that a page which they share counts once. That slows
the command down, so no times are taken here.
"""

import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from statistics import median

from benchmarks.commands import ONE_PROCESS, Program, floor
from benchmarks.corpus import multiplied
from benchmarks.measure import BARE_CASE, Case, environment
from benchmarks.setting import Setting
from benchmarks.tables import markdown, number

_FACTOR = 4
_PAUSE = 0.001


def measure(setting: Setting) -> str:
    """Measure the memory of whole commands."""
    bare = median(peak_memory(BARE_CASE) for _ in range(setting.repeat))
    found: dict[str, list[float]] = {}
    for factor in (1, _FACTOR):
        room = setting.room(f"memory-{factor}")
        corpus = multiplied(setting.corpus, factor, room / "transcripts")
        program = Program.on(corpus, room)
        program.fill_cache()
        one = program.no_cache("--processes", "1", name=ONE_PROCESS)
        for case in (
            floor(corpus),
            program.no_cache(),
            one,
            program.cold(),
            program.warm(),
        ):
            found.setdefault(case.name, []).append(
                median(peak_memory(case) for _ in range(setting.repeat))
            )
    print(f"  bare Python {bare / 1e3:.1f} MB")
    for name, sizes in found.items():
        print(f"  {name}: {' and '.join(f'{size / 1e3:.1f}' for size in sizes)} MB")
    rows = [
        (name, number(once / bare), number(more / bare), number(more / once))
        for name, (once, more) in found.items()
    ]
    head = (
        "",
        "memory, bare Python = 1",
        f"with {_FACTOR} times the transcripts",
        "the second over the first",
    )
    return markdown(head, rows)


def peak_memory(case: Case) -> int:
    """Run a case, and return the most memory that it and its processes were seen to take, in kB.

    Raises:
        RuntimeError: it failed.
    """
    case.ready()
    most = 0
    nowhere = subprocess.DEVNULL
    with subprocess.Popen(
        case.command, stdout=nowhere, stderr=nowhere, env=environment(case)
    ) as process:
        while process.poll() is None:
            most = max(most, _held(process.pid))
            time.sleep(_PAUSE)
    if process.returncode:
        raise RuntimeError(f"{' '.join(case.command)}: exit {process.returncode}")
    return most


def _held(process: int) -> int:
    """Return what a process holds, and what the processes below it hold alone, in kB."""
    whole, _ = _size(process)
    sizes = [_size(child) for child in _below(process)]
    # A child as large as its parent has not started its own program yet: it still runs in the
    # parent's memory.
    return whole + sum(alone for size, alone in sizes if size != whole)


def _below(process: int) -> Iterator[int]:
    """Yield the processes that descend from one."""
    try:
        children = (
            Path(f"/proc/{process}/task/{process}/children").read_text("ascii").split()
        )
    except OSError:
        return
    for child in map(int, children):
        yield child
        yield from _below(child)


def _size(process: int) -> tuple[int, int]:
    """Return how much memory a process holds, and how much of it alone, in kB.

    Both are 0 when it has ended.
    """
    try:
        lines = Path(f"/proc/{process}/smaps_rollup").read_text("ascii").splitlines()
    except OSError:
        return 0, 0
    sizes = {
        name: int(rest.split()[0])
        for name, _, rest in (line.partition(":") for line in lines[1:])
    }
    return sizes["Rss"], sizes["Private_Clean"] + sizes["Private_Dirty"]
