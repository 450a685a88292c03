"""``da-score dr``: what is printed, what tunes it, following a file that grows, and how it ends."""

import sys
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from helpers.commands import DaScore, one_line
from helpers.deliberations import (
    BLOCKED,
    MEETING,
    OWNED,
    document,
    new_claims,
    outputs,
    round_line,
    write_json,
)
from msgspec.structs import replace

from scoring.errors import SettingsError
from scoring.meters.dr import Words
from scoring.meters.dr.profile import DEFAULT, tuning_from


@pytest.fixture
def dr(da_score: DaScore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> DaScore:
    """Run a command of the meter in an empty directory."""
    monkeypatch.chdir(tmp_path)
    return partial(da_score, "dr")


@pytest.fixture
def meeting(tmp_path: Path) -> Path:
    return write_json(tmp_path / "meeting.json", MEETING.model_dump(mode="json"))


def converged(*last: str) -> dict[str, Any]:
    """A transcript that has converged and is ready; its last round has these next actions."""
    return document(*(outputs(claims, last or OWNED) for claims in new_claims(3, 0, 0)))


class TestScore:
    @pytest.mark.parametrize("command", ["score", "stop"])
    def test_of_k_0_is_wrong_usage(
        self, dr: DaScore, meeting: Path, command: str
    ) -> None:
        found = dr(command, meeting, "--k", "0")
        assert (found.status, "--k" in one_line(found)) == (2, True)

    @pytest.mark.parametrize("command", ["score", "stop"])
    def test_reads_standard_input(
        self, dr: DaScore, meeting: Path, command: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        with meeting.open() as given:
            monkeypatch.setattr(sys, "stdin", given)
            found = dr(command, "-")
        assert found.out == dr(command, meeting).out != ""

    @pytest.mark.parametrize("command", ["score", "stop"])
    def test_says_what_is_wrong(
        self, dr: DaScore, tmp_path: Path, command: str
    ) -> None:
        (tmp_path / "bad.jsonl").write_text(
            round_line(1, "a") + '{"type": "round", "round": 2}\n'
        )
        message = one_line(dr(command, "bad.jsonl"))
        assert message == "bad.jsonl: line 2: outputs: is missing"
        assert one_line(dr(command, "none.jsonl")).startswith(
            "none.jsonl: no such file; name a transcript"
        )
        assert one_line(dr(command, tmp_path)).startswith(
            f"{tmp_path}: is a directory; name a transcript"
        )
        assert one_line(dr(command, "/dev/null")) == "/dev/null: is not a plain file"


class TestStop:
    def test_says_the_signal_three_reasons_the_next_action_and_what_it_does_not_claim(
        self, dr: DaScore, tmp_path: Path
    ) -> None:
        rounds = [outputs(["it is so"], OWNED)] * 8
        found = dr("stop", write_json(tmp_path / "t.json", document(*rounds)))
        assert (found.status, found.err) == (0, "")
        head, _, *lines = found.out.splitlines()
        assert head == "SHIP  as of round 8"
        assert [line[:7].strip() for line in lines] == [
            "1",
            "2",
            "3",
            "Next",
            "Flags",
            "Note",
        ]
        assert (
            lines[3]
            == f'Next   Converged. Ship the decision and verify. First: "{OWNED[0]}"'
        )
        assert lines[4] == (
            "Flags  premature_readiness in round 1; "
            "claim_inflation in rounds 2, 3, 4, 5, 6 and 2 more"
        )
        assert "does not say that anything is correct" in lines[5]

    def test_is_data_with_json(self, dr: DaScore, tmp_path: Path) -> None:
        path = write_json(tmp_path / "t.json", converged(BLOCKED))
        found = dr("stop", path, "--json").json
        assert list(found) == [
            *(
                "signal",
                "round",
                "reasons",
                "next_action",
                "change",
                "first_next_action",
                "flags",
                "does_not_claim",
            )
        ]
        assert (found["signal"], found["round"], len(found["reasons"])) == (
            "ESCALATE",
            3,
            3,
        )
        assert found["first_next_action"] is None
        assert dr("stop", path).out.startswith("ESCALATE  as of round 3\n")


class TestSchema:
    def test_is_that_of_the_model(self, dr: DaScore) -> None:
        found = dr("schema").json
        assert (found["title"], found["required"]) == ("Transcript", ["rounds"])
        assert dr("schema", "--json") == dr("schema")


TUNED = {
    "k": 3,
    "thresholds": {"paraphrase": 0.7, "novelty-low": 0.2},
    "words": {"verbs": ["roll back"], "vague": "later"},
}


class TestTuning:
    def test_comes_key_by_key_from_the_last_table_that_sets_it(self) -> None:
        strong = {"k": 1, "thresholds": {"paraphrase": 1}, "words": {"vague": []}}
        limits = replace(DEFAULT.thresholds, paraphrase=0.7, novelty_low=0.2)
        words = Words(verbs=("roll back",), vague=("later",))
        assert tuning_from([]) == DEFAULT
        assert tuning_from([("here", TUNED)]) == replace(
            DEFAULT, k=3, thresholds=limits, added=words
        )
        stronger = replace(
            DEFAULT,
            k=1,
            thresholds=replace(limits, paraphrase=1.0),
            added=replace(words, vague=()),
        )
        assert tuning_from([("weak", TUNED), ("strong", strong)]) == stronger

    @pytest.mark.parametrize(
        ("table", "message"),
        [
            (7, "x: 7 where a table belongs"),
            ({"K": 1}, "x: unknown setting 'K'; known: k, [thresholds], [words]"),
            (
                {"thresholds": {"novelty-low": 1.1}},
                "x: thresholds.novelty-low is 1.1, not a number from 0 to 1",
            ),
            (
                {"thresholds": {"readiness-high": 0.1}},
                "x: thresholds.readiness-medium is above thresholds.",
            ),
            (
                {"words": {"verbs": ["a", " "]}},
                'x: words.verbs[1] is " ", not a word or phrase',
            ),
        ],
    )
    def test_says_what_is_wrong(self, table: Any, message: str) -> None:
        with pytest.raises(SettingsError) as raised:
            tuning_from([("x", table)])
        assert str(raised.value).startswith(message)

    def test_is_read_from_the_settings_of_the_repository(
        self, dr: DaScore, tmp_path: Path
    ) -> None:
        path = write_json(
            tmp_path / "t.json",
            document(*(outputs(c, OWNED) for c in new_claims(3, 0, 0))),
        )
        repository = tmp_path / "repository"
        (repository / ".agents").mkdir(parents=True)

        def signal_of(*options: str | Path) -> str:
            return str(
                dr("score", path, "--repo-dir", repository, *options).json[
                    "stop_recommendation"
                ]["signal"]
            )

        assert signal_of() == "SHIP"
        (repository / "pyproject.toml").write_text("[tool.da-score.dr]\nk = 3\n")
        assert signal_of() == "CONTINUE"
        (repository / ".agents/da-score.toml").write_text("[dr]\nk = 2\n")
        assert signal_of() == "SHIP"
        (tmp_path / "own.toml").write_text("k = 9\n")
        assert signal_of("--thresholds", tmp_path / "own.toml") == "CONTINUE"
        assert signal_of("--thresholds", tmp_path / "own.toml", "--k", "1") == "SHIP"
