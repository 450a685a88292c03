"""The bytes of sidecars: the reference's, and text that any YAML reader gives back as it was.

The bytes in the tables are what yaml.v3, the reference's own YAML library, writes for the same
values.
"""

import itertools
import re
from collections.abc import Callable
from typing import Any

import pytest
import yaml
from helpers.tables import cases
from hypothesis import example, given
from hypothesis import strategies as st
from ruamel.yaml import YAML
from ruamel.yaml.nodes import ScalarNode

from scoring.sidecars.emitter import emit, scalar, text
from scoring.yamlread import Reader, items_of, parse


@pytest.mark.parametrize(("value", "written"), cases("yaml_styles"))
def test_text_is_written_in_the_style_of_the_reference(
    value: str, written: str
) -> None:
    assert emit({"value": value}) == f"value: {written}\n".encode()


def test_lines_of_a_block_stand_deeper_in_lists() -> None:
    value = "a\n\nb"
    assert emit({"rows": [{"detail": value, "last": 1}], "items": [value, "c"]}) == (
        b"rows:\n    - detail: |-\n        a\n\n        b\n      last: 1\n"
        b"items:\n    - |-\n      a\n\n      b\n    - c\n"
    )


def test_a_block_that_ends_with_a_line_separator_ends_its_line_with_it() -> None:
    value = "a\nb\u2028"
    assert (
        emit(
            {
                "value": value,
                "rows": [{"detail": value, "last": 1}],
                "items": [value, "c"],
            }
        )
        == (
            "value: |\n    a\n    b\u2028"
            "rows:\n    - detail: |\n        a\n        b\u2028      last: 1\n"
            "items:\n    - |\n      a\n      b\u2028    - c\n"
        ).encode()
    )


def test_collections_are_blocks_with_four_spaces_and_indented_lists() -> None:
    assert emit(
        {
            "a": {"b": {"c": "x"}},
            "d": [1, 2.5, True],
            "e": [],
            "f": {},
            "g": [{"h": "x", "i": [1]}],
        }
    ) == (
        b"a:\n    b:\n        c: x\nd:\n    - 1\n    - 2.5\n    - true\n"
        b"e: []\nf: {}\ng:\n    - h: x\n      i:\n        - 1\n"
    )


def test_there_are_no_lists_of_lists() -> None:
    with pytest.raises(TypeError, match="lists of lists"):
        emit({"a": [[1]]})


@pytest.mark.parametrize(("value", "written"), cases("yaml_numbers"))
def test_numbers_are_the_shortest_text_of_the_reference(
    value: float, written: str
) -> None:
    assert scalar(value) == written
    assert emit({"value": value}) == f"value: {written}\n".encode()


# What comes back

Document = dict[str, Any]


def own_reader(data: bytes) -> Any:
    node = parse(data)
    assert node is not None
    row = {"detail": Reader.string, "last": Reader.integer}
    rows = items_of(lambda reader, node: reader.struct(node, row))
    fields = {"value": Reader.string, "rows": rows, "items": items_of(Reader.string)}
    document = Reader().struct(node, fields)
    return {
        name: list(value) if isinstance(value, tuple) else value
        for name, value in document.items()
    }


def pyyaml(data: bytes) -> Any:
    return yaml.load(data, Loader=yaml.SafeLoader)


def pyyaml_c(data: bytes) -> Any:
    return yaml.load(data, Loader=yaml.CSafeLoader)


def ruamel(data: bytes) -> Any:
    return YAML(typ="safe", pure=True).load(data)


FOREIGN_READERS: list[Callable[[bytes], Any]] = [pyyaml, pyyaml_c, ruamel]

