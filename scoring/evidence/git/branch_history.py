"""The branches of a repository, and the trunk as it was at some time."""

import re
from bisect import bisect_left, bisect_right
from functools import cached_property
from itertools import accumulate
from operator import itemgetter, neg

from scoring.evidence.git.history import TrunkHistory
from scoring.evidence.git.holders import Holder, commits_held
from scoring.evidence.git.starter import as_text
from scoring.evidence.git.walk import Commit

# A branch on which a recording tool keeps its own data.
_RECORDING_BRANCH = re.compile("refs/(?:heads|remotes/.*)/entire/")
_LOCAL_BRANCH = "refs/heads/"
_BRANCH_PREFIX = re.compile("refs/(?:heads|remotes/[^/]+)/")
_MERGED_BRANCH = re.compile(
    r"Merge pull request #[0-9]+ from [^/\s]+/(\S+)"
    r"|Merge (?:remote-tracking )?branch '([^']+)'"
    r"|Merged in (\S+) \(pull request #[0-9]+\)"
)


class BranchHistory(TrunkHistory):
    """What git knows of branches, of the commits on them, and of the trunk at other times."""

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
        held = commits_held(self.repository, holders, self.trunk.commit)
        return {sha: commit.holder.name for sha, commit in held.items() if sha not in self.walk}

    def branch_of(self, sha: str) -> str:
        """Return the branch that brought a commit, as the merge on the trunk names it.

        Where no merge names one, that is the trunk, without the name of its remote.
        """
        index = self.graph.introduced.get(sha)
        if index is not None:
            merge = self.graph.mainline[index]
            match = _MERGED_BRANCH.match(self.walk[merge].subject)
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

        answer = self.repository.run("rev-list", *live, f"^{self.trunk.commit}")
        return set(as_text(answer).split())

    def _live_tips(self, since: int) -> list[str]:
        """Return the tips of branches off the trunk that are from a time or later."""
        tips = set(self._work_branches().values()) - self.walk.keys()
        live = []
        for sha, commit in self._commits(sorted(tips)).items():
            if (commit.time or 0) >= since:
                live.append(sha)
        return live

    # Times of the trunk

    @property
    def tip_time(self) -> int | None:
        """The committer time of the trunk's tip in seconds since 1970, or None without a trunk."""
        if self.trunk.commit not in self.walk:
            return None
        return self.walk[self.trunk.commit].time

    def trunk_at(self, time: float) -> str:
        """Return the commit that was the tip of the trunk at a time, or "".

        Args:
            time: seconds since 1970.
        """
        index = bisect_left(self._oldest_since, -time, key=neg)
        if index == len(self._oldest_since):
            return ""
        return self.graph.mainline[index]

    def trunk_between(self, start: float, end: float) -> list[str]:
        """Return the commits of the trunk from one time to another, in seconds since 1970."""
        commits = self.walk.values()
        return [commit.sha for commit in commits if start <= (commit.time or 0) <= end]

    @cached_property
    def _oldest_since(self) -> list[int]:
        """For each commit of the mainline, the least time of it and of all that are newer."""
        times = (self.walk[sha].time or 0 for sha in self.graph.mainline)
        return list(accumulate(times, min))

    def landed_at(self, sha: str) -> int | None:
        """Return when the trunk's line of first parents got a commit, in seconds since 1970.

        None means that the trunk does not contain the commit.
        """
        index = self.graph.introduced.get(sha)
        if index is None:
            return None
        return self.walk[self.graph.mainline[index]].time

    # All commits

    @cached_property
    def commits(self) -> dict[str, Commit]:
        """The commits of the trunk and of branches off it, by their SHAs."""
        return self._commits([*self.walk, *self.branches_off_trunk])

    def authored_between(self, start: float, end: float) -> list[str]:
        """Return those with an author time from one time to another, in seconds since 1970."""
        author_time = itemgetter(0)
        first = bisect_left(self._by_author_time, start, key=author_time)
        last = bisect_right(self._by_author_time, end, key=author_time)
        return [sha for _, sha in self._by_author_time[first:last]]

    @cached_property
    def _by_author_time(self) -> list[tuple[int, str]]:
        """The author times of these commits in seconds since 1970, with their SHAs, in order."""
        times = []
        for sha, commit in self.commits.items():
            if commit.authored is not None:
                times.append((commit.authored, sha))
        return sorted(times)
