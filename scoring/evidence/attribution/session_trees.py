"""Sessions with their sub-agents as one line of time: edits in it, and cuts by commits."""

import posixpath
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, TypeAlias

from scoring.evidence.transcripts.events import AgentStarted, Edit
from scoring.evidence.transcripts.facts import NS, IterationWindow
from scoring.evidence.transcripts.streams import File, Session, SessionCommit, SessionKey

A_SECOND = NS - 1  # what a time that git has in whole seconds may be later
NO_ITERATION, OTHER_COMMIT, OTHER_REPOSITORY = -1, -2, -3
"""Instead of an iteration: none, a commit without an entry, or one of another repository."""


class Asked(NamedTuple):
    """What is known of an iteration: names of its commit, keys of subjects, and times in ns.

    ``landed`` are the names on the trunk.
    """

    iteration: int
    commits: tuple[str, ...] = ()
    landed: tuple[str, ...] = ()
    subjects: tuple[int, ...] = ()
    authored: int | None = None
    committed: int | None = None
    files: frozenset[str] = frozenset()
    session: str = ""
    checkpoints: tuple[str, ...] = ()
    window: IterationWindow | None = None


class Cut(NamedTuple):
    """Where a commit ends a part: the lines before it, its index, and any line that shows it."""

    at: int
    place: int
    made: SessionCommit | None = None


@dataclass(eq=False, slots=True)
class Tree:
    """A session and its sub-agents: their lines by time, their edits, and cuts by commits."""

    sessions: list[SessionKey] = field(default_factory=list)
    times: Sequence[int] = ()
    lines: Sequence[int] = ()
    writers: Sequence[int] = ()  # the place in ``sessions`` of the session of each line
    files: list[File] = field(default_factory=list)
    checkpoints: frozenset[str] = frozenset()  # those that hold some of it
    edits: list[int] = field(
        default_factory=list
    )  # how many lines are before each edit, or start of a sub-agent
    edited: dict[str, list[int]] = field(
        default_factory=dict
    )  # the same by the file, of those that a commit changed
    outside: list[int] = field(
        default_factory=list
    )  # and of files outside of the folder of the session
    cuts: list[Cut] = field(default_factory=list)

    def position(self, time: int, line: int) -> int:
        """Return how many of its lines are before one; -1 where that is not its own."""
        first, behind = bisect_left(self.times, time), bisect_right(self.times, time)
        at = bisect_left(self.lines, line, first, behind)
        return at if at < behind and self.lines[at] == line else -1

    def parts(self) -> "Iterator[SessionPart]":
        """Yield its parts, by time; the last one ends at no commit."""
        start = 0
        for cut in self.cuts:
            yield SessionPart(self, start, cut.at, cut)
            start = cut.at
        yield SessionPart(self, start, len(self.lines))


class SessionPart(NamedTuple):
    """Lines of a tree from ``start`` up to ``end``, and their cut, or None for the rest."""

    tree: Tree
    start: int
    end: int
    cut: Cut | None = None

    @property
    def place(self) -> int:
        """The index of its commit's iteration, :data:`OTHER_COMMIT` or :data:`NO_ITERATION`."""
        return self.cut.place if self.cut else NO_ITERATION

    @property
    def lines(self) -> Sequence[int]:
        """The numbers of its lines."""
        return self.tree.lines[self.start : self.end]

    @property
    def edits_nothing(self) -> bool:
        """Whether no file was edited in its folders, and no sub-agent started that might have."""
        return bisect_left(self.tree.edits, self.start) == bisect_left(self.tree.edits, self.end)

    @property
    def is_elsewhere(self) -> bool:
        """Whether files were edited in it, and none of them in its sessions' folders."""
        return self.edits_nothing and any(self.start <= at < self.end for at in self.tree.outside)

    def last_edit(self, name: str) -> int | None:
        """Return when a file was last edited in it, in nanoseconds; None where it was not."""
        found = self.tree.edited.get(name, [])
        before = bisect_left(found, self.end) - 1
        return (
            self.tree.times[found[before]] if before >= 0 and found[before] >= self.start else None
        )

    @property
    def sessions(self) -> list[SessionKey]:
        """The sessions that have some of its lines."""
        return [
            self.tree.sessions[n] for n in sorted(set(self.tree.writers[self.start : self.end]))
        ]


Listed: TypeAlias = Sequence[Sequence[Tree]]
"""For each iteration, the trees of the sessions in the checkpoints that its commit names."""


