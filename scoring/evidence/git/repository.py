"""A git work tree, how one is made, and the questions about names, branches and objects that several modules ask."""

import os
import re
import shutil
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TypeVar

from scoring.errors import GitError, InputError, NotARepositoryError
from scoring.evidence.git.starter import OBJECT_WORDS, Git, as_lines, as_text, time_limit
from scoring.files import read_file, reason, refuse_special

TRUNK = "master"  # under the reference's rules, and of the repositories that are made here
_COMMIT = re.compile(rb"([0-9a-f]{40}|[0-9a-f]{64}) commit ")
_BRANCHES = ("refs/heads/", "refs/remotes/")
_REQUESTS = ("refs/pull/", "refs/merge-requests/", "refs/pull-requests/")
_REQUEST_HEAD = re.compile(
    r"/(?:pull|pulls|pr|prs|merge-requests|mr|pull-requests)/(\d{1,9})(?:/(?:head|from))?$"
)
_NO_NAME = b"0" * 40 + b"^{commit}\n"
_UNSAFE_IN_NAME = re.compile("[\0\n]")
OPENING_TIMEOUT = 30  # seconds for the first question to a repository, which is answered at once
MOST_FAILURES = 16  # questions that fail alone, after which the rest of a batch is left unanswered

# What git reads of a repository without asking what it is: it would wait for a FIFO in its place for ever.
_PLAIN_FILES = [
    *(
        "HEAD",
        "config",
        "config.worktree",
        "index",
        "packed-refs",
        "shallow",
        "objects/info/alternates",
    ),
    *("info/attributes", "info/grafts", "objects/info/commit-graph"),
    *("objects/info/commit-graphs/commit-graph-chain", "objects/pack/multi-pack-index"),
]
_SETTINGS = ("config", "config.worktree")
_DEEPEST = 10  # how often a file of settings may lead to another one, for git
_INCLUDES = r"^include(if\..*)?\.path$"

Q = TypeVar("Q")
A = TypeVar("A")


