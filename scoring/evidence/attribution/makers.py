"""Where commits cut sessions, and which iteration each part belongs to: ``docs/EVIDENCE.md``."""

from bisect import bisect_left, bisect_right, insort
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple, TypeAlias, TypeVar

from scoring.evidence.attribution.session_trees import (
    A_SECOND,
    NO_ITERATION,
    OTHER_COMMIT,
    OTHER_REPOSITORY,
    Asked,
    ChangedFiles,
    Cut,
    Listed,
    SessionPart,
    Tree,
)
from scoring.evidence.transcripts.facts import NS
from scoring.evidence.transcripts.streams import Session, SessionCommit, SessionKey

DAY = (
    86_400 * NS
)  # how far the author time may be from when a session made a commit of the same subject
_MIN_SHA = 7
_A_MINUTE = 60 * NS


class KnownCommit(NamedTuple):
    """A commit of a session, the index of its iteration, and whether that names the commit."""

    made: SessionCommit
    place: int
    named: bool = False


Names: TypeAlias = list[tuple[str, int]]
"""Names of commits with the places of their iterations, in order."""


def in_order(names: Iterable[Sequence[str]]) -> Names:
    """Return the names of each iteration's commits, with its place."""
    return sorted(
        (name, place)
        for place, those in enumerate(names)
        for name in those
        if len(name) >= _MIN_SHA
    )


def place_of(names: Names, sha: str) -> int:
    """Return the index of the first iteration whose commit has this name, or part of it."""
    start = sha[:_MIN_SHA]
    alike = names[bisect_left(names, (start,)) : bisect_left(names, (f"{start}~",))]
    return min(
        (place for name, place in alike if name.startswith(sha) or sha.startswith(name)),
        default=NO_ITERATION,
    )


class HeldCommit(NamedTuple):
    """A commit of git: its author time (ns), the sessions in its checkpoints, and what shows it."""

    authored: int
    listed: Collection[str] = ()
    shown: Collection[tuple[str, SessionCommit]] = ()

    def was_made_in(self, session: str, made: SessionCommit) -> bool:
        """Whether it alone has the author time of a lost commit, which the session itself made."""
        own = [
            self._is_at(other) and not other.amends for name, other in self.shown if name == session
        ]
        of_it = len(own) == len(self.shown) and (own or session in self.listed)
        return self._is_at(made) and bool(of_it) and not any(own)

    def _is_at(self, made: SessionCommit) -> bool:
        return made.begun - made.begun % NS <= self.authored <= made.time  # git keeps whole seconds


Name = TypeVar("Name")


def amended(
    made: Mapping[str, Sequence[SessionCommit]],
    lost: Collection[SessionCommit],
    held: Mapping[Name, HeldCommit],
) -> dict[SessionCommit, Name]:
    """Return what ``lost`` commits became, which git does not have and sessions ``made``.

    Only certain answers are in it.

    Whatever else an amend changes, the author time stays: it is between the call that made the
    commit and its result.
    """
    by_time = sorted((one.authored, name) for name, one in held.items())
    found: dict[SessionCommit, Name] = {}
    for session, commits in made.items():
        for one in (one for one in commits if one in lost and not one.amends):
            near = by_time[
                bisect_left(by_time, (one.begun - NS,)) : bisect_left(by_time, (one.time + 1,))
            ]
            became = [name for _, name in near if held[name].was_made_in(session, one)]
            if len(became) == 1:
                found[one] = became[0]
    times = Counter(found.values())
    found = {one: name for one, name in found.items() if times[name] == 1}
    for one, before in amends(made, lost).items():
        if before in found:
            found[one] = found[before]
    return found


def amends(
    made: Mapping[str, Sequence[SessionCommit]], lost: Collection[SessionCommit]
) -> dict[SessionCommit, SessionCommit]:
    """Return the commits that amend the one before in their session, where git has neither."""
    pairs = (pair for commits in made.values() for pair in pairwise(sorted(commits)))
    return {one: before for before, one in pairs if one.amends and one in lost and before in lost}


LandedAs = Callable[[Collection[str]], Mapping[str, Collection[str]]]
"""Maps names of commits to those under which they landed.

A commit that is here and did not land has only its own name.
"""


