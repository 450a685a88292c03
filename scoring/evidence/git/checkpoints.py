"""Checkpoints in git: what a tool that records agents (Entire) wrote down beside a commit, on a branch or in refs.

``docs/EVIDENCE.md``, "Checkpoints in git", has the layouts. Nothing is checked out or fetched; odd values are ignored.
"""

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import msgspec

from scoring.errors import Warn, silent
from scoring.evidence.git.repository import GitRepository
from scoring.evidence.git.starter import as_lines

BRANCH = "entire/checkpoints/v1"
REFS = "refs/entire/checkpoints/"

METADATA_LIMIT = 1 << 20  # bytes of the largest metadata file that is read
ALL_METADATA_LIMIT = 256 << 20  # bytes of metadata that are read in all
MOST_CHECKPOINTS = (
    50_000  # of one branch, those with the lowest ids; of refs of their own, the highest
)
MOST_BRANCHES = 16  # the local one, origin's, and those of further remotes by name
COUNT_LIMIT = 1 << 40  # the largest number that metadata may state
TEXT_LIMIT = 256  # characters of the longest text that is taken from metadata
_PATH_LIMIT, _MOST_PATHS = 4096, 10_000
_METADATA = "metadata.json"
_REFS = (f"refs/heads/{BRANCH}", f"refs/remotes/origin/{BRANCH}")
_REF = re.compile(rf"refs/(?:heads/|remotes/(?:.*/)?){BRANCH}")
_NAMES = rb"(metadata\.json|transcript\.jsonl|full\.jsonl(?:\.[0-9]{3,9})?)"
_ENTRY = re.compile(
    rb"100(?:644|755) blob ([0-9a-f]{40,64})\t([0-9a-f]{2})/([0-9a-f]{10})/(?:([0-9]{1,9})/)?"
    + _NAMES
)
_IN_TREE = re.compile(rb"(?:100(?:644|755) " + _NAMES + rb"|40000 ([0-9]{1,9}))")
_ULID = "[0-9A-HJKMNP-TV-Z]{26}"
_OWN_REF = re.compile(rf"([0-9a-f]{{40,64}}) {REFS}(..)/([0-9a-f]{{12}}|{_ULID})")
_DATE = re.compile(r"\A[0-9]{4}-[0-9]{2}-[0-9]{2}-(?=.)")
_LINE = re.compile(
    rf"^[ \t]*Entire-Checkpoint:[ \t]*([0-9a-f]{{12}}|{_ULID})[ \t]*\r?$", re.MULTILINE
)


class TokenTotals(NamedTuple):
    """The tokens that a checkpoint states for one session, and in how many responses of the model."""

    input: int = 0
    output: int = 0
    cache_read: int = 0
    cache_creation: int = 0
    responses: int = 0


class CheckpointSession(NamedTuple):
    """One session of a checkpoint; "" and None where a thing is not stated."""

    session_id: str = ""  # without the date that older ones begin with
    agent: str = ""  # its name, which is shown and never believed
    created_at: str = ""
    tokens: TokenTotals | None = None
    start: int | None = (
        None  # how many lines (or messages) of the transcript are from before this checkpoint
    )
    path: str = ""  # of its transcript, as ``git show`` takes it (``entire/checkpoints/v1:ab/cdef012345/0/full.jsonl``)
    blobs: tuple[
        str, ...
    ] = ()  # the object ids of the transcript, in order; a long one is in several
    size: int = 0  # the bytes of these that are here
    missing: bool = False  # whether one of these is not in this clone


class Checkpoint(NamedTuple):
    """One checkpoint: ``id`` is 12 hex digits or a ULID, ``sessions`` are in the order of their folders."""

    id: str
    files_touched: tuple[str, ...] = ()
    sessions: tuple[CheckpointSession, ...] = ()


_Folder = dict[str, str]  # the object ids of its files, by name
_Branch = dict[
    str, dict[str, _Folder]
]  # of each checkpoint, by number as it is written; "" is the checkpoint's own


def checkpoint_ids(message: str) -> tuple[str, ...]:
    """Return the ids that a commit message names in lines ``Entire-Checkpoint: <12 hex or a ULID>``, each once."""
    return tuple(dict.fromkeys(_LINE.findall(message)))


def has_own_ref(name: str) -> bool:
    """Return whether the id of a checkpoint is a ULID: it is in a ref of its own, which a plain clone does not have."""
    return re.fullmatch(_ULID, name) is not None


def is_in_git(path: str) -> bool:
    """Return whether the path of a transcript is one that ``git show`` takes, and no file."""
    return path.startswith((f"{BRANCH}:", REFS))


def read_checkpoints(
    repository: GitRepository, warn: Warn = silent, trusted: bool = False
) -> Mapping[str, Checkpoint]:
    """Return the checkpoints of a repository by ascending id; ``warn`` takes a line for each place that is skipped.

    Of several places the one with more, then larger transcripts counts, then the local branch. Where only what is
    ``trusted`` counts, that is the local branch and origin's of this very name.
    """
    found: dict[str, Checkpoint] = {}
    for checkpoint in _read(repository, warn, trusted):
        found[checkpoint.id] = max(found.get(checkpoint.id, checkpoint), checkpoint, key=_extent)
    return {name: found[name] for name in sorted(found)}


