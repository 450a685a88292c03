"""What transcripts show, and how they are asked for, in nanoseconds since 1970, UTC; long, as it lists all of that."""

import re
from collections import Counter
from collections.abc import Sequence
from datetime import date
from functools import lru_cache
from pathlib import Path
from typing import Literal, NamedTuple, TypedDict

from msgspec import field

from scoring.errors import Warn
from scoring.frozen import Frozen
from scoring.text import wrap64

COVERED = 1
"""The bit of a line that says that there is a transcript.

The bits 2, 4 and 8 are those of :mod:`scoring.evidence.commands.objective_flags`.
"""

CALLED = 16
"""The bit of a line with a call of a tool, where calls without a verdict count."""

ENDED = 32
"""The bit of a line that states how a call ended, where calls without a verdict count."""


class ReadingOptions(TypedDict, total=False):
    """How transcripts are read. ``cache_dir`` keeps what was read, and without ``keep`` is only read itself.

    By default the amount decides on the ``processes``; ``test_commands`` are beginnings of commands that run tests.
    """

    warn: Warn
    cache_dir: Path | None
    processes: int | None
    keep: bool
    test_commands: Sequence[str]


class TranscriptPlaces(Frozen, frozen=True):
    """Where transcripts are looked for; ``directories``, named by hand, count whole.

    In the default (``auto``) and ``hinted`` ones only work in ``repo_dir`` counts; ``trusted`` allows none in it.
    """

    repo_dir: Path
    directories: tuple[Path, ...] = ()
    auto: bool = False
    hinted: tuple[Path, ...] = ()
    checkpoints: bool = True
    trusted: bool = False


class IterationWindow(Frozen, frozen=True):
    """The time that belongs to one iteration: after ``start`` (None: open), up to and including ``end``."""

    iteration: int
    start: int | None
    end: int


class HarnessFacts(Frozen, frozen=True):
    """What one harness contributed to one window, or to everything that was read.

    ``tool_calls`` have a verdict, or none, each once; ``duplicates_dropped`` are events that were written again,
    ``flags`` the bits of its lines. Turns that are ``unmeasured`` do not state all of their tokens; the output that
    some do is counted.
    """

    name: str
    sessions: int = 0
    files: int = 0
    turns: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cache_read_tokens: int = 0
    cache_creation_tokens: int = 0
    tool_calls: int = 0
    tool_errors: int = 0
    duplicates_dropped: int = 0
    flags: int = 0
    unmeasured: int = 0

    @property
    def ends_unknown(self) -> bool:
        """Whether tools were called, and it is stated of no call whether it failed."""
        return self.flags & (CALLED | ENDED) == CALLED


PROMPT_STEPS = (32_000, 100_000, 128_000, 199_999, 200_000, 256_000, 272_000, 512_000, 524_288)
"""The sizes of prompts, in tokens, above which a token of some model has another price."""


NO_STEP = -1  # in place of one: of responses that state no more than their output


class Spent(NamedTuple):
    """The tokens of the responses of one model ("": not named), of prompts above ``step`` of :data:`PROMPT_STEPS`.

    No token is in two counts; ``cache_write_1h_tokens`` are part of ``cache_write_tokens``.
    """

    model: str
    step: int
    responses: int
    input_tokens: int
    output_tokens: int
    cache_read_tokens: int
    cache_write_tokens: int
    cache_write_1h_tokens: int = 0


class TranscriptFacts(Frozen, frozen=True):
    """What is in one window: whole numbers of 64 bits, and the bits that its lines show.

    ``harnesses`` are the shares by name; ``spent`` the tokens by model; ``began`` and ``ended`` the times of the first
    and the last line. Rules that do not look at one leave it empty. ``unmeasured`` turns do not state all of theirs.
    """

    turns: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cache_reads: int = 0
    cache_creations: int = 0
    tool_calls: int = 0
    tool_errors: int = 0
    flags: int = 0
    harnesses: tuple[HarnessFacts, ...] = ()
    spent: tuple[Spent, ...] = ()
    began: int | None = None
    ended: int | None = None
    unmeasured: int = 0

    @property
    def measured(self) -> int:
        """How many turns state their tokens."""
        return self.turns - self.unmeasured

    @property
    def stated(self) -> tuple[Spent, ...]:
        """What is in ``spent`` of the turns that state their tokens."""
        return tuple(one for one in self.spent if one.step != NO_STEP)

    @property
    def cache_hit_rate(self) -> float:
        """Cache reads over reads and creations; 0 when there are neither."""
        whole = wrap64(self.cache_reads + self.cache_creations)
        return float(self.cache_reads) / float(whole) if whole else 0.0

    @property
    def harness(self) -> str:
        """The harness with the most output tokens; "" where none says."""
        return max(((one.output_tokens, one.name) for one in self.harnesses), default=(0, ""))[1]

    @property
    def model(self) -> str:
        """The model with the most output tokens; "" where none says."""
        outputs: Counter[str] = Counter()
        for one in self.spent:
            outputs[one.model] += one.output_tokens
        return max(outputs, key=lambda name: (outputs[name], name), default="")

    @property
    def tool_error_rate(self) -> float | None:
        """Failed tool calls over tool calls; None when there are none, or it is stated of none how it ended."""
        return (
            None if not self.tool_calls or self.ends_unknown else self.tool_errors / self.tool_calls
        )

    @property
    def ends_unknown(self) -> bool:
        """Whether tools were called, and it is stated of no call whether it failed."""
        return self.flags & (CALLED | ENDED) == CALLED


