"""All work as units, each line in one, and their fate: ``docs/VALIDITY.md``, "All of the work"."""

import re
from array import array
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, pairwise
from pathlib import Path
from typing import Literal, NamedTuple, TypeAlias

from msgspec.structs import replace

from scoring.evidence.attribution.attributed import AllWork, AttributedScan
from scoring.evidence.attribution.session_trees import OTHER_COMMIT, SessionPart
from scoring.evidence.attribution.written import (
    Written,
    WrittenLines,
    held_lines,
    is_inside,
    written_lines,
)
from scoring.evidence.facts import Evidence
from scoring.evidence.git.authorship import AttributedHistory
from scoring.evidence.git.facts import NOT_LANDED, Landing
from scoring.evidence.git.repository import GitRepository
from scoring.evidence.rules import Sources
from scoring.evidence.transcripts.counting import count_lines, last_lines
from scoring.evidence.transcripts.events import Edit, UnseenEdit
from scoring.evidence.transcripts.facts import NS, NS_MAX, Observed, TranscriptFacts, clamp_ns
from scoring.evidence.transcripts.streams import File, SessionKey, missing_sub_agents, part_of
from scoring.log.model import IterationRecord
from scoring.outcomes.outcome import DAY, Outcome, OutcomeRules, outcomes_in
from scoring.text import trim

Kind: TypeAlias = Literal["commit", "rest", "talk"]
State: TypeAlias = Literal["talk", "reverted", "taken_back", "landed", "open", "lost", "unclear"]

LEAST_LINES = 5  # that a rest wrote in the repository; with fewer it is talk
_SHA = re.compile("[0-9a-f]{7,64}")
_PAUSE = 5 * 60 * NS  # a longer one is no work


class Entry(NamedTuple):
    """An iteration of a unit: its number, its task, what the entry says, and what was observed."""

    iteration: int
    task: str
    summary: str
    observed: Observed | None


@dataclass(eq=False, slots=True)
class Unit:
    """One piece of work, by a name that is the same in every run.

    ``entries`` are its iterations, the lowest first; its ``lines`` are numbers by the root of a
    tree, ``counted`` what they say, if any. ``minutes`` are between events at most five minutes
    apart, ``ended`` is in ns. Of the lines ``written``, all where ``is_whole``, ``lines_there`` are
    on the trunk a horizon later, today if ``is_young``; ``outcome``: worst.
    """

    unit: str
    kind: Kind
    commit: str | None = None
    subject: str | None = None
    author: tuple[str, str] = ("", "")
    entries: list[Entry] = field(default_factory=list)
    checkpoints: list[str] = field(default_factory=list)
    landing: Landing | None = None
    lines: "dict[SessionKey, array[int]]" = field(default_factory=dict)
    counted: TranscriptFacts | None = None
    session: tuple[str, str] | None = None
    minutes: float | None = None
    ended: int | None = None
    state: State = "unclear"
    written: WrittenLines = field(default_factory=dict)
    is_whole: bool = True
    is_young: bool = True
    lines_there: int | None = None
    defective: bool | None = None
    outcome: Outcome | None = None
    missing_subagents: int = 0
    first_line: tuple[int, str] = NS_MAX, ""  # of what is lost: when, and transcript:line

    @property
    def iteration(self) -> int | None:
        """The lowest iteration that it is of."""
        return min((one.iteration for one in self.entries), default=None)

    @property
    def last_passed(self) -> bool | None:
        """Whether the last run of tests before it landed passed; None without a verdict."""
        seen = [one.observed.tests.last_passed for one in self.entries if one.observed]
        return next((passed for passed in reversed(seen) if passed is not None), None)

    @property
    def lines_written(self) -> int | None:
        """How many lines edits added; None where some of what was written is not here."""
        return self.written_here if self.counted and self.is_whole else None

    @property
    def lines_landed(self) -> int | None:
        """How many of them the trunk has a horizon later, or None where that is not known yet."""
        return None if self.is_young or not self.lines_written else self.lines_there

    @property
    def landed_share(self) -> float | None:
        """The yield: the share of the written lines that the trunk has, or None where not known."""
        return (
            self.lines_landed / self.lines_written
            if self.lines_written and self.lines_landed is not None
            else None
        )

    @property
    def written_here(self) -> int:
        """How many lines the edits that are here added."""
        return sum(map(len, self.written.values()))


class Ledger(NamedTuple):
    """All units, by when they ended, and how to know the caller's own: by name or address."""

    units: list[Unit]
    own: tuple[str, str]


