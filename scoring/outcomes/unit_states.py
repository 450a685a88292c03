"""What became of units, and who made them, as far as git says."""

from collections.abc import Collection, Iterable

from scoring.evidence.attribution.written import (
    Rewritten,
    Written,
    are_rewritten,
    held_lines,
    least_share,
)
from scoring.evidence.git.agents import Identity
from scoring.evidence.git.authorship import AttributedHistory
from scoring.evidence.git.commit_history import TrunkPaths, WrittenCommit
from scoring.evidence.git.facts import NOT_LANDED
from scoring.evidence.git.repository import GitRepository
from scoring.evidence.transcripts.facts import NS, clamp_ns
from scoring.evidence.transcripts.streams import SessionKey
from scoring.outcomes.outcome import DAY
from scoring.outcomes.outcome_rules import OutcomeRules
from scoring.outcomes.unit import NOBODY, OpenUnit, State


def describe(
    units: Collection[OpenUnit],
    git: AttributedHistory,
    caller: Identity,
    recorded: Collection[SessionKey],
) -> None:
    """Fill in subjects, authors, and when units without lines ended.

    Args:
        units: the units.
        git: what git knows.
        caller: the author of sessions that made no commit, unless checkpoints hold them.
        recorded: the root sessions that checkpoints hold.
    """
    shas = git.resolved(_commits_of(units))
    commits = git.written(shas.values())

    author_of_session: dict[SessionKey, Identity] = {}
    for unit in units:
        commit = _written_commit(unit, shas, commits)
        if commit:
            unit.subject = commit.subject
            unit.author = commit.author
            author_of_session.update(dict.fromkeys(unit.lines, unit.author))
            if unit.ended is None and commit.time is not None:
                unit.ended = clamp_ns(commit.time * NS)
        elif unit.first_entry:
            unit.subject = unit.first_entry.summary or None

    for unit in units:
        if not unit.lines or any(unit.author):
            continue
        session = next(iter(unit.lines))
        default = NOBODY if session in recorded else caller
        unit.author = author_of_session.get(session, default)


def _commits_of(units: Iterable[OpenUnit]) -> set[str]:
    """Return the names of the commits of units: those of the trunk, and those made first."""
    names = set()
    for unit in units:
        if unit.commit:
            names.add(unit.commit)
            if unit.landing and unit.landing.sha:
                names.add(unit.landing.sha)
    return names


def _written_commit(
    unit: OpenUnit, shas: dict[str, str], commits: dict[str, WrittenCommit]
) -> WrittenCommit | None:
    """Return the commit as it was made, or else the one of the trunk, or None without both."""
    if not unit.commit:
        return None

    sha_at_first = unit.landing.sha if unit.landing else None
    sha = shas.get(sha_at_first or unit.commit, "")
    return commits.get(sha) or commits.get(unit.commit)


