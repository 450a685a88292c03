"""What undid landed work: reverts, work taken back without a word, and what came back.

The lines decide. A message only names candidates, and tells a revert from a removal that does not
say so. The rules and how often each is right: ``docs/VALIDITY.md``, "Taken back".
"""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Literal, TypeAlias

from scoring.evidence.git.followed_lines import Counts, Fate
from scoring.evidence.git.inversion import HALF, Inversion
from scoring.evidence.git.patches import Patch
from scoring.frozen import Frozen, PlainData

UndoneState: TypeAlias = Literal["landed", "reverted", "taken_back"]

LEAST_LINES = 5  # lines of code that work changed at least, to be judged without words
_LEAST_PLAIN = 10  # lines that a plain removal took at least
_LEFT = 0.1  # of what was taken, at most this much may stand in its place
_ELSEWHERE = 0.05  # of what was taken, at most this much may a plain removal add elsewhere
_LEAST_RESTORED = 5  # lines restored in the one file that was changed
_LEAST_RUN = 2  # commits that a stale tree undoes at least
LONGEST_RUN = 50
"""Commits before a stale tree that are read at most."""

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


class TrunkWork(Frozen):
    """Some work on the trunk.

    Attributes:
        commit: the commit of the trunk that has all of it.
        also: another SHA by which messages may name it, as of the commit before a squash; or "".
    """

    commit: str
    also: str = ""

    @property
    def key(self) -> str:
        """The name under which answers about it are kept."""
        if self.also == self.commit:
            return f"{self.commit} "
        return f"{self.commit} {self.also}"


class TakenBack(Frozen):
    """The commit that took landed work back.

    Attributes:
        by: its SHA.
        lines: how many lines of code it took, or restored where the work only removed lines; of
            work without code, lines of text.
        of: how many of these the work added, or removed.
        seconds: from the work's commit to this one.
        said: whether its message says that it undoes something.
        subject: its subject.
    """

    by: str
    lines: int
    of: int
    seconds: int
    said: bool
    subject: str = ""

    @property
    def days(self) -> float:
        """The time from the work to this commit, in days."""
        return self.seconds / 86_400

    def as_dict(self) -> PlainData:
        """Return plain data, with the time in days."""
        return {
            "by": self.by,
            "lines": self.lines,
            "of": self.of,
            "days": round(self.days, 4),
            "said": self.said,
        }


class CameBack(Frozen):
    """Work that was taken back in ``by`` and is there again since ``back_in``, both SHAs."""

    by: str
    back_in: str


class PartlyReverted(Frozen):
    """Work of which a commit says that it reverts it, and reverts ``lines`` of its ``of`` lines."""

    by: str
    lines: int
    of: int


class Undone(Frozen):
    """Whether landed work is still there, and what happened to it.

    Attributes:
        state: ``landed``, or what undid it: ``reverted`` or ``taken_back``.
        taken_back: the commit that undid it, exactly where it is not ``landed``.
        came_back: where it was undone and is there again.
        partly_reverted: where a commit says that it reverts it, and does so in part.
    """

    state: UndoneState = "landed"
    taken_back: TakenBack | None = None
    came_back: CameBack | None = None
    partly_reverted: PartlyReverted | None = None


STANDS = Undone()
"""Landed work that nothing undid."""


# The rules


def inverts_half(work: Patch, other: Patch, all_text: Inversion) -> bool:
    """Return whether a patch inverts half of the lines of some work.

    Of work without lines, as of pictures, half of the files have to be as before.
    """
    if all_text.lines:
        return all_text.share >= HALF
    restored = [file for file in work if _restores(file.path, file.old_blob, other)]
    return bool(work) and len(restored) >= HALF * len(work)


def _restores(path: str, blob: str, patch: Patch) -> bool:
    return any(file.old_path == path and file.new_blob == blob for file in patch)


