"""Sessions with their sub-agents as one line of time: what was edited in it, and where commits cut it."""

import posixpath
from bisect import bisect_left
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, TypeAlias

from scoring.evidence.transcripts.facts import NS, IterationWindow
from scoring.evidence.transcripts.rows import EDIT
from scoring.evidence.transcripts.streams import File, Made, Session, SessionKey

A_SECOND = NS - 1
"""What a time that git has in whole seconds may be later."""


NO_ITERATION, OTHER_COMMIT = -1, -2
"""In place of an iteration: none, and a commit of this repository that no entry is about."""


class Asked(NamedTuple):
    """What is known of an iteration when its lines are looked for.

    ``commits`` are the names of its commit, in small hex digits: as the entry has it, and in full; ``landed`` those of
    its commits on the trunk; ``subjects`` the keys of its subjects; ``authored`` and ``committed`` the times of its
    commit in nanoseconds; ``files`` the paths that it changed; ``session`` the id that the entry names;
    ``checkpoints`` the ids of those that the commit names.
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


class Edit(NamedTuple):
    """One edit: how many lines of the tree are before it, the path, and the folder that the session worked in."""

    at: int
    path: str
    folder: str

    @property
    def is_inside(self) -> bool:
        """Whether the file is in the folder that the session worked in; one outside says nothing of its work."""
        return not posixpath.isabs(self.path) or not self.folder or self.path.startswith(f"{self.folder}/")

    def among(self, files: Collection[str]) -> str:
        """Return which of some files of the repository it is of; "" for none."""
        parts = self.path.split("/")
        names = self.path.removeprefix(f"{self.folder}/"), *("/".join(parts[n:]) for n in range(len(parts) - 1))
        return next((name for name in names if name in files), "")


class Cut(NamedTuple):
    """Where a commit ends a part: how many lines are before, its place, and the line that shows it, if one does."""

    at: int
    place: int
    made: Made | None = None


@dataclass(eq=False)
class Tree:
    """A session and its sub-agents: their lines by time, what they edited, and where commits cut them."""

    sessions: list[SessionKey] = field(default_factory=list)
    times: list[int] = field(default_factory=list)
    lines: list[int] = field(default_factory=list)
    writers: list[int] = field(default_factory=list)  # the place in ``sessions`` of the session of each line
    files: list[File] = field(default_factory=list)
    edits: list[Edit] = field(default_factory=list)
    cuts: list[Cut] = field(default_factory=list)

    def position(self, time: int, line: int) -> int:
        """Return how many of its lines are before one; -1 where that is not its own."""
        at = bisect_left(self.times, time)
        while at < len(self.times) and self.times[at] == time:
            if self.lines[at] == line:
                return at
            at += 1
        return -1

    def parts(self) -> "Iterator[SessionPart]":
        """Yield its parts, by time; the last one ends at no commit."""
        start = 0
        for cut in self.cuts:
            yield SessionPart(self, start, cut.at, cut)
            start = cut.at
        yield SessionPart(self, start, len(self.lines))

    def edited(self, start: int, end: int) -> list[Edit]:
        """Return what was edited in some of its lines."""
        first, behind = (bisect_left(self.edits, at, key=lambda edit: edit.at) for at in (start, end))
        return self.edits[first:behind]


class SessionPart(NamedTuple):
    """Some lines of a tree, from ``start`` up to ``end``, and the cut that ends them; None: they are its rest."""

    tree: Tree
    start: int
    end: int
    cut: Cut | None = None

    @property
    def place(self) -> int:
        """The place of the iteration of the commit that it led to, or :data:`OTHER_COMMIT`, :data:`NO_ITERATION`."""
        return self.cut.place if self.cut else NO_ITERATION

    @property
    def lines(self) -> list[int]:
        """Its lines."""
        return self.tree.lines[self.start : self.end]

    @property
    def edits(self) -> list[Edit]:
        """What was edited in it, in the folders that its sessions worked in."""
        return [edit for edit in self.tree.edited(self.start, self.end) if edit.is_inside]

    @property
    def sessions(self) -> list[SessionKey]:
        """The sessions that have some of its lines."""
        return [self.tree.sessions[n] for n in sorted(set(self.tree.writers[self.start : self.end]))]


Listed: TypeAlias = Sequence[Sequence[Tree]]
"""For each iteration, the trees of the sessions in the checkpoints that its commit names."""


class ChangedFiles:
    """Which iterations of a log changed a file when, and which of them took what a session had edited."""

    def __init__(self, asked: Sequence[Asked]) -> None:
        self._asked = asked
        self._changes: dict[str, list[tuple[int, int]]] = {}
        for place, one in enumerate(asked):
            if one.authored is not None:
                for name in one.files:
                    self._changes.setdefault(name, []).append((one.authored + A_SECOND, place))
        for changes in self._changes.values():
            changes.sort()

    def pending(self, place: int, part: SessionPart) -> set[str]:
        """Return the files of commits that were edited in a part and that no other one took until an iteration's."""
        end = (self._asked[place].authored or 0, -1)
        found = set()
        for edit in part.edits:
            if (name := edit.among(self._changes)) and name not in found:
                changes = self._changes[name]
                between = changes[bisect_left(changes, (part.tree.times[edit.at], -1)) : bisect_left(changes, end)]
                if all(other == place for _, other in between[:2]):
                    found.add(name)
        return found

    def of(self, place: int, part: SessionPart) -> bool:
        """Whether an iteration's commit changed a file that was edited in a part."""
        return any(edit.among(self._asked[place].files) for edit in part.edits)


def trees_of(
    files: Sequence[File], sessions: Mapping[SessionKey, Session], recorded: Collection[str]
) -> dict[SessionKey, Tree]:
    """Return the trees of sessions with lines, by the key of each; one that a checkpoint records is of its own."""
    having = {key: session for key, session in sessions.items() if session.lines}
    parents = {key: (key[0], "" if key[1] in recorded else session.parent) for key, session in having.items()}
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
        lines = sorted((*line, n) for n, s in of_it for line in zip(s.times, s.lines, strict=True))
        tree.times, tree.lines, tree.writers = map(list, zip(*lines, strict=True)) if lines else ([], [], [])
        tree.files = list({id(file): file for _, session in of_it for file in session.files}.values())
    edits: dict[int, set[Edit]] = {}
    for file in files:
        spans, texts = file.rows.spans, file.rows.texts
        for span, number, path, _ in file.rows.tables.get(EDIT, ()):
            n = file.place.get(number, -1)
            for name, _ in file.sessions if n >= 0 else ():
                known = found.get((file.harness.name, name))
                if known and (at := known.position(file.times[n], file.ids[n])) >= 0:
                    edits.setdefault(id(known), set()).add(Edit(at, texts[path], spans[span].cwd))
                    break
    for tree in by_root.values():
        tree.edits = sorted(edits.get(id(tree), ()))
    return found


def listed_trees(
    asked: Sequence[Asked], tree_of: Mapping[SessionKey, Tree], listing: Mapping[str, Collection[str]]
) -> Listed:
    """Return the trees of the sessions that each commit's checkpoints list."""
    by_name: dict[str, list[Tree]] = {}
    for key in sorted(tree_of):
        by_name.setdefault(key[1], []).append(tree_of[key])
    names = [dict.fromkeys(name for one in each.checkpoints for name in listing.get(one, ())) for each in asked]
    return [list({id(tree): tree for name in some for tree in by_name.get(name, ())}.values()) for some in names]