class GitRepository(Git):
    """A git work tree, asked in batches."""

    def __init__(self, directory: Path | str) -> None:
        """Open the work tree that ``directory`` is in; NotARepositoryError when in none, GitError without git."""
        super().__init__(Path(directory))
        refuse_pipes(self.directory)
        question = (
            "rev-parse",
            "--path-format=absolute",
            "--is-inside-work-tree",
            "--git-common-dir",
        )
        limit = min(OPENING_TIMEOUT, time_limit())
        answer = self.ask(*question, limit=limit)
        if answer.returncode and b"dubious ownership" in answer.stderr:
            trusted = Git(Path("/")).callers_setting("--get-all", "safe.directory").splitlines()
            self.settings = tuple(f"safe.directory={path}" for path in trusted)
            answer = self.ask(*question, limit=limit)
        inside, _, common_dir = answer.stdout.rstrip(b"\n").partition(b"\n")
        if answer.returncode or inside != b"true":
            bare = (
                not answer.returncode or b"safe.bareRepository" in answer.stderr
            )  # files of a checkout can make one
            why = (
                "it is a bare repository"
                if bare
                else as_text(answer.stderr).strip().partition("\n")[0]
            )
            others = (
                b"dubious ownership" in answer.stderr
                and "git config --global --add safe.directory DIR trusts it"
            )
            todo = others or "name the repository with --repo-dir"
            raise NotARepositoryError(f"{self.directory}: not a git work tree ({why}); {todo}")
        self.common_dir = Path(
            os.fsdecode(common_dir)
        )  # the repository itself, which all its work trees share
        _refuse_pipes_in(self.common_dir)

    @property
    def is_shallow(self) -> bool:
        """Whether history is cut off before its beginning."""
        return (self.common_dir / "shallow").exists()

    @staticmethod
    def of(repository: "Path | str | GitRepository") -> "GitRepository":
        """Return a repository that is open, or open the one that a directory is in, and raise as that does."""
        return repository if isinstance(repository, GitRepository) else GitRepository(repository)

    @cached_property
    def references(self) -> "list[tuple[str, str, str]]":
        """The branches, local and of remotes: tip, full name, and the target of a symbolic one, "" of another."""
        for folder, _, names in os.walk(self.common_dir / "refs"):
            for name in names:
                _refuse_pipe(Path(folder, name))
        answer = as_text(
            self.run("for-each-ref", "--format=%(objectname) %(refname) %(symref)", *_BRANCHES)
        )
        rows = (line.split(" ") for line in answer.split("\n") if line)
        return [(sha, ref, target) for sha, ref, target in rows]

    @cached_property
    def request_heads(self) -> "list[tuple[int, str]]":
        """The heads of pull and merge requests that were fetched, wherever: their numbers and tips."""
        answer = as_text(
            self.run("for-each-ref", "--format=%(objectname) %(refname)", *_REQUESTS, _BRANCHES[1])
        )
        rows = (line.split(" ") for line in answer.split("\n") if line)
        return [(int(m[1]), sha) for sha, ref in rows if (m := _REQUEST_HEAD.search(ref))]

    @property
    def top_level(self) -> Path:
        """The top of the work tree, a linked one's own."""
        answer = self.run("rev-parse", "--path-format=absolute", "--show-toplevel")
        return Path(os.fsdecode(answer.removesuffix(b"\n")))

    @property
    def branch(self) -> str:
        """The branch that is checked out; "" where none is."""
        return as_text(self.ask("symbolic-ref", "--quiet", "--short", "HEAD").stdout).removesuffix(
            "\n"
        )

    @property
    def remote_urls(self) -> dict[str, str]:
        """The URLs of the remotes by their names, as they are configured; of several URLs of one the first."""
        urls = reversed(
            [
                (key.removeprefix("remote."), url)
                for key, url in self.remotes
                if key.endswith(".url")
            ]
        )
        return {key.removesuffix(".url"): url for key, url in urls}

    @property
    def remotes(self) -> "list[tuple[str, str]]":
        """The settings of the repository that name the URLs of remotes (``remote.origin.url``), and these URLs."""
        answer = self.ask("config", "--local", "-z", "--get-regexp", r"^remote\..*\.(url|pushurl)$")
        rows = (
            (line.partition("\n") for line in as_text(answer.stdout).split("\0"))
            if not answer.returncode
            else ()
        )
        return [(key, url) for key, found, url in rows if found]

    @property
    def user_name(self) -> str:
        """The name that the caller's own settings give commits here; "" when they give none."""
        return self.callers_setting("--get", "user.name").strip()

    def resolve(self, names: Iterable[str]) -> dict[str, str | None]:
        """Resolve names (SHAs, branches, ``HEAD~1``), which cannot become options, to commit SHAs or None."""
        wanted = list(dict.fromkeys(names))
        found: dict[str, str | None] = dict.fromkeys(wanted)
        asked = [name for name in wanted if name and not _UNSAFE_IN_NAME.search(name)]
        while asked:
            answer = self.ask(
                "cat-file", "--batch-check", given=as_lines(f"{name}^{{commit}}" for name in asked)
            )
            lines = answer.stdout.split(b"\n")[:-1]
            for name, line in zip(asked, lines, strict=False):
                if m := _COMMIT.match(line):
                    found[name] = (
                        name if (sha := m[1].decode()) == name else sha
                    )  # one text, of which logs have many
            if not answer.returncode:
                break
            self.run("cat-file", "--batch-check", given=_NO_NAME)  # git itself works
            # Some names (an upstream that is not set, a path outside) make git give up: the first one unanswered.
            asked = asked[len(lines) + 1 :]
        return found

    def files_at(self, sha: str, folder: str, wanted: Callable[[str], bool]) -> dict[str, bytes]:
        """Return the ``wanted`` files directly in a folder of a commit, by name; "." is the top. GitError."""
        prefix = "" if folder == "." else folder + "/"
        listed = self.run("ls-tree", "-z", "--full-tree", sha, "--", *([prefix] if prefix else []))
        found: dict[str, bytes] = {}
        with self.objects() as content:
            for line in listed.split(b"\0")[:-1]:
                about, _, path = line.partition(b"\t")
                _, kind, oid = about.decode().split()
                name = as_text(path).removeprefix(prefix)
                if kind == "blob" and wanted(name):
                    try:
                        found[name] = b"".join(content(oid))
                    except GitError as e:
                        why = (
                            f"{prefix}{name} of {sha[:12]} is not in this clone, or cannot be read"
                        )
                        raise GitError(f"{self.directory}: {why}") from e
        return found

    def files_in(self, names: Iterable[str]) -> dict[str, str]:
        """Return the ids of the contents of files, each named as ``commit:path``; one that is not there is left out."""
        asked = [name for name in dict.fromkeys(names) if not _UNSAFE_IN_NAME.search(name)]
        answer = self.ask("cat-file", "--batch-check", given=as_lines(asked))
        rows = (line.rsplit(" ", 2) for line in as_text(answer.stdout).split("\n")[:-1])
        return {
            name: row[0] for name, row in zip(asked, rows, strict=False) if row[1:2] == ["blob"]
        }

    def sizes(self, oids: Iterable[str]) -> dict[str, int] | None:
        """Return how many bytes the objects have that are here, by ids in full; None when git gave up."""
        answer = self.ask("cat-file", "--batch-check", given=as_lines(oids))
        rows = (line.split() for line in answer.stdout.decode(errors="replace").splitlines())
        return (
            None
            if answer.returncode
            else {row[0]: int(row[2]) for row in rows if len(row) == OBJECT_WORDS}
        )

    def contents(self, oids: Iterable[str]) -> dict[str, bytes]:
        """Return what objects hold, by their ids in full; GitError for one that is not here, or cannot be read."""
        with self.objects() as content:
            return {oid: b"".join(content(oid)) for oid in oids}


