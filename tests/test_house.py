"""The shape of the tree: imports go one way, names are unique, and what docstrings cite exists."""

import ast
import functools
import graphlib
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
ARCHITECTURE = (ROOT / "docs" / "ARCHITECTURE.md").read_text("utf-8")

INDENTED_IMPORTS = 160
"""How many imports of our own modules may be in functions or for type checking."""

SHARED_STEMS = {
    "__init__": "a package",
    "__main__": "what python -m runs",
    "model": "that of a rubric and that of an entry",
    "facts": "each kind of evidence states its own, and the one above gathers them",
    "table": "the table of the signals, and the table that views render",
    "entries": "what the reference reads in entries, and the job that writes them",
}
"""Names that several modules may have, and why."""

SHARED_CLASSES: dict[str, str] = {}
"""Names that several public classes may have, and why."""

NO_INPUT = {
    "subprocess",
    "os",
    "io",
    "shutil",
    "tempfile",
    "glob",
    "socket",
    "multiprocessing",
    "scoring.files",
}
"""What a signal does not import: it judges facts, and neither opens a file nor starts a process."""

OPENS = {
    "open",
    "read_text",
    "read_bytes",
    "iterdir",
    "glob",
    "rglob",
    "exists",
    "is_file",
    "is_dir",
    "stat",
}
"""What a signal does not call, for the same reason."""


@dataclass(frozen=True)
class Module:
    """One module of the two packages."""

    name: str
    path: Path
    text: str

    @functools.cached_property
    def tree(self) -> ast.Module:
        return ast.parse(self.text)

    @property
    def place(self) -> str:
        return self.path.relative_to(ROOT).as_posix()

    @property
    def docstring(self) -> str:
        return ast.get_docstring(self.tree) or ""


def read(path: Path) -> Module:
    name = ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(
        ".__init__"
    )
    return Module(name, path, path.read_text("utf-8"))


MODULES = {
    m.name: m
    for m in map(
        read, sorted([*ROOT.glob("scoring/**/*.py"), *ROOT.glob("rubric/**/*.py")])
    )
}


def folder_of(module: Module) -> str:
    """Return the full name of the package that a module is in, or is."""
    if module.path.name == "__init__.py":
        return module.name
    return module.name.rpartition(".")[0]


IMPORT = re.compile(r"^[ \t]*((?:from [\w.]+ )?import (?:\([^)]*\)|.+))", re.M)


def imported(module: Module) -> Iterator[str]:
    """Yield what a module imports, at its top, in a function or for type checking, by full name."""
    package = folder_of(module)
    for node in ast.parse("\n".join(IMPORT.findall(module.text))).body:
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = (
                package.split(".")[: len(package.split(".")) - node.level + 1]
                if node.level
                else []
            )
            base = ".".join([*above, *([node.module] if node.module else [])])
            for alias in node.names:
                whole = f"{base}.{alias.name}"
                yield whole if whole in MODULES else base


@functools.cache
def imports() -> dict[str, set[str]]:
    """Return what each module imports. It takes a while, so it waits until a test asks."""
    return {name: set(imported(module)) for name, module in MODULES.items()}


def listed(faults: Iterable[str]) -> str:
    """Return faults as the message of an assertion, which is not cut off."""
    return "\n".join(["", *faults])


def circle(edges: dict[str, set[str]]) -> list[str]:
    """Return modules that import each other in a circle, in order, or none."""
    others = {
        name: imported & edges.keys() - {name} for name, imported in edges.items()
    }
    try:
        graphlib.TopologicalSorter(others).prepare()
    except graphlib.CycleError as error:
        found: list[str] = error.args[1]
        return found
    return []


# Arrows


def test_a_circle_would_be_noticed() -> None:
    assert set(
        circle({"a": {"b"}, "b": {"c"}, "c": {"b", "elsewhere"}, "d": set()})
    ) == {"b", "c"}
    assert circle({"a": {"a", "b"}, "b": {"elsewhere"}}) == []


def test_no_modules_import_each_other_in_a_circle() -> None:
    assert circle(imports()) == []


@dataclass(frozen=True)
class Part:
    """A row of the table of parts: what belongs to it, and from which parts it imports."""

    paths: tuple[str, ...]
    may_import: frozenset[str]