def ledger(
    records: Sequence[IterationRecord], log_dir: Path, sources: Sources, rules: OutcomeRules
) -> Ledger:
    """Return all of the work of a repository, by attributed evidence.

    Raises NotARepositoryError, or GitError without a trunk.
    """
    with sources.transcripts().start() as scan:
        return ledger_of(Evidence(records, log_dir, sources, scan, profile=None), (), rules)


def ledger_of(evidence: Evidence, outcomes: Collection[Outcome], rules: OutcomeRules) -> Ledger:
    """Return the same from evidence of a whole log, which it uses up.

    ``outcomes`` are those of the log, where they are known. Raises the same errors.
    """
    evidence.transcripts(0)  # also where there is no entry
    scan, git, records = evidence.scan, evidence.git, evidence.records
    assert isinstance(scan, AttributedScan)
    assert isinstance(git, AttributedHistory)
    shown = _shown(scan.work, git)
    landings = list(map(git.landing, records))
    anew = git.rewritten({*shown.values(), *(one.sha for one in landings if one.sha)})
    whole = git.landings(anew.values())
    landings = [whole.get(anew.get(one.sha or "", ""), one) for one in landings]
    places = list(map(_place, records, landings))
    units = _with_entries(evidence, places, landings, scan.checkpoints)
    recorded = {
        tree.sessions[0] for tree in (scan.work.trees if scan.work else ()) if tree.checkpoints
    }
    if scan.work:
        times = _add_lines(
            units, places, scan.work, {name: anew.get(sha, sha) for name, sha in shown.items()}, git
        )
        scan.work = scan.work._replace(trees=())  # all that follows asks for lines
        _add_checkpoints(units, scan)
        _move_talk(units, scan.work)
        parts = [
            unit
            for unit in units.values()
            if unit.landing and unit.landing.part_of and not unit.landing.landed
        ]
        whole = git.landings({unit.commit for unit in parts if unit.commit})
        for unit in parts:  # what is only part of a commit of the trunk is what became of that
            unit.landing = whole.get(unit.commit or "", unit.landing)
        _measure(units, scan.work, times)
    own = git.callers_names()
    _describe(units.values(), git, own, recorded)
    if scan.repository:
        _look_for_lines(units.values(), git, scan.repository, rules)
    _decide(units.values(), git, rules)
    _find_first_lines(units.values(), scan.work.files if scan.work else ())
    outcomes = outcomes or outcomes_in(git, records, rules, evidence.sources.cache_dir)
    known = {one.iteration: one for one in outcomes if one.defective is not None}
    for unit in units.values():
        judged = (known[one.iteration] for one in unit.entries if one.iteration in known)
        unit.outcome = max(
            judged,
            key=lambda one: (one.defective or False, bool(one.main_fix), one.lines_fixed or 0),
            default=None,
        )
        unit.defective = unit.outcome.defective if unit.outcome else None
    found = (unit for unit in units.values() if unit.lines or unit.kind == "commit")
    return Ledger(sorted(found, key=lambda one: (one.ended or 0, one.unit)), own)


Units: TypeAlias = dict[str, Unit]


def _shown(work: AllWork | None, git: AttributedHistory) -> dict[str, str]:
    cuts = (
        cut
        for tree in (work.trees if work else ())
        for cut in tree.cuts
        if cut.place == OTHER_COMMIT
    )
    return git.resolved({cut.made.sha for cut in cuts if cut.made})


def _identity(landing: Landing) -> str | None:
    return landing.commit or landing.part_of or landing.sha


def _place(record: IterationRecord, landing: Landing) -> str:
    field = trim(record.commit).lower()
    name = (
        f"checkpoint:{record.checkpoint}" if record.checkpoint else f"iteration:{record.iteration}"
    )
    return _identity(landing) or (field if _SHA.fullmatch(field) else name)


def _unit_of(units: Units, place: str, landing: Landing | None) -> Unit:
    commit = None if ":" in place else place
    return units.setdefault(
        place, Unit(f"commit:{place}" if commit else place, "commit", commit, landing=landing)
    )


def _with_entries(
    evidence: Evidence,
    places: Sequence[str],
    landings: Sequence[Landing],
    checkpoints: Collection[str],
) -> Units:
    units: Units = {}
    taken: set[str] = set()
    for record, place, landing in zip(evidence.records, places, landings, strict=True):
        seen = evidence.observed(record.iteration)
        unit = _unit_of(units, place, landing)
        unit.entries.append(Entry(record.iteration, record.task_id, record.impl.summary, seen))
        named = seen.checkpoints if seen else ()
        unit.checkpoints += [name for name in named if name in checkpoints and name not in taken]
        taken.update(named)
    return units


