"""What git says of commits beside landing, as who wrote them (``agents.toml``); long, as it answers all of that."""

import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import date, timedelta
from fnmatch import translate
from functools import cache, cached_property
from itertools import accumulate, islice
from operator import neg
from pathlib import Path
from typing import Any, NamedTuple

from scoring.evidence.git.added_lines import FileLine, added_lines, line_hash
from scoring.evidence.git.changes import CommitPair, changes, net_changes
from scoring.evidence.git.checkpoints import checkpoint_ids
from scoring.evidence.git.commit_names import without_number
from scoring.evidence.git.facts import PART, Landing, Unknown
from scoring.evidence.git.history import TrunkHistory
from scoring.evidence.git.landed_lines import HORIZON, AttributedLandings
from scoring.evidence.git.repository import GitRepository, ask_in_batches
from scoring.evidence.git.starter import as_lines, as_text
from scoring.evidence.git.walk import Commit, lines_off_trunk
from scoring.log.model import IterationRecord
from scoring.text import fold, trim

MOST_ASKED = 2000  # commits that sessions made and that are looked for on the trunk by their change
_DAY = timedelta(days=1)
AGENTS = Path(__file__).parent / "agents.toml"

_SIZES = ("diff-tree", "--stdin", "--root", "-r", "-M", "--numstat", "--diff-merges=first-parent")
_AUTHORS = ("log", "--no-walk=unsorted", "--stdin", "--format=%H%x00%an%x00%ae")
_COAUTHOR = "co-authored-by:"
_COMMIT_LINE = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
_OWN_BRANCH = re.compile(
    "refs/(?:heads|remotes/.*)/entire/"
)  # on which a recording tool keeps its own data
_BRANCH_NAME = re.compile("refs/(?:heads|remotes/[^/]+)/")
_MERGED = re.compile(
    r"Merge pull request #[0-9]+ from [^/\s]+/(\S+)"
    r"|Merge (?:remote-tracking )?branch '([^']+)'"
    r"|Merged in (\S+) \(pull request #[0-9]+\)"
)


class WrittenCommit(NamedTuple):
    """A commit, with checkpoints and agents of its message; ``time`` is its author's (s since 1970 or None)."""

    sha: str
    parents: tuple[str, ...]
    time: int | None
    date: str
    subject: str
    checkpoints: tuple[str, ...] = ()
    agents: tuple[str, ...] = ()


class ChangeSize(NamedTuple):
    """How many files a commit changed against its first parent, and how many lines; of binary files none."""

    files: int = 0
    added: int = 0
    removed: int = 0


def agents_named(message: str) -> tuple[str, ...]:
    """Return the agents that a commit message names in ``Co-Authored-By:`` lines, anywhere in it, each once."""
    named: dict[str, None] = {}
    for name, email in _coauthors(message.lower()):
        fitting = (
            agent
            for agent, emails, names in _agents()
            if emails(email.strip()) or names(name.strip())
        )
        named |= dict.fromkeys(islice(fitting, 1))
    return tuple(named)


def _coauthors(message: str) -> Iterator[tuple[str, str]]:
    """Yield the names and addresses of a message's co-authors, in time that grows with its length."""
    for line in message.split("\n") if _COAUTHOR in message else ():
        said = line.lstrip(" \t")
        if said.startswith(_COAUTHOR):
            name, _, behind = said.removeprefix(_COAUTHOR).partition("<")
            email, closed, _ = behind.partition(">")
            if closed and "<" not in email:
                yield name, email


@cache
def _agents() -> list[tuple[str, Any, Any]]:
    import tomllib  # only who asks for authors needs the agents

    tables = tomllib.loads(AGENTS.read_text("utf-8"))["agent"]
    return [(agent["name"], _any_of(agent["emails"]), _any_of(agent["names"])) for agent in tables]


def _any_of(globs: Sequence[str]) -> Any:
    escaped = (translate(glob.replace("[", "[[]")) for glob in globs)
    return re.compile("|".join(escaped) or r"(?!)").match


def _identities(commit: Commit) -> list[tuple[int | None, str]]:
    """Return what a commit keeps when it is amended, and when it is rebased: time, and parent or subject."""
    return [
        (commit.authored, name)
        for name in (f"{commit.subject}\n", *commit.parents[:1])
        if trim(name)
    ]


