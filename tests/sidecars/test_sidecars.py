"""Score files: their bytes, their names.

And what reading them back says when they are not what they should be.
"""

import os
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from helpers.doors import ends, make_fifo
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace as changed

from rubric import Score, SignalContribution, Source
from rubric.model import BOUNDS_SIDECAR, SIDECAR
from scoring.errors import InputError, NotFoundError, WriteError
from scoring.log.model import IterationRecord, LinkedTrace, VerifierRecord
from scoring.sessions import SessionIterRef, SessionScore
from scoring.sidecars.read_scores import (
    check_numbers,
    read_iteration_score,
    read_session_score,
)
from scoring.sidecars.scores import (
    PersistedScore,
    build_persisted_score,
    derive_linked_traces_to_outcomes,
    is_plain_session_id,
    iteration_score_path,
    session_score_path,
    write_iteration_score,
    write_iteration_score_with_record,
    write_iteration_scores,
    write_persisted_score,
    write_session_score,
    write_session_scores,
)

CONTRACT = Path(__file__).parents[2] / "testdata" / "sidecars"

LANDED = SignalContribution(
    "landed",
    "Landed on master",
    True,
    1.0,
    "commit 8f1c2d3e4f5a",
    0.2,
    0.2469135802469136,
    0.2469135802469136,
)
TESTS = SignalContribution("tests", "Test outcomes", False, 0.0, "", 0.17, 0.0, 0.0)
SCORE = Score(1, "2.1.0", 0.9, True, "excellent", (LANDED, TESTS))

SCORE_BYTES = (CONTRACT / "plain.score.yaml").read_bytes()

SESSION = SessionScore(
    "sess-a",
    "2.1.0",
    (1, 2),
    True,
    0.9,
    "excellent",
    (
        SessionIterRef(1, True, 0.9, "excellent"),
        SessionIterRef(2, False, 0.0, "unscored"),
    ),
)


def record(*pairs: tuple[LinkedTrace, ...]) -> IterationRecord:
    """A record with a verifier for each tuple of linked traces."""
    return IterationRecord(
        2, 1, verifiers=tuple(VerifierRecord(linked_traces=traces) for traces in pairs)
    )


TRACE = LinkedTrace("traces/1.jsonl", "outcomes/1.yaml")


class TestIterationFile:
    def test_its_bytes_are_those_of_the_contract(self, tmp_path: Path) -> None:
        path = write_iteration_score(tmp_path, SCORE)
        assert (path, path.read_bytes()) == (
            tmp_path / "iter-1.score.yaml",
            SCORE_BYTES,
        )
        assert path.stat().st_mode & 0o7777 == 0o600

    @pytest.mark.parametrize(
        ("given", "linked"),
        [
            pytest.param(record(), False, id="no verifier"),
            pytest.param(record((), ()), False, id="none linked"),
            pytest.param(record((TRACE,)), True, id="one linked"),
            pytest.param(record((), (TRACE,), ()), True, id="the second linked"),
            pytest.param(record((LinkedTrace(),)), True, id="a pair of nothing"),
        ],
    )
    def test_the_marker_is_the_last_line_when_a_verifier_linked_traces(
        self, tmp_path: Path, given: IterationRecord, linked: bool
    ) -> None:
        assert derive_linked_traces_to_outcomes(given) is linked
        path = write_iteration_score_with_record(tmp_path, SCORE, given)
        assert (
            path.read_bytes()
            == SCORE_BYTES + b"linked_traces_to_outcomes: true\n" * linked
        )

    def test_what_was_read_knows_its_coverage(self, tmp_path: Path) -> None:
        write_iteration_score(tmp_path, SCORE)
        assert (
            str(read_iteration_score(str(tmp_path), 1).coverage)
            == "1 of 2 signals, 54.1 % of the weight"
        )

    @pytest.mark.parametrize(
        ("n", "name"),
        [(0, "iter-0"), (42, "iter-42"), (-1, "iter--1"), (2**63, f"iter-{2**63}")],
    )
    def test_its_name_holds_the_number(self, n: int, name: str) -> None:
        assert iteration_score_path("log", n) == Path(f"log/{name}.score.yaml")

    def test_keys_of_a_later_version_do_no_harm(self, tmp_path: Path) -> None:
        later = SCORE_BYTES.replace(
            b"      present: true", b"      present: true\n      added: {a: 1}"
        )
        (tmp_path / "iter-1.score.yaml").write_bytes(later + b"more: [1]\n")
        assert read_iteration_score(tmp_path, 1) == build_persisted_score(SCORE)

    def test_is_the_same_file_written_twice(self, tmp_path: Path) -> None:
        path = write_iteration_score(tmp_path, SCORE)
        os.utime(path, (1, 1))
        before = path.stat()
        write_iteration_score(tmp_path, SCORE)
        after = path.stat()
        assert (after.st_ino, after.st_mtime_ns, after.st_ctime_ns) == (
            before.st_ino,
            1 * 10**9,
            before.st_ctime_ns,
        )


