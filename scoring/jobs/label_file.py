"""Labels written into ``iter-N.labels.yaml``; all else in a file stays as it is spelled, or the file is refused."""

import contextlib
import datetime
import io
import re
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.comments import CommentedMap, CommentedSeq
from ruamel.yaml.constructor import RoundTripConstructor
from ruamel.yaml.error import YAMLError
from ruamel.yaml.representer import RoundTripRepresenter
from ruamel.yaml.scalarstring import DoubleQuotedScalarString as Quoted

from scoring.errors import InputError, WriteError
from scoring.evidence.beside import label_file_name
from scoring.evidence.labels import (
    READONLY,
    REVIEWER,
    SCHEMA_VERSION,
    Judgement,
    LabelRecord,
    labels_in,
)
from scoring.evidence.transcripts.facts import timestamp_ns
from scoring.files import exclusive_lock, is_inside, read_file, write_together
from scoring.signals.human_label import latest_labels
from scoring.text import cut, printable


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
    item = re.search(
        rb"(?m)^" + key + rb":[^\n]*\n(?: *+(?:#[^\n]*)?\n)*+( *)- ", before.replace(*_LINE_ENDS)
    )
    offset = len(item[1]) if item else 2
    yaml.indent(mapping=2, sequence=offset + 2, offset=offset)
    return yaml


def kept_tree(yaml: YAML, before: bytes, path: Path) -> Any:
    """Return a document as the reader of :func:`round_trip` has it; InputError where it cannot be written as it was."""
    try:
        return yaml.load(before.replace(*_LINE_ENDS))
    except (YAMLError, ValueError, RecursionError) as e:
        what = " ".join(str(getattr(e, "problem", None) or e).split())
        raise InputError(f"{path}: cannot be kept as it is ({what}); nothing is added to it") from e


def dumped(yaml: YAML, tree: Any, before: bytes) -> bytes:
    """Return a document as the writer of :func:`round_trip` writes it, with the line ends that it had."""
    out = io.BytesIO()
    yaml.dump(tree, out)
    return out.getvalue().replace(*_LINE_ENDS[::-1]) if _LINE_ENDS[0] in before else out.getvalue()


NOTE_LIMIT = 4000  # the longest note, in bytes of UTF-8
FILE_LIMIT = (
    1 << 20
)  # the largest file that is added to, in bytes: to keep a larger one as it is would take minutes
ACTOR_LIMIT = 200  # the longest name of a person, in bytes of UTF-8
_NOTHING = Judgement()
_LINE_ENDS = b"\r\n", b"\n"
_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")
_NOT_TEXT = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")


@dataclass(frozen=True, slots=True)
class NewLabel:
    """A person's label of an iteration; what is None stays as the person's last label has it."""

    iteration: int
    actor: str
    judgement: Judgement = _NOTHING
    note: str | None = None  # at most NOTE_LIMIT bytes of UTF-8, "" for none

    def problem(self) -> str:
        """Return why it cannot be written; "" when it can."""
        if not self.actor.strip():
            return "a label needs the name of the person who gives it"
        if _CONTROL.search(self.actor):
            return (
                f"the name {cut(printable(self.actor), 60)} has a control character or is no UTF-8"
            )
        if len(self.actor.encode()) > ACTOR_LIMIT:
            return f"the name has more than {ACTOR_LIMIT} bytes"
        if self.judgement.is_empty and self.note is None:
            return "it says nothing: give a value or a note"
        if self.note is not None and _NOT_TEXT.search(self.note):
            return "the note has a control character or is no UTF-8"
        if self.note is not None and (size := len(self.note.encode())) > NOTE_LIMIT:
            return f"the note has {size} bytes of UTF-8; at most {NOTE_LIMIT} fit"
        return ""


