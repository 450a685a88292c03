"""YAML edited in place: comments, the order of keys, unknown keys and scalars stay as their writers spelled them."""

import re
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.constructor import RoundTripConstructor
from ruamel.yaml.error import YAMLError
from ruamel.yaml.representer import RoundTripRepresenter

from scoring.errors import InputError


class AsWritten(str):
    """A scalar that is no text, kept as it was spelled, with its tag."""

    __slots__ = ("tag",)
    tag: str

    @property
    def is_null(self) -> bool:
        """Whether it reads as null."""
        return self.tag.endswith(":null")


class _Constructor(RoundTripConstructor):
    def construct_as_written(self, node: Any) -> AsWritten:
        found = AsWritten(node.value)
        found.tag = str(node.tag)
        return found


class _Representer(RoundTripRepresenter):
    def represent_as_written(self, data: AsWritten) -> Any:
        return self.represent_scalar(data.tag, str(data))


for _name in ("null", "bool", "int", "float", "timestamp"):
    _Constructor.add_constructor(f"tag:yaml.org,2002:{_name}", _Constructor.construct_as_written)
_Representer.add_representer(AsWritten, _Representer.represent_as_written)


def round_trip(before: bytes, key: bytes = rb"[\w.-]+") -> YAML:
    """Return a reader and writer that keeps what it does not change, and indents lists as a file does under a key."""
    yaml = YAML(typ="rt")
    yaml.Constructor, yaml.Representer = _Constructor, _Representer
    yaml.preserve_quotes = True
    yaml.width = 1 << 20
    yaml.allow_unicode = True
    yaml.explicit_start = before.removeprefix(b"\xef\xbb\xbf").startswith(b"---")
    item = re.search(rb"^" + key + rb":[^\n]*\n(?: *+(?:#[^\n]*)?\n)*+( *)- ", before, re.MULTILINE)
    offset = len(item[1]) if item else 2
    yaml.indent(mapping=2, sequence=offset + 2, offset=offset)
    return yaml


def kept_tree(yaml: YAML, before: bytes, path: Path) -> Any:
    """Return a document as the reader of :func:`round_trip` has it.

    Raises:
        InputError: it cannot be written as it was.
    """
    try:
        return yaml.load(before)
    except (YAMLError, ValueError, RecursionError) as e:
        what = " ".join(str(getattr(e, "problem", None) or e).split())
        raise InputError(f"{path}: cannot be kept as it is ({what}); nothing is added to it") from e
