"""What became of the work of iterations within a horizon (``docs/VALIDITY.md``, "Outcomes")."""

import contextlib
import json
import os
import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import lru_cache, partial
from hashlib import blake2b
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeAlias
from zlib import crc32

import msgspec

from scoring.evidence.git.added_lines import added_lines
from scoring.evidence.git.authorship import AttributedHistory
from scoring.evidence.git.changes import CommitPair
from scoring.evidence.git.reverts import Reverts
from scoring.evidence.scopes import is_code
from scoring.evidence.table_digest import digest_of_tables
from scoring.log.model import IterationRecord
from scoring.outcomes.fates import Fate, Work, fates
from scoring.store import Store

DAY = 86_400
HORIZON_DAYS = 14
FIX_WORDS = (
    "fix",
    "fixes",
    "fixed",
    "bug",
    "bugfix",
    "hotfix",
    "regression",
    "revert",
    "broken",
    "crash",
)
DEFECTIVE_PERCENT = (
    5  # of the lines of some work: it counts as defective when fixes changed as many
)
_LEAST_FIXED = 3  # lines that the one fix changed of which is said that it fixed the work
_OTHER_FIX = re.compile(
    r"[,;&+]|(?<!\w)(?:and|also|revert\w*|chore|refactor\w*|(?:golangci-|es)?lint\w*|\w*fmt|format\w*|styl\w+|indent\w*"
    r"|white ?space|imports?|typos?|spelling|wording|grammar|comments?|docs?|documentation|readme|changelog"
    r"|test(?:s|ing)?|ci|workflows?|build|deps|nits?|reviews?|feedback|findings?|warnings?|renam\w+|names?|merge\w*|conflicts?)(?!\w)",
    re.IGNORECASE,
)
"""What the subject of a fix says where it may not be one of the work: tidying, reviews, or several things at once."""
Status: TypeAlias = Literal["known", "too_young", "not_landed"]


@dataclass(frozen=True, slots=True)
class OutcomeRules:
    """How outcomes are measured; ``code_globs`` are the files with lines that count, by default all source files."""

    horizon_days: float = HORIZON_DAYS
    code_globs: tuple[str, ...] = ()
    fix_words: tuple[str, ...] = FIX_WORDS

    def is_fix(self, subject: str) -> bool:
        """Return whether a commit is a fix, by its subject."""
        return _any_of(self.fix_words).search(subject) is not None

    def is_plain_fix(self, subject: str) -> bool:
        """Return whether a commit is a fix and nothing else, by its subject: ``parser: fix a crash``."""
        begins = _any_of(self.fix_words, r"(?:\[[^\]]*\] *|[^\s:]{1,40}: *)*").match(subject)
        return begins is not None and not _OTHER_FIX.search(subject)

    @property
    def digest(self) -> str:
        """A name for how lines are counted, under which answers are kept."""
        rules = repr((digest_of_tables(), self.code_globs, self.fix_words))
        return blake2b(rules.encode(), digest_size=8).hexdigest()


