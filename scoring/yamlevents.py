"""YAML from libyaml's parser to nodes: whatever a file may hold."""

from typing import Any

import yaml
from yaml._yaml import CParser

from scoring.errors import YamlError
from scoring.yamlnodes import MAX_DEPTH, Alias, MappingNode, Node, Scalar, Sequence

_PREFIX = "tag:yaml.org,2002:"


def parsed_by_libyaml(data: bytes) -> Node | None:
    """Read the first document of a YAML stream; None when there is none.

    Raises:
        YamlError: broken syntax, an alias without an anchor, or nesting beyond :data:`MAX_DEPTH`.
    """
    try:
        return _compose(CParser(data))
    except YamlError:
        raise
    except yaml.MarkedYAMLError as e:
        mark = e.problem_mark or e.context_mark
        where = f"line {mark.line + 1}: " if mark else ""
        raise YamlError(f"{where}{e.problem or e.context}") from e
    except (yaml.YAMLError, ValueError) as e:
        raise YamlError(f"not YAML text: {getattr(e, 'reason', None) or ' '.join(str(e).split())}") from e


def _compose(parser: Any) -> Node | None:
    """Build nodes from parser events, without recursion, up to the end of the first document."""
    root: Node | None = None
    anchors: dict[str, Node] = {}
    stack: list[tuple[Sequence | MappingNode, list[Node]]] = []
    while True:
        event = parser.get_event()
        kind = type(event)
        node: Node
        if kind is yaml.ScalarEvent:
            tag = event.tag
            style = event.style
            node = Scalar(
                event.value,
                _short_tag(tag) if tag and tag != "!" else "",
                style is not None and style != "",
                event.start_mark.line + 1,
            )
        elif kind is yaml.AliasEvent:
            if event.anchor not in anchors:
                raise YamlError(f"line {event.start_mark.line + 1}: unknown anchor {event.anchor!r}")
            node = Alias(event.anchor, anchors[event.anchor], event.start_mark.line + 1)
        elif kind is yaml.MappingStartEvent or kind is yaml.SequenceStartEvent:
            line = event.start_mark.line + 1
            if len(stack) >= MAX_DEPTH:
                raise YamlError(f"line {line}: nested more than {MAX_DEPTH} deep")
            node = MappingNode(line) if kind is yaml.MappingStartEvent else Sequence(line)
            if event.anchor:
                anchors[event.anchor] = node
            stack.append((node, []))
            continue
        elif kind is yaml.MappingEndEvent or kind is yaml.SequenceEndEvent:
            node, children = stack.pop()
            if isinstance(node, MappingNode):
                node.pairs = list(zip(children[::2], children[1::2], strict=True))
            else:
                node.items = children
        elif kind is yaml.DocumentEndEvent or kind is yaml.StreamEndEvent:
            return root
        else:  # the start of the stream or the document
            continue
        if kind is yaml.ScalarEvent and event.anchor:
            anchors[event.anchor] = node
        if stack:
            stack[-1][1].append(node)
        else:
            root = node


def _short_tag(tag: str) -> str:
    return "!!" + tag[len(_PREFIX) :] if tag.startswith(_PREFIX) else tag
