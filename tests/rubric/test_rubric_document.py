"""The rubric document says what the data says, and its arithmetic holds to the last digit."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml
from helpers.pages import block, section
from helpers.rubrics import voting

from rubric import (
    RUBRIC_VERSION,
    Rubric,
    Score,
    default_rubric,
    released_rubric,
    rubric_versions,
)
from scoring.evidence.transcripts.facts import TranscriptFacts
from scoring.log.model import ImplBlock, IterationRecord, ReviewBlock, VerifierRecord
from scoring.log.parse import parse_iteration_record
from scoring.parity import (
    BackfillSignals,
    GitSignals,
    assemble_signal_set,
    extract_hook_outcomes_signal,
    extract_iterlog_signals,
)
from scoring.signals.diminishing_returns import deliberation_value
from scoring.signals.landed import landed_claim
from scoring.signals.objectives import objective_checks
from scoring.signals.scope import scope_claim
from scoring.signals.token_efficiency import efficiency_value
from scoring.signals.values import SignalSet, SignalValue, absent_signal, present_signal
from scoring.signals.verifier import verifier_value

DOCUMENT = (Path(__file__).parents[2] / "docs" / "OUTCOME_SCORING_RUBRIC.md").read_text(
    "utf-8"
)

TIMES = "\N{MULTIPLICATION SIGN}"

ALL_SIGNALS = list(
    dict.fromkeys(
        str(spec.id) for v in rubric_versions() for spec in released_rubric(v).signals
    )
)


def blocks(kind: str) -> dict[str, str]:
    """Return the texts between ``<!-- kind:name … -->`` and ``<!-- /kind -->``, by name."""
    found: list[tuple[str, str]] = re.findall(
        rf"<!-- {kind}:([^\n]*?) -->\n(.*?)<!-- /{kind} -->", DOCUMENT, re.S
    )
    assert len({name for name, _ in found}) == len(found), (
        f"a {kind} block is there twice"
    )
    return dict(found)


def table(text: str) -> list[dict[str, str]]:
    """Return the rows of the one table in a text, by its header."""
    lines = [line.strip() for line in text.splitlines() if line.strip().startswith("|")]
    header, _, *rows = [
        [cell.strip() for cell in line.strip("|").split("|")] for line in lines
    ]
    return [dict(zip(header, row, strict=True)) for row in rows]


def headings(level: int, text: str = DOCUMENT) -> list[str]:
    return re.findall(rf"^{'#' * level} (.+)$", text, re.M)


def shortest(number: float) -> str:
    """Write a number with the fewest digits that read back the same, as the document does."""
    return repr(number).removesuffix(".0")


# Versions


def test_every_released_version_has_its_section_newest_first_and_no_other_has() -> None:
    assert headings(3, section(DOCUMENT, "Versions")) == [
        f"Rubric {v}" for v in rubric_versions()[::-1]
    ]


def test_the_version_used_when_none_is_named_is_stated() -> None:
    assert f"**{RUBRIC_VERSION}** scores when no version is named." in DOCUMENT


# Weights and bands


@pytest.mark.parametrize("version", rubric_versions())
def test_the_tables_say_what_the_data_says(version: str) -> None:
    rubric = released_rubric(version)
    rows = [row for row in table(block(DOCUMENT, "weights")) if row[version] != "-"]
    assert [
        (row["id"], row[version], row["two-way"], row["label"], row["description"])
        for row in rows
    ] == [
        (
            spec.id,
            f"{spec.weight:.2f}"
            if round(spec.weight, 2) == spec.weight
            else shortest(spec.weight),
            "yes" if spec.two_way else "no",
            spec.label,
            spec.description,
        )
        for spec in rubric.signals
    ]
    text = section(DOCUMENT, "Weights and bands")
    bands = re.findall(r"`(\w+)`\s+from\s+(\d(?:\.\d+)?)", text)
    assert [(name, float(least)) for name, least in bands] == [
        (b.name, b.min) for b in rubric.bands
    ]


def test_every_signal_has_its_section_in_rubric_order_and_no_other_has() -> None:
    assert set(headings(3, section(DOCUMENT, "The signals"))) == set(ALL_SIGNALS)
    described = [
        name
        for name in headings(3, section(DOCUMENT, "The signals"))
        if default_rubric().signal(name)
    ]
    assert described == [spec.id for spec in default_rubric().signals]


@pytest.mark.parametrize("name", ALL_SIGNALS)
def test_a_signal_section_covers_source_mapping_and_absence(name: str) -> None:
    leads = re.findall(
        r"^- \*\*(Source|Mapping|Absent)\b", section(DOCUMENT, name), re.M
    )
    assert leads == ["Source", "Mapping", "Absent"]


# Mappings: the words of the document go through the code


def write_hook_file(log_dir: Path, iteration: int, results: list[str]) -> None:
    records = [
        {
            "intervention_class": "prevent_before_action",
            "rule_id": "rule",
            "result": word,
        }
        for word in results
    ]
    (log_dir / f"iter-{iteration}.hook-outcomes.yaml").write_text(
        yaml.safe_dump({"records": records}), "utf-8"
    )


def hook_result(word: str, log_dir: Path) -> SignalValue:
    write_hook_file(log_dir, 1, [word])
    return extract_hook_outcomes_signal(log_dir, 1)


READERS: dict[str, Callable[[str, Path], SignalValue]] = {
    "review-decision": lambda word, _: landed_claim(
        IterationRecord(review=ReviewBlock(overall_decision=word))
    ),
    "verifier-status": lambda word, _: verifier_value(
        IterationRecord(verifiers=(VerifierRecord(status=word),)), ("",)
    ),
    "scope-note": lambda word, _: scope_claim(
        IterationRecord(impl=ImplBlock(scope_note=word))
    ),
    "hook-result": hook_result,
}
MAPPED = {
    "review-decision": "Two-way checks and the integrity track",
    "verifier-status": "verifier",
    "scope-note": "scope",
    "hook-result": "hook_outcomes",
}
"""The section that has the words."""
WORDS = {
    "review-decision": {"accept", "escalate", "reject"},
    "verifier-status": {"pass", "partial", "fail"},
    "scope-note": {"on-target", "partial", "scope-breach"},
    "hook-result": {"allow", "advise", "remediate"},
}


def mapping(name: str) -> dict[str, float]:
    found = re.findall(r"`(\S+)`\s+(\d(?:\.\d+)?)", section(DOCUMENT, MAPPED[name]))
    return {word: float(number) for word, number in found}


@pytest.mark.parametrize("name", WORDS)
def test_a_mapping_lists_every_word_and_what_it_gives(
    name: str, tmp_path: Path
) -> None:
    assert set(mapping(name)) == WORDS[name]
    for word, sub_score in mapping(name).items():
        value = READERS[name](word, tmp_path)
        assert (value.present, value.sub_score) == (True, sub_score), word
    assert not READERS[name]("", tmp_path).present
    assert not READERS[name]("other", tmp_path).present


# Integrity and objective checks


def test_the_integrity_table_lists_the_two_way_signals() -> None:
    assert [row["signal"] for row in table(block(DOCUMENT, "integrity"))] == [
        spec.id for spec in default_rubric().two_way_signals()
    ]


def test_the_integrity_table_lays_each_claim_to_the_role_the_code_lays_it_to(
    tmp_path: Path,
) -> None:
    entry = {
        "schema_version": 2,
        "impl": {"scope_note": "on-target", "focused_tests_pass": True},
        "verifiers": [{"status": "pass", "linked_traces": [{"trace_ref": "t"}]}],
        "review": {"overall_decision": "accept"},
    }
    found = signal_set({"entry": entry, "landed": True}, tmp_path)
    assert [
        (row["signal"], row["role"]) for row in table(block(DOCUMENT, "integrity"))
    ] == [(o.signal, o.role) for o in found.integrity]


def test_every_objective_check_is_listed() -> None:
    listed = [
        row["check"].strip("`") for row in table(section(DOCUMENT, "Objective checks"))
    ]
    assert listed == list(objective_checks(None).as_dict())


# Worked examples


@dataclass(frozen=True)
class Example:
    """One worked example: its evidence as data, its table, and its closing lines."""

    rubric: Rubric
    evidence: Mapping[str, Any]
    rows: list[dict[str, str]]
    closing: dict[str, str]
    text: str


def examples() -> dict[str, Example]:
    found = {}
    for head, text in blocks("example").items():
        name, version = head.split(" rubric:")
        fenced = re.search(r"```yaml\n(.*?)```\n(.*)", text, re.S)
        assert fenced, f"example {name} states no evidence"
        closing: dict[str, str] = dict(re.findall(r"^- (\w+): (.+)$", fenced[2], re.M))
        found[name] = Example(
            released_rubric(version),
            yaml.safe_load(fenced[1]),
            table(fenced[2]),
            closing,
            fenced[2],
        )
    return found


EXAMPLES = examples()


def signal_set(evidence: Mapping[str, Any], log_dir: Path) -> SignalSet:
    """Turn an example's evidence into signals, by the code that does so for a real log."""
    record = parse_iteration_record(yaml.safe_dump(evidence["entry"]))
    facts = TranscriptFacts()
    return assemble_signal_set(
        record,
        extract_iterlog_signals(record, ""),
        GitSignals(
            landed_observed=present_signal(float(evidence["landed"]), ""),
            scope_observed=absent_signal(""),
        ),
        BackfillSignals(
            record.iteration,
            efficiency_value(record.session_tokens, facts),
            facts.tool_error_rate,
        ),
        objective_checks(facts),
        extract_hook_outcomes_signal(log_dir, record.iteration),
        deliberation_value(None, record.iteration),
    )


