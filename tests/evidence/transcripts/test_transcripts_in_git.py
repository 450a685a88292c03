"""Transcripts that are objects in git are read as the same bytes in a file, once."""

import json
import os
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar

import msgspec
import pytest
from helpers.checkpoints import BRANCH, about, name, record
from helpers.doors import watched_doors
from helpers.harness_lines import (
    ALWAYS,
    as_bytes,
    cases,
    claude,
    meta,
    response,
    result,
    tallies_of,
    tokens,
    use,
    write,
)
from helpers.harness_lines import counts as counted
from helpers.repos import Repo

from scoring.evidence.attribution.attributed import (
    NOT_HERE,
    AttributedScan,
    checkpoint_transcripts,
)
from scoring.evidence.git.checkpoints import read_checkpoints
from scoring.evidence.git.repository import GitRepository
from scoring.evidence.harnesses import json_reader, lines
from scoring.evidence.harnesses.harness import FileNames, Harness
from scoring.evidence.harnesses.json_reader import JsonReader
from scoring.evidence.harnesses.lines import Lines, read_parts
from scoring.evidence.harnesses.readers import HARNESSES
from scoring.evidence.harnesses.scan import Scan
from scoring.evidence.harnesses.why_left_out import UNREADABLE, file_found
from scoring.evidence.reference.transcripts import TimeSlices
from scoring.evidence.transcripts.facts import (
    IterationWindow,
    RootFound,
    TranscriptFacts,
    TranscriptPlaces,
    TranscriptSurvey,
)
from scoring.evidence.transcripts.tally import facts_at
from scoring.evidence.transcripts.transcript_events import LineSpan, TranscriptEvents
from scoring.evidence.transcripts.transcript_files import Discovery

REAL = Path(
    os.environ.get(
        "DA_SCORE_SHARED_REAL", Path(__file__).parents[4] / "shared" / "real"
    )
)

CLAUDE = [
    claude(1, {"type": "text", "text": "hello"}, kind="user"),
    response(2, "msg_1", "req_1", use("Bash", "toolu_1", command="pytest -q")),
    claude(3, result("toolu_1", is_error=True), kind="user"),
    response(4, "msg_2", "req_2", output=30),
]
LONG = claude(9, {"type": "text", "text": "x" * 200_000})
CODEX = [meta(1, "c1"), tokens(2, counted(100, 50, 7)), tokens(3, counted(300, 90, 17))]


def found_in(repo: Repo) -> Discovery:
    opened = GitRepository(repo.path)
    return checkpoint_transcripts(read_checkpoints(opened).values(), opened)


class ReadingScan(AttributedScan):
    """A reading of transcripts beside those on disk, which counts all lines at once."""

    def __init__(
        self, extra: Discovery, places: TranscriptPlaces, **reading: Any
    ) -> None:
        super().__init__(places, **reading)
        self._discovery = extra  # of checkpoints

    def survey(self) -> TranscriptSurvey:
        return Scan.survey(self)

    def facts(
        self,
        windows: Sequence[IterationWindow],
        whole: bool = True,  # noqa: ARG002
    ) -> list[TranscriptFacts]:
        harnesses = {harness.name: harness for harness in self._harnesses}
        counted = []
        for transcript, by_harness in Scan.start(self)._read():
            self._files.append(file_found(transcript.path, by_harness.items(), ""))
            for harness, events in by_harness.items():
                times = {line.number: line.time for line in events.lines}
                counted.append((harnesses[harness], events, times))
        slices = TimeSlices(windows)
        tallies = tallies_of(counted, slices)
        self._counted = facts_at(tallies).harnesses
        return [facts_at(tallies, slices.within(window)) for window in windows]


NOWHERE = TranscriptPlaces(Path("/nowhere"))


def scanned(
    extra: Discovery, places: TranscriptPlaces = NOWHERE, **reading: Any
) -> TranscriptSurvey:
    with Scan.start(ReadingScan(extra, places, **reading)) as scan:
        scan.facts([ALWAYS])
        return scan.survey()