SURE = Score(
    1,
    "3.1.0",
    0.5,
    True,
    "fair",
    (
        replace(LANDED, nominal_weight=0.25, source="observed"),
        replace(TESTS, detail="not applicable", applicable=False),
        replace(
            LANDED,
            nominal_weight=0.25,
            signal="tests",
            detail="",
            sub_score=0.5,
            source="claimed",
            cap="fair",
        ),
        replace(TESTS, signal="scope", nominal_weight=0.5),
    ),
    BOUNDS_SIDECAR,
)
SURE_BYTES = (CONTRACT / "with-bounds.score.yaml").read_bytes()


class TestScoreFileWithBounds:
    def test_has_bounds_and_coverage_and_what_its_rows_say_of_themselves(
        self, tmp_path: Path
    ) -> None:
        assert write_iteration_score(tmp_path, SURE).read_bytes() == SURE_BYTES

    def test_that_was_read_has_the_same_bounds_coverage_and_payload(
        self, tmp_path: Path
    ) -> None:
        write_iteration_score(tmp_path, SURE)
        found = read_iteration_score(tmp_path, 1)
        assert (found.bounds, found.coverage) == (SURE.bounds, SURE.coverage)
        assert found.payload() == build_persisted_score(SURE).payload()

    def test_with_a_source_that_nobody_knows_has_none(self, tmp_path: Path) -> None:
        (tmp_path / "iter-1.score.yaml").write_bytes(
            SURE_BYTES.replace(b"source: claimed", b"source: dreamt")
        )
        assert read_iteration_score(tmp_path, 1).breakdown[2].source is None


class TestNumbers:
    @pytest.mark.parametrize(
        ("row", "problem"),
        [
            pytest.param(
                {"nominal_weight": float("nan")},
                'signal "landed" has a number that is not finite',
                id="nan",
            ),
            pytest.param(
                {"nominal_weight": 1e308},
                "the number 1e+308, not one from 0 to 1",
                id="too large a weight",
            ),
            pytest.param(
                {"nominal_weight": -0.1},
                "the number -0.1, not one from 0 to 1",
                id="a weight below 0",
            ),
            pytest.param(
                {"contribution": float("inf")},
                "a number that is not finite",
                id="infinite",
            ),
        ],
    )
    def test_that_cannot_be_added_up_are_refused(
        self, row: dict[str, float], problem: str
    ) -> None:
        landed = replace(LANDED, **row)  # type: ignore[arg-type]
        score = build_persisted_score(replace(SCORE, breakdown=(landed, TESTS)))
        with pytest.raises(InputError, match=re.escape(problem)):
            check_numbers(score, "here")


class TestSessionFile:
    def test_that_is_unscored_is_written_and_reads_back_too(
        self, tmp_path: Path
    ) -> None:
        session = SessionScore("s", "2.0.2", (), False, 0.0, "unscored", ())
        path = write_session_score(tmp_path, session)
        assert path == tmp_path / "session-s.score.yaml"
        assert path.stat().st_mode & 0o7777 == 0o600
        assert path.read_bytes() == (
            b"session_id: s\nrubric_version: 2.0.2\niterations: []\nscored: false\nvalue: 0\n"
            b"band: unscored\n"
            b"per_iteration: []\n"
        )
        assert read_session_score(tmp_path, "s") == session


names = st.text(min_size=1)
shares = st.floats(0, 1)
sources: st.SearchStrategy[Source | None] = st.sampled_from(
    ("observed", "claimed", None)
)
rows = st.builds(
    SignalContribution,
    *(names, st.text(), st.booleans(), shares, st.text(), shares, shares, shares),
    *(sources, st.booleans(), st.text()),
)
persisted = st.builds(
    PersistedScore,
    st.integers(-(2**63), 2**63 - 1),
    st.text(),
    st.booleans(),
    shares,
    st.text(),
    st.lists(rows, max_size=3).map(tuple),
    st.booleans(),
    st.sampled_from(SIDECAR),
)


def as_the_reference_keeps_it(row: SignalContribution) -> SignalContribution:
    return replace(row, source=None, applicable=True, cap="")


