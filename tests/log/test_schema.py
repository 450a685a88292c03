"""What an entry may hold: the schema, the check of entries, and that both agree with the parser."""

from pathlib import Path
from typing import Any

import jsonschema
import pytest
from helpers import tables
from helpers.commands import DaScore
from msgspec.structs import fields

from scoring.errors import InputError, YamlError
from scoring.files import read_file
from scoring.log import model
from scoring.log.parse import ENTRIES, parse_iteration_record
from scoring.log.schema import described_fields, entry_schema, faults_of
from scoring.yamlread import parse

ROOT = Path(__file__).parents[2]
WHOLE = ROOT / "testdata" / "golden"
FIRST = "schema_version: 2\niteration: 1\n"


def faults(text: str) -> list[tuple[str, int | None, str, bool]]:
    return [tuple(fault) for fault in faults_of(parse(text.encode()))]  # type: ignore[misc]


class TestSchema:
    def test_is_a_schema_and_is_what_the_command_prints(
        self, da_score: DaScore
    ) -> None:
        schema = entry_schema()
        jsonschema.Draft202012Validator.check_schema(schema)
        assert (
            da_score("schema", "entry").json
            == da_score("schema", "entry", "--json").json
            == schema
        )

    def test_describes_every_field(self) -> None:
        parts = entry_schema()["$defs"].values()
        described = [one for part in parts for one in part["properties"].values()]
        assert len(described) > 70
        assert all(one.get("description", "").endswith(".") for one in described)

    @pytest.mark.parametrize(
        ("entry", "fits"), tables.cases("schema", "says what fits")
    )
    def test_says_what_fits(self, entry: dict[str, Any], fits: bool) -> None:
        assert jsonschema.Draft202012Validator(entry_schema()).is_valid(entry) is fits

    @pytest.mark.parametrize(
        ("block", "way"),
        [
            (model.AgentInfo, "agent."),
            (model.TokenUsage, "session_tokens."),
            (model.SelfAssessment, "impl.self_assessment."),
            (model.VerifierRecord, "verifiers[]."),
            (model.TestAdded, "verifiers[].tests_added_by_kind[]."),
            (model.LinkedTrace, "verifiers[].linked_traces[]."),
            (model.ReviewBlock, "review."),
            (model.IterationRecord, ""),
        ],
    )
    def test_has_the_fields_of_the_record(self, block: type[Any], way: str) -> None:
        known = {
            field.path.removesuffix("[]") for field in described_fields(ENTRIES[2])
        }
        here = {one.removeprefix(way) for one in known if one.startswith(way)}
        assert {one for one in here if "." not in one} == {
            field.name for field in fields(block)
        } - {"retries_reported"}

    def test_schema_1_has_what_the_parser_reads_in_it(self) -> None:
        top = [
            field
            for field in described_fields(ENTRIES[1])
            if "." not in field.path and field.kind != "block"
        ]
        empty = parse_iteration_record("schema_version: 1\niteration: 1\n").as_dict()
        for field in top:
            if field.path not in ("schema_version", "iteration"):
                value = {"text": "x", "integer": "3"}.get(field.kind, "true")
                text = f"schema_version: 1\niteration: 1\n{field.path}: {value}\n"
                assert parse_iteration_record(text).as_dict() != empty, field.path


class TestFaults:
    @pytest.mark.parametrize(
        ("text", "way", "line", "what"), tables.cases("schema", "errors")
    )
    def test_an_error_has_its_place_and_its_line(
        self, text: str, way: str, line: int, what: str
    ) -> None:
        ((found, at, said, is_error),) = faults(f"{FIRST}{text}\n")
        assert (found, at, is_error) == (way, line, True)
        assert what in said

    @pytest.mark.parametrize(
        ("text", "way"),
        [
            pytest.param(
                "impl: {tests_total_pass: true}",
                "impl.tests_total_pass",
                id="a key that nobody reads",
            ),
            pytest.param(
                "impl: {retries: 1.5}", "impl.retries", id="a number that is cut"
            ),
            pytest.param("first_commit: yes", "first_commit", id="a word of YAML 1.1"),
            pytest.param(
                'impl: {focused_tests_pass: "true"}',
                "impl.focused_tests_pass",
                id="a flag as text",
            ),
        ],
    )
    def test_what_is_read_otherwise_is_no_error(self, text: str, way: str) -> None:
        ((found, _, _, is_error),) = faults(f"{FIRST}{text}\n")
        assert (found, is_error) == (way, False)
        parse_iteration_record(f"{FIRST}{text}\n")

    @pytest.mark.parametrize(
        "text",
        [
            pytest.param(
                "date: 2026-04-18\ncommit: 1234567",
                id="text that looks like something else",
            ),
            pytest.param("impl:\nagent: ~\nverifiers: null", id="nothing in a block"),
            pytest.param(
                "x: &a {summary: hi}\nimpl: *a".replace("x:", "impl:").partition("\n")[
                    0
                ],
                id="an anchor",
            ),
            pytest.param(
                "verifiers:\n- &v {status: pass}\n- *v\n- {<<: *v, retries: 1}",
                id="aliases and merges",
            ),
            pytest.param("impl: {focused_tests_pass: }", id="a flag without a value"),
        ],
    )
    def test_what_is_right_has_none(self, text: str) -> None:
        assert faults(f"{FIRST}{text}\n") == []
        parse_iteration_record(f"{FIRST}{text}\n")

    def test_what_is_merged_has_the_line_where_it_is_written(self) -> None:
        first = "- &v\n  statu: pass\n"
        lines = FIRST.count("\n") + 3
        merged = faults(f"{FIRST}verifiers:\n{first}- <<: *v\n")
        assert [fault[:2] for fault in merged] == [
            ("verifiers.0.statu", lines),
            ("verifiers.1.statu", lines),
        ]

    def test_aliases_that_multiply_end(self) -> None:
        rows = "".join(
            f"- &a{n} {{status: x, linked_traces: *t}}\n" for n in range(400)
        )
        traces = ", ".join(["{trace_ref: x}"] * 2000)
        text = f"{FIRST}verifiers:\n- linked_traces: &t [{traces}]\n{rows}"
        faults(text)

    def test_an_anchor_that_contains_itself_ends(self) -> None:
        faults(f"{FIRST}impl: &i\n  self_assessment: *i\n")
        faults("&a\n<<: *a\nschema_version: 2\niteration: 1\n")

    @pytest.mark.parametrize(
        "path",
        sorted(WHOLE.glob("*/log/iter-*.yaml")),
        ids=lambda path: path.parent.parent.name,
    )
    def test_the_parser_reads_what_has_no_error(self, path: Path) -> None:
        """Whatever the parser refuses in a field is an error here, and what it takes is none."""
        if path.name.count(".") > 1:
            pytest.skip("no entry")
        try:
            data = read_file(path)
            document = parse(data)
        except InputError:
            return
        errors = [
            fault
            for fault in faults_of(document)
            if fault.is_error and "unknown key" not in fault.text
        ]
        errors = [fault for fault in errors if "missing" not in fault.text]
        try:
            parse_iteration_record(data)
        except YamlError:
            return  # a key given twice, an alias too many: the parser alone says so
        assert errors == []


def test_records_show_a_branch_only_where_there_is_one() -> None:
    with_one = parse_iteration_record(f"{FIRST}branch: side\n")
    assert (with_one.branch, with_one.as_dict()["branch"]) == ("side", "side")
    assert "branch" not in parse_iteration_record(FIRST).as_dict()
    assert (
        parse_iteration_record("schema_version: 1\niteration: 1\nbranch: side\n").branch
        == ""
    )