def stored(repo: Repo, *contents: bytes) -> Discovery:
    """Put each content into a checkpoint of its own."""
    record(
        repo,
        {
            name(n): {"0/metadata.json": about(), "0/full.jsonl": data}
            for n, data in enumerate(contents)
        },
    )
    return found_in(repo)


def in_parts(repo: Repo, *parts: bytes) -> Discovery:
    names = ["0/full.jsonl", *(f"0/full.jsonl.{n:03}" for n in range(1, len(parts)))]
    record(
        repo,
        {name(1): {"0/metadata.json": about(), **dict(zip(names, parts, strict=True))}},
    )
    return found_in(repo)


def from_file(tmp_path: Path, content: bytes) -> TranscriptSurvey:
    (tmp_path / "files").mkdir()
    (tmp_path / "files" / "full.jsonl").write_bytes(content)
    return scanned(
        Discovery(), TranscriptPlaces(Path("/nowhere"), (tmp_path / "files",))
    )


def says(survey: TranscriptSurvey) -> tuple[object, ...]:
    """What was read, without where it was."""
    files = [
        (file.harness, file.sessions, file.cwd, file.left_out) for file in survey.files
    ]
    return files, survey.lines_skipped, survey.harnesses


class TestRows:
    @cases(
        "content",
        {
            "Claude": as_bytes(CLAUDE),
            "both": as_bytes([*CLAUDE, *CODEX]),
            "no end": as_bytes(CLAUDE)[:-1],
            "cut off": as_bytes(CLAUDE)[:-20],
            "blank lines first": b"\n\n \r\n" + as_bytes(CLAUDE),
            "odd lines": b"not json\n"
            + as_bytes(CLAUDE)
            + b'{"deep": '
            + b"[" * 5000
            + b"\n",
            "a line over several pieces": as_bytes(
                [*CLAUDE, LONG, response(10, "msg_9", "req_9")]
            ),
            "empty": b"",
            "blank": b"\n",
        },
    )
    def test_are_those_of_the_same_bytes_in_a_file(
        self, repo: Repo, tmp_path: Path, content: bytes
    ) -> None:
        assert says(scanned(stored(repo, content))) == says(
            from_file(tmp_path, content)
        )

    def test_are_the_same_beside_files(self, repo: Repo, tmp_path: Path) -> None:
        extra = stored(repo, as_bytes(CLAUDE))
        write(tmp_path / "t" / "full.jsonl", *CODEX)
        places = TranscriptPlaces(Path("/nowhere"), (tmp_path / "t",))
        survey = scanned(extra, places)
        assert [harness.name for harness in survey.harnesses] == ["claude", "codex"]
        assert [root.origin for root in survey.roots] == [
            "--transcript-dir",
            "checkpoints",
        ]

    def test_leave_out_a_line_that_is_too_long(
        self, repo: Repo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(lines, "LINE_LIMIT", 100_000)
        content = as_bytes([*CLAUDE, LONG, response(10, "msg_9", "req_9")])
        warnings: list[str] = []
        survey = scanned(stored(repo, content), warn=warnings.append)
        assert says(survey) == says(from_file(tmp_path, content))
        assert [
            f"{BRANCH.removeprefix('refs/heads/')}:" in warning for warning in warnings
        ] == [True]


class TestParts:
    def test_are_read_in_order_as_one_transcript(
        self, repo: Repo, tmp_path: Path
    ) -> None:
        parts = [
            as_bytes(CODEX[:1])[:-1],
            as_bytes(CODEX[1:2]),
            as_bytes(CODEX[2:])[:-1],
        ]
        extra = in_parts(repo, *parts)
        assert says(scanned(extra)) == says(from_file(tmp_path, as_bytes(CODEX)))
        (transcript,) = extra.transcripts
        assert (len(transcript.blobs), transcript.size) == (3, len(b"".join(parts)))
        assert (
            str(transcript.path)
            == f"entire/checkpoints/v1:{name(1)[:2]}/{name(1)[2:]}/0/full.jsonl"
        )


class TestIndex:
    def test_answers_the_second_time_without_git(
        self, repo: Repo, tmp_path: Path
    ) -> None:
        extra = stored(repo, as_bytes(CLAUDE), as_bytes(CODEX))
        surveys, commands = [], []
        for _ in range(2):
            with watched_doors() as doors:
                surveys.append(
                    scanned(extra, cache_dir=tmp_path / "cache", processes=1)
                )
            commands.append(
                [command for command in doors.commands if "cat-file" in command]
            )
        assert surveys[0] == surveys[1]
        assert [len(started) for started in commands] == [1, 0]

    def test_knows_a_transcript_by_what_it_holds(
        self, repo: Repo, tmp_path: Path
    ) -> None:
        scanned(
            stored(repo, as_bytes(CLAUDE), as_bytes(CODEX)),
            cache_dir=tmp_path / "cache",
        )
        other = Repo(tmp_path / "other")
        extra = stored(other, b"\n", as_bytes(CODEX))
        with watched_doors() as doors:
            scanned(Discovery(extra.transcripts[1:]), cache_dir=tmp_path / "cache")
            assert doors.commands == []
            scanned(extra, cache_dir=tmp_path / "cache")
            assert len(doors.commands) == 1


class TestObjectsThatAreNotHere:
    def test_leave_their_transcript_out(self, repo: Repo) -> None:
        stored(repo, as_bytes(CLAUDE), as_bytes(CODEX))
        repo.lose(f"{BRANCH}:{name(0)[:2]}/{name(0)[2:]}/0/full.jsonl")
        survey = scanned(found_in(repo))
        assert [(file.harness, file.left_out) for file in survey.files] == [
            ("", NOT_HERE),
            ("codex", ""),
        ]
        assert survey.roots == (
            RootFound(Path("entire/checkpoints/v1"), "checkpoints", files=2),
        )

    def test_and_go_while_they_are_read_are_warned_of(
        self, repo: Repo, tmp_path: Path
    ) -> None:
        extra = stored(repo, as_bytes(CLAUDE), as_bytes(CODEX))
        repo.lose(f"{BRANCH}:{name(0)[:2]}/{name(0)[2:]}/0/full.jsonl")
        warnings: list[str] = []
        survey = scanned(extra, warn=warnings.append, cache_dir=tmp_path / "cache")
        assert [(file.harness, file.left_out) for file in survey.files] == [
            ("", UNREADABLE),
            ("codex", ""),
        ]
        assert len(warnings) == 1
        assert "0/full.jsonl: " in warnings[0]

    def test_are_not_fetched(self, repo: Repo, tmp_path: Path) -> None:
        stored(repo, as_bytes(CLAUDE), as_bytes(CODEX))
        repo.commit({"a": "1"})
        repo.config("uploadpack.allowFilter", "true")
        repo.git(
            "clone",
            "-q",
            "--filter=blob:none",
            "--no-local",
            f"file://{repo.path}",
            str(tmp_path / "clone"),
        )
        clone = Repo.at(tmp_path / "clone")
        survey = scanned(found_in(clone))
        assert [file.left_out for file in survey.files] == [NOT_HERE, NOT_HERE]
        # Nor when they were thought to be there.
        opened = GitRepository(clone.path)
        believed = Discovery(
            tuple(one._replace(repository=opened) for one in found_in(repo).transcripts)
        )
        assert [file.left_out for file in scanned(believed).files] == [
            UNREADABLE,
            UNREADABLE,
        ]
        assert (
            clone.git("rev-list", "--objects", "--missing=print", "--all").count("?")
            == 3
        )  # the metadata is alike


class TestCopies:
    def test_are_read_once(self, repo: Repo) -> None:
        extra = stored(repo, as_bytes(CLAUDE), as_bytes(CLAUDE), as_bytes(CODEX))
        assert len(extra.transcripts) == 2
        assert extra.roots[0].files == 3


class PaperReader(JsonReader):
    decoder: ClassVar[msgspec.json.Decoder[Any]] = msgspec.json.Decoder(dict[str, Any])

    def __init__(self, _: object) -> None:
        super().__init__()
        self.read: list[str] = []

    def entry(self, line: dict[str, Any]) -> None:
        self.read.append(line["paper"])

    def events(self) -> TranscriptEvents:
        return TranscriptEvents([LineSpan(session=paper) for paper in self.read])


class Papers(Harness):
    """A harness that writes one document a session, in which a name is that of Claude's lines."""

    name = "papers"
    files = (FileNames("paper-*.json", "document"),)
    reader = PaperReader

    def claims(self, line: dict[str, Any]) -> bool:
        return "paper" in line


def papers(*parts: bytes) -> dict[str, list[str]]:
    """The sessions that are read, by harness, when a document comes a byte or so at a time."""
    pieces = [
        iter([part[at : at + 5] for at in range(0, len(part), 5)]) for part in parts
    ]
    harnesses = [*HARNESSES, Papers()]
    read = read_parts(pieces, Lines(harnesses))
    return {who: events.sessions() for who, events in read.items()}


PAPER = {"paper": "p1", "sessionId": "s1", "words": [1, {"a": "{\n"}]}


class TestDocuments:
    @cases(
        "text",
        {
            "over several lines": json.dumps(PAPER, indent=2),
            "in one line": json.dumps(PAPER),
            "behind blank lines": "\r\n \n"
            + json.dumps(PAPER, indent=2).replace("\n", "\r\n"),
            "in one line between blank ones": "\n" + json.dumps(PAPER) + "\n\n",
        },
    )
    def test_are_known_by_their_content(self, text: str) -> None:
        assert papers(text.encode()) == {"papers": ["p1"]}

    def test_may_be_in_parts_of_which_each_is_one(self) -> None:
        second = json.dumps(PAPER | {"paper": "p2"}).encode()
        assert papers(json.dumps(PAPER, indent=1).encode(), second) == {
            "papers": ["p1", "p2"]
        }

    def test_over_the_limit_are_not_read(
        self, repo: Repo, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(json_reader, "DOCUMENT_LIMIT", 1 << 20)
        warnings: list[str] = []
        extra = stored(repo, b"{\n" + b" " * (2 << 20) + b"}", as_bytes(CODEX))
        survey = scanned(extra, warn=warnings.append)
        assert [(file.harness, file.left_out) for file in survey.files] == [
            ("", UNREADABLE),
            ("codex", ""),
        ]
        assert "a document over 1 mib" in warnings[0].lower()


@pytest.mark.slow
@pytest.mark.skipif(
    not REAL.exists(), reason=f"the real repositories are not at {REAL}"
)
@pytest.mark.parametrize(
    ("bundle", "documents"), [("entire-cli.bundle", 3), ("git-sync.bundle", 0)]
)
def test_reads_every_real_transcript(
    tmp_path: Path, bundle: str, documents: int
) -> None:
    clone = tmp_path / "clone"
    subprocess.run(["git", "clone", "-q", "-n", REAL / bundle, clone], check=True)
    repo = Repo.at(clone)
    extra = found_in(repo)
    survey = scanned(extra)
    assert len(survey.files) == len(extra.transcripts)
    assert (
        sum(bool(file.left_out) for file in survey.files if file.harness != "gemini")
        <= documents
    )
    assert not extra.left_out
    files = tmp_path / "files"
    files.mkdir()
    for n, transcript in enumerate(extra.transcripts):
        content = b"".join(
            repo.git_bytes("cat-file", "blob", oid) for oid in transcript.blobs
        )
        assert len(content) == transcript.size
        if not content.startswith(b"{\n"):
            (files / f"{n}.jsonl").write_bytes(content)
    beside = scanned(Discovery(), TranscriptPlaces(Path("/nowhere"), (files,)))
    assert [
        harness for harness in survey.harnesses if harness.name != "gemini"
    ] == list(beside.harnesses)
