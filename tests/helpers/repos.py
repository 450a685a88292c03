"""Real git repositories for tests. Commits have the same SHA on every machine, in every run."""

import os
import subprocess
from collections.abc import Mapping
from pathlib import Path

START = 1_776_000_000
"""The time of a builder's first commit; each further one is an hour later."""

STEP = 3_600

_ENVIRONMENT = {
    "GIT_AUTHOR_EMAIL": "a@example.org",
    "GIT_AUTHOR_NAME": "Author",
    "GIT_COMMITTER_EMAIL": "c@example.org",
    "GIT_COMMITTER_NAME": "Committer",
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_NOSYSTEM": "1",
    "HOME": "/nonexistent",
    "LC_ALL": "C",
    "PATH": os.environ.get("PATH", os.defpath),
}
_SETTINGS = [
    *("-c", "commit.gpgSign=false", "-c", "gc.auto=0"),
    *("-c", "maintenance.auto=false", "-c", "advice.detachedHead=false"),
]

_CONFIG = (
    "[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n"
    "\tbare = false\n\tlogallrefupdates = true\n"
)
"""What ``git init`` writes: a thousand tests begin so, and need no process for it."""

Files = Mapping[str, str | bytes | None]
"""What a commit writes, by path; None deletes the file."""


class Repo:
    """A git work tree under construction.

    The branch is ``master`` unless another name is given. Every method that makes a commit takes
    its committer time in seconds since 1970 and returns its SHA.
    """

    def __init__(self, path: Path, *options: str, branch: str = "master") -> None:
        self.path = path
        self.clock = START - STEP
        path.mkdir(parents=True, exist_ok=True)
        if options or (path / ".git").exists():
            self.git("init", "-q", "--template=", "-b", branch, *options)
            return
        for name in ("objects/info", "objects/pack", "refs/heads", "refs/tags"):
            (path / ".git" / name).mkdir(parents=True)
        (path / ".git/HEAD").write_text(f"ref: refs/heads/{branch}\n")
        (path / ".git/config").write_text(_CONFIG)

    @classmethod
    def at(cls, path: Path) -> "Repo":
        """Take hold of a repository that is there already."""
        repo = cls.__new__(cls)
        repo.path, repo.clock = path, START - STEP
        return repo

    def git(self, *arguments: str, given: bytes = b"", time: int | None = None) -> str:
        """Run git here and return what it prints, without the last line feed."""
        return (
            self.git_bytes(*arguments, given=given, time=time)
            .decode("utf-8", "surrogateescape")
            .removesuffix("\n")
        )

    def git_bytes(
        self, *arguments: str, given: bytes = b"", time: int | None = None
    ) -> bytes:
        """Run git here and return what it prints, byte for byte."""
        stamp = f"{self.clock if time is None else time} +0000"
        dates = {"GIT_AUTHOR_DATE": stamp, "GIT_COMMITTER_DATE": stamp}
        command = ["git", *_SETTINGS, "-C", str(self.path), *arguments]
        done = subprocess.run(
            command,
            input=given,
            capture_output=True,
            env=_ENVIRONMENT | dates,
            check=False,
        )
        if done.returncode:
            raise AssertionError(
                f"{' '.join(arguments)}: {done.stderr.decode(errors='replace')}"
            )
        return done.stdout

    def commit(
        self,
        files: Files | None = None,
        message: str | bytes = "work",
        time: int | None = None,
    ) -> str:
        """Write files and commit everything, with the message to the last byte.

        A commit may be empty.
        """
        for name, content in (files or {}).items():
            path = self.path / name
            if content is None:
                path.unlink()
                continue
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content.encode() if isinstance(content, str) else content)
        if files:
            self.git("add", "-A")
        options = (
            "--all",
            "--allow-empty",
            "--allow-empty-message",
            "--cleanup=verbatim",
            "--no-verify",
        )
        text = message.encode() if isinstance(message, str) else b"to be replaced"
        self.git("commit", "-q", *options, "-F", "-", given=text, time=self._tick(time))
        if isinstance(message, bytes):  # git commit would make UTF-8 of them
            headers, _, _ = self.git_bytes("cat-file", "commit", "HEAD").partition(
                b"\n\n"
            )
            self.reset_to(self.write("commit", headers + b"\n\n" + message))
        return self._tip()

    def head(self, name: str = "HEAD") -> str:
        """Return the SHA of the commit that a name stands for."""
        return self.git("rev-parse", "--verify", f"{name}^{{commit}}")

    def branch(self, name: str, at: str = "HEAD") -> None:
        """Make a branch and switch to it."""
        self.git("checkout", "-q", "-b", name, at)

    def checkout(self, name: str) -> None:
        """Switch to a branch or a commit."""
        self.git("checkout", "-q", name)

    def merge(
        self,
        name: str,
        message: str = "merge",
        time: int | None = None,
        *,
        files: Files | None = None,
    ) -> str:
        """Merge a branch into this one with a merge commit, which also writes ``files``."""
        when = self._tick(time)
        options = ("--no-ff", "--no-commit", "--no-verify", "-X", "ours")
        self.git("merge", "-q", *options, name, time=when)
        return self.commit(files, message, when)

    def revert(self, name: str, time: int | None = None) -> str:
        """Revert a commit with git's own message."""
        self.git("revert", "--no-edit", name, time=self._tick(time))
        return self._tip()

    def reset(self, name: str) -> None:
        """Move the branch and the work tree to a commit."""
        self.git("reset", "-q", "--hard", name)

    def tag(self, name: str, at: str = "HEAD", message: str = "") -> None:
        """Make a tag. With a message it is annotated: an object of its own."""
        self.git("tag", *(("-a", "-m", message) if message else ()), name, at)

    def config(self, key: str, value: str) -> None:
        """Write a setting into the repository's own configuration."""
        self.git("config", key, value)

    def raw_commit(
        self, headers: str, message: str | bytes = "raw", tree: str = "HEAD^{tree}"
    ) -> str:
        """Put a commit on the branch that git would not write.

        ``headers`` replace author and committer.
        """
        body = f"tree {self.git('rev-parse', tree)}\nparent {self._tip()}\n{headers}\n\n".encode()
        body += message.encode() if isinstance(message, str) else message
        sha = self.write("commit", body)
        self.reset_to(sha)
        return sha

    def reset_to(self, sha: str) -> None:
        """Move the branch to a commit, whatever it is, and leave the files alone."""
        self.git("update-ref", "HEAD", sha)

    def write(self, kind: str, content: bytes) -> str:
        """Write one object, whatever it says, and return its id."""
        return self.git(
            "hash-object", "-t", kind, "--literally", "-w", "--stdin", given=content
        )

    def lose(self, name: str) -> str:
        """Delete the loose object of a name, as a damaged disk would, and return its id."""
        sha = self.git("rev-parse", "--verify", name)
        (self.path / ".git/objects" / sha[:2] / sha[2:]).unlink()
        return sha

    def _tip(self) -> str:
        """Return the SHA that stands in the branch's own file, which costs no process."""
        folder = self.path / ".git"
        written = (folder / "HEAD").read_text().strip()
        return (
            (folder / written.removeprefix("ref: ")).read_text().strip()
            if written.startswith("ref: ")
            else written
        )

    def _tick(self, time: int | None) -> int:
        self.clock = self.clock + STEP if time is None else time
        return self.clock
