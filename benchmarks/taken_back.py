"""``python -m benchmarks taken-back REPO ...`` asks whether the lines alone find undone work.

Every commit of the trunk without merges is taken for a piece of work. What git's own words say
("This reverts commit SHA") is hidden, and the lines are asked. Printed is, for each repository, how
many of the stated reverts of work with at least five lines of code are found, what else the lines
find that no message says, and what the messages say that the lines do not confirm. With ``--list``
each find without a word is listed, to be read by hand. docs/VALIDITY.md has the figures.
"""

import argparse
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from benchmarks.tables import markdown
from scoring.evidence.git.authorship import AttributedHistory
from scoring.evidence.git.changes import CommitPair
from scoring.evidence.git.commit_names import says_so
from scoring.evidence.git.facts import TrunkWork, Undone
from scoring.evidence.git.followed_lines import DAY, FollowedTrunk
from scoring.evidence.git.inversion import inversion
from scoring.evidence.git.line_history import LineHistory
from scoring.evidence.git.trunk_work import WorkOnTrunk
from scoring.evidence.git.undoing import LEAST_LINES
from scoring.evidence.git.walk import Commit
from scoring.evidence.scopes import is_code

HORIZON_DAYS = 14
_STATED = re.compile(r"This reverts commit ([0-9a-f]{7,64})")


class Repository(NamedTuple):
    """A trunk, and what became of each of its commits when no message is read.

    The lines of those in ``unread`` are not all in this clone.
    """

    name: str
    commits: Mapping[str, Commit]
    history: LineHistory
    undone: Mapping[str, Undone]
    unread: frozenset[str]


def read(
    path: Path, most: int, trunk: str | None, cache_dir: Path | None
) -> Repository:
    """Follow the newest commits of a trunk with all messages hidden."""
    opened = AttributedHistory(path, [], trunk, cache_dir=cache_dir)
    commits = opened.walk
    graph = opened.graph
    followed = FollowedTrunk(opened, (), HORIZON_DAYS)
    followed.commits = {
        sha: commit._replace(subject="", message="") for sha, commit in commits.items()
    }
    asked = [sha for sha in graph.trunk[:most] if len(graph.parents[sha]) == 1]
    works = list(map(TrunkWork, asked))
    on_trunk = WorkOnTrunk(followed)
    fate_of = on_trunk.fates(works)
    undone = {work.commit: became for work, became in on_trunk.find(works).items()}
    unread = frozenset(work.commit for work, fate in fate_of.items() if fate is None)
    return Repository(path.resolve().name, commits, opened.lines, undone, unread)


def stated_reverts(repository: Repository) -> dict[str, str]:
    """Return the work and its revert where git's own words name one commit, within the horizon."""
    stated: dict[str, str] = {}
    for sha in repository.undone:
        named = set(_STATED.findall(repository.commits[sha].message))
        for target in named if len(named) == 1 else ():
            works = [work for work in repository.undone if work.startswith(target)]
            if len(works) == 1 and _is_whole(repository, works[0], sha):
                stated[works[0]] = sha
    return stated


def _is_whole(repository: Repository, work: str, revert: str) -> bool:
    """Return whether a pair is one that the figures are about: in time, and with enough code."""
    seconds = (repository.commits[revert].time or 0) - (
        repository.commits[work].time or 0
    )
    patch = repository.history.patch(
        CommitPair(work, repository.commits[work].parents[0])
    )
    other = repository.history.patch(
        CommitPair(revert, repository.commits[revert].parents[0])
    )
    if patch is None or other is None or work in repository.unread:
        return False
    if seconds > HORIZON_DAYS * DAY:
        return False
    code = inversion(patch, other, is_code)
    return code.added + code.removed >= LEAST_LINES


def undoer(found: Undone) -> str | None:
    """Return the commit that undid some work, whether it is there again or not."""
    if found.taken_back is not None:
        return found.taken_back.by
    return found.came_back.by if found.came_back is not None else None


def without_words(repository: Repository) -> list[tuple[str, Undone]]:
    """Return the work that the lines say was undone by a commit that does not say so."""
    silent = []
    for work, found in repository.undone.items():
        by = undoer(found)
        if by is not None:
            commit = repository.commits[by]
            if not says_so(f"{commit.subject}\n{commit.message}"):
                silent.append((work, found))
    return silent


def row(repository: Repository) -> tuple[str, ...]:
    """Return what is printed of a repository."""
    stated = stated_reverts(repository)
    hits = [
        work for work, by in stated.items() if undoer(repository.undone[work]) == by
    ]
    states = Counter(found.state for found in repository.undone.values())
    share = f"{len(hits)} of {len(stated)}"
    silent = len(without_words(repository))
    return (
        repository.name,
        str(len(repository.undone)),
        share,
        str(states["reverted"]),
        str(states["taken_back"]),
        str(silent),
    )


def main(arguments: Sequence[str]) -> int:
    """Print the table, and with ``--list`` what is found without a word."""
    parser = argparse.ArgumentParser(prog="benchmarks taken-back", description=__doc__)
    parser.add_argument("repositories", nargs="+", type=Path)
    parser.add_argument(
        "--most", type=int, default=5_000, help="how many commits, newest first"
    )
    parser.add_argument("--trunk", help="the branch, where it is not the usual one")
    parser.add_argument(
        "--cache-dir", type=Path, help="where the lines of commits are kept"
    )
    parser.add_argument(
        "--list", action="store_true", help="list what is found without a word"
    )
    options = parser.parse_args(arguments)

    rows = []
    for path in options.repositories:
        repository = read(path, options.most, options.trunk, options.cache_dir)
        rows.append(row(repository))
        for work, found in without_words(repository) if options.list else ():
            by = undoer(found) or ""
            print(
                f"{repository.name} {found.state} {work[:12]} {repository.commits[work].subject!r}"
                f" by {by[:12]} {repository.commits[by].subject!r}"
            )
    head = (
        "repository",
        "commits",
        "stated reverts found",
        "reverted",
        "taken back",
        "no words",
    )
    print(markdown(head, rows))
    return 0
