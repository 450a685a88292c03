"""The table of what a foreign input may cost: each row is reached by a hostile input."""

import contextlib
import importlib
import multiprocessing
import re
import resource
import sqlite3
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import NamedTuple

import pytest
from helpers.harness_lines import as_bytes, read, response
from helpers.repos import Repo

from scoring.errors import DaScoreError
from scoring.evidence.git import changes, limits, plain_files, process, starter
from scoring.evidence.git.changes import CommitPair
from scoring.evidence.git.line_history import LineHistory
from scoring.evidence.git.repository import GitRepository
from scoring.evidence.harnesses import discovery, lines
from scoring.evidence.harnesses.sqlite_store import opened_database
from scoring.files import read_file
from scoring.settings_table import read_toml
from scoring.yamlnodes import parse
from scoring.yamlread import Reader, Take, items_of

PAGE = Path(__file__).parents[2] / "docs/TRUST.md"
TABLE = re.search(r"<!-- costs -->\n(.*?)<!-- /costs -->", PAGE.read_text("utf-8"), re.DOTALL)
assert TABLE is not None
ROWS = [
    tuple(cell.strip() for cell in line.strip("|").split("|")) for line in TABLE[1].splitlines()[2:]
]
PLACES = [place.strip("`") for _, _, place, _ in ROWS]

MOST_SECONDS = 10
"""Of processor time, of this process and the processes of git."""

MOST_MEMORY = 500 << 20

SEARCH = "HEAD^{/one}"


class Here(NamedTuple):
    """What an attack works with."""

    folder: Path
    patch: pytest.MonkeyPatch


class Cost(NamedTuple):
    """What an attack cost, in seconds of processor time and bytes, and all that was said."""

    said: str
    seconds: float
    memory: int


Attack = Callable[[Here], str]
ATTACKS: dict[str, Attack] = {}


def reaches(place: str) -> Callable[[Attack], Attack]:
    """Register how an input reaches the bound at a place; it returns all that is said."""

    def register(attack: Attack) -> Attack:
        ATTACKS[place] = attack
        return attack

    return register


def refusal(work: Callable[[], object]) -> str:
    """Return what an input is refused with."""
    with pytest.raises((DaScoreError, OSError, ValueError)) as refused:
        work()
    return str(refused.value)


def bomb(repo: Repo, depth: int) -> CommitPair:
    """Commit a tree of ten folders in ten folders, and so on, which are all the same."""
    base = repo.commit({"a": "b"})
    oid = repo.write("blob", b"x = 1\n")
    mode = "100644"
    kind = "blob"
    for _ in range(depth):
        entries = "".join(f"{mode} {kind} {oid}\td{number}\n" for number in range(10))
        oid = repo.git("mktree", given=entries.encode()).strip()
        mode = "040000"
        kind = "tree"
    commit = repo.git("commit-tree", oid, "-p", base, given=b"feat: many\n").strip()
    return CommitPair(commit, base)


def patch_warnings(repo: Repo, pair: CommitPair) -> str:
    """Return what the history of lines warns of, and check that others are still read."""
    warnings: list[str] = []
    history = LineHistory(GitRepository(repo.path), warn=warnings.append)
    first, patch, last = history.patches(
        [CommitPair(pair.base, ""), pair, CommitPair(repo.commit({"b": "well = 1\n"}), pair.base)]
    )
    assert patch is None
    assert first is not None
    assert last is not None
    assert [file.path for file in last] == ["b"]
    return " ".join(warnings)


def transcript_warnings(folder: Path, data: bytes, name: str = "hostile.jsonl") -> str:
    """Return what is warned of when a transcript is read, and another one that is well."""
    (folder / "well.jsonl").write_bytes(as_bytes([response(1)]))
    (folder / name).write_bytes(data)
    warnings: list[str] = []
    facts, _ = read(folder, warn=warnings.append)
    assert facts[0].turns == 1, "the transcript that is well was not read"
    return " ".join(warnings)


@reaches("scoring.files.SIZE_LIMIT")
def _(here: Here) -> str:
    with open(here.folder / "iter-1.yaml", "wb") as file:
        file.truncate(10 << 30)
    return refusal(lambda: read_file(here.folder / "iter-1.yaml"))


@reaches("scoring.yamlnodes.MAX_DEPTH")
def _(_: Here) -> str:
    return refusal(lambda: parse(b"[" * 1_000_000))


@reaches("scoring.yamlnodes.MOST_EVENTS")
def _(_: Here) -> str:
    return refusal(lambda: parse(b"- x\n" * 4_000_000))


