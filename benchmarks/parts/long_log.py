"""How time and memory grow with the entries of a log.

Measured are commands that look at all entries, and one about a single iteration.
"""

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

    The memory is of one run each.
    """
    counts = [setting.corpus.size.iterations * times for times in _TIMES_AS_MANY]
    cases: list[Case] = [BARE_CASE]
    first: list[Case] = []
    for count in counts:
        size = replace(
            setting.corpus.size, iterations=count, commits=1, transcript_mb=0, extra_commits=0
        )
        corpus = make_corpus(setting.room(f"made-{count}"), size)
        program, edited, settled = (
            Program.on(corpus, setting.room(f"log-{count}-{n}")) for n in range(3)
        )
        places = ("--repo-dir", str(corpus.repo), "--cache-dir", str(settled.cache))
        nothing = Case("", (*PYTHON, "-m", "scoring", "backfill", str(settled.log), *places))
        for _ in range(2):  # the first writes what the others find
            run(nothing)
        first.append(program.cold("--json"))
        commands = (
            first[-1],
            program.warm("run", "--json", "--no-write"),
            replace(edited.warm("run", "--json", "--no-write"), ready=partial(_edit, edited.log)),
            edited.warm("iteration", str(count), "--recompute"),
            nothing,
        )
        cases += [
            replace(case, name=_name(kind, count))
            for kind, case in zip(_KINDS, commands, strict=True)
        ]
    taken = take_times(cases, setting.repeat)
    print(taken)
    lines = {
        kind: [taken.ratio(_name(kind, count), BARE, BARE).middle for count in counts]
        for kind in _KINDS
    }
    bare = peak_memory(BARE_CASE)
    held = [peak_memory(case) / bare for case in first]
    megabytes = " and ".join(f"{times * bare / 1e3:.0f}" for times in held)
    print(f"  memory {megabytes} MB, bare Python {bare / 1e3:.0f} MB")
    if setting.plots:
        up = "time above bare Python, in starts of Python"
        draw(setting.out / "performance" / "entries.svg", "entries", up, counts, lines)
        up = "the most memory, bare Python = 1"
        draw(
            setting.out / "performance" / "entries-memory.svg", "entries", up, counts, {_COLD: held}
        )
    lines[_MEMORY] = held
    rows = [
        (f"{count:,}", *(number(line[n]) for line in lines.values()))
        for n, count in enumerate(counts)
    ]
    return markdown(("entries", *lines), rows)


def _edit(log: Path) -> None:
    with open(log / "iter-1.yaml", "a") as f:
        f.write("\n")


def _name(kind: str, count: int) -> str:
    return f"{kind}, {count} entries"