MISREAD = {
    # The reference leaves these plain, as they are strings to yaml.v3; to PyYAML or ruamel.yaml
    # each is something else.
    "a word of YAML 1.1": r"=|<<",
    "a base without a digit": r"[-+]?0[bxo]_+",
    "a sign without a digit": r"[-+]_+",
    "a fraction with an underscore astray": r"[-+]\._+(?:[eE][-+][0-9]+)?"
    r"|\.(?:_[0-9_]*|[0-9]+(?:_[0-9]+)*(?:_|__[0-9_]*))(?:[eE][-+][0-9]+)?",
    "more than 64 bits": r"[-+]?0(?:x[0-9a-fA-F_]{16,}|b[01_]{64,}|o[0-7_]{21,})",
    "more than a double holds": (
        r"[-+]?(?:[0-9][0-9_]*(?:\.[0-9_]*)?[eE][-+]?|\.[0-9_]+[eE][-+])[0-9]+"
    ),
    "a day or a form of time that yaml.v3 does not know": r"[0-9]{4}-[0-9]{2}-[0-9]{2}"
    r"|[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}(?:[Tt]| +)[0-9]{1,2}:[0-9]{2}:[0-9]{2}(?:\.[0-9]*)?"
    r"(?: *(?:Z|[-+][0-9]{1,2}(?::[0-9]{2})?))?",
}
MISREAD_BY_OTHERS = re.compile("|".join(f"(?:{rule})" for rule in MISREAD.values()))

SEVERAL_LINES_BY_11 = re.compile("(?=.*\n).*[\u2028\u2029]", re.DOTALL)
"""In a block the reference takes U+2028 and U+2029 for line breaks, as YAML 1.1 does.

They are none in YAML 1.2.
"""


def is_read_by(reader: Callable[[bytes], Any], value: str) -> bool:
    """Tell whether a reader can be expected to give a text back."""
    if reader is ruamel and SEVERAL_LINES_BY_11.match(value):
        return False
    return not (text(value, 4) == value and MISREAD_BY_OTHERS.fullmatch(value))


HOSTILE = [
    *" \t\n\r\x85\u2028\u2029\xa0\ufeff\0\x07\x1b\x7f\x9f\ue000\ufffd\ufffe\uffff\U0010ffff😀é",
    *"-?:,[]{}#&*!|>'\"%@`=<~.+_/\\0123456789eExobTZaz",
    *(
        "true",
        "False",
        "yes",
        "No",
        "on",
        "OFF",
        "null",
        "Null",
        ".inf",
        "-.Inf",
        ".NaN",
        "<<",
        "---",
        "...",
    ),
    *(
        "0x1F",
        "0o17",
        "017",
        "0b11",
        "1_000",
        ".5_",
        "_1",
        "1e5",
        "1:20",
        "2026-01-01",
        "2026-02-30",
        "T10:00:00Z",
    ),
    *("2026-01-01 10:00:00", ": ", " #", "- ", "? ", "\n ", " \n", "\n\n"),
]
texts = st.one_of(
    st.text(), st.lists(st.sampled_from(HOSTILE), max_size=8).map("".join)
)


@given(texts)
@example("\ta\nb")
@example("a\n\u2028")
@example("a\n\u2028b\n")
@example("\ufeff\na")
def test_any_text_reads_back(value: str) -> None:
    document: Document = {
        "value": value,
        "rows": [{"detail": value, "last": 1}] * 2,
        "items": [value, value],
    }
    data = emit(document)
    assert own_reader(data) == document
    for reader in FOREIGN_READERS:
        if is_read_by(reader, value):
            assert reader(data) == document, reader.__name__


@given(
    st.binary(min_size=1, max_size=120).map(
        lambda data: data.decode("utf-8", "surrogateescape")
    )
)
@example("\udcff")
@example("\udcff" * 53)
def test_bytes_that_are_not_text_read_back(value: str) -> None:
    document: Document = {
        "value": value,
        "rows": [{"detail": value, "last": 1}],
        "items": [value],
    }
    data = emit(document)
    assert own_reader(data) == document
    if data.count(b"!!binary") == 3:
        raw = value.encode("utf-8", "surrogateescape")
        for reader in FOREIGN_READERS:
            assert reader(data) == {
                "value": raw,
                "rows": [{"detail": raw, "last": 1}],
                "items": [raw],
            }


EXPONENT_ONLY = re.compile(r"-?[0-9]e[-+][0-9]+")
"""YAML 1.1 wants a point in every float: to PyYAML ``1e-05`` is text.

The reference writes it so all the same.
"""