refs = st.builds(
    SessionIterRef, st.integers(0, 2**40), st.booleans(), shares, st.text()
)
sessions = st.builds(
    SessionScore,
    st.text(min_size=1, max_size=50).filter(is_plain_session_id),
    st.text(),
    st.lists(st.integers(0, 2**63 - 1), max_size=3).map(tuple),
    st.booleans(),
    shares,
    st.text(),
    st.lists(refs, max_size=3).map(tuple),
)


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("log")


@given(persisted)
def test_any_score_reads_back(log: Path, score: PersistedScore) -> None:
    path = write_persisted_score(log, score)
    found = read_iteration_score(log, score.iteration)
    kept = changed(
        score, breakdown=tuple(map(as_the_reference_keeps_it, score.breakdown))
    )
    assert found == (score if score.sidecar == BOUNDS_SIDECAR else kept)
    if score.sidecar == BOUNDS_SIDECAR:
        assert [row.source for row in found.breakdown] == [
            row.source for row in score.breakdown
        ]
    path.unlink()


@given(sessions)
def test_any_session_reads_back(log: Path, session: SessionScore) -> None:
    path = write_session_score(log, session)
    assert (path.parent, read_session_score(log, session.session_id)) == (log, session)
    path.unlink()


REFUSED_IDS = [
    *("", ".", "..", "a/b", "/", "../../etc/passwd", "a\\b"),
    *("a\0b", "a\nb", "\ta", "a\x1f", "\x1b[2J", "a\x7f", "\x80", "\x9f"),
    *("x" * 201, "é" * 101, "\udcff" * 201),
]
"""Not below a folder, or with a control character (C0, delete, C1), or of more than 200 bytes."""
TAKEN_IDS = [
    *("...", ".hidden", "a..b", "a b", " ", "-rf", "*?[a]", "x: y", "!", "~", "\xa0"),
    *(
        "x" * 200,
        "é" * 100,
        "\udcff" * 200,
        "😀",
        "5c0e1b7a-93d4-4f0e-8a6b-2d71c94be310",
    ),
]


class TestSessionId:
    @pytest.mark.parametrize("given", REFUSED_IDS, ids=lambda given: ascii(given)[:20])
    def test_that_is_no_plain_file_name_has_no_path(
        self, tmp_path: Path, given: str
    ) -> None:
        session = changed(SESSION, session_id=given)
        message = re.escape(
            f"session id {given!r} cannot be a file name; it has no score file"
        )
        for use in (
            lambda: session_score_path(tmp_path, given),
            lambda: write_session_score(tmp_path, session),
            lambda: read_session_score(tmp_path, given),
        ):
            with pytest.raises(InputError, match=message):
                use()
        assert list(tmp_path.iterdir()) == []

    @pytest.mark.parametrize("given", TAKEN_IDS, ids=lambda given: ascii(given)[:20])
    def test_that_is_one_has_a_file_in_the_log(
        self, tmp_path: Path, given: str
    ) -> None:
        session = changed(SESSION, session_id=given)
        path = write_session_score(tmp_path, session)
        assert path == session_score_path(tmp_path, given)
        assert os.listdir(tmp_path) == [f"session-{given}.score.yaml"]
        assert read_session_score(tmp_path, given) == session


class TestWritingMany:
    SCORES = tuple(replace(SCORE, iteration=n) for n in (3, 1, 2))
    SESSIONS = tuple(changed(SESSION, session_id=name) for name in ("c", "a", "b"))

    def test_goes_in_order(self, tmp_path: Path) -> None:
        assert write_iteration_scores(tmp_path, self.SCORES) == [
            tmp_path / f"iter-{n}.score.yaml" for n in (3, 1, 2)
        ]
        assert write_session_scores(tmp_path, self.SESSIONS) == [
            tmp_path / f"session-{n}.score.yaml" for n in "cab"
        ]
        assert write_iteration_scores(tmp_path, []) == []

    @pytest.mark.parametrize(
        ("write", "stuck", "before"),
        [
            (
                lambda log: write_iteration_scores(log, TestWritingMany.SCORES),
                "iter-1",
                ["iter-3"],
            ),
            (
                lambda log: write_session_scores(log, TestWritingMany.SESSIONS),
                "session-b",
                ["session-c", "session-a"],
            ),
        ],
        ids=["iterations", "sessions"],
    )
    def test_stops_at_the_first_failure_and_says_what_was_written(
        self,
        tmp_path: Path,
        write: Callable[[Path], object],
        stuck: str,
        before: list[str],
    ) -> None:
        (tmp_path / f"{stuck}.score.yaml").mkdir()
        with pytest.raises(
            WriteError, match=rf"{stuck}\.score\.yaml: cannot write: is a directory"
        ) as raised:
            write(tmp_path)
        assert raised.value.written == tuple(
            tmp_path / f"{name}.score.yaml" for name in before
        )
        assert set(os.listdir(tmp_path)) == {
            f"{name}.score.yaml" for name in (*before, stuck)
        }

    def test_says_so_too_when_a_session_has_no_file_name(self, tmp_path: Path) -> None:
        nameless = changed(SESSION, session_id="")
        with pytest.raises(
            WriteError, match="session id '' cannot be a file name"
        ) as raised:
            write_session_scores(
                tmp_path, [self.SESSIONS[0], nameless, self.SESSIONS[1]]
            )
        assert raised.value.written == (tmp_path / "session-c.score.yaml",)


