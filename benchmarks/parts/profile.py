"""Where the time of a command goes, by the parts of the program."""

from statistics import median

from benchmarks.commands import ONE_PROCESS, RECOMPUTE, Program
from benchmarks.components import PARTS, START, parse
from benchmarks.measure import HERE, PYTHON, Case, timed
from benchmarks.setting import Setting
from benchmarks.tables import markdown

_WATCH = (
    "import time; began = time.perf_counter(); import sys; sys.path.insert(0, sys.argv[1]); "
    "from benchmarks.components import main; main(began, sys.argv[2:])"
)


def measure(setting: Setting) -> str:
    """Measure the parts of three commands, each in one process."""
    program = Program.on(setting.corpus, setting.room("profile"))
    program.fill_cache()
    cases = (
        program.no_cache("--processes", "1", name=ONE_PROCESS),
        program.warm(),
        program.warm(
            "iteration",
            str(setting.corpus.size.iterations),
            "--recompute",
            name=RECOMPUTE,
        ),
    )
    columns = [_shares(case, setting.repeat) for case in cases]
    for case, column in zip(cases, columns, strict=True):
        shares = ", ".join(f"{part} {share:.1%}" for part, share in column.items())
        print(f"  {case.name}: {shares}")

    rows = []
    for part in PARTS:
        rows.append((part, *(f"{column[part] * 100:.0f} %" for column in columns)))
    return markdown(("share of the time", *(case.name for case in cases)), rows)


def _shares(case: Case, repeat: int) -> dict[str, float]:
    """Return the share that each part has in the time of a command."""
    arguments = case.command[case.command.index("scoring") + 1 :]
    watched = Case(case.name, (*PYTHON, "-c", _WATCH, str(HERE.parent), *arguments))
    rounds: list[dict[str, float]] = []
    for _ in range(repeat):
        whole, printed = timed(watched)
        seconds = parse(printed)
        seconds[START] = whole - sum(seconds.values())
        rounds.append({part: seconds.get(part, 0.0) / whole for part in PARTS})
    return {part: median(shares[part] for shares in rounds) for part in PARTS}
