"""Lines that agents wrote, as hashes, and the least share of a commit: ``docs/EVIDENCE.md``."""

import posixpath
from array import array
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import NamedTuple, TypeAlias

from scoring.evidence.git.patches import FileLine, line_hash
from scoring.evidence.git.repository import GitRepository
from scoring.evidence.transcripts.edits import (
    apply_change,
    is_absolute,
    is_word,
    path_in,
    word_hashes,
)
from scoring.evidence.transcripts.events import LinesWritten
from scoring.evidence.transcripts.streams import File
from scoring.text import composed

LinesAdded: TypeAlias = Callable[[Collection[str]], Mapping[str, Mapping[FileLine, int]]]
"""Returns how often commits add each significant line, by their SHAs."""

WrittenFile: TypeAlias = tuple[str, str]
"""The folder of the session, and the path that it wrote."""

WrittenLines: TypeAlias = "dict[WrittenFile, array[int]]"
"""The hashes of the lines that are left of what was written to each file."""

SAME_PATCH = 0.9
"""The least share of a commit's lines that a session wrote, where its lines have to prove it."""

LEAST_LINES = 3
"""The fewest lines that can prove it."""

_LEAST_WORDS = 5  # by which work is found again that has no line as it was written
_MOST_OF_WORDS = 0.8


def written_lines(
    files: Iterable[File], wanted: Collection[int], *, words: bool = False
) -> dict[int, WrittenLines]:
    """Return the lines written in some parts that are left at the end of each.

    Args:
        files: the transcripts.
        wanted: the parts in question.
        words: whether their words are returned, in place of the lines.

    Returns:
        The lines by part.
    """
    changes: dict[int, list[tuple[WrittenFile, Sequence[int]]]] = {part: [] for part in wanted}
    for file in files if wanted else ():
        for event in file.events.of(LinesWritten):
            part = file.part(event.line)
            if part in changes:
                path = (file.events.spans[event.span].cwd, file.events.texts[event.path])
                changes[part].append((path, event.hashes))

    return {part: lines_left_by_file(of_part, words) for part, of_part in changes.items()}


def lines_left_by_file(
    changes: Iterable[tuple[WrittenFile, Iterable[int]]], words: bool = False
) -> WrittenLines:
    """Return the lines that are left in each file after some changes, or else their words."""
    left: dict[WrittenFile, Counter[int]] = {}
    for file, hashes in changes:
        kept = (line for line in hashes if is_word(line) == words)
        apply_change(left.setdefault(file, Counter()), kept)
    return {file: array("q", lines.elements()) for file, lines in left.items()}


def least_share(added: Mapping[FileLine, int], written: Iterable[WrittenLines]) -> float | None:
    """Return the share of a commit's added lines that were written.

    Args:
        added: how often the commit adds each significant line.
        written: what was written, by file.

    Returns:
        A share above 0 up to 1; None where none of the lines is known to be written.
    """
    names = _by_last_part({name for name, _ in added})
    lines_of = {name: Counter(lines) for name, lines in _by_file(names, written).items()}

    written_count = 0
    for (name, line), count in added.items():
        if name in lines_of:
            written_count += min(count, lines_of[name][line])
    return written_count / sum(added.values()) if written_count else None


def _by_last_part(names: Iterable[str]) -> Mapping[str, Sequence[str]]:
    by_last_part: dict[str, list[str]] = {}
    for name in sorted(names, key=len):
        by_last_part.setdefault(composed(posixpath.basename(name)), []).append(name)
    return by_last_part


def _by_file(
    names: Mapping[str, Sequence[str]], written: Iterable[WrittenLines]
) -> "dict[str, array[int]]":
    """Return written lines by the file that has them: the longest name that fits the path."""
    lines_of: dict[str, array[int]] = {}
    for lines_written in written:
        for (folder, path), lines in lines_written.items():
            folder, path = composed(folder), composed(path)
            candidates = names.get(posixpath.basename(path), ())
            fitting = [name for name in candidates if _is_file(composed(name), path, folder)]
            if fitting:
                lines_of.setdefault(fitting[-1], array("q")).extend(lines)
    return lines_of


def is_inside(folder: str, path: str, in_repository: Callable[[str], bool]) -> bool:
    """Return whether a path written in a folder of the repository is in the repository.

    Args:
        folder: the folder.
        path: the path, of a file that may be gone.
        in_repository: returns whether a folder is in the repository.
    """
    if not is_absolute(path) or path.startswith(f"{folder}/"):
        return True
    return in_repository(posixpath.dirname(path))