def _add_checkpoints(units: Units, scan: AttributedScan) -> None:
    if not scan.checkpoints:
        return
    taken = {name for unit in units.values() for name in unit.checkpoints}
    owner = {line: unit for unit in units.values() for line in chain(*unit.lines.values())}
    last: dict[str, tuple[int, int]] = {}
    for file in scan.work.files if scan.work else ():
        if file.checkpoint and file.checkpoint not in taken:
            own = (
                (time, line)
                for time, line in zip(file.times, file.ids, strict=True)
                if line in owner
            )
            last[file.checkpoint] = max((last.get(file.checkpoint, (-NS_MAX, -1)), *own))
    for name in scan.checkpoints:
        if name not in taken:
            _, line = last.get(name, (0, -1))
            unit = owner[line] if line in owner else _unit_of(units, f"checkpoint:{name}", None)
            unit.checkpoints.append(name)


def _add_lines(
    units: Units,
    places: Sequence[str],
    work: AllWork,
    shown: Mapping[str, str],
    git: AttributedHistory,
) -> "array[int]":
    times = array("q", bytes(8 * len(work.owners)))
    landings = git.landings(shown.values())
    for tree in work.trees:
        for part in tree.parts():
            if part.start == part.end and part.place != OTHER_COMMIT:
                continue
            free = _other(part, units, shown, landings)
            for line, time in zip(part.lines, tree.times[part.start : part.end], strict=True):
                owner, times[line] = work.owners[line], time
                unit = units[places[owner]] if owner >= 0 else free
                unit.lines.setdefault(tree.sessions[0], array("i")).append(line)
    return times


def _other(
    part: SessionPart, units: Units, shown: Mapping[str, str], landings: Mapping[str, Landing]
) -> Unit:
    harness, session = part.tree.sessions[0]
    if part.cut and part.cut.made and part.place == OTHER_COMMIT:
        sha = shown.get(part.cut.made.sha, part.cut.made.sha)
        landing = landings.get(sha)
        return _unit_of(units, (landing and _identity(landing)) or sha, landing)
    kind: Kind = "talk" if part.cut else "rest"
    name = f"{kind}:{harness}:{session}"
    return units.setdefault(name, Unit(name, kind))


def _measure(units: Units, work: AllWork, times: Sequence[int]) -> None:
    order = [one for one in units.values() if one.lines]
    parts, keys, groups = [-1] * len(work.owners), list[tuple[str, str]](), list[range]()
    for unit in order:
        first = len(keys)
        for part, (session, lines) in enumerate(unit.lines.items(), first):
            for line in lines:
                parts[line] = part
            keys.append(session)
        groups.append(range(first, len(keys)))
    several = [range(n, n + 1) for group in groups if len(group) > 1 for n in group]
    written = written_lines(work.files, parts, range(len(keys)))
    missing = missing_sub_agents(work.files, parts, groups)
    wrote, last = _unknown_writes(work, parts, written), last_lines(work.files, parts)
    counted, _ = count_lines(work.files, parts, groups + several, last, keep=False)
    outputs = {
        one.start: found.output_tokens
        for one, found in zip(several, counted[len(groups) :], strict=True)
    }
    for unit, group, found, absent in zip(order, groups, counted, missing, strict=False):
        unit.session = keys[max(group, key=lambda n: (outputs.get(n, 0), keys[n]))]
        own = sorted(times[line] for line in chain(*unit.lines.values()))
        unit.counted, unit.ended = replace(found, began=own[0], ended=own[-1]), own[-1]
        unit.minutes = sum(b - a for a, b in pairwise(own) if b - a <= _PAUSE) / (60 * NS)
        for n in group:
            for key, added in written.pop(n).items():
                if is_inside(*key, work.in_repository):
                    unit.written[key] = unit.written[key] + added if key in unit.written else added
        unit.missing_subagents = absent
        unit.is_whole = not absent and wrote.isdisjoint(group)


def _unknown_writes(
    work: AllWork, parts: Sequence[int], written: Mapping[int, WrittenLines]
) -> set[int]:
    """Return the parts in which commands wrote files of the repository, whose lines are unknown."""
    found = set[int]()
    for file in work.files:
        spans, texts = file.events.spans, file.events.texts
        edits: list[Edit | UnseenEdit] = [e for e in file.events.of(Edit) if not e.by_tool]
        edits += file.events.of(UnseenEdit)
        for edit in edits:
            part = part_of(file, parts, edit.line)
            cwd, text = spans[edit.span].cwd, texts[edit.path]
            known = isinstance(edit, Edit) and (cwd, text) in written.get(part, ())
            if not known and (text == cwd or is_inside(cwd, text, work.in_repository)):
                found.add(part)
    return found


