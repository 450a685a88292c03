"""Verification artifacts: paths from a log stay inside the repository; a bad artifact is as if it were not named."""

import os
from pathlib import Path

import pytest
from helpers.doors import ends, make_fifo, watched_doors

from scoring.errors import silent
from scoring.evidence.beside import artifact_path, artifact_status, reference_corrections
from scoring.log.model import IterationRecord, ReviewBlock


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A repository with one artifact that says pass, beside a folder that is none of its business."""
    root = tmp_path / "repo"
    (root / "sub").mkdir(parents=True)
    (root / "a.yaml").write_text("status: pass\n")
    (root / "sub/b.yaml").write_text("status: fail\n")
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside/o.yaml").write_text("status: outside\n")
    (tmp_path / "repo-too").mkdir()
    (tmp_path / "repo-too/o.yaml").write_text("status: outside\n")
    return root


def status_of(root: Path, text: str | bytes) -> str:
    (root / "x.yaml").write_bytes(text.encode() if isinstance(text, str) else text)
    return artifact_status(root, "x.yaml")


def artifact_corrections(root: Path | str, path: str) -> int:
    """Return what the review artifact at a path counts."""
    record = IterationRecord(review=ReviewBlock(decision_artifact=path))
    return reference_corrections(record, root, silent).corrections


def corrections_of(root: Path, text: str) -> int:
    (root / "x.yaml").write_text(text)
    return artifact_corrections(root, "x.yaml")


class TestPath:
    @pytest.mark.parametrize(
        ("path", "status"),
        [
            pytest.param("a.yaml", "pass", id="plain"),
            pytest.param("sub/b.yaml", "fail", id="in-a-folder"),
            pytest.param("./a.yaml", "pass", id="dot"),
            pytest.param("sub//b.yaml", "fail", id="two-slashes"),
            pytest.param("sub/../a.yaml", "pass", id="out-and-in-again"),
            pytest.param("missing/../a.yaml", "pass", id="cleaned-without-looking-at-the-disk"),
            pytest.param("  a.yaml\t\n", "pass", id="white-space-around"),
            pytest.param("\u3000a.yaml\u00a0", "pass", id="unicode-white-space-around"),
            pytest.param("a.yaml/", "pass", id="slash-at-the-end"),
        ],
    )
    def test_inside_the_repository_is_read(self, root: Path, path: str, status: str) -> None:
        assert artifact_status(root, path) == status

    @pytest.mark.parametrize(
        "path",
        [
            pytest.param("", id="empty"),
            pytest.param("  ", id="blank"),
            pytest.param("../outside/o.yaml", id="parent"),
            pytest.param(" ../outside/o.yaml", id="parent-after-white-space"),
            pytest.param("sub/../../outside/o.yaml", id="parent-later-on"),
            pytest.param("./../outside/o.yaml", id="parent-after-a-dot"),
            pytest.param("../repo-too/o.yaml", id="sibling-whose-name-starts-the-same"),
            pytest.param("../repo/a.yaml", id="out-and-back-by-name"),
            pytest.param("..", id="parent-itself"),
            pytest.param(".", id="repository-itself"),
            pytest.param("/etc/passwd", id="absolute"),
            pytest.param("//etc/passwd", id="absolute-with-two-slashes"),
            pytest.param("a.yaml\0", id="nul"),
            pytest.param("\0", id="nothing-but-nul"),
            pytest.param("\u200ba.yaml", id="zero-width-space-is-not-trimmed"),
            pytest.param("~/a.yaml", id="home"),
            pytest.param("x" * 5_000, id="too-long-a-name"),
            pytest.param("x/" * 5_000, id="too-long-a-path"),
            pytest.param("\ud800", id="half-a-character"),
        ],
    )
    def test_outside_or_impossible_is_not_read(self, root: Path, path: str) -> None:
        assert artifact_status(root, path) == ""
        assert artifact_corrections(root, path) == 0

    def test_that_is_absolute_is_not_read_even_inside(self, root: Path) -> None:
        assert artifact_path(root, str(root / "a.yaml")) is None
        assert artifact_status(root, str(root / "a.yaml")) == ""

    def test_that_leaves_is_not_looked_at(self, root: Path) -> None:
        with watched_doors() as doors:
            assert artifact_status(root, "../outside/o.yaml") == ""
        assert not [path for path in doors.opened if "outside" in path]

    @pytest.mark.parametrize(
        ("link", "target", "path"),
        [
            pytest.param("out.yaml", "../outside/o.yaml", "out.yaml", id="file"),
            pytest.param("out", "../outside", "out/o.yaml", id="folder"),
            pytest.param("sub/out", "../../outside", "sub/out/o.yaml", id="folder-in-a-folder"),
            pytest.param("up", "..", "up/outside/o.yaml", id="parent"),
            pytest.param("root", "/", "root/etc/passwd", id="root-of-the-disk"),
        ],
    )
    def test_through_a_link_that_leaves_is_not_read(self, root: Path, link: str, target: str, path: str) -> None:
        (root / link).symlink_to(target)
        assert (root / path).exists()
        assert artifact_path(root, path) is None
        assert artifact_status(root, path) == ""

    def test_through_an_absolute_link_that_leaves_is_not_read(self, root: Path) -> None:
        (root / "out").symlink_to(root.parent / "outside")
        assert artifact_status(root, "out/o.yaml") == ""

    @pytest.mark.parametrize(
        ("link", "target", "path", "status"),
        [
            pytest.param("in.yaml", "a.yaml", "in.yaml", "pass", id="file"),
            pytest.param("in", "sub", "in/b.yaml", "fail", id="folder"),
            pytest.param("sub/up", "..", "sub/up/a.yaml", "pass", id="back-to-the-root"),
            pytest.param("around", "../repo/sub", "around/b.yaml", "fail", id="out-and-in-again"),
        ],
    )
    def test_through_a_link_that_stays_is_read(
        self, root: Path, link: str, target: str, path: str, status: str
    ) -> None:
        (root / link).symlink_to(target)
        assert artifact_status(root, path) == status

    def test_through_a_link_to_itself_is_not_read(self, root: Path) -> None:
        (root / "loop").symlink_to("loop")
        assert artifact_status(root, "loop") == ""
        assert artifact_status(root, "loop/a.yaml") == ""


class TestRoot:
    @pytest.mark.parametrize(
        "spelling",
        [
            pytest.param(".", id="dot-which-the-reference-reads-nothing-from"),
            pytest.param("./", id="dot-and-slash"),
            pytest.param("../repo", id="by-name"),
            pytest.param("sub/..", id="roundabout"),
        ],
    )
    def test_may_be_relative(self, root: Path, monkeypatch: pytest.MonkeyPatch, spelling: str) -> None:
        monkeypatch.chdir(root)
        assert artifact_status(spelling, "a.yaml") == "pass"
        assert artifact_status(Path(spelling), "sub/b.yaml") == "fail"
        assert artifact_status(spelling, "../outside/o.yaml") == ""

    def test_may_end_in_a_slash(self, root: Path) -> None:
        assert artifact_status(f"{root}/", "a.yaml") == "pass"

    def test_may_be_a_link(self, root: Path) -> None:
        link = root.parent / "link"
        link.symlink_to("repo")
        assert artifact_status(link, "a.yaml") == "pass"
        assert artifact_status(link, "../outside/o.yaml") == ""

    def test_may_be_the_root_of_the_disk(self, root: Path) -> None:
        assert artifact_status("/", f"{root}/a.yaml".lstrip("/")) == "pass"

    def test_that_is_empty_means_that_artifacts_are_not_read(self, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.chdir(root)
        assert artifact_path("", "a.yaml") is None
        assert artifact_status("", "a.yaml") == ""
        assert artifact_corrections("", "a.yaml") == 0

    def test_that_does_not_exist_holds_no_artifacts(self, tmp_path: Path) -> None:
        assert artifact_status(tmp_path / "missing", "a.yaml") == ""

    def test_that_is_a_file_holds_no_artifacts(self, root: Path) -> None:
        assert artifact_status(root / "a.yaml", "a.yaml") == ""


class TestFile:
    def test_that_is_missing(self, root: Path) -> None:
        assert artifact_status(root, "missing.yaml") == ""
        assert artifact_status(root, "a.yaml/missing.yaml") == ""

    def test_that_is_a_directory(self, root: Path) -> None:
        assert artifact_status(root, "sub") == ""

    def test_that_is_a_fifo_is_not_waited_for(self, root: Path) -> None:
        make_fifo(root / "fifo")
        assert ends(lambda: artifact_status(root, "fifo")) == ""
        assert ends(lambda: artifact_corrections(root, "fifo")) == 0

    def test_that_is_too_large(self, root: Path) -> None:
        os.truncate(root / "a.yaml", (16 << 20) + 1)
        assert artifact_status(root, "a.yaml") == ""

    @pytest.mark.parametrize(
        "text",
        [
            pytest.param(b"", id="empty"),
            pytest.param(b"null\n", id="null"),
            pytest.param(b"status: [pass\n", id="broken-yaml"),
            pytest.param(b"status: pass\nstatus: fail\n", id="key-given-twice"),
            pytest.param(b"- status: pass\n", id="list"),
            pytest.param(b"pass\n", id="text"),
            pytest.param(b"other: pass\n", id="no-status"),
            pytest.param(b"status: [pass]\n", id="status-is-a-list"),
            pytest.param(b"status: {a: pass}\n", id="status-is-a-mapping"),
            pytest.param(b"status: null\n", id="status-is-null"),
            pytest.param(b"Status: pass\n", id="other-case"),
            pytest.param(b"status: pass \xff\n", id="not-utf-8"),
            pytest.param(b"a: &a {<<: *a}\n<<: *a\nstatus: pass\n", id="merge-that-contains-itself"),
            pytest.param(b"a: " + b"[" * 1_000 + b"\nstatus: pass\n", id="nested-too-deep"),
        ],
    )
    def test_that_is_malformed_or_says_nothing(self, root: Path, text: bytes) -> None:
        assert status_of(root, text) == ""

    @pytest.mark.parametrize(
        ("text", "status"),
        [
            pytest.param("status: pass\nother: [1, 2]\n", "pass", id="among-other-keys"),
            pytest.param("status: ' FAIL '\n", " FAIL ", id="as-written"),
            pytest.param("status: 1\n", "1", id="number"),
            pytest.param("status: yes\n", "yes", id="word"),
            pytest.param("{status: pass}", "pass", id="flow"),
            pytest.param("status: pass\n---\nstatus: fail\n", "pass", id="first-document"),
            pytest.param("a: &a {status: pass}\n<<: *a\n", "pass", id="merged"),
            pytest.param("\ufeffstatus: pass\n", "pass", id="byte-order-mark"),
        ],
    )
    def test_that_gives_a_status(self, root: Path, text: str, status: str) -> None:
        assert status_of(root, text) == status


class TestCorrections:
    @pytest.mark.parametrize(
        ("text", "count"),
        [
            pytest.param("post_invocation: {user_corrections: [one, two], retries_in_loop: 1}", 3, id="both"),
            pytest.param("post_invocation: {user_corrections: [one, two]}", 2, id="corrections-alone"),
            pytest.param("post_invocation: {retries_in_loop: 4}", 4, id="retries-alone"),
            pytest.param(
                "post_invocation: {user_corrections: [1, true, null], retries_in_loop: -1}", 1, id="null-item"
            ),
            pytest.param("post_invocation: {user_corrections: [], retries_in_loop: -3}", -3, id="negative"),
            pytest.param("post_invocation: {user_corrections: null, retries_in_loop: ~}", 0, id="nulls"),
            pytest.param("post_invocation: {retries_in_loop: 2.9}", 2, id="float-is-cut"),
            pytest.param("post_invocation: {user_corrections: [''], x: y}", 1, id="empty-text-counts"),
            pytest.param("post_invocation: {}", 0, id="empty-block"),
            pytest.param("post_invocation: null", 0, id="null-block"),
            pytest.param("user_corrections: [a]\nretries_in_loop: 1\n", 0, id="outside-the-block"),
        ],
    )
    def test_add_up(self, root: Path, text: str, count: int) -> None:
        assert corrections_of(root, text) == count

    @pytest.mark.parametrize(
        "text",
        [
            pytest.param("post_invocation: nope", id="word"),
            pytest.param("post_invocation: [a]", id="list"),
            pytest.param("post_invocation: {user_corrections: [{a: b}], retries_in_loop: 2}", id="correction-no-text"),
            pytest.param("post_invocation: {user_corrections: one, retries_in_loop: 2}", id="corrections-no-list"),
            pytest.param("post_invocation: {user_corrections: [a], retries_in_loop: many}", id="retries-no-number"),
            pytest.param("post_invocation: {user_corrections: [a], retries_in_loop: '2'}", id="retries-quoted"),
            pytest.param("post_invocation: {user_corrections: [a]", id="broken-yaml"),
        ],
    )
    def test_of_an_unusable_artifact_are_none(self, root: Path, text: str) -> None:
        assert corrections_of(root, text) == 0
