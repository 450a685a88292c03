"""One file of labels, kept as its writers made it: what is added, and everything else as it was.

The file belongs to everybody who labels, with whatever tool. So it is written round-trip: comments, the order of keys,
keys that are not known here and scalars as they were spelled stay. What is about to be written is read back first: a
file whose other labels would change, because they share a part of their history by an alias, is refused.
"""

import datetime
import io
import re
import uuid
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.comments import CommentedMap, CommentedSeq
from ruamel.yaml.constructor import RoundTripConstructor
from ruamel.yaml.error import YAMLError
from ruamel.yaml.representer import RoundTripRepresenter
from ruamel.yaml.scalarstring import DoubleQuotedScalarString

from scoring.errors import InputError
from scoring.evidence.beside import label_file_name
from scoring.evidence.labels import (
    ADMIN,
    READONLY,
    REVIEWER,
    SCHEMA_VERSION,
    Judgement,
    LabelEdit,
    LabelRecord,
    labels_in,
)
from scoring.evidence.transcripts.facts import timestamp_ns
from scoring.files import read_file
from scoring.signals.human_label import latest_labels
from scoring.text import cut, printable

NOTE_LIMIT = 4000
"""The longest note, in bytes of UTF-8."""

FILE_LIMIT = 1 << 20
"""The largest file of labels, in bytes, that is added to: to keep a larger one as it is would take minutes."""

ACTOR_LIMIT = 200
"""The longest name of a person, in bytes of UTF-8."""

NOTHING = Judgement()

_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")
_NOT_TEXT = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")


@dataclass(frozen=True, slots=True)
class NewLabel:
    """What somebody says of an iteration; what is None stays as their last label has it.

    ``note`` is at most :data:`NOTE_LIMIT` bytes of UTF-8, "" for none. ``overrides`` makes it the label of an admin
    that replaces those of all others. ``role`` None keeps the role that the person's label has.
    """

    iteration: int
    actor: str
    judgement: Judgement = NOTHING
    note: str | None = None
    overrides: bool = False
    role: str | None = None

    def problem(self) -> str:
        """Return why it cannot be written; "" when it can."""
        if not self.actor.strip():
            return "a label needs the name of who gives it"
        if _CONTROL.search(self.actor):
            return f"the name {cut(printable(self.actor), 60)} has a control character or is no UTF-8"
        if len(self.actor.encode()) > ACTOR_LIMIT:
            return f"the name has more than {ACTOR_LIMIT} bytes"
        if self.judgement.is_empty and self.note is None and not self.overrides:
            return "it says nothing: give a value or a note"
        if self.note is not None and _NOT_TEXT.search(self.note):
            return "the note has a control character or is no UTF-8"
        if self.note is not None and (size := len(self.note.encode())) > NOTE_LIMIT:
            return f"the note has {size} bytes of UTF-8; at most {NOTE_LIMIT} fit"
        if self.overrides and self.role not in (None, ADMIN):
            return f"only an admin overrides, and the role is {self.role}"
        return ""