def parts() -> dict[str, Part]:
    found = re.search(r"<!-- parts -->\n(.*?)<!-- /parts -->", ARCHITECTURE, re.S)
    assert found
    _, _, *lines = found[1].splitlines()
    rows = ([cell.strip() for cell in line.strip("|").split("|")] for line in lines)
    return {
        name: Part(
            tuple(re.findall(r"`([^`]+)`", paths)), frozenset(re.findall(r"\w+", names))
        )
        for name, paths, _, names in rows
    }


PARTS = parts()


def part_of(name: str) -> str | None:
    """Return the part that a module belongs to; None when the page forgets it."""
    place = MODULES[name].place
    owners = {path: part for part, row in PARTS.items() for path in row.paths}
    mine = [
        path
        for path in owners
        if place == path or (path[-1] == "/" and place.startswith(path))
    ]
    return owners[max(mine, key=len)] if mine else None


def test_parts_import_only_parts_above_them() -> None:
    names = list(PARTS)
    for position, (name, part) in enumerate(PARTS.items()):
        assert part.may_import <= set(names[:position]), name


def test_every_module_belongs_to_a_part() -> None:
    assert [
        module.place for module in MODULES.values() if part_of(module.name) is None
    ] == []


def rooms_of(part: str) -> set[str]:
    """Return the parts in the folders of a part, which may be imported where it may."""
    folders = tuple(path for path in PARTS[part].paths if path.endswith("/"))
    return {
        name
        for name, row in PARTS.items()
        if folders and all(path.startswith(folders) for path in row.paths)
    }


def test_the_rooms_of_evidence_are_parts() -> None:
    rooms = {"git", "commands", "transcripts", "harnesses", "attribution", "reference"}
    assert rooms < rooms_of("evidence")


def test_what_is_in_the_own_folder_or_below_is_imported_by_a_relative_name() -> None:
    faults = [
        f"{module.place}: from {node.module}"
        for module in MODULES.values()
        for node in ast.walk(module.tree)
        if isinstance(node, ast.ImportFrom) and not node.level
        if f"{node.module}.".startswith(f"{folder_of(module)}.")
    ]
    assert not faults, listed(faults)


def test_a_module_imports_what_its_part_may() -> None:
    faults = []
    for name in MODULES:
        own = part_of(name)
        if own is None:
            continue
        allowed = {own}.union(*map(rooms_of, PARTS[own].may_import))
        allowed |= PARTS[own].may_import
        for other in sorted(imports()[name] & MODULES.keys()):
            theirs = part_of(other)
            if theirs is not None and theirs not in allowed:
                faults.append(f"{name} ({own}) imports {other} ({theirs})")
    assert not faults, listed(faults)


@pytest.mark.parametrize(
    "name", [name for name in MODULES if name.startswith("scoring.signals.")]
)
def test_a_signal_opens_no_file_and_starts_no_process(name: str) -> None:
    assert sorted(imports()[name] & NO_INPUT) == []
    called = {
        node.func.id if isinstance(node.func, ast.Name) else node.func.attr
        for node in ast.walk(MODULES[name].tree)
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name | ast.Attribute)
    }
    assert sorted(called & OPENS) == []


def test_one_module_starts_processes_of_git() -> None:
    starters = [
        name
        for name in MODULES
        if name.startswith("scoring.evidence.") and "subprocess" in imports()[name]
    ]
    assert len(starters) == 1, starters


# Names


def test_no_two_modules_share_a_name() -> None:
    by_stem: dict[str, list[str]] = defaultdict(list)
    for module in MODULES.values():
        # a command's file has the command's name
        if not module.name.startswith("scoring.cli."):
            by_stem[module.path.stem].append(module.place)
    shared = {
        stem: places
        for stem, places in by_stem.items()
        if len(places) > 1 and stem not in SHARED_STEMS
    }
    assert not shared, listed(
        f"{stem}: {' '.join(places)}" for stem, places in shared.items()
    )


def test_every_name_that_is_listed_as_shared_is_shared() -> None:
    stems = [module.path.stem for module in MODULES.values()]
    assert [
        stem for stem in SHARED_STEMS if stem != "__main__" and stems.count(stem) < 2
    ] == []


