"""How the time grows with the transcripts, and with the iterations."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from benchmarks.commands import FLOOR, NO_CACHE, WARM, Program, floor
from benchmarks.corpus import Corpus, make_corpus, part_of
from benchmarks.measure import Case, Times, take_times
from benchmarks.plots import draw
from benchmarks.setting import Setting
from benchmarks.tables import markdown, number

_OF_THE_BYTES = (1 / 8, 1 / 4, 1 / 2, 1)
_OF_THE_ITERATIONS = (1 / 4, 1 / 2, 1, 2)
_KINDS: Mapping[str, Callable[[Program], Case]] = {
    FLOOR: lambda program: floor(program.corpus),
    NO_CACHE: Program.no_cache,
    WARM: Program.warm,
}


def measure(setting: Setting) -> str:
    """Measure both.

    The backlogs of growing iterations share the fewest transcripts of the first.
    """
    by_bytes = [
        part_of(
            setting.corpus, int(setting.corpus.transcript_bytes * share), setting.room(f"bytes-{n}")
        )
        for n, share in enumerate(_OF_THE_BYTES)
    ]
    few = by_bytes[0].transcripts
    by_iterations = []
    for n, share in enumerate(_OF_THE_ITERATIONS):
        count = max(1, int(setting.corpus.size.iterations * share))
        size = replace(setting.corpus.size, iterations=count, transcript_mb=0)
        made = make_corpus(setting.room(f"made-{n}"), size)
        by_iterations.append(replace(made, transcripts=few))
    return "\n\n".join(
        (
            _axis(
                setting,
                "transcripts",
                "MB",
                by_bytes,
                [corpus.transcript_bytes / 1e6 for corpus in by_bytes],
            ),
            _axis(
                setting,
                "iterations",
                "",
                by_iterations,
                [corpus.size.iterations for corpus in by_iterations],
            ),
        )
    )


def _axis(
    setting: Setting, what: str, unit: str, corpora: Sequence[Corpus], sizes: Sequence[float]
) -> str:
    """Measure backlogs of growing size; the unit of time is the floor of the largest."""
    cases: list[Case] = []
    for n, corpus in enumerate(corpora):
        program = Program.on(corpus, setting.room(f"{what}-{n}"))
        program.fill_cache()
        cases += [replace(case(program), name=_name(kind, n)) for kind, case in _KINDS.items()]
    taken = take_times(cases, setting.repeat)
    print(taken)
    lines = {kind: _line(taken, kind, len(sizes)) for kind in _KINDS}
    if setting.plots:
        across, up = (
            (f"{what} ({unit})" if unit else what),
            f"time, the floor at {sizes[-1]:.0f} {unit or what} = 1",
        )
        draw(setting.out / "performance" / f"{what}.svg", across, up, sizes, lines)
    rows = [
        (f"{size:.0f} {unit}".strip(), *(number(line[n]) for line in lines.values()))
        for n, size in enumerate(sizes)
    ]
    return markdown((what, *lines), rows)


def _line(taken: Times, kind: str, count: int) -> list[float]:
    base = _name(FLOOR, count - 1)
    return [taken.ratio(_name(kind, n), base).middle for n in range(count)]


def _name(kind: str, n: int) -> str:
    return f"{kind}, size {n + 1}"