@given(st.floats(allow_nan=False))
@example(0.00001)
@example(-0.0)
def test_any_number_reads_back(value: float) -> None:
    data = emit({"value": value, "rows": [{"detail": value}], "items": [value]})
    node = parse(data)
    assert node is not None
    row = {"detail": Reader.number}
    rows = items_of(lambda reader, node: reader.struct(node, row))
    fields = {"value": Reader.number, "rows": rows, "items": items_of(Reader.number)}
    in_tuples = {"value": value, "rows": ({"detail": value},), "items": (value,)}
    assert Reader().struct(node, fields) == in_tuples
    document = {"value": value, "rows": [{"detail": value}], "items": [value]}
    assert ruamel(data) == document
    if not EXPONENT_ONLY.fullmatch(scalar(value)):
        assert pyyaml(data) == pyyaml_c(data) == document


# The known exceptions: what yaml.v3 leaves plain and another reader takes for something else

KNOWN = [
    *(
        "=",
        "<<",
        "0b_",
        "-0x__",
        "+0o_",
        "+_",
        "-__",
        "._",
        "-._",
        "._5",
        ".5_",
        ".5__5",
        ".1_e+1",
    ),
    *(
        "0x10000000000000000",
        "-0x8000000000000001",
        "0b1" + "0" * 64,
        "0o7777777777777777777777",
    ),
    *(
        "8e671",
        "-8_5e0458",
        "8.5e+999",
        ".5e+400",
        "2026-02-30",
        "2026-13-01",
        "2026-01-01T00:00:00",
    ),
    *("2026-01-01 00:00:00Z", "2026-01-01 00:00:00.", "2026-01-01t00:00:00+1"),
]


@pytest.mark.parametrize("value", KNOWN)
def test_what_only_other_readers_misread_stays_plain_as_in_the_reference(
    value: str,
) -> None:
    data = emit({"value": value})
    assert data == b"value: " + value.encode() + b"\n"
    assert own_reader(data) == {"value": value}
    assert not is_read_by(pyyaml, value)
    misread = 0
    for reader in FOREIGN_READERS:
        try:
            misread += reader(data) != {"value": value}
        except (ValueError, yaml.YAMLError, OverflowError):
            misread += 1
        except Exception as e:  # ruamel.yaml has a tree of errors of its own
            assert type(e).__module__.startswith("ruamel.yaml")
            misread += 1
    assert misread, "nobody misreads it; it is no exception"


@pytest.mark.parametrize(
    "value",
    [".5", "0b1", "+1_", "8e67", "2026-02-28", "2026-01-01 00:00:00", "0o7", "0x_1"],
)
def test_their_neighbors_are_quoted(value: str) -> None:
    assert emit({"value": value}) == b'value: "' + value.encode() + b'"\n'


def test_the_rule_of_the_exceptions_is_exact_for_short_texts() -> None:
    """Of short texts of number-like characters, both readers misread those of the rule."""
    pyyaml_resolver: Any = yaml.SafeLoader("")
    ruamel_resolver = YAML(typ="safe", pure=True).resolver
    string = "tag:yaml.org,2002:str"
    unexplained, idle = [], []
    for candidate in map(
        "".join, (*_of("019_.+-eEbxo=<", 3), *_of("01_.+-ebx", 4), *_of("1_.e+", 6))
    ):
        if text(candidate, 4) != candidate:
            continue
        tags = {
            str(pyyaml_resolver.resolve(yaml.ScalarNode, candidate, (True, False))),
            str(ruamel_resolver.resolve(ScalarNode, candidate, (True, False))),
        }
        known = MISREAD_BY_OTHERS.fullmatch(candidate)
        if tags != {string} and not known:
            unexplained.append(candidate)
        if tags == {string} and known:
            idle.append(candidate)
    assert (unexplained, idle) == ([], [])


def _of(alphabet: str, longest: int) -> "itertools.chain[tuple[str, ...]]":
    return itertools.chain.from_iterable(
        itertools.product(alphabet, repeat=n) for n in range(1, longest + 1)
    )
