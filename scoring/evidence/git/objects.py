"""Reads objects of a repository, many by one git."""

import contextlib
import posixpath
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from scoring.errors import GitError
from scoring.text import short

from .starter import WORDS_ABOUT_OBJECT, Git, GitProcess, as_lines, as_text

_UNSAFE_IN_NAME = re.compile("[\0\n]")
_LONGEST_ENTRY = 8192  # bytes of a file in a tree, with its name

ReadObject = Callable[[str], Iterator[bytes]]
"""Takes the full id of an object and yields its content in chunks."""


class ObjectReader(Git):
    """Git in one directory, with what reads objects there."""

    @contextlib.contextmanager
    def objects(self) -> Iterator[ReadObject]:
        """Give a function that reads objects.

        One git process reads them all. It starts at the first read, and another one starts after an
        error or an object that was not read to its end. The caller has to read each object to its
        end before it asks for the next one. The function raises GitError for an object that is not
        in this clone, cannot be read, or has more bytes than :data:`OBJECT_LIMIT`.
        """
        process: GitProcess | None = None
        with contextlib.ExitStack() as stack:

            def read(oid: str) -> Iterator[bytes]:
                nonlocal process
                if not process:
                    process = stack.enter_context(
                        self._started(("cat-file", "--batch"))
                    )

                try:
                    yield from process.content(oid)
                except BaseException:
                    # The rest of this object may still come, so the next one needs another process.
                    process.popen.kill()
                    process = None
                    raise

            yield read

    def files_at(
        self, sha: str, folder: str, is_wanted: Callable[[str], bool]
    ) -> dict[str, bytes]:
        """Return the contents of files that are directly in a folder of a commit, by name.

        Empty where the commit does not have the folder.

        Args:
            sha: the commit.
            folder: the folder's path from the top; "." is the top.
            is_wanted: says of the name of a file whether to read the file.

        Raises:
            GitError: git cannot list the folder or read a file.
        """
        prefix = ""
        paths = []
        if folder != ".":
            prefix = folder + "/"
            paths.append(prefix)
        listing = self.run("ls-tree", "-z", "--full-tree", sha, "--", *paths)

        contents = {}
        with self.objects() as read_object:
            for line in listing.split(b"\0")[:-1]:
                about, _, path = line.partition(b"\t")
                _, kind, oid = about.decode().split()
                name = as_text(path).removeprefix(prefix)
                if kind != "blob" or not is_wanted(name):
                    continue

                try:
                    contents[name] = b"".join(read_object(oid))
                except GitError as e:
                    raise GitError(
                        f"{self.directory}: {prefix}{name} of {short(sha)}"
                        " is not in this clone, or cannot be read"
                    ) from e
        return contents

    def blob_ids(self, names: Iterable[str], kind: str = "blob") -> dict[str, str]:
        """Return the object ids of files or folders, by their names.

        Names without such an object in this clone are left out.

        Args:
            names: the names, each as ``commit:path``.
            kind: "blob" for files, "tree" for folders.
        """
        wanted = list(filter(is_one_question, dict.fromkeys(names)))
        if not wanted:
            return {}
        answer = self.ask("cat-file", "--batch-check", stdin=as_lines(wanted))

        ids = {}
        lines = as_text(answer.stdout).split("\n")
        for name, line in zip(wanted, lines, strict=False):
            oid, *about = line.rsplit(" ", 2)
            if about[:1] == [kind]:
                ids[name] = oid
        return ids

    def listed_in_commits(self, names: Iterable[str]) -> set[str]:
        """Return which of some files, named as ``commit:path``, their commits have.

        A file counts also where this clone lacks its content, as a partial clone does, but not
        where it lacks the folder.

        Raises:
            GitError: a folder of one of the files cannot be read.
        """
        folders = defaultdict[str, list[str]](list)
        for name in names:
            commit, _, path = name.partition(":")
            folders[f"{commit}:{posixpath.dirname(path)}"].append(name)

        listed = set()
        trees = self.blob_ids(folders, kind="tree")
        with self.objects() as read_object:
            for folder, tree in trees.items():
                entries = tree_entries(read_object(tree), tree)
                file_names = {as_text(entry.name) for entry in entries}
                for name in folders[folder]:
                    if posixpath.basename(name.partition(":")[2]) in file_names:
                        listed.add(name)
        return listed

    def sizes(self, oids: Iterable[str]) -> dict[str, int] | None:
        """Return the sizes of objects in bytes, by their full ids.

        Objects that are not in this clone are left out. None means that git failed.
        """
        answer = self.ask("cat-file", "--batch-check", stdin=as_lines(oids))
        if answer.returncode:
            return None

        sizes = {}
        for line in answer.stdout.decode(errors="replace").splitlines():
            words = line.split()
            if len(words) == WORDS_ABOUT_OBJECT:
                sizes[words[0]] = int(words[2])
        return sizes

    def contents(self, oids: Iterable[str]) -> dict[str, bytes]:
        """Return the contents of objects by their full ids.

        Raises:
            GitError: an object is not in this clone, or cannot be read.
        """
        with self.objects() as read_object:
            return {oid: b"".join(read_object(oid)) for oid in oids}


class TreeEntry(NamedTuple):
    """A file, a folder or a submodule in a tree.

    Attributes:
        mode: its mode, as octal digits.
        name: its name in the folder.
        oid: the id of its object.
    """

    mode: bytes
    name: bytes
    oid: str


def tree_entries(chunks: Iterable[bytes], tree: str) -> Iterator[TreeEntry]:
    """Yield what a tree has, up to the first entry that is broken.

    Args:
        chunks: the tree as git stores it, in pieces.
        tree: the tree's own id, which shows how long ids are.

    Raises:
        GitError: an entry is broken, or longer than any can be, as where this is not a tree.
    """
    digest_size = len(tree) // 2
    # the mode, a blank, the name, NUL, and the id as bytes
    pattern = re.compile(rb"([0-7]+) ([^\0]+)\0(.{%d})" % digest_size, re.DOTALL)
    rest = b""
    for chunk in chunks:
        content = rest + chunk
        start = 0
        while match := pattern.match(content, start):
            mode, name, digest = match.groups()
            yield TreeEntry(mode, name, digest.hex())
            start = match.end()

        rest = content[start:]
        if len(rest) > _LONGEST_ENTRY:
            break
    if rest:
        raise GitError(f"{short(tree)} is not a tree that can be read")


def is_one_question(name: str) -> bool:
    """Return whether git reads a name as one line of its input: without a line break or NUL."""
    return not _UNSAFE_IN_NAME.search(name)