def _is_file(name: str, path: str, folder: str) -> bool:
    """Return whether a path written in a folder is a file of the repository of that folder."""
    if path == name:
        return True
    whole = path_in(folder, path)
    root = whole.removesuffix(f"/{name}")
    return whole != root and f"{folder}/".startswith(f"{root}/")


class Written(NamedTuple):
    """Lines that are looked for in a commit.

    Attributes:
        commit: the commit of the trunk.
        lines: the lines, as they were written.
    """

    commit: str
    lines: WrittenLines


def held_lines(
    repository: GitRepository,
    asked: Sequence[Written],
    names: Iterable[str],
    moves: Iterable[tuple[str, str]],
) -> list[int | None]:
    """Return how many of some lines commits have, by file and text.

    That is None where the content of one of the files is not in this clone.

    Args:
        repository: the repository.
        asked: the lines in question.
        names: all paths that the trunk had.
        moves: the old and the new path of each file that it renamed.
    """
    paths_of = _same_files(moves)
    known = _by_last_part(names)
    wanted = [_by_file(known, [request.lines]) for request in asked]

    files_at: dict[str, list[tuple[int, str]]] = {}  # where in git each file of a request may be
    for index, request in enumerate(asked):
        for name in wanted[index]:
            for path in paths_of.get(name, (name,)):
                files_at.setdefault(f"{request.commit}:{path}", []).append((index, name))

    unread: set[int] = set()
    files_of_blob: dict[str, list[tuple[int, str]]] = {}
    blobs = repository.blob_ids(files_at)
    for location, blob in blobs.items():
        files_of_blob.setdefault(blob, []).extend(files_at[location])
    for location in repository.without_content(set(files_at) - blobs.keys()):
        unread.update(index for index, _ in files_at[location])

    counts: dict[tuple[int, str], Counter[int]] = {}
    with repository.objects() as content:
        for blob, files in files_of_blob.items():
            lines = Counter(map(line_hash, b"".join(content(blob)).split(b"\n")))
            for index, name in files:
                present = counts.setdefault((index, name), Counter())
                present.update({line: lines[line] for line in wanted[index][name]})

    held = [0] * len(asked)
    for (index, name), present in counts.items():
        held[index] += (Counter(wanted[index][name]) & present).total()
    return [None if index in unread else total for index, total in enumerate(held)]


def _same_files(moves: Iterable[tuple[str, str]]) -> dict[str, set[str]]:
    """Return for each renamed file all the paths that it had."""
    paths_of: dict[str, set[str]] = {}
    for old, new in moves:
        paths = paths_of.get(old, {old}) | paths_of.get(new, {new})
        paths_of.update(dict.fromkeys(paths, paths))
    return paths_of


class Rewritten(NamedTuple):
    """Words that are looked for between two commits of the trunk.

    Attributes:
        old: the commit before the work began; "" without one.
        new: the commit in which they are looked for.
        words: the words, as they were written.
    """

    old: str
    new: str
    words: WrittenLines


def are_rewritten(
    repository: GitRepository, asked: Sequence[Rewritten], names: Iterable[str]
) -> list[bool]:
    """Return whether the words of some work came into the same files, as after a formatter.

    Words that a file had before are left out. At least five have to be left, and four fifths of
    them have to be there.

    Args:
        repository: the repository.
        asked: the words in question.
        names: all paths that the trunk had.
    """
    known = _by_last_part(names)
    wanted = [_by_file(known, [request.words]) for request in asked]
    files: set[str] = set()
    for request, words_of in zip(asked, wanted, strict=True):
        files.update(f"{commit}:{name}" for name in words_of for commit in request[:2] if commit)

    words_at: dict[str, set[int]] = {}
    with repository.objects() as content:
        for location, blob in repository.blob_ids(files).items():
            words_at[location] = word_hashes(b"".join(content(blob)).decode("utf-8", "replace"))

    answers = []
    for request, words_of in zip(asked, wanted, strict=True):
        added = 0
        present = 0
        for name, words in words_of.items():
            new = set(words) - words_at.get(f"{request.old}:{name}", set())
            added += len(new)
            present += len(new & words_at.get(f"{request.new}:{name}", set()))
        answers.append(added >= _LEAST_WORDS and present >= _MOST_OF_WORDS * added)
    return answers