def _tips(repository: GitRepository, trusted: bool) -> list[str]:
    refs = {
        ref: sha
        for sha, ref, _ in repository.references
        if (ref in _REFS if trusted else _REF.fullmatch(ref))
    }
    order = sorted(refs, key=lambda ref: (_REFS.index(ref) if ref in _REFS else len(_REFS), ref))
    return list(dict.fromkeys(refs[ref] for ref in order[:MOST_BRANCHES]))


def _extent(checkpoint: Checkpoint) -> tuple[int, int, int]:
    there = [session for session in checkpoint.sessions if session.blobs and not session.missing]
    return len(there), sum(session.size for session in there), len(checkpoint.sessions)


def _read(repository: GitRepository, warn: Warn, trusted: bool) -> list[Checkpoint]:
    tips, trees = _tips(repository, trusted), _own_trees(repository, warn)
    branches = [*(_listed(repository, tip, warn) for tip in tips), _in_trees(repository, trees)]
    folders = [
        folder for branch in branches for found in branch.values() for folder in found.values()
    ]
    if not folders:
        return []
    oids = dict.fromkeys(oid for folder in folders for oid in folder.values())
    sizes = _sizes(repository, [*tips, *trees.values()], oids)
    wanted, length = list[str](), 0
    for oid in dict.fromkeys(folder[_METADATA] for folder in folders if _METADATA in folder):
        if (
            size := sizes.get(oid, METADATA_LIMIT + 1)
        ) <= METADATA_LIMIT and length + size <= ALL_METADATA_LIMIT:
            length += size
            wanted.append(oid)
    documents = {oid: _document(content) for oid, content in repository.contents(wanted).items()}
    places = [*(f"{BRANCH}:{{0}}/{{1}}/" for _ in tips), f"{REFS}{{2}}/{{0}}{{1}}:"]
    return [
        _checkpoint(
            name, place.format(name[:2], name[2:], name[-2:]), branch[name], sizes, documents
        )
        for place, branch in zip(places, branches, strict=True)
        for name in sorted(branch)
    ]


def _own_trees(repository: GitRepository, warn: Warn) -> dict[str, str]:
    """Return the trees of the checkpoints in refs of their own, by id."""
    answer = repository.ask("for-each-ref", "--format=%(tree) %(refname)", REFS)
    if answer.returncode:
        warn(
            f"checkpoints {REFS}: {' '.join(answer.stderr.decode(errors='replace').split())}; skipped"
        )
        return {}
    rows = filter(
        None, map(_OWN_REF.fullmatch, answer.stdout.decode(errors="replace").splitlines())
    )
    found = {m[3]: m[1] for m in rows if m[3].endswith(m[2])}
    if len(found) > MOST_CHECKPOINTS:
        warn(f"checkpoints {REFS}: more than {MOST_CHECKPOINTS}; the older ones are skipped")
    return {name: found[name] for name in sorted(found)[-MOST_CHECKPOINTS:]}


def _in_trees(repository: GitRepository, trees: Mapping[str, str]) -> _Branch:
    """List the files of the layout in trees, a checkpoint each; a tree that is not here has none."""
    top = _entries(repository, trees.values())
    below = _entries(
        repository, [oid for found in top.values() for name, oid in found.items() if name.isdigit()]
    )
    return {
        name: {"": {file: oid for file, oid in top[tree].items() if not file.isdigit()}}
        | {
            number: below[oid]
            for number, oid in top[tree].items()
            if number.isdigit() and oid in below
        }
        for name, tree in trees.items()
        if tree in top
    }


