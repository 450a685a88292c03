"""What git says of real repositories, whatever anybody configured: names, order, changed files."""

import json
import os
import re
import shutil
import signal
import stat
import subprocess
import threading
from collections.abc import Generator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from helpers.doors import watched_doors
from helpers.repos import START, Repo
from helpers.waiting import becomes, is_running

from scoring.errors import GitError, NotARepositoryError
from scoring.evidence.git.repository import GitRepository
from scoring.evidence.git.walk import ShownCommit, shown_commits, trunk_commits

HOUR = 3_600
SOMEBODY = 65_534
"""The id of a user who is not the one that runs the tests."""

WHO = f"author A <a@x> {START} +0000\ncommitter C <c@x> {START} +0000"
SIGNATURE = (
    "gpgsig -----BEGIN PGP SIGNATURE-----\n \n AAAA\n -----END PGP SIGNATURE-----"
)
EMPTY_TREE = "4b825dc642cb6eb9a060e54bf8d69288fbee4904"

as_root = pytest.mark.skipif(
    os.geteuid() != 0, reason="only root can give a repository to somebody else"
)


def script(path: Path, *lines: str) -> Path:
    path.write_text("\n".join(["#!/bin/sh", *lines, ""]))
    path.chmod(0o755)
    return path


def give_away(path: Path) -> None:
    """Make somebody else the owner of a directory and of all that is in it."""
    for part in [path, *path.rglob("*")]:
        os.chown(part, SOMEBODY, SOMEBODY, follow_symlinks=False)


class Walked(NamedTuple):
    sha: str
    parents: tuple[str, ...]
    subject: str
    message: str


def walked(repository: GitRepository, tip: str) -> list[Walked]:
    return [
        Walked(commit.sha, commit.parents, commit.subject, commit.message)
        for commit in trunk_commits(repository, tip, "--date-order")
    ]


@dataclass(frozen=True)
class Sample:
    """A repository with settings that could change git's output, and the right output."""

    path: Path
    resolved: dict[str, str | None]
    trunk: list[Walked]
    shown: dict[str, ShownCommit]

    def check(self, directory: Path | None = None) -> None:
        """Ask everything, and compare it with what was known when the repository was made."""
        repository = GitRepository(directory or self.path)
        order = [commit.sha for commit in self.trunk]
        assert repository.resolve(self.resolved) == self.resolved
        assert walked(repository, order[0]) == self.trunk
        assert shown_commits(repository, self.shown) == self.shown


@pytest.fixture(scope="session")
def original(tmp_path_factory: pytest.TempPathFactory) -> Sample:
    repo = Repo(tmp_path_factory.mktemp("sample") / "repo")
    files = {
        "a.txt": "line\n" * 20,
        "d/b.txt": "b\n" * 20,
        "d/c.txt": "c\n" * 20,
        "caf\u00e9.txt": "x",
    }
    root = repo.commit(files, "first\n")
    moved = {
        "a.txt": None,
        "z.txt": "line\n" * 20 + "more\n",
        "d/c.txt": None,
        "d/y.txt": "c\n" * 20 + "more\n",
    }
    renamed = repo.commit(moved, "Subject caf\u00e9\n\nReverts caf\u00e9\n")
    repo.branch("side", root)
    on_side = repo.commit({"s.txt": "s", "d/t.txt": "t"}, "side work\n")
    repo.checkout("master")
    on_trunk = repo.commit({"d/b.txt": "b\n" * 21}, "trunk work\n")
    clean = repo.merge("side", "join\n")
    repo.branch("other")
    on_other = repo.commit({"o.txt": "o"}, "other work\n")
    repo.checkout("master")
    mixed = repo.merge("other", "mixed\n", files={"d/b.txt": "neither\n"})
    repo.git("update-index", "--add", "--cacheinfo", f"160000,{root},sub")
    (repo.path / "sub").mkdir()
    linked = repo.commit(
        {".gitmodules": '[submodule "sub"]\n\tpath = sub\n\turl = /nowhere\n'},
        "submodule\n",
    )
    date = f"{START + 8 * HOUR} +0000"
    signed_by = f"author A <a@x> {date}\ncommitter C <c@x> {date}\n{SIGNATURE}"
    signed = repo.raw_commit(signed_by, "signed\n")
    repo.tag("light", root)
    repo.tag("annotated", on_side, "a note")
    repo.git("notes", "add", "-m", "a note", signed)
    names = {
        root: root,
        root[:8]: root,
        "side": on_side,
        "light": root,
        "annotated": on_side,
        "nothing": None,
    }
    return Sample(
        repo.path,
        names | {"master": signed, "HEAD~1": linked, "HEAD~2^2": on_other},
        [
            Walked(signed, (linked,), "signed", ""),
            Walked(linked, (mixed,), "submodule", ""),
            Walked(mixed, (clean, on_other), "mixed", ""),
            Walked(on_other, (clean,), "other work", ""),
            Walked(clean, (on_trunk, on_side), "join", ""),
            Walked(on_trunk, (renamed,), "trunk work", ""),
            Walked(on_side, (root,), "side work", ""),
            Walked(
                renamed,
                (root,),
                "Subject caf\u00e9",
                "Subject caf\u00e9\n\nReverts caf\u00e9\n",
            ),
            Walked(root, (), "first", ""),
        ],
        {
            root: ShownCommit(
                START, ("a.txt", '"caf\\303\\251.txt"', "d/b.txt", "d/c.txt")
            ),
            renamed: ShownCommit(START + HOUR, ("d/y.txt", "z.txt")),
            on_side: ShownCommit(START + 2 * HOUR, ("d/t.txt", "s.txt")),
            on_trunk: ShownCommit(START + 3 * HOUR, ("d/b.txt",)),
            clean: ShownCommit(START + 4 * HOUR, ()),
            mixed: ShownCommit(START + 6 * HOUR, ("d/b.txt",)),
            linked: ShownCommit(START + 7 * HOUR, (".gitmodules", "sub")),
            signed: ShownCommit(START + 8 * HOUR, ()),
        },
    )


