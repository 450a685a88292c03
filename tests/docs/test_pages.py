"""The pages on logs, sidecars and commands are true: their fields, keys, widths and statuses."""

import re
from pathlib import Path

import pytest
import yaml
from helpers.commands import DaScore
from helpers.pages import code, quoted, section
from msgspec.structs import fields

from scoring.demo import Demo
from scoring.log import model
from scoring.log.parse import ENTRIES, parse_iteration_record
from scoring.log.schema import described_fields

DOCS = Path(__file__).parents[2] / "docs"
LOG, SIDECARS, COMMANDS = (
    (DOCS / name).read_text("utf-8")
    for name in ("LOG.md", "SIDECARS.md", "COMMANDS.md")
)


# The log


BLOCKS = (
    "AgentInfo",
    "TokenUsage",
    "ImplBlock",
    "VerifierRecord",
    "TestAdded",
    "LinkedTrace",
    "ReviewBlock",
)


@pytest.mark.parametrize("block", ["IterationRecord", *BLOCKS, "SelfAssessment"])
def test_every_field_of_a_record_is_named(block: str) -> None:
    of_the_parser = {"retries_reported", "tests_total_claim"}  # and no keys
    names = {field.name for field in fields(getattr(model, block))} - of_the_parser
    written = quoted(
        section(LOG, "Fields") + section(LOG, "One record for both schemas")
    )
    assert names <= {way.rpartition(".")[2].removesuffix("[]") for way in written}


def test_the_table_of_fields_is_that_of_the_models() -> None:
    table = re.search(
        r"<!-- fields 2 -->\n\| field .*\n\|---.*\n([^<]*)<!-- /fields -->", LOG
    )
    assert table
    assert table[1].splitlines() == [
        f"| `{field.path}` | {field.kind}{', needed' if field.required else ''} | {field.meaning} |"
        for field in described_fields(ENTRIES[2])
        if "self_assessment." not in field.path  # they are named below the table
    ]
    of_schema_1 = {
        field.path.partition(".")[0] for field in described_fields(ENTRIES[1])
    }
    assert of_schema_1 <= {
        *quoted(section(LOG, "One record for both schemas")),
        *quoted(table[1]),
    }


def test_what_an_agent_is_told_to_run_exists(da_score: DaScore) -> None:
    (paragraph,) = code(LOG, "markdown")
    for command in re.findall(r"`da-score ([a-z ]+)", paragraph):
        assert da_score(*command.split(), "--help").status == 0
    known = {field.path for field in described_fields(ENTRIES[2])}
    assert {"agent.session_id", "impl.scope_note"} <= known & set(quoted(paragraph))


def entry(text: str) -> model.IterationRecord:
    return parse_iteration_record(f"schema_version: 1\niteration: 1\n{text}\n")


def test_what_is_said_of_scalars_is_so() -> None:
    found = entry("date: 2026-04-18\ncommit: 1234567\nretries: 1.5\nsummary: yes")
    assert (found.date, found.commit, found.impl.retries, found.impl.summary) == (
        "2026-04-18",
        "1234567",
        1,
        "yes",
    )
    assert len(found.date) == 10
    assert entry("files_changed: 017").files_changed == 15


def test_a_flag_that_is_text_is_one_of_the_words() -> None:
    for words, value in (
        ("1 t T TRUE true True", True),
        ("0 f F FALSE false False", False),
    ):
        for word in words.split():
            assert f"`{word}`" in section(LOG, "How YAML scalars are read")
            assert entry(f"tests_total_pass: '{word}'").impl.tests_total_pass is value


# Sidecars


def test_the_keys_of_sidecars_are_those_that_are_written(
    here: Demo, da_score: DaScore
) -> None:
    (example,) = code(section(SIDECARS, "Scores"), "yaml")
    da_score("run")
    *rows, last = example.splitlines(keepends=True)
    written = (here.iter_log_dir / "iter-3.score.yaml").read_text("utf-8")
    assert written.startswith("".join(rows) + "    - signal: ")
    assert written.endswith("\n" + last)
    session = yaml.safe_load(
        next(here.iter_log_dir.glob("session-*.score.yaml")).read_text()
    )
    keys = re.findall(r"`(\w+)`", section(SIDECARS, "Sessions").split("\n\n")[0])
    assert keys[: len(session)] == list(session)
    assert set(session["per_iteration"][0]) <= set(keys)