def scored(name: str, log_dir: Path) -> Score:
    example = EXAMPLES[name]
    return example.rubric.score(signal_set(example.evidence, log_dir))


def result(cell: str) -> str:
    """Return what a cell comes to: the number behind the equals sign, or the whole cell."""
    return cell.rpartition(" = ")[2]


@pytest.mark.parametrize("name", EXAMPLES)
def test_an_example_states_the_rows_that_its_evidence_gives(
    name: str, tmp_path: Path
) -> None:
    assert [
        (
            row["signal"],
            row["weight"],
            *(
                result(row[c])
                for c in ("sub-score", "effective weight", "contribution")
            ),
        )
        for row in EXAMPLES[name].rows
    ] == [
        (
            row.signal,
            shortest(row.nominal_weight),
            shortest(row.sub_score) if row.present else "absent",
            shortest(row.effective_weight),
            shortest(row.contribution),
        )
        for row in scored(name, tmp_path).breakdown
    ]


@pytest.mark.parametrize("name", EXAMPLES)
def test_an_example_takes_every_number_from_the_row_it_belongs_to(name: str) -> None:
    voting = [row for row in EXAMPLES[name].rows if row["sub-score"] != "absent"]
    closing = EXAMPLES[name].closing
    total = result(closing["total"])
    for row in voting:
        effective = result(row["effective weight"])
        assert row["effective weight"].startswith(f"{row['weight']} / {total} = ")
        assert row["contribution"].startswith(
            f"{effective} {TIMES} {result(row['sub-score'])} = "
        )
    assert closing["total"].startswith(
        " + ".join(row["weight"] for row in voting) + " = "
    )
    assert closing["value"].startswith(
        " + ".join(result(row["contribution"]) for row in voting) + " = "
    )


