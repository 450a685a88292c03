"""How the time grows with the entries of a log: for commands that look at all of them, and for one iteration."""

from dataclasses import replace
from functools import partial
from pathlib import Path

from benchmarks.commands import RECOMPUTE, Program
from benchmarks.corpus import make_corpus
from benchmarks.measure import BARE, BARE_CASE, PYTHON, Case, run, take_times
from benchmarks.plots import draw
from benchmarks.setting import Setting
from benchmarks.tables import markdown, number

_TIMES_AS_MANY = (5, 50, 500)
_WARM = "`run --json --no-write`, warm cache"
_EDITED = "the same, an entry was edited"
_NOTHING = "`backfill`, nothing to do"
_KINDS = (_WARM, _EDITED, RECOMPUTE, _NOTHING)


def measure(setting: Setting) -> str:
    """Measure logs without transcripts, of one commit for each entry; a table of what a command takes above Python."""
    counts = [setting.corpus.size.iterations * times for times in _TIMES_AS_MANY]
    cases: list[Case] = [BARE_CASE]
    for count in counts:
        size = replace(setting.corpus.size, iterations=count, commits=1, transcript_mb=0, extra_commits=0)
        corpus = make_corpus(setting.room(f"made-{count}"), size)
        program, edited, settled = (Program.on(corpus, setting.room(f"log-{count}-{n}")) for n in range(3))
        places = ("--repo-dir", str(corpus.repo), "--cache-dir", str(settled.cache))
        nothing = Case("", (*PYTHON, "-m", "scoring", "backfill", str(settled.log), *places))
        for _ in range(2):  # the first writes what the others find
            run(nothing)
        commands = (
            program.warm("run", "--json", "--no-write"),
            replace(edited.warm("run", "--json", "--no-write"), ready=partial(_edit, edited.log)),
            edited.warm("iteration", str(count), "--recompute"),
            nothing,
        )
        cases += [replace(case, name=_name(kind, count)) for kind, case in zip(_KINDS, commands, strict=True)]
    taken = take_times(cases, setting.repeat)
    print(taken)
    lines = {kind: [taken.ratio(_name(kind, count), BARE, BARE).middle for count in counts] for kind in _KINDS}
    if setting.plots:
        up = "time above bare Python, in starts of Python"
        draw(setting.out / "performance" / "entries.svg", "entries", up, counts, lines)
    rows = [(f"{count:,}", *(number(line[n]) for line in lines.values())) for n, count in enumerate(counts)]
    return markdown(("entries", *_KINDS), rows)


def _edit(log: Path) -> None:
    with open(log / "iter-1.yaml", "a") as f:
        f.write("\n")


def _name(kind: str, count: int) -> str:
    return f"{kind}, {count} entries"