Method = Literal["checkpoint", "shared", "commit", "session", "time"]
"""How the lines of an iteration were found: in its checkpoints, in some that it shares with an earlier iteration, in
the session that made its commit, in the session that its entry names, or in its window of time."""


class TestsSeen(Frozen, frozen=True):
    """The test runs in an iteration's own lines; ``reviewing`` ones are of sub-agents, without a vote.

    ``last_passed`` is the verdict of the last before its end, or None, ``edited_after`` if code was since.
    """

    __test__ = False  # not a test class, whatever a test runner thinks of its name

    runs: int = 0
    failed: int = 0
    last_passed: bool | None = None
    edited_after: bool = False
    command: str = ""
    passed_tests: int | None = None
    failed_tests: int | None = None
    reviewing: int = 0
    no_verdict: int = 0


class CorrectionsSeen(Frozen, frozen=True):
    """The corrections in an iteration's own lines; ``reports`` are none, ``resets`` count as retries.

    ``corrections`` counts each once, ``stops`` those without ``words``, which are None if foreign.
    """

    interrupts: int = 0
    rejections: int = 0
    corrections: int = 0
    resets: int = 0
    words: int | None = 0
    reports: int = 0
    stops: int = 0


class WorkSeen(Frozen, frozen=True):
    """How the work went: edits, files, the most of one, sub-agents started, compactions, sub-agents without lines."""

    edits: int = 0
    files: int = 0
    most: int = 0
    agents: int = 0
    compactions: int = 0
    missing: int = 0


class SeenAt(NamedTuple):
    """Where something was seen: ``what`` in a few words, the transcript, the number of its line, from 1."""

    what: str
    path: Path
    line: int
    kind: Literal["commit", "tests", "correction"] = "commit"


ClaimResult = Literal["confirmed", "no run", "last run failed"]


class ClaimSeen(NamedTuple):
    """A claim of the agent in words, in a line (from 1), and what the last run before it says of it, if known."""

    kind: Literal["tests_pass"]
    result: ClaimResult | None
    path: Path
    line: int

    @property
    def where(self) -> str:
        """The path and the line."""
        return f"{self.path}:{self.line}"


class LinesFound(NamedTuple):
    """The lines of one transcript that no earlier one has, of one iteration: the first, the last, from 1; how many."""

    path: Path
    first: int
    last: int
    total: int


class Observed(Frozen, frozen=True):
    """What was seen in the lines that belong to one iteration, and how (``method``) they were found.

    Attributes:
        problem: why there are none, or none that say anything: ``2 sessions overlap``.
        also_active: the ids of the sessions that its checkpoints list and that did other work since its first line.
        shared_with: the earlier iteration that has the same part, and observations; tokens count for that one.
        tool_calls: how many calls of tools are in what votes, without refused ones; ``failed_calls`` None: not stated.
        elsewhere: how many of its lines vote here, while their tokens count for another unit.
        written: the result artifacts of its verifiers, by their places in the repository, that an agent wrote.
        unsure: those that a copy, a change in place, or a redirection to an unknown path may have written.
        ran: for each verifier of the entry, whether a command of its kind is seen that ran.
        seen: where the commit, the last test run and the corrections were seen, in this order.
        checkpoint_tokens: whether the tokens are totals that a checkpoint states, and not a sum over responses.
        checkpoints: the ids of the checkpoints that its commit names, whether they are here or not.
        claims: the claims that tests pass, in the last message before the commit and in the reply that reports it.
        by_agents: the share, above 0 to 1, of the lines of its commit that edits here wrote; None: not known.
        documents: whether its commit changed nothing but documents, against its first parent.
    """

    method: Method | None = None
    sessions: tuple[str, ...] = ()
    problem: str = ""
    shared_with: int | None = None
    tool_calls: int = 0
    elsewhere: int = 0
    tests: TestsSeen = TestsSeen()
    corrections: CorrectionsSeen = CorrectionsSeen()
    written: frozenset[str] = frozenset()
    unsure: frozenset[str] = frozenset()
    ran: tuple[bool, ...] = ()
    seen: tuple[SeenAt, ...] = ()
    checkpoint_tokens: bool = False
    checkpoints: tuple[str, ...] = ()
    lines: tuple[LinesFound, ...] = ()
    work: WorkSeen = WorkSeen()
    by_agents: float | None = None
    claims: tuple[ClaimSeen, ...] = ()
    also_active: tuple[str, ...] = ()
    failed_calls: int | None = 0
    documents: bool = False


