"""What just-in-time defect prediction looks at, for the commits of a repository.

For :mod:`benchmarks.foretelling`. Size, spread, and what came before, as Kamei and others have them
(*A large-scale empirical study of just-in-time quality assurance*, 2013); earlier fixes (Graves and
others, 2000); indentation as a measure of how complicated code is (Hindle and others, 2008); the
hour (Eyolfson and others, 2011); and how old the lines are that a commit replaces. Nothing looks
beyond the commit itself.
"""

import math
import re
import statistics
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import PurePosixPath

from scoring.evidence.git.repository import GitRepository
from scoring.evidence.git.starter import as_text
from scoring.evidence.scopes import is_code
from scoring.outcomes.outcome import DAY

_YEAR = 365 * DAY
_LOG = (
    "log",
    "--reverse",
    "--topo-order",
    "--no-merges",
    "--no-renames",
    "--unified=0",
    "-p",
    "--no-color",
)
_FORMAT = "--format=%x00%H%x01%P%x01%ct%x01%ae%x01%B%x01"
_HUNK = re.compile(r"@@ -(\d+)(?:,(\d+))? \+\d+(?:,\d+)? @@")
_BRANCHES = re.compile(r"\b(?:if|for|while|switch|case|select|except|catch|elif)\b")
_COMMENT = re.compile(r"\s*(?://|#|\*|/\*)")
_DEBT = re.compile(r"\b(?:TODO|FIXME|XXX|HACK|workaround)\b", re.IGNORECASE)
_REVIEW = re.compile(
    r"\b(?:review|feedback|address(?:es|ed)?|comments?|nits?)\b", re.IGNORECASE
)


@dataclass
class Change:
    """What a commit did to one file: added lines, number of removed lines, and where those were."""

    path: str
    added: list[str] = field(default_factory=list)
    removed: int = 0
    places: list[tuple[int, int]] = field(default_factory=list)


@dataclass(frozen=True)
class Commit:
    """A commit, as the log has it. ``time`` is in seconds since 1970."""

    sha: str
    parents: tuple[str, ...]
    time: int
    author: str
    message: str
    changes: tuple[Change, ...]

    @property
    def subject(self) -> str:
        """The first line of its message."""
        return self.message.partition("\n")[0]


def commits(repository: GitRepository) -> Iterator[Commit]:
    """Yield the commits that are no merges, parents first."""
    text = as_text(repository.run(*_LOG, _FORMAT))
    for block in re.split(r"\0(?=[0-9a-f]{40}\x01)", text)[1:]:
        sha, parents, time, author, message, patch = block.split("\x01", 5)
        yield Commit(
            sha,
            tuple(parents.split()),
            int(time),
            author,
            message.strip(),
            tuple(_changes(patch)),
        )


def _changes(patch: str) -> Iterator[Change]:
    for part in re.split(r"^diff --git ", patch, flags=re.MULTILINE)[1:]:
        head, *lines = part.split("\n")
        change = Change(head.rpartition(" b/")[2].rstrip('"'))
        inside = False
        for line in lines:
            if m := _HUNK.match(line):
                inside, count = True, int(m[2] or 1)
                if count:
                    change.places.append((int(m[1]), count))
            elif inside and line[:1] == "+":
                change.added.append(line[1:])
            elif inside and line[:1] == "-":
                change.removed += 1
        yield change


@dataclass
class _Past:
    """What came before a commit."""

    touched: dict[str, list[int]] = field(default_factory=lambda: defaultdict(list))
    by: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    fixes: dict[str, list[int]] = field(default_factory=lambda: defaultdict(list))
    authors: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))
    sizes: Counter[str] = field(default_factory=Counter)
    work: dict[str, list[int]] = field(default_factory=lambda: defaultdict(list))
    places: Counter[tuple[str, str]] = field(default_factory=Counter)
    together: dict[str, Counter[str]] = field(
        default_factory=lambda: defaultdict(Counter)
    )

    def take(self, commit: Commit, fix: bool) -> None:
        paths = [change.path for change in commit.changes]
        for change in commit.changes:
            path = change.path
            self.touched[path].append(commit.time)
            self.by[path].append(commit.sha)
            self.authors[path].add(commit.author)
            self.sizes[path] = max(
                0, self.sizes[path] + len(change.added) - change.removed
            )
            if fix:
                self.fixes[path].append(commit.time)
            if len(paths) <= 30:
                self.together[path].update(other for other in paths if other != path)
        self.work[commit.author].append(commit.time)
        self.places.update(
            (commit.author, folder) for folder in {_folder(path) for path in paths}
        )


