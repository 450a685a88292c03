"""FLEET.toml and archives that mean harm, or are wrong: one line, nothing outside, nothing run."""

import gzip
import os
import subprocess
import tarfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from helpers.commands import DaScore
from helpers.fleets import (
    FLEET,
    archive_of,
    make_fleet,
    score_here,
    tar_of,
    tar_with,
    write_fleet,
)
from helpers.repos import Repo

from scoring.demo import build_demo
from scoring.errors import GitError, SettingsError, TooLargeError
from scoring.evidence.git.checkout import check_out
from scoring.fleet.fleet_toml import SIZE_LIMIT, read_fleet
from scoring.fleet.sources import repositories
from scoring.fleet.unpack import scratch_folder
from scoring.log.settings import DEFAULT_LOG_DIR

pytest.importorskip("fsspec", reason="the extra 'fleet' is not installed")

SOURCE = '[[source]]\npath = "x"\n'
WRONG = {
    "not TOML": ("results = ", "not TOML"),
    "not text": ("\udcff", "not TOML"),
    "nothing": ("", "results is missing"),
    "blank results": (f'results = " "\n{SOURCE}', "results is missing"),
    "no source": ('results = "r"', r"no \[\[source\]\]"),
    "a source that is no table": (
        'results = "r"\nsource = [1]',
        "where a table belongs",
    ),
    "a source without a place": (
        'results = "r"\n[[source]]\ntrunk = "main"',
        "neither path nor url",
    ),
    "an unknown key": (f'result = "r"\n{SOURCE}', "unknown setting 'result'"),
    "an unknown key in a source": (
        'results = "r"\n[[source]]\npaths = "x"',
        "unknown setting 'paths'",
    ),
    "a URL as path": ('results = "r"\n[[source]]\npath = "s3://b/x"', "give it as url"),
    "a path as URL": ('results = "r"\n[[source]]\nurl = "x"', "is not a URL"),
    "no size": (f'results = "r"\n{SOURCE}[limits]\nexpanded = "much"', "not a size"),
    "no count": (f'results = "r"\n{SOURCE}[workers]\ncount = 0', "not a number"),
    "a secret": (
        f'results = "r"\n{SOURCE}[storage.s3]\nsecret = "hunter2"',
        "leave it to the environment",
    ),
    "a nested secret": (
        f'results = "r"\n{SOURCE}[storage.s3.client_kwargs]\naws_secret_access_key = "h"',
        "credential",
    ),
    "a variable that is not set": (
        'results = "${NOT_SET}"\n[[source]]\npath = "x"',
        "NOT_SET is not set",
    ),
    "nesting without end": ("results = " + "[" * 50_000, "not TOML"),
    "too much": ("#" * (SIZE_LIMIT + 1), "larger than"),
    "a null in a path": (
        'results = "a\\u0000b"\n[[source]]\npath = "x"',
        "is not a path",
    ),
}


def test_what_a_worker_left_is_taken_away(tmp_path: Path) -> None:
    config = read_fleet(
        write_fleet(
            tmp_path, f'results = "r"\nscratch = "{tmp_path}/scratch"\n{SOURCE}'
        )
    )
    with scratch_folder(config) as used:
        left = used.with_name("da-score-fleet-aaaaaaaa")
        left.mkdir()
        for folder in (left, used):
            os.utime(folder, (1, 1))
        with scratch_folder(config):
            assert (used.is_dir(), left.is_dir()) == (True, False)


