"""The rules that tell whether a commit took some work back.

The lines decide. A message only names candidates, and tells a revert from a removal that does not
say so. The rules and how often each is right: ``docs/VALIDITY.md``, "Taken back".
"""

import re
from collections import Counter
from collections.abc import Iterable
from itertools import chain
from typing import NamedTuple

from scoring.errors import GitError

from .changes import CommitPair
from .followed_lines import Fate, FollowedTrunk
from .inversion import HALF, WHOLE, Inversion, put_back
from .patches import Patch

LEAST_LINES = 5  # lines of code that work changed at least, to be judged without words
_LEAST_PLAIN = 10  # lines that a plain removal took at least
_LEFT = 0.1  # of what was taken, at most this much may stand in its place
# of what was taken, at most this much may a plain removal add elsewhere
_ELSEWHERE = 0.05
_LEAST_RESTORED = 5  # lines restored in the one file that was changed
_LEAST_RUN = 2  # commits that a stale tree undoes at least
_LONGEST_RUN = 50  # commits before a stale tree that are read at most

_SIDE_FILES = re.compile(
    r"(?:^|/)(?:change(?:s|log)[^/]*|history[^/]*|news[^/]*|.*\.lock|.*-lock\.(?:json|yaml)"
    r"|go\.sum|npm-shrinkwrap\.json|.*\.snap|\.changeset/[^/]*)$",
    re.IGNORECASE,
)
"""Lock files, changelogs and snapshots, which change with any commit."""

_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z_0-9]{3,}")
_DEFINITION = re.compile(
    r"\b(?:class|const|def|enum|fn|func|function|interface|let|module|struct|trait|type|val|var)"
    r"\s+(?:\([^)]*\)\s*)?([A-Za-z_]\w+)"
)


class Work(NamedTuple):
    """Some work on the trunk.

    Attributes:
        commit: the commit of the trunk that has all of it.
        also: another SHA by which messages may name it, or "".
        patch: what it changes.
        fate: where its lines went; None where that is not known.
    """

    commit: str
    also: str
    patch: Patch
    fate: Fate | None


