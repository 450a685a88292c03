"""Lines that agents wrote, as hashes, and the least share of a commit: ``docs/EVIDENCE.md``."""

import posixpath
from array import array
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import NamedTuple, TypeAlias

from scoring.evidence.git.line_history import FileLine, line_hash
from scoring.evidence.git.repository import GitRepository
from scoring.evidence.transcripts.edits import apply_change
from scoring.evidence.transcripts.events import LinesWritten
from scoring.evidence.transcripts.streams import File

LinesAdded: TypeAlias = Callable[[Collection[str]], Mapping[str, Mapping[FileLine, int]]]
"""Says how often commits add each significant line."""
WrittenLines: TypeAlias = "dict[tuple[str, str], array[int]]"
"""Lines with their counts, by the session's folder and the path that it wrote."""


def written_lines(
    files: Iterable[File], parts: Sequence[int], wanted: Collection[int]
) -> dict[int, WrittenLines]:
    """Return the lines written in some parts that are left at the end of each, by number."""
    found: dict[int, WrittenLines] = {part: {} for part in wanted}
    for file in files if wanted else ():
        for event in file.events.of(LinesWritten):
            n = file.at(event.line)
            if n >= 0 and file.fresh[n] and (part := parts[file.ids[n]]) in found:
                key = file.events.spans[event.span].cwd, file.events.texts[event.path]
                found[part].setdefault(key, array("q")).extend(event.hashes)
    for of_it, key in ((one, key) for one in found.values() for key in one):
        left = Counter[int]()
        apply_change(left, of_it[key])
        of_it[key] = array("q", left.elements())
    return found


def least_share(added: Mapping[FileLine, int], written: Iterable[WrittenLines]) -> float | None:
    """Return the share of a commit's added lines that were written, above 0 to 1, or None."""
    names = _by_last_part({name for name, _ in added})
    known = {
        name: Counter(lines)
        for name, lines in _by_file(names, (o for w in written for o in w.items())).items()
    }
    whole = sum(added.values())
    there = sum(
        min(count, known[name][line]) for (name, line), count in added.items() if name in known
    )
    return there / whole if there else None


def _by_last_part(names: Iterable[str]) -> Mapping[str, Sequence[str]]:
    found: dict[str, list[str]] = {}
    for name in sorted(names, key=len):
        found.setdefault(posixpath.basename(name), []).append(name)
    return found


def _by_file(
    names: Mapping[str, Sequence[str]], written: Iterable[tuple[tuple[str, str], "array[int]"]]
) -> "dict[str, array[int]]":
    """Return lines that were written by the longest name of a file that fits where they were."""
    found: dict[str, array[int]] = {}
    for (folder, path), lines in written:
        if fitting := [
            name for name in names.get(posixpath.basename(path), ()) if _is_file(name, path, folder)
        ]:
            found.setdefault(fitting[-1], array("q")).extend(lines)
    return found


def is_inside(folder: str, path: str, in_repository: Callable[[str], bool]) -> bool:
    """Whether a path written in a folder of the repository is in it, existing or deleted."""
    return (
        not posixpath.isabs(path)
        or path.startswith(f"{folder}/")
        or in_repository(posixpath.dirname(path))
    )


def _is_file(name: str, path: str, folder: str) -> bool:
    """Whether a path written in a folder is a file of the repository of that folder."""
    whole = posixpath.join(folder, path)
    root = whole.removesuffix(f"/{name}")
    return path == name or (whole != root and f"{folder}/".startswith(f"{root}/"))


class Written(NamedTuple):
    """The commit of the trunk in which lines are looked for, and the lines as they were written."""

    commit: str
    lines: WrittenLines


def held_lines(
    repository: GitRepository,
    asked: Sequence[Written],
    names: Iterable[str],
    moves: Iterable[tuple[str, str]],
) -> list[int]:
    """Return how many of some lines commits hold, by file and text.

    ``names`` are files, each with all that it moved to.
    """
    alike: dict[str, set[str]] = {}
    for was, path in moves:
        group = alike.get(was, {was}) | alike.get(path, {path})
        alike |= dict.fromkeys(group, group)
    known = _by_last_part(names)
    wanted = [_by_file(known, one.lines.items()) for one in asked]
    places = [
        (f"{one.commit}:{other}", n, name)
        for n, (one, files) in enumerate(zip(asked, wanted, strict=True))
        for name in files
        for other in alike.get(name, (name,))
    ]
    contents = repository.blob_ids(place for place, _, _ in places)
    asking: dict[str, list[tuple[int, str]]] = {}
    for place, n, name in places:
        if place in contents:
            asking.setdefault(contents[place], []).append((n, name))
    there: dict[tuple[int, str], Counter[int]] = {}
    with repository.objects() as content:
        for oid, those in asking.items():
            lines = Counter(map(line_hash, b"".join(content(oid)).split(b"\n")))
            for key in those:
                there.setdefault(key, Counter()).update(
                    {line: lines[line] for line in wanted[key[0]][key[1]]}
                )
    return [
        sum(
            (Counter(lines) & there.get((n, name), Counter())).total()
            for name, lines in files.items()
        )
        for n, files in enumerate(wanted)
    ]
