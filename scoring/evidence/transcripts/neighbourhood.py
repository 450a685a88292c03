"""Which sessions belong to a repository, and which of their lines are work in it.

``docs/EVIDENCE.md``, "Attribution", has the rules.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fnmatch import translate
from functools import cached_property

from scoring.evidence.transcripts.harness import InRepository
from scoring.evidence.transcripts.streams import File, Session
from scoring.evidence.transcripts.work_trees import is_there


@dataclass(frozen=True)
class Neighbourhood:
    """What decides whether work belongs to a repository.

    ``worktrees`` are globs of folders where its work trees may have been, ``remotes`` the URLs of its remotes as
    :func:`same_remote` has them; ``is_its_commit`` knows the names of its commits and of those of entries.
    """

    in_repository: InRepository
    worktrees: Sequence[str]
    remotes: frozenset[str]
    is_its_commit: Callable[[str], bool]

    @cached_property
    def _is_worktree(self) -> Callable[[str], object]:
        return re.compile("|".join(map(translate, self.worktrees)) or r"(?!)").match

    def mark(self, sessions: Iterable[Session]) -> None:
        """Say of each line of some sessions whether it is work in the repository."""
        for session in sessions:
            known = self._is_known(session)
            recorded = any(file.checkpoint for file in session.files)
            for file in session.files:
                if not file.here:
                    file.here = [False] * len(file.numbers)
                self._mark(file, session.key[1], known, recorded)

    def _is_known(self, session: Session) -> bool:
        """Whether a session is the repository's, wherever it worked: by a commit that it made, or by a remote."""
        if self.remotes and any(
            span.remote and same_remote(span.remote) in self.remotes
            for file in session.files
            for span in file.rows.spans
        ):
            return True
        return any(self.is_its_commit(made.sha) for made in session.made)

    def _mark(self, file: File, session: str, known: bool, recorded: bool) -> None:
        if recorded or file.transcript.whole:
            for place in next(places for name, places in file.sessions if name == session):
                file.here[place] = True
            return
        folders = file.harness.folders(file.rows.spans)
        counts = [self._counts(folder, known) for folder in folders]
        said = [here for here, folder in zip(counts, folders, strict=True) if folder]
        for span, here, folder, numbers in zip(file.rows.spans, counts, folders, file.rows.covers, strict=True):
            # A line without a folder goes with the others of its file.
            if (here if folder else any(said)) and len(numbers) and session in (span.session, file.owner):
                for number in numbers:
                    file.here[file.place[number]] = True

    def _counts(self, folder: str, known: bool) -> bool:
        if not folder or self.in_repository(folder):
            return bool(folder)
        return not is_there(folder) and (known or self._is_worktree(folder) is not None)


def same_remote(url: str) -> str:
    """Return the address of a remote in one form, without what differs between two ways to the same repository."""
    address = url.strip()
    _, found, rest = address.partition("://")
    if found:
        host, _, path = rest.partition("/")
        host = host.rpartition("@")[2]
        name, colon, port = host.rpartition(":")
        host = name if colon and port.isdecimal() else host
    else:
        host, colon, path = address.partition(":")
        if not colon or "/" in host:  # a path
            return address.rstrip("/").removesuffix(".git").rstrip("/")
        host = host.rpartition("@")[2]
    return f"{host.lower()}/{path.strip('/').removesuffix('.git').rstrip('/')}"