@reaches("scoring.yamlread.Reader")
def _(_: Here) -> str:
    text = "a0: &a0 [x, x, x, x, x, x, x, x, x]\n"
    for number in range(1, 30):
        items = ", ".join([f"*a{number - 1}"] * 9)
        text += f"a{number}: &a{number} [{items}]\n"

    take: Take = Reader.string
    for _level in range(30):
        take = items_of(take)
    node = parse(text.encode())
    assert node is not None
    return refusal(lambda: Reader().struct(node, {"a29": take}))


@reaches("scoring.settings_table.SIZE_LIMIT")
def _(_: Here) -> str:
    return refusal(lambda: read_toml("a = [" + "1," * 1_000_000))


@reaches("scoring.settings_table._MOST_DOTS")
def _(_: Here) -> str:
    return refusal(lambda: read_toml("a." * 20_000 + "a = 1"))


@reaches("scoring.evidence.harnesses.discovery.MOST_FILES")
def _(here: Here) -> str:
    here.patch.setattr(discovery, "MOST_FILES", 500)
    for number in range(501):
        (here.folder / f"{number}.txt").touch()
    warnings: list[str] = []
    read(here.folder, warn=warnings.append)
    (warning,) = warnings
    return warning


@reaches("scoring.evidence.harnesses.lines.LINE_LIMIT")
def _(here: Here) -> str:
    start = as_bytes([response(1)])
    return transcript_warnings(here.folder, start + b'{"a": "' + b"a" * (20 << 20) + b'"}\n')


@reaches("scoring.evidence.harnesses.lines.MOST_LINES")
def _(here: Here) -> str:
    return transcript_warnings(here.folder, b"{}\n" * 3_000_000)


@reaches("scoring.evidence.harnesses.lines.FREE_SECONDS")
def _(here: Here) -> str:
    here.patch.setattr(lines, "FREE_SECONDS", 0.05)
    here.patch.setattr(lines, "SLOWEST", 1 << 50)
    return transcript_warnings(here.folder, as_bytes([response(1)]) * 10_000)


@reaches("scoring.evidence.transcripts.opening.MOST_FRAMES")
def _(here: Here) -> str:
    frame = b"\x50\x2a\x4d\x18\x00\x00\x00\x00"
    return transcript_warnings(here.folder, frame * 200_000, "hostile.jsonl.zst")


@reaches("scoring.evidence.harnesses.sqlite_store._TIME_LIMIT")
def _(here: Here) -> str:
    here.patch.setattr("scoring.evidence.harnesses.sqlite_store._TIME_LIMIT", 0.1)
    with contextlib.closing(sqlite3.connect(here.folder / "a.db")) as database:
        database.execute("CREATE TABLE a (b)")

    def ask() -> None:
        endless = "WITH RECURSIVE r(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM r) SELECT x FROM r"
        with opened_database(here.folder / "a.db") as ask:
            list(ask(f"SELECT count(*) FROM ({endless})"))

    return refusal(ask)


@reaches("scoring.evidence.git.limits.MEMORY_LIMIT")
def _(here: Here) -> str:
    repo = Repo(here.folder / "repo")
    here.patch.setattr(limits, "MEMORY_LIMIT", 64 << 20)
    return patch_warnings(repo, bomb(repo, 20))


@reaches("scoring.evidence.git.limits.SECONDS_WITHOUT_WORD")
def _(here: Here) -> str:
    here.patch.setattr(limits, "SECONDS_WITHOUT_WORD", 0)
    warnings: list[str] = []
    opened = GitRepository(Repo(here.folder / "repo").path)
    opened.time = limits.GitTime()
    opened.time.warn = warnings.append
    opened.run("version")
    (warning,) = warnings
    return warning


@reaches("scoring.evidence.git.limits.SECONDS_TO_LOSE")
def _(here: Here) -> str:
    repo = Repo(here.folder / "repo")
    here.patch.setattr(limits, "MEMORY_LIMIT", 64 << 20)
    here.patch.setattr(limits, "SECONDS_TO_LOSE", 0)
    bombs = bomb(repo, 20)
    well = CommitPair(repo.commit({"b": "well"}), bombs.base)
    warnings: list[str] = []
    opened = GitRepository(repo.path)
    opened.time.warn = warnings.append

    # A commit that git can compare is known, but not after too many that it cannot.
    assert well in changes.changes(opened, [well, bombs])
    assert changes.changes(opened, [well], "--find-renames") == {}
    (warning,) = warnings
    return warning


@reaches("scoring.evidence.git.starter.ANSWER_LIMIT")
def _(here: Here) -> str:
    repo = Repo(here.folder / "repo")
    pair = bomb(repo, 20)
    return refusal(lambda: GitRepository(repo.path).run("ls-tree", "-r", pair.commit))