def add_labels(log_dir: Path, labels: Sequence[NewLabel]) -> list[Path]:
    """Write labels, all of them or none, and return the files, each once; InputError, WriteError."""
    for label in labels:
        if problem := label.problem():
            raise InputError(f"iteration {label.iteration}: {problem}")
    with exclusive_lock(log_dir):
        before: dict[Path, bytes | None] = {}
        after: dict[Path, bytes] = {}
        for label in labels:
            path = log_dir / label_file_name(label.iteration)
            if path not in before:
                before[path] = None
                with contextlib.suppress(FileNotFoundError):
                    if path.is_symlink() and not is_inside(path, log_dir):
                        raise InputError(
                            f"{path}: is a link to a file elsewhere; nothing is added to it"
                        )
                    before[path] = read_file(path, FILE_LIMIT)
            after[path] = _with_label(path, after.get(path, before[path]), label)
        try:
            write_together(list(after.items()))
        except WriteError:
            for path, content in before.items():  # as well as the disk lets us
                with contextlib.suppress(OSError):
                    if content is None:
                        path.unlink(missing_ok=True)
                    else:
                        write_together([(path, content)])
            raise
    return list(before)


def _with_label(path: Path, before: bytes | None, label: NewLabel) -> bytes:
    yaml, known = round_trip(before or b"", rb"labels"), tuple[LabelRecord, ...]()
    if before is None:
        tree = CommentedMap(iteration=label.iteration, schema_version=Quoted(SCHEMA_VERSION))
    else:
        facts = labels_in(before, path, label.iteration)
        if facts.problem:
            raise InputError(f"{path.parent / facts.problem}; nothing is added to it")
        known, tree = facts.labels or (), kept_tree(yaml, before, path)
    if not isinstance(tree.get("labels"), CommentedSeq):
        tree["labels"] = CommentedSeq()
    if not tree["labels"]:
        tree["labels"].fa.set_block_style()
    mine = [other for other in known if other.actor == label.actor]
    if mine and all(other.role == READONLY for other in mine):
        raise InputError(
            f"{path}: {printable(label.actor)} has the role {READONLY} there and cannot label"
        )
    changed = _put(label, next(iter(latest_labels(mine)), None), tree["labels"])
    data = dumped(yaml, tree, before or b"")
    if len(data) > FILE_LIMIT:
        raise InputError(
            f"{path}: would be larger than {FILE_LIMIT >> 20} MiB; nothing is added to it"
        )
    others = [
        other
        for other in labels_in(data, path, label.iteration).labels or ()
        if other.position != changed
    ]
    if others != [other for other in known if other.position != changed]:
        raise InputError(
            f"{path}: its labels share parts by aliases; nothing is added to it, edit it by hand"
        )
    return data


def _put(label: NewLabel, last: LabelRecord | None, nodes: CommentedSeq) -> int:
    now = (
        datetime.datetime.now(datetime.UTC)
        .isoformat(timespec="milliseconds")
        .replace("+00:00", "Z")
    )
    role = last.role if last else REVIEWER
    items = [
        node for node in nodes if not (isinstance(node, AsWritten) and node.is_null)
    ]  # readers count no null
    if last:
        item, updated = items[last.position], now
        if last.updated is not None and last.updated > (
            timestamp_ns(now) or 0
        ):  # a clock that is behind
            updated = last.updated_at
        item["role"], item["updated_at"] = role, Quoted(updated)
    else:
        item = CommentedMap(
            id=Quoted(str(uuid.uuid4())), iteration=label.iteration, actor=Quoted(label.actor)
        )
        item |= {"role": role, "schema_version": Quoted(SCHEMA_VERSION), "created_at": Quoted(now)}
        item["updated_at"] = Quoted(now)
        nodes.append(item)
    if not isinstance(item.get("history"), CommentedSeq):
        item["history"] = CommentedSeq()
    item["history"].append(_edit(label, last, role, now))
    return last.position if last else len(items)


def _edit(label: NewLabel, last: LabelRecord | None, role: str, now: str) -> CommentedMap:
    earlier = last.latest if last else None
    note = label.note if label.note is not None else earlier.note if earlier else ""
    values = zip(label.judgement, earlier.judgement if earlier else _NOTHING, strict=True)
    given = dict(zip(("correctness", "scope_judgement", "hallucination"), values, strict=True))
    edit = CommentedMap(actor=Quoted(label.actor), role=role, timestamp=Quoted(now))
    if note:
        edit["free_text"] = Quoted(note)
    edit["structured"] = CommentedMap(
        (name, old if new is None else new)
        for name, (new, old) in given.items()
        if (new, old) != (None, None)
    )
    return edit
