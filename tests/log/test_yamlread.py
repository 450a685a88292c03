"""How YAML becomes typed fields: what each kind of field takes, and what is refused."""

import math
from typing import Any

import pytest
from helpers import tables

from scoring.errors import YamlError
from scoring.yamlnodes import MAX_DEPTH, Node, is_timestamp
from scoring.yamlread import Reader, Take, items_of, parse

NO_NUMBERS = "high", "1e999", ".1e999", "._5", "..", ".infinity", "nan", "1_.5.5"


def struct(text: str | bytes, **fields: Take) -> dict[str, Any]:
    """Read a document whose root is a mapping into fields."""
    node = parse(text.encode() if isinstance(text, str) else text)
    assert node is not None
    return Reader().struct(node, fields)


def block(**fields: Take) -> Take:
    def take(reader: Reader, node: Node) -> dict[str, Any]:
        return reader.struct(node, fields)

    return take


def field(written: str, take: Take) -> Any:
    """Read the value of one field, written after its key on the document's only line."""
    return struct(f"f: {written}\n", f=take)["f"]


def refused(written: str, take: Take) -> str:
    """Return why a value does not fit its field."""
    with pytest.raises(YamlError) as caught:
        field(written, take)
    return str(caught.value)


class TestString:
    @pytest.mark.parametrize(
        ("written", "expected"),
        [
            ("!!int 0x1F", "0x1F"),
            ("!!float 3", "3"),
            ("!foo x", "x"),
            ("!!binary aGk=", "hi"),
            ("!!binary /w==", "\udcff"),
        ],
    )
    def test_takes_any_tagged_scalar(self, written: str, expected: str) -> None:
        assert field(written, Reader.string) == expected

    @pytest.mark.parametrize(
        ("written", "reason"),
        [
            ("[a]", "f: a list where text belongs"),
            ("!!timestamp 2026-02-30", "cannot read '2026-02-30' as !!timestamp"),
            ("!!binary a-b", "!!binary value is not base64"),
            ("!!int x", "cannot read 'x' as !!int"),
        ],
    )
    def test_refuses_the_rest(self, written: str, reason: str) -> None:
        assert refused(written, Reader.string) == f"line 1: {reason}"


NO_INTEGERS = "lots true yes 2026-01-01 .inf .nan 0o8 0xg 1,000 1e 99999999999999999999"
NOT_PLAIN = [
    ('"5"', "quoted '5'"),
    ("''", "quoted ''"),
    ("!!str 7", "'7'"),
    ("!foo 7", "'7'"),
    ("[1]", "a list"),
]


class TestInteger:
    @pytest.mark.parametrize(
        ("written", "shown"),
        [
            *(
                (written, f"'{written}'")
                for written in (*NO_INTEGERS.split(), "\u0661")
            ),
            *NOT_PLAIN,
            ("!!binary Nw==", "'Nw=='"),
            ("{a: 1}", "a mapping"),
            ("999999999999999999999", "'99999999999999999...'"),
        ],
    )
    def test_refuses_the_rest(self, written: str, shown: str) -> None:
        assert (
            refused(written, Reader.integer)
            == f"line 1: f: {shown} where a whole number belongs"
        )

    @pytest.mark.parametrize("written", ["9223372036854775808", "0xffffffffffffffff"])
    def test_refuses_what_only_an_unsigned_field_would_have(self, written: str) -> None:
        assert "where a whole number of 64 bits belongs" in refused(
            written, Reader.integer
        )

    @pytest.mark.parametrize("prefix", ["", "0x", "0o", "0b", "0", "-"])
    def test_refuses_a_number_of_a_million_digits_without_reading_it(
        self, prefix: str
    ) -> None:
        # Python takes minutes for the decimal one, and refuses to convert it by default.
        reason = "where a whole number belongs"
        assert refused(prefix + "1" * 1_000_000, Reader.integer).endswith(reason)


class TestNumber:
    def test_takes_not_a_number_and_the_sign_of_zero(self) -> None:
        assert math.isnan(field(".nan", Reader.number))
        assert math.copysign(1, field("-0.0", Reader.number)) == -1

    @pytest.mark.parametrize(
        "written",
        [*NO_NUMBERS, '"0.5"', "true", "yes", "[0.5]", "2026-01-01", "!!str 0.5"],
    )
    def test_refuses_the_rest(self, written: str) -> None:
        assert refused(written, Reader.number).endswith("where a number belongs")


