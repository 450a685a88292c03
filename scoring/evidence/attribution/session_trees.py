"""Sessions with their sub-agents as one line of time: edits in it, and cuts by commits."""

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, TypeAlias

from scoring.evidence.attribution.written import is_inside
from scoring.evidence.transcripts.events import AgentStarted, Edit, FileRemoved
from scoring.evidence.transcripts.facts import NS, NS_MAX, IterationWindow
from scoring.evidence.transcripts.streams import File, Session, SessionCommit, SessionKey

A_SECOND = NS - 1
"""By how much a time may be later than git has it, which keeps whole seconds."""

NO_ITERATION = -1
"""Instead of the index of an iteration: none."""

OTHER_COMMIT = -2
"""Instead of the index of an iteration: a commit that no entry is about."""


class Asked(NamedTuple):
    """What is known of an iteration by which its lines may be found. Times are ns since 1970.

    Attributes:
        iteration: its number.
        commits: the names of its commit, as the entry and git have them.
        landed: the SHAs of its commit and of what it became.
        authored: the author time of its commit; None where it is not known.
        committed: the time of its commit.
        files: the paths that its commit changed.
        session: the id of the session that its entry names.
        checkpoints: the ids of the checkpoints that its commit names.
        window: its window of time.
    """

    iteration: int
    commits: tuple[str, ...]
    landed: tuple[str, ...]
    authored: int | None
    committed: int | None
    files: frozenset[str]
    session: str
    checkpoints: tuple[str, ...]
    window: IterationWindow | None


class Cut(NamedTuple):
    """Where a commit ends a part of a tree.

    Attributes:
        at: how many lines are before it.
        place: the index of the iteration of the commit, or :data:`OTHER_COMMIT`.
        made: what a line shows of the commit; None where no line shows it.
    """

    at: int
    place: int
    made: SessionCommit | None = None


@dataclass(eq=False, slots=True)
class Tree:
    """A session and its sub-agents, with their lines by time.

    Attributes:
        sessions: the keys of the sessions, the root first.
        times: when its lines were written.
        lines: the numbers of its lines among all lines.
        writers: for each line the index of its session.
        files: the files that have lines of it.
        checkpoints: the ids of the checkpoints that have some of it.
        edits: how many lines are before each edit, and before each start of a sub-agent.
        edited: the same for each file that a commit changed.
        cuts: the commits that end its parts.
    """

    sessions: list[SessionKey]
    times: Sequence[int]
    lines: Sequence[int]
    writers: Sequence[int]
    files: list[File]
    checkpoints: frozenset[str]
    edits: list[int] = field(default_factory=list)
    edited: dict[str, list[int]] = field(default_factory=dict)
    cuts: list[Cut] = field(default_factory=list)

    def position(self, time: int, line: int) -> int:
        """Return how many lines are before one of its lines, or -1 for any other line."""
        end = bisect_right(self.times, time)
        at = bisect_left(self.lines, line, bisect_left(self.times, time), end)
        return at if at < end and self.lines[at] == line else -1

    def parts(self) -> "Iterator[SessionPart]":
        """Yield its parts by time. The last one ends at no commit."""
        start = 0
        for cut in self.cuts:
            yield SessionPart(self, start, cut.at, cut)
            start = cut.at
        yield SessionPart(self, start, len(self.lines))


class SessionPart(NamedTuple):
    """Some lines of a tree.

    Attributes:
        tree: the tree.
        start: how many lines are before the first one.
        end: how many lines are before the end.
        cut: the commit that ends it; None without one.
    """

    tree: Tree
    start: int
    end: int
    cut: Cut | None = None

    @property
    def place(self) -> int:
        """The index of the iteration, :data:`OTHER_COMMIT` or :data:`NO_ITERATION`."""
        return self.cut.place if self.cut else NO_ITERATION

    @property
    def made(self) -> SessionCommit | None:
        """The commit that a line shows and at which it ends."""
        return self.cut.made if self.cut else None

    @property
    def lines(self) -> Sequence[int]:
        """The numbers of its lines among all lines."""
        return self.tree.lines[self.start : self.end]

    @property
    def times(self) -> Sequence[int]:
        """When its lines were written."""
        return self.tree.times[self.start : self.end]

    @property
    def edits_nothing(self) -> bool:
        """Whether no file was edited in it, and no sub-agent started that might have."""
        return not self.inside(self.tree.edits)

    def edits_only(self, names: Iterable[str]) -> bool:
        """Return whether files were edited in it, and all of them have one of some names."""
        edits = self.inside(self.tree.edits)
        of_names: set[int] = set()
        for name in names:
            of_names.update(self.inside(self.tree.edited.get(name, ())))
        return bool(edits) and of_names.issuperset(edits)

    def inside(self, positions: Sequence[int]) -> Sequence[int]:
        """Return those of some positions in the tree that are in it."""
        return positions[bisect_left(positions, self.start) : bisect_left(positions, self.end)]

    def reports_until(self, user_times: Sequence[int]) -> int:
        """Return when the report of the commit before it ends: with a text of the user, or an edit.

        Args:
            user_times: when the user wrote, ascending.
        """
        edits = self.inside(self.tree.edits)
        end = self.tree.times[edits[0]] if edits else NS_MAX
        text = bisect_left(user_times, min(self.times, default=NS_MAX))
        return min(end, user_times[text]) if text < len(user_times) else end

    def last_edit(self, name: str) -> int | None:
        """Return when a file was last edited in it, in ns, or None where it was not."""
        edits = self.inside(self.tree.edited.get(name, ()))
        return self.tree.times[edits[-1]] if edits else None

    @property
    def sessions(self) -> list[SessionKey]:
        """The sessions that have some of its lines."""
        writers = sorted(set(self.tree.writers[self.start : self.end]))
        return [self.tree.sessions[writer] for writer in writers]