def answered(
    ask: Callable[[Sequence[Q]], Mapping[Q, A] | None],
    questions: Iterable[Q],
    most_failures: int = MOST_FAILURES,
) -> dict[Q, A]:
    """Return the answers to all questions that have one; a batch that fails (None) is asked again in halves."""
    found: dict[Q, A] = {}
    first = list(dict.fromkeys(questions))
    waiting = [first] if first else []
    failures = 0
    while waiting and failures < most_failures:
        batch = waiting.pop()
        answers = ask(batch)
        if answers is not None:
            found.update(answers)
        elif len(batch) == 1:
            failures += 1
        else:
            middle = len(batch) // 2
            waiting += [batch[middle:], batch[:middle]]
    return found


def refuse_pipes(directory: Path) -> None:
    """Raise GitError where the repository of a work tree has a FIFO, or a device, in place of a file that git reads."""
    here = Path(os.path.abspath(directory))
    if top := next(
        (folder for folder in (here, *here.parents) if os.path.lexists(folder / ".git")), None
    ):
        _refuse_pipes_in(top / ".git")
        _refuse_pipe(top / ".gitattributes")


def _refuse_pipes_in(repository: Path) -> None:
    for path in (
        repository,
        *(repository / name for name in _PLAIN_FILES),
        *(repository / "refs/replace").rglob("*"),
    ):
        _refuse_pipe(path)
    for name in _SETTINGS:
        _refuse_included(repository / name, _DEEPEST)


def _refuse_pipe(path: Path) -> None:
    try:
        refuse_special(path)
    except (FileNotFoundError, NotADirectoryError):
        pass
    except OSError as e:
        raise GitError(f"{path}: {reason(e)}; git would wait for it for ever") from e


def _refuse_included(settings: Path, deepest: int) -> None:
    """Raise GitError where settings of git lead to a FIFO, by themselves or by what they lead to."""
    try:
        if not deepest or b"include" not in read_file(settings).lower():
            return
    except InputError:
        return
    asked = (
        "config",
        "--file",
        os.path.abspath(settings),
        "--no-includes",
        "-z",
        "--get-regexp",
        _INCLUDES,
    )
    for row in Git(Path("/")).ask(*asked, limit=OPENING_TIMEOUT).stdout.split(b"\0"):
        if named := os.fsdecode(row.partition(b"\n")[2]):
            path = settings.parent / os.path.expanduser(named)
            _refuse_pipe(path)
            _refuse_included(path, deepest - 1)