NO_FLAGS = """yes on tRue pass 1.5 1e0 08 0x10 0o1 0b1 1_0 9223372036854775808 2026-01-01
    2026-01-01T10:00:00Z"""


class TestFlag:
    @pytest.mark.parametrize(
        ("written", "shown"),
        [
            *((written, f"'{written}'") for written in NO_FLAGS.split()),
            ('"yes"', "quoted 'yes'"),
            ('"2"', "quoted '2'"),
            ('"\\u200btrue"', "quoted '\\u200btrue'"),
            ("!!binary dHJ1ZQ==", "'dHJ1ZQ=='"),
            ("!foo true", "'true'"),
        ],
    )
    def test_refuses_the_rest(self, written: str, shown: str) -> None:
        reason = (
            f"line 1: f: {shown} where a test flag (true, false, or a count) belongs"
        )
        assert refused(written, Reader.flag) == reason

    def test_refuses_a_null_tag_on_text(self) -> None:
        assert (
            refused("!!null true", Reader.flag)
            == "line 1: cannot read 'true' as !!null"
        )


class TestItems:
    @pytest.mark.parametrize(
        ("written", "shown"),
        [
            ("a", "'a'"),
            ("''", "quoted ''"),
            ("{a: b}", "a mapping"),
            ("5", "'5'"),
            ("!!str", "''"),
        ],
    )
    def test_refuses_other_kinds(self, written: str, shown: str) -> None:
        assert (
            refused(written, items_of(Reader.string))
            == f"line 1: f: {shown} where a list belongs"
        )


class TestStruct:
    def test_ignores_keys_that_no_field_has_whatever_they_hold(self) -> None:
        text = "a: 1\nother: {x: [1, {y: !!int z}], x: 2, ? [k] : v}\n"
        assert struct(text, a=Reader.integer) == {"a": 1}

    @pytest.mark.parametrize(
        "text",
        [
            *(
                "a: 1\n",
                "'a': 1\n",
                "!!binary YQ==: 1\n",
                "!foo a: 1\n",
                "? a\n: 1\n",
                "name: &n a\n*n : 1\n",
            ),
            *("~: x\na: 1\n", "a: 1\nA: 2\n"),
        ],
    )
    def test_reads_a_key_as_text(self, text: str) -> None:
        assert struct(text, a=Reader.integer, **{"": Reader.integer}) == {"a": 1}

    @pytest.mark.parametrize(
        ("text", "reason"),
        [
            pytest.param(
                "a: 1\nb: 2\na: 3\n",
                "line 3: key 'a' is already given on line 1",
                id="of-a-field",
            ),
            pytest.param(
                "a: 1\n'a': 2\n",
                "line 2: key 'a' is already given on line 1",
                id="quoted",
            ),
            pytest.param(
                "<<: {}\n<<: {}\n",
                "line 2: key '<<' is already given on line 1",
                id="merge",
            ),
            pytest.param(
                "b: {c: 1,\n  c: 2}\n",
                "line 2: key 'c' is already given on line 1",
                id="in-a-block",
            ),
        ],
    )
    def test_refuses_a_key_given_twice(self, text: str, reason: str) -> None:
        with pytest.raises(YamlError) as caught:
            struct(text, a=Reader.integer, b=block(c=Reader.integer))
        assert str(caught.value) == reason

    def test_does_not_mind_keys_given_twice_where_nobody_reads(self) -> None:
        assert struct("a: 1\nother: {x: 1, x: 2}\n", a=Reader.integer) == {"a": 1}


class TestMerging:
    @pytest.mark.parametrize(
        "text",
        [
            *(
                "<<: 5\n",
                "<<: null\n",
                "<<: [5]\n",
                "x: &x 5\n<<: *x\n",
                "x: &x [{a: 1}]\n<<: *x\n",
            ),
            "x: &x [{a: 1}]\n<<: [*x]\n",
        ],
    )
    def test_refuses_what_is_no_mapping(self, text: str) -> None:
        with pytest.raises(
            YamlError,
            match=r"line \d: a merge key takes a mapping or a list of mappings",
        ):
            struct(text, a=Reader.integer)

    def test_does_not_check_the_values_that_it_does_not_need(self) -> None:
        assert struct("x: &x {a: x}\na: 1\n<<: *x\n", a=Reader.integer) == {"a": 1}


