"""Lines that agents wrote, as hashes, and how much of a commit that is at least (``docs/EVIDENCE.md``)."""

import posixpath
import re
from array import array
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from itertools import islice
from typing import NamedTuple, TypeAlias

from scoring.evidence.git.added_lines import FileLine, line_hash
from scoring.evidence.git.repository import GitRepository
from scoring.evidence.transcripts.rows import WROTE
from scoring.evidence.transcripts.streams import File

Hashes: TypeAlias = tuple[int, ...]
"""Significant lines, as :func:`~scoring.evidence.git.added_lines.line_hash` names them; negative where they go."""
LinesAdded: TypeAlias = Callable[[Collection[str]], Mapping[str, Mapping[FileLine, int]]]
"""Says how often commits add each significant line."""
WrittenLines: TypeAlias = "dict[tuple[str, str], array[int]]"
"""Lines, each as often as it is there, by the folder that a session worked in and the path that it wrote."""

_MOST_DOCUMENTS = 50  # of one command
_PATCHED = re.compile(
    r"(?:^|\\n)\*\*\* (?:(?:Add|Update|Delete) File|Move to): ([^\n\\]+)", re.MULTILINE
)
"""A file that a patch writes; in a program the patch may be a string, where a line break is escaped."""
_FILE = re.compile(r"\*\*\* (?:(Add|Update) File|(Move) to|.*?):? ?(.*)")
_INTO = r"""[ \t]*>{1,2}[ \t]*["']?(?P<%s>[\w./+-]+)["']?"""
_HERE = r"""[ \t]*<<-?[ \t]*["']?(?P<%s>\w+)["']?"""
_DOCUMENT = re.compile(
    rf"\bcat(?:{_INTO % 'to'}{_HERE % 'end'}|{_HERE % 'end2'}{_INTO % 'to2'})[ \t]*\n"
)
_NUMBERED = re.compile(r"^ *\d+(?:→|\t)", re.MULTILINE)  # how a tool shows the lines of a file


def lines_added(new: str, old: str = "") -> Hashes:
    """Return the significant lines that a text has more of than another one, behind those that it has fewer of."""
    return _between(_hashes(old), _hashes(new))


def _between(old: Collection[int], new: Collection[int]) -> Hashes:
    return (*(-line for line in _without(old, new)), *_without(new, old))


def _without(lines: Iterable[int], known: Iterable[int]) -> Hashes:
    """Return lines but for those that are known, each as often as it is there."""
    if not (left := Counter(known)):
        return tuple(lines)
    return tuple(line for line in lines if not left[line] or left.subtract((line,)))


def write_down(lines: Counter[int], change: Iterable[int]) -> None:
    """Bring the lines that were written up to date by an edit: what it takes away of them was written in vain."""
    for line in change:
        if line > 0:
            lines[line] += 1
        elif lines[-line]:
            lines[-line] -= 1


def _hashes(text: str) -> list[int]:
    return [
        found for line in text.encode("utf-8", "replace").split(b"\n") if (found := line_hash(line))
    ]


def paths_patched(patch: str) -> list[str]:
    """Return the files that a patch of the tool ``apply_patch`` writes."""
    return [path.strip() for path in _PATCHED.findall(patch)] if "*** " in patch else []


def lines_patched(patch: str) -> Mapping[str, Hashes]:
    """Return what a patch of the tool ``apply_patch`` changes of lines, by the path that a file has behind it."""
    sides: dict[str, tuple[list[str], list[str]]] = {}
    path = ""
    for line in patch.split("\n"):
        if line.startswith("*** "):
            m = _FILE.match(line)
            kept = sides.pop(path, None) if m and m[2] else None
            path = m[3].strip() if m and (m[1] or m[2]) else ""
            if path:
                sides[path] = kept or ([], [])
        elif path and line[:1] in ("+", "-"):
            sides[path][line[0] == "-"].append(line[1:])
    return {path: lines_added("\n".join(new), "\n".join(old)) for path, (new, old) in sides.items()}


class KnownFiles:
    """What a session last wrote and was shown of files, by path: so it is known what a whole file adds."""

    def __init__(self) -> None:
        self._lines: dict[str, Counter[int]] = {}
        self._shown: dict[str, Callable[[], str]] = {}

    def showed(self, path: str, text: Callable[[], str]) -> None:
        """Note that a tool showed a file, as a text that may have the numbers of its lines."""
        self._shown[path] = text

    def change(self, path: str, lines: Hashes, whole: bool) -> Hashes:
        """Return what an edit changes of a file, by the lines that it changes, or by the ``whole`` of them."""
        known = self._lines.setdefault(path, Counter())
        if whole:
            shown = self._shown.pop(path, None)
            known.update(_hashes(_NUMBERED.sub("", shown())) if shown else ())
            lines = _between(list(known.elements()), lines)
        write_down(known, lines)
        return lines


def lines_of_documents(command: str, written: Sequence[str]) -> dict[str, Hashes]:
    """Return the lines of here-documents that ``cat`` writes to files, which are among those that are ``written``."""
    found: dict[str, Hashes] = {}
    for m in islice(_DOCUMENT.finditer(command), _MOST_DOCUMENTS):
        end = command.find(f"\n{m['end'] or m['end2']}", m.end() - 1)
        to = "/" + (m["to"] or m["to2"])
        path = next((path for path in written if f"/{path}".endswith(to)), "")
        if end >= 0 and path:
            found[path] = (*found.get(path, ()), *lines_added(command[m.end() : end]))
    return found


def written_lines(
    files: Iterable[File], parts: Sequence[int], wanted: Collection[int]
) -> dict[int, WrittenLines]:
    """Return what is left of the lines that were written in some parts, at the end of each, by its number."""
    found: dict[int, WrittenLines] = {part: {} for part in wanted}
    for file in files if wanted else ():
        for span, number, path, *lines in file.rows.tables.get(WROTE, ()):
            n = file.at(number)
            if n >= 0 and file.fresh[n] and (part := parts[file.ids[n]]) in found:
                key = file.rows.spans[span].cwd, file.rows.texts[path]
                found[part].setdefault(key, array("q")).extend(lines)
    for of_it, key in ((one, key) for one in found.values() for key in one):
        left = Counter[int]()
        write_down(left, of_it[key])
        of_it[key] = array("q", left.elements())
    return found


def least_share(added: Mapping[FileLine, int], written: Iterable[WrittenLines]) -> float | None:
    """Return the share of the lines that a commit adds that were written, above 0 to 1; None where none was."""
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
    """Whether a path that was written in a folder of the repository is in the repository, there or gone."""
    return (
        not posixpath.isabs(path)
        or path.startswith(f"{folder}/")
        or in_repository(posixpath.dirname(path))
    )


def _is_file(name: str, path: str, folder: str) -> bool:
    """Whether a path that was written in a folder is a file of the repository that the folder is in."""
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
    """Return how many of some lines commits hold, by file and text; ``names`` are files, one under all it moved to."""
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