def _entries(repository: GitRepository, trees: Iterable[str]) -> dict[str, _Folder]:
    """Return the files and the numbered folders in trees that are here, by name, as git writes them."""
    wanted = list(dict.fromkeys(trees))
    found: dict[str, _Folder] = {}
    for tree, content in repository.contents((wanted and repository.sizes(wanted)) or ()).items():
        folder, at = found.setdefault(tree, {}), 0
        while (end := content.find(b"\0", at)) > 0:
            if m := _IN_TREE.fullmatch(content, at, end):
                folder[(m[1] or m[2]).decode()] = content[end + 1 : end + 1 + len(tree) // 2].hex()
            at = end + 1 + len(tree) // 2
    return found


def _listed(repository: GitRepository, tip: str, warn: Warn) -> _Branch:
    """List the files of the layout at a commit; names that are not of it are passed over."""
    answer = repository.ask("ls-tree", "-r", "-z", "--full-tree", tip)
    if answer.returncode:
        why = " ".join(answer.stderr.decode(errors="replace").split())
        warn(f"checkpoints {BRANCH} at {tip[:12]}: {why or 'cannot be listed'}; skipped")
        return {}
    found: _Branch = {}
    for line in answer.stdout.split(b"\0"):
        if m := _ENTRY.fullmatch(line):
            oid, first, rest, number, name = (part.decode() for part in m.groups(b""))
            if (first + rest) not in found and len(found) >= MOST_CHECKPOINTS:
                warn(
                    f"checkpoints {BRANCH} at {tip[:12]}: more than {MOST_CHECKPOINTS}; the others are skipped"
                )
                break
            found.setdefault(first + rest, {}).setdefault(number, {})[name] = oid
    return found


def _sizes(repository: GitRepository, tips: Sequence[str], oids: Collection[str]) -> dict[str, int]:
    sizes = repository.sizes(oids)
    if sizes is None:  # a git that gives up on the first object that it would have to fetch
        trees = as_lines(f"{tip}^{{tree}}" for tip in tips)
        listing = repository.ask("rev-list", "--objects", "--missing=print", "--stdin", given=trees)
        gone = {line[1:].decode() for line in listing.stdout.split(b"\n") if line.startswith(b"?")}
        sizes = repository.sizes([oid for oid in oids if oid not in gone])
    return sizes or {}


def _checkpoint(
    name: str,
    place: str,
    folders: Mapping[str, _Folder],
    sizes: Mapping[str, int],
    documents: Mapping[str, Mapping[str, Any]],
) -> Checkpoint:
    numbers = sorted(
        (number for number in folders if number), key=lambda number: (int(number), number)
    )
    about = {
        number: documents.get(folder.get(_METADATA, ""), {}) for number, folder in folders.items()
    }
    sessions = [_session(f"{place}{n}/", about[n], folders[n], sizes) for n in numbers]
    whole = bool(sessions) and all(session.blobs for session in sessions)
    above = folders.get("", {}).keys() - {_METADATA, "transcript.jsonl" if whole else _METADATA}
    if not numbers or above:  # the older layout keeps a transcript above
        top = _session(place, about.get("", {}), folders.get("", {}), sizes)
        bare = next((i for i, session in enumerate(sessions) if not session.blobs), None)
        if bare is None or top.session_id:
            sessions.insert(0, top)
        else:
            sessions[bare] = sessions[bare]._replace(
                path=top.path, blobs=top.blobs, size=top.size, missing=top.missing
            )
    touched = _paths(about.get("", {})) or [
        path for number in numbers for path in _paths(about[number])
    ]
    known = tuple(session for session in sessions if session.session_id or session.blobs)
    return Checkpoint(name, tuple(dict.fromkeys(touched)), known)


def _session(
    place: str, said: Mapping[str, Any], folder: _Folder, sizes: Mapping[str, int]
) -> CheckpointSession:
    names = sorted(
        (name for name in folder if name.startswith("full.")), key=lambda name: int(name[11:] or 0)
    )
    names = names or [name for name in ("transcript.jsonl",) if name in folder]
    blobs = tuple(folder[name] for name in names)
    start = _number(said.get("checkpoint_transcript_start"))
    return CheckpointSession(
        session_id=_DATE.sub("", _text(said.get("session_id")), count=1),
        agent=_text(said.get("agent")),
        created_at=_text(said.get("created_at")),
        tokens=None if start is None else _tokens(said.get("token_usage")),
        start=_number(said.get("transcript_lines_at_start")) if start is None else start,
        path=f"{place}{names[0]}" if names else "",
        blobs=blobs,
        size=sum(sizes.get(oid, 0) for oid in blobs),
        missing=any(oid not in sizes for oid in blobs),
    )


_TOKEN_KEYS = (
    "input_tokens",
    "output_tokens",
    "cache_read_tokens",
    "cache_creation_tokens",
    "api_call_count",
)


def _document(content: bytes) -> Mapping[str, Any]:
    try:
        return msgspec.json.decode(content, type=dict[str, Any])
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return {}


def _text(value: object) -> str:
    return (
        value if isinstance(value, str) and len(value) <= TEXT_LIMIT and value.isprintable() else ""
    )


def _number(value: object) -> int | None:
    return value if type(value) is int and 0 <= value <= COUNT_LIMIT else None


def _tokens(said: object) -> TokenTotals | None:
    """Return the tokens that are stated; None when none are, or one is no number that it could be."""
    numbers = (
        {key: _number(said[key]) for key in _TOKEN_KEYS if key in said}
        if isinstance(said, dict)
        else {}
    )
    if not numbers or None in numbers.values():
        return None
    return TokenTotals(*(numbers.get(key) or 0 for key in _TOKEN_KEYS))


def _paths(said: Mapping[str, Any]) -> list[str]:
    touched = said.get("files_touched")
    paths = touched[:_MOST_PATHS] if isinstance(touched, list) else []
    return [
        path
        for path in paths
        if isinstance(path, str) and 0 < len(path) <= _PATH_LIMIT and "\0" not in path
    ]
