"""Commits by the hundred: a history is first thought out, and then written with one call of git."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from helpers.repos import Repo


@dataclass(frozen=True)
class MadeCommit:
    """A commit to be. ``mark`` stands for its SHA until it is written; times are Unix times."""

    mark: int
    parents: tuple[int, ...]
    message: str
    authored: int
    committed: int
    files: Mapping[str, str]
    author: str


@dataclass
class MadeHistory:
    """Commits and branches to be. A commit may be on no branch, as after a rebase."""

    commits: list[MadeCommit] = field(default_factory=list)
    branches: dict[str, int] = field(default_factory=dict)

    def commit(
        self,
        parents: Sequence[int],
        message: str,
        authored: int,
        files: Mapping[str, str],
        committed: int | None = None,
        author: str = "A <a@example.org>",
    ) -> int:
        """Add a commit, and return its mark. ``files`` differ from the first parent's."""
        mark = len(self.commits) + 1
        made = MadeCommit(
            mark,
            tuple(parents),
            message,
            authored,
            authored if committed is None else committed,
            files,
            author,
        )
        self.commits.append(made)
        return mark

    def again(
        self, mark: int, parent: int, committed: int, message: str | None = None
    ) -> int:
        """Add a commit with the change of another one, as a rebase does, and return its mark."""
        old = self.commits[mark - 1]
        return self.commit(
            (parent,),
            old.message if message is None else message,
            old.authored,
            old.files,
            committed,
        )

    def of(self, mark: int) -> MadeCommit:
        return self.commits[mark - 1]

    def write(self, repo: Repo) -> dict[int, str]:
        """Write everything into a repository; return the SHA of each mark."""
        marks = repo.path / ".git" / "made-marks"
        stream: list[bytes] = []
        for made in self.commits:
            stream.append(f"commit refs/heads/being-made\nmark :{made.mark}\n".encode())
            stream.append(f"author {made.author} {made.authored} +0000\n".encode())
            stream.append(
                f"committer C <c@example.org> {made.committed} +0000\n"
                f"{_data(made.message)}".encode()
            )
            if made.parents:
                first, *others = made.parents
                stream.append(
                    f"from :{first}\n".encode()
                    + b"".join(f"merge :{m}\n".encode() for m in others)
                )
            for path, content in made.files.items():
                stream.append(f"M 100644 inline {path}\n{_data(content)}".encode())
        for name, mark in self.branches.items():
            stream.append(f"reset refs/heads/{name}\nfrom :{mark}\n\n".encode())
        stream.append(f"reset refs/heads/being-made\nfrom {'0' * 40}\n\n".encode())
        repo.git(
            "fast-import",
            "--quiet",
            "--force",
            f"--export-marks={marks}",
            given=b"".join(stream),
        )
        pairs = (line.split() for line in marks.read_text().splitlines())
        return {int(mark[1:]): sha for mark, sha in pairs}


def link_worktree(repo: Repo, place: Path, branch: str) -> None:
    """Make a linked worktree without its files, as ``git worktree add --no-checkout`` does."""
    own = repo.path / ".git" / "worktrees" / place.name
    own.mkdir(parents=True)
    place.mkdir(parents=True)
    (own / "gitdir").write_text(f"{place / '.git'}\n")
    (own / "commondir").write_text("../..\n")
    (own / "HEAD").write_text(f"ref: refs/heads/{branch}\n")
    (place / ".git").write_text(f"gitdir: {own}\n")


def _data(text: str) -> str:
    return f"data {len(text.encode())}\n{text}\n"