class LabelFile:
    """One file of labels, as it is and as it is about to be."""

    def __init__(self, log_dir: Path, iteration: int) -> None:
        self.path, self.iteration = log_dir / label_file_name(iteration), iteration
        try:
            self.before: bytes | None = read_file(self.path, FILE_LIMIT)
        except FileNotFoundError:
            self.before = None
        self._yaml = round_trip(self.before or b"", rb"labels")
        if self.before is None:
            self._said: list[LabelRecord] = []
            self._tree = CommentedMap(iteration=iteration, schema_version=_text(SCHEMA_VERSION), labels=CommentedSeq())
            return
        facts = labels_in(self.before, self.path, iteration)
        if facts.problem:
            raise InputError(f"{self.path.parent / facts.problem}; nothing is added to it")
        self._said = list(facts.labels or ())
        self._tree = kept_tree(self._yaml, self.before, self.path)

    def add(self, label: NewLabel, now: datetime.datetime) -> None:
        """Add a label, or an edit to the one that its actor gave before."""
        mine = [other for other in self._said if other.actor == label.actor]
        if mine and all(other.role == READONLY for other in mine):
            raise InputError(f"{self.path}: {printable(label.actor)} has the role {READONLY} there and cannot label")
        last = next(iter(latest_labels(mine)), None)
        role = ADMIN if label.overrides else label.role or (last.role if last else REVIEWER)
        stamp = now.astimezone(datetime.UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        edit = _merged(label, last, role, stamp)
        if last is None:
            new = _new_label(label, edit)
            position = len(self._items())
            self._labels().append(new)
            overrides, time = label.overrides, timestamp_ns(stamp)
            self._said.append(LabelRecord(position, new["id"], label.actor, role, overrides, time, (edit,)))
            return
        updated = timestamp_ns(stamp)
        if last.updated is not None and updated is not None and last.updated > updated:  # a clock that is behind
            updated, stamp = last.updated, last.updated_at
        item = self._items()[last.position]
        self._history(item).append(_edit_node(label.actor, edit))
        item["role"], item["updated_at"] = role, _text(stamp)
        if label.overrides and not last.overrides:
            item.pop("admin_override", None)
            item.insert(list(item).index("role") + 1, "admin_override", True)
        overrides, history = role != READONLY and (label.overrides or last.overrides), (*last.history, edit)
        changed = replace(last, role=role, overrides=overrides, updated=updated, updated_at=stamp, history=history)
        self._said[self._said.index(last)] = changed

    def content(self) -> bytes:
        """Return the file as it is about to be, which says what it said before and what was added."""
        out = io.BytesIO()
        self._yaml.dump(self._tree, out)
        data = out.getvalue()
        if len(data) > FILE_LIMIT:
            raise InputError(f"{self.path}: would be larger than {FILE_LIMIT >> 20} MiB; nothing is added to it")
        if labels_in(data, self.path, self.iteration).labels != tuple(self._said):
            raise InputError(f"{self.path}: its labels share parts by aliases; nothing is added to it, edit it by hand")
        return data

    def _labels(self) -> CommentedSeq:
        if not isinstance(self._tree.get("labels"), CommentedSeq):
            self._tree["labels"] = CommentedSeq()
        found: CommentedSeq = self._tree["labels"]
        if not found:
            found.fa.set_block_style()
        return found

    def _items(self) -> list[CommentedMap]:
        """Return the items that a reader counts: all but those that are null."""
        return [item for item in self._labels() if not (isinstance(item, AsWritten) and item.is_null)]

    @staticmethod
    def _history(item: CommentedMap) -> CommentedSeq:
        if not isinstance(item.get("history"), CommentedSeq):
            item["history"] = CommentedSeq()
        found: CommentedSeq = item["history"]
        return found


def _merged(label: NewLabel, last: LabelRecord | None, role: str, stamp: str) -> LabelEdit:
    """Return a label as an edit, with what it does not give as the last label has it."""
    held = last.latest if last else None
    kept, given = held.judgement if held else NOTHING, label.judgement
    judgement = kept._replace(**{name: value for name, value in given._asdict().items() if value is not None})
    note = label.note if label.note is not None else held.note if held else ""
    return LabelEdit(judgement, role, note, stamp)


def _new_label(label: NewLabel, edit: LabelEdit) -> CommentedMap:
    stamp = _text(edit.timestamp)
    node = CommentedMap(
        id=_text(str(uuid.uuid4())), iteration=label.iteration, actor=_text(label.actor), role=edit.role
    )
    if label.overrides:
        node["admin_override"] = True
    node["schema_version"] = _text(SCHEMA_VERSION)
    node["created_at"] = node["updated_at"] = stamp
    node["history"] = CommentedSeq([_edit_node(label.actor, edit)])
    return node


def _edit_node(actor: str, edit: LabelEdit) -> CommentedMap:
    node = CommentedMap(actor=_text(actor), role=edit.role, timestamp=_text(edit.timestamp))
    if edit.note:
        node["free_text"] = _text(edit.note)
    correctness, scope, hallucination = edit.judgement
    given = (("correctness", correctness), ("scope_judgement", scope), ("hallucination", hallucination))
    node["structured"] = CommentedMap((name, value) for name, value in given if value is not None)
    return node


def _text(text: str) -> DoubleQuotedScalarString:
    """Return text that reads as text in every reader, whatever it looks like."""
    found: DoubleQuotedScalarString = DoubleQuotedScalarString(text)
    return found


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
    """Return a reader and writer of YAML that changes nothing of its own accord, indented as a file is under a key."""
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
    """Return a document as :func:`round_trip` writes it back.

    Raises:
        InputError: it is none that can be written as it was.
    """
    try:
        return yaml.load(before)
    except (YAMLError, ValueError, RecursionError) as e:
        what = " ".join(str(getattr(e, "problem", None) or e).split())
        raise InputError(f"{path}: cannot be kept as it is ({what}); nothing is added to it") from e