NOT_SIDECARS = {
    "empty": (b"", "it is empty"),
    "only a comment": (b"# nothing\n", "it is empty"),
    "only a byte-order mark": (b"\xef\xbb\xbf", "it is empty"),
    "no YAML": (b"iteration: [1\n", "line 2: "),
    "no text": (b"\xff\xfe\xff", "not YAML text: "),
    "binary": (b"\0\0\0\0", "not YAML text: "),
    "a list": (b"- 1\n", "line 1: a list where a mapping belongs"),
    "a word": (b"scored\n", "line 1: 'scored' where a mapping belongs"),
    "text where a number belongs": (
        b"value: high\n",
        "line 1: value: 'high' where a number belongs",
    ),
    "a number where true or false belongs": (
        b"scored: 1\n",
        "line 1: scored: '1' where true or false belongs",
    ),
    "a list where text belongs": (
        b"band: []\n",
        "line 1: band: a list where text belongs",
    ),
    "a key twice": (
        b"band: a\nband: b\n",
        "line 2: key 'band' is already given on line 1",
    ),
    "an unknown anchor": (b"band: *a\n", "line 1: unknown anchor 'a'"),
    "nested too deep": (b"[" * 200, "line 1: nested more than 100 deep"),
}
Read = Callable[[Path], object]
READERS: dict[str, tuple[str, Read]] = {
    "iteration": ("iter-1.score.yaml", lambda log: read_iteration_score(log, 1)),
    "session": ("session-s.score.yaml", lambda log: read_session_score(log, "s")),
}


def huge(path: Path) -> None:
    path.touch()
    os.truncate(path, 5 << 30)


@pytest.mark.parametrize(("name", "read"), READERS.values(), ids=READERS)
class TestReadingWhatIsNoSidecar:
    @pytest.mark.parametrize(
        ("data", "reason"), NOT_SIDECARS.values(), ids=NOT_SIDECARS
    )
    def test_says_what_is_wrong_and_what_to_do(
        self, tmp_path: Path, name: str, read: Read, data: bytes, reason: str
    ) -> None:
        (tmp_path / name).write_bytes(data)
        with pytest.raises(InputError) as raised:
            read(tmp_path)
        message = str(raised.value)
        assert message.startswith(f"{tmp_path / name}: {reason}")
        assert message.endswith("; this is no score sidecar, score it again")
        assert "\n" not in message

    @pytest.mark.parametrize(
        "log", [".", "missing", "file"], ids=["no file", "no log", "a file for a log"]
    )
    def test_says_that_there_is_none(
        self, tmp_path: Path, name: str, read: Read, log: str
    ) -> None:
        (tmp_path / "file").write_bytes(b"")
        path = tmp_path / log / name
        with pytest.raises(NotFoundError) as raised:
            read(tmp_path / log)
        assert (
            str(raised.value)
            == f"{path}: no such score; score the log first with 'da-score run'"
        )

    @pytest.mark.parametrize(
        ("make", "reason"),
        [
            pytest.param(Path.mkdir, "is a directory", id="a directory"),
            pytest.param(make_fifo, "is not a plain file", id="a FIFO"),
            pytest.param(
                lambda path: path.symlink_to("/dev/zero"),
                "is a link to a file elsewhere",
                id="a device",
            ),
            pytest.param(
                lambda path: path.symlink_to(path),
                "too many levels of symbolic links",
                id="a circle",
            ),
            pytest.param(huge, "larger than 16 MiB", id="gigabytes"),
        ],
    )
    def test_does_not_wait_for_what_is_no_file_of_text(
        self,
        tmp_path: Path,
        name: str,
        read: Read,
        make: Callable[[Path], object],
        reason: str,
    ) -> None:
        make(tmp_path / name)
        with pytest.raises(InputError, match=re.escape(f"{name}: {reason}")):
            ends(lambda: read(tmp_path))
