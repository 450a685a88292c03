"""What a log says is shown as text: nothing in it is hidden, turns the rest round, or becomes a link or a control."""

import json
import re
from pathlib import Path
from xml.etree import ElementTree

import pytest
from helpers.commands import DaScore, OnTerminal

from scoring.text import json_escaped, show_hidden, visible
from scoring.views.gates import _md, _xml

LOG = Path(".agents/active/iteration-log")
HIDDEN = {
    "right-to-left override": "\u202e",
    "isolate": "\u2066",
    "right-to-left mark": "\u200f",
    "zero-width space": "\u200b",
    "zero-width joiner": "\u200d",
    "byte-order mark": "\ufeff",
    "soft hyphen": "\xad",
    "line separator": "\u2028",
    "tag letter": "\U000e0041",
    "no character": "\ufffe",
    "no character either": "\uffff",
}
SHOWN = {"accents": "é ñ ü", "Arabic": "مرحبا", "Hebrew": "שלום", "emoji": "✅ ❤\ufe0f", "Chinese": "中文"}


@pytest.mark.parametrize("char", HIDDEN.values(), ids=HIDDEN)
def test_what_is_hidden_is_shown_as_an_escape(char: str) -> None:
    for found in (show_hidden(f"a{char}b"), visible(f"a{char}b"), _xml(f"a{char}b"), _md(f"a{char}b")):
        assert char not in found
        assert f"{ord(char):04x}" in found or f"{ord(char):02x}" in found


@pytest.mark.parametrize("text", SHOWN.values(), ids=SHOWN)
def test_what_people_write_stays_as_it_is(text: str) -> None:
    assert (show_hidden(text), visible(text), _xml(text)) == (text, text, text)


@pytest.mark.parametrize("char", ["\x7f", "\x80", "\x9b", "\x9f"])
def test_json_has_no_late_controls_and_says_the_same(char: str) -> None:
    text = json.dumps({"a": f"x{char}\u202e"}, ensure_ascii=False)
    assert char not in json_escaped(text)
    assert json.loads(json_escaped(text)) == {"a": f"x{char}\u202e"}


LINKS = {
    "https": "see https://evil.example/x",
    "www": "see www.evil.example",
    "WWW": "see WWW.evil.example",
    "mail": "me@evil.example",
    "mention": "@someone",
    "ftp": "ftp://a.b",
}


@pytest.mark.parametrize("text", LINKS.values(), ids=LINKS)
def test_a_summary_has_no_link_of_its_own(text: str) -> None:
    found = _md(text)
    assert not re.search(r"://|www\.|\w@|@\w(?<!-- -->@)", found.replace("<!-- -->@", ""), re.IGNORECASE)
    assert found.replace("<!-- -->", "") == text


@pytest.mark.parametrize("text", ["&lt;b&gt;", "a & b", "&#x202e;"])
def test_a_summary_has_no_entity_of_its_own(text: str) -> None:
    assert _md(text) == text.replace("&", "&amp;")


class TestALogThatHides:
    @pytest.fixture
    def hostile(self, project: Path) -> str:
        task = "\u202etxt\u200b\ufffe\uffff\x9b31m &lt; https://evil.example"
        entry = project / LOG / "iter-2.yaml"
        entry.write_text(re.sub("task_id: .*", lambda _: f"task_id: {json.dumps(task)}", entry.read_text()))
        return task

    @pytest.mark.parametrize(
        "command",
        [
            "run",
            "records",
            pytest.param("check --min-band excellent", marks=pytest.mark.slow),
            "explain 2",
            pytest.param("report", marks=pytest.mark.slow),
        ],
    )
    def test_cannot_on_a_terminal(self, hostile: str, on_a_terminal: OnTerminal, command: str) -> None:
        _, shown = on_a_terminal(*command.split())
        text = b"".join(shown).decode()
        assert not set(hostile[:6]) & set(text) - set("tx")
        assert "\x9b" not in text

    def test_cannot_in_json(self, hostile: str, da_score: DaScore) -> None:
        export = ("export", "--format", "jsonl", "--tables", "iterations")
        for command in (("run", "--json"), ("records", "--json"), export):
            found = da_score(*command)
            assert "\x9b" not in found.out
            assert command[0] != "export" or "\\u009b" in found.out, command
        assert hostile in {row["task_id"] for row in map(json.loads, found.out.splitlines())}

    def test_cannot_in_junit_or_the_summary(
        self, hostile: str, da_score: DaScore, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
    ) -> None:
        summary, junit = tmp_path / "summary.md", tmp_path / "junit.xml"
        monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(summary))
        found = da_score("check", "--min-band", "excellent", "--github-summary", "--junit", junit, "--no-cache")
        assert found.status == 3, found
        assert ElementTree.parse(junit).getroot().tag == "testsuites"
        for text in (summary.read_text("utf-8"), junit.read_text("utf-8")):
            assert not set(hostile) & set(text) & set("\u202e\u200b\ufffe\uffff\x9b")
        assert "https://evil" not in summary.read_text()
        assert "&lt; " not in summary.read_text().replace("&amp;lt;", "")