def history(
    repository: GitRepository, wanted: Iterable[str], is_fix: Callable[[str], bool]
) -> dict[str, dict[str, float | None]]:
    """Return the candidates of the commits that are ``wanted``."""
    past, asked = _Past(), set(wanted)
    found: dict[str, dict[str, float | None]] = {}
    branches = _branches(repository)
    before: dict[str, Commit] = {}
    for commit in commits(repository):
        before[commit.sha] = commit
        if commit.sha in asked:
            found[commit.sha] = {
                **_size(commit, past),
                **_before(commit, past),
                **_author(commit, past),
                **_text(commit, is_fix),
                **_ages(repository, commit),
                **_branch(
                    commit,
                    [
                        before[sha]
                        for sha in branches.get(commit.sha, ())
                        if sha in before
                    ],
                ),
            }
        past.take(commit, is_fix(commit.subject))
    return found


def _size(commit: Commit, past: _Past) -> dict[str, float | None]:
    paths = [change.path for change in commit.changes]
    sizes = [len(change.added) + change.removed for change in commit.changes]
    whole = sum(sizes)
    entropy = -math.fsum(
        size / whole * math.log2(size / whole) for size in sizes if size
    )
    added, removed = (
        sum(len(change.added) for change in commit.changes),
        sum(c.removed for c in commit.changes),
    )
    before = [past.sizes[path] for path in paths]
    tests = sum(
        len(change.added) for change in commit.changes if "test" in change.path.lower()
    )
    return {
        "files": float(len(paths)),
        "folders": float(len(set(map(_folder, paths)))),
        "subsystems": float(len({path.partition("/")[0] for path in paths})),
        "entropy of the change": entropy,
        "entropy, as a share of the most": entropy / math.log2(len(paths))
        if len(paths) > 1
        else 0.0,
        "lines removed": float(removed),
        "lines removed per line added": removed / max(added, 1),
        "lines of its files before": float(sum(before)),
        "lines per file before": statistics.fmean(before) if before else 0.0,
        "lines added per line before": added / max(sum(before), 1),
        "share of new files": sum(not past.touched[path] for path in paths)
        / max(len(paths), 1),
        "share of test files": sum("test" in path.lower() for path in paths)
        / max(len(paths), 1),
        "share of added lines in tests": tests / max(added, 1),
        "changes code and no test": float(tests == 0),
        "share of added lines in documents": sum(
            len(c.added) for c in commit.changes if not is_code(c.path)
        )
        / max(added, 1),
    }


def _before(commit: Commit, past: _Past) -> dict[str, float | None]:
    paths, now = (
        [change.path for change in commit.changes if is_code(change.path)],
        commit.time,
    )
    touched = [past.touched[path] for path in paths]
    ages = [(now - times[-1]) / DAY for times in touched if times]
    fixes = [time for path in paths for time in past.fixes[path]]
    changes = sum(map(len, touched))
    usual = {
        other
        for path in paths
        for other, n in past.together[path].items()
        if n >= max(2, len(past.by[path]) / 2)
    }
    return {
        "changes of its files before": float(changes),
        "of these in 30 days": float(
            sum(now - time < 30 * DAY for times in touched for time in times)
        ),
        "of these in 3 days": float(
            sum(now - time < 3 * DAY for times in touched for time in times)
        ),
        "changes per file before": changes / max(len(paths), 1),
        "distinct commits that last changed its files": float(
            len({past.by[path][-1] for path in paths if past.by[path]})
        ),
        "days since its files were touched": statistics.fmean(ages) if ages else 0.0,
        "days since the newest of its files was touched": min(ages, default=0.0),
        "people who changed its files": float(
            len({name for path in paths for name in past.authors[path]})
        ),
        "fixes of its files before": float(len(fixes)),
        "fixes of its files in 14 days": float(
            sum(now - time < 14 * DAY for time in fixes)
        ),
        "share of fixes among the changes before": len(fixes) / changes
        if changes
        else 0.0,
        "files that usually change with these and did not": float(
            len(usual - {c.path for c in commit.changes})
        ),
    }