@pytest.fixture
def sample(original: Sample, tmp_path: Path) -> Sample:
    """A copy of the sample that a test may spoil."""
    shutil.copytree(original.path, tmp_path / "sample", symlinks=True)
    return Sample(
        tmp_path / "sample", original.resolved, original.trunk, original.shown
    )


@pytest.fixture
def evil(tmp_path: Path) -> Path:
    """A script that leaves a file ``ran`` when it runs, with hooks and an order of files."""
    path = script(
        tmp_path / "evil", f"touch '{tmp_path}/ran'", "echo evil >&2", "exec cat"
    )
    (tmp_path / "hooks").mkdir()
    for name in ("post-index-change", "reference-transaction", "fsmonitor-watchman"):
        (tmp_path / "hooks" / name).symlink_to(path)
    (tmp_path / "order").write_text("z.txt\nd/c.txt\n")
    return path


class TestOpening:
    def test_a_linked_work_tree(self, sample: Sample) -> None:
        linked = sample.path.parent / "linked"
        Repo.at(sample.path).git(
            "worktree", "add", "-q", "--detach", str(linked), "light"
        )
        sample_names = {
            name: sha
            for name, sha in sample.resolved.items()
            if not name.startswith("HEAD")
        }
        repository = GitRepository(linked)
        assert repository.resolve([*sample_names, "HEAD"]) == sample_names | {
            "HEAD": sample.resolved["light"]
        }
        assert walked(repository, sample.trunk[0].sha) == sample.trunk
        assert shown_commits(repository, sample.shown) == sample.shown
        assert repository.common_dir == (sample.path / ".git").resolve()

    @pytest.mark.parametrize("kind", ["a submodule", "apart", "of a bare one"])
    def test_a_work_tree_apart_from_its_repository(
        self, tmp_path: Path, kind: str
    ) -> None:
        inner = Repo(tmp_path / "inner")
        inner.commit({"a": "1"})
        outer = Repo(tmp_path / "outer")
        place = outer.path / "sub"
        if kind == "a submodule":
            local = ("-c", "protocol.file.allow=always")
            outer.git(*local, "submodule", "-q", "add", str(inner.path), "sub")
        elif kind == "apart":
            separate = f"--separate-git-dir={tmp_path / 'git'}"
            outer.git("clone", "-q", separate, str(inner.path), "sub")
        else:
            bare = str(tmp_path / "bare")
            outer.git("clone", "-q", "--bare", str(inner.path), bare)
            Repo.at(Path(bare)).git("worktree", "add", "-q", "-b", "x", str(place))
        tops = GitRepository(place).work_tree_tops
        assert tops[-1] == str(place)
        assert tops[:-1] == ([bare] if kind == "of a bare one" else [])

    @pytest.mark.parametrize(
        "name",
        [
            "-h",
            "--help",
            "with space",
            "'quoted'",
            "line\nend",
            "\udcff",
            "$(touch ran)",
        ],
    )
    def test_a_folder_of_any_name(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
    ) -> None:
        sha = Repo(tmp_path / name).commit({"a": "1"})
        monkeypatch.chdir(tmp_path)
        assert GitRepository(Path(name)).resolve(["HEAD"]) == {"HEAD": sha}
        assert [entry.name for entry in tmp_path.iterdir()] == [name]

    def test_a_repository_of_longer_hashes(self, tmp_path: Path) -> None:
        repo = Repo(tmp_path / "repo", "--object-format=sha256")
        sha = repo.commit({"a": "1"}, "work\n")
        assert len(sha) == 64
        repository = GitRepository(repo.path)
        expected = {sha: sha, sha[:10]: sha, sha[:40]: sha, "f" * 64: None}
        assert repository.resolve(expected) == expected
        assert walked(repository, sha) == [Walked(sha, (), "work", "")]
        assert shown_commits(repository, [sha]) == {sha: ShownCommit(START, ("a",))}


class TestBranchesAndRemotes:
    def test_are_those_of_the_repository_and_not_of_what_its_settings_include(
        self, repo: Repo
    ) -> None:
        sha = repo.commit({"a": "1"})
        repo.git("branch", "side")
        repo.git(
            "remote",
            "add",
            "origin",
            "https://name:secret@Example.org/team/project.git",
        )
        repo.git("remote", "set-url", "--add", "origin", "https://example.org/second")
        (repo.path / "other.config").write_text(
            '[remote "evil"]\n\turl = https://example.org/evil\n'
        )
        repo.config("include.path", "../other.config")
        opened = GitRepository(repo.path)
        assert opened.branch == "master"
        assert opened.branches == [
            (sha, "refs/heads/master", ""),
            (sha, "refs/heads/side", ""),
        ]
        assert opened.remote_urls == {
            "origin": "https://name:secret@Example.org/team/project.git"
        }


