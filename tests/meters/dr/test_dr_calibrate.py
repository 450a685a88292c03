"""The meter compared with what people expected: its own set, agreement, and what is left out."""

import json
import re
from collections.abc import Iterator, Mapping
from functools import cache, partial
from pathlib import Path
from typing import Any

import pytest
from helpers.commands import DaScore, Outcome, one_line
from helpers.deliberations import (
    BLOCKED,
    document,
    new_claims,
    outputs,
    round_line,
    transcript,
    write_json,
)
from helpers.pages import block, table
from msgspec.structs import replace

from scoring.meters.dr import Embed, parse_transcript, score_transcript, semantic
from scoring.meters.dr.calibrate import (
    SIGNALS,
    Calibration,
    Label,
    Setting,
    calibrate,
    read_collection,
)
from scoring.meters.dr.profile import DEFAULT
from scoring.meters.dr.recommendation import RULES
from scoring.statistics import wilson

ROOT = Path(__file__).parents[3]
PAGE = ROOT / "docs" / "DIMINISHING_RETURNS.md"
EXAMPLE_FOLDER = ROOT / "testdata" / "dr" / "examples"
PUBLIC = EXAMPLE_FOLDER / "calibration"
PUBLISHED = ROOT.parent / "shared" / "dr"
"""The nine transcripts that the documents' author published, where someone put them there."""

needs_model = pytest.mark.skipif(
    bool(semantic.missing_modules()), reason="the extra semantic is not installed"
)

K_1, K_2, K_1_L2, K_2_L2 = (
    Setting(k, semantic) for semantic in (False, True) for k in (1, 2)
)


@pytest.fixture
def calibration(da_score: DaScore, tmp_path: Path) -> DaScore:
    """Run ``dr calibrate`` with a cache of its own."""
    return partial(da_score, "dr", "calibrate", "--cache-dir", tmp_path / "cache")


def labeled(
    path: Path, signal: str, *rounds: Mapping[str, Any], **classes: str
) -> Path:
    label = {
        "stop_recommendation": signal,
        **{f"{name}_classification": value for name, value in classes.items()},
    }
    return write_json(path, {**document(*map(dict, rounds)), "_expected": label})


NEW = outputs(["alpha beta gamma"], ["Run it now", "Ship the release today"])
SAME = outputs(["alpha beta gamma"], ["Run it now", "Ship the release today"])
STUCK = outputs(["alpha beta gamma"], [BLOCKED])


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    """Two that agree whatever k is, one that agrees with k = 1 only."""
    path = tmp_path / "labelled"
    path.mkdir()
    labeled(path / "continue.json", "CONTINUE", NEW, novelty="HIGH", readiness="LOW")
    labeled(path / "ship.json", "SHIP", NEW, SAME, SAME)
    labeled(path / "stuck.json", "ESCALATE", NEW, STUCK, novelty="LOW")
    return path


# The public set


@cache
def embedder() -> Embed:
    return semantic.open_embedder()


@cache
def public(setting: Setting) -> Calibration:
    (found,) = calibrate(
        read_collection(PUBLIC).labeled,
        [setting],
        embedder() if setting.semantic else None,
    )
    return found


SETTINGS = [K_1, K_2, *(pytest.param(s, marks=needs_model) for s in (K_1_L2, K_2_L2))]


class TestPublicSet:
    def test_is_labeled_and_whole(self) -> None:
        found = read_collection(PUBLIC)
        assert len(found.labeled) == 10
        assert (found.unlabeled, found.broken, found.others) == ([], {}, [])
        assert {item.label.signal for item in found.labeled} == set(SIGNALS)


# The page


def rows(kind: str) -> Iterator[list[str]]:
    """Return the rows of a table of the page, without back quotes and its head."""
    (block,) = re.findall(
        rf"<!-- calibration: {kind} -->\n(.*?)<!-- /calibration -->",
        PAGE.read_text("utf-8"),
        re.S,
    )
    for line in block.strip().splitlines()[2:]:
        yield [cell.strip().replace("`", "") for cell in line.strip("|").split("|")]


LIVE = table(block(PAGE.read_text("utf-8"), "livefire"))
"""The published transcripts of live decisions: name, label, new claims, signals by k."""