def test_no_two_public_classes_share_a_name() -> None:
    by_name: dict[str, list[str]] = defaultdict(list)
    for module in MODULES.values():
        for name in re.findall(r"^class ([^\W_]\w*)", module.text, re.M):
            if name not in SHARED_CLASSES:
                by_name[name].append(module.place)
    shared = {name: places for name, places in by_name.items() if len(places) > 1}
    assert not shared, listed(
        f"{name}: {' '.join(places)}" for name, places in shared.items()
    )


OWN_IMPORT = re.compile(
    r"^[ \t]+(?:from (?:scoring|rubric)[. ]|import (?:scoring|rubric))", re.M
)


def test_few_imports_of_our_own_modules_are_not_at_the_top() -> None:
    found = {
        module.place: len(OWN_IMPORT.findall(module.text))
        for module in MODULES.values()
    }
    assert sum(found.values()) <= INDENTED_IMPORTS, listed(
        f"{place}: {n}" for place, n in found.items() if n
    )


# Text

MOST_COLUMNS = 100
PYTHON_FOLDERS = ("scoring", "rubric", "tests", "benchmarks")


def test_no_line_has_more_than_100_columns() -> None:
    faults = []
    for folder in PYTHON_FOLDERS:
        for path in sorted((ROOT / folder).rglob("*.py")):
            for number, line in enumerate(
                path.read_text("utf-8").splitlines(), start=1
            ):
                if len(line) > MOST_COLUMNS:
                    faults.append(
                        f"{path.relative_to(ROOT)}:{number} has {len(line)} columns"
                    )
    assert not faults, listed(faults)


# What is cited

SOURCES = sorted(
    [
        *(m.path for m in MODULES.values()),
        *ROOT.glob("tests/**/*.py"),
        *ROOT.glob("benchmarks/**/*.py"),
    ]
)
CITATION = re.compile(
    r'(docs/\w+\.md)`*,?\s+(?:under\s+)?"([^"]+)"((?:,?\s+(?:and\s+)?"[^"]+")*)'
)
SECTION = re.compile(
    r"contract(?:'s)? section|\((?:contract )?sections? \d[\d. and]*\)"
)


def headings(page: str) -> set[str]:
    if not (ROOT / page).is_file():
        return set()
    text = re.sub(
        r"^```.*?^```$", "", (ROOT / page).read_text("utf-8"), flags=re.M | re.S
    )
    return {title.strip("`") for title in re.findall(r"^#+ (.+)$", text, re.M)}


def flat(path: Path) -> str:
    """Return the text of a file with its lines joined, because a citation may have two lines."""
    return re.sub(r"\n\s*(?:# ?)?", " ", path.read_text("utf-8"))


def test_nothing_cites_a_document_that_is_not_here() -> None:
    faults = [
        f"{path.relative_to(ROOT)}: {cited}"
        for path in SOURCES
        if path != Path(__file__)
        for text in [flat(path)]
        for cited in [
            *SECTION.findall(text),
            *(
                page
                for page in re.findall(r"\bdocs/[A-Z_]+\.md", text)
                if not (ROOT / page).is_file()
            ),
        ]
    ]
    assert not faults, listed(faults)


def test_a_heading_that_is_cited_is_on_its_page() -> None:
    faults = [
        f'{path.relative_to(ROOT)}: {page}, "{cited}"'
        for path in SOURCES
        if path != Path(__file__)
        for page, title, more in CITATION.findall(flat(path))
        for cited in [title, *re.findall(r'"([^"]+)"', more)]
        if cited.strip("`") not in headings(page)
    ]
    assert not faults, listed(faults)


def test_a_citation_is_recognized() -> None:
    text = (
        'see ``docs/EVIDENCE.md``, "Landing" and "Reverts", or docs/LOG.md, "Entries"'
    )
    assert [(page, title) for page, title, _ in CITATION.findall(text)] == [
        ("docs/EVIDENCE.md", "Landing"),
        ("docs/LOG.md", "Entries"),
    ]
    assert '"Reverts"' in CITATION.findall(text)[0][2]