class TestRefusing:
    @pytest.mark.parametrize(
        ("name", "why"),
        [
            ("", "(not a git repository"),
            ("bare", "it is a bare repository"),
            (
                "sample/bare",
                "it is a bare repository",
            ),  # files of a checkout that say where its work tree is
            ("sample/.git", ""),
            ("missing", "No such file or directory"),
            ("file", ""),
            ("broken", ""),
            ("newer", "found 99); a newer git may be able to read it"),
            ("stranger", "extension found: dance); a newer git may be able to read it"),
        ],
    )
    @pytest.mark.usefixtures("sample")
    def test_names_the_folder_and_why(
        self, tmp_path: Path, name: str, why: str
    ) -> None:
        Repo(tmp_path / "bare", "--bare")
        Repo(tmp_path / "sample/bare", "--bare")
        (tmp_path / "sample/bare/config").write_text(
            "[core]\n\trepositoryFormatVersion = 0\n\tbare = false\n\tworktree = ..\n"
        )
        (tmp_path / "file").touch()
        Repo(tmp_path / "newer").config("core.repositoryFormatVersion", "99")
        stranger = Repo(tmp_path / "stranger")
        stranger.config("core.repositoryFormatVersion", "1")
        stranger.config("extensions.dance", "true")
        Repo(tmp_path / "broken").commit({"a": "1"})
        (tmp_path / "broken/.git/HEAD").write_text("nonsense\n")
        with pytest.raises(NotARepositoryError) as caught:
            GitRepository(tmp_path / name)
        text = str(caught.value)
        assert text.startswith(f"{tmp_path / name}: not a git work tree (")
        assert why in text
        advice = "; run da-score in a repository, or name it with --repo-dir"
        assert text.endswith(advice) or "a newer git" in why
        assert "\n" not in text


class TestGitItself:
    @pytest.mark.parametrize(
        "script_text", ["", "#!/nowhere/sh\n"], ids=["missing", "cannot-be-started"]
    )
    def test_that_is_not_there_is_said_so(
        self,
        original: Sample,
        tmp_path: Path,
        monkeypatch: pytest.MonkeyPatch,
        script_text: str,
    ) -> None:
        if script_text:
            script(tmp_path / "git").write_text(script_text)
        monkeypatch.setenv("PATH", str(tmp_path))
        with pytest.raises(
            GitError, match=r"^git was not found on PATH; install git 2\.32 or newer$"
        ) as caught:
            GitRepository(original.path)
        assert not isinstance(caught.value, NotARepositoryError)

    @pytest.mark.parametrize(
        ("command", "printed", "error"),
        [
            (
                "log",
                "error: one\nfatal: two",
                r"{path}: git log failed: error: one fatal: two",
            ),
            (
                "log",
                "error: one\nerror: one\nfatal: one one",
                r"{path}: git log failed: error: one fatal: one one",
            ),
            (
                "cat-file",
                "fatal: out of memory",
                "out of memory",
            ),  # and not that no name is a commit's
        ],
    )
    def test_that_fails_is_an_error_in_one_line(
        self,
        original: Sample,
        tmp_path: Path,
        monkeypatch: pytest.MonkeyPatch,
        command: str,
        printed: str,
        error: str,
    ) -> None:
        fails = f'case "$*" in *" {command} "*) printf "%s\\n" "{printed}" >&2; exit 128;; esac'
        script(tmp_path / "git", fails, f'exec {shutil.which("git")} "$@"')
        monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
        repository = GitRepository(original.path)
        with pytest.raises(GitError) as caught:
            walked(repository, repository.resolve(["light"])["light"] or "")
        assert error.format(path=original.path) in str(caught.value)
        assert "\n" not in str(caught.value)


@pytest.fixture(scope="session")
def lone(tmp_path_factory: pytest.TempPathFactory) -> Repo:
    """A repository with one commit, which nobody changes."""
    repo = Repo(tmp_path_factory.mktemp("lone") / "repo")
    repo.commit({"a": "1"})
    return repo


_IN_A_LINE = """
deadbeef HEAD..HEAD HEAD^{tree} HEAD:a :a HEAD~9 HEAD^2 HEAD~99999999999999999999 HEAD^{/nowhere}
:/work :/[ HEAD^{nonsense} HEAD^{ @{-1} refs/heads/ caf\u00e9 \udcff\udcfe --all --output=x -h
--help --end-of-options -- - * missing
"""
_BLANKS = (
    "",
    " ",
    " HEAD",
    "HEAD ",
    "HEAD\t",
    "HEAD\r",
    "HEAD\n",
    "HEAD\nHEAD",
    "\nHEAD",
    "HEAD HEAD",
    "HEAD master",
)
_LONG = ("0" * 40, "f" * 40, "f" * 41, "x" * 100_000, "x/" * 5_000)
NO_COMMITS = (*_IN_A_LINE.split(), *_BLANKS, *_LONG, "HEAD\0", "$(touch x)")