class TestAliases:
    @pytest.mark.parametrize(
        ("text", "expected"),
        [
            pytest.param("x: &x 7\na: *x\n", {"a": 7}, id="scalar"),
            pytest.param("x: &x [1, 2]\nl: *x\n", {"l": (1, 2)}, id="list"),
            pytest.param("x: &x {a: 7}\nk: *x\n", {"k": {"a": 7}}, id="mapping"),
            pytest.param(
                "x: &x null\nl: [*x, 1]\n", {"l": (1,)}, id="null-item-is-dropped"
            ),
        ],
    )
    def test_stand_for_their_anchor(self, text: str, expected: dict[str, Any]) -> None:
        inner = block(a=Reader.integer)
        assert (
            struct(text, a=Reader.integer, l=items_of(Reader.integer), k=inner, m=inner)
            == expected
        )

    @pytest.mark.parametrize(
        "data",
        [b"b: *x\n", b"a: *x\nb: &x 1\n", b"--- *x\n"],
        ids=["none", "later", "root"],
    )
    def test_without_an_anchor_before_them_are_refused(self, data: bytes) -> None:
        with pytest.raises(YamlError, match="line 1: unknown anchor 'x'"):
            parse(data)

    @pytest.mark.parametrize(
        "text",
        [
            *("&x\n<<: *x\n", "k: &x {<<: *x}\n", "k: &x {<<: [{}, *x]}\n"),
            *("k: &x {k: *x}\n", "k: &x {k: {k: {k: *x}}}\n"),
        ],
    )
    def test_that_contain_themselves_are_refused(self, text: str) -> None:
        def take(reader: Reader, node: Node) -> Any:
            return reader.struct(node, {"k": take})

        with pytest.raises(YamlError, match="anchor 'x' contains itself"):
            struct(text, k=take)

    @pytest.mark.parametrize("levels", [9, 40])
    def test_that_multiply_in_merges_are_refused(self, levels: int) -> None:
        lines = ["l0: &l0 {a: 1}"]
        lines += [
            f"l{n}: &l{n} {{<<: [{', '.join([f'*l{n - 1}'] * 9)}]}}"
            for n in range(1, levels)
        ]
        with pytest.raises(YamlError, match="aliases multiply beyond reason"):
            struct("\n".join([*lines, f"<<: *l{levels - 1}"]), a=Reader.integer)

    @pytest.mark.parametrize("written", [1, 50])
    def test_that_nest_too_deep_in_merges_are_refused(self, written: int) -> None:
        def merging(merges: int) -> str:
            lines = ["l0: &l0 {a: 1}"]
            for n in range(merges):
                opening, closing = "{<<: " * written, "}" * written
                lines.append(f"l{n + 1}: &l{n + 1} {opening}*l{n}{closing}")
            return "\n".join([*lines, f"<<: *l{merges}"])

        most = (MAX_DEPTH - 2) // written
        assert struct(merging(most), a=Reader.integer) == {"a": 1}
        for merges in (most + 1, 2000):
            with pytest.raises(YamlError, match=r"line \d+: nested more than 100 deep"):
                struct(merging(merges), a=Reader.integer)

    def test_that_multiply_or_contain_themselves_do_no_harm_where_no_field_reads_them(
        self,
    ) -> None:
        lines = ["l0: &l0 [x]", "other: &x {y: *x}"]
        lines += [
            f"l{n}: &l{n} [{', '.join([f'*l{n - 1}'] * 9)}]" for n in range(1, 40)
        ]
        assert struct("\n".join([*lines, "a: 1"]), a=Reader.integer) == {"a": 1}

    def test_by_the_hundred_are_fine_in_an_ordinary_document(self) -> None:
        items = ", ".join(["*x"] * 900)
        text = f"x: &x {{a: 1}}\nl: [{items}]\n"
        assert struct(text, l=items_of(block(a=Reader.integer))) == {
            "l": ({"a": 1},) * 900
        }


