"""The recipe "a harness": one file, the first half of this one, and a line in the table."""

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec
import pytest
from helpers.commands import DaScore
from helpers.places import Place
from helpers.repos import START, STEP

from scoring.evidence.harnesses import readers
from scoring.evidence.harnesses.event_reader import EventReader
from scoring.evidence.harnesses.fields import Tokens
from scoring.evidence.harnesses.harness import FileNames, Harness, Home
from scoring.evidence.transcripts.facts import timestamp_ns

# The file of the harness. Parrot keeps a talk as one document,
# ``~/.parrot/<project>/talk-<id>.json``.


class _Squawk(msgspec.Struct):
    at: str
    tokens: tuple[int, int, int, int] | None = None
    ran: str | None = None
    failed: bool = False


class _Talk(msgspec.Struct):
    talk: str
    folder: str
    squawks: list[_Squawk]


class ParrotReader(EventReader):
    decoder = msgspec.json.Decoder(_Talk)
    in_documents = True

    def entry(self, talk: _Talk) -> None:
        self.note_session(talk.folder, talk.talk)
        for number, squawk in enumerate(talk.squawks):
            name = f"{talk.talk} {number}"
            if not self.begin_event(timestamp_ns(squawk.at), name=name):
                continue
            if squawk.tokens:
                output, uncached, reads, writes = squawk.tokens
                self.note_response(name, Tokens(output, uncached, reads, writes))
            if squawk.ran is not None:
                self.note_command(name, squawk.ran, talk.folder)
                self.note_result(name, squawk.failed, "")


class Parrot(Harness):
    name = "parrot"
    reader = ParrotReader
    files = (FileNames("talk-*.json", "document"),)

    def homes(self, environment: Mapping[str, str]) -> list[Home]:
        return [Home(Path(environment["HOME"]) / ".parrot", "~/.parrot")]

    def claims(self, line: dict[str, Any]) -> bool:
        return "squawks" in line


# What the recipe claims.

RUBRIC = ("--rubric", "3.1.0")


@pytest.fixture
def place(place: Place) -> Place:
    """A repository with an iteration, and nothing but a talk with Parrot to read of it."""
    place.iteration(1)
    talk(place, "talk-1.json")
    return place


@pytest.fixture
def registered(monkeypatch: pytest.MonkeyPatch) -> None:
    """The one line of the table."""
    monkeypatch.setattr(readers, "HARNESSES", (*readers.HARNESSES, Parrot()))


def talk(place: Place, name: str, **changed: Any) -> Path:
    """A talk with a turn, a test run that worked, and a command that failed."""

    def at(second: int) -> str:
        return datetime.fromtimestamp(START - STEP // 2 + second, UTC).strftime(
            "%Y-%m-%dT%H:%M:%SZ"
        )

    squawks = [
        {"at": at(1), "tokens": [5, 10, 75, 25]},
        {"at": at(2), "ran": "pytest -q"},
        {"at": at(3), "ran": "false", "failed": True},
        {"at": "soon"},
    ]
    path = place.home / ".parrot" / "project" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(
        json.dumps(
            {"talk": "t-1", "folder": str(place.path), "squawks": squawks} | changed,
            indent=1,
        )
    )
    return path


def signals(da_score: DaScore, *arguments: str) -> dict[str, Any]:
    (one,) = da_score("signals", *RUBRIC, "--no-cache", *arguments).json
    assert isinstance(one, dict)
    return one


