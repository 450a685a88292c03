"""What people said of an iteration: ``iter-N.labels.yaml`` (``docs/LOG.md``, "Labels").

It is read leniently: what one label says wrong costs that label or value, and a note says so.
"""

from collections.abc import Collection
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from scoring.errors import InputError, YamlError
from scoring.evidence.entry_files import label_file_name
from scoring.evidence.transcripts.facts import timestamp_ns
from scoring.files import read_file
from scoring.text import cut, printable
from scoring.yamlnodes import FLOAT, INT, STR, Node, resolve
from scoring.yamlread import Reader, Take, items_of, parse

MAJOR = "1"
"""The major schema version that is read."""

SCHEMA_VERSION = "1.0.0"
"""The schema version that is written."""

# The values of each judgment, the worst first.
CORRECTNESS = (0, 1, 2, 3)
SCOPES = ("breach", "partial", "on-target")
HALLUCINATIONS = ("major", "minor", "none")

REVIEWER = "reviewer"
ADMIN = "admin"
READONLY = "readonly"
ROLES = (REVIEWER, ADMIN, READONLY)

_MOST_NOTES = 20
"""How many notes are kept of one file: a hostile one could give any number."""

_LONGEST_NUMBER = 20
_SHOWN_WIDTH = 40


class Judgement(NamedTuple):
    """What a person thought of an iteration, or None where it was not given."""

    correctness: int | None = None
    scope: str | None = None
    hallucination: str | None = None

    @property
    def is_empty(self) -> bool:
        """Whether nothing was given."""
        return self == Judgement()


class LabelEdit(NamedTuple):
    """One entry of a label's history.

    Attributes:
        judgement: what the person thought.
        role: the role that the person had.
        note: free text; "" for none.
        timestamp: when it was made, as it is written.
    """

    judgement: Judgement
    role: str = REVIEWER
    note: str = ""
    timestamp: str = ""


@dataclass(frozen=True, slots=True)
class LabelRecord:
    """The label of one person.

    Attributes:
        position: where it is in the file, from 0.
        actor: the name of the person.
        overrides: whether it replaces the labels of others.
        updated: when it was last edited, in ns since 1970; None where that is no time.
        history: its edits, oldest first.
        updated_at: when it was last edited, as it is written.
    """

    position: int
    id: str
    actor: str
    role: str
    overrides: bool
    updated: int | None
    history: tuple[LabelEdit, ...]
    updated_at: str = field(default="", compare=False)

    @property
    def latest(self) -> LabelEdit | None:
        """The last edit by a person who may edit, if there is one."""
        for edit in reversed(self.history):
            if edit.role != READONLY:
                return edit
        return None


class LabelFacts(NamedTuple):
    """The labels of an iteration.

    Attributes:
        path: the file, whether it exists or not.
        labels: in the order of the file; None without a file that can be read.
        problem: why the file cannot be read.
        notes: what of the file was passed over.
    """

    path: Path
    labels: tuple[LabelRecord, ...] | None
    problem: str = ""
    notes: tuple[str, ...] = ()


def label_facts(log_dir: Path | str, iteration: int) -> LabelFacts:
    """Read the labels of an iteration. Never raises."""
    path = Path(log_dir) / label_file_name(iteration)
    try:
        data = read_file(path, within=path.parent)
    except FileNotFoundError:
        return LabelFacts(path, None)
    except InputError as e:
        return LabelFacts(path, None, str(e).replace(str(path), path.name))
    return labels_in(data, path, iteration)


def labels_in(data: bytes, path: Path, iteration: int) -> LabelFacts:
    """Read the content of a file of labels. Never raises.

    Args:
        data: the content.
        path: names the file.
        iteration: the number of the entry that it should be of.
    """
    reading = _LabelReading(iteration)
    shape: dict[str, Take] = {
        "iteration": Reader.integer,
        "schema_version": Reader.string,
        "labels": reading.labels,
    }
    content: dict[str, Any] = {}
    try:
        node = parse(data)
        if node is not None:
            content = Reader().struct(node, shape)
    except YamlError as e:
        return LabelFacts(path, None, f"{path.name}: {e}")

    version = content.get("schema_version", "")
    if not version:
        return LabelFacts(path, None, f"{path.name}: has no schema_version; {MAJOR}.x is read")
    if not _is_readable(version):
        problem = f"has schema version {_shown(version)}; {MAJOR}.x is read"
        return LabelFacts(path, None, f"{path.name}: {problem}")
    if content.get("iteration", iteration) != iteration:
        return LabelFacts(path, None, f"{path.name}: is of iteration {content['iteration']}")

    return LabelFacts(path, tuple(content.get("labels", ())), notes=tuple(reading.notes))


def _is_readable(version: str) -> bool:
    return version.partition(".")[0] == MAJOR


def _shown(text: str) -> str:
    return cut(printable(text), _SHOWN_WIDTH)


