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
    by_bytes = _backlogs_by_bytes(setting)
    megabytes = [corpus.transcript_bytes / 1e6 for corpus in by_bytes]
    over_transcripts = _axis(setting, "transcripts", "MB", by_bytes, megabytes)

    by_iterations = _backlogs_by_iterations(setting, by_bytes[0])
    iterations = [float(corpus.size.iterations) for corpus in by_iterations]
    over_iterations = _axis(setting, "iterations", "", by_iterations, iterations)
    return f"{over_transcripts}\n\n{over_iterations}"


def _backlogs_by_bytes(setting: Setting) -> list[Corpus]:
    backlogs = []
    for index, share in enumerate(_OF_THE_BYTES):
        size = int(setting.corpus.transcript_bytes * share)
        backlogs.append(part_of(setting.corpus, size, setting.room(f"bytes-{index}")))
    return backlogs


def _backlogs_by_iterations(setting: Setting, few: Corpus) -> list[Corpus]:
    backlogs = []
    for index, share in enumerate(_OF_THE_ITERATIONS):
        count = max(1, int(setting.corpus.size.iterations * share))
        size = replace(setting.corpus.size, iterations=count, transcript_mb=0)
        backlog = make_corpus(setting.room(f"made-{index}"), size)
        backlogs.append(replace(backlog, transcripts=few.transcripts))
    return backlogs


def _axis(
    setting: Setting,
    what: str,
    unit: str,
    corpora: Sequence[Corpus],
    sizes: Sequence[float],
) -> str:
    """Measure backlogs of growing size. The unit of time is the floor of the largest.

    Args:
        setting: how to measure.
        what: what grows.
        unit: the unit of the sizes; "" for numbers.
        corpora: the backlogs.
        sizes: the size of each.
    """
    cases: list[Case] = []
    for index, corpus in enumerate(corpora):
        program = Program.on(corpus, setting.room(f"{what}-{index}"))
        program.fill_cache()
        for kind, make_case in _KINDS.items():
            cases.append(replace(make_case(program), name=_name(kind, index)))

    times = take_times(cases, setting.repeat)
    print(times)

    lines = {kind: _line(times, kind, len(sizes)) for kind in _KINDS}
    if setting.plots:
        across = f"{what} ({unit})" if unit else what
        up = f"time, the floor at {sizes[-1]:.0f} {unit or what} = 1"
        draw(setting.out / "performance" / f"{what}.svg", across, up, sizes, lines)

    rows = []
    for index, size in enumerate(sizes):
        ratios = [number(line[index]) for line in lines.values()]
        rows.append((f"{size:.0f} {unit}".strip(), *ratios))
    return markdown((what, *lines), rows)


def _line(times: Times, kind: str, count: int) -> list[float]:
    base = _name(FLOOR, count - 1)
    return [times.ratio(_name(kind, index), base).middle for index in range(count)]


def _name(kind: str, index: int) -> str:
    return f"{kind}, size {index + 1}"