class TestPage:
    @pytest.mark.parametrize("setting", SETTINGS, ids=str)
    def test_has_the_figures_of_the_public_set(self, setting: Setting) -> None:
        (row,) = (row for row in rows("agreement") if row[0] == str(setting))
        found = public(setting)
        low, high = found.agreement.interval
        classes = [found.agreement_on("novelty"), found.agreement_on("readiness")]
        counts = [f"{a.agreed} of {a.total}" for a in (found.agreement, *classes)]
        assert row[1:-1] == [
            counts[0],
            f"{found.agreement.share:.3f}",
            f"{low:.3f} to {high:.3f}",
            *counts[1:],
        ]
        assert set(row[-1].split(", ")) == {
            o.file for o in found.outcomes if not o.agrees
        }

    def test_has_the_rules_in_their_order(self) -> None:
        rows_of_rules = table(block(PAGE.read_text("utf-8"), "rules"))
        rules = [(name.strip("`"), signal) for name, _, signal in rows_of_rules]
        assert rules == list(RULES.items())

    def test_lists_what_becomes_of_a_transcript_without_claims(self) -> None:
        text = json.dumps(document(outputs([]), outputs([]), outputs([])))
        result = score_transcript(parse_transcript(text, "here"))
        rows_of_page = table(block(PAGE.read_text("utf-8"), "differences"))
        row = "without a claim in any round the rate is 0 and novelty LOW, so that SHIP or ESCALATE"
        ours = [ours for theirs, ours, _ in rows_of_page if theirs.startswith(row)]
        assert ours == [result.signal] == ["CONTINUE"]

    @pytest.mark.parametrize("row", LIVE, ids=lambda row: str(row[0]))
    def test_has_what_becomes_of_as_many_new_claims_as_the_live_ones_have(
        self, row: list[str]
    ) -> None:
        """The transcripts are others'; the signal depends on their counts here."""
        _, label, counts, *signals = row
        actions = ["Run the tests now", "Ship the release today"]
        rounds = [
            outputs(claims, actions)
            for claims in new_claims(*map(int, counts.split(", ")))
        ]
        results = [
            score_transcript(transcript(*rounds), profile=replace(DEFAULT, k=k))
            for k in (1, 2)
        ]
        assert [result.signal for result in results] == signals
        assert label in (*SIGNALS, "STOP")

    def test_counts_the_labels_of_the_live_ones(self) -> None:
        (line,) = [
            line
            for line in PAGE.read_text("utf-8").splitlines()
            if "| twelve of" in line
        ]
        agreed = [0, 0]
        for _, label, _, *signals in LIVE:
            for index, signal in enumerate(signals):
                agreed[index] += signal == label.replace("STOP", "SHIP")
        figures = [cell.strip() for cell in line.strip("|").split("|")[1:]]
        assert figures == [f"{count} of {len(LIVE)}" for count in agreed]

    @pytest.mark.skipif(
        not PUBLISHED.is_dir(), reason="needs the nine next to the clone"
    )
    def test_has_the_figures_of_the_nine_published_ones(self) -> None:
        rows_of_page = [
            line.strip("|").split("|")
            for line in PAGE.read_text("utf-8").splitlines()
            if line.startswith("| nine of")
        ]
        labeled = read_collection(PUBLISHED).labeled
        settings = [Setting(1, semantic=False), Setting(2, semantic=False)]
        figures = [
            f"{found.agreement.agreed} of {found.agreement.total}"
            for found in calibrate(labeled, settings)
        ]
        assert [[cell.strip() for cell in row[1:]] for row in rows_of_page] == [figures]


EXAMPLES = re.findall(
    r"<!-- example(.*?) -->\n```(?:text|json)\n(.*?)```$",
    PAGE.read_text("utf-8"),
    re.S | re.M,
)


def test_the_example_shows_what_the_command_prints(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, da_score: DaScore
) -> None:
    monkeypatch.chdir(tmp_path)
    (name, transcript), (_, screen) = EXAMPLES
    Path(name.removeprefix(": ")).write_text(transcript, "utf-8")
    command, _, shown = screen.partition("\n")
    assert command.startswith("$ da-score dr ")
    assert da_score(*command.split()[2:]) == Outcome(0, shown, "")


# Agreement


class TestWilson:
    @pytest.mark.parametrize(
        ("agreed", "total", "low", "high"),
        [
            (8, 9, 0.5650, 0.9801),
            (6, 9, 0.3542, 0.8794),
            (0, 10, 0, 0.2775),
            (10, 10, 0.7225, 1),
            (0, 0, 0, 1),
        ],
    )
    def test_is_the_published_formula(
        self, agreed: int, total: int, low: float, high: float
    ) -> None:
        assert wilson(agreed, total) == pytest.approx((low, high), abs=5e-5)


