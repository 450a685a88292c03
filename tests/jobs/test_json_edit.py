"""Editing JSON in place: one item goes in or comes out, and every other byte stays where it was."""

import json
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scoring.errors import InputError
from scoring.jobs.json_edit import parse_json, put_item, take_item

PATH = ("hooks", "Stop")
ITEM = {"type": "command", "n": 30}


class TestParseJson:
    @pytest.mark.parametrize(
        ("text", "reason"),
        [
            pytest.param("", "Expecting value", id="nothing"),
            pytest.param('{"a": 1,}', "Illegal trailing comma|Expecting property name", id="a trailing comma"),
            pytest.param('{"a": 1} // mine', "Extra data", id="a comment behind"),
            pytest.param('{"a": 1, "a": 2}', "a key is given twice", id="a key given twice"),
            pytest.param('{"b": [{"a": 1, "\\u0061": 2}]}', "a key is given twice", id="given twice, deep inside"),
            pytest.param("[" * 100_000 + "]" * 100_000, "recursion", id="nested without end"),
        ],
    )
    def test_refuses(self, text: str, reason: str) -> None:
        with pytest.raises(InputError, match=f"^not JSON: .*({reason})"):
            parse_json(text)


STYLES = {
    "two spaces": (
        '{\n  "model": "x"\n}\n',
        '{\n  "model": "x",\n  "hooks": {\n    "Stop": [\n      {\n        "type": "command",\n        "n": 30\n'
        "      }\n    ]\n  }\n}\n",
    ),
    "tabs": (
        '{\n\t"hooks": {\n\t\t"Start": []\n\t}\n}\n',
        '{\n\t"hooks": {\n\t\t"Start": [],\n\t\t"Stop": [\n\t\t\t{\n\t\t\t\t"type": "command",\n\t\t\t\t"n": 30\n'
        "\t\t\t}\n\t\t]\n\t}\n}\n",
    ),
    "CRLF": (
        '{\r\n  "a": 1\r\n}\r\n',
        '{\r\n  "a": 1,\r\n  "hooks": {\r\n    "Stop": [\r\n      {\r\n        "type": "command",\r\n'
        '        "n": 30\r\n      }\r\n    ]\r\n  }\r\n}\r\n',
    ),
    "one line": (
        '{"a": 1}',
        '{"a": 1, "hooks": {"Stop": [{"type": "command", "n": 30}]}}',
    ),
    "one line with much air": (
        '{ "hooks" : { "Stop" : [ 1 , 2 ] } }',
        '{ "hooks" : { "Stop" : [ 1 , 2, {"type": "command", "n": 30} ] } }',
    ),
    "nothing inside": (
        "{}",
        '{\n  "hooks": {\n    "Stop": [\n      {\n        "type": "command",\n        "n": 30\n      }\n    ]\n  }\n}',
    ),
    "text that is not ASCII": (
        '{\n  "ü": "é\\u0301 ☃"\n}\n',
        '{\n  "ü": "é\\u0301 ☃",\n  "hooks": {\n    "Stop": [\n      {\n        "type": "command",\n'
        '        "n": 30\n      }\n    ]\n  }\n}\n',
    ),
}


class TestPutItem:
    @pytest.mark.parametrize(("text", "wanted"), STYLES.values(), ids=STYLES)
    def test_writes_in_the_style_of_the_text(self, text: str, wanted: str) -> None:
        assert put_item(text, PATH, ITEM) == wanted
        assert json.loads(wanted)["hooks"]["Stop"][-1] == ITEM

    @pytest.mark.parametrize(("text", "wanted"), STYLES.values(), ids=STYLES)
    def test_is_undone_by_taking_the_item(self, text: str, wanted: str) -> None:
        assert take_item(wanted, PATH, len(json.loads(wanted)["hooks"]["Stop"]) - 1) == text

    @pytest.mark.parametrize("text", ["", " ", "\n\n", "\t"], ids=repr)
    def test_makes_a_document_of_nothing(self, text: str) -> None:
        assert put_item(text, ("a",), 1) == '{\n  "a": [\n    1\n  ]\n}\n'

    def test_keeps_text_that_looks_like_something_else(self) -> None:
        text = '{"a": "\\"hooks\\": {\\"Stop\\": []}", "b": "\\\\"}'
        assert put_item(text, PATH, 1) == text[:-1] + ', "hooks": {"Stop": [1]}}'

    def test_knows_a_key_however_it_is_spelled(self) -> None:
        assert put_item('{"h\\u006foks": {"Stop": [1]}}', PATH, 2) == '{"h\\u006foks": {"Stop": [1, 2]}}'

    def test_keeps_numbers_as_they_are_written(self) -> None:
        text = '{"a": 1.50, "b": 1E5, "c": 123456789012345678901234567890}'
        assert put_item(text, ("d",), 1) == text[:-1] + ', "d": [1]}'

    @pytest.mark.parametrize(
        ("text", "reason"),
        [
            ("[]", "the file is not a JSON object"),
            ("7", "the file is not a JSON object"),
            ('{"hooks": []}', "hooks is not a JSON object"),
            ('{"hooks": null}', "hooks is not a JSON object"),
            ('{"hooks": "Stop"}', "hooks is not a JSON object"),
            ('{"hooks": {"Stop": {}}}', "hooks.Stop is not a list"),
            ('{"hooks": {"Stop": "x"}}', "hooks.Stop is not a list"),
            ('{"hooks": {"Stop": null}}', "hooks.Stop is not a list"),
        ],
    )
    def test_refuses_what_has_another_shape(self, text: str, reason: str) -> None:
        with pytest.raises(InputError) as raised:
            put_item(text, PATH, ITEM)
        assert str(raised.value) == reason


