"""Has work landed whose change is not on the trunk as it was made: by its lines (``docs/EVIDENCE.md``, "Landing").

The module is long because names, sides and lines are weighed together.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache, cached_property, partial
from typing import NamedTuple

from msgspec.structs import replace

from scoring.evidence.git import facts
from scoring.evidence.git.added_lines import AddedLines, FileLine, added_lines, bare_text
from scoring.evidence.git.changes import CommitPair
from scoring.evidence.git.commit_names import CommitNames, request_of, without_number
from scoring.evidence.git.facts import Landing, LineShare, Tip, Unknown
from scoring.evidence.git.landing import MOST_TIPS, Landings
from scoring.evidence.git.repository import GitRepository
from scoring.evidence.git.reverts import TrunkMessage, reverted_name, reverted_shas, whole_reverts
from scoring.evidence.git.walk import Commit, named_commits

HORIZON = 14 * 86_400  # seconds after which work that has left no line on the trunk is not there
MOST_READ = 20_000  # trunk commits, newest first, that are searched for lines
MOST_TEXTS = 1_000_000  # different lines that are searched for
_LEAST = 5  # lines by which alone a commit is found
_RARE = 20  # files that may have a line by which a moved file is found

_EXACT = {facts.PATCH_ID, facts.SQUASH}
_BY_NAME = (facts.NAMED, facts.PULL_REQUEST, facts.NUMBERED, facts.LISTED, facts.SUBJECT)
_SUBJECTS = {facts.NUMBERED, facts.LISTED, facts.SUBJECT}


class LinesThere(NamedTuple):
    """How many lines a commit has, how many of them any trunk commits added, and how many each (``by_commit``) did."""

    lines: int
    there: int
    by_commit: Mapping[str, int]
    distinct: Mapping[str, int]
    anywhere: int


class TrunkLines:
    """The significant lines of some commits off the trunk, and which trunk commits add the same, by file and text."""

    def __init__(
        self,
        repository: GitRepository,
        own: list[CommitPair],
        sides: list[CommitPair],
        trunk: list[CommitPair],
        removed: bool = False,
    ) -> None:
        """Read what commits and sides add, or remove; one that git cannot compare is left out."""
        ids: dict[bytes, int] = {}

        def new(line: bytes) -> int:
            text = bare_text(line)
            if not text:
                return 0
            return (
                ids.setdefault(text, len(ids) + 1) if len(ids) < MOST_TEXTS else ids.get(text, -1)
            )

        self.own, self.sides = (
            added_lines(repository, some, new, removed=removed) for some in (own, sides)
        )
        found = (
            added_lines(
                repository, trunk, lambda line: ids.get(bare_text(line), 0), removed=removed
            )
            if ids
            else {}
        )
        self.whole = len(found) == len(trunk) or not ids  # whether all of the trunk could be read
        self._files: dict[str, str] = {}
        for added in (*self.own.values(), *self.sides.values(), *found.values()):
            for was, path in added.moves:
                self._files[self._file(was)] = self._file(path)
        self._where: dict[FileLine, dict[str, int]] = {}
        self._with: dict[int, set[str]] = {}
        for sha, added in found.items():
            for (path, text), count in added.lines.items():
                file = self._file(path)
                commits = self._where.setdefault((file, text), {})
                commits[sha] = commits.get(sha, 0) + count
                self._with.setdefault(text, set()).add(file)

    def there(self, own: AddedLines | None, counts: Callable[[str], bool]) -> LinesThere | None:
        """Return which of some lines the trunk commits added that ``counts`` accepts; None when not known."""
        if own is None or own.is_cut:
            return None
        lines: Counter[FileLine] = Counter()
        for (path, text), count in own.lines.items():
            lines[self._file(path), text] += count
        moved = self._moved(lines)
        counted = cache(counts)
        by_commit, distinct, there = Counter[str](), Counter[str](), 0
        for (file, text), count in lines.items():
            found = 0
            for commit, n in self._where.get((moved.get(file, file), text), {}).items():
                if counted(commit):
                    by_commit[commit] += min(n, count)
                    distinct[commit] += 1
                    found += n
            there += min(found, count)
        anywhere = sum(count for (_, text), count in lines.items() if text in self._with)
        return LinesThere(lines.total(), there, by_commit, distinct, anywhere)

    def _file(self, path: str) -> str:
        """Return the name that a path and all that it was moved to, or from, have in common."""
        while (name := self._files.get(path, path)) != path:
            self._files[path] = path = self._files.get(name, name)
        return path

    def _moved(self, lines: Iterable[FileLine]) -> dict[str, str]:
        """Return, for files with few of their lines on the trunk, the file that has half of them."""
        texts = defaultdict[str, list[int]](list)
        for file, text in lines:
            texts[file].append(text)
        found = {}
        for file, some in texts.items():
            with_them = [self._with[text] for text in some if text in self._with]
            if sum(file in files for files in with_them) * 2 >= len(some):
                continue
            alike = Counter(other for files in with_them if len(files) <= _RARE for other in files)
            for other, count in alike.most_common(1):
                if count >= max(_LEAST, len(some) / 2):
                    found[file] = other
        return found


class _Candidate(NamedTuple):
    """A trunk commit that a name speaks for, how, and whether the name alone says that the work was to be in it."""

    how: str
    commit: str
    sure: bool = False
    tip: Tip | None = None


def _with_most(there: LinesThere) -> list[str]:
    """Return the trunk commits that each have nine tenths of some lines, and enough different ones."""
    most = (commit for commit, n in there.by_commit.items() if n * 10 >= there.lines * 9)
    return [commit for commit in most if there.distinct[commit] >= _LEAST]


class AttributedLandings(Landings):
    """The landing of commits by their lines, where their change is not on the trunk as it was made."""

    def _messages(self, walk: Iterable[Commit]) -> Iterator[TrunkMessage]:
        place = self._graph.position
        for at, by, whole in super()._messages(walk):
            message = whole_reverts(whole)
            known = any(
                len(sha) < len(self._tip) or self._graph.on_trunk(sha)
                for sha in reverted_shas(message)
            )
            title, request = ("", 0) if known or message != whole else reverted_name(message)
            alike = (
                *self._subjects.get(title, ()),
                *(self._requested.get(request, ()) if request else ()),
            )
            older = min(
                ((place[commit], commit) for commit in alike if place[commit] > at), default=None
            )
            yield TrunkMessage(at, by, f"{message}\nreverts {older[1]}" if older else message)

    def of(self, sha: str) -> Landing:
        """Return whether a resolved commit has landed; the commit field of the entry is left empty."""
        return super().of(sha) if self._shallow or self._graph.on_trunk(sha) else self._weighed[sha]

    @cached_property
    def _weighed(self) -> dict[str, Landing]:
        weighed = self._decided | {
            sha: self._by_lines(sha, before) for sha, before in self._asked.items()
        }
        there = {
            sha: by
            for sha, by in weighed.items()
            if by.landed or by.unknown in (Unknown.PART, Unknown.NOT_FOUND)
        }
        known, containing = list(there.values()), self._graph.containing(there)
        for sha in self._asked:
            if sha in containing and weighed[sha].found_by == facts.NOT_LANDED:
                by = known[
                    next(containing[sha].indices())
                ]  # a later commit is there in part, and may have its lines anew
                why, whole = (
                    (Unknown.PART if by.commit or by.part_of else Unknown.NOT_FOUND),
                    by.commit or by.part_of,
                )
                weighed[sha] = self._landing(
                    sha, unknown=why, part_of=whole, lines=weighed[sha].lines
                )
        return weighed

    @cached_property
    def _asked(self) -> dict[str, Landing]:
        unsure = (None, Unknown.OBJECTS)
        return {
            sha: by
            for sha, by in self._decided.items()
            if by.unknown in unsure and by.found_by not in _EXACT
        }

    @cached_property
    def _since(self) -> list[str]:
        """The trunk commits at or after the oldest commit in question, newest first."""
        oldest = min(map(self._written, self._asked))
        return [sha for sha in self._graph.trunk if self._times[sha] >= oldest]

    @cached_property
    def _lines(self) -> TrunkLines:
        read = [sha for sha in self._since[:MOST_READ] if len(self._graph.parents[sha]) < 2]
        own, trunk = (
            [CommitPair(sha, self._graph.first_parent(sha)) for sha in some]
            for some in (self._asked, read)
        )
        sides = [
            CommitPair(tip.sha, base)
            for tip in self._tips
            for base in self._graph.merge_bases(tip.sha)[:1]
        ]
        return TrunkLines(self._repository, own, sides, trunk)

    @cached_property
    def _removed(self) -> TrunkLines:
        """What commits remove that add no line, and what the trunk commits do that have a name of theirs."""
        own = [
            sha for sha in self._asked if (added := self._lines.own.get(sha)) and not added.lines
        ]
        trunk = dict.fromkeys(one.commit for sha in own for one in self._candidates(sha))
        first = self._graph.first_parent
        ours, theirs = (
            [CommitPair(sha, was) for sha in some if (was := first(sha))] for some in (own, trunk)
        )
        return TrunkLines(self._repository, ours, [], theirs, removed=True)

    def _held_by(self, tip: str) -> set[str]:
        return self._graph.side(tip) & self._asked.keys()

    @cached_property
    def _tips(self) -> list[Tip]:
        """The branches and commits that contain a commit in question, those with most of them first."""
        known = {tip.sha: tip for tip in (*self._iterations, *self._branches)}
        held = self._graph.counts(self._asked)
        return sorted(
            (tip for tip in known.values() if held.get(tip.sha)), key=lambda tip: -held[tip.sha]
        )[:MOST_TIPS]

    @cached_property
    def _sides(self) -> dict[str, list[_Candidate]]:
        """The trunk commits with nine tenths of the lines of a side that holds a commit in question."""
        found = defaultdict[str, list[_Candidate]](list)
        for tip in self._tips:
            there = self._lines.there(self._lines.sides.get(tip.sha), self._counting(tip.sha))
            for commit in _with_most(there) if there else ():
                one = _Candidate(
                    facts.LATER_ANCESTOR, commit, True, tip._replace(method=facts.LINES)
                )
                for sha in self._held_by(tip.sha):
                    found[sha].append(one)
        return found

    @cached_property
    def _names(self) -> CommitNames:
        return CommitNames(named_commits(self._repository, self._since[:MOST_READ]).values())

    @cached_property
    def _numbered(self) -> dict[str, list[str]]:
        """The trunk commits by their subjects without the number of a pull request behind it."""
        found = defaultdict[str, list[str]](list)
        for subject, commits in self._subjects.items():
            if (plain := without_number(subject)) != subject:
                found[plain] += commits
        return found

    @cached_property
    def _requested(self) -> dict[int, list[str]]:
        found = defaultdict[int, list[str]](list)
        for subject, commits in self._subjects.items():
            found[request_of(subject) or 0] += commits
        return found

    @cached_property
    def _requests(self) -> dict[str, list[int]]:
        """The numbers of the pull and merge requests that hold a commit in question and that the trunk names."""
        found = defaultdict[str, list[int]](list)
        for number, tip in self._repository.request_heads:
            for sha in self._held_by(tip) if number in self._names.requests else ():
                found[sha].append(number)
        return found

    @cached_property
    def _brought(self) -> dict[int, list[str]]:
        """The commits that each commit of the mainline brought, merges aside."""
        found: dict[int, list[str]] = {}
        for sha in self._since:
            if len(self._graph.parents[sha]) < 2:
                found.setdefault(self._graph.introduced[sha], []).append(sha)
        return found

    def _written(self, sha: str) -> int:
        """Return when a commit was first made, in seconds since 1970."""
        times = (self._commits[sha].time, self._commits[sha].authored)
        return min((time for time in times if time is not None), default=0)

    def _counting(self, sha: str, since: int = 0) -> Callable[[str], bool]:
        return lambda commit: self._times[commit] >= since and not self._graph.contains(sha, commit)

    def _by_lines(self, sha: str, before: Landing) -> Landing:
        counting = self._counting(sha, self._written(sha))
        there = self._lines.there(self._lines.own.get(sha), counting)
        if there is None and before.found_by == facts.MERGE_TREE:
            return before
        if there is None:
            return self._landing(
                sha, unknown=Unknown.LARGE if sha in self._lines.own else Unknown.OBJECTS
            )
        later = before.found_by == facts.LATER_ANCESTOR
        share = there.by_commit[before.commit] if before.commit else there.there
        enough = share * 2 >= there.lines > 0
        if not there.lines and later and before.whole:
            enough = self._may_be_there(sha, before.commit)
        if later and enough and before.commit:
            return replace(before, lines=LineShare(share, there.lines))
        candidates = [
            one for one in self._candidates(sha) if not self._graph.contains(sha, one.commit)
        ]
        gone = None if there.lines else self._removed.there(self._removed.own.get(sha), counting)
        for lines in (there, gone):
            if lines and lines.lines and (found := self._in_one(sha, lines, candidates)):
                return replace(found, removed=lines is gone)
        if before.found_by == facts.MERGE_TREE or (later and enough):
            return before
        if later and before.whole and before.commit:
            candidates.append(_Candidate(facts.LATER_ANCESTOR, before.commit, sure=True))
        return self._not_found(sha, there, candidates, before)

    def _candidates(self, sha: str) -> list[_Candidate]:
        subject, names = self._commits[sha].subject, self._names
        found = [_Candidate(facts.NAMED, commit, listed) for commit, listed in names.naming(sha)]
        for number in self._requests[sha]:
            found += [
                _Candidate(facts.PULL_REQUEST, commit, sure)
                for commit, sure in names.requests[number].items()
            ]
        found += [_Candidate(facts.NUMBERED, commit) for commit in self._numbered.get(subject, ())]
        found += [_Candidate(facts.LISTED, commit) for commit in names.subjects.get(subject, ())]
        found += [
            _Candidate(facts.SUBJECT, commit)
            for commit in self._subjects.get(subject, ())
            if subject
        ]
        start, end = self._written(sha), (self._commits[sha].time or 0) + HORIZON
        found += [one for one in self._sides[sha] if start <= self._times[one.commit] <= end]
        return [one._replace(commit=commit) for one in found for commit in self._single(one.commit)]

    def _single(self, sha: str) -> Sequence[str]:
        """Return a trunk commit, or of a merge what it brought."""
        if len(self._graph.parents[sha]) < 2:
            return (sha,)
        return self._brought.get(self._graph.introduced[sha], ())

    def _in_one(
        self, sha: str, there: LinesThere, candidates: Sequence[_Candidate]
    ) -> Landing | None:
        """Return the landing in a trunk commit that has enough of the lines: half where a name speaks for it."""
        end, place = (self._commits[sha].time or 0) + HORIZON, self._graph.position
        good: dict[str, set[str]] = {}
        tips = {one.commit: one.tip for one in candidates if one.tip}
        for one in candidates:
            if there.by_commit[one.commit] * 2 >= there.lines:
                good.setdefault(one.how, set()).add(one.commit)
        if self._lines.own[sha].lines:  # to remove the same is not yet the same work
            good[facts.LINES] = {
                commit for commit in _with_most(there) if self._times[commit] <= end
            }
        for how in (*_BY_NAME, facts.LINES, facts.LATER_ANCESTOR):
            if good.get(how):
                best = sorted(good[how], key=lambda c: (-there.by_commit[c], -place[c]))
                landed, who = self._standing(best, sha)
                share = LineShare(there.by_commit[landed], there.lines)
                number = self._names.request.get(landed)
                tip = tips.get(landed) if how == facts.LATER_ANCESTOR else None
                return self._landing(
                    sha, how, landed, None, who, whole=False, tip=tip, lines=share, request=number
                )
        return None

    def _not_found(
        self, sha: str, there: LinesThere, candidates: Sequence[_Candidate], before: Landing
    ) -> Landing:
        """Return what is not known; that it did not land only where none of its lines is there after a horizon."""
        found = partial(self._landing, sha, lines=LineShare(there.there, there.lines))
        if sure := [one.commit for one in candidates if one.sure]:
            best = max(sure, key=lambda commit: there.by_commit[commit])
            lines = LineShare(there.by_commit[best], there.lines)
            why = Unknown.PART if there.lines else Unknown.NO_LINES
            return found(
                unknown=why, part_of=best, request=self._names.request.get(best), lines=lines
            )
        if not there.lines:
            return found(unknown=Unknown.NO_LINES)
        if there.there or there.anywhere * 2 >= there.lines:
            return found(unknown=Unknown.NOT_FOUND if there.there else Unknown.ELSEWHERE)
        if len(self._since) > MOST_READ:
            return found(unknown=Unknown.LONG)
        if before.unknown or not self._lines.whole:
            return found(unknown=Unknown.OBJECTS)
        if self._times[self._tip] < (self._commits[sha].time or 0) + HORIZON:
            return found(unknown=Unknown.TOO_YOUNG)
        if any(one.how in _SUBJECTS for one in candidates):
            return found(unknown=Unknown.ALIKE)
        return found(facts.NOT_LANDED, old_git=self._old_git)
