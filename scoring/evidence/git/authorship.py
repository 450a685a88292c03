"""What git says of commits beyond landing: who wrote them, what they became, and where they are."""

import re
from bisect import bisect_left
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import date, timedelta
from functools import cached_property, partial
from itertools import accumulate, islice
from operator import neg
from pathlib import Path
from typing import NamedTuple

from msgspec.structs import replace

from scoring.errors import Warn, silent
from scoring.evidence.git.agents import NO_AGENTS, CommitAgents, Identity, agents_of
from scoring.evidence.git.changes import CommitPair, changes, net_changes
from scoring.evidence.git.checkpoints import checkpoint_ids
from scoring.evidence.git.commit_names import without_number
from scoring.evidence.git.facts import PART, Landing, Unknown
from scoring.evidence.git.fates import Counts
from scoring.evidence.git.history import TrunkHistory
from scoring.evidence.git.holders import HeldWork, Holder, commits_held, release_holders
from scoring.evidence.git.landed_lines import HORIZON, AttributedLandings
from scoring.evidence.git.line_history import FileLine, hashes_added
from scoring.evidence.git.repository import GitRepository, ask_in_batches
from scoring.evidence.git.starter import as_lines, as_text
from scoring.evidence.git.trunk_work import DAY, TrunkWork, WorkOnTrunk
from scoring.evidence.git.undone import STANDS
from scoring.evidence.git.walk import Commit
from scoring.evidence.scopes import is_code
from scoring.log.model import IterationRecord
from scoring.text import fold, trim

MOST_ASKED = 2000
"""Commits of sessions that are looked for on the trunk by their change."""

_NEAR_SECONDS = 5
"""How far the author time of a commit may be from when its checkpoint was stored."""

_DAY = timedelta(days=1)
_HORIZON = timedelta(seconds=HORIZON)

_NUMSTAT = (
    "diff-tree",
    "--stdin",
    "--root",
    "-r",
    "-M",
    "--numstat",
    "--diff-merges=first-parent",
)
_LIST_FILES = ("ls-tree", "-r", "-z", "--full-tree")
_SHA = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
_BINARY = "-"
_MOST_TIPS = 50  # off the trunk, in which lines are looked for that the trunk has not

# A branch on which a recording tool keeps its own data.
_RECORDING_BRANCH = re.compile("refs/(?:heads|remotes/.*)/entire/")
_LOCAL_BRANCH = "refs/heads/"
_BRANCH_PREFIX = re.compile("refs/(?:heads|remotes/[^/]+)/")
_MERGED_BRANCH = re.compile(
    r"Merge pull request #[0-9]+ from [^/\s]+/(\S+)"
    r"|Merge (?:remote-tracking )?branch '([^']+)'"
    r"|Merged in (\S+) \(pull request #[0-9]+\)"
)

_Identity = tuple[int | None, str]


class WrittenCommit(NamedTuple):
    """A commit, and what its message says of who wrote it.

    Attributes:
        sha: the full SHA.
        parents: the full SHAs of its parents.
        time: author time in seconds since 1970; None when git has none.
        date: the author's day, as YYYY-MM-DD.
        subject: the subject.
        checkpoints: the ids of the checkpoints that the message names.
        agents: the agents that it names.
    """

    sha: str
    parents: tuple[str, ...]
    time: int | None
    date: str
    subject: str
    checkpoints: tuple[str, ...] = ()
    agents: CommitAgents = NO_AGENTS

    @property
    def change(self) -> CommitPair:
        """The commit and its first parent."""
        return _with_first_parent(self.sha, self.parents)


class ChangeSize(NamedTuple):
    """How many files a commit changed, and how many lines. Binary files have no lines."""

    files: int = 0
    added: int = 0
    removed: int = 0

    def with_file(self, added: int, removed: int) -> "ChangeSize":
        """Return the size with one more file."""
        return ChangeSize(self.files + 1, self.added + added, self.removed + removed)


class BecameCommit(NamedTuple):
    """The trunk commit that another one became, and the word for how that was found out."""

    commit: str
    method: str


class TrunkPaths(NamedTuple):
    """The paths of the trunk since some time.

    Attributes:
        names: all paths that the trunk has, or changed since then.
        moves: the old and the new path of each file that it renamed.
        submodules: the folders that are repositories of their own.
    """

    names: set[str]
    moves: list[tuple[str, str]]
    submodules: set[str]