class Candidate(NamedTuple):
    """A commit that may have taken some work back.

    Attributes:
        trunk: the trunk that has both.
        work: the work.
        commit: its SHA.
        patch: what it changes; a merge, against the clean merge of its parents.
        names_work: whether its message names the work as what it takes back.
        says_so: whether its message says that it undoes the work, or in any words something.
        all_text: what it inverts of the work.
        code: what it inverts of the code.
    """

    trunk: FollowedTrunk
    work: Work
    commit: str
    patch: Patch
    names_work: bool
    says_so: bool
    all_text: Inversion
    code: Inversion

    def is_taker(self) -> bool:
        """Return whether one of the rules says that it took the work back."""
        if self.names_work and self._inverts_half():
            return True  # rule s

        code = self.code
        is_whole = (
            code.is_whole and self.all_text.share >= HALF and code.lines >= LEAST_LINES
        )
        if not is_whole or not self._undoes_every_file():
            return False
        fate = self.work.fate
        if fate is None or not self._has_taken(fate):
            return False
        if self.all_text.is_exact:
            return True  # rule a

        # rules b1 and b2
        is_removal = self._is_put_back() or self._is_plain_removal(fate)
        if is_removal and self._left_nothing():
            return True
        return self._undoes_run() and not self._defines_again()  # rule b3

    def _inverts_half(self) -> bool:
        """Return whether half of the lines of the work are inverted.

        Of work without lines, as of pictures, half of the files have to be as before.
        """
        if self.all_text.lines:
            return self.all_text.share >= HALF
        files = self.work.patch
        restored = [file for file in files if self._restores(file.path, file.old_blob)]
        return bool(files) and len(restored) >= HALF * len(files)

    def _restores(self, path: str, blob: str) -> bool:
        """Return whether the commit gives a file that it changes the content of a blob."""
        return any(
            file.old_path == path and file.new_blob == blob for file in self.patch
        )

    def _undoes_every_file(self) -> bool:
        """Return whether at least half of the work is undone in each file that it changed.

        Else a commit that only tidies up after some work, as it deletes a script for debugging,
        would pass for its revert. Lock files and the like do not count. A file without lines, such
        as a picture, only has to be changed too.
        """
        touched = {file.old_path for file in self.patch}
        for file in self.work.patch:
            if _SIDE_FILES.search(file.path) or file.same_content:
                continue

            lines = len([*file.added(), *file.removed()])
            undone = self.all_text.taken.get(file.path, Counter()).total()
            undone += self.all_text.restored.get(file.old_path, Counter()).total()
            if undone * 2 < lines or (lines == 0 and file.path not in touched):
                return False
        return True

    def _has_taken(self, fate: Fate) -> bool:
        """Return whether nearly all lines of the work went by the commit, within its horizon."""
        work = self.work.commit
        trunk = self.trunk
        if trunk.graph.introduced[self.commit] < trunk.end(work):
            return False

        between = trunk.graph.since(work, trunk.graph.trunk_index(self.commit) + 1)
        count = put_back(filter(None, trunk.history.patches(between)), self.code.taken)
        if count is None:
            return False
        taken = fate.taken_by[self.commit]
        if taken >= WHOLE * fate.added:
            return True
        share = taken / fate.added
        if self.code.took:
            share += count / self.code.took
        return share >= WHOLE

    def _is_put_back(self) -> bool:
        """Return whether each code file has its content from before the work (rule *b1*)."""
        changed = 0
        most_restored = 0
        for file in self.work.patch:
            if not self.trunk.counts(file.path):
                continue
            if not self._restores(file.path, file.old_blob):
                return False
            if file.status == "M":
                changed += 1
                most_restored = max(most_restored, len(list(file.removed())))
        return changed > 1 or (changed == 1 and most_restored >= _LEAST_RESTORED)

    def _is_plain_removal(self, fate: Fate) -> bool:
        """Return whether it removes the work and does next to nothing else (rule *b2*)."""
        if fate.added < _LEAST_PLAIN:
            return False

        elsewhere = 0
        deleted = set()
        for file in self.patch:
            if file.old_path not in self.code.took_from and not _SIDE_FILES.search(
                file.path
            ):
                elsewhere += len(list(file.added()))
            if file.status == "D":
                deleted.add(file.old_path)
        if elsewhere > _ELSEWHERE * self.code.took:
            return False
        return not any(
            file.status == "M" and file.path in deleted for file in self.work.patch
        )

    def _left_nothing(self) -> bool:
        """Return whether next to nothing came in the place of what it took.

        Neither other lines than the work had removed may have come there, nor the identifiers of
        the work anywhere again. Where git cannot say, something may have.
        """
        change = self.trunk.graph.pair(self.work.commit)
        try:
            removed = self.trunk.history.text_added(
                CommitPair(change.base, change.commit)
            )
            added = self._text_added(self.commit)
            new = _names(_IDENTIFIER, self._text_added(self.work.commit).values())
        except GitError:
            return False

        in_place = Counter[int]()
        for file in self.patch:
            if file.old_path in self.code.took_from:
                in_place.update(file.added())
        for file in self.work.patch:
            in_place.subtract(file.removed())
        if (+in_place).total() > _LEFT * self.code.took:
            return False

        new -= _names(_IDENTIFIER, removed.values())
        for lines in added.values():
            if len(new & _names(_IDENTIFIER, [lines])) > _LEFT * len(new):
                return False
        return True

    def _undoes_run(self) -> bool:
        """Return whether it undoes two or more commits before it, down to the work.

        It undoes every path of them, as a stale tree does.
        """
        graph = self.trunk.graph
        run: list[str] = []
        commit = graph.first_parent(self.commit)
        while commit in self.trunk.commits and len(run) < _LONGEST_RUN:
            run.append(commit)
            if self.work.commit in run and len(run) >= _LEAST_RUN:
                break
            commit = graph.first_parent(commit)
        else:
            return False

        blobs_before = {}
        blobs: dict[str, str] = {}
        for patch in self.trunk.history.patches([graph.pair(commit) for commit in run]):
            if patch is None:
                return False
            blobs = _blobs_after(patch) | blobs
            for file in patch:
                if file.status == "R":
                    blobs_before[file.path] = "0" * len(file.old_blob)
                blobs_before[file.old_path] = file.old_blob
        blobs |= _blobs_after(self.patch)
        return all(blobs.get(path) == blob for path, blob in blobs_before.items())

    def _defines_again(self) -> bool:
        """Return whether it defines again what the work defines. Where git cannot say, it may."""
        try:
            defined = _names(_DEFINITION, self._text_added(self.work.commit).values())
            defined_here = _names(_DEFINITION, self._text_added(self.commit).values())
        except GitError:
            return True
        return len(defined & defined_here) > _LEFT * len(defined)

    def _text_added(self, commit: str) -> dict[str, list[bytes]]:
        """Return the text that a commit adds to its first parent, by file."""
        return self.trunk.history.text_added(self.trunk.graph.pair(commit))


def _blobs_after(patch: Patch) -> dict[str, str]:
    """Return the blobs of the paths that a patch changes; that of a path that is gone is zeros."""
    blobs = {
        file.old_path: "0" * len(file.old_blob) for file in patch if file.status == "R"
    }
    return blobs | {file.path: file.new_blob for file in patch}


def _names(pattern: re.Pattern[str], files: Iterable[Iterable[bytes]]) -> set[str]:
    """Return what a pattern finds in the lines of some files."""
    names = set()
    for line in chain.from_iterable(files):
        names.update(pattern.findall(line.decode("utf-8", "replace")))
    return names