@pytest.mark.parametrize("name", EXAMPLES)
def test_an_example_states_the_value_band_and_coverage_that_its_evidence_gives(
    name: str, tmp_path: Path
) -> None:
    score = scored(name, tmp_path)
    closing = EXAMPLES[name].closing
    assert list(closing) == ["total", "value", "band", "coverage"]
    assert (result(closing["value"]), closing["band"]) == (
        shortest(score.value),
        score.band,
    )
    assert closing["coverage"] == str(score.coverage)


# Numbers in the text


FULL_MARKS = [
    (version, row)
    for version, text in blocks("full-marks").items()
    for row in table(text)
]


@pytest.mark.parametrize(("version", "row"), FULL_MARKS)
def test_full_marks_give_the_stated_value_and_coverage(
    version: str, row: dict[str, str]
) -> None:
    names = row["signals at 1, the others absent"].split(", ")
    score = released_rubric(version).score(voting(**dict.fromkeys(names, 1.0)))
    assert len(names) == score.coverage.present
    assert (row["value"], row["coverage"]) == (
        shortest(score.value),
        str(score.coverage),
    )
    assert f"{score.value:.3f}" == "1.000"


def test_the_total_of_a_whole_rubric_is_as_stated() -> None:
    stated = re.search(r"under (\S+) it\s+then\s+is\s+([\d.]+\d)", DOCUMENT)
    assert stated
    total = 0.0
    for spec in released_rubric(stated[1]).signals:
        total += spec.weight
    assert shortest(total) == stated[2]


def test_a_value_is_compared_with_the_bands_before_it_is_rounded() -> None:
    stated = re.search(
        r"([\d.]+) prints\s+as ([\d.]+)\s+and\s+is\s+not\s+(\w+)", DOCUMENT
    )
    assert stated
    value = float(stated[1])
    assert f"{value:.3f}" == stated[2]
    assert (
        default_rubric().band(value)
        != stated[3]
        == default_rubric().band(float(stated[2]))
    )