class ChangedFiles:
    """Which iterations of a log changed a file when, and which took a session's edits."""

    def __init__(self, asked: Sequence[Asked]) -> None:
        self._asked = asked
        self._changes: dict[str, list[tuple[int, int]]] = {}
        for place, one in enumerate(asked):
            if one.authored is not None:
                for name in one.files:
                    self._changes.setdefault(name, []).append((one.authored + A_SECOND, place))
        for changes in self._changes.values():
            changes.sort()

    def __contains__(self, name: str) -> bool:
        return name in self._changes

    def pending(self, place: int, part: SessionPart) -> set[str]:
        """Return the files edited in a part that no commit took before an iteration's."""
        edits = (
            (name, since)
            for name in part.tree.edited
            if (since := part.last_edit(name)) is not None
        )
        return {
            name
            for name, since in edits
            if all(n == place for _, n in self._between(name, since, place)[:2])
        }

    def _between(self, name: str, since: int, place: int) -> Sequence[tuple[int, int]]:
        """Return the changes of a file from a time until an iteration's commit."""
        changes, end = self._changes[name], self._asked[place].authored or 0
        return changes[bisect_left(changes, (since, -1)) : bisect_left(changes, (end, -1))]

    def untaken(self, place: int, part: SessionPart) -> SessionPart:
        """Return a part after the last other commit whose edits an iteration's commit took."""
        tree, start = part.tree, part.start
        for name, edits in tree.edited.items():
            first = bisect_left(edits, part.start)
            if first < len(edits) and edits[first] < part.end:
                changes = self._between(name, tree.times[edits[first]], place)
                taken = [at for at, other in changes if other != place]
                start = max(start, bisect_right(tree.times, taken[-1])) if taken else start
        return part._replace(start=min(start, part.end))

    def of(self, place: int, part: SessionPart) -> bool:
        """Whether an iteration's commit took a file edited in a part, even if its own did."""
        one = self._asked[place]
        taker = self._asked[part.place].checkpoints if part.place >= 0 else ()
        if part.place in (place, NO_ITERATION) or not set(one.checkpoints).isdisjoint(taker):
            return any(part.last_edit(name) is not None for name in one.files)
        return not self.pending(place, part).isdisjoint(one.files)

    def named(self, path: str, folder: str) -> str:
        """Return which of the files that commits changed an edited one is; "" for none."""
        parts = path.split("/")
        names = (
            path.removeprefix(f"{folder}/"),
            *("/".join(parts[n:]) for n in range(len(parts) - 1)),
        )
        return next((name for name in names if name in self), "")


def trees_of(
    files: Sequence[File],
    sessions: Mapping[SessionKey, Session],
    recorded: Collection[str],
    changed: ChangedFiles,
) -> dict[SessionKey, Tree]:
    """Return the trees of sessions with lines, by key, with those of checkpoints apart."""
    having = {key: session for key, session in sessions.items() if session.lines}
    parents = {
        key: (key[0], "" if key[1] in recorded else session.parent)
        for key, session in having.items()
    }
    found: dict[SessionKey, Tree] = {}
    by_root: dict[SessionKey, Tree] = {}
    for key in parents:
        root, seen = key, {key}
        while (parent := parents[root]) in parents and parent not in seen:
            root = parent
            seen.add(root)
        tree = found[key] = by_root.setdefault(root, Tree())
        tree.sessions.insert(0 if root == key else len(tree.sessions), key)
    for tree in by_root.values():
        of_it = [(n, sessions[key]) for n, key in enumerate(tree.sessions)]
        tree.times, tree.lines, tree.writers = (
            of_it[0][1].times,
            of_it[0][1].lines,
            bytes(len(of_it[0][1].lines)),
        )
        if len(of_it) > 1:
            lines = sorted(
                (*line, n) for n, s in of_it for line in zip(s.times, s.lines, strict=True)
            )
            tree.times, tree.lines, tree.writers = (
                array("q", column) for column in zip(*lines, strict=True)
            )
        tree.files = list(
            {id(file): file for _, session in of_it for file in session.files}.values()
        )
        held = frozenset(file.checkpoint for file in tree.files if file.checkpoint)
        tree.checkpoints = held or tree.checkpoints  # the empty one is of all trees
    known: dict[
        tuple[str, str], str | None
    ] = {}  # of each edited path and folder the file; None: it is outside
    for file in files:
        spans, texts = file.events.spans, file.events.texts
        for event in file.events.of(Edit):
            path, folder = edit = texts[event.path], spans[event.span].cwd
            if edit not in known:
                inside = not posixpath.isabs(path) or not folder or path.startswith(f"{folder}/")
                known[edit] = changed.named(path, folder) if inside else None
            if known[edit] is not None or event.by_tool:
                _note_edit(file, event.line, known[edit], found)
        for started in file.events.of(AgentStarted):
            _note_edit(file, started.line, "", found)
    for tree in by_root.values():
        tree.edits = sorted(set(tree.edits))
        tree.edited = {name: sorted(set(places)) for name, places in tree.edited.items()}
    return found


def _note_edit(file: File, number: int, name: str | None, trees: Mapping[SessionKey, Tree]) -> None:
    """Note an edit in the tree that has its line; the ``name`` is None for a file outside."""
    n = file.at(number)
    for session in file.sessions if n >= 0 else ():
        tree = trees.get((file.harness.name, session))
        if tree and (at := tree.position(file.times[n], file.ids[n])) >= 0:
            (tree.outside if name is None else tree.edits).append(at)
            if name:
                tree.edited.setdefault(name, []).append(at)
            return


def listed_trees(names: Iterable[Iterable[str]], tree_of: Mapping[SessionKey, Tree]) -> Listed:
    """Return the trees of the sessions that each commit's checkpoints list, by their names."""
    by_name: dict[str, list[Tree]] = {}
    for key in sorted(tree_of):
        by_name.setdefault(key[1], []).append(tree_of[key])
    return [
        list({id(tree): tree for name in some for tree in by_name.get(name, ())}.values())
        for some in names
    ]