class TestTakeItem:
    @pytest.mark.parametrize(
        ("number", "wanted"),
        [
            (0, '{"hooks": {"Stop": [ 2 , 3 ]}}'),
            (1, '{"hooks": {"Stop": [ 1 , 3 ]}}'),
            (2, '{"hooks": {"Stop": [ 1, 2 ]}}'),
        ],
    )
    def test_leaves_the_others(self, number: int, wanted: str) -> None:
        assert take_item('{"hooks": {"Stop": [ 1, 2 , 3 ]}}', PATH, number) == wanted

    @pytest.mark.parametrize(
        ("text", "wanted"),
        [
            pytest.param('{"hooks": {"Stop": [1]}}', "{}", id="all of the document"),
            pytest.param('{"a": 0, "hooks": {"Stop": [1]}}', '{"a": 0}', id="the last key"),
            pytest.param('{"hooks": {"Stop": [1]}, "a": 0}', '{ "a": 0}', id="the first key"),
            pytest.param('{"a": 0, "hooks": {"Stop": [1]}, "b": 0}', '{"a": 0, "b": 0}', id="a key between others"),
            pytest.param('{"hooks": {"Stop": [1], "Start": []}}', '{"hooks": { "Start": []}}', id="the first event"),
            pytest.param('{"hooks": {"Start": [], "Stop": [1]}}', '{"hooks": {"Start": []}}', id="the last event"),
        ],
    )
    def test_takes_what_becomes_empty_with_it(self, text: str, wanted: str) -> None:
        assert take_item(text, PATH, 0) == wanted

def document(stop: list[Any] | None, hooks: dict[str, Any] | None, rest: dict[str, Any], first: bool) -> dict[str, Any]:
    """A settings file with or without the event, with or without hooks, and with other things."""
    members = None if hooks is None else hooks if stop is None else {**hooks, "Stop": stop}
    found = {} if members is None else {"hooks": members}
    return {**found, **rest} if first else {**rest, **found}


def scribbled(value: Any, random: Random, spaces: list[str]) -> str:
    """A value as JSON, with white space wherever some may stand."""

    def space() -> str:
        return random.choice(spaces)

    if isinstance(value, dict):
        items = [f"{json.dumps(k)}{space()}:{space()}{scribbled(v, random, spaces)}" for k, v in value.items()]
        brackets = "{}"
    elif isinstance(value, list):
        items = [scribbled(v, random, spaces) for v in value]
        brackets = "[]"
    else:
        return json.dumps(value, ensure_ascii=random.random() < 0.5)
    if not items:
        return brackets
    return brackets[0] + ",".join(f"{space()}{item}{space()}" for item in items) + brackets[1]


KEYS = st.text('ab"\\[]{},: \n\u2028é', max_size=4).filter(lambda key: key not in ("hooks", "Stop"))
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text('ab"\\[]{},:\n\u2028é', max_size=6),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3),
    max_leaves=6,
)
DOCUMENTS = st.builds(
    document,
    st.none() | st.lists(VALUES, min_size=1, max_size=3),
    st.none() | st.dictionaries(KEYS, VALUES, min_size=1, max_size=2),
    st.dictionaries(KEYS, VALUES, min_size=1, max_size=3),
    st.booleans(),
)
SPACES = st.sampled_from(
    [["", " "], ["", " ", "\n", "\t"], ["\n    ", "\n  "], ["\r\n  ", " "], ["", "\r", "\r\n\r\n", "   "], [""]]
)


@settings(deadline=None, max_examples=60)
@given(DOCUMENTS, VALUES, st.randoms(use_true_random=False), SPACES)
def test_whatever_the_text_an_item_goes_in_and_comes_out_again(
    data: dict[str, Any], item: Any, random: Random, spaces: list[str]
) -> None:
    text = random.choice(["", "\n"]) + scribbled(data, random, spaces) + random.choice(["", "\n", "\r\n", "  "])
    new = put_item(text, PATH, item)
    items = data.get("hooks", {}).get("Stop", [])
    assert json.loads(new) == {**data, "hooks": {**data.get("hooks", {}), "Stop": [*items, item]}}
    assert list(json.loads(new)) == [*data, *(["hooks"] if "hooks" not in data else [])]
    assert take_item(new, PATH, len(items)) == text
    before = next((n for n, (old, now) in enumerate(zip(text, new, strict=False)) if old != now), len(text))
    assert new.endswith(text[before:])  # it is one piece that was put in