# The directory is trusted because its repository is made here; its owner may differ on a mounted file system.
_OWN_SETTINGS = ("core.logAllRefUpdates=false", "safe.directory=*")
_NAMED = re.compile(rb"^(?:[0-9a-f]{64}|[0-9a-f]{40})\b", re.MULTILINE)
_HEAD_LIMIT = 4096


def import_repository(directory: Path, stream: bytes) -> None:
    """Make a git work tree of a new directory by a ``git fast-import`` stream that holds the trunk; GitError."""
    git = Git(directory, _OWN_SETTINGS)
    git.run("init", "--quiet", "--template=", "--object-format=sha1", f"--initial-branch={TRUNK}")
    git.run("fast-import", "--quiet", "--done", given=stream)
    git.run("reset", "--quiet", "--hard", f"refs/heads/{TRUNK}")


def check_out(source: Path, directory: Path) -> None:
    """Make a git work tree in a new directory of a bundle or a bare repository, which may be hostile.

    Only objects and refs are copied, and links become plain files. GitError, or OSError when it cannot be copied.
    """
    git = Git(directory, (*_OWN_SETTINGS, "core.symlinks=false", "fetch.fsckObjects=false"))
    directory.mkdir(parents=True)
    head = _copied(source, git) if source.is_dir() else _unbundled(source, git)
    if head:
        git.run("symbolic-ref", "HEAD", head)
    if not git.ask("rev-parse", "--verify", "--quiet", "HEAD").returncode:
        git.run("reset", "--quiet", "--hard", "HEAD")


def _copied(source: Path, git: Git) -> str:
    """Copy a bare repository, and return the branch that its ``HEAD`` names; "" where it names none."""
    git.run("init", "--quiet", "--template=", f"--object-format={_object_format(source)}")
    own = git.directory / ".git"
    ignored = shutil.ignore_patterns("alternates", "http-alternates")
    shutil.copytree(source / "objects", own / "objects", dirs_exist_ok=True, ignore=ignored)
    if (source / "refs").is_dir():
        shutil.copytree(source / "refs", own / "refs", dirs_exist_ok=True)
    if (source / "packed-refs").is_file():
        shutil.copyfile(source / "packed-refs", own / "packed-refs")
    with open(source / "HEAD", "rb") as f:
        line = os.fsdecode(f.readline(_HEAD_LIMIT)).strip()
    name = line.removeprefix("ref: ")
    return name if line.startswith("ref: refs/heads/") and ".." not in name else ""


def _unbundled(source: Path, git: Git) -> str:
    """Unpack a bundle, and return the branch to check out, ``main`` and ``master`` first; "" without any."""
    listed = git.run("bundle", "list-heads", os.fspath(source))
    refs = [
        line.split(" ", 1) for line in listed.decode(errors="replace").splitlines() if " " in line
    ]
    object_format = "sha256" if refs and len(refs[0][0]) == 64 else "sha1"
    git.run("init", "--quiet", "--template=", f"--object-format={object_format}")
    git.run("bundle", "unbundle", os.fspath(source))
    at = {name: sha for sha, name in refs}
    lines = "".join(
        f"create {name} {sha}\n" for name, sha in at.items() if name.startswith("refs/")
    )
    git.run("update-ref", "--stdin", given=lines.encode())
    branches = [
        name
        for name, sha in at.items()
        if name.startswith("refs/heads/") and sha == at.get("HEAD", sha)
    ]
    usual = [name for name in ("refs/heads/main", "refs/heads/master") if name in branches]
    return (usual or branches or [""])[0]


def _object_format(bare: Path) -> str:
    """Return how the objects of a bare repository are named, as its refs show: its settings are not obeyed."""
    for path in (bare / "packed-refs", *(bare / "refs").rglob("*")):
        if path.is_file():
            with open(path, "rb") as f:
                if found := _NAMED.search(f.read(_HEAD_LIMIT)):
                    return "sha256" if len(found[0]) == 64 else "sha1"
    return "sha1"