def follow_lines(
    units: Iterable[OpenUnit],
    git: AttributedHistory,
    repository: GitRepository,
    rules: OutcomeRules,
) -> None:
    """Fill in how many of the written lines the trunk has a horizon after they landed."""
    writing = [unit for unit in units if unit.written and unit.ended is not None]
    if not writing or git.tip_time is None:
        return

    asked = []
    for unit in writing:
        end = _end_of_horizon(unit, git, rules)
        unit.is_young = end > git.tip_time
        asked.append(Written(git.trunk_at(end), unit.written))

    begun = [unit.counted.began or 0 for unit in writing if unit.counted]
    paths = git.trunk_paths_since(min(begun, default=0) // NS)
    counts = held_lines(repository, asked, paths.names, paths.moves)
    for unit, count in zip(writing, counts, strict=True):
        unit.lines_there = count
        unit.is_whole = unit.is_whole and not _writes_into(unit, paths.submodules)
    _doubt_losses(writing, git, repository, rules, paths)


def _writes_into(unit: OpenUnit, submodules: Collection[str]) -> bool:
    """Return whether a unit wrote files of repositories in this one, which no trunk here has."""
    if not submodules:
        return False
    paths = [f"/{folder}/{path}" for folder, path in unit.written]
    return any(f"/{name}/" in path for name in submodules for path in paths)


def _doubt_losses(
    units: Iterable[OpenUnit],
    git: AttributedHistory,
    repository: GitRepository,
    rules: OutcomeRules,
    paths: TrunkPaths,
) -> None:
    """Note which units may be there of which the trunk has no line.

    A formatter may have rewritten them, or another line of development has them.
    """
    gone = []
    for unit in units:
        if unit.is_known_by_lines and unit.is_whole and unit.lines_there == 0:
            gone.append(unit)
    if not gone:
        return

    asked = []
    for unit in gone:
        began = unit.counted.began if unit.counted else None
        old = git.trunk_at((began or 0) // NS)
        asked.append(Rewritten(old, git.trunk_at(_end_of_horizon(unit, git, rules)), unit.words))
    for unit, rewritten in zip(gone, are_rewritten(repository, asked, paths.names), strict=True):
        unit.may_be_there = rewritten

    since = (git.tip_time or 0) - int(rules.horizon_days * DAY)
    for tip, files in git.files_elsewhere(since).items():
        counts = held_lines(repository, [Written(tip, unit.written) for unit in gone], files, ())
        for unit, count in zip(gone, counts, strict=True):
            unit.may_be_there = unit.may_be_there or count != 0


def _end_of_horizon(unit: OpenUnit, git: AttributedHistory, rules: OutcomeRules) -> float:
    """Return when the horizon of a unit ends, in seconds since 1970."""
    landed_at = None
    if unit.landing and unit.landing.commit:
        landed_at = git.landed_at(unit.landing.commit)
    start = max((unit.ended or 0) // NS, landed_at or 0)
    return start + rules.horizon_days * DAY


def name_commits_of_rests(
    units: Collection[OpenUnit], git: AttributedHistory, rules: OutcomeRules
) -> None:
    """Fill in the commit of the trunk that brought at least half of the lines of a rest.

    A person committed them then. A commit that is a unit itself is left to that unit. Commits of
    which the rest wrote at least half are noted too.
    """
    candidates: dict[str, list[str]] = {}
    rests = [unit for unit in units if unit.kind == "rest" and unit.counted and unit.written]
    for rest in rests:
        start = (rest.counted.began or 0) // NS if rest.counted else 0
        candidates[rest.unit] = git.trunk_between(start, _end_of_horizon(rest, git, rules))
    added = git.lines_added(sha for shas in candidates.values() for sha in shas)

    taken = {unit.commit for unit in units}
    for rest in rests:
        most = 0.0
        for sha in candidates[rest.unit]:
            lines = added.get(sha, {})
            share = least_share(lines, [rest.written]) or 0.0
            brought = share * sum(lines.values())
            is_half = brought * 2 >= min(rest.written_here, sum(lines.values()))
            if brought and is_half and sha not in taken:
                rest.brought_in.append(sha)
            if brought > most and brought * 2 >= rest.written_here:
                most = brought
                rest.commit = sha
        if rest.commit in taken:
            rest.commit = None

    shas = {rest.commit for rest in rests if rest.commit}
    commits = git.written(shas)
    landings = git.landings(shas)
    for rest in rests:
        if rest.commit:
            rest.subject = commits[rest.commit].subject
            rest.landing = landings[rest.commit]


def has_landed_lines(unit: OpenUnit) -> bool:
    """Return whether the trunk has at least half of the lines that a unit wrote."""
    return bool(unit.lines_there) and (unit.lines_there or 0) * 2 >= unit.written_here


def decide_states(units: Iterable[OpenUnit], git: AttributedHistory, rules: OutcomeRules) -> None:
    """Fill in what became of each unit."""
    tip_time = git.tip_time
    horizon = int(rules.horizon_days * DAY)

    moving: set[str] = set()
    if tip_time is not None:
        moving = git.on_live_branches(tip_time - horizon)

    for unit in units:
        is_young = False
        if tip_time is not None and unit.ended is not None:
            is_young = unit.ended // NS + horizon > tip_time
            unit.is_settled = not is_young
        unit.state = _state(unit, is_young, moving)


def _state(unit: OpenUnit, is_young: bool, moving: Collection[str]) -> State:
    """Return what became of a unit.

    Args:
        unit: the unit.
        is_young: whether less than a horizon has passed since it ended.
        moving: the commits off the trunk that are on branches which still move.
    """
    landing = unit.landing
    if unit.kind == "talk":
        return "talk"
    if landing and landing.landed_state:
        return landing.landed_state
    if unit.is_known_by_lines and has_landed_lines(unit):
        return "landed"

    if is_young or (landing and landing.sha in moving):
        return "open"

    if landing and landing.found_by == NOT_LANDED:
        return "lost"
    has_none = bool(unit.written) and unit.lines_there == 0 and not unit.may_be_there
    if unit.is_known_by_lines and unit.is_whole and has_none:
        return "lost"
    return "unclear"
