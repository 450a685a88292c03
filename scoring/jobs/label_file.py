"""One file of labels, with labels added (``docs/LOG.md``, "Labels").

Everyone who labels writes to this file, with any tool, so everything else in it stays as it was. What is about to be
written is read back first: a file in which other labels would change, because they share a part of their history by
an alias, is refused.
"""

import datetime
import io
import re
import uuid
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from ruamel.yaml.comments import CommentedMap, CommentedSeq

from scoring.errors import InputError
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
from scoring.jobs.yaml_edit import AsWritten, kept_tree, quoted_scalar, round_trip
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
    """A person's label of an iteration; what is None stays as the person's last label has it.

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
            return "a label needs the name of the person who gives it"
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


def with_labels(path: Path, before: bytes | None, labels: Sequence[NewLabel], now: datetime.datetime) -> bytes:
    """Return a file of labels with labels of its iteration added, each new or an edit to its actor's last label.

    Args:
        path: the file, for messages.
        before: what is in it; None where there is none.
        labels: at least one, all of one iteration.
        now: when they are given.

    Raises:
        InputError: a label cannot be added, or the file cannot be added to.
    """
    iteration, yaml = labels[0].iteration, round_trip(before or b"", rb"labels")
    known: list[LabelRecord] = []
    if before is None:
        tree = CommentedMap(iteration=iteration, schema_version=quoted_scalar(SCHEMA_VERSION), labels=CommentedSeq())
    else:
        facts = labels_in(before, path, iteration)
        if facts.problem:
            raise InputError(f"{path.parent / facts.problem}; nothing is added to it")
        known, tree = list(facts.labels or ()), kept_tree(yaml, before, path)
    if not isinstance(tree.get("labels"), CommentedSeq):
        tree["labels"] = CommentedSeq()
    if not tree["labels"]:
        tree["labels"].fa.set_block_style()
    for label in labels:
        _add(label, tree["labels"], known, path, now)
    out = io.BytesIO()
    yaml.dump(tree, out)
    data = out.getvalue()
    if len(data) > FILE_LIMIT:
        raise InputError(f"{path}: would be larger than {FILE_LIMIT >> 20} MiB; nothing is added to it")
    if labels_in(data, path, iteration).labels != tuple(known):
        raise InputError(f"{path}: its labels share parts by aliases; nothing is added to it, edit it by hand")
    return data


def _add(label: NewLabel, nodes: CommentedSeq, known: list[LabelRecord], path: Path, now: datetime.datetime) -> None:
    """Add a label to the nodes of a file and to the labels that are ``known`` to be in it."""
    mine = [other for other in known if other.actor == label.actor]
    if mine and all(other.role == READONLY for other in mine):
        raise InputError(f"{path}: {printable(label.actor)} has the role {READONLY} there and cannot label")
    last = next(iter(latest_labels(mine)), None)
    role = ADMIN if label.overrides else label.role or (last.role if last else REVIEWER)
    stamp = now.astimezone(datetime.UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    edit, updated = _merged(label, last, role, stamp), timestamp_ns(stamp)
    items = [node for node in nodes if not (isinstance(node, AsWritten) and node.is_null)]  # readers count no null
    if last is None:
        new = _label_node(label, edit)
        nodes.append(new)
        known.append(LabelRecord(len(items), new["id"], label.actor, role, label.overrides, updated, (edit,)))
        return
    if last.updated is not None and updated is not None and last.updated > updated:  # a clock that is behind
        updated, stamp = last.updated, last.updated_at
    item = items[last.position]
    if not isinstance(item.get("history"), CommentedSeq):
        item["history"] = CommentedSeq()
    item["history"].append(_edit_node(label.actor, edit))
    item["role"], item["updated_at"] = role, quoted_scalar(stamp)
    if label.overrides and not last.overrides:
        item.pop("admin_override", None)
        item.insert(list(item).index("role") + 1, "admin_override", True)
    overrides, history = role != READONLY and (label.overrides or last.overrides), (*last.history, edit)
    changed = replace(last, role=role, overrides=overrides, updated=updated, updated_at=stamp, history=history)
    known[known.index(last)] = changed


def _merged(label: NewLabel, last: LabelRecord | None, role: str, stamp: str) -> LabelEdit:
    """Return a label as an edit, with what it leaves out as the last label has it."""
    earlier = last.latest if last else None
    kept, given = earlier.judgement if earlier else NOTHING, label.judgement
    judgement = kept._replace(**{name: value for name, value in given._asdict().items() if value is not None})
    note = label.note if label.note is not None else earlier.note if earlier else ""
    return LabelEdit(judgement, role, note, stamp)


def _label_node(label: NewLabel, edit: LabelEdit) -> CommentedMap:
    stamp = quoted_scalar(edit.timestamp)
    node = CommentedMap(
        id=quoted_scalar(str(uuid.uuid4())), iteration=label.iteration, actor=quoted_scalar(label.actor), role=edit.role
    )
    if label.overrides:
        node["admin_override"] = True
    node["schema_version"] = quoted_scalar(SCHEMA_VERSION)
    node["created_at"] = node["updated_at"] = stamp
    node["history"] = CommentedSeq([_edit_node(label.actor, edit)])
    return node


def _edit_node(actor: str, edit: LabelEdit) -> CommentedMap:
    node = CommentedMap(actor=quoted_scalar(actor), role=edit.role, timestamp=quoted_scalar(edit.timestamp))
    if edit.note:
        node["free_text"] = quoted_scalar(edit.note)
    correctness, scope, hallucination = edit.judgement
    given = (("correctness", correctness), ("scope_judgement", scope), ("hallucination", hallucination))
    node["structured"] = CommentedMap((name, value) for name, value in given if value is not None)
    return node