def _move_talk(units: Units, work: AllWork) -> None:
    rests = [unit for unit in units.values() if unit.kind == "rest"]
    parts = [-1] * len(work.owners)
    for n, unit in enumerate(rests):
        for line in chain(*unit.lines.values()):
            parts[line] = n
    written = written_lines(work.files, parts, range(len(rests)))
    for n, unit in enumerate(rests):
        inside = (len(ls) for key, ls in written[n].items() if is_inside(*key, work.in_repository))
        if sum(inside) < LEAST_LINES:
            del units[unit.unit]
            name = f"talk{unit.unit.removeprefix('rest')}"
            talk = units.setdefault(name, Unit(name, "talk"))
            for session, lines in unit.lines.items():
                talk.lines.setdefault(session, array("i")).extend(lines)


def _describe(
    units: Iterable[Unit], git: AttributedHistory, own: tuple[str, str], recorded: set[SessionKey]
) -> None:
    every = list(units)
    named = {
        unit.commit: (unit.landing and unit.landing.sha) or unit.commit
        for unit in every
        if unit.commit
    }
    known = git.resolved({sha for pair in named.items() for sha in pair})
    written, authors = git.written(known.values()), git.authors(known.values())
    of_tree: dict[SessionKey, tuple[str, str]] = {}
    for unit in every:
        sha = named.get(unit.commit) if unit.commit else None
        commit = written.get(known.get(sha or "", "")) or written.get(unit.commit or "")
        entry = min(unit.entries, key=lambda one: one.iteration, default=None)
        if commit:
            unit.subject, unit.author = commit.subject, authors.get(commit.sha, ("", ""))
            of_tree |= dict.fromkeys(unit.lines, unit.author)
            if unit.ended is None and commit.time is not None:
                unit.ended = clamp_ns(commit.time * NS)
        elif entry:
            unit.subject = entry.summary or None
    for unit in every:
        if unit.lines and not any(unit.author):
            session = next(iter(unit.lines))
            unit.author = of_tree.get(session) or (("", "") if session in recorded else own)


def _look_for_lines(
    units: Iterable[Unit], git: AttributedHistory, repository: GitRepository, rules: OutcomeRules
) -> None:
    some = [unit for unit in units if unit.written and unit.ended is not None]
    if not some or git.tip_time is None:
        return
    commits = []
    for unit in some:
        landed = (
            git.landed_at(unit.landing.commit) if unit.landing and unit.landing.commit else None
        )
        start = max((unit.ended or 0) // NS, landed or 0)
        unit.is_young = start + rules.horizon_days * DAY > git.tip_time
        commits.append(git.trunk_at(start + rules.horizon_days * DAY))
    oldest = min((unit.counted.began or 0 for unit in some if unit.counted), default=0) // NS
    asked = [Written(commit, unit.written) for commit, unit in zip(commits, some, strict=True)]
    for unit, count in zip(
        some, held_lines(repository, asked, *git.trunk_paths_since(oldest)), strict=True
    ):
        unit.lines_there = count


def _decide(units: Iterable[Unit], git: AttributedHistory, rules: OutcomeRules) -> None:
    now, horizon = git.tip_time, int(rules.horizon_days * DAY)
    live = git.on_live_branches(now - horizon) if now is not None else set()
    for unit in units:
        landing, there = unit.landing, unit.lines_there
        by_lines = unit.kind == "rest" or not (landing and landing.sha)  # git has no commit of it
        young = now is not None and unit.ended is not None and unit.ended // NS + horizon > now
        if unit.kind == "talk":
            unit.state = "talk"
        elif landing and landing.reverted_by:
            unit.state = "reverted"
        elif landing and landing.taken_back_by:
            unit.state = "taken_back"
        elif (landing and landing.landed) or (
            by_lines and there and there * 2 >= unit.written_here
        ):
            unit.state = "landed"
        elif young or (landing and landing.sha in live):
            unit.state = "open"
        elif (landing and landing.found_by == NOT_LANDED) or (
            by_lines and unit.is_whole and there == 0
        ):
            unit.state = "lost"


def _find_first_lines(units: Iterable[Unit], files: Iterable[File]) -> None:
    lost = {
        line: unit for unit in units if unit.state == "lost" for line in chain(*unit.lines.values())
    }
    for file in files if lost else ():
        for number, time, line, fresh in zip(
            file.numbers, file.times, file.ids, file.fresh, strict=True
        ):
            if fresh and (unit := lost.get(line)):
                unit.first_line = min(
                    unit.first_line, (time, f"{file.transcript.name}:{number + 1}")
                )
