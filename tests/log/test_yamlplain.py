"""YAML read line by line: the nodes are those of libyaml, and what is not plain is left to it."""

import random
from typing import Any

import pytest

from scoring.errors import YamlError
from scoring.yamlevents import parsed_by_libyaml
from scoring.yamlnodes import Alias, MappingNode, Node, Scalar
from scoring.yamlplain import parsed_plain

ENTRY = """\
# who writes such a file by hand explains it
schema_version: 2
iteration: 7
date: "2026-03-01"
summary: 'it''s not plain'
impl:
    summary: did it (twice); a:b #1 "quoted" – done   # and says why
    scope_note:
    retries: 0

verifiers:
    - type: unit
      status: pass
      linked_traces: []
    -   type: lint
        status: -x
review:
  failed_gates:
  - one
  - "two: three"
  overall_decision: {}
"""


def flat(node: Node | None) -> Any:
    if node is None or isinstance(node, Alias):
        return node
    if isinstance(node, Scalar):
        return node.value, node.tag, node.quoted, node.line
    if isinstance(node, MappingNode):
        return node.line, [(flat(key), flat(value)) for key, value in node.pairs]
    return node.line, list(map(flat, node.items))


def same(data: bytes) -> bool:
    """Return whether a document was read; where it was, make sure that libyaml reads the same."""
    plain = parsed_plain(data)
    if plain is not None:
        assert flat(plain) == flat(parsed_by_libyaml(data)), data
    return plain is not None


def test_an_entry_as_tools_write_it() -> None:
    assert same(ENTRY.replace("it''s not", "it is").encode())


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("a: b", id="no line break at the end"),
        pytest.param("  a: b\n  c: d\n", id="indented as a whole"),
        pytest.param("- a\n- b: c\n  d:\n- e", id="a list at the top"),
        pytest.param("a:\n- b\nc:\n  - d\n", id="a list that is not indented"),
        pytest.param("a:\nb:\n", id="keys without values"),
        pytest.param("a: é\u00a1 ü\n", id="letters beyond ASCII"),
        pytest.param("a: x#y:z\n", id="signs inside of a word"),
        pytest.param("a: \"\"\nb: ''\n", id="empty text"),
        pytest.param("a: ~\nb: null\nc: .5\nd: 0x1\n", id="what is no text is kept as written"),
    ],
)
def test_is_read(text: str) -> None:
    assert same(text.encode())


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("", id="nothing"),
        pytest.param("word\n", id="a scalar alone"),
        pytest.param("a: b: c\n", id="a mapping in a line"),
        pytest.param("a: b\n  c: d\n", id="a value and a block"),
        pytest.param("a: b\n  more\n", id="text of two lines"),
        pytest.param("a: |\n  b\n", id="a literal block"),
        pytest.param("a: [b]\n", id="a list in a line"),
        pytest.param('a: "\\n"\n', id="an escape"),
        pytest.param("a: 'b''c'\n", id="a quote in quotes"),
        pytest.param("a: &x b\n", id="an anchor"),
        pytest.param("a: *x\n", id="an alias"),
        pytest.param("a: !!str 1\n", id="a tag"),
        pytest.param("<<: b\n", id="a merge"),
        pytest.param("---\na: b\n", id="a marker"),
        pytest.param("a: b\n...\nc\n", id="an end"),
        pytest.param("a:\tb\n", id="a tab"),
        pytest.param("a: b\r\n", id="the line breaks of Windows"),
        pytest.param("a: b\u2028c\n", id="a line separator"),
        pytest.param("a: \x85\n", id="a next line"),
        pytest.param("a: \U0001f600\n", id="beyond the basic plane"),
        pytest.param("\ufeffa: b\n", id="a byte-order mark"),
        pytest.param("- - a\n", id="a list in a list"),
        pytest.param("-\n  a: b\n", id="a dash alone"),
        pytest.param("a:\n  b: c\n d: e\n", id="indentation that ends nowhere"),
        pytest.param('a: "b"#c\n', id="a sign behind quotes"),
        pytest.param("a: b:\n", id="a colon at the end"),
    ],
)
def test_is_left_to_libyaml(text: str) -> None:
    assert parsed_plain(text.encode()) is None


def test_bytes_that_are_no_text_are_left_to_libyaml() -> None:
    assert parsed_plain(b"a: \xff\n") is None


@pytest.mark.slow
def test_whatever_becomes_of_an_entry_libyaml_reads_the_same() -> None:
    rng = random.Random(3)
    bits = [
        ": ",
        "- ",
        "\n",
        "  ",
        " ",
        "#",
        " #",
        '"',
        "'",
        "a",
        "-",
        ":",
        "[]",
        "|",
        "\t",
        "&a",
        "? ",
        "k:",
        "é",
        ",",
    ]
    lines, read = ENTRY.replace("it''s not", "it is").split("\n"), 0
    for _ in range(3000):
        at = rng.randrange(len(lines))
        text = "\n".join(lines[at : at + rng.randrange(1, 7)])
        for _ in range(rng.randrange(4)):
            n = rng.randrange(len(text) + 1)
            text = text[:n] + (rng.choice(bits) + text[n:] if rng.random() < 0.6 else text[n + rng.randrange(1, 4) :])
        try:
            read += same(text.encode())
        except YamlError as e:
            pytest.fail(f"{text!r} is broken: {e}")
    assert read > 500


def test_hostile_lines_take_no_longer_than_their_length() -> None:
    for text in ("a: " + "x " * 200_000 + "\x01", "a: x" + " " * 400_000 + "\x01", '"' * 400_000, "- " * 200_000):
        assert parsed_plain(text.encode()) is None