def undoes_every_file(work: Patch, other: Patch, all_text: Inversion) -> bool:
    """Return whether at least half of the work is undone in each file that it changed.

    Else a commit that only tidies up after some work, as it deletes a script for debugging, would
    pass for its revert. Lock files and the like do not count.
    """
    touched = {file.old_path for file in other}
    for file in work:
        if _SIDE_FILES.search(file.path) or file.same_content:
            continue

        lines = len([*file.added(), *file.removed()])
        undone = all_text.taken.get(file.path, Counter()).total()
        undone += all_text.restored.get(file.old_path, Counter()).total()
        if undone * 2 < lines or not (lines or file.path in touched):
            return False
    return True


def is_put_back(work: Patch, other: Patch, counts: Counts) -> bool:
    """Return whether each code file has its content from before the work (rule *b1*)."""
    changed = 0
    most_restored = 0
    for file in work:
        if not counts(file.path):
            continue
        if not _restores(file.path, file.old_blob, other):
            return False
        if file.status == "M":
            changed += 1
            most_restored = max(most_restored, len(list(file.removed())))
    return changed >= _LEAST_RUN or (changed == 1 and most_restored >= _LEAST_RESTORED)


def is_plain_removal(work: Patch, fate: Fate, other: Patch, code: Inversion) -> bool:
    """Return whether a patch removes some work and does next to nothing else (rule *b2*)."""
    if fate.added < _LEAST_PLAIN:
        return False

    elsewhere = 0
    for file in other:
        if file.old_path not in code.took_from and not _SIDE_FILES.search(file.path):
            elsewhere += len(list(file.added()))
    if elsewhere > _ELSEWHERE * code.took:
        return False

    only_changed = {file.path for file in work if file.status == "M"}
    return not any(file.status == "D" and file.old_path in only_changed for file in other)


def nothing_in_place(
    work: Patch,
    other: Patch,
    code: Inversion,
    work_identifiers: frozenset[str],
    added_identifiers: Iterable[frozenset[str]],
) -> bool:
    """Return whether next to nothing came in the place of what was taken.

    Neither other lines than the work had removed may have come there, nor the identifiers of the
    work anywhere again.
    """
    in_place = Counter[int]()
    for file in other:
        if file.old_path in code.took_from:
            in_place.update(file.added())
    for file in work:
        in_place.subtract(file.removed())
    if (+in_place).total() > _LEFT * code.took:
        return False

    most = _LEFT * len(work_identifiers)
    return all(len(work_identifiers & added) <= most for added in added_identifiers)


def undoes_run(patch: Patch, run: Sequence[Patch]) -> bool:
    """Return whether a patch undoes every path of a run of commits directly before it (rule *b3*).

    Args:
        patch: what the commit in question changes against its first parent.
        run: what the commits before it change, newest first.
    """
    after = _blobs_after(patch)
    before: dict[str, str] = {}
    latest: dict[str, str] = {}
    for earlier in run:
        latest = _blobs_after(earlier) | latest
        for file in earlier:
            if file.status == "R":
                before[file.path] = "0" * len(file.old_blob)
            before[file.old_path] = file.old_blob

    undone = all(after.get(path, latest.get(path)) == blob for path, blob in before.items())
    return undone and len(run) >= _LEAST_RUN


def _blobs_after(patch: Patch) -> dict[str, str]:
    """Return the blobs of the paths that a patch changes; that of a path that is gone is zeros."""
    blobs = {file.old_path: "0" * len(file.old_blob) for file in patch if file.status == "R"}
    return blobs | {file.path: file.new_blob for file in patch}


def defines_again(work: Iterable[bytes], lines: Iterable[bytes]) -> bool:
    """Return whether some lines define much of what the lines of some work define."""
    defined = _found(_DEFINITION, work)
    return len(defined & _found(_DEFINITION, lines)) > _LEFT * len(defined)


def identifiers(lines: Iterable[bytes]) -> frozenset[str]:
    """Return the identifiers of at least four letters in some lines of code."""
    return _found(_IDENTIFIER, lines)


def _found(pattern: re.Pattern[str], lines: Iterable[bytes]) -> frozenset[str]:
    names: set[str] = set()
    for line in lines:
        names.update(pattern.findall(line.decode("utf-8", "replace")))
    return frozenset(names)