Listed: TypeAlias = Sequence[Sequence[Tree]]
"""For each iteration, the trees of the sessions in the checkpoints that its commit names."""


def trees_of(
    files: Sequence[File],
    sessions: Mapping[SessionKey, Session],
    recorded: Collection[str],
    name_of: Callable[[str, str], str],
    in_repository: Callable[[str], bool],
) -> dict[SessionKey, Tree]:
    """Return the tree of each session that has lines.

    Args:
        files: the transcripts.
        sessions: the sessions by their keys.
        recorded: the ids of the sessions that checkpoints list, which have trees of their own.
        name_of: returns the changed file that an edited path is, by the path and its folder.
        in_repository: returns whether a folder is in the repository.
    """
    trees = []
    tree_of: dict[SessionKey, Tree] = {}
    for keys in _keys_of_trees(sessions, recorded):
        trees.append(_tree_of(keys, [sessions[key] for key in keys]))
        tree_of.update(dict.fromkeys(keys, trees[-1]))

    _note_edits(files, tree_of, name_of, in_repository)
    for tree in trees:
        tree.edits = sorted(set(tree.edits))
        tree.edited = {name: sorted(set(edits)) for name, edits in tree.edited.items()}
    return tree_of


def _keys_of_trees(
    sessions: Mapping[SessionKey, Session], recorded: Collection[str]
) -> Iterable[list[SessionKey]]:
    """Return the sessions with lines together that have the same first known parent, it first."""
    parent_of: dict[SessionKey, SessionKey] = {}
    for key, session in sessions.items():
        if session.lines:
            parent_of[key] = (key[0], "" if key[1] in recorded else session.parent)

    by_root: dict[SessionKey, list[SessionKey]] = {}
    for key in parent_of:
        root = key
        passed = {key}
        while parent_of[root] in parent_of and parent_of[root] not in passed:
            root = parent_of[root]
            passed.add(root)

        keys = by_root.setdefault(root, [])
        keys.insert(0 if root == key else len(keys), key)
    return by_root.values()


def _tree_of(keys: list[SessionKey], sessions: Sequence[Session]) -> Tree:
    """Return the tree of some sessions, without its edits and cuts."""
    rows: list[tuple[int, int, int]] = []
    for writer, session in enumerate(sessions):
        rows += [(*row, writer) for row in zip(session.times, session.lines, strict=True)]
    rows.sort()

    files = list(dict.fromkeys(file for session in sessions for file in session.files))
    return Tree(
        sessions=keys,
        times=array("q", (time for time, _, _ in rows)),
        lines=array("q", (line for _, line, _ in rows)),
        writers=array("i", (writer for _, _, writer in rows)),
        files=files,
        checkpoints=frozenset(file.checkpoint for file in files if file.checkpoint),
    )


def _note_edits(
    files: Iterable[File],
    tree_of: Mapping[SessionKey, Tree],
    name_of: Callable[[str, str], str],
    in_repository: Callable[[str], bool],
) -> None:
    """Note in trees where files of the repository were edited, and where sub-agents started."""
    names: dict[tuple[str, str], str | None] = {}  # None for a file outside of the repository
    for file in files:
        spans = file.events.spans
        texts = file.events.texts
        events: list[Edit | FileRemoved] = file.events.of(Edit)
        for event in [*events, *file.events.of(FileRemoved)]:
            folder = spans[event.span].cwd
            path = texts[event.path]
            if (folder, path) not in names:
                name = None
                if not folder or is_inside(folder, path, in_repository):
                    name = name_of(path, folder)
                names[folder, path] = name
            name = names[folder, path]
            # What no commit changed may be a file of a build, which is deleted at any time.
            if name or (name == "" and isinstance(event, Edit)):
                _note_edit(file, event.line, name, tree_of)
        for started in file.events.of(AgentStarted):
            _note_edit(file, started.line, "", tree_of)