@pytest.mark.parametrize(("text", "said"), WRONG.values(), ids=WRONG)
def test_a_wrong_file_is_one_line(tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "FLEET.toml"
    path.write_bytes(text.encode("utf-8", "surrogateescape"))
    with pytest.raises(SettingsError, match=said) as e:
        read_fleet(path)
    assert "\n" not in str(e.value)
    assert str(path) in str(e.value)
    assert "hunter2" not in str(e.value)


def test_a_variable_may_hold_a_secret(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HIDDEN", "hunter2")
    path = write_fleet(
        tmp_path, f'results = "r"\n{SOURCE}[storage.s3]\nsecret = "${{HIDDEN}}"'
    )
    assert read_fleet(path).storage == {"s3": {"secret": "hunter2"}}


@pytest.mark.parametrize(
    ("rubric", "read"),
    [
        ("~/mine.json", "/home/her/mine.json"),
        ("${RUBRICS}/mine.json", "/of/us/mine.json"),
        ("${RUBRICS}/../mine.json", "/of/mine.json"),
        ("mine.json", "{here}/mine.json"),
        ("/of/us/mine.json", "/of/us/mine.json"),
        ("3.0.0", "3.0.0"),
    ],
)
def test_a_rubric_file_is_a_path_like_any_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rubric: str, read: str
) -> None:
    monkeypatch.setenv("HOME", "/home/her")
    monkeypatch.setenv("RUBRICS", "/of/us")
    path = write_fleet(tmp_path, f'results = "r"\nrubric = "{rubric}"\n{SOURCE}')
    assert read_fleet(path).rubric == read.format(here=tmp_path)


MISSING = {
    "a path": ('path = "nowhere"', "no such directory"),
    "a glob": ('path = "nowhere/*"', "nothing is there; change this [["),
    "a glob without a log": (
        'path = "*"',
        "no folder there is a git clone or has ",
    ),
    "an unknown file system": ('url = "gopher://x/y.tar"', "gopher"),
    "an archive": ('url = "file:///nowhere/x.tar"', "nothing is there"),
}


@pytest.mark.parametrize(("source", "said"), MISSING.values(), ids=MISSING)
def test_a_source_that_is_not_there_is_named(
    tmp_path: Path, da_score: DaScore, source: str, said: str
) -> None:
    (tmp_path / "folder").mkdir()
    path = write_fleet(tmp_path, f'results = "results"\n[[source]]\n{source}\n')
    found = da_score("fleet", str(path))
    assert (found.status, found.out) == (1, "")
    assert said in found.err
    assert len(found.err.splitlines()) == 1


def test_a_glob_passes_over_what_is_no_repository(tmp_path: Path) -> None:
    path = make_fleet(tmp_path, 1, FLEET.replace("repos/*/repo", "repos/*/*"))
    (tmp_path / "repos/r0/empty").mkdir()
    (tmp_path / "repos/r0/file").write_text("")
    assert len(score_here(path)) == 1


@pytest.mark.parametrize(
    ("removed", "left"),
    [(["a"], ["b"]), ([], ["a", "b"])],
    ids=["a folder is removed while it is listed", "both stay"],
)
def test_a_folder_that_is_removed_hides_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, removed: list[str], left: list[str]
) -> None:
    from fsspec.implementations.local import LocalFileSystem

    find = LocalFileSystem.find

    def find_unless_removed(self: Any, place: str, **options: bool) -> Any:
        if Path(place).name in removed:
            raise FileNotFoundError(place)
        return find(self, place, **options)

    monkeypatch.setattr(LocalFileSystem, "find", find_unless_removed)
    for name in ("a", "b"):
        (tmp_path / "repos" / name).mkdir(parents=True)
        (tmp_path / "repos" / name / "file").touch()
    url = f"file://{tmp_path}/repos/*"
    path = write_fleet(tmp_path, f'results = "r"\n[[source]]\nurl = "{url}"\n')
    assert [place.short for place in repositories(read_fleet(path))] == left


def reason(tmp_path: Path, archive: Path, extra: str = "") -> str:
    """Return why an archive cannot be scored; nothing may be left or written elsewhere."""
    scratch = tmp_path / "scratch"
    head = f'results = "results"\nscratch = "{scratch}"\n'
    path = write_fleet(tmp_path, f'{head}[[source]]\nurl = "file://{archive}"\n{extra}')
    before = {p for p in tmp_path.rglob("*") if "results" not in p.parts}
    (result,) = score_here(path)
    after = {p for p in tmp_path.rglob("*") if "results" not in p.parts}
    assert after - before <= {scratch}
    assert "\n" not in result.error
    return result.error


def link(name: str, to: str, kind: bytes = tarfile.SYMTYPE) -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    info.type, info.linkname = kind, to
    return info


OUTSIDE = [
    ".da-score-work-tree/x/.git/config",
    "../outside.txt",
    "/tmp/da-score-outside.txt",
    "a/../../outside.txt",
    "a\\..\\outside.txt",
]


