"""A row of a breakdown as it is written, as it is printed in JSON, and as it is read back."""

import operator
from typing import Any

from rubric import SignalContribution, Source
from scoring.sidecars.emitter import Value
from scoring.yamlnodes import Node
from scoring.yamlread import Reader, Take

_REFERENCE: dict[str, Take] = {
    "signal": Reader.string,
    "label": Reader.string,
    "present": Reader.boolean,
    "sub_score": Reader.number,
    "detail": Reader.string,
    "nominal_weight": Reader.number,
    "effective_weight": Reader.number,
    "contribution": Reader.number,
}
_values_of = operator.attrgetter(*_REFERENCE)
_WHOLE = _REFERENCE | {"source": Reader.string, "applicable": Reader.boolean, "cap": Reader.string}
_EMPTY: dict[Take, Any] = {Reader.string: "", Reader.boolean: False, Reader.number: 0.0}
_MISSING = {name: _EMPTY[take] for name, take in _WHOLE.items()} | {"applicable": True}
_SOURCES: dict[str, Source] = {"observed": "observed", "claimed": "claimed"}


def reference_row(row: SignalContribution) -> dict[str, Value]:
    """Return a row as the reference writes it, keys in their order; an empty detail is left out."""
    values = dict(zip(_REFERENCE, _values_of(row), strict=True))
    if not row.detail:
        del values["detail"]
    return values


def whole_row(row: SignalContribution) -> dict[str, Value]:
    """Return a row as a sidecar with bounds has it: with ``source``, ``applicable`` and ``cap`` where they matter."""
    more: dict[str, Value] = {"source": row.source, "applicable": row.applicable, "cap": row.cap}
    return reference_row(row) | {name: value for name, value in more.items() if value not in (None, True, "")}


def row_payload(row: SignalContribution) -> dict[str, Value]:
    """Return a row as commands print it in JSON: always with ``source``, ``applicable``, ``cap`` and ``fact``.

    Those that it does not have are null.
    """
    more = {"source": row.source, "applicable": row.applicable, "cap": row.cap or None, "fact": row.fact or None}
    return reference_row(row) | more


def take_row(reader: Reader, node: Node) -> SignalContribution:
    """Read a row back; missing fields read as empty.

    Raises:
        YamlError: it is no mapping, or a value does not fit its field.
    """
    given: dict[str, Any] = _MISSING | reader.struct(node, _WHOLE)
    return SignalContribution(**given | {"source": _SOURCES.get(given["source"])})