def _note_edit(file: File, number: int, name: str, tree_of: Mapping[SessionKey, Tree]) -> None:
    """Note an edit of a file in the tree that has its line.

    The name is "" for a file that no commit changed.
    """
    index = file.at(number)
    if index < 0:
        return
    for session in file.sessions:
        tree = tree_of.get((file.harness.name, session))
        at = tree.position(file.times[index], file.ids[index]) if tree else -1
        if tree and at >= 0:
            tree.edits.append(at)
            if name:
                tree.edited.setdefault(name, []).append(at)
            return


class _Change(NamedTuple):
    """A change of a file by the commit of an iteration: the end of its second, and the index."""

    time: int
    iteration: int


class ChangedFiles:
    """Which iterations of a log changed a file when, and which took a session's edits.

    Attributes:
        asked: the iterations.
    """

    def __init__(self, asked: Sequence[Asked]) -> None:
        self.asked = asked
        self._changes: dict[str, list[_Change]] = {}
        for index, question in enumerate(asked):
            if question.authored is None:
                continue
            for name in question.files:
                change = _Change(question.authored + A_SECOND, index)
                self._changes.setdefault(name, []).append(change)
        for changes in self._changes.values():
            changes.sort()

    def pending(self, index: int, part: SessionPart) -> set[str]:
        """Return the files edited in a part that no commit took before that of an iteration."""
        pending = set()
        for name in part.tree.edited:
            edited = part.last_edit(name)
            if edited is None:
                continue
            takers = {change.iteration for change in self._between(name, edited, index)[:2]}
            if takers <= {index} and not self._is_in_amended(name, edited, index, part.tree):
                pending.add(name)
        return pending

    def _is_in_amended(self, name: str, edited: int, index: int, tree: Tree) -> bool:
        """Return whether another commit has an edit that it was amended with.

        Its author time is before the edit. After it come the time of its checkpoint, which holds
        the session, and that of the commit as it is now.
        """
        for change in self._changes[name]:
            if change.time >= edited:
                break
            other = self.asked[change.iteration]
            if change.iteration == index or (other.committed or 0) < edited:
                continue
            for file in tree.files:
                is_listed = file.checkpoint in other.checkpoints
                if is_listed and edited <= (file.stored or 0) <= (other.committed or 0) + A_SECOND:
                    return True
        return False

    def _between(self, name: str, since: int, index: int) -> Sequence[_Change]:
        """Return the changes of a file from a time until the commit of an iteration."""
        changes = self._changes[name]
        end = self.asked[index].authored or 0
        return changes[bisect_left(changes, (since, -1)) : bisect_left(changes, (end, -1))]

    def untaken(self, index: int, part: SessionPart) -> SessionPart:
        """Return a part from the last other commit on that took edits before an iteration's."""
        tree = part.tree
        start = part.start
        for name, edits in tree.edited.items():
            edits_inside = part.inside(edits)
            if not edits_inside:
                continue
            for change in self._between(name, tree.times[edits_inside[0]], index):
                if change.iteration != index:
                    start = max(start, bisect_right(tree.times, change.time))
        return part._replace(start=min(start, part.end))

    def took_from(self, index: int, part: SessionPart) -> bool:
        """Return whether an iteration's commit took an edit of a part, which may end at another.

        Where a part ends at a commit that names the same checkpoint, both took its edits.
        """
        question = self.asked[index]
        checkpoints = self.asked[part.place].checkpoints if part.place >= 0 else ()
        is_own = part.place in (index, NO_ITERATION)
        if is_own or not set(question.checkpoints).isdisjoint(checkpoints):
            return any(part.last_edit(name) is not None for name in question.files)
        return not self.pending(index, part).isdisjoint(question.files)

    def name_of(self, path: str, folder: str) -> str:
        """Return the changed file that a path is, edited from a folder, or "" where it is none."""
        below_folder = path.removeprefix(f"{folder}/")
        if below_folder in self._changes:
            return below_folder

        parts = path.split("/")
        for first in range(len(parts) - 1):
            name = "/".join(parts[first:])
            if name in self._changes:
                return name
        return ""
