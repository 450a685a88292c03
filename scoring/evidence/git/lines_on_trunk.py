"""Which commits of a trunk have the lines of commits off it."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from typing import NamedTuple

from scoring.evidence.git.changes import CommitPair
from scoring.evidence.git.line_history import LineHistory
from scoring.evidence.git.patches import FileLine, Patch, lines_added, lines_removed, moves
from scoring.text import composed

MOST_READ = 20_000  # trunk commits, newest first, that are searched for lines
MOST_LINES = 1_000_000  # different lines that are searched for
_LEAST_DISTINCT = 5  # lines by which alone a commit is found
_MOST_FILES_OF_LINE = 20  # a line in more files does not tell where its file was moved


class CountedLines(NamedTuple):
    """How many lines of a commit the trunk has.

    Attributes:
        lines: how many lines the commit adds, or removes.
        present: how many of them any commits of the trunk do too.
        by_commit: by commit of the trunk, how many of them it does.
        distinct: by commit of the trunk, how many different ones of them it does.
        anywhere: how many of them are done in any file at all.
    """

    lines: int
    present: int
    by_commit: Mapping[str, int]
    distinct: Mapping[str, int]
    anywhere: int

    def commits_with_most(self) -> list[str]:
        """Return the commits that have nine tenths of the lines, and enough different ones."""
        with_most = []
        for commit, count in self.by_commit.items():
            if count * 10 >= self.lines * 9 and self.distinct[commit] >= _LEAST_DISTINCT:
                with_most.append(commit)
        return with_most


class LinesOf(NamedTuple):
    """The lines of one commit, or side, off the trunk.

    ``is_cut`` is set where there are too many.
    """

    lines: Mapping[FileLine, int]
    is_cut: bool


class TrunkLines:
    """The lines of some commits off the trunk, and which commits of the trunk have the same."""

    def __init__(
        self,
        history: LineHistory,
        own: Sequence[CommitPair],
        sides: Sequence[CommitPair],
        trunk: Sequence[CommitPair],
        *,
        removed: bool = False,
    ) -> None:
        """Read lines. A commit that git cannot compare, or a file that it lacks, is left out.

        Args:
            history: the lines of the repository.
            own: the commits in question, each with its parent.
            sides: whole branches, each tip with its merge base.
            trunk: the commits of the trunk, each with its parent.
            removed: whether lines that are removed are compared, in place of those added.
        """
        self._count = lines_removed if removed else lines_added
        self._files: dict[str, str] = {}  # by path, one path for all it was moved to
        self._wanted: set[int] = set()
        self.is_whole = True
        self.own = self._read(history, own)
        self.sides = self._read(history, sides)

        self._commits_with: dict[FileLine, dict[str, int]] = {}
        self._files_with: dict[int, set[str]] = {}
        self._read_trunk(history, trunk)

    def _read(self, history: LineHistory, pairs: Sequence[CommitPair]) -> dict[str, LinesOf]:
        """Return the lines of some commits, and want them. Past a limit no more are wanted."""
        lines_of: dict[str, LinesOf] = {}
        for pair, readable in zip(pairs, history.readable_patches(pairs), strict=True):
            if readable is None:
                continue
            self.is_whole = self.is_whole and readable.is_whole
            self._note_moves(readable.patch)
            lines = self._count(readable.patch)
            keys = {key for _, key in lines}
            is_cut = len(self._wanted | keys) > MOST_LINES
            if not is_cut:
                self._wanted |= keys
            lines_of[pair.commit] = LinesOf(lines, is_cut)
        return lines_of

    def _read_trunk(self, history: LineHistory, pairs: Sequence[CommitPair]) -> None:
        """Read the wanted lines of the trunk."""
        if not self._wanted:
            return

        lines_of: dict[str, Counter[FileLine]] = {}
        for pair, readable in zip(pairs, history.readable_patches(pairs), strict=True):
            if readable is None or not readable.is_whole:
                self.is_whole = False
            if readable is None:
                continue
            self._note_moves(readable.patch)
            wanted = Counter[FileLine]()
            for line, count in self._count(readable.patch).items():
                if line[1] in self._wanted:
                    wanted[line] = count
            lines_of[pair.commit] = wanted

        for commit, lines in lines_of.items():  # now all moves are known
            for (path, key), count in lines.items():
                file = self._file(path)
                commits = self._commits_with.setdefault((file, key), {})
                commits[commit] = commits.get(commit, 0) + count
                self._files_with.setdefault(key, set()).add(file)

    def count(self, own: LinesOf | None, counts: Callable[[str], bool]) -> CountedLines | None:
        """Return which of some lines the commits of the trunk have that ``counts`` accepts.

        None where the lines are not known.
        """
        if own is None or own.is_cut:
            return None

        lines = Counter[FileLine]()
        for (path, key), count in own.lines.items():
            lines[self._file(path), key] += count

        moved = self._moved(lines)
        is_counted = cache(counts)
        by_commit = Counter[str]()
        distinct = Counter[str]()
        present = 0
        anywhere = 0
        for (file, key), count in lines.items():
            total = 0
            commits = self._commits_with.get((moved.get(file, file), key), {})
            for commit, times in commits.items():
                if is_counted(commit):
                    by_commit[commit] += min(times, count)
                    distinct[commit] += 1
                    total += times
            present += min(total, count)
            if key in self._files_with:
                anywhere += count
        return CountedLines(lines.total(), present, by_commit, distinct, anywhere)

    def _note_moves(self, patch: Patch) -> None:
        for old_path, path in moves(patch):
            self._files[self._file(old_path)] = self._file(path)

    def _file(self, path: str) -> str:
        """Return the one path for a file and all that it was moved to, or from."""
        path = composed(path)
        while True:
            name = self._files.get(path, path)
            if name == path:
                return path
            self._files[path] = self._files.get(name, name)
            path = self._files[path]

    def _moved(self, lines: Iterable[FileLine]) -> dict[str, str]:
        """Return the new files of those with few of their lines on the trunk.

        A new file has at least half of the lines.
        """
        keys_of = defaultdict[str, list[int]](list)
        for file, key in lines:
            keys_of[file].append(key)

        moved: dict[str, str] = {}
        for file, keys in keys_of.items():
            files_with = [self._files_with[key] for key in keys if key in self._files_with]
            at_home = sum(file in files for files in files_with)
            if at_home * 2 >= len(keys):
                continue
            candidates = Counter[str]()
            for files in files_with:
                if len(files) <= _MOST_FILES_OF_LINE:
                    candidates.update(files)
            for other, count in candidates.most_common(1):
                if count >= max(_LEAST_DISTINCT, len(keys) / 2):
                    moved[file] = other
        return moved