@pytest.mark.parametrize("name", OUTSIDE)
def test_a_file_that_leads_outside_stops_the_archive(tmp_path: Path, name: str) -> None:
    path = tar_with(tmp_path / "in/x.tar.gz", {name: b"x"})
    assert "leads outside" in reason(tmp_path, path)
    assert not Path("/tmp/da-score-outside.txt").exists()


def test_a_link_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "target").mkdir()
    members = [link("transcripts", str(tmp_path / "target"))]
    assert reason(
        tmp_path,
        tar_with(tmp_path / "in/x.tar.gz", {"transcripts/a.jsonl": b"{}"}, members),
    )
    assert not list((tmp_path / "target").iterdir())


def test_an_archive_that_grows_without_end_is_stopped(tmp_path: Path) -> None:
    bomb = tar_with(tmp_path / "in/x.tar.gz", {"transcripts/a.jsonl": bytes(4 << 20)})
    assert bomb.stat().st_size < 1 << 16
    assert "limits.expanded" in reason(tmp_path, bomb, '[limits]\nexpanded = "1MB"\n')


@pytest.mark.parametrize(
    "kind", [tarfile.XHDTYPE, tarfile.XGLTYPE, tarfile.GNUTYPE_LONGNAME]
)
def test_an_archive_with_a_header_that_would_fill_memory_is_stopped(
    tmp_path: Path, kind: bytes
) -> None:
    header = tarfile.TarInfo("header")
    header.type, header.size = kind, 8 << 30
    path = tmp_path / "x.tar.gz"
    path.write_bytes(gzip.compress(header.tobuf(tarfile.GNU_FORMAT)))
    assert "a header over 1 MiB" in reason(tmp_path, path)


def test_a_small_file_that_a_commit_has_very_often_is_not_checked_out(
    tmp_path: Path,
) -> None:
    repo = Repo(tmp_path / "repo")
    oid = repo.write("blob", bytes(1 << 20))
    entries = "".join(f"100644 blob {oid}\td{number}\n" for number in range(8))
    tree = repo.git("mktree", given=entries.encode()).strip()
    commit = repo.git("commit-tree", tree, given=b"feat: many\n").strip()
    repo.git("update-ref", "HEAD", commit)

    with pytest.raises(TooLargeError, match="more than 8,388,607 bytes"):
        check_out(repo.path / ".git", tmp_path / "refused", 8, (8 << 20) - 1)
    check_out(repo.path / ".git", tmp_path / "made", 8, 8 << 20)


def commit_tree(repo: Repo, tree: bytes) -> None:
    """Make HEAD a first commit with a tree of some bytes."""
    oid = repo.write("tree", tree).strip()
    commit = repo.write(
        "commit",
        b"tree %b\nauthor a <a> 1 +0000\ncommitter a <a> 1 +0000\n\nx\n" % oid.encode(),
    ).strip()
    repo.git("update-ref", "HEAD", commit)


@pytest.mark.parametrize(
    "tree",
    [b"100644 a-without-end", b"nothing\0", b"file a\0" + bytes(20)],
    ids=["no-end-of-a-name", "no-mode", "a-mode-that-is-no-number"],
)
def test_a_tree_that_is_none_is_an_error_of_git(tmp_path: Path, tree: bytes) -> None:
    repo = Repo(tmp_path / "repo")
    commit_tree(repo, tree)
    with pytest.raises(GitError, match="is not a tree that can be read"):
        check_out(repo.path / ".git", tmp_path / "made", 8, 8 << 20)