class RootFound(Frozen, frozen=True):
    """One place where transcripts were looked for, how it is known, how many are there, and why it was not read."""

    path: Path
    origin: str
    harness: str = ""
    files: int = 0
    problem: str = ""


class FileFound(Frozen, frozen=True):
    """One transcript, the ids of its sessions, its last folder, and why nothing of it counts ("": it counts)."""

    path: Path
    harness: str = ""
    sessions: tuple[str, ...] = ()
    cwd: str = ""
    left_out: str = ""


class SessionFound(Frozen, frozen=True):
    """A session of work in the repository: its harness and id, its first transcript, and how many lines it has."""

    harness: str
    session: str
    path: Path
    lines: int


class CheckpointsFound(Frozen, frozen=True):
    """The checkpoints in git: how many, with how many transcripts, and which of both are not in this clone."""

    count: int = 0
    transcripts: int = 0
    missing: tuple[Path, ...] = ()
    not_fetched: tuple[str, ...] = ()


class TranscriptSurvey(Frozen, frozen=True):
    """What the reading of transcripts met with, for ``doctor``; ``unclaimed`` sessions have no iteration."""

    roots: tuple[RootFound, ...] = ()
    files: tuple[FileFound, ...] = ()
    lines_skipped: dict[str, int] = field(default_factory=dict)
    harnesses: tuple[HarnessFacts, ...] = ()
    unclaimed: tuple[SessionFound, ...] = ()
    checkpoints: CheckpointsFound = CheckpointsFound()


NS = 1_000_000_000
NS_MAX = (
    2**63 - 1
)  # times beyond the years 1677 to 2262 are cut to this range; no commit lies there

_STAMP = re.compile(
    r"(\d{4})-(\d\d)-(\d\d)T(\d{1,2}):(\d\d):(\d\d)(?:[.,](\d+))?(?:Z|([-+])(\d\d):(\d\d))",
    re.ASCII,
)
_DAY_ONE = date(1970, 1, 1).toordinal()

_minutes = {f"{minute:02d}:": minute * 60 * NS for minute in range(60)}
_seconds = {f"{second:02d}": second * NS for second in range(60)}
_millis = {f".{milli:03d}Z": milli * 1_000_000 for milli in range(1000)}


def timestamp_ns(text: str | None) -> int | None:
    """Return the time that an RFC 3339 stamp names, in nanoseconds; None when it is no such stamp that counts."""
    if text is None:
        return None
    try:  # the form that harnesses write, six times as fast
        return _hour(text[:14]) + _minutes[text[14:17]] + _seconds[text[17:19]] + _millis[text[19:]]
    except KeyError:
        return _any_form(text)


@lru_cache(100_000)
def _hour(text: str) -> int:
    hour = _any_form(text + "00:00Z")
    if hour is None or abs(hour) >= NS_MAX - 3600 * NS:
        raise KeyError(text)
    return hour


def _any_form(text: str) -> int | None:
    m = _STAMP.fullmatch(text)
    if not m:
        return None
    year, month, day, hour, minute, second = (int(m[n]) for n in range(1, 7))
    if not (hour < 24 and minute < 60 and second < 60):
        return None
    try:
        days = (
            date(year or 400, month, day).toordinal() - _DAY_ONE
        )  # the year 0 is a leap year, and cut as 400 is
    except ValueError:
        return None
    seconds = days * 86_400 + hour * 3600 + minute * 60 + second
    if m[8]:
        offset_hours, offset_minutes = int(m[9]), int(m[10])
        if offset_hours > 24 or offset_minutes > 60:  # the bounds themselves are taken
            return None
        seconds -= (1 if m[8] == "+" else -1) * (offset_hours * 3600 + offset_minutes * 60)
    return clamp_ns(seconds * NS + int((m[7] or "0")[:9].ljust(9, "0")))


def clamp_ns(ns: int) -> int:
    """Cut a time to what 64 bits hold."""
    return max(-NS_MAX, min(NS_MAX, ns))
