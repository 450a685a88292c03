"""Which trunk commits make the same change as a pair of commits does, and what merging would change."""

import contextlib
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from hashlib import blake2b
from pathlib import Path

from scoring.errors import GitError
from scoring.evidence.git.changes import Change, Pair, changes, line_of
from scoring.evidence.git.graph import CommitGraph
from scoring.evidence.git.repository import GitRepository, answered
from scoring.evidence.git.starter import Git, as_lines
from scoring.files import temporary_directory

_PATCH = (
    *(
        "diff-tree",
        "--stdin",
        "-r",
        "-p",
        "--root",
        "--always",
        "--full-index",
        "--no-renames",
        "--no-color",
    ),
    *(
        "--unified=3",
        "--inter-hunk-context=0",
        "--diff-algorithm=myers",
        "--src-prefix=a/",
        "--dst-prefix=b/",
    ),
    *("--no-ext-diff", "--no-textconv", "--submodule=short", "--ignore-submodules=none"),
)
_MERGE = ("merge-tree", "--write-tree", "--no-messages", "--name-only")
_HUNK = re.compile(rb"@@ -\d+(?:,(\d+))? \+\d+(?:,(\d+))? @@")
_HEADER = re.compile(rb"[0-9a-f]{40}(?:[0-9a-f]{24})?")
_VERSION = re.compile(rb"git version (\d+)\.(\d+)")
_MERGE_BATCHES = (2, 39)  # the first git that merges many pairs in one process
MOST_COMPARED = (
    200_000  # commits of the trunk, newest first, that are compared with what is beside it
)


@contextlib.contextmanager
def isolated_repository(repository: GitRepository, sha256: bool = False) -> Iterator[Git]:
    """Give a temporary bare repository with the user's objects, and none of the user's configuration or hooks."""
    with contextlib.ExitStack() as stack:
        try:
            path = stack.enter_context(temporary_directory("git"))
            (path / "objects/info").mkdir(parents=True)
            (path / "refs").mkdir()
            (path / "HEAD").write_text("ref: refs/heads/none\n")
            extension = "[extensions]\n\tobjectFormat = sha256\n" if sha256 else ""
            config = f"[core]\n\trepositoryFormatVersion = {len(extension) and 1}\n\tbare = true\n{extension}"
            (path / "config").write_text(config + "[merge]\n\trenameLimit = 1000\n")
            (path / "objects/info/alternates").write_bytes(
                _quoted(repository.common_dir / "objects") + b"\n"
            )
        except OSError as e:
            raise GitError(
                f"no temporary folder for git: {e}; set TMPDIR to one that can be written to"
            ) from e
        yield Git(path, ("safe.bareRepository=all",))


def patch_ids(isolated: Git, pairs: Iterable[Pair]) -> dict[Pair, str]:
    """Return what the patch of each pair is known by, as ``git patch-id`` does, without those it cannot compare."""

    def ask(batch: Sequence[Pair]) -> Mapping[Pair, str] | None:
        try:
            lines = isolated.lines(*_PATCH, given=as_lines(map(line_of, batch)))
            return dict(zip(batch, _patch_ids(lines), strict=True))
        except GitError:
            return None

    return answered(ask, pairs)


def git_version(git: Git) -> tuple[int, int]:
    """Return the version of git, as ``(2, 39)``."""
    m = _VERSION.match(git.ask("version").stdout)
    return (int(m[1]), int(m[2])) if m else (0, 0)


def merged_trees(
    isolated: Git, version: tuple[int, int], tip: str, shas: Sequence[str]
) -> dict[str, str]:
    """Return the tree of ``tip`` after merging each commit, "" on a conflict, without those that git cannot merge."""

    def ask(batch: Sequence[str]) -> Mapping[str, str] | None:
        if version >= _MERGE_BATCHES:
            answer = isolated.ask(
                *_MERGE, "--stdin", given=as_lines(f"{tip} {sha}" for sha in batch)
            )
            return (
                None if answer.returncode else dict(zip(batch, _merged(answer.stdout), strict=True))
            )
        trees = {}
        for sha in batch:
            answer = isolated.ask(*_MERGE, "-z", tip, sha)
            if answer.returncode not in (0, 1):
                return None
            trees[sha] = "" if answer.returncode else answer.stdout.split(b"\0")[0].decode().strip()
        return trees

    return answered(ask, shas)


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
    digest = blake2b(digest_size=16)
    old, new, index, started = 0, 0, b"", False
    for line in lines:
        if old > 0 or new > 0:
            mark = line[:1]
            if mark == b"\\":
                continue
            old -= mark != b"+"
            new -= mark != b"-"
            digest.update(line.translate(None, b" \t\r") + b"\n")
        elif _HEADER.fullmatch(line):
            if started:
                yield digest.hexdigest()
            digest, started = blake2b(digest_size=16), True
        elif m := _HUNK.match(line):
            old, new = (1 if count is None else int(count) for count in m.groups())
        elif line.startswith(b"index "):
            index = line + b"\n"
        elif not line.startswith(b"\\"):
            digest.update((index if line.startswith(b"Binary files ") else b"") + line + b"\n")
    if started:
        yield digest.hexdigest()


def same_changes(
    repository: GitRepository,
    graph: CommitGraph,
    isolated: Git,
    wanted: Mapping[str, Sequence[Pair]],
    changed: Mapping[Pair, Sequence[Change]],
) -> tuple[dict[Pair, list[str]], set[str]]:
    """Return the trunk commits, newest first, that change the same as each pair, and of which that is unknown."""
    pairs = [pair for some in wanted.values() for pair in some if changed.get(pair)]
    if not pairs:
        return {}, set()
    shapes = {pair: _shape(changed[pair]) for pair in pairs}
    alike: dict[str, list[str]] = {shape: [] for shape in shapes.values()}
    for sha, shape in _trunk_shapes(repository, graph, wanted).items():
        if shape in alike:
            alike[shape].append(sha)
    likely = {pair: alike[shapes[pair]] for pair in pairs if alike[shapes[pair]]}
    of_trunk = {sha: (sha, graph.first_parent(sha)) for some in likely.values() for sha in some}
    known = patch_ids(isolated, (*of_trunk.values(), *likely))
    unread = {
        p[0]
        for p, some in likely.items()
        if not known.keys() >= {p, *(of_trunk[sha] for sha in some)}
    }
    same = {
        p: [sha for sha in some if known.get(of_trunk[sha]) == known.get(p, "")]
        for p, some in likely.items()
    }
    return same, unread


def _trunk_shapes(
    repository: GitRepository, graph: CommitGraph, shas: Iterable[str]
) -> dict[str, str]:
    """Return the shape of each trunk commit, no merge, that not all of some commits contain; newest first."""
    oldest = max(graph.newest_mainline.get(sha, len(graph.mainline)) for sha in shas)
    newest = (sha for sha in graph.trunk[:MOST_COMPARED] if graph.introduced[sha] < oldest)
    found = changes(
        repository,
        [(sha, graph.first_parent(sha)) for sha in newest if len(graph.parents[sha]) < 2],
    )
    return {sha: _shape(changed) for (sha, _), changed in found.items()}


def _shape(changed: Iterable[Change]) -> str:
    """Return a digest of which paths changed in which way; equal for equal patches."""
    text = "\0".join(part for change in changed for part in (change.status, change.path))
    return blake2b(text.encode("utf-8", "surrogateescape"), digest_size=8).hexdigest()