@reaches("scoring.evidence.git.process.OBJECT_LIMIT")
def _(here: Here) -> str:
    repo = Repo(here.folder / "repo")
    here.patch.setattr(process, "OBJECT_LIMIT", 1 << 20)
    oid = repo.write("blob", b"a" * (2 << 20))
    return refusal(lambda: GitRepository(repo.path).contents([oid]))


@reaches("scoring.evidence.git.process.DEFAULT_TIMEOUT")
def _(here: Here) -> str:
    repo = Repo(here.folder / "repo")
    opened = GitRepository(repo.path)
    here.patch.setattr(process, "DEFAULT_TIMEOUT", 0.2)
    here.patch.setattr(starter.Git, "_command", lambda *_: ["sleep", "60"])
    return refusal(lambda: opened.run("log"))


@reaches("scoring.evidence.git.changes.MOST_CHANGES")
def _(here: Here) -> str:
    repo = Repo(here.folder / "repo")
    here.patch.setattr(changes, "MOST_CHANGES", 500)
    here.patch.setattr("scoring.evidence.git.patches.MOST_CHANGES", 500)
    pair = bomb(repo, 3)
    assert changes.changes(GitRepository(repo.path), [pair]) == {}
    return patch_warnings(repo, pair)


@reaches("scoring.evidence.git.patches._MOST_LINES")
def _(here: Here) -> str:
    repo = Repo(here.folder / "repo")
    base = repo.commit({"a": "b"})
    commit = repo.commit({"a": "line\n" * 1_000_001})
    repo.reset(base)
    return patch_warnings(repo, CommitPair(commit, base))


@reaches("scoring.evidence.git.plain_files.PLAIN_FILES")
def _(here: Here) -> str:
    repo = Repo(here.folder / "repo")
    (repo.path / ".git/info").mkdir(exist_ok=True)
    (repo.path / ".git/info/grafts").write_text(f"{'1' * 40} {'2' * 40}\n" * 50_000)
    return refusal(lambda: GitRepository(repo.path))


@reaches("scoring.evidence.git.plain_files._MOST_INCLUDES")
def _(here: Here) -> str:
    repo = Repo(here.folder / "repo")
    here.patch.setattr(plain_files, "_MOST_INCLUDES", 10)
    with open(repo.path / ".git/config", "a", encoding="utf-8") as file:
        file.write("[include]\n\tpath = config\n" * 50)
    return refusal(lambda: GitRepository(repo.path))


@reaches("scoring.evidence.git.repository.SEARCH_TIMEOUT")
def _(here: Here) -> str:
    repo = Repo(here.folder / "repo")
    sha = repo.commit({"a": "b"}, message="feat: one")
    opened = GitRepository(repo.path)
    assert opened.resolve([SEARCH, "HEAD"]) == {SEARCH: None, "HEAD": sha}
    assert opened.resolve([SEARCH], searches=True) == {SEARCH: sha}

    here.patch.setattr("scoring.evidence.git.repository.SEARCH_TIMEOUT", 0)
    assert opened.resolve([SEARCH, "HEAD"], searches=True) == {SEARCH: None, "HEAD": sha}
    return "nothing"


def test_every_row_is_reached() -> None:
    assert sorted(PLACES) == sorted(ATTACKS)


@pytest.mark.parametrize(("place", "message"), [row[2:] for row in ROWS], ids=PLACES)
def test_a_row_is_reached_and_says_so_soon(place: str, message: str, tmp_path: Path) -> None:
    module, _, name = place.strip("`").rpartition(".")
    assert hasattr(importlib.import_module(module), name)

    # Only a process of its own tells what an attack costs: the peak of the memory of all
    # processes that this one ever started would be that of an earlier test.
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as process:
        cost = process.submit(attack, place.strip("`"), tmp_path).result()

    assert message.split("`")[1] in cost.said
    assert cost.seconds < MOST_SECONDS
    assert cost.memory < MOST_MEMORY


def attack(place: str, folder: Path) -> Cost:
    """Try the attack on a place; the cost is that of this process and of those it started."""
    with pytest.MonkeyPatch.context() as patch:
        said = ATTACKS[place](Here(folder, patch))

    this_process = resource.getrusage(resource.RUSAGE_SELF)
    peak = re.search(r"VmHWM:\s*(\d+) kB", Path("/proc/self/status").read_text("utf-8"))
    assert peak is not None  # ru_maxrss is at least the memory of the process that started this one
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return Cost(
        said,
        seconds=sum(usage.ru_utime + usage.ru_stime for usage in (this_process, children)),
        memory=max(int(peak[1]), children.ru_maxrss) << 10,
    )
