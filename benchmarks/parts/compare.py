"""The commands, compared with the floor."""

from itertools import islice
from pathlib import Path

from benchmarks.commands import FLOOR, ONE_PROCESS, RECOMPUTE, Program, floor
from benchmarks.corpus import Corpus, multiplied
from benchmarks.measure import BARE, BARE_CASE, Case, Times, run, take_times
from benchmarks.setting import Setting
from benchmarks.tables import markdown, number, spread

_GROWN = "`run --no-write`, warm cache, one transcript grew"
_WRITES = "`run`, warm cache, writes every sidecar"
_SIDECAR = "`iteration N`, from its sidecar"
_CLOSES = "`close-task --derive`, warm cache"
_AS_OBSERVED = ("--rubric", "3.1.0")
_NEW_LINES = 40


def measure(setting: Setting) -> str:
    """Measure whole commands."""
    room = setting.room("compare")
    program = Program.on(_with_a_copy(setting.corpus, room / "transcripts"), room)
    last = str(setting.corpus.size.iterations)
    writes = program.warm("run", name=_WRITES)
    run(writes)
    as_observed = program.warm(
        "run",
        "--no-write",
        *_AS_OBSERVED,
        name="`run --no-write --rubric 3.1.0`, warm cache",
    )
    run(as_observed)
    closes = _closes(program, room)
    cases = [
        floor(program.corpus),
        program.no_cache(),
        program.no_cache("--processes", "1", name=ONE_PROCESS),
        program.no_cache(
            *_AS_OBSERVED, name="`run --no-write --no-cache --rubric 3.1.0`"
        ),
        program.cold(),
        program.warm(),
        as_observed,
        _grown(program),
        writes,
        program.warm("iteration", last, "--recompute", name=RECOMPUTE),
        program.warm("iteration", last, name=_SIDECAR),
        closes,
        BARE_CASE,
    ]
    times = take_times(cases, setting.repeat)
    print(times)

    rows = []
    for case in cases:
        over_floor = spread(times.ratio(case.name, FLOOR))
        rows.append((case.name, *over_floor, _above_bare_python(times, case.name)))
    return markdown(
        ("", "time, floor = 1", "range", "above bare Python, in starts of Python"), rows
    )


def _above_bare_python(times: Times, case: str) -> str:
    if case in (FLOOR, BARE):
        return ""
    return number(times.ratio(case, BARE, less=BARE).middle)


def _with_a_copy(corpus: Corpus, directory: Path) -> Corpus:
    """Return a backlog with links to transcripts, the first of which is a copy that may grow."""
    linked = multiplied(corpus, 1, directory)
    path = linked.files[0]
    data = path.read_bytes()
    path.unlink()
    path.write_bytes(data)
    return linked


def _closes(program: Program, room: Path) -> Case:
    """Return the hook with derive on, in a log and a cache of its own, after it had its first say.

    The first run writes the missing entries, and the next ones keep that none is missing.
    """
    derived = Program.on(program.corpus, room / "derived")
    case = derived.warm(
        "close-task", "{}", "--derive", "--timeout", "3600", *_AS_OBSERVED, name=_CLOSES
    )
    for _ in range(2):
        run(case)
    return case


def _grown(program: Program) -> Case:
    """Return a warm run before which a transcript gets some new lines each time."""
    path = program.corpus.files[0]
    with open(path, "rb") as f:
        lines = b"".join(islice(f, 1, 1 + _NEW_LINES))

    def grow() -> None:
        with open(path, "ab") as f:
            f.write(lines)

    return Case(_GROWN, program.warm().command, grow)
