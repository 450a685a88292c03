"""Reads a YAML file as plain data: YAML 1.2 without anchors, tags and keys that stand twice."""

from typing import Any

from scoring.errors import InputError, YamlError
from scoring.yamlread import Alias, MappingNode, Node, Scalar, Sequence, parse


def read_yaml(data: bytes, source: str) -> Any:
    """Return the first document of some YAML as lists, dictionaries, text, numbers, true, false and None.

    Raises:
        InputError: it is no YAML, or uses what plain data has no need of; the message has the line.
    """
    try:
        node = parse(data)
        return None if node is None else _plain(node)
    except (YamlError, ValueError) as e:
        raise InputError(f"{source}: {e}") from e


def _plain(node: Node) -> Any:
    if isinstance(node, Alias):
        raise YamlError(f"line {node.line}: an alias; write the value out")
    if isinstance(node, Scalar):
        if node.tag:
            raise YamlError(f"line {node.line}: a tag ({node.tag}); write the value without it")
        return node.resolved()[1]
    if isinstance(node, Sequence):
        return [_plain(item) for item in node.items]
    return _mapping(node)


def _mapping(node: MappingNode) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in node.pairs:
        if not isinstance(key, Scalar):
            raise YamlError(f"line {key.line}: a key that is no text")
        if key.value in found:
            raise YamlError(f"line {key.line}: {key.value} is given twice")
        found[key.value] = _plain(value)
    return found