class TestResolve:
    def test_names_of_every_kind_in_one_batch(self, repo: Repo) -> None:
        one = repo.commit({"a": "1"}, "one")
        two = repo.commit({"a": "2"}, "two")
        repo.branch("side", one)
        three = repo.commit({"s": "1"}, "three")
        repo.checkout("master")
        repo.tag("v1", one)
        repo.tag("v2", two, "annotated")
        expected = {
            one: one,
            one[:7]: one,
            one[:4]: one,
            one[:39]: one,
            one.upper(): one,
            two[:10].upper(): two,
            "HEAD": two,
            "@": two,
            "HEAD~1": one,
            "HEAD^": one,
            "master": two,
            "master^0": two,
            "refs/heads/side": three,
            "side": three,
            "heads/side": three,
            "side~1": one,
            "v1": one,
            "v2": two,
            "tags/v2": two,
            "v2^{}": two,
            f"v1-3-g{two[:7]}": two,
            "HEAD^{/one}": one,
        }
        assert GitRepository(repo.path).resolve(expected, searches=True) == expected

    @pytest.mark.parametrize("name", NO_COMMITS, ids=range(len(NO_COMMITS)))
    def test_what_names_no_commit_is_none_and_spoils_nothing(
        self, lone: Repo, name: str
    ) -> None:
        sha = lone.head()
        names = [sha, name, "HEAD"]
        assert GitRepository(lone.path).resolve(names) == {
            sha: sha,
            name: None,
            "HEAD": sha,
        }

    # Further back than the reflog, no upstream, none of a branch, nowhere to push, a path outside.
    @pytest.mark.parametrize(
        "name", ["HEAD@{99}", "@{upstream}", "master@{u}", "@{push}", "HEAD:../a"]
    )
    def test_a_name_that_git_dies_of_is_none_and_spoils_nothing(
        self, lone: Repo, name: str
    ) -> None:
        sha = lone.head()
        expected = {
            "nothing": None,
            name: None,
            "HEAD": sha,
            "HEAD@{77}": None,
            sha: sha,
        }
        assert GitRepository(lone.path).resolve([*expected, name]) == expected

    def test_an_abbreviation_of_two_commits_is_none_and_one_of_a_file_too_is_the_commit(
        self, repo: Repo
    ) -> None:
        who = "author A <a@x> 1776000000 +0000\ncommitter A <a@x> 1776000000 +0000"
        repo.write("tree", b"")
        one, two, three = (
            repo.write("commit", f"tree {EMPTY_TREE}\n{who}\n\n{text}\n".encode())
            for text in (40677, 41064, 48908)
        )
        blob = repo.write("blob", b"53115\n")
        assert (one[:7], two[:7], three[:8], blob[:8]) == (
            "88155c6",
            "88155c6",
            "0c34d934",
            "0c34d934",
        )
        expected = {
            "88155c6": None,
            "88155": None,
            one[:8]: one,
            two[:8]: two,
            "0c34d934": three,
            blob: None,
        }
        assert GitRepository(repo.path).resolve(expected) == expected

    def test_data_never_becomes_an_option(
        self, sample: Sample, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        options = [
            "--output=x",
            "-h",
            "--help",
            "--batch",
            "-x",
            "--git-dir=/tmp",
            "--upload-pack=x",
            "-p",
        ]
        before = sorted(path.name for path in sample.path.rglob("*"))
        monkeypatch.chdir(sample.path)
        with watched_doors() as doors:
            repository = GitRepository(sample.path)
            expected = dict.fromkeys(options, None) | {
                "light": sample.resolved["light"]
            }
            assert repository.resolve(expected) == expected
        assert not {
            argument for command in doors.commands for argument in command
        } & set(options)
        assert sorted(path.name for path in sample.path.rglob("*")) == before


def walk(repo: Repo) -> list[str]:
    return [commit.subject for commit in walked(GitRepository(repo.path), repo.head())]


class TestWalk:
    def test_children_come_before_parents_of_one_branch_whatever_the_clock_said(
        self, repo: Repo
    ) -> None:
        for name, when in (
            ("one", START),
            ("two", START - HOUR),
            ("three", START - 2 * HOUR),
        ):
            repo.commit({"a": name}, name, when)
        assert walk(repo) == ["three", "two", "one"]

    @pytest.mark.parametrize(
        "told",
        [
            "revert this",
            "one\n\nREVERTED",
            "a\n\nco-authored-by: B",
            "Entire-Checkpoint: c",
        ],
    )
    def test_keeps_messages_that_tell_something(self, repo: Repo, told: str) -> None:
        for message, kept in ((told, told), ("one\n\nbody\n", ""), ("rever t\n", "")):
            sha = repo.commit({"a": message}, message)
            assert walked(GitRepository(repo.path), sha)[0].message == kept

    def test_reads_a_message_in_the_encoding_that_it_names(self, repo: Repo) -> None:
        repo.commit({"a": "1"})
        sha = repo.raw_commit(f"{WHO}\nencoding ISO-8859-1", b"revert caf\xe9\n")
        odd = walked(GitRepository(repo.path), sha)[0]
        assert (odd.subject, odd.message) == ("revert caf\u00e9", "revert caf\u00e9\n")

    def test_of_a_damaged_history_is_an_error(self, repo: Repo) -> None:
        one = repo.commit({"a": "1"})
        repo.commit({"a": "2"})
        repo.lose(one)
        with pytest.raises(GitError) as caught:
            walked(GitRepository(repo.path), repo.head())
        assert str(caught.value).startswith(f"{repo.path}: git log failed: ")
        assert "\n" not in str(caught.value)


class TestShow:
    def test_names_files_as_git_quotes_them(self, repo: Repo) -> None:
        names = {
            "a b": "a b",
            "caf\u00e9": '"caf\\303\\251"',
            "\udcff": '"\\377"',
            'a"b': '"a\\"b"',
            "a\\b": '"a\\\\b"',
            "a\nb": '"a\\nb"',
            "a\tb": '"a\\tb"',
            "a\x01b": '"a\\001b"',
            "a'b": "a'b",
            "-x": "-x",
            "d/e/f": "d/e/f",
        }
        sha = repo.commit(dict.fromkeys(names, "1"))
        assert set(
            shown_commits(GitRepository(repo.path), [sha])[sha].files or ()
        ) == set(names.values())

    # The tree, that of the parent, and the file that shows a rename.
    @pytest.mark.parametrize("lost", ["HEAD^{tree}", "HEAD~1^{tree}", "HEAD:moved"])
    def test_with_a_missing_object_keeps_the_time_and_the_other_commits(
        self, repo: Repo, lost: str
    ) -> None:
        first = repo.commit({"x": "1"})
        repo.commit({"old": "line\n" * 20})
        damaged = repo.commit({"old": None, "moved": "line\n" * 19 + "x\n"})
        repo.lose(lost)
        assert shown_commits(GitRepository(repo.path), [damaged, first]) == {
            first: ShownCommit(START, ("x",)),
            damaged: ShownCommit(START + 2 * HOUR, None),
        }


class TestLines:
    """What git prints is cut at line feeds alone, or at another end, however it comes."""

    def test_that_nobody_reads_on_end_git_and_what_it_started(
        self, lone: Repo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        repository = GitRepository(lone.path)
        script(tmp_path / "git", "sleep 600 &", "echo $!", "wait")
        monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
        lines = repository.lines("log")
        started = int(next(lines))
        lines.close()
        assert becomes(lambda: not is_running(started))

    @pytest.mark.parametrize("stop", [signal.SIGINT, signal.SIGALRM])
    def test_that_are_interrupted_while_git_starts_end_git(
        self,
        lone: Repo,
        tmp_path: Path,
        monkeypatch: pytest.MonkeyPatch,
        stop: signal.Signals,
    ) -> None:
        repository = GitRepository(lone.path)
        script(tmp_path / "git", "exec sleep 600")
        monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
        started = []

        class Interrupted(subprocess.Popen[bytes]):
            """A process during the start of which an interrupt comes."""

            def __init__(self, *args: Any, **more: Any) -> None:
                super().__init__(*args, **more)
                started.append(self.pid)
                signal.pthread_kill(threading.get_ident(), stop)

        monkeypatch.setattr(subprocess, "Popen", Interrupted)
        usual = signal.signal(stop, signal.default_int_handler)
        try:
            with pytest.raises(KeyboardInterrupt):
                next(repository.lines("log"))
        finally:
            signal.signal(stop, usual)
        (git,) = started
        assert becomes(lambda: not is_running(git))

    @pytest.mark.parametrize(
        ("error", "raised"), [(OSError, GitError), (MemoryError, MemoryError)]
    )
    def test_of_git_that_does_not_start_leave_interrupts_as_they_are(
        self,
        lone: Repo,
        monkeypatch: pytest.MonkeyPatch,
        error: type[BaseException],
        raised: type[BaseException],
    ) -> None:
        def fail(*_: Any, **__: Any) -> None:
            raise error

        repository = GitRepository(lone.path)
        before = signal.pthread_sigmask(signal.SIG_BLOCK, [])
        monkeypatch.setattr(subprocess, "Popen", fail)
        try:
            with pytest.raises(raised):
                next(repository.lines("log"))
            assert signal.pthread_sigmask(signal.SIG_BLOCK, []) == before
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)


class TestObjects:
    def test_are_read_on_after_one_that_is_lost_damaged_or_left(
        self, lone: Repo
    ) -> None:
        text = os.urandom(300_000)
        whole, damaged = lone.write("blob", text), lone.write("blob", b"d" + text)
        file = lone.path / ".git/objects" / damaged[:2] / damaged[2:]
        file.chmod(0o600)
        os.truncate(file, 1000)
        with GitRepository(lone.path).objects() as content:
            for oid in ("0" * 40, damaged):
                with pytest.raises(GitError, match=f"object {oid}"):
                    list(content(oid))
                assert b"".join(content(whole)) == text
            left = content(whole)
            assert isinstance(left, Generator)
            assert text.startswith(next(left))
            left.close()
            assert b"".join(content(whole)) == text


class TestFilesAt:
    def test_gives_those_that_are_wanted_of_one_folder(self, repo: Repo) -> None:
        sha = repo.commit(
            {"d/a": "1", "d/b": "1", "d/c": "", "d/e/a": "deeper", "a": "above"}
        )
        opened = GitRepository(repo.path)
        assert opened.files_at(sha, "d", lambda name: name != "b") == {
            "a": b"1",
            "c": b"",
        }
        assert opened.files_at(sha, ".", lambda name: name == "a") == {"a": b"above"}
        assert opened.files_at(sha, "none", lambda _: True) == {}

    def test_names_one_that_is_not_here(self, repo: Repo) -> None:
        sha = repo.commit({"d/a": "1", "d/b": "2"})
        repo.lose("HEAD:d/b")
        with pytest.raises(GitError, match=f"d/b of {sha[:12]} is not in this clone"):
            GitRepository(repo.path).files_at(sha, "d", lambda _: True)

    def test_at_the_head_are_none_before_the_first_commit(self, repo: Repo) -> None:
        assert GitRepository(repo.path).files_at_head() == []
        repo.commit({"d/a": "1", "b": "2"})
        assert GitRepository(repo.path).files_at_head() == ["b", "d/a"]


class TestOddCommits:
    """Commits that git's own commands would not write, but that imports and old tools did."""

    @pytest.mark.parametrize(
        "committer",
        [
            "committer C <c@x> notatime +0000",
            "committer C <c@x>",
            "committer C <c@x> -5 +0000",
            "committer nobody",
            "x-other header",
        ],
    )
    def test_without_a_time_spoil_nothing(self, repo: Repo, committer: str) -> None:
        repo.commit({"a": "1"}, "before")
        odd = repo.raw_commit(f"author A <a@x> {START} +0000\n{committer}", "odd\n")
        after = repo.commit({"a": "2"}, "after", START + HOUR)
        assert walk(repo) == ["after", "odd", "before"]
        repository = GitRepository(repo.path)
        shown = shown_commits(repository, [odd, after])
        assert shown[after] == ShownCommit(START + HOUR, ("a",))
        assert shown_commits(repository, [after, odd]) == shown

    @pytest.mark.parametrize(
        ("author", "authored", "date"),
        [
            (f"{START} -99999999", START, "1912-03-14"),
            (f"{START} +99999999", START, "2140-05-11"),
            ("0 -1200", 0, "1969-12-31"),
            ("9" * 17 + " +0000", int("9" * 17), ""),
            ("9" * 5000 + " +0000", None, "1970-01-01"),
            # days that git prints too
            ("86400 -0001", 86400, "1970-01-01"),
            ("1772323199 +0001", 1772323199, "2026-03-01"),
            ("1772323199 +0000", 1772323199, "2026-02-28"),
            ("1772380800 +1400", 1772380800, "2026-03-02"),
            ("4102444800 -0930", 4102444800, "2099-12-31"),
            ("notatime +0000", None, ""),
        ],
    )
    def test_a_day_is_known_as_far_as_a_date_can_have_it(
        self, repo: Repo, author: str, authored: int | None, date: str
    ) -> None:
        repo.commit({"a": "1"}, "before")
        sha = repo.raw_commit(f"author A <a@x> {author}\ncommitter C <c@x> {author}")
        repository = GitRepository(repo.path)
        commit, _ = trunk_commits(repository, sha)
        assert (commit.time, commit.authored, commit.date) == (authored, authored, date)


_SETTINGS = """
alias.log=!{evil} alias.show=!{evil} credential.helper=!{evil} color.diff=always color.ui=always
core.askPass={evil} core.attributesFile={evil} core.editor={evil} core.fsmonitor={evil}
core.pager={evil} core.sshCommand={evil} diff.external={evil} gpg.program={evil} pager.log={evil}
pager.show={evil} core.bigFileThreshold=1 diff.renameLimit=1 core.ignoreCase=true
core.warnAmbiguousRefs=true diff.mnemonicPrefix=true diff.noprefix=true diff.relative=true
diff.suppressBlankEmpty=true log.abbrevCommit=true log.follow=true log.mailmap=true
log.showSignature=true core.quotePath=false log.showRoot=false i18n.commitEncoding=ISO-8859-1
i18n.logOutputEncoding=ISO-8859-1 core.abbrev=4 core.disambiguate=blob core.hooksPath={hooks}
diff.algorithm=patience diff.ignoreSubmodules=all diff.orderFile={order} diff.submodule=log
format.pretty=oneline log.date=raw log.decorate=full log.diffMerges=first-parent
notes.displayRef=refs/notes/*
"""
SETTINGS = [
    (key, value)
    for key, _, value in (setting.partition("=") for setting in _SETTINGS.split())
]
"""What a repository or a user may have configured.

``{evil}`` is a script that leaves a trace when it is run.
"""


def filled(value: str, evil: Path) -> str:
    return value.format(
        evil=evil, hooks=evil.parent / "hooks", order=evil.parent / "order"
    )


def write_settings(path: Path, settings: Sequence[tuple[str, str]], evil: Path) -> None:
    """Add settings to a configuration file, as a user's editor would."""
    with path.open("a") as file:
        for key, value in settings:
            section, _, name = key.rpartition(".")
            section, _, subsection = section.partition(".")
            quoted = f' "{subsection}"' if subsection else ""
            file.write(
                f"[{section}{quoted}]\n\t{name} = {json.dumps(filled(value, evil))}\n"
            )


class TestConfiguration:
    @pytest.mark.parametrize("renames", ["false", "copies"])
    def test_of_the_repository_changes_nothing(
        self, sample: Sample, evil: Path, renames: str
    ) -> None:
        repo = Repo.at(sample.path)
        evils = [("diff.evil.command", "{evil}"), ("diff.evil.textconv", "{evil}")]
        settings = [*SETTINGS, ("diff.renames", renames), *evils]
        write_settings(sample.path / ".git/config", settings, evil)
        assert repo.git("config", "log.showSignature") == "true"
        (sample.path / ".mailmap").write_text("Other <o@x> <c@x>\n")
        (sample.path / ".gitattributes").write_text("* diff=evil\n")
        sample.check()
        sample.check(sample.path / "d")
        assert not (evil.parent / "ran").exists()

    @pytest.mark.parametrize(
        "place", [".gitconfig", ".config/git/config", "xdg/git/config"]
    )
    def test_of_the_user_changes_nothing(
        self,
        sample: Sample,
        evil: Path,
        tmp_path: Path,
        monkeypatch: pytest.MonkeyPatch,
        place: str,
    ) -> None:
        home = tmp_path / "home"
        path = home / place
        path.parent.mkdir(parents=True)
        write_settings(path, [*SETTINGS, ("core.worktree", "/nonexistent")], evil)
        assert (
            Repo.at(sample.path).git("config", "--file", str(path), "log.showSignature")
            == "true"
        )
        monkeypatch.setenv("HOME", str(home))
        if place.startswith("xdg"):
            monkeypatch.setenv("XDG_CONFIG_HOME", str(home / "xdg"))
        sample.check()
        assert not (tmp_path / "ran").exists()

    def test_of_a_partial_clone_fetches_nothing(
        self, sample: Sample, evil: Path
    ) -> None:
        # A repository may say that missing objects come from a "remote" that is any command.
        repo = Repo.at(sample.path)
        for key, value in (
            ("core.repositoryFormatVersion", "1"),
            ("extensions.partialClone", "origin"),
            ("remote.origin.promisor", "true"),
            ("remote.origin.url", f"ext::{evil}"),
            ("protocol.allow", "always"),
            ("protocol.ext.allow", "always"),
        ):
            repo.config(key, value)
        repo.lose("light^{tree}")
        repository = GitRepository(sample.path)
        light = sample.resolved["light"] or ""
        assert repository.resolve(["f" * 40, "light"]) == {
            "f" * 40: None,
            "light": light,
        }
        shown_commits(repository, [light])
        assert not (evil.parent / "ran").exists()


_ELSEWHERE = """
GIT_ALTERNATE_OBJECT_DIRECTORIES GIT_COMMON_DIR GIT_CONFIG GIT_DIR GIT_EXEC_PATH GIT_INDEX_FILE
GIT_OBJECT_DIRECTORY GIT_WORK_TREE
"""
ENVIRONMENT = {
    **dict.fromkeys(_ELSEWHERE.split(), "/nonexistent"),
    **dict.fromkeys(
        ("GIT_ASKPASS", "GIT_EXTERNAL_DIFF", "GIT_PAGER", "GIT_SSH_COMMAND", "PAGER"),
        "{evil}",
    ),
    **dict.fromkeys(
        ("GIT_ICASE_PATHSPECS", "GIT_LITERAL_PATHSPECS", "GIT_PAGER_IN_USE"), "1"
    ),
    **dict.fromkeys(
        ("GIT_TRACE", "GIT_TRACE2", "GIT_TRACE2_EVENT", "GIT_TRACE_SETUP"),
        "{folder}/ran",
    ),
    "GIT_ATTR_SOURCE": "nonsense",
    "GIT_CEILING_DIRECTORIES": "{folder}/sample",
    "GIT_CONFIG_PARAMETERS": "'core.quotePath'='false' 'diff.renames'='false'",
    "GIT_DEFAULT_HASH": "sha256",
    "GIT_DIFF_OPTS": "-u0",
    "GIT_GRAFT_FILE": "{folder}/grafts",
    "GIT_NAMESPACE": "other",
    "GIT_PREFIX": "d/",
    "GIT_REPLACE_REF_BASE": "refs/heads/",
    "LANG": "de_DE.UTF-8",
    "LANGUAGE": "de",
    "LC_ALL": "tr_TR.UTF-8",
    "TZ": "Asia/Tokyo",
}


_MISLEADING = (
    "GIT_CEILING_DIRECTORIES",
    "GIT_DIR",
    "GIT_GRAFT_FILE",
    "GIT_OBJECT_DIRECTORY",
    "GIT_TRACE",
)
"""Variables that are also tried alone: set together, one could hide what another does."""


class TestEnvironment:
    @pytest.mark.parametrize(
        "names",
        [list(ENVIRONMENT), *([name] for name in ENVIRONMENT if name in _MISLEADING)],
    )
    def test_of_the_caller_changes_nothing(
        self,
        sample: Sample,
        evil: Path,
        monkeypatch: pytest.MonkeyPatch,
        names: list[str],
    ) -> None:
        (evil.parent / "grafts").write_text(
            f"{sample.resolved['master']} {sample.resolved['light']}\n"
        )
        for name in names:
            monkeypatch.setenv(
                name, ENVIRONMENT[name].format(evil=evil, folder=evil.parent)
            )
        sample.check(sample.path / "d")
        assert not (evil.parent / "ran").exists()

    def test_of_git_holds_nothing_of_the_callers(
        self, original: Sample, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("GIT_TRACE", "1")
        monkeypatch.setenv("SECRET_TOKEN", "s")
        monkeypatch.setenv("LD_PRELOAD", "")
        with watched_doors() as doors:
            original.check()
        assert doors.environments
        for environment in doors.environments:
            assert environment["GIT_CONFIG_NOSYSTEM"] == "1"
            assert environment["GIT_CONFIG_GLOBAL"] == "/dev/null"
            assert environment["GIT_TERMINAL_PROMPT"] == "0"
            assert (
                environment["GIT_ALLOW_PROTOCOL"],
                environment["GIT_NO_LAZY_FETCH"],
            ) == (
                "none",
                "1",
            )
            assert not {"GIT_TRACE", "SECRET_TOKEN", "LD_PRELOAD"} & environment.keys()


@as_root
class TestSafeDirectory:
    """Another user's repository is read only where the caller's own configuration trusts it."""

    @pytest.fixture
    def foreign(
        self, sample: Sample, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> Sample:
        give_away(sample.path)
        (tmp_path / "home").mkdir()
        monkeypatch.setenv("HOME", str(tmp_path / "home"))
        monkeypatch.chdir(tmp_path / "home")
        return sample

    def trust(self, path: Path, *directories: str) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        lines = [f"\tdirectory = {directory}\n" for directory in directories]
        path.write_text(
            "".join(
                [
                    "[safe]\n",
                    *lines,
                    "[core]\n\tquotePath = false\n[diff]\n\trenames = false\n",
                ]
            )
        )

    def refused(self, path: Path) -> None:
        command = f"git config --global --add safe.directory {path} trusts it"
        with pytest.raises(
            NotARepositoryError,
            match=rf"dubious ownership.*\); {re.escape(command)}$",
        ):
            GitRepository(path)

    @pytest.mark.parametrize(
        "trusted",
        [(), ("{other}", "{path}/d"), ("*", "")],
        ids=["none", "another", "taken-back"],
    )
    def test_without_trust_is_refused(
        self, foreign: Sample, tmp_path: Path, trusted: Sequence[str]
    ) -> None:
        names = (name.format(path=foreign.path, other=tmp_path) for name in trusted)
        self.trust(tmp_path / "home/.gitconfig", *names)
        self.refused(foreign.path)

    @pytest.mark.parametrize(
        "trusted", [("/other", "{path}"), ("*",)], ids=["by-name", "everything"]
    )
    def test_by_name_is_honored_and_nothing_else_is(
        self, foreign: Sample, tmp_path: Path, trusted: Sequence[str]
    ) -> None:
        self.trust(
            tmp_path / "home/.gitconfig",
            *(name.format(path=foreign.path) for name in trusted),
        )
        foreign.check()
        foreign.check(foreign.path / "d")

    def test_in_the_other_place_of_settings_is_honored(
        self, foreign: Sample, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "xdg"))
        self.trust(tmp_path / "xdg/git/config", str(foreign.path))
        foreign.check()

    @pytest.mark.parametrize("current", ["home", "sample", "own"])
    def test_is_no_word_of_a_repository_or_of_the_environment(
        self,
        foreign: Sample,
        tmp_path: Path,
        monkeypatch: pytest.MonkeyPatch,
        current: str,
    ) -> None:
        with (foreign.path / ".git/config").open("a") as config:
            config.write("[safe]\n\tdirectory = *\n")
        Repo(tmp_path / "own").config("safe.directory", "*")
        monkeypatch.chdir(tmp_path / current)
        monkeypatch.setenv("GIT_CONFIG_COUNT", "1")
        monkeypatch.setenv("GIT_CONFIG_KEY_0", "safe.directory")
        monkeypatch.setenv("GIT_CONFIG_VALUE_0", "*")
        self.refused(foreign.path)


def test_nothing_is_written_to_a_repository(sample: Sample) -> None:
    def state() -> dict[str, tuple[int, int, int]]:
        found = {}
        for path in sorted(sample.path.rglob("*")):
            seen = path.lstat()
            found[str(path)] = (
                seen.st_mtime_ns,
                seen.st_size,
                stat.S_IMODE(seen.st_mode),
            )
        return found

    (sample.path / ".git/index").touch()  # git would refresh it
    before = state()
    sample.check()
    assert state() == before


class TestLinksAmongBranches:
    """Git follows links to folders in the folder of branches."""

    def test_to_few_files_are_followed_as_where_two_folders_share_a_repository(
        self, repo: Repo, tmp_path: Path
    ) -> None:
        made = repo.commit({"a": "1"})
        shared = tmp_path / "shared"
        shutil.copytree(repo.path, shared)
        shutil.rmtree(shared / ".git/refs")
        (shared / ".git/refs").symlink_to(repo.path / ".git/refs")
        assert [sha for sha, *_ in GitRepository(shared).branches] == [made]

    def test_round_and_round_are_refused_where_git_would_never_end(
        self, repo: Repo
    ) -> None:
        repo.commit({"a": "1"})
        (repo.path / ".git/refs/heads/x").symlink_to(".")
        GitRepository(repo.path)
        (repo.path / ".git/refs/heads/y").symlink_to(".")
        with pytest.raises(GitError, match=r"refs: links lead to more than 10,000 "):
            GitRepository(repo.path)