def known_commits(
    asked: Sequence[Asked],
    sessions: Mapping[SessionKey, Session],
    landed_as: LandedAs,
    listed: Mapping[int, Collection[SessionKey]],
) -> dict[SessionKey, list[KnownCommit]]:
    """Return the known commits of each session, by time.

    Rewritten ones are there as what they became, others are left out.
    """
    names, landed = in_order(one.commits for one in asked), in_order(one.landed for one in asked)
    found: dict[SessionKey, list[KnownCommit]] = {key: [] for key in sessions}
    unknown: list[tuple[SessionKey, SessionCommit]] = []
    for key, session in sessions.items():
        for made in session.made:
            if (named := place_of(names, made.sha)) != NO_ITERATION:
                found[key].append(KnownCommit(made, named, named=True))
            elif (place := place_of(landed, made.sha)) != NO_ITERATION:
                found[key].append(KnownCommit(made, place))
            else:
                unknown.append((key, made))
    became = landed_as(sorted({made.sha for _, made in unknown})) if unknown else {}
    rest: list[tuple[SessionKey, SessionCommit]] = []
    for key, made in unknown:
        places = (place_of(names, sha) for sha in became.get(made.sha, ()))
        place = min((place for place in places if place != NO_ITERATION), default=NO_ITERATION)
        if place != NO_ITERATION or len(became.get(made.sha, ())) > 1:
            found[key].append(KnownCommit(made, OTHER_COMMIT if place == NO_ITERATION else place))
        else:
            rest.append((key, made))
    held = _held(asked, found, listed)
    anew = amended(
        {key[1]: session.made for key, session in sessions.items()},
        {made for _, made in rest},
        held,
    )
    for (key, made), same in zip(rest, _same_subject(asked, rest, found, listed), strict=True):
        place = anew.get(made, same)
        if made.sha in sessions[key].elsewhere and made.sha not in became:
            found[key].append(KnownCommit(made, OTHER_REPOSITORY))
        elif place != NO_ITERATION or made.sha in became:
            found[key].append(KnownCommit(made, OTHER_COMMIT if place == NO_ITERATION else place))
    return {key: sorted(commits) for key, commits in found.items()}


def _held(
    asked: Sequence[Asked],
    known: Mapping[SessionKey, Sequence[KnownCommit]],
    listed: Mapping[int, Collection[SessionKey]],
) -> dict[int, HeldCommit]:
    """Return the commits of iterations, by their places."""
    shown: dict[int, list[tuple[str, SessionCommit]]] = {}
    for key, commits in known.items():
        for commit in commits:
            shown.setdefault(commit.place, []).append((key[1], commit.made))
    return {
        place: HeldCommit(
            one.authored, {key[1] for key in listed.get(place, ())}, shown.get(place, ())
        )
        for place, one in enumerate(asked)
        if one.authored is not None
        and (place in shown or place in listed)  # no session can have made the others
    }


def _same_subject(
    asked: Sequence[Asked],
    commits: Sequence[tuple[SessionKey, SessionCommit]],
    known: Mapping[SessionKey, Sequence[KnownCommit]],
    listed: Mapping[int, Collection[SessionKey]],
) -> list[int]:
    """Return the index of the iteration of each commit's subject.

    The iteration is of the same session, or no other session made its commit.
    """
    by_subject: dict[int, list[int]] = {}
    for place, one in enumerate(asked):
        for subject in one.subjects:
            by_subject.setdefault(subject, []).append(place)
    makers = {
        (commit.place, key) for key, of_it in known.items() for commit in of_it if commit.named
    }
    made_by = {place for place, _ in makers}
    alike: list[list[tuple[int, int]]] = []
    rivals: dict[int, set[SessionKey]] = {}
    for key, made in commits:
        near = [
            (abs(made.time - time), n)
            for n in by_subject.get(made.subject, ())
            if (time := asked[n].authored)
        ]
        alike.append(sorted(pair for pair in near if pair[0] <= DAY))
        for _, place in alike[-1]:
            rivals.setdefault(place, set()).add(key)
    return [
        next(
            (n for _, n in near if (n, key) in makers or key in listed.get(n, ())),
            next((n for _, n in near if n not in made_by and len(rivals[n]) == 1), NO_ITERATION),
        )
        for (key, _), near in zip(commits, alike, strict=True)
    ]


def cut_trees(
    asked: Sequence[Asked],
    sessions: Mapping[SessionKey, Session],
    tree_of: Mapping[SessionKey, Tree],
    trees: Iterable[Tree],
    listed: Listed,
    landed_as: LandedAs,
    changed: ChangedFiles,
    whole: Collection[int],
) -> dict[int, SessionCommit]:
    """Cut trees at the commits of their sessions, and return the last line that shows each."""
    keys = {
        place: {key for tree in found for key in tree.sessions}
        for place, found in enumerate(listed)
        if found
    }
    known = known_commits(asked, sessions, landed_as, keys)
    shown: dict[int, SessionCommit] = {}
    commits = sorted(
        (commit.named, commit.made, key, commit.place)
        for key, of_it in known.items()
        for commit in of_it
    )
    for _, made, key, place in commits:
        tree_of[key].cuts.append(Cut(tree_of[key].position(made.time, made.line) + 1, place, made))
        if place >= 0:
            shown[place] = made
    _cut_at_unshown(asked, changed, whole, trees, listed, shown)
    return shown