# Commands


@pytest.mark.usefixtures("here")
def test_the_widths_of_tables_on_a_pipe_are_those_that_are_printed(
    da_score: DaScore,
) -> None:
    rows = re.findall(
        r"^\| (`.+?) \| (.+) \|$", section(COMMANDS, "Tables on a pipe"), re.M
    )
    stated = {name: re.findall(r"([A-Z_]+)(?: (\d+))?", cells) for name, cells in rows}
    run, iteration = da_score("run").out, da_score("iteration", "5").out
    (session, *_) = re.findall(r"^(\S{36}) ", run, re.M)
    heads = {
        "`run`, iterations": re.findall(r"^ITER .*$", run, re.M),
        "`run`, sessions": re.findall(r"^SESSION .*$", run, re.M),
        "`iteration`": re.findall(r"^SIGNAL .*$", iteration, re.M),
        "`iteration`, hook outcomes": re.findall(r"^  RULE_ID .*$", iteration, re.M),
        "`session`": re.findall(r"^ITER .*$", da_score("session", session).out, re.M),
    }
    for name, (head, *_) in heads.items():
        *columns, last = re.findall(
            r"\S+ *", head.strip()
        )  # two spaces are between columns, and the last has no width
        assert stated[name] == [
            *((cell.strip(), str(len(cell) - 2)) for cell in columns),
            (last.strip(), ""),
        ]


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize(
    ("command", "status"),
    [
        pytest.param(["iteration", "5"], 0, id="done"),
        pytest.param(["iteration", "99"], 1, id="error"),
        pytest.param(["iteration", "5", "--nothing"], 2, id="wrong usage"),
        pytest.param(
            ["check", "--min-score", "0.9"], 3, id="a gate that does not hold"
        ),
        pytest.param(["close-task", "--nothing"], 0, id="the hook, whatever happens"),
        pytest.param(
            ["close-task", "--nothing", "--strict"], 1, id="the hook that may fail"
        ),
    ],
)
def test_the_exit_status_is_the_one_that_is_stated(
    command: list[str], status: int, da_score: DaScore
) -> None:
    assert f"| {status} |" in section(COMMANDS, "Exit status")
    assert da_score(*command).status == status


def test_the_contents_of_a_page_name_its_sections() -> None:
    for page in ("LOG.md", "EVIDENCE.md"):
        text = (DOCS / page).read_text("utf-8")
        contents = re.search(r"^Contents: (.*?)\n\n", text, re.M | re.S)
        assert contents
        titles = [title.lower() for title in re.findall(r"^## (.+)$", text, re.M)]
        assert titles == [
            title.lower() for title in re.findall(r"\[([^\]]+)\]\(#", contents[1])
        ]


# All pages

ROOT = DOCS.parent
MOST_COLUMNS = 100
NOT_PROSE = re.compile(
    r"^```.*?^```$|^<!-- (\w+).*?^<!-- /\1 -->$|^\|.*?$|^!\[.*?$", re.M | re.S
)
PAGES = sorted([*ROOT.glob("*.md"), *DOCS.glob("*.md")])


BRITISH = re.compile(
    r"\b\w*(?:neighbour|favour|colour|behaviour|honour|judgement|labelled|learnt|recognis|centre\b)"
    r"\w*",
    re.IGNORECASE,
)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.name))
def test_a_page_spells_american(page: Path) -> None:
    """What is quoted or is the name of a field keeps its spelling."""
    prose = re.sub(r"```.*?```|`[^`]*`", "", page.read_text("utf-8"), flags=re.DOTALL)
    assert BRITISH.findall(prose) == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.name))
def test_no_line_of_prose_has_more_than_100_columns(page: Path) -> None:
    prose = NOT_PROSE.sub("", page.read_text("utf-8"))
    assert [line for line in prose.splitlines() if len(line) > MOST_COLUMNS] == []