class TestCalibration:
    def test_of_nothing_has_no_share(self) -> None:
        (found,) = calibrate([], [K_1])
        assert (found.agreement.share, found.agreement.interval) == (None, (0, 1))

    @pytest.mark.parametrize(
        ("rounds", "rule", "why"),
        [
            ([NEW], "novelty_not_low", "Novelty is high: 1 of 1 claims"),
            ([NEW, STUCK], "blocker", "Blocked, by "),
            (
                [NEW, outputs(["alpha beta gamma"], [], ["Who acts?"])],
                "readiness_low",
                "Readiness is low, at ",
            ),
            ([NEW, SAME], "converged", "Converged, and ready to act."),
        ],
        ids=["novelty", "a blocker", "readiness", "neither"],
    )
    def test_says_what_the_rule_that_decided_saw(
        self, tmp_path: Path, rounds: list[Mapping[str, Any]], rule: str, why: str
    ) -> None:
        labeled(tmp_path / "a.json", "SHIP", *rounds)
        (calibration,) = calibrate(read_collection(tmp_path).labeled, [K_1])
        (outcome,) = calibration.outcomes
        assert outcome.rule == rule
        assert outcome.why.startswith(why)

    def test_can_use_meanings(self, tmp_path: Path) -> None:
        labeled(tmp_path / "a.json", "SHIP", NEW, {**NEW, "claims": ["an other text"]})
        collection = read_collection(tmp_path).labeled
        words, meanings = calibrate(
            collection, [K_1, K_1_L2], lambda texts: [[1.0, 0.0] for _ in texts]
        )
        assert (words.agreement.agreed, meanings.agreement.agreed) == (0, 1)


# What is in a directory


SHIP = {"stop_recommendation": "SHIP"}


class TestCollection:
    @pytest.mark.parametrize(
        "named", [True, False], ids=["by its name", "by its lines"]
    )
    def test_reads_the_label_of_lines_from_their_header(
        self, tmp_path: Path, named: bool
    ) -> None:
        header = json.dumps({"type": "transcript_header", "_expected": SHIP}) + "\n"
        text = header + "\n" + round_line(1, "alpha") + round_line(2, "alpha")
        (tmp_path / ("a.jsonl" if named else "a.json")).write_text(text, "utf-8")
        (found,) = read_collection(tmp_path).labeled
        assert found.label == Label(stop_recommendation="SHIP")
        assert len(found.transcript.rounds) == 2

    @pytest.mark.parametrize(
        ("label", "why"),
        [
            ("SHIP", '_expected: "SHIP" where an object belongs'),
            ({}, "_expected: stop_recommendation: is missing"),
            *(
                ({"stop_recommendation": s}, "_expected: stop_recommendation: ")
                for s in ("STOP", None, ["SHIP"])
            ),
            (
                {**SHIP, "novelty_classification": "low"},
                '_expected: novelty_classification: "low"',
            ),
            (
                {**SHIP, "readiness_classification": 1},
                "_expected: readiness_classification: 1",
            ),
        ],
    )
    def test_refuses_a_label_that_says_nothing(
        self, tmp_path: Path, label: object, why: str
    ) -> None:
        write_json(tmp_path / "a.json", {**document(NEW), "_expected": label})
        ((file, reason),) = read_collection(tmp_path).broken.items()
        assert file == "a.json"
        assert f"{tmp_path / 'a.json'}: " in reason
        assert why in reason


# The command