class TestHarnessOfOneFileAndOneLine:
    pytestmark = pytest.mark.usefixtures("place", "registered")

    def test_is_read_by_signals(self, da_score: DaScore) -> None:
        text = json.dumps(signals(da_score), ensure_ascii=False)
        assert (
            "backfilled from 1 transcript turn: cache_hit_rate 0.750 (parrot)" in text
        )
        assert "test command invoked before commit (parrot)" in text
        assert "loop-state.md not read in window (parrot)" in text

    def test_what_is_seen_in_its_lines_counts_under_attributed_evidence(
        self, da_score: DaScore
    ) -> None:
        (one,) = da_score("signals", "--rubric", "3.1.0", "--no-cache").json
        details = {name: signal["detail"] for name, signal in one["signals"].items()}
        assert details["tests"].startswith(
            "1 test run, 0 failed; last passed: pytest -q;"
        )
        assert "50% tool-error rate" in details["correction_pressure"]
        assert "cache_hit_rate 0.750 (parrot)" in details["token_efficiency"]

    def test_is_read_by_run(self, place: Place, da_score: DaScore) -> None:
        assert da_score("run", *RUBRIC, "--no-cache").status == 0
        kept = (place.log / "iter-1.evidence.yaml").read_text()
        (_, harness) = kept.split("harnesses:")
        harness, _ = harness.split("attribution:")
        assert " ".join(harness.split()) == (
            "- name: parrot sessions: 1 files: 1 turns: 1 input_tokens: 10 output_tokens: 5"
            " cache_read_tokens: 75 cache_creation_tokens: 25 tool_calls: 2 tool_errors: 1"
            " duplicates_dropped: 0"
        )
        assert "(parrot)" in (place.log / "iter-1.score.yaml").read_text()

    def test_is_read_by_doctor(self, da_score: DaScore) -> None:
        found = da_score("doctor", *RUBRIC, "--json", "--no-cache").json["transcripts"]
        (root,) = [root for root in found["roots"] if root["harness"] == "parrot"]
        assert (root["origin"], root["files"]) == ("~/.parrot", 1)
        assert [harness["name"] for harness in found["harnesses"]] == ["parrot"]
        assert found["lines_skipped"] == {"no time stamp": 1}

    def test_is_kept_between_runs(
        self,
        place: Place,
        da_score: DaScore,
        tmp_path: Path,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        monkeypatch.setattr("scoring.file_stamps.SETTLED", 0)
        cache = ("--cache-dir", str(tmp_path / "cache"))
        cold = da_score("signals", *RUBRIC, *cache).json
        with pytest.MonkeyPatch.context() as patched:
            patched.setattr("scoring.evidence.harnesses.reading.read_whole", None)
            assert da_score("signals", *RUBRIC, *cache).json == cold
        talk(place, "talk-1.json", squawks=[])
        assert da_score("signals", *RUBRIC, *cache).json != cold

    def test_is_found_in_a_folder_named_by_hand(
        self, place: Place, da_score: DaScore
    ) -> None:
        named = "--transcript-dir", str(place.home / ".parrot" / "project")
        (place.home / ".parrot" / "project" / "package.json").write_text("{}")
        assert "(parrot)" in json.dumps(signals(da_score, *named))


class TestWhatIsNotOfIt:
    @pytest.mark.usefixtures("place")
    def test_is_not_read_without_the_line(self, da_score: DaScore) -> None:
        assert "parrot" not in json.dumps(signals(da_score))

    @pytest.mark.usefixtures("registered")
    @pytest.mark.parametrize(
        ("name", "changed", "left_out"),
        [
            pytest.param(
                "talk-2.json",
                {"folder": "/elsewhere"},
                "work in another folder",
                id="another-folder",
            ),
            pytest.param(
                "talk-2.json",
                {"squawks": 1},
                "no line that could be used",
                id="field-of-another-type",
            ),
            pytest.param(
                "talk-2.json", {"talk": "\ud800"}, None, id="part-of-a-character"
            ),
        ],
    )
    def test_is_left_out_with_the_reason(
        self,
        place: Place,
        da_score: DaScore,
        name: str,
        changed: dict[str, Any],
        left_out: str | None,
    ) -> None:
        path = talk(place, name, **changed)
        found = da_score("doctor", *RUBRIC, "--json", "--no-cache").json["transcripts"][
            "files"
        ]
        assert {Path(file["path"]).name: file["left_out"] for file in found} == {
            "talk-1.json": None,
            path.name: left_out,
        }