class TestStream:
    @pytest.mark.parametrize("text", tables.cases("yamlread", "streams"))
    def test_gives_its_first_document(self, text: str) -> None:
        assert struct(text, a=Reader.integer) == {"a": 1}

    @pytest.mark.parametrize(
        ("data", "reason"),
        [
            pytest.param(b"a: [\n", "line 2: ", id="open-list"),
            pytest.param(b"a:\n\tb: 1\n", "line 2: ", id="tab-as-indentation"),
            pytest.param(b'a: 1\nb: "open\n', "line ", id="open-quote"),
            pytest.param(b'a: "\\x"\n', "line 1: ", id="broken-escape"),
            pytest.param(b"a: !e!x y\n", "line 1: ", id="tag-without-a-handle"),
            pytest.param(b"%YAML 3.0\n---\na: 1\n", "line 1: ", id="other-version"),
            pytest.param(b"a: caf\xe9\n", "not YAML text: ", id="not-utf-8"),
            pytest.param(b"a: \x00\n", "not YAML text: ", id="nul"),
            pytest.param(b"a: \x1b[0m\n", "not YAML text: ", id="escape-character"),
            pytest.param(
                "\ufeffa".encode("utf-16-le") + b"\x00\xd8",
                "not YAML text: ",
                id="half-a-utf-16-character",
            ),
        ],
    )
    def test_with_broken_syntax_is_refused(self, data: bytes, reason: str) -> None:
        with pytest.raises(YamlError) as caught:
            parse(data)
        assert str(caught.value).startswith(reason)
        assert "\n" not in str(caught.value)

    @pytest.mark.parametrize(
        ("opening", "closing"),
        [pytest.param("[", "]", id="lists"), pytest.param("{a: ", "}", id="mappings")],
    )
    def test_nested_deeper_than_the_limit_is_refused(
        self, opening: str, closing: str
    ) -> None:
        def nested(depth: int) -> bytes:
            return (opening * depth + "x" + closing * depth).encode()

        assert MAX_DEPTH == 100
        assert parse(nested(100)) is not None
        with pytest.raises(YamlError, match="line 1: nested more than 100 deep"):
            parse(nested(101))


def test_what_is_a_timestamp() -> None:
    dates = (
        "2026-04-18",
        "2026-4-8",
        "0000-02-29",
        "2026-04-18T10:00:00Z",
        "2026-04-18t10:00:00.5+02:00",
    )
    times = "2026-4-8T1:2:3Z", "2026-04-18 10:00:00", "2026-04-18 10:00:00.123456"
    assert [text for text in (*dates, *times) if not is_timestamp(text)] == []


def test_what_is_no_timestamp() -> None:
    dates = (
        "2026",
        "26-04-18",
        "2026-13-01",
        "2026-02-29",
        " 2026-04-18",
        "2026-04-18\n",
        "\u0662\u0660-04-18",
    )
    times = "10:00:00", "24:00:00Z", "10:60:00Z", "10:00:60Z", "10:00Z", "10:00:00+0200"
    texts = *dates, *(f"2026-04-18T{time}" for time in times), "2026-04-18 10:00:00Z"
    assert [text for text in texts if is_timestamp(text)] == []


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        pytest.param(
            "a: 1\nn:\n  c: x\n",
            "line 3: n.c: 'x' where a whole number belongs",
            id="block",
        ),
        pytest.param(
            "l:\n- c: 1\n- c: x\n",
            "line 3: l.c: 'x' where a whole number belongs",
            id="item",
        ),
        pytest.param(
            "x: &x y\n\na: *x\n",
            "line 3: a: 'y' where a whole number belongs",
            id="alias-not-anchor",
        ),
        pytest.param(
            "a: 'a long value, cut short'\n",
            "line 1: a: quoted 'a long value, cut...' where",
            id="long",
        ),
    ],
)
def test_a_misfit_names_line_and_field(text: str, reason: str) -> None:
    inner = block(c=Reader.integer)
    with pytest.raises(YamlError) as caught:
        struct(text, a=Reader.integer, n=inner, l=items_of(inner))
    assert str(caught.value).startswith(reason)