def _with_first_parent(sha: str, parents: Sequence[str]) -> CommitPair:
    return CommitPair(sha, parents[0] if parents else "")


def _identities(commit: Commit) -> list[_Identity]:
    """Return what a commit keeps when it is rebased, and when it is amended.

    That is the author time, with the subject or with the first parent.
    """
    identities: list[_Identity] = []
    if trim(commit.subject):
        identities.append((commit.authored, f"{commit.subject}\n"))
    if commit.parents:
        identities.append((commit.authored, commit.parents[0]))
    return identities


class AttributedHistory(TrunkHistory):
    """What is found on disk about the commits of a log, and about those that agents made."""

    _decides = AttributedLandings

    def __init__(
        self,
        repo_dir: Path | str | GitRepository,
        records: Sequence[IterationRecord],
        trunk: str | None = None,
        *,
        cache_dir: Path | None = None,
        warn: Warn = silent,
    ) -> None:
        """Open the repository and find the trunk, as every history does.

        Commits are read as they were made, and not as ``git replace`` or grafts change them.
        """
        repository = GitRepository.of(repo_dir)
        repository.variables = {
            "GIT_NO_REPLACE_OBJECTS": "1",
            "GIT_GRAFT_FILE": "/dev/null/none",
        }
        super().__init__(repository, records, trunk, cache_dir=cache_dir, warn=warn)
        self._undone_by_question: dict[tuple[str, str], Landing] = {}
        self._work_by_rules: dict[tuple[str, float], WorkOnTrunk] = {}

    # Names of commits

    def resolved(self, names: Iterable[str]) -> dict[str, str]:
        """Return the SHAs of the names that are commits here."""
        shas = self._repository.resolve(names)
        return {name: sha for name, sha in shas.items() if sha}

    @cached_property
    def _subjects(self) -> dict[str, str]:
        """The trunk commits by their subjects, where only one has the subject.

        Each is there with and without the number of a request at the end.
        """
        same_subject: dict[str, list[Commit]] = {}
        for commit in self._walk.values():
            plain = fold(trim(without_number(commit.subject)))
            same_subject.setdefault(plain, []).append(commit)

        subjects: dict[str, str] = {}
        for plain, commits in same_subject.items():
            if plain and len(commits) == 1:
                subjects[plain] = commits[0].sha
                subjects[fold(trim(commits[0].subject))] = commits[0].sha
        return subjects

    def _same_subject(self, record: IterationRecord) -> str | None:
        """Return the one trunk commit with an entry's summary as its subject, if the day fits.

        It is of the entry's day, or up to a horizon later where the number of a request was added.
        """
        sha = super()._same_subject(record)
        if sha is None:
            return None

        commit = self._walk[sha]
        try:
            delay = date.fromisoformat(commit.date) - date.fromisoformat(record.date)
        except ValueError:  # the entry, or the commit, has no day
            return sha

        is_same = fold(trim(commit.subject)) == fold(trim(record.impl.summary))
        longest = _DAY if is_same else _HORIZON
        return sha if -_DAY <= delay <= longest else None

    # Landing, and what undid it

    def landing(self, record: IterationRecord) -> Landing:
        """Return whether the work of an iteration came to the trunk, and whether it is still there.

        The first question asks about one iteration, and the second about all of them.
        """
        question = (record.commit, record.impl.summary)
        if question in self._undone_by_question:
            return self._undone_by_question[question]

        if len(self._undone_by_question) == 1 and self.trunk.commit:
            self._with_undone([self._landings.of(sha) for sha in self._first_iterations])
        landing = self._with_undone([super().landing(record)])[0]
        self._undone_by_question[question] = landing
        return landing

    def _with_undone(self, landings: Sequence[Landing]) -> list[Landing]:
        """Return landings with what undid the work: the lines decide, whatever messages say."""
        if self.trunk.commit and not self.trunk.shallow:
            landings = self._held.with_releases(landings)
        works = [self._trunk_work(landing) for landing in landings]
        undone = self.observed_work.undone([work for work in works if work is not None])

        decided = []
        for landing, work in zip(landings, works, strict=True):
            answer = undone[work] if work is not None else STANDS
            reverted_by = None
            if answer.taken_back and answer.state == "reverted":
                reverted_by = answer.taken_back.by
            decided.append(replace(landing, reverted_by=reverted_by, undone=answer))
        return decided

    @cached_property
    def _held(self) -> HeldWork:
        holders = release_holders(self._repository, self._branches, self.trunk.ref)
        return HeldWork(self._repository, holders, self.trunk.commit or "", self.lines)

    def _trunk_work(self, landing: Landing) -> TrunkWork | None:
        """Return the work of a landing, or None where no single commit of the trunk has it."""
        commit = landing.commit
        if not landing.landed or commit is None or commit in self._shallow:
            return None
        if not self._graph.on_trunk(commit):
            return None
        also = landing.sha if landing.sha and landing.sha != commit else ""
        return TrunkWork(commit, also)

    @cached_property
    def observed_work(self) -> WorkOnTrunk:
        """What became of work on the trunk within 14 days, in files of code."""
        return self.work_on_trunk(is_code, "", HORIZON / DAY)

    def work_on_trunk(self, counts: Counts, rules: str, horizon_days: float) -> WorkOnTrunk:
        """Return what follows work on the trunk under some rules.

        Args:
            counts: says of a path whether its lines are code that counts.
            rules: a text that is another one for other ``counts``; "" for all files of code.
            horizon_days: how long work is followed.
        """
        key = (rules, horizon_days)
        if key not in self._work_by_rules:
            self._work_by_rules[key] = WorkOnTrunk(
                self.lines,
                self._graph,
                self._walk,
                counts,
                rules=rules,
                horizon_days=horizon_days,
                end_of=partial(self.end_of, horizon_days=horizon_days),
                cache_dir=self._cache_dir,
            )
        return self._work_by_rules[key]

    def end_of(self, commit: str, horizon_days: float) -> str | None:
        """Return the commit of the mainline that ends the horizon of a commit of the trunk.

        None where the trunk is not that old yet.
        """
        end = (self.landed_at(commit) or 0) + horizon_days * DAY
        if self.tip_time is None or self.tip_time < end:
            return None
        return self.trunk_at(end) or None

    # What commits became

    def landed_as(
        self, named: Mapping[str, str], *, rewritten: bool = True
    ) -> dict[str, tuple[str, ...]]:
        """Return the SHA of each commit and that of the commit that it became.

        Args:
            named: the SHAs of commits by their names.
            rewritten: whether commits that were amended, rebased or picked are followed.

        Returns:
            One or two SHAs by the same names.
        """
        successors = self.rewritten(named.values()) if rewritten else {}
        newest = {sha: successors.get(sha, sha) for sha in named.values()}
        asked = islice((newest[sha] for sha in named.values()), MOST_ASKED)
        landed = self.became(asked)

        shas: dict[str, tuple[str, ...]] = {}
        for name, sha in named.items():
            became = landed.get(newest[sha])
            if became:
                shas[name] = (sha, became.commit)
            elif sha in successors:
                shas[name] = (sha, successors[sha])
            else:
                shas[name] = (sha,)
        return shas

    def became(self, shas: Iterable[str]) -> dict[str, BecameCommit]:
        """Return the trunk commit that each commit became, without those where that is unknown."""
        became = {}
        for sha, landing in self.landings(shas).items():
            commit = landing.commit or landing.part_of
            if commit:
                became[sha] = BecameCommit(commit, landing.found_by or PART)
        return became

    def landings(self, shas: Iterable[str]) -> dict[str, Landing]:
        """Return whether commits landed, by their SHAs. No entry has to name them."""
        numbers = {sha: number for number, sha in enumerate(dict.fromkeys(shas))}
        if not numbers:
            return {}
        if not self.trunk.commit:
            return {sha: self._landing_without_trunk(sha) for sha in numbers}

        graph = self._graph_with(numbers)
        landings = self._landings_of(graph, self._commits(numbers), numbers)
        decided = self._with_undone([landings.of(sha) for sha in numbers])
        return dict(zip(numbers, decided, strict=True))

    def _landing_without_trunk(self, sha: str) -> Landing:
        return Landing(
            self.rules,
            self.trunk,
            field=sha,
            sha=sha,
            unknown=Unknown.NO_TRUNK,
        )

    def rewritten(self, shas: Iterable[str]) -> dict[str, str]:
        """Return the commits off the trunk that were amended, rebased or picked.

        A commit that a branch still has, as after a push, counts as amended where a later one has
        the same parent and changes one of the same files.

        Args:
            shas: the commits in question.

        Returns:
            What each became, by SHA. Those that were not rewritten are left out.
        """
        wanted = [sha for sha in dict.fromkeys(shas) if sha not in self._walk]
        off_trunk = self._commits(wanted)
        if not off_trunk:
            return {}

        same_identity: dict[_Identity, list[Commit]] = {}
        present = self._commits([*self._walk, *self.branches_off_trunk])
        for commit in present.values():
            for identity in _identities(commit):
                same_identity.setdefault(identity, []).append(commit)

        successors: dict[str, str] = {}
        for sha, commit in off_trunk.items():
            if sha in self.branches_off_trunk:
                successor = self._amended_after_push(commit, same_identity)
            else:
                successor = _successor(commit, same_identity)
            if successor:
                successors[sha] = successor
        return successors

    def _amended_after_push(
        self, commit: Commit, same_identity: Mapping[_Identity, Sequence[Commit]]
    ) -> str:
        """Return the last amendment of a commit that a branch still has, or "" without one."""
        if not commit.parents:
            return ""

        later = []
        for other in same_identity.get((commit.authored, commit.parents[0]), ()):
            if (other.time or 0) > (commit.time or 0):
                later.append(other.sha)
        if not later:
            return ""

        written = self.written([commit.sha, *later])
        files = self.files(written.values())
        own_files = files.get(commit.sha, frozenset())

        successor = ""
        for sha in later:
            if own_files & files.get(sha, frozenset()):
                successor = sha
        return successor

    # Branches

    def _tips_off_trunk(self) -> Iterable[str]:
        requests = [head.sha for head in self._repository.request_heads]
        return (*super()._tips_off_trunk(), *requests)

    def trunk_shas(self) -> list[str]:
        """Return the commits of the trunk, newest first."""
        return list(self._walk)

    def tips(self) -> dict[str, str]:
        """Return the tips of local branches other than the trunk.

        Each tip has the first of its branches by name.
        """
        tips: dict[str, str] = {}
        for ref, sha in self._work_branches().items():
            if ref.startswith(_LOCAL_BRANCH) and ref != self.trunk.ref:
                tips.setdefault(sha, ref.removeprefix(_LOCAL_BRANCH))
        return tips

    def _work_branches(self) -> dict[str, str]:
        """Return the tips of the branches that hold work, by full names in order."""
        tips = self._branches.tips
        names = sorted(ref for ref in tips if not _RECORDING_BRANCH.match(ref))
        return {ref: tips[ref] for ref in names}

    @cached_property
    def branches_off_trunk(self) -> dict[str, str]:
        """The commits off the trunk, each with the first branch that has it, local ones first.

        Without a trunk these are the tips of local branches.
        """
        if not self.trunk.commit:
            return self.tips()

        tips = self._work_branches()
        for symbolic in self._branches.targets:
            tips.pop(symbolic, None)

        holders = [Holder(_BRANCH_PREFIX.sub("", ref), tip) for ref, tip in tips.items()]
        held = commits_held(self._repository, holders, self.trunk.commit)
        return {sha: commit.holder.name for sha, commit in held.items() if sha not in self._walk}

    def branch_of(self, sha: str) -> str:
        """Return the branch that brought a commit, as the merge on the trunk names it.

        Where no merge names one, that is the trunk, without the name of its remote.
        """
        index = self._graph.introduced.get(sha)
        if index is not None:
            merge = self._graph.mainline[index]
            match = _MERGED_BRANCH.match(self._walk[merge].subject)
            if match and merge != sha:
                return match[match.lastindex or 0]

        if self.trunk.ref.startswith("refs/remotes/"):
            return self.trunk.name.removeprefix(f"{self._branches.remote}/")
        return self.trunk.name

    def on_live_branches(self, since: int) -> set[str]:
        """Return the commits off the trunk on branches that still move, those of remotes too.

        Args:
            since: the branches have a tip from this time or later, in seconds since 1970.
        """
        live = self._live_tips(since)
        if not live or not self.trunk.commit:
            return set()

        answer = self._repository.run("rev-list", *live, f"^{self.trunk.commit}")
        return set(as_text(answer).split())

    def _live_tips(self, since: int) -> list[str]:
        """Return the tips of branches off the trunk that are from a time or later."""
        tips = set(self._work_branches().values()) - self._walk.keys()
        live = []
        for sha, commit in self._commits(sorted(tips)).items():
            if (commit.time or 0) >= since:
                live.append(sha)
        return live

    # Times of the trunk

    @property
    def tip_time(self) -> int | None:
        """The committer time of the trunk's tip in seconds since 1970, or None without a trunk."""
        if self.trunk.commit not in self._walk:
            return None
        return self._walk[self.trunk.commit].time

    def trunk_at(self, time: float) -> str:
        """Return the commit that was the tip of the trunk at a time, or "".

        Args:
            time: seconds since 1970.
        """
        index = bisect_left(self._oldest_since, -time, key=neg)
        if index == len(self._oldest_since):
            return ""
        return self._graph.mainline[index]

    def trunk_between(self, start: float, end: float) -> list[str]:
        """Return the commits of the trunk from one time to another, in seconds since 1970."""
        commits = self._walk.values()
        return [commit.sha for commit in commits if start <= (commit.time or 0) <= end]

    @cached_property
    def _oldest_since(self) -> list[int]:
        """For each commit of the mainline, the least time of it and of all that are newer."""
        times = (self._walk[sha].time or 0 for sha in self._graph.mainline)
        return list(accumulate(times, min))

    def landed_at(self, sha: str) -> int | None:
        """Return when the trunk's line of first parents got a commit, in seconds since 1970.

        None means that the trunk does not contain the commit.
        """
        index = self._graph.introduced.get(sha)
        if index is None:
            return None
        return self._walk[self._graph.mainline[index]].time

    # What commits say and change

    def written(self, shas: Iterable[str]) -> dict[str, WrittenCommit]:
        """Return what commits say of who wrote them, without those that git cannot read."""
        written = {}
        for sha, commit in self._commits(dict.fromkeys(shas)).items():
            written[sha] = WrittenCommit(
                sha,
                parents=commit.parents,
                time=commit.authored,
                date=commit.date,
                subject=commit.subject,
                checkpoints=checkpoint_ids(commit.message),
                agents=agents_of(commit.message, (commit.author, commit.committer)),
            )
        return written

    def commits_of_unnamed(
        self, times: Mapping[str, Collection[float]], touched: Mapping[str, Collection[str]]
    ) -> dict[str, str]:
        """Return the commits of checkpoints that no message names, as after an amendment.

        A commit that names no checkpoint is that of one, where its author time is within five
        seconds, it changed one of the files, and no other commit is as near.

        Args:
            times: when sessions stored each checkpoint, in seconds since 1970, by its id.
            touched: the paths that agents changed for each checkpoint.

        Returns:
            The SHAs by the ids of the checkpoints.
        """
        names_in_walk = _checkpoints_named(self._walk.values())
        if not times.keys() - names_in_walk:
            return {}

        commits = self._commits([*self._walk, *self.branches_off_trunk])
        free = times.keys() - _checkpoints_named(commits.values())
        by_time = sorted(
            (commit.authored, sha)
            for sha, commit in commits.items()
            if commit.authored is not None and not checkpoint_ids(commit.message)
        )
        near = {name: _near(by_time, times[name]) for name in free}
        files = self.files(self.written({sha for shas in near.values() for sha in shas}).values())

        found = {}
        for name, shas in near.items():
            fitting = [
                sha for sha in shas if not files.get(sha, frozenset()).isdisjoint(touched[name])
            ]
            if len(fitting) == 1:
                found[name] = fitting[0]
        return found

    def authors(self, shas: Iterable[str]) -> dict[str, Identity]:
        """Return the authors of commits, without those of commits that git cannot read."""
        commits = self._commits(dict.fromkeys(shas))
        return {sha: commit.author for sha, commit in commits.items()}

    def callers_names(self) -> Identity:
        """Return the name and the address of the caller's commits, or "" where git has none."""
        email = self._repository.callers_setting("--get", "user.email").strip()
        return Identity(self._repository.user_name, email)

    def lines_added(self, shas: Iterable[str]) -> dict[str, Mapping[FileLine, int]]:
        """Return how often commits add each significant line.

        Merges, and commits that git cannot read, are left out.
        """
        pairs = []
        for sha, commit in self._commits(dict.fromkeys(shas)).items():
            if len(commit.parents) < 2:
                pairs.append(_with_first_parent(sha, commit.parents))

        added: dict[str, Mapping[FileLine, int]] = {}
        for pair, patch in zip(pairs, self.lines.patches(pairs), strict=True):
            if patch is not None:
                added[pair.commit] = hashes_added(patch)
        return added

    def sizes(self, shas: Iterable[str]) -> dict[str, ChangeSize]:
        """Return how much commits changed against their first parents.

        Commits that git cannot compare are left out.
        """

        def ask(batch: Sequence[str]) -> Mapping[str, ChangeSize] | None:
            answer = self._repository.ask(*_NUMSTAT, stdin=as_lines(batch))
            if answer.returncode:
                return None

            unchanged = dict.fromkeys(batch, ChangeSize())
            return unchanged | _parse_numstat(as_text(answer.stdout))

        return ask_in_batches(ask, shas)

    def files(self, commits: Iterable[WrittenCommit]) -> dict[str, frozenset[str]]:
        """Return the paths that commits changed against their first parents.

        Commits that git cannot compare are left out.
        """
        pairs = [commit.change for commit in commits]
        changed = changes(self._repository, pairs)

        files = {}
        for pair in pairs:
            if pair in changed:
                files[pair.commit] = frozenset(change.path for change in changed[pair])
        return files

    def trunk_paths_since(self, time: int) -> TrunkPaths:
        """Return the paths that the trunk has, or changed since a time in seconds since 1970."""
        pairs = []
        for commit in self._walk.values():
            is_recent = (commit.time or 0) >= time
            if is_recent and len(commit.parents) < 2:
                pairs.append(_with_first_parent(commit.sha, commit.parents))

        names: set[str] = set()
        moves = []
        for changed in net_changes(self._repository, pairs).values():
            for change in changed:
                names |= {change.path, change.old_path}
                if change.status == "R":
                    moves.append((change.old_path, change.path))

        submodules = set()
        if self.trunk.commit:
            for entry in self._repository.run(*_LIST_FILES, self.trunk.commit).split(b"\0")[:-1]:
                about, _, path = as_text(entry).partition("\t")
                names.add(path)
                if " commit " in about:
                    submodules.add(path)
        return TrunkPaths(names, moves, submodules)

    def files_elsewhere(self, since: int) -> dict[str, list[str]]:
        """Return the files of releases, other remotes and branches that still move, by their tips.

        Args:
            since: branches have a tip from this time or later, in seconds since 1970.
        """
        tips = dict.fromkeys([*self._live_tips(since), *self._held.tips])
        files = {}
        for tip in islice(tips, _MOST_TIPS):
            listing = self._repository.run(*_LIST_FILES, "--name-only", tip)
            files[tip] = as_text(listing).split("\0")[:-1]
        return files

    def remotes(self) -> list[str]:
        """Return the URLs of the remotes, as they are configured."""
        return [setting.url for setting in self._repository.remotes]


