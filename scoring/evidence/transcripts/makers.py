"""Which iteration a commit is of that a session made: by its name, by its subject, or by where it landed.

``docs/EVIDENCE.md``, "Attribution", has the rules.
"""

from bisect import bisect_left
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple, TypeAlias

from scoring.evidence.transcripts.facts import NS, IterationWindow
from scoring.evidence.transcripts.streams import SHA_DIGITS, Made, Session, SessionKey

DAY = 86_400 * NS
"""How far the author time of a commit may be from when a session made a commit of the same subject."""

NO_ITERATION = -1

_MIN_SHA = 7


class Asked(NamedTuple):
    """What is known of an iteration when its lines are looked for.

    ``commits`` are the names of its commit, in small hex digits: as the entry has it, and in full; ``landed`` those of
    its commits on the trunk; ``subjects`` the keys of its subjects; ``authored`` its author time in nanoseconds;
    ``session`` the id that the entry names; ``checkpoints`` the ids of those that the commit names.
    """

    iteration: int
    commits: tuple[str, ...] = ()
    landed: tuple[str, ...] = ()
    subjects: tuple[int, ...] = ()
    authored: int | None = None
    session: str = ""
    checkpoints: tuple[str, ...] = ()
    window: IterationWindow | None = None


@dataclass(slots=True)
class _Commit:
    """A commit in a session, its iteration's place, whether that names it, and whether an earlier session made it."""

    made: Made
    place: int
    named: bool = False
    copied: bool = False


Names: TypeAlias = dict[str, list[tuple[str, int]]]
"""Names of commits with the places of their iterations, by the digits that all have."""


def by_prefix(names: Iterable[Sequence[str]]) -> Names:
    """Return the names of each iteration's commits, with its place, by the digits that all have."""
    found: Names = {}
    for place, those in enumerate(names):
        for name in those:
            if len(name) >= _MIN_SHA:
                found.setdefault(name[:_MIN_SHA], []).append((name[:SHA_DIGITS], place))
    return found


def place_of(names: Names, sha: str) -> int:
    """Return the place of the first iteration that has a commit of this name, of which only a part may be known."""
    alike = names.get(sha[:_MIN_SHA], ())
    return min((place for name, place in alike if name.startswith(sha) or sha.startswith(name)), default=NO_ITERATION)


LandedAs = Callable[[Collection[str]], Mapping[str, Collection[str]]]
"""Says of commits that sessions made, by what is known of their names, as which commits they landed."""


class KnownCommits:
    """The commits of some sessions, and the iterations that these are of."""

    def __init__(self, asked: Sequence[Asked], sessions: Mapping[SessionKey, Session], landed_as: LandedAs) -> None:
        """Take what is known of the iterations, the sessions, and what says as which commits others landed."""
        self._asked, self._landed_as = asked, landed_as
        self._commits = self._known_commits(sessions)
        self._makers = self._by_place()

    def of(self, place: int) -> dict[SessionKey, Made]:
        """Return the sessions that made an iteration's commit, each with its last line that did."""
        return self._makers.get(place, {})

    def before(self, key: SessionKey, place: int, time: int) -> int | None:
        """Return when a session made its last commit before a time that is another iteration's; None without one."""
        commits = self._commits[key]
        behind = bisect_left(commits, time, key=lambda commit: commit.made.time)
        return next((c.made.time for c in reversed(commits[:behind]) if c.place not in (place, NO_ITERATION)), None)

    def cuts(self, key: SessionKey, places: Collection[int], since: int) -> list[tuple[int, int]]:
        """Return when a session made the commits of some iterations, from a time on, with the iteration of each."""
        commits = self._commits.get(key, ())
        return sorted((c.made.time, c.place) for c in commits if c.place in places and c.made.time >= since)

    def _known_commits(self, sessions: Mapping[SessionKey, Session]) -> dict[SessionKey, list[_Commit]]:
        """Say of each commit of each session which iteration it is of."""
        names = by_prefix(asked.commits for asked in self._asked)
        landed = by_prefix(asked.landed for asked in self._asked)
        self._named = partial(place_of, names)
        found: dict[SessionKey, list[_Commit]] = {}
        for key, session in sessions.items():
            for made in session.made:
                place = self._named(made.sha)
                named = place != NO_ITERATION
                place = place if named else place_of(landed, made.sha)
                found.setdefault(key, []).append(_Commit(made, place, named, made.line in session.copies))
        for place, commit in sorted(self._same_subject(found).items(), reverse=True):
            commit.place = place
        return found

    def learn_landed(self) -> None:
        """Learn of commits that landed as an iteration's, by another name and another subject: rebased, squashed."""
        unknown = [c for commits in self._commits.values() for c in commits if c.place == NO_ITERATION]
        landed = self._landed_as(sorted({commit.made.sha for commit in unknown})) if unknown else {}
        for commit in unknown:
            places = map(self._named, landed.get(commit.made.sha, ()))
            commit.place = min((place for place in places if place != NO_ITERATION), default=NO_ITERATION)
        self._makers = self._by_place()

    def _by_place(self) -> dict[int, dict[SessionKey, Made]]:
        """Return, for each iteration, the sessions that made its commit, each with its last line that did."""
        makers: dict[int, dict[SessionKey, Made]] = {}
        others: dict[int, dict[SessionKey, Made]] = {}
        for key in sorted(self._commits):
            for commit in self._commits[key]:
                if commit.place != NO_ITERATION and not commit.copied:
                    (makers if commit.named else others).setdefault(commit.place, {})[key] = commit.made
        return others | makers

    def _same_subject(self, found: Mapping[SessionKey, Sequence[_Commit]]) -> dict[int, _Commit]:
        """Find the one session that made a commit of its subject, for iterations without a maker of that name."""
        named = {commit.place for commits in found.values() for commit in commits}
        by_subject: dict[int, list[tuple[SessionKey, _Commit]]] = {}
        for key, commits in found.items():
            for commit in commits:
                if commit.place == NO_ITERATION and not commit.copied:
                    by_subject.setdefault(commit.made.subject, []).append((key, commit))
        one: dict[int, _Commit] = {}
        for place, asked in enumerate(self._asked):
            authored = asked.authored
            if place in named or authored is None:
                continue
            alike = [pair for subject in asked.subjects for pair in by_subject.get(subject, ())]
            near = [(abs(commit.made.time - authored), n) for n, (_, commit) in enumerate(alike)]
            near = [one for one in near if one[0] <= DAY]
            makers: dict[int, set[SessionKey]] = {}
            for _, n in near:
                makers.setdefault(alike[n][1].made.line, set()).add(alike[n][0])
            if makers and set.intersection(*makers.values()):
                one[place] = alike[min(near)[1]][1]
        return one
