"""What a log says is shown as text: it hides nothing, and becomes no link or control."""

import json
import re
from pathlib import Path
from xml.etree import ElementTree

import pytest
from helpers.commands import DaScore, OnTerminal

from scoring.cli.output import say
from scoring.text import json_escaped, show_hidden, visible
from scoring.views.gates.build_reports import markdown_text, xml_text

LOG = Path(".agents/active/iteration-log")


HIDDEN = [
    "\u202e",
    "\u2066",
    "\u200f",
    "\u200b",
    "\u200d",
    "\ufeff",
    "\xad",
    "\u2028",
    "\U000e0041",
    "\ufffe",
    "\uffff",
    "\ufe00",
    "\ufe0f",
]


@pytest.mark.parametrize("char", [*HIDDEN], ids=ascii)
def test_what_is_hidden_is_shown_as_an_escape(char: str) -> None:
    for found in (
        show_hidden(f"a{char}b"),
        visible(f"a{char}b"),
        xml_text(f"a{char}b"),
        markdown_text(f"a{char}b"),
    ):
        assert char not in found
        assert f"{ord(char):04x}" in found or f"{ord(char):02x}" in found


@pytest.mark.parametrize("text", ["é ñ ü", "مرحبا", "שלום", "✅ ❤\ufe0f", "中文"])
def test_what_people_write_stays_as_it_is(text: str) -> None:
    assert (show_hidden(text), visible(text), xml_text(text)) == (text, text, text)


@pytest.mark.parametrize("char", ["\x00", "\x1b", "\r", "\x7f", "\x9b"])
def test_a_line_for_people_has_no_control_that_a_terminal_obeys(
    char: str, capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    say(f"Wrote a{char}b\n")
    written = capsysbinary.readouterr().out.decode()
    assert char not in written
    assert re.fullmatch(r"Wrote a\\\w+b\n", written)


def test_a_line_for_people_keeps_tabs_line_ends_and_letters(
    capsysbinary: pytest.CaptureFixture[bytes],
) -> None:
    text = "a\tb\né 中文 ✅\n"
    say(text)
    assert capsysbinary.readouterr().out.decode() == text


@pytest.mark.parametrize("char", ["\x7f", "\x80", "\x9b", "\x9f"])
def test_json_has_no_late_controls_and_says_the_same(char: str) -> None:
    text = json.dumps({"a": f"x{char}\u202e"}, ensure_ascii=False)
    assert char not in json_escaped(text)
    assert json.loads(json_escaped(text)) == {"a": f"x{char}\u202e"}


@pytest.mark.parametrize(
    "text",
    [
        "see https://a.example/x",
        "WWW.a.example",
        "me@a.example",
        "@someone",
        "&lt;b&gt;",
    ],
)
def test_a_summary_has_no_link_or_entity_of_its_own(text: str) -> None:
    found = markdown_text(text)
    assert not re.search(r"://|www\.|\w@", found, re.IGNORECASE)
    assert not re.search(r"(?<!<!-- -->)@", found)
    assert found.replace("<!-- -->", "") == text.replace("&", "&amp;")


class TestALogThatHides:
    @pytest.fixture
    def hostile(self, project: Path) -> str:
        task = "\u202etxt\u200b\ufffe\uffff\x9b31m &lt; https://evil.example"
        entry = project / LOG / "iter-2.yaml"
        entry.write_text(
            re.sub(
                "task_id: .*",
                lambda _: f"task_id: {json.dumps(task)}",
                entry.read_text(),
            )
        )
        return task

    @pytest.mark.parametrize(
        "command",
        [
            "run",
            "records",
            "check --min-band excellent",
            "explain 2",
            "report",
        ],
    )
    def test_cannot_on_a_terminal(
        self, hostile: str, on_a_terminal: OnTerminal, command: str
    ) -> None:
        _, shown = on_a_terminal(*command.split())
        text = b"".join(shown).decode()
        assert not set(hostile[:6]) & set(text) - set("tx")
        assert "\x9b" not in text

    @pytest.mark.parametrize(
        "command",
        [
            *(
                "run",
                "run --json",
                "iteration 2",
                "explain 2",
                "explain 2 --json",
                "records",
                "lint",
            ),
            *(
                "check --min-band excellent --json",
                "check --min-band excellent",
                "work",
                "integrity",
            ),
            *(
                "export --format jsonl --tables iterations",
                "export --format csv --tables iterations",
            ),
            "query select/**/task_id/**/from/**/iterations",
            "report --out report.html",
        ],
    )
    def test_cannot_on_a_pipe_that_no_reference_binds(
        self, hostile: str, da_score: DaScore, command: str
    ) -> None:
        rubric = (
            []
            if command.split()[0] in ("records", "lint", "work")
            else ["--rubric", "3.1.0"]
        )
        found = da_score(*command.split(), *rubric)
        shown = found.out + found.err
        if command.startswith("report"):
            shown += Path("report.html").read_text("utf-8")
            assert "\x9b" not in shown
        assert "\u202e" not in shown, command
        assert hostile[0] == "\u202e"
        assert found.out

    def test_cannot_in_json(self, hostile: str, da_score: DaScore) -> None:
        export = ("export", "--format", "jsonl", "--tables", "iterations")
        for command in (("run", "--json"), ("records", "--json"), export):
            found = da_score(*command)
            assert "\x9b" not in found.out
            assert command[0] != "export" or "\\u009b" in found.out, command
        assert hostile in {
            row["task_id"] for row in map(json.loads, found.out.splitlines())
        }

    def test_cannot_in_junit_or_the_summary(
        self,
        hostile: str,
        da_score: DaScore,
        monkeypatch: pytest.MonkeyPatch,
        tmp_path: Path,
    ) -> None:
        summary, junit = tmp_path / "summary.md", tmp_path / "junit.xml"
        monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(summary))
        found = da_score(
            "check",
            "--min-band",
            "excellent",
            "--github-summary",
            "--junit",
            junit,
            "--no-cache",
        )
        assert found.status == 3, found
        assert ElementTree.parse(junit).getroot().tag == "testsuites"
        for text in (summary.read_text("utf-8"), junit.read_text("utf-8")):
            assert not set(hostile) & set(text) & set("\u202e\u200b\ufffe\uffff\x9b")
        assert "https://evil" not in summary.read_text()
        assert "&lt; " not in summary.read_text().replace("&amp;lt;", "")