@lru_cache(maxsize=8)
def _any_of(words: tuple[str, ...], behind: str = "") -> re.Pattern[str]:
    one = rf"{behind}(?<!\w)(?:{'|'.join(map(re.escape, words))})(?!\w)"
    return re.compile(one if words else "(?!)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of the work of one iteration, by ``commit`` of the trunk; None where nothing is known yet, or ever.

    Of the lines of code that it added later commits changed ``lines_changed`` within the horizon, and fixes
    ``lines_fixed``; ``survival`` is the share, 0 to 1, that is left. It is ``defective`` if it was reverted, or fixes
    changed 5 % of it or more; ``main_fix`` is the one that mainly fixed this work, and how many lines it changed, where
    one certainly did. ``lines_written`` are what the edits of its unit added, ``lines_landed`` are on the
    trunk a horizon later, the share ``landed_share``. ``reward`` is what graded the work gave it, 0 to 1.
    """

    iteration: int
    status: Status
    commit: str | None = None
    lines_added: int | None = None
    lines_changed: int | None = None
    survival: float | None = None
    lines_fixed: int | None = None
    reverted: bool | None = None
    reverted_by: str | None = None
    defective: bool | None = None
    main_fix: tuple[str, int] | None = None
    lines_written: int | None = None
    lines_landed: int | None = None
    landed_share: float | None = None
    reward: float | None = None

    def as_dict(self) -> dict[str, Any]:
        """Return plain data, with the share of lines landed as ``yield``."""
        given = asdict(self)
        del given["main_fix"]
        return given | {"yield": given.pop("landed_share")}


class Counted(NamedTuple):
    """What is kept of one work: its lines, those that changed, those that fixes changed, what reverted or fixed it."""

    added: int
    changed: int
    fixed: int
    reverted_by: str | None
    main_fix: tuple[str, int] | None = None


_STAMP = (
    b"objects, written lines"  # of git: what is kept depends on these alone, which never change
)
_UNUSABLE = (ValueError, msgspec.ValidationError, RecursionError)


def kept_counts(cache_dir: Path | None, repository: Path) -> dict[str, Counted]:
    """Return what is kept about a repository: the directory that its work trees share."""
    with (
        Store(None if _may_change(repository) else cache_dir, keeps=False) as store,
        contextlib.suppress(*_UNUSABLE),
    ):
        if raw := store.get("git", _key(repository), _STAMP):
            return msgspec.convert(json.loads(raw), dict[str, Counted])
    return {}


def keep_counts(cache_dir: Path | None, repository: Path, counts: Mapping[str, Counted]) -> None:
    """Keep what is known about a repository; None as ``cache_dir`` keeps nothing."""
    with Store(None if _may_change(repository) else cache_dir) as store:
        store.put("git", _key(repository), _STAMP, json.dumps(counts).encode())


def _key(repository: Path) -> bytes:
    return os.fsencode(repository) + b"\0outcomes"


def _may_change(repository: Path) -> bool:
    with contextlib.suppress(OSError):
        if b" refs/replace/" in (repository / "packed-refs").read_bytes():
            return True
    return any((repository / name).exists() for name in ("shallow", "info/grafts", "refs/replace"))


def log_outcomes(
    records: Sequence[IterationRecord],
    repo_dir: Path | str,
    rules: OutcomeRules | None = None,
    cache_dir: Path | None = None,
    trunk: str | None = None,
) -> list[Outcome]:
    """Return what became of each iteration of a log; NotARepositoryError, GitError."""
    return outcomes_in(
        AttributedHistory(repo_dir, records, trunk), records, rules or OutcomeRules(), cache_dir
    )


def outcomes_in(
    history: AttributedHistory,
    records: Iterable[IterationRecord],
    rules: OutcomeRules,
    cache_dir: Path | None = None,
) -> list[Outcome]:
    """Return the same of some entries, from a history that was opened already."""
    return _Outcomes(history, rules).outcomes(records, cache_dir)


class _Watched(NamedTuple):
    """Some work with a known outcome: the commit of the trunk, the entry's own commit, and until when."""

    commit: str
    also: str
    until: str


class _Outcomes:
    """What a trunk did to the work of a log."""

    def __init__(self, history: AttributedHistory, rules: OutcomeRules) -> None:
        self._history, self._rules = history, rules
        self._repository, self._walk, self._graph = history.walked()
        self._reverts: dict[int, Reverts] = {}

    def outcomes(self, records: Iterable[IterationRecord], cache_dir: Path | None) -> list[Outcome]:
        landed: list[tuple[int, str | None, _Watched | None]] = []
        for record in records:
            landing = self._history.landing(record)
            commit = landing.commit if landing.landed else None
            until = self._until(commit) if commit else None
            watched = _Watched(commit, landing.sha or "", until) if commit and until else None
            landed.append((record.iteration, commit, watched))
        counted = self._counted([watched for _, _, watched in landed if watched], cache_dir)
        found = []
        for n, commit, watched in landed:
            if watched is None:
                found.append(Outcome(n, "too_young" if commit else "not_landed", commit))
                continue
            added, changed, fixed, by, main_fix = counted[watched]
            survival = 1 - changed / added if added else None
            defective = by is not None or (added > 0 and fixed * 100 >= DEFECTIVE_PERCENT * added)
            lost = fixed, by is not None, by, defective, main_fix
            found.append(Outcome(n, "known", commit, added, changed, survival, *lost))
        return found

    def _until(self, commit: str) -> str | None:
        end = (self._history.landed_at(commit) or 0) + self._rules.horizon_days * DAY
        return self._history.trunk_at(end) if (self._history.tip_time or 0) >= end else None

    def _counted(
        self, works: Sequence[_Watched], cache_dir: Path | None
    ) -> Mapping[_Watched, Counted]:
        # Saves 1.8 of 3.5 s of ``outcomes`` at 2,000 entries on a trunk of 10,000 commits.
        place = cache_dir, self._repository.common_dir
        known = kept_counts(*place)
        keys = {work: f"{' '.join(work)} {self._rules.digest}" for work in works}
        new = [work for work, key in keys.items() if key not in known]
        if new:
            parts = [Work(work.commit, self._parts(work.commit), work.until) for work in new]
            found = fates(
                self._repository, self._graph, parts, partial(is_code, globs=self._rules.code_globs)
            )
            known.update((keys[new[n]], self._count(new[n], fate)) for n, fate in found)
            keep_counts(*place, known)
        return {work: known[key] for work, key in keys.items()}

    def _parts(self, commit: str) -> tuple[str, ...]:
        parents = self._graph.parents[commit]
        if len(parents) < 2:
            return (commit,)
        introduced = self._graph.introduced
        brought = self._graph.between(commit, parents[:1])
        return tuple(part for part in brought if introduced.get(part) == introduced[commit])

    def _count(self, work: _Watched, fate: Fate) -> Counted:
        takers = {commit for commits in fate.taken for commit in commits}
        fixes = {commit for commit in takers if self._rules.is_fix(self._walk[commit].subject)}
        fixes = {commit for commit in fixes if not self._taken_back((commit,), work.until)}
        fixed = sum(not fixes.isdisjoint(commits) for commits in fate.taken)
        by = self._taken_back((work.commit, work.also), work.until)
        return Counted(
            fate.added, len(fate.taken), fixed, by, self._main_fix(work.commit, fixes, fate)
        )

    def _main_fix(self, work: str, fixes: Collection[str], fate: Fate) -> tuple[str, int] | None:
        """Return the fix that changed most lines of some work, if it says nothing else and they are most of its own."""
        plain = [commit for commit in fixes if self._rules.is_plain_fix(self._walk[commit].subject)]
        lines = Counter(
            commit for commits in fate.taken for commit in {*plain}.intersection(commits)
        )
        commit, count = max(lines.items(), key=lambda one: (one[1], one[0]), default=("", 0))
        least = max(_LEAST_FIXED, fate.added * DEFECTIVE_PERCENT / 100)
        size = self._history.sizes([commit]).get(commit) if count >= least else None
        if size is None or count * 2 < size.removed:
            return None
        count = min(count, self._fixed_of_written(work, commit))
        return (commit, count) if count >= max(least, size.removed / 2) else None

    def _fixed_of_written(self, work: str, fix: str) -> int:
        """Count the lines of code that a fix took away and some work wrote: lines that it also took away it moved."""
        first, before = self._graph.first_parent(work), self._graph.first_parent(fix)
        written = self._lines_beyond(first, work) - self._lines_beyond(work, first)
        return (written & self._lines_beyond(fix, before)).total()

    def _lines_beyond(self, one: str, other: str) -> Counter[int]:
        """Count the lines of code that another commit has beyond those of one, by their text without blanks."""
        pairs = [CommitPair(other, one)] if other else []
        found: Counter[int] = Counter()
        for added in added_lines(
            self._repository, pairs, lambda line: crc32(b"".join(line.split()))
        ).values():
            for (path, text), count in added.lines.items():
                found[text] += count * is_code(path, globs=self._rules.code_globs)
        return found

    def _taken_back(self, commits: tuple[str, ...], until: str) -> str | None:
        place = self._graph.position[commits[0]]
        targets = [sha for sha in (*commits, *self._graph.brought_by(commits[0])) if sha]
        if not self._said(0).mentioned(targets, place):
            return None
        return self._said(self._graph.mainline_index[until]).of(targets, place)

    def _said(self, index: int) -> Reverts:
        if index not in self._reverts:
            introduced = self._graph.introduced
            messages = (one for one in self._history.messages() if introduced[one[1]] >= index)
            self._reverts[index] = Reverts(messages, self._graph.brought_by)
        return self._reverts[index]
