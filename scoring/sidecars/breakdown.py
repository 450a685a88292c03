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
    values = reference_row(row)
    if row.source:
        values["source"] = row.source
    if not row.applicable:
        values["applicable"] = False
    if row.cap:
        values["cap"] = row.cap
    return values


def row_payload(row: SignalContribution) -> dict[str, Value]:
    """Return a row as commands print it in JSON: always with ``source``, ``applicable``, ``cap`` and ``fact``.

    Those that it does not have are null.
    """
    values = reference_row(row)
    values["source"], values["applicable"] = row.source, row.applicable
    values["cap"], values["fact"] = row.cap or None, row.fact or None
    return values


def take_row(reader: Reader, node: Node) -> SignalContribution:
    """Read a row back; missing fields read as empty.

    Raises:
        YamlError: it is no mapping, or a value does not fit its field.
    """
    given: dict[str, Any] = _MISSING | reader.struct(node, _WHOLE)
    return SignalContribution(**given | {"source": _SOURCES.get(given["source"])})