class AttributedHistory(TrunkHistory):
    """What is found on disk about the commits of a log, and what attributes transcripts to them."""

    _decides = AttributedLandings

    def __init__(
        self,
        repo_dir: Path | str | GitRepository,
        records: Sequence[IterationRecord],
        trunk: str | None = None,
    ) -> None:
        """Take what every history does; commits are read as they were made, not as ``git replace`` or grafts say."""
        repository = GitRepository.of(repo_dir)
        repository.variables = {"GIT_NO_REPLACE_OBJECTS": "1", "GIT_GRAFT_FILE": "/dev/null/none"}
        super().__init__(repository, records, trunk)

    def resolved(self, names: Iterable[str]) -> dict[str, str]:
        """Return the SHAs of names that stand for a commit here."""
        return {name: sha for name, sha in self._repository.resolve(names).items() if sha}

    def landed_as(self, named: Mapping[str, str], alike: bool = True) -> dict[str, tuple[str, ...]]:
        """Return, for each commit under its name, its SHA and that of the commit that it became, or is ``alike``."""
        anew = self.made_anew(named.values() if alike else ())
        became = self.became(islice((anew.get(sha, sha) for sha in named.values()), MOST_ASKED))
        known = {
            sha: became.get(anew.get(sha, sha), (anew.get(sha),))[:1] for sha in named.values()
        }
        return {name: (sha, *filter(None, known[sha])) for name, sha in named.items()}

    def became(self, shas: Iterable[str]) -> dict[str, tuple[str, str]]:
        """Return the trunk commit that each became, as far as known, and the word for how (``docs/EVIDENCE.md``)."""
        found = self.landings(shas).items()
        return {
            sha: (commit, one.found_by or PART)
            for sha, one in found
            if (commit := one.commit or one.part_of)
        }

    def landings(self, shas: Iterable[str]) -> dict[str, Landing]:
        """Return whether commits landed that no entry may name, by SHA."""
        first = {sha: n for n, sha in enumerate(dict.fromkeys(shas))}
        if not first or not self.trunk.commit:
            return {
                sha: Landing(self.rules, self.trunk, sha, sha, unknown=Unknown.NO_TRUNK)
                for sha in first
            }
        found = self._landings_of(self._graph_with(first), self._commits(first), first)
        return {sha: found.of(sha) for sha in first}

    @cached_property
    def _subjects(self) -> dict[str, str]:
        """The commits of the trunk by the subjects that one alone has, with and without the number of a request."""
        alike: dict[str, dict[str, str]] = {}
        for commit in self._walk.values():
            alike.setdefault(fold(trim(without_number(commit.subject))), {})[commit.sha] = fold(
                trim(commit.subject)
            )
        known: dict[str, str] = {}
        for plain, commits in alike.items():
            if plain and len(commits) == 1:
                known |= {
                    name: sha for sha, subject in commits.items() for name in (plain, subject)
                }
        return known

    def _same_subject(self, record: IterationRecord) -> str | None:
        """Return the one trunk commit with this subject, of the entry's day, or with a request's number later."""
        sha = super()._same_subject(record)
        try:
            behind = (
                date.fromisoformat(self._walk[sha].date) - date.fromisoformat(record.date)
                if sha
                else _DAY
            )
        except ValueError:  # the entry, or the commit, says no day
            return sha
        same = sha and fold(trim(self._walk[sha].subject)) == fold(trim(record.impl.summary))
        return sha if -_DAY <= behind <= (_DAY if same else timedelta(seconds=HORIZON)) else None

    def _tips_beside(self) -> Iterable[str]:
        return (*super()._tips_beside(), *(sha for _, sha in self._repository.request_heads))

    def on_trunk(self) -> list[str]:
        """Return the commits of the trunk, newest first."""
        return list(self._walk)

    def tips(self) -> dict[str, str]:
        """Return the tips of the local branches, each with the first branch by name; the trunk's is not among them."""
        found: dict[str, str] = {}
        for ref, sha in sorted(self._references.commits.items()):
            if (
                ref.startswith("refs/heads/")
                and ref != self.trunk.ref
                and not _OWN_BRANCH.match(ref)
            ):
                found.setdefault(sha, ref.removeprefix("refs/heads/"))
        return found

    @cached_property
    def beside(self) -> dict[str, str]:
        """The commits off the trunk, each with the first branch that has it, local ones first; no trunk: their tips."""
        if not self.trunk.commit:
            return self.tips()
        refs = {
            ref: sha
            for ref, sha in sorted(self._references.commits.items())
            if not _OWN_BRANCH.match(ref)
        }
        refs = {ref: sha for ref, sha in refs.items() if ref not in self._references.targets}
        lines = dict(
            lines_off_trunk(
                self._repository, [], list(dict.fromkeys(refs.values())), self.trunk.commit
            )
        )
        found: dict[str, str] = {}
        for ref, tip in refs.items():
            waiting = [tip]
            while waiting:
                sha = waiting.pop()
                if sha not in found and sha in lines and sha not in self._walk:
                    found[sha] = _BRANCH_NAME.sub("", ref)
                    waiting += lines[sha]
        return found

    def made_anew(self, shas: Iterable[str]) -> dict[str, str]:
        """Return the commits off the trunk that were amended, rebased or picked, and what each became.

        One that a branch still has, as after a push, was amended where a later one has its parent and a file of it.
        """
        off = self._commits([sha for sha in dict.fromkeys(shas) if sha not in self._walk])
        anew: dict[tuple[int | None, str], list[Commit]] = {}
        for commit in self._commits([*self._walk, *self.beside]).values() if off else ():
            for key in _identities(commit):
                anew.setdefault(key, []).append(commit)
        found: dict[str, str] = {}
        for sha, commit in off.items():
            alike = [one for key in reversed(_identities(commit)) for one in anew.get(key, ())[-1:]]
            if sha in self.beside:
                same_parent = anew.get(_identities(commit)[-1], ()) if commit.parents else ()
                later = [one for one in same_parent if (one.time or 0) > (commit.time or 0)]
                files = (
                    self.files(self.written([sha, *(one.sha for one in later)]).values())
                    if later
                    else {}
                )
                alike = [
                    one
                    for one in later
                    if files.get(sha, frozenset()) & files.get(one.sha, frozenset())
                ]
            if alike:
                found[sha] = alike[-1].sha
        return found

    def branch_behind(self, sha: str) -> str:
        """Return the branch that brought a commit, as its merge names it; else the trunk, without its remote."""
        index = self._graph.introduced.get(sha)
        merge = sha if index is None else self._graph.mainline[index]
        m = _MERGED.match(self._walk[merge].subject) if merge != sha else None
        if branch := next(filter(None, m.groups()), "") if m else "":
            return branch
        name = self.trunk.name
        return (
            name.removeprefix(f"{self._references.remote}/")
            if self.trunk.ref.startswith("refs/remotes/")
            else name
        )

    def written(self, shas: Iterable[str]) -> dict[str, WrittenCommit]:
        """Return what commits say of who wrote them; one that git cannot read is left out."""
        found = self._commits(dict.fromkeys(shas)).items()
        said = {sha: (checkpoint_ids(c.message), agents_named(c.message)) for sha, c in found}
        return {
            sha: WrittenCommit(sha, c.parents, c.authored, c.date, c.subject, *said[sha])
            for sha, c in found
        }

    def lines_added(self, shas: Iterable[str]) -> dict[str, Mapping[FileLine, int]]:
        """Return how often commits add each significant line; merges, and what git cannot read, are left out."""
        known = (
            (sha, commit.parents) for sha, commit in self._commits(dict.fromkeys(shas)).items()
        )
        pairs = [
            CommitPair(sha, parents[0] if parents else "")
            for sha, parents in known
            if len(parents) < 2
        ]
        return {
            sha: found.lines
            for sha, found in added_lines(self._repository, pairs, line_hash).items()
        }

    def sizes(self, shas: Iterable[str]) -> dict[str, ChangeSize]:
        """Return how much commits changed against their first parents; one that git cannot compare is left out."""

        def ask(batch: Sequence[str]) -> Mapping[str, ChangeSize] | None:
            answer = self._repository.ask(*_SIZES, stdin=as_lines(batch))
            found = dict.fromkeys(batch, ChangeSize())
            sha = ""
            for line in as_text(answer.stdout).split("\n"):
                if _COMMIT_LINE.fullmatch(line):
                    sha = line
                elif line:
                    added, removed = (
                        0 if count == "-" else int(count) for count in line.split("\t", 2)[:2]
                    )
                    size = found[sha]
                    found[sha] = ChangeSize(
                        size.files + 1, size.added + added, size.removed + removed
                    )
            return None if answer.returncode else found

        return ask_in_batches(ask, shas)

    def files(self, commits: Iterable[WrittenCommit]) -> dict[str, frozenset[str]]:
        """Return the paths that commits changed against their first parents, where git can compare them."""
        pairs = {
            commit.sha: CommitPair(commit.sha, next(iter(commit.parents), "")) for commit in commits
        }
        found = changes(self._repository, pairs.values())
        return {
            sha: frozenset(one.path for one in found[pair])
            for sha, pair in pairs.items()
            if pair in found
        }

    @property
    def tip_time(self) -> int | None:
        """When the tip of the trunk was committed, in seconds since 1970; None without a trunk."""
        return self._walk[self.trunk.commit].time if self.trunk.commit in self._walk else None

    def trunk_at(self, time: float) -> str:
        """Return the commit of the trunk's first-parent line that was its tip at a time; "" where there was none."""
        at = bisect_left(self._oldest_since, -time, key=neg)
        return self._graph.mainline[at] if at < len(self._oldest_since) else ""

    @cached_property
    def _oldest_since(self) -> list[int]:
        """The least time of each commit of the first-parent line and those behind it, the newest first."""
        return list(accumulate((self._walk[sha].time or 0 for sha in self._graph.mainline), min))

    def landed_at(self, sha: str) -> int | None:
        """Return when the trunk's first-parent line got a commit of the trunk, in seconds since 1970."""
        index = self._graph.introduced.get(sha)
        return None if index is None else self._walk[self._graph.mainline[index]].time

    def authors(self, shas: Iterable[str]) -> dict[str, tuple[str, str]]:
        """Return the names and addresses of the authors of commits; one that git cannot read is left out."""

        def ask(batch: Sequence[str]) -> Mapping[str, tuple[str, str]] | None:
            answer = self._repository.ask(*_AUTHORS, stdin=as_lines(batch))
            rows = (line.split("\0") for line in as_text(answer.stdout).split("\n") if line)
            return None if answer.returncode else {sha: (name, email) for sha, name, email in rows}

        return ask_in_batches(ask, shas)

    def own_names(self) -> tuple[str, str]:
        """Return the name and the address that the caller's commits get here; "" where git has none."""
        return self._repository.user_name, self._repository.callers_setting(
            "--get", "user.email"
        ).strip()

    def on_live_branches(self, since: int) -> set[str]:
        """Return the commits off the trunk on branches, remote ones too, whose tips are from a time or later."""
        refs = (
            (ref, sha)
            for ref, sha in self._references.commits.items()
            if not _OWN_BRANCH.match(ref)
        )
        tips = self._commits(list({sha for _, sha in refs if sha not in self._walk}))
        live = [sha for sha, commit in tips.items() if (commit.time or 0) >= since]
        if not live or not self.trunk.commit:
            return set()
        return set(
            as_text(self._repository.run("rev-list", *live, f"^{self.trunk.commit}")).split()
        )

    def files_since(self, time: int) -> tuple[set[str], list[tuple[str, str]]]:
        """Return the paths that the trunk has or changed since a time, and from and to which paths it moved files."""
        walk = [c for c in self._walk.values() if (c.time or 0) >= time and len(c.parents) < 2]
        found = net_changes(
            self._repository, [CommitPair(c.sha, next(iter(c.parents), "")) for c in walk]
        )
        changed = [one for some in found.values() for one in some]
        tip = (
            ("ls-tree", "-r", "-z", "--full-tree", "--name-only", self.trunk.commit)
            if self.trunk.commit
            else ()
        )
        there = as_text(self._repository.run(*tip)).split("\0")[:-1] if tip else []
        names = {*there, *(name for one in changed for name in (one.path, one.old_path))}
        return names, [(one.old_path, one.path) for one in changed if one.status == "R"]

    def remotes(self) -> list[str]:
        """Return the URLs of the remotes, as they are configured."""
        return [url for _, url in self._repository.remotes]