def _checkpoints_named(commits: Iterable[Commit]) -> set[str]:
    return {name for commit in commits for name in checkpoint_ids(commit.message)}


def _near(by_time: Sequence[tuple[int, str]], times: Collection[float]) -> set[str]:
    """Return the commits with an author time near one of some times."""
    near = set()
    for time in times:
        first = bisect_left(by_time, (time - _NEAR_SECONDS,))
        for authored, sha in by_time[first:]:
            if authored > time + _NEAR_SECONDS:
                break
            near.add(sha)
    return near


def _successor(commit: Commit, same_identity: Mapping[_Identity, Sequence[Commit]]) -> str:
    """Return the last commit with an identity of another one, or "" without one.

    Of a commit with the same subject and one with the same parent, the first counts.
    """
    for identity in _identities(commit):
        others = same_identity.get(identity)
        if others:
            return others[-1].sha
    return ""


def _parse_numstat(output: str) -> dict[str, ChangeSize]:
    """Return the sizes of commits that change something, as ``git diff-tree --numstat`` prints."""
    sizes: dict[str, ChangeSize] = {}
    sha = ""
    for line in output.split("\n"):
        if _SHA.fullmatch(line):
            sha = line
        elif line:
            added, removed, _ = line.split("\t", 2)
            size = sizes.get(sha, ChangeSize())
            sizes[sha] = size.with_file(_line_count(added), _line_count(removed))
    return sizes


def _line_count(text: str) -> int:
    return 0 if text == _BINARY else int(text)