_LABEL: dict[str, Take] = {
    "id": Reader.string,
    "actor": Reader.string,
    "role": Reader.string,
    "schema_version": Reader.string,
    "updated_at": Reader.string,
    "iteration": Reader.integer,
    "admin_override": Reader.boolean,
}
_EDIT: dict[str, Take] = dict.fromkeys(("role", "free_text", "timestamp"), Reader.string)
_STRUCTURED: dict[str, Take] = dict.fromkeys(("scope_judgement", "hallucination"), Reader.string)


class _LabelReading:
    """Takes the labels of one file, and notes what it passes over."""

    def __init__(self, iteration: int) -> None:
        self.iteration = iteration
        self.notes: list[str] = []
        self._position = -1

    def labels(self, reader: Reader, node: Node) -> list[LabelRecord]:
        """Take the list of labels."""
        labels = reader.items(node, self._label)
        return [label for label in labels if label is not None]

    def _note(self, text: str) -> None:
        if len(self.notes) < _MOST_NOTES:
            self.notes.append(text)

    def _label(self, reader: Reader, node: Node) -> LabelRecord | None:
        """Take one label, or None for one that is left out."""
        self._position += 1
        try:
            fields = reader.struct(node, {**_LABEL, "history": items_of(self._edit)})
        except YamlError as e:
            self._note(f"{e}; this label is left out")
            return None

        problem = self._problem(fields)
        if problem:
            self._note(f"line {node.line}: {problem}; this label is left out")
            return None

        # The notes are in this order.
        updated = self._update_time(fields, node)
        role = self._known_word(node, "role", fields.get("role", ""), ROLES) or REVIEWER
        return LabelRecord(
            position=self._position,
            id=fields.get("id", ""),
            actor=fields["actor"],
            role=role,
            overrides=self._overrides(fields, role, node),
            updated=updated,
            history=tuple(fields.get("history", ())),
            updated_at=fields.get("updated_at", ""),
        )

    def _problem(self, fields: dict[str, Any]) -> str:
        """Return why a label is left out, or "" when it is not."""
        if not fields.get("actor"):
            return "no actor"

        version = fields.get("schema_version", "")
        if version and not _is_readable(version):
            return f"schema version {_shown(version)}, and {MAJOR}.x is read"
        if fields.get("iteration", self.iteration) != self.iteration:
            return f"it is of iteration {fields['iteration']}"
        return ""

    def _update_time(self, fields: dict[str, Any], node: Node) -> int | None:
        stamp = fields.get("updated_at", "")
        updated = timestamp_ns(stamp.replace(" ", "T", 1)) if stamp else None
        if updated is None:
            self._note(f"line {node.line}: updated_at is no time; any label that has one is later")
        return updated

    def _overrides(self, fields: dict[str, Any], role: str, node: Node) -> bool:
        if not fields.get("admin_override", False):
            return False
        if role == READONLY:
            note = "admin_override with the role readonly; it overrides nothing"
            self._note(f"line {node.line}: {note}")
            return False
        return True

    def _edit(self, reader: Reader, node: Node) -> LabelEdit:
        fields = reader.struct(node, {**_EDIT, "structured": self._judgement})
        return LabelEdit(
            judgement=fields.get("structured", Judgement()),
            role=self._known_word(node, "role", fields.get("role", ""), ROLES) or REVIEWER,
            note=fields.get("free_text", ""),
            timestamp=fields.get("timestamp", ""),
        )

    def _judgement(self, reader: Reader, node: Node) -> Judgement:
        fields = reader.struct(node, {**_STRUCTURED, "correctness": self._correctness})
        scope = fields.get("scope_judgement", "").replace("_", "-")
        hallucination = fields.get("hallucination", "").replace("_", "-")
        return Judgement(
            correctness=fields.get("correctness"),
            scope=self._known_word(node, "scope_judgement", scope, SCOPES),
            hallucination=self._known_word(node, "hallucination", hallucination, HALLUCINATIONS),
        )

    def _correctness(self, reader: Reader, node: Node) -> int | None:
        text = "" if reader.is_null(node) else reader.string(node).strip()
        if not text:
            return None

        tag = STR
        value: Any = text
        if len(text) <= _LONGEST_NUMBER:
            tag, value = resolve(text)
        if tag in (INT, FLOAT) and value in CORRECTNESS:
            return int(value)

        problem = f"correctness is {_shown(text)}, not 0 to 3"
        self._note(f"line {node.line}: {problem}; it counts as not given")
        return None

    def _known_word(
        self,
        node: Node,
        name: str,
        word: str,
        known: Collection[str],
    ) -> str | None:
        """Return a word that is known.

        None, with a note unless it is empty, for another.
        """
        if word in known:
            return word
        if word:
            problem = f"{name} {_shown(word)} is unknown"
            self._note(f"line {node.line}: {problem}; it counts as not given")
        return None