class TestCommand:
    def test_prints_a_table_per_setting(
        self, calibration: DaScore, directory: Path
    ) -> None:
        run = calibration(directory, "--no-semantic")
        assert (run.status, run.err) == (0, "")
        assert run.out == (
            f"Calibration — {directory}\n"
            "3 labeled, 0 without a label, 0 broken\n"
            "\n"
            "SETTING       AGREE   SHARE  95 % INTERVAL   NOVELTY  READINESS\n"
            "k = 1, L0+L1  3 of 3  1.000  0.439 to 1.000  2 of 2   0 of 1\n"
            "k = 2, L0+L1  2 of 3  0.667  0.208 to 0.939  1 of 2   0 of 1\n"
            "L2 not measured: --no-semantic\n"
            "\n"
            "k = 1, L0+L1\n"
            "  EXPECTED  CONTINUE  SHIP  ESCALATE\n"
            "  CONTINUE  1         0     0\n"
            "  SHIP      0         1     0\n"
            "  ESCALATE  0         0     1\n"
            "  continue.json: the same signal, but the label wants readiness LOW, found HIGH\n"
            "\n"
            "k = 2, L0+L1\n"
            "  EXPECTED  CONTINUE  SHIP  ESCALATE\n"
            "  CONTINUE  1         0     0\n"
            "  SHIP      0         1     0\n"
            "  ESCALATE  1         0     0\n"
            "  continue.json: the same signal, but the label wants readiness LOW, found HIGH\n"
            "  stuck.json: expected ESCALATE, found CONTINUE by the rule novelty_not_low\n"
            "    Novelty is medium: 0 of 1 claims of round 2 are new, a rate of 0; that is low, "
            "but has been so for 1 round only and counts from 2.\n"
            "    the label wants novelty LOW, found MEDIUM\n"
        )

    def test_gives_everything_as_json(
        self, calibration: DaScore, directory: Path
    ) -> None:
        write_json(directory / "plain.json", document(NEW))
        (directory / "notes.md").touch()
        found = calibration(directory, "--no-semantic", "--k", "2", "--json").json
        assert found["labelled"] == ["continue.json", "ship.json", "stuck.json"]
        assert (found["unlabelled"], found["broken"], found["others"]) == (
            ["plain.json"],
            [],
            ["notes.md"],
        )
        assert found["semantic_left_out"] == "--no-semantic"
        (setting,) = found["settings"]
        assert (setting["k"], setting["levels"]) == (2, ["L0", "L1"])
        assert setting["agreement"] == {
            "agreed": 2,
            "of": 3,
            "share": 0.6667,
            "interval_95": [0.2077, 0.9385],
        }
        assert setting["readiness_agreement"]["agreed"] == 0
        assert setting["confusion"]["ESCALATE"] == {
            "CONTINUE": 1,
            "SHIP": 0,
            "ESCALATE": 0,
        }
        stuck = setting["files"][2]
        assert (stuck["file"], stuck["agrees"], stuck["rule"]) == (
            "stuck.json",
            False,
            "novelty_not_low",
        )
        assert stuck["expected"] == {
            "signal": "ESCALATE",
            "novelty": "LOW",
            "readiness": None,
        }
        assert stuck["found"] == {
            "signal": "CONTINUE",
            "novelty": "MEDIUM",
            "readiness": "MEDIUM",
        }

    def test_names_what_it_did_not_count_and_fails_for_what_is_broken(
        self, calibration: DaScore, directory: Path
    ) -> None:
        write_json(directory / "plain.json", document(NEW))
        (directory / "torn\x1b.json").write_text("{", "utf-8")
        (directory / "notes.md").touch()
        run = calibration(directory, "--no-semantic")
        assert run.status == 1
        assert "3 labeled, 1 without a label, 1 broken\n" in run.out
        _, _, left = run.out.partition("\nNot counted\n")
        plain, torn, notes = left.splitlines()
        assert plain == "  plain.json: no label"
        assert torn.startswith("  torn\\x1b.json: broken: ")
        assert (
            notes == "  notes.md: not named as a transcript is (.json, .jsonl, .ndjson)"
        )
        assert run.err.count("\n") == 1
        assert run.err.startswith("da-score: warning: ")
        assert "torn\\x1b.json: line 1, column" in run.err

    def test_needs_a_folder(self, calibration: DaScore, tmp_path: Path) -> None:
        file = labeled(tmp_path / "a.json", "SHIP", NEW)
        advice = "name the folder of the labeled transcripts"
        assert one_line(calibration(file)) == f"{file}: not a directory; {advice}"
        missing = tmp_path / "none"
        assert (
            one_line(calibration(missing))
            == f"{missing}: no such file or directory; {advice}"
        )

    @pytest.mark.parametrize("names", [[], ["plain.json"]], ids=["empty", "unlabelled"])
    def test_needs_a_label(
        self, calibration: DaScore, tmp_path: Path, names: list[str]
    ) -> None:
        (tmp_path / "set").mkdir()
        for name in names:
            write_json(tmp_path / "set" / name, document(NEW))
        why = "no labeled transcript; a label is an object under _expected next to the rounds"
        assert one_line(calibration(tmp_path / "set")) == f"{tmp_path / 'set'}: {why}"