def _author(commit: Commit, past: _Past) -> dict[str, float | None]:
    work = past.work[commit.author]
    folders = {_folder(change.path) for change in commit.changes}
    return {
        "commits of its author before": float(len(work)),
        "recent commits of its author": math.fsum(
            1 / (1 + (commit.time - time) / _YEAR) for time in work
        ),
        "of these in 7 days": float(sum(commit.time - time < 7 * DAY for time in work)),
        "commits of its author in its folders": float(
            sum(past.places[commit.author, name] for name in folders)
        ),
        "hours since its author's last commit": (commit.time - work[-1]) / 3600
        if work
        else None,
        "hour of the day, UTC": commit.time % DAY / 3600,
        "weekend": float((commit.time // DAY + 3) % 7 >= 5),
    }


def _text(commit: Commit, is_fix: Callable[[str], bool]) -> dict[str, float | None]:
    lines = [
        line
        for change in commit.changes
        if is_code(change.path)
        for line in change.added
        if line.strip()
    ]
    depths = [
        (len(wide := line.expandtabs(4)) - len(wide.lstrip())) / 4 for line in lines
    ]
    count = max(len(lines), 1)
    body = [
        line
        for line in commit.message.split("\n")[1:]
        if line.strip() and not re.match(r"[\w-]+: ", line)
    ]
    return {
        "is a fix itself": float(is_fix(commit.subject)),
        "is a round of review": float(_REVIEW.search(commit.subject) is not None),
        "length of the subject": float(len(commit.subject)),
        "lines of the message": float(len(body)),
        "mean indentation of added lines": statistics.fmean(depths) if depths else 0.0,
        "deepest indentation of added lines": max(depths, default=0.0),
        "branches per added line": sum(bool(_BRANCHES.search(line)) for line in lines)
        / count,
        "comments, share of added lines": sum(
            bool(_COMMENT.match(line)) for line in lines
        )
        / count,
        "debt that it admits, lines": float(
            sum(bool(_DEBT.search(line)) for line in lines)
        ),
        "mean length of added lines": statistics.fmean(
            [len(line.strip()) for line in lines]
        )
        if lines
        else 0.0,
    }


def _ages(repository: GitRepository, commit: Commit) -> dict[str, float | None]:
    """Return how old the lines of code are that a commit replaces, and whose."""
    ages: list[float] = []
    own = 0
    sources: set[str] = set()
    for change in commit.changes:
        if not commit.parents or not change.places or not is_code(change.path):
            continue
        ranges = (f"-L{first},+{count}" for first, count in change.places)
        answer = repository.ask(
            "blame",
            "-w",
            "--line-porcelain",
            *ranges,
            commit.parents[0],
            "--",
            change.path,
        )
        for line in as_text(answer.stdout).split("\n"):
            if line.startswith("committer-time "):
                ages.append((commit.time - int(line[15:])) / DAY)
            elif line.startswith("author-mail "):
                own += line[13:-1] == commit.author
            elif re.match(r"[0-9a-f]{40} ", line):
                sources.add(line[:40])
    young = sum(age < 3 for age in ages)
    return {
        "median age of replaced lines, days": statistics.median(ages) if ages else None,
        "replaced lines younger than 3 days, share": young / len(ages)
        if ages
        else None,
        "replaced lines of its own author, share": own / len(ages) if ages else None,
        "commits whose lines it replaces": float(len(sources)),
    }


def _branches(repository: GitRepository) -> dict[str, list[str]]:
    """Return, for each commit that a merge brought in, the earlier ones of the same merge."""
    found: dict[str, list[str]] = {}
    for line in as_text(
        repository.run(
            "rev-list", "--first-parent", "--min-parents=2", "--parents", "HEAD"
        )
    ).split("\n"):
        for side in line.split()[2:]:
            order = (
                "rev-list",
                "--reverse",
                "--topo-order",
                "--no-merges",
                f"{line.split()[1]}..{side}",
                "--",
            )
            brought = as_text(repository.run(*order)).split()
            found.update((sha, brought[:n]) for n, sha in enumerate(brought))
    return found


def _branch(commit: Commit, earlier: Sequence[Commit]) -> dict[str, float | None]:
    own = {change.path for change in commit.changes}
    return {
        "commits of its branch before": float(len(earlier)),
        "of these on its files": float(
            sum(any(c.path in own for c in one.changes) for one in earlier)
        ),
        "rounds of review on its branch before": float(
            sum(bool(_REVIEW.search(one.subject)) for one in earlier)
        ),
    }


def files_of(repository: GitRepository, wanted: Iterable[str]) -> dict[str, list[str]]:
    """Return of each of some commits the files that it changed."""
    asked = set(wanted)
    return {
        c.sha: [change.path for change in c.changes]
        for c in commits(repository)
        if c.sha in asked
    }


def texts(
    repository: GitRepository, wanted: Iterable[str]
) -> dict[str, tuple[str, str]]:
    """Return of each of some commits its message, and the lines of code that it added."""
    asked = set(wanted)
    return {
        commit.sha: (
            commit.message,
            "\n".join(
                line
                for change in commit.changes
                if is_code(change.path)
                for line in change.added
            ),
        )
        for commit in commits(repository)
        if commit.sha in asked
    }


def _folder(path: str) -> str:
    return str(PurePosixPath(path).parent)
