"""``da-score dr``: what is printed, what tunes it, following a file that grows, the plot, and how it ends."""

import itertools
import json
import os
import re
import signal
import subprocess
import sys
import time
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from helpers.commands import DaScore, OnTerminal, lines_of, one_line, running
from helpers.deliberations import (
    BLOCKED,
    MEETING,
    OWNED,
    document,
    new_claims,
    outputs,
    round_line,
    transcript,
    write_json,
)
from helpers.doors import ends

from scoring.errors import SettingsError, TranscriptError
from scoring.meters.dr import Profile, Thresholds, Words, score_transcript
from scoring.meters.dr.follow import Update, contents_of, follow, growing_contents, whole_lines
from scoring.meters.dr.profile import tuning_from
from scoring.meters.figures import draw_convergence

pytestmark = pytest.mark.sampled(3)


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
    def test_prints_the_payload(self, dr: DaScore, meeting: Path) -> None:
        assert json.dumps(dr("score", meeting).json) == json.dumps(score_transcript(MEETING).payload())

    @pytest.mark.parametrize("command", ["score", "stop", "watch"])
    def test_of_k_0_is_wrong_usage(self, dr: DaScore, meeting: Path, command: str) -> None:
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

    def test_compares_meanings_when_asked_to(
        self, dr: DaScore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("scoring.meters.dr.open_embedder", lambda _: lambda texts: [[1.0, 0.0] for _ in texts])
        path = write_json(tmp_path / "t.json", document(outputs(["one"]), outputs(["two"])))
        assert dr("score", path, "--semantic").json["components"]["novelty_rate_L2"] == 0
        assert "novelty_rate_L2" not in dr("score", path).json["components"]

    @pytest.mark.parametrize("command", ["score", "stop", "watch"])
    def test_says_what_is_wrong(self, dr: DaScore, tmp_path: Path, command: str) -> None:
        (tmp_path / "bad.jsonl").write_text(round_line(1, "a") + '{"type": "round", "round": 2}\n')
        options = ["--once"] if command == "watch" else []
        message = one_line(dr(command, "bad.jsonl", *options))
        assert message == "bad.jsonl: line 2: outputs: is missing"
        assert one_line(dr(command, "none.jsonl", *options)).startswith("none.jsonl: no such file; name a transcript")
        assert one_line(dr(command, tmp_path, *options)).startswith(f"{tmp_path}: ")


class TestStop:
    def test_says_the_signal_three_reasons_the_next_action_and_what_it_does_not_claim(
        self, dr: DaScore, tmp_path: Path
    ) -> None:
        rounds = [outputs(["it is so"], OWNED)] * 8
        found = dr("stop", write_json(tmp_path / "t.json", document(*rounds)))
        assert (found.status, found.err) == (0, "")
        head, *lines = found.out.splitlines()
        assert head == "SHIP  as of round 8"
        assert [line[:7].strip() for line in lines] == ["1", "2", "3", "Next", "Flags", "Note"]
        assert lines[3] == f'Next   Converged. Ship the decision and verify. First: "{OWNED[0]}"'
        assert lines[4] == "Flags  premature_readiness in round 1; claim_inflation in rounds 2, 3, 4, 5, 6 and 2 more"
        assert "does not say that anything is correct" in lines[5]

    def test_is_data_with_json(self, dr: DaScore, tmp_path: Path) -> None:
        path = write_json(tmp_path / "t.json", converged(BLOCKED))
        found = dr("stop", path, "--json").json
        assert list(found) == [
            *("signal", "round", "reasons", "next_action", "first_next_action", "flags", "does_not_claim")
        ]
        assert (found["signal"], found["round"], len(found["reasons"])) == ("ESCALATE", 3, 3)
        assert found["first_next_action"] is None
        assert dr("stop", path).out.startswith("ESCALATE  as of round 3\n")

    def test_shows_control_characters_escaped(self, dr: DaScore, tmp_path: Path) -> None:
        for action in ("Run it\x1b[31m now", "Blocked \x1b[31m"):
            found = dr("stop", write_json(tmp_path / "t.json", converged(action)))
            assert "\x1b" not in found.out
            assert "\\x1b[31m" in found.out

    def test_is_drawn_on_a_terminal(self, dr: DaScore, on_a_terminal: OnTerminal, tmp_path: Path) -> None:
        path = write_json(tmp_path / "t.json", converged("Run it\x1b[31m now"))
        piped = dr("stop", path).lines
        status, shown = on_a_terminal("dr", "stop", path, columns=60)
        assert status == 0
        assert b"\x1b[1;32mSHIP" in b"".join(shown)
        assert " ".join(lines_of(shown)[1:]).split() == " ".join(piped[1:]).split()


class TestSchema:
    def test_is_that_of_the_model(self, dr: DaScore) -> None:
        found = dr("schema").json
        assert (found["title"], found["required"]) == ("Transcript", ["rounds"])
        assert dr("schema", "--lines").json["title"] == "Line of a transcript"
        assert dr("schema", "--json") == dr("schema")


TUNED = {
    "k": 3,
    "thresholds": {"paraphrase": 0.7, "novelty-low": 0.2},
    "words": {"verbs": ["roll back"], "vague": "later"},
}


class TestTuning:
    def test_comes_key_by_key_from_the_last_table_that_sets_it(self) -> None:
        strong = {"k": 1, "thresholds": {"paraphrase": 1}, "words": {"vague": []}}
        limits = Thresholds(paraphrase=0.7, novelty_low=0.2)
        words = Words(verbs=("roll back",), vague=("later",))
        assert tuning_from([]) == (Profile(), Words())
        assert tuning_from([("here", TUNED)]) == (Profile(3, thresholds=limits), words)
        stronger = Profile(1, thresholds=replace(limits, paraphrase=1.0))
        assert tuning_from([("weak", TUNED), ("strong", strong)]) == (stronger, replace(words, vague=()))

    @pytest.mark.parametrize(
        ("table", "message"),
        [
            (7, "x: 7 where a table belongs"),
            ({"K": 1}, "x: unknown setting 'K'; known: k, [thresholds], [words]"),
            ({"thresholds": {"novelty-low": 1.1}}, "x: thresholds.novelty-low is 1.1, not a number from 0 to 1"),
            ({"thresholds": {"readiness-high": 0.1}}, "x: thresholds.readiness-medium is above thresholds."),
            ({"words": {"verbs": ["a", " "]}}, 'x: words.verbs[1] is " ", not a word or phrase'),
        ],
    )
    def test_says_what_is_wrong(self, table: Any, message: str) -> None:
        with pytest.raises(SettingsError) as raised:
            tuning_from([("x", table)])
        assert str(raised.value).startswith(message)

    def test_is_read_from_the_settings_of_the_repository(self, dr: DaScore, tmp_path: Path) -> None:
        path = write_json(tmp_path / "t.json", document(*(outputs(c, OWNED) for c in new_claims(3, 0, 0))))
        repository = tmp_path / "repository"
        (repository / ".agents").mkdir(parents=True)

        def signal_of(*options: str | Path) -> str:
            return str(dr("score", path, "--repo-dir", repository, *options).json["stop_recommendation"]["signal"])

        assert signal_of() == "SHIP"
        (repository / "pyproject.toml").write_text("[tool.da-score.dr]\nk = 3\n")
        assert signal_of() == "CONTINUE"
        (repository / ".agents/da-score.toml").write_text("[dr]\nk = 2\n")
        assert signal_of() == "SHIP"
        (tmp_path / "own.toml").write_text("k = 9\n")
        assert signal_of("--thresholds", tmp_path / "own.toml") == "CONTINUE"
        assert signal_of("--thresholds", tmp_path / "own.toml", "--k", "1") == "SHIP"

    def test_of_the_settings_is_checked(self, dr: DaScore, tmp_path: Path, meeting: Path) -> None:
        (tmp_path / ".agents").mkdir()
        (tmp_path / ".agents/da-score.toml").write_text("[dr]\nk = 'two'\n")
        where = ".agents/da-score.toml: [dr]: "
        assert one_line(dr("stop", meeting)) == f'{where}k is "two", not a number of rounds from 1'
        (tmp_path / ".agents/da-score.toml").write_text("dr = 1\n")
        assert one_line(dr("stop", meeting)) == f"{where}1 where a table belongs"

    def test_lists_added_words_that_matched(self, dr: DaScore, tmp_path: Path) -> None:
        (tmp_path / "own.yaml").write_text("words: {blockers: [sign-off]}\n")
        path = write_json(tmp_path / "t.json", converged("Run the release after sign-off"))
        found = dr("score", path, "--thresholds", "own.yaml").json
        assert found["added_words"][-1] == {"list": "blockers", "word": "sign-off", "round": 3}
        assert found["stop_recommendation"]["signal"] == "ESCALATE"


class TestWatch:
    @staticmethod
    def updates(*contents: str | bytes, is_final: bool = False) -> list[Update]:
        data = [(text.encode() if isinstance(text, str) else text, is_final) for text in contents]
        return list(follow(iter(data), "t.jsonl", score_transcript))

    def numbers(self, *contents: str | bytes) -> list[list[int]]:
        """The numbers of the rounds that each content adds; -1 before those of one that replaced another."""
        return [[-1] * u.replaced + [found.novelty.round for found in u.new] for u in self.updates(*contents)]

    def test_shows_each_round_once(self) -> None:
        lines = [round_line(n, f"claim {n}") for n in (1, 2, 3)]
        assert self.numbers("", lines[0], lines[0], "".join(lines)) == [[], [1], [], [2, 3]]

    def test_waits_for_a_line_that_is_half_written(self) -> None:
        first, second, third = round_line(1, "a").encode(), round_line(2, "b ä").encode(), round_line(3, "c").encode()
        halves = [first + second[:end] for end in range(len(second) - 1)]
        contents = [first, *halves, first + second.rstrip(), first + second, first + second + third]
        assert self.numbers(*contents) == [[1], *([] for _ in halves), [2], [], [3]]

    @pytest.mark.parametrize("tail", [b"", b"{", b"7", b"[]", b'"a"', b"\xc3", b"[" * 100_000])
    def test_takes_no_tail_that_is_no_object(self, tail: bytes) -> None:
        assert whole_lines(b"a\n" + tail) == b"a\n"

    def test_reads_a_file_anew_that_shrank_or_was_replaced(self) -> None:
        both, first = round_line(1, "a") + round_line(2, "b"), round_line(1, "a")
        replaced = round_line(1, "x") + round_line(2, "y")
        assert self.numbers(both, first, replaced, "", first) == [[1, 2], [-1, 1], [-1, 1, 2], [-1], [1]]

    def test_shows_again_the_rounds_after_one_that_came_late(self) -> None:
        lines = round_line(1, "a") + round_line(3, "c")
        assert self.numbers(lines, lines + round_line(2, "b")) == [[1, 3], [2, 3]]

    def test_says_of_each_round_what_was_so_then(self) -> None:
        lines = [round_line(n, *claims, actions=OWNED) for n, claims in enumerate(new_claims(3, 0, 0, 3), 1)]
        (at_once,) = self.updates("".join(lines))
        bit_by_bit = [u.new[0] for u in self.updates(*("".join(lines[:n]) for n in range(1, 5)))]
        signals = [[score.recommendation.signal for score in scores] for scores in (at_once.new, bit_by_bit)]
        assert signals == [["CONTINUE", "CONTINUE", "SHIP", "CONTINUE"]] * 2

    @pytest.mark.sampled(1)
    @pytest.mark.parametrize(
        ("content", "is_final", "said"),
        [
            pytest.param(round_line(1) + "{oops\n", False, r"line 2, column \d+: ", id="a whole line"),
            pytest.param(round_line(1) + "{", True, r"line 2, column \d+: ", id="half a line at the end"),
            pytest.param("", True, "no rounds", id="nothing at the end"),
        ],
    )
    def test_says_what_is_wrong_when_a_line_is_whole_or_at_the_end(
        self, content: str, is_final: bool, said: str
    ) -> None:
        with pytest.raises(TranscriptError, match=rf"^t\.jsonl: {said}"):
            self.updates(content, is_final=is_final)

    def test_looks_at_a_file_again_when_it_changed(self, tmp_path: Path) -> None:
        path = tmp_path / "t.jsonl"
        steps = iter((None, b"one\n", None, b"one\ntwo\n", b"", None, b"three\n"))

        def sleep(seconds: float) -> None:
            assert seconds == 7
            if (step := next(steps)) is not None:
                path.write_bytes(step) if step else path.unlink()

        contents = contents_of(path, 7, sleep=sleep)
        found = [data for data, _ in itertools.islice(contents, 3)]
        assert found == [b"one\n", b"one\ntwo\n", b"three\n"]

    def test_reads_a_pipe_as_it_comes(self) -> None:
        reading, writing = os.pipe()
        try:
            contents = growing_contents(reading)
            os.write(writing, b"a\n")
            assert next(contents) == (b"a\n", False)
            os.write(writing, b"b\n")
            assert next(contents) == (b"a\nb\n", False)
            os.close(writing)
            assert list(contents) == [(b"a\nb\n", True)]
        finally:
            os.close(reading)

    def test_reads_no_endless_stream(self) -> None:
        with open("/dev/zero", "rb") as zeros, pytest.raises(TranscriptError, match="larger than 16 MiB"):
            ends(lambda: list(growing_contents(zeros.fileno(), only_whole=True)), 30)


class TestWatching:
    LINES = "".join(round_line(n, *claims, actions=OWNED) for n, claims in enumerate(new_claims(3, 1, 0, 0, 0), 1))

    @pytest.fixture
    def path(self, tmp_path: Path) -> Path:
        path = tmp_path / "t.jsonl"
        path.write_text(self.LINES)
        return path

    def test_prints_a_line_for_each_round(self, dr: DaScore, path: Path) -> None:
        found = dr("watch", path, "--once")
        assert (found.status, found.err) == (0, "")
        lines = found.out.splitlines()
        assert [line.split()[:2] for line in lines] == [["round", str(n)] for n in range(1, 6)]
        assert [line.split()[-1] for line in lines] == ["CONTINUE", "CONTINUE", "CONTINUE", "SHIP", "SHIP"]

    def test_prints_data_on_a_line_each_with_json(self, dr: DaScore, path: Path) -> None:
        found = [json.loads(line) for line in dr("watch", path, "--once", "--json").out.splitlines()]
        assert [row["round"] for row in found] == [1, 2, 3, 4, 5]
        assert found[1]["novelty_rate"] == 0.3333
        assert found[3]["signal"] == "SHIP"

    def test_ends_at_the_first_round_that_says_stop(self, dr: DaScore, path: Path) -> None:
        assert len(dr("watch", path, "--until-stop").out.splitlines()) == 4
        assert len(dr("watch", path, "--until-stop", "--k", "1").out.splitlines()) == 3

    @pytest.mark.slow
    def test_follows_a_file_that_grows_and_is_replaced_until_it_is_interrupted(self, tmp_path: Path) -> None:
        path = tmp_path / "t.jsonl"

        def rounds(watching: "subprocess.Popen[str]", count: int) -> list[str]:
            assert watching.stdout is not None
            out = watching.stdout
            return ends(lambda: [out.readline().split()[1] for _ in range(count)], 300)

        with running("dr", "watch", path, "--interval", "0.02") as watching:
            assert watching.stderr is not None
            waiting = ends(watching.stderr.readline, 300)
            path.write_text(round_line(1, "a"))
            assert rounds(watching, 1) == ["1"]
            with path.open("a") as f:
                for part in re.findall("(?s).{1,30}", round_line(2, "b") + round_line(3, "c")):
                    f.write(part)
                    f.flush()
                    time.sleep(0.001)
            assert rounds(watching, 2) == ["2", "3"]
            (tmp_path / "new").write_text(round_line(7, "x"))
            (tmp_path / "new").rename(path)
            assert rounds(watching, 1) == ["7"]
            watching.send_signal(signal.SIGINT)
            out, err = watching.communicate(timeout=300)
        assert (watching.returncode, out) == (130, "")
        assert (waiting + err).splitlines() == [
            f"da-score: warning: {path}: no such file yet; waiting for it",
            f"da-score: warning: {path}: shrank or was replaced; reading it anew",
        ]

    @pytest.mark.slow
    def test_follows_standard_input_to_its_end(self) -> None:
        with running("dr", "watch", "-", stdin=subprocess.PIPE) as watching:
            assert watching.stdin is not None and watching.stdout is not None
            watching.stdin.write(round_line(1, "a"))
            watching.stdin.flush()
            out = watching.stdout
            assert ends(out.readline, 300).startswith("round 1 ")
            rest, err = watching.communicate(round_line(2, "b"), timeout=300)
        assert (watching.returncode, rest.split()[1], err) == (0, "2", "")


class TestPlot:
    @pytest.mark.slow
    def test_draws_novelty_readiness_and_the_stop(self, dr: DaScore, tmp_path: Path) -> None:
        path = write_json(tmp_path / "t.json", {"topic": "What a <plan> $x$ & more", **converged()})
        found = dr("score", path, "--plot", "rounds.svg")
        assert (found.status, found.err) == (0, "")
        assert json.loads(found.out)["stop_recommendation"]["signal"] == "SHIP"
        drawn = (tmp_path / "rounds.svg").read_text("utf-8")
        assert drawn.startswith("<?xml")
        for text in ("novelty rate", "action readiness", "SHIP at round 3", "What a &lt;plan&gt; $x$ &amp; more"):
            assert f">{text}<" in drawn

    @pytest.mark.slow
    def test_of_many_rounds_names_some_of_them(self) -> None:
        result = score_transcript(transcript(*(outputs([f"a{i} b{i}"]) for i in range(300))))
        assert draw_convergence(result).count(b"xtick_") < 60