def test_what_an_annotated_tag_leads_to_counts_as_no_tag(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    repo = Repo(tmp_path / "repo")
    repo.commit({"a.txt": "a"}, "feat: a")
    for number in range(6):
        repo.git("tag", "-a", "-m", "a tag", f"t{number}")
    repo.git("pack-refs", "--all")
    monkeypatch.setattr("scoring.evidence.git.checkout.MOST_REFS", 8)
    check_out(repo.path / ".git", tmp_path / "made", 8, 8 << 20)
    monkeypatch.setattr("scoring.evidence.git.checkout.MOST_REFS", 6)
    with pytest.raises(TooLargeError, match="more than 6 branches and tags"):
        check_out(repo.path / ".git", tmp_path / "refused", 8, 8 << 20)


def test_a_long_line_hides_no_ref_of_a_bundle(tmp_path: Path) -> None:
    """A line of as many bytes as are read at once ends where the next read sees a break alone."""
    refs = "".join(f"{'1' * 40} refs/heads/b{number}\n" for number in range(20_001))
    long = f"{'1' * 40} refs/heads/".ljust(4096, "a")
    bundle = tmp_path / "a.bundle"
    bundle.write_text(f"# v2 git bundle\n{long}\n{refs}\n")
    with pytest.raises(TooLargeError, match="more than 20,000 branches and tags"):
        check_out(bundle, tmp_path / "refused", 8, 8 << 20)


def test_a_folder_is_one_whatever_the_rest_of_its_mode(tmp_path: Path) -> None:
    repo = Repo(tmp_path / "repo")
    blob = bytes.fromhex(repo.write("blob", b"x").strip())
    inner = b"".join(b"100644 %d\0%b" % (n, blob) for n in range(9))
    folder = bytes.fromhex(repo.write("tree", inner).strip())
    commit_tree(repo, b"40755 a\0" + folder)
    with pytest.raises(TooLargeError, match="more than 8 files"):
        check_out(repo.path / ".git", tmp_path / "made", 8, 8 << 20)


def test_a_sparse_file_stops_an_archive(tmp_path: Path) -> None:
    header = tarfile.TarInfo("sparse")
    header.type = tarfile.GNUTYPE_SPARSE
    path = tmp_path / "x.tar.gz"
    path.write_bytes(gzip.compress(header.tobuf(tarfile.GNU_FORMAT)))
    assert "a sparse file" in reason(tmp_path, path)


@pytest.mark.parametrize(
    ("ending", "compress"),
    [("tar", bytes), ("tar.gz", gzip.compress), ("tgz", gzip.compress)],
)
def test_an_archive_may_be_compressed(
    tmp_path: Path, ending: str, compress: Callable[[bytes], bytes]
) -> None:
    path = tmp_path / f"x.{ending}"
    path.write_bytes(compress(tarfile.TarInfo("a").tobuf() + bytes(1024)))
    assert "no git bundle" in reason(tmp_path, path)


@pytest.mark.parametrize("name", ["transcripts/{}.jsonl", "transcripts/{}/"])
def test_an_archive_of_very_many_files_is_stopped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setattr("scoring.fleet.unpack.MOST_FILES", 50)
    path = tmp_path / "x.tar.gz"
    with tarfile.open(path, "w:gz") as archive:
        for number in range(51):
            member = tarfile.TarInfo(name.format(number))
            member.type = tarfile.DIRTYPE if name.endswith("/") else tarfile.REGTYPE
            archive.addfile(member)
    assert "holds more than 50 files" in reason(tmp_path, path)


@pytest.mark.parametrize(
    "data",
    [b"", b"\x1f\x8b" + bytes(range(256)), b"hello" * 1000],
    ids=["nothing", "noise", "a plain text"],
)
@pytest.mark.parametrize("ending", ["tar", "tar.gz", "tar.zst"])
def test_what_is_no_archive_is_said_to_be_none(
    tmp_path: Path, data: bytes, ending: str
) -> None:
    (tmp_path / f"x.{ending}").write_bytes(data)
    found = reason(tmp_path, tmp_path / f"x.{ending}")
    assert "no archive" in found or "cannot be read" in found


LAYOUTS = {
    "no repository": ({"log/iter-1.yaml": b"iteration: 1\n"}, "no git bundle"),
    "two repositories": (
        {"a.bundle": b"", "b.bundle": b"", "log/x": b""},
        "2 repositories",
    ),
    "a bundle that is none": (
        {"a.bundle": b"# v2 git bundle\nnonsense", "log/x": b""},
        "git bundle",
    ),
}


@pytest.mark.parametrize(("files", "said"), LAYOUTS.values(), ids=LAYOUTS)
def test_what_holds_no_repository_is_said(
    tmp_path: Path, files: dict[str, bytes], said: str
) -> None:
    assert said in reason(tmp_path, tar_with(tmp_path / "in/x.tar.gz", files))


def test_a_bare_repository_runs_nothing(tmp_path: Path) -> None:
    folder = archive_of(
        build_demo(tmp_path / "seed").root, tmp_path / "folder", bare=True
    )
    touched = tmp_path / "touched"
    with open(folder / "demo.git/config", "a") as f:
        f.write(
            f'[core]\n\tfsmonitor = "touch {touched}"\n\tsshCommand = "touch {touched}"\n'
        )
        f.write(
            f'[uploadpack]\n\tpackObjectsHook = "touch {touched}"\n'
            f'[filter "x"]\n\tsmudge = "touch {touched}"\n'
        )
    for name in ("post-checkout", "post-index-change", "reference-transaction"):
        hook = folder / f"demo.git/hooks/{name}"
        hook.parent.mkdir(exist_ok=True)
        hook.write_text(f"#!/bin/sh\ntouch {touched}\n")
        hook.chmod(0o755)
    (folder / "demo.git/objects/info").mkdir(exist_ok=True)
    (folder / "demo.git/objects/info/alternates").write_text("/nowhere\n")
    assert reason(tmp_path, tar_of(folder, tmp_path / "in/x.tar.gz")) == ""
    assert not touched.exists()


@pytest.mark.parametrize("name", ["reftable", "reflogs"])
def test_branches_in_another_form_than_files_are_named(
    tmp_path: Path, name: str
) -> None:
    folder = archive_of(
        build_demo(tmp_path / "seed").root, tmp_path / "folder", bare=True
    )
    (folder / f"demo.git/{name}").mkdir()
    (folder / f"demo.git/{name}/tables.list").touch()
    said = reason(tmp_path, tar_of(folder, tmp_path / "in/x.tar.gz"))
    if name == "reftable":
        assert "its branches are in a reftable, which is not copied; git bundle" in said
    else:
        assert said == ""


def test_a_link_in_the_work_tree_is_a_plain_file(tmp_path: Path) -> None:
    """A result artifact that is a link to a file of the worker says nothing."""
    seed = build_demo(tmp_path / "seed")
    (seed.repo_dir / "passwd").symlink_to("/etc/passwd")
    Repo.at(seed.repo_dir).git("add", "passwd")
    Repo.at(seed.repo_dir).git("commit", "-qm", "link")
    folder = archive_of(seed.root, tmp_path / "folder")
    check_out(folder / "demo.bundle", tmp_path / "out", 1000, 1 << 20)
    assert not (tmp_path / "out/passwd").is_symlink()


def test_a_folder_whose_name_is_no_utf8_has_a_name_that_can_be_written(
    tmp_path: Path,
) -> None:
    log = Path(os.fsdecode(os.fsencode(tmp_path) + b"/bad\xff")) / DEFAULT_LOG_DIR
    log.mkdir(parents=True)
    (log / "iter-1.yaml").write_text("iteration: 1\n")
    config = read_fleet(
        write_fleet(tmp_path, 'results = "r"\n[[source]]\npath = "*"\n')
    )
    (found,) = repositories(config)
    assert f"{tmp_path}/bad\\xff" in found.name
    assert found.log == log
    (log / "iter-1.yaml").write_bytes(b'iteration: 1\nartifacts: ["b\\udcff.json"]\n')
    (result,) = score_here(tmp_path / "FLEET.toml", "3.1.0")
    assert result.error == ""
    assert score_here(tmp_path / "FLEET.toml", "3.1.0") == []


@pytest.mark.parametrize("names", ["sha1", "sha256"])
@pytest.mark.parametrize("packed", [False, True])
def test_a_bare_repository_is_checked_out_whatever_its_objects_are_named_by(
    tmp_path: Path, names: str, packed: bool
) -> None:
    bare, made = tmp_path / "x.git", tmp_path / "made"
    quiet: dict[str, Any] = {"check": True, "capture_output": True}
    subprocess.run(
        ["git", "init", "-q", "-b", "main", f"--object-format={names}", made], **quiet
    )
    who = "-c", "user.name=a", "-c", "user.email=a@example.org"
    subprocess.run(
        ["git", "-C", made, *who, "commit", "-q", "--allow-empty", "-m", "one"], **quiet
    )
    subprocess.run(["git", "clone", "-q", "--bare", made, bare], **quiet)
    if not packed:
        (bare / "packed-refs").unlink()
        (bare / "refs/heads/main").write_bytes(
            (made / ".git/refs/heads/main").read_bytes()
        )
    check_out(bare, tmp_path / "out", 1000, 1 << 20)
    shown = subprocess.run(
        ["git", "-C", tmp_path / "out", "log", "--format=%s", "main"], **quiet
    )
    assert shown.stdout == b"one\n"
