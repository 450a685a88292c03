"""Which commits of a trunk have the lines of commits off it."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import NamedTuple

from scoring.grouping import lists_by_key
from scoring.text import composed

from .changes import CommitPair
from .facts import LineShare
from .line_history import LineHistory
from .patches import FileLine, Patch, lines_added_by

MOST_READ = 20_000  # trunk commits, the newest ones, that are searched for lines
MOST_LINES = 1_000_000  # different lines that are searched for
_LEAST_DISTINCT = 5  # lines by which alone a commit is found
_MOST_FILES_OF_LINE = 20  # a line in more files does not tell where its file was moved


class CountedLines(NamedTuple):
    """How many lines that a commit adds are added by commits of the trunk too.

    Attributes:
        lines: how many lines the commit adds.
        present: how many of these lines the counted trunk commits together add to the same file.
        by_commit: by trunk commit that counts, how many of the lines it adds to the same file.
        distinct: by trunk commit that counts, how many different ones of the lines it adds there.
        anywhere: how many of the lines any trunk commit adds to any file, counted or not.
    """

    lines: int
    present: int
    by_commit: Counter[str]
    distinct: Counter[str]
    anywhere: int

    def share(self, commit: str) -> LineShare:
        """Return how many of the lines one commit of the trunk has, and how many there are."""
        return LineShare(self.by_commit[commit], self.lines)

    def commits_with_most(self) -> list[str]:
        """Return the trunk commits with nine tenths of the lines, at least five of them different.

        Only trunk commits that count are looked at.
        """
        with_most = []
        for commit, count in self.by_commit.items():
            if (
                count * 10 >= self.lines * 9
                and self.distinct[commit] >= _LEAST_DISTINCT
            ):
                with_most.append(commit)
        return with_most


class TrunkLines:
    """The lines of some commits off the trunk, and which commits of the trunk have the same.

    Attributes:
        lines_wanted: how often each line is in each pair in question; None where the lines are too
            many. A pair that git could not read is missing.
        is_whole: False where git lacks a file of a pair that it read, or could not read a commit of
            the trunk. A pair that is missing or None in ``lines_wanted`` leaves it True.
    """

    def __init__(
        self,
        history: LineHistory,
        wanted: Sequence[CommitPair],
        trunk: Sequence[CommitPair],
    ) -> None:
        """Read lines. A commit that git cannot compare, or a file that it lacks, is left out.

        Args:
            history: the lines of the repository.
            wanted: the pairs in question: commits with their parents, and whole branches, as tips
                with their merge bases.
            trunk: the commits of the trunk, each with its parent.
        """
        self._files: dict[str, str] = {}  # by path, one path for all it was moved to
        self.lines_wanted: dict[CommitPair, Mapping[FileLine, int] | None] = {}
        self.is_whole = True
        self._commits_with = defaultdict[FileLine, Counter[str]](Counter)
        self._files_with = defaultdict[int, set[str]](set)

        keys: set[int] = set()
        for pair, patch in self._read(history, wanted):
            lines = lines_added_by(patch)
            new_keys = {key for _, key in lines} - keys
            if len(keys) + len(new_keys) > MOST_LINES:
                self.lines_wanted[pair] = None
            else:
                self.lines_wanted[pair] = lines
                keys |= new_keys
        if not keys:  # nothing to look for, so the trunk is not read
            return

        keys_of = {}
        for pair, patch in self._read(history, trunk):
            keys_of[pair.commit] = [
                (file.path, list(filter(keys.__contains__, file.added())))
                for file in patch
            ]
        self.is_whole = self.is_whole and len(keys_of) == len(trunk)

        for commit, files in keys_of.items():  # now all moves are known
            for path, added in files:
                file = self._file(path)
                for key in added:
                    self._commits_with[file, key][commit] += 1
                    self._files_with[key].add(file)

    def _read(
        self, history: LineHistory, pairs: Sequence[CommitPair]
    ) -> Iterator[tuple[CommitPair, Patch]]:
        """Yield what changes over the pairs that can be read, and note which files they moved.

        :attr:`is_whole` becomes False where a pair is read in part.
        """
        for pair, readable in zip(pairs, history.readable_patches(pairs), strict=True):
            if readable is not None:
                self.is_whole = self.is_whole and readable.is_whole
                for file in readable.patch:
                    if file.status == "R":
                        self._files[self._file(file.old_path)] = self._file(file.path)
                yield pair, readable.patch

    def may_be_in_one(self, pair: CommitPair) -> bool:
        """Return whether the trunk has nine tenths of a pair's lines at all, in whatever files.

        If not, no commit of the trunk is in :meth:`CountedLines.commits_with_most`. True for a pair
        of which no lines are known.
        """
        wanted = self.lines_wanted.get(pair) or {}
        present = 0
        for (_, key), count in wanted.items():
            if key in self._files_with:
                present += count
        return present * 10 >= sum(wanted.values()) * 9

    def count(
        self, pair: CommitPair, counts: Callable[[str], bool]
    ) -> CountedLines | None:
        """Return how many lines of a pair the trunk has too.

        None where the pair's lines are not known: git could not read the pair, or its lines are
        too many. Trunk commits that git could not read are passed over; see :attr:`is_whole`.

        Args:
            pair: one of the pairs in question.
            counts: returns whether a commit of the trunk counts, by its SHA.
        """
        wanted = self.lines_wanted.get(pair)
        if wanted is None:
            return None

        lines = Counter[FileLine]()
        for (path, key), count in wanted.items():
            lines[self._file(path), key] += count

        moved = self._moved(lines)
        is_counted = cache(counts)
        by_commit = Counter[str]()
        distinct = Counter[str]()
        present = 0
        anywhere = 0
        for (file, key), count in lines.items():
            total = 0
            commits: Mapping[str, int] = self._commits_with.get(
                (moved.get(file, file), key), {}
            )
            for commit, times in commits.items():
                if is_counted(commit):
                    by_commit[commit] += min(times, count)
                    distinct[commit] += 1
                    total += times
            present += min(total, count)
            if key in self._files_with:
                anywhere += count
        return CountedLines(lines.total(), present, by_commit, distinct, anywhere)

    def _file(self, path: str) -> str:
        """Return the one path that is used for a file, and for all that it was moved to or from."""
        path = composed(path)
        while True:
            name = self._files.get(path, path)
            if name == path:
                return path
            self._files[path] = self._files.get(name, name)
            path = self._files[path]

    def _moved(self, lines: Iterable[FileLine]) -> dict[str, str]:
        """Return the new paths of files that moved, by their old paths.

        A file moved if it has less than half of its lines at its own path. Its new path is that of
        the file with most of its different lines, which must have at least half of them, and at
        least five. A file without such a path is left out.
        """
        moved = {}
        for file, keys in lists_by_key(lines).items():
            files_with = [
                self._files_with[key] for key in keys if key in self._files_with
            ]
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
