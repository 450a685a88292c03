"""A repository of our own beside the user's, for what would write objects or listen to the user's settings.

It lies in a temporary folder, reads the user's objects and has none of the user's configuration, attributes, merge
drivers or hooks: a trial merge runs no command, its objects go away with the folder, and a patch is the same patch
whatever the work tree's attributes say. The user's object database is never written to.
"""

import re
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from types import TracebackType

from scoring.errors import GitError
from scoring.evidence.git.batches import answered
from scoring.evidence.git.diffs import Pair, as_lines
from scoring.evidence.git.repository import GitRepository, ask_in, lines_in

_PATCH = (
    *("diff-tree", "--stdin", "-r", "-p", "--root", "--always", "--full-index", "--no-renames", "--no-color"),
    *("--unified=3", "--inter-hunk-context=0", "--diff-algorithm=myers", "--src-prefix=a/", "--dst-prefix=b/"),
    *("--no-ext-diff", "--no-textconv", "--submodule=short", "--ignore-submodules=none"),
)
_MERGE = ("merge-tree", "--write-tree", "--no-messages", "--name-only")
_HUNK = re.compile(rb"@@ -\d+(?:,(\d+))? \+\d+(?:,(\d+))? @@")
_HEADER = re.compile(rb"[0-9a-f]{40}(?:[0-9a-f]{24})?")
_VERSION = re.compile(rb"git version (\d+)\.(\d+)")

MERGE_TREE = (2, 38)
"""The first git that can merge without a work tree."""

_MERGE_BATCHES = (2, 39)
"""The first one that does so for many pairs in one process."""


class IsolatedRepository:
    """A bare repository that is there while the context is open."""

    def __init__(self, repository: GitRepository, object_format: str) -> None:
        """Prepare to borrow the objects of a repository whose SHAs are ``sha1`` or ``sha256``."""
        self._objects = repository.common_dir / "objects"
        self._format = object_format

    def __enter__(self) -> "IsolatedRepository":
        try:
            self._folder = tempfile.TemporaryDirectory(prefix="da-score-git-", ignore_cleanup_errors=True)
            self.path = Path(self._folder.name)
            (self.path / "objects/info").mkdir(parents=True)
            (self.path / "refs").mkdir()
            (self.path / "HEAD").write_text("ref: refs/heads/none\n")
            extension = "[extensions]\n\tobjectFormat = sha256\n" if self._format == "sha256" else ""
            version = 1 if extension else 0
            config = f"[core]\n\trepositoryFormatVersion = {version}\n\tbare = true\n{extension}"
            (self.path / "config").write_text(config + "[merge]\n\trenameLimit = 1000\n")
            (self.path / "objects/info/alternates").write_bytes(_quoted(self._objects) + b"\n")
        except OSError as e:
            raise GitError(f"no temporary folder for git: {e}; set TMPDIR to one that can be written to") from e
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None, /
    ) -> None:
        self._folder.cleanup()

    def patch_ids(self, pairs: Iterable[Pair]) -> dict[Pair, str]:
        """Return what the patch of each pair is known by; a pair that git cannot compare is left out.

        Equal where ``git patch-id`` is equal: line numbers, function names and white space do not count. Modes do,
        and a binary file counts by its content.
        """

        def ask(batch: Sequence[Pair]) -> Mapping[Pair, str] | None:
            asked = self.path / "asked"
            asked.write_bytes(as_lines(batch))
            try:
                return dict(zip(batch, _patch_ids(lines_in(self.path, *_PATCH, given=asked)), strict=True))
            except GitError:
                return None

        return answered(ask, list(dict.fromkeys(pairs)))

    def can_merge(self) -> str:
        """Return "" when git can merge without a work tree, and else why not."""
        found = self._version()
        if found >= MERGE_TREE:
            return ""
        return f"git {'.'.join(map(str, found))} is older than {'.'.join(map(str, MERGE_TREE))}"

    def merged_trees(self, tip: str, shas: Sequence[str]) -> dict[str, str]:
        """Return the tree of ``tip`` after merging each commit, "" when they conflict.

        A commit that git cannot merge, because an object is missing or nothing is shared, is left out.
        """
        in_batches = self._version() >= _MERGE_BATCHES

        def ask(batch: Sequence[str]) -> Mapping[str, str] | None:
            if in_batches:
                given = "".join(f"{tip} {sha}\n" for sha in batch).encode()
                answer = ask_in(self.path, *_MERGE, "--stdin", given=given)
                return None if answer.returncode else dict(zip(batch, _merged(answer.stdout), strict=True))
            trees = {}
            for sha in batch:
                answer = ask_in(self.path, *_MERGE, "-z", tip, sha)
                if answer.returncode not in (0, 1):
                    return None
                trees[sha] = "" if answer.returncode else answer.stdout.split(b"\0")[0].decode().strip()
            return trees

        return answered(ask, list(dict.fromkeys(shas)))

    def _version(self) -> tuple[int, int]:
        m = _VERSION.match(ask_in(self.path, "version").stdout)
        return (int(m[1]), int(m[2])) if m else (0, 0)


def _quoted(path: Path) -> bytes:
    """Return a path as a list of alternates takes it, whatever is in it."""
    raw = str(path).encode("utf-8", "surrogateescape")
    return b'"' + raw.replace(b"\\", b"\\\\").replace(b'"', b'\\"').replace(b"\n", b"\\n") + b'"'


def _merged(output: bytes) -> Iterator[str]:
    """Read, for each merge, its status, its tree, and the names in conflict up to an empty one."""
    fields = iter(output.split(b"\0"))
    for status in fields:
        if not status:
            continue
        tree = next(fields).decode()
        yield tree if status == b"1" else ""
        while next(fields, b""):
            pass


def _patch_ids(lines: Iterable[bytes]) -> Iterator[str]:
    """Read patches, each behind its commit. What a hunk holds is counted, so no content is taken for a header."""
    from hashlib import blake2b

    digest = blake2b(digest_size=16)
    old, new, index, started = 0, 0, b"", False
    for line in lines:
        if old > 0 or new > 0:
            mark = line[:1]
            if mark == b"\\":
                continue
            old -= mark != b"+"
            new -= mark != b"-"
            digest.update(line.translate(None, b" \t\r\n") + b"\n")
        elif _HEADER.fullmatch(line.rstrip(b"\n")):
            if started:
                yield digest.hexdigest()
            digest, started = blake2b(digest_size=16), True
        elif m := _HUNK.match(line):
            old, new = (1 if count is None else int(count) for count in m.groups())
        elif line.startswith(b"index "):
            index = line
        elif not line.startswith(b"\\"):
            digest.update((index if line.startswith(b"Binary files ") else b"") + line)
    if started:
        yield digest.hexdigest()
