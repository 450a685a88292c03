"""What git says of the commits of a log beyond whether they landed: what attribution goes by.

When a commit was authored and under which subject, which checkpoints it names, as which commit another one landed, and
where the repository's remotes are.
"""

from collections.abc import Collection, Iterable, Mapping
from typing import NamedTuple

from scoring.errors import GitError
from scoring.evidence.git.checkpoints import checkpoints_named
from scoring.evidence.git.history import CorrectedHistory
from scoring.evidence.git.repository import answered, as_lines, as_text
from scoring.log.model import IterationRecord

_FORMAT = ("-z", "--format=%H%x00%at%x00%s%x00")

MOST_ASKED = 2000
"""How many commits that sessions made are looked for on the trunk by their change."""


class AuthoredCommit(NamedTuple):
    """The author time of a commit, in seconds since 1970 (None where it names none), and its subject."""

    time: int | None
    subject: str


class AttributedHistory(CorrectedHistory):
    """What is found on disk about the commits of a log, and what says whose work a transcript is."""

    counts_commits_once = True

    def authored(self, shas: Iterable[str]) -> dict[str, AuthoredCommit]:
        """Return when and under which subject commits were authored; one that git cannot read is left out."""
        known = self._cache.section("authored", dict[str, AuthoredCommit])
        wanted = list(dict.fromkeys(shas))
        found = answered(self._ask_authored, [sha for sha in wanted if sha not in known])
        if found:
            known.update(found)
            self._cache.changed = True
        return {sha: known[sha] for sha in wanted if sha in known}

    def _ask_authored(self, batch: Collection[str]) -> Mapping[str, AuthoredCommit] | None:
        answer = self._repository.ask("log", "--no-walk=unsorted", "--stdin", *_FORMAT, given=as_lines(batch))
        if answer.returncode:
            return None
        fields = as_text(answer.stdout).split("\0")
        threes = zip(fields[0:-1:4], fields[1::4], fields[2::4], strict=True)
        return {sha: AuthoredCommit(int(time) if time else None, subject) for sha, time, subject in threes}

    def checkpoints_named(self, shas: Iterable[str]) -> dict[str, tuple[str, ...]]:
        """Return the ids of the checkpoints that commits name."""
        return checkpoints_named(self._repository, shas, self._cache)

    def resolved(self, names: Iterable[str]) -> dict[str, str]:
        """Return the SHAs of names that stand for a commit here."""
        return {name: sha for name, sha in self._repository.resolve(names).items() if sha}

    def landed_as(self, names: Collection[str]) -> dict[str, tuple[str, ...]]:
        """Return, for commits that are here, their full name and that of the trunk commit that brought their change."""
        here = dict(list(self.resolved(names).items())[:MOST_ASKED])
        if not here:
            return {}
        records = [IterationRecord(iteration=n, commit=sha) for n, sha in enumerate(dict.fromkeys(here.values()))]
        try:
            history = AttributedHistory(self._repository.directory, records, None, self.trunk.name)
        except GitError:  # the trunk is a branch of none of the names that may be given: nothing lands
            return {name: (sha,) for name, sha in here.items()}
        found = {record.commit: history.landing(record).commit for record in records}
        return {name: tuple(filter(None, (sha, found[sha]))) for name, sha in here.items()}

    def state(self) -> tuple[object, ...]:
        """Return what changes when the branches or the trunk do."""
        return self.trunk.ref, self.trunk.commit, sorted(self._references.commits.items())

    def remotes(self) -> list[str]:
        """Return the URLs of the remotes, as they are configured."""
        answer = self._repository.ask("config", "--local", "-z", "--get-regexp", r"^remote\..*\.(url|pushurl)$")
        lines = as_text(answer.stdout).split("\0") if answer.returncode == 0 else []
        return [url for _, found, url in (line.partition("\n") for line in lines) if found]
