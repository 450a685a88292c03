"""How time and memory grow with the entries of a log.

Measured are commands that look at all entries, and one about a single iteration.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from benchmarks.commands import RECOMPUTE, Program
from benchmarks.corpus import make_corpus
from benchmarks.measure import BARE, BARE_CASE, PYTHON, Case, run, take_times
from benchmarks.parts.memory import peak_memory
from benchmarks.plots import draw
from benchmarks.setting import Setting
from benchmarks.tables import markdown, number

_TIMES_AS_MANY = (5, 20)
_COLD = "`run --json --no-write`, empty cache"
_WARM = "`run --json --no-write`, warm cache"
_EDITED = "the same, an entry was edited"
_NOTHING = "`backfill`, nothing to do"
_KINDS = (_COLD, _WARM, _EDITED, RECOMPUTE, _NOTHING)
_MEMORY = "memory of the first, bare Python = 1"


def measure(setting: Setting) -> str:
    """Measure logs without transcripts, and return what each command takes above bare Python.

    The memory is that of one run each.
    """
    counts = [setting.corpus.size.iterations * times for times in _TIMES_AS_MANY]
    cases_by_count = {count: _cases(setting, count) for count in counts}

    all_cases: list[Case] = [BARE_CASE]
    for count, cases in cases_by_count.items():
        all_cases += [
            replace(case, name=_name(kind, count)) for kind, case in cases.items()
        ]
    times = take_times(all_cases, setting.repeat)
    print(times)

    lines = {
        kind: [times.ratio(_name(kind, count), BARE, BARE).middle for count in counts]
        for kind in _KINDS
    }
    memory = _memory([cases_by_count[count][_COLD] for count in counts])
    if setting.plots:
        _draw(setting, counts, lines, memory)

    lines[_MEMORY] = memory
    rows = []
    for index, count in enumerate(counts):
        rows.append((f"{count:,}", *(number(line[index]) for line in lines.values())))
    return markdown(("entries", *lines), rows)


def _cases(setting: Setting, count: int) -> dict[str, Case]:
    """Return the commands on a log of so many entries, by their kinds."""
    size = replace(
        setting.corpus.size,
        iterations=count,
        commits=1,
        transcript_mb=0,
        extra_commits=0,
    )
    corpus = make_corpus(setting.room(f"made-{count}"), size)
    program = Program.on(corpus, setting.room(f"log-{count}-0"))
    edited = Program.on(corpus, setting.room(f"log-{count}-1"))
    settled = Program.on(corpus, setting.room(f"log-{count}-2"))

    places = ("--repo-dir", str(corpus.repo), "--cache-dir", str(settled.cache))
    nothing = Case(
        "", (*PYTHON, "-m", "scoring", "backfill", str(settled.log), *places)
    )
    # The first run writes sidecars. What was written just before a run is not known by its state.
    for _ in range(3):
        run(nothing)

    after_edit = edited.warm("run", "--json", "--no-write")
    return {
        _COLD: program.cold("--json"),
        _WARM: program.warm("run", "--json", "--no-write"),
        _EDITED: replace(after_edit, ready=partial(_edit, edited.log)),
        RECOMPUTE: edited.warm("iteration", str(count), "--recompute"),
        _NOTHING: nothing,
    }


def _memory(cases: Sequence[Case]) -> list[float]:
    """Return the memory of some commands as multiples of that of bare Python."""
    bare = peak_memory(BARE_CASE)
    memory = [peak_memory(case) / bare for case in cases]
    megabytes = " and ".join(f"{times * bare / 1e3:.0f}" for times in memory)
    print(f"  memory {megabytes} MB, bare Python {bare / 1e3:.0f} MB")
    return memory


def _draw(
    setting: Setting,
    counts: Sequence[int],
    lines: Mapping[str, list[float]],
    memory: list[float],
) -> None:
    folder = setting.out / "performance"
    up = "time above bare Python, in starts of Python"
    draw(folder / "entries.svg", "entries", up, counts, lines)
    up = "the most memory, bare Python = 1"
    draw(folder / "entries-memory.svg", "entries", up, counts, {_COLD: memory})


def _edit(log: Path) -> None:
    with open(log / "iter-1.yaml", "a") as f:
        f.write("\n")


def _name(kind: str, count: int) -> str:
    return f"{kind}, {count} entries"