def _cut_at_unshown(
    asked: Sequence[Asked],
    changed: ChangedFiles,
    whole: Collection[int],
    trees: Iterable[Tree],
    listed: Listed,
    shown: Collection[int],
) -> None:
    """Cut trees also at commits that name them and that no line shows.

    A file of the commit must have been edited before.
    """
    naming: dict[int, list[int]] = {}
    for place, found in enumerate(listed):
        for tree in found if place not in shown else ():
            naming.setdefault(id(tree), []).append(place)
    # A commit that was rebased keeps its author time, and was first made then.
    for tree in trees:
        for one in tree.cuts:
            authored = asked[one.place].authored if one.place >= 0 else None
            if one.made and authored is not None and one.made.time - authored > _A_MINUTE:
                naming.setdefault(id(tree), []).append(one.place)
    cut: set[int] = set()
    idle: list[tuple[Tree, Cut]] = []
    for tree in trees:
        known = [(one.at, 0, 0, one) for one in tree.cuts]
        for place in naming.get(id(tree), ()):
            at = _end_in(asked[place], tree, place in shown)
            known += [] if at is None else [(at, 1, asked[place].authored or 0, Cut(at, place))]
        tree.cuts = []
        before = SessionPart(tree, 0, 0)  # the last one in which something was edited
        for at, _, _, one in sorted(known):
            start = (
                0 if idle and idle[-1][0] is tree and not tree.cuts else _start(asked, tree, one)
            )
            if start is None:
                continue
            end, place = max(start, at), one.place
            part = SessionPart(tree, start, end, one)
            before = before if part.edits_nothing else part
            if place == OTHER_REPOSITORY:
                if part.is_elsewhere:
                    tree.cuts.append(Cut(end, OTHER_COMMIT))
                continue
            if one.made is None:
                pending, reaches = changed.pending(place, part), reaches_commit(tree, asked[place])
                takes = (
                    changed.of(place, before)
                    if reaches
                    else not pending.isdisjoint(asked[place].files)
                )
                if (
                    not takes
                    and reaches
                    and not pending
                    and end > start
                    and was_stored_for(tree, asked[place])
                ):
                    idle.append((tree, one))
                if not takes:
                    continue
            tree.cuts.append(one._replace(at=end))
            cut.add(place)
    for tree, one in idle:
        if (
            one.place not in cut and one.place in whole
        ):  # what wrote its files is no edit that is seen
            insort(tree.cuts, one, key=lambda cut: cut.at)


def reaches_commit(tree: Tree, one: Asked) -> bool:
    """Whether the lines of a tree are known up to a commit, by its checkpoint or later lines."""
    held = not tree.checkpoints.isdisjoint(one.checkpoints)
    return held or (one.authored is not None and bool(tree.times) and tree.times[-1] > one.authored)


def was_stored_for(tree: Tree, one: Asked) -> bool:
    """Whether a tree's checkpoint may be that of a commit: it is at most a day older."""
    stored = [file.stored for file in tree.files if file.checkpoint in one.checkpoints]
    authored = one.authored
    return (
        not stored
        or authored is None
        or any(time is None or time > authored - DAY for time in stored)
    )


def _end_in(one: Asked, tree: Tree, shown: bool) -> int | None:
    """Return how many lines of a tree are before a commit that no line shows, or None.

    It is None where the time of the commit is unknown.
    """
    end = one.authored
    if end is None:
        return None
    if (
        not shown and one.committed is not None and abs(one.committed - end) > _A_MINUTE
    ):  # as one amended by hand
        named = (file for file in tree.files if file.checkpoint in one.checkpoints)
        later = [file.order[0] for file in named if end < file.order[0] <= one.committed]
        end = max(later, default=end)
    return bisect_right(tree.times, end + A_SECOND)  # git keeps whole seconds


def _start(asked: Sequence[Asked], tree: Tree, one: Cut) -> int | None:
    """Return where the part of a cut begins, maybe as a checkpoint states.

    None where that is after the cut.
    """
    if tree.cuts:
        return tree.cuts[-1].at
    start = 0
    files = [file for file in tree.files if file.checkpoint]
    for file in files if one.place >= 0 else ():
        named = asked[one.place].checkpoints
        if file.checkpoint not in named or not file.start or not file.events.begins_session:
            continue
        if any(other.order < file.order and other.checkpoint not in named for other in files):
            lines = zip(file.numbers, file.times, file.ids, strict=True)
            behind = (
                tree.position(time, line) for number, time, line in lines if number >= file.start
            )
            if (at := next((at for at in behind if at >= 0), None)) is None:
                return start if one.made else None
            start = max(start, at)
    if start:
        tree.cuts.append(Cut(start, OTHER_COMMIT))
    return start
