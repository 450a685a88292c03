"""What people said of an iteration: ``iter-N.labels.yaml`` beside its entry (``docs/LOG.md``, "Labels").

Read leniently: what one label says wrong costs that label or value, and a note says so.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from scoring.errors import InputError, YamlError
from scoring.evidence.beside import label_file_name
from scoring.evidence.transcripts.facts import timestamp_ns
from scoring.files import read_file
from scoring.text import cut, printable
from scoring.yamlnodes import FLOAT, INT, STR, Node, resolve
from scoring.yamlread import Reader, Take, items_of, parse

MAJOR = "1"  # the major schema version that is read
SCHEMA_VERSION = "1.0.0"  # what is written

CORRECTNESS = (0, 1, 2, 3)
SCOPES = ("breach", "partial", "on-target")
HALLUCINATIONS = ("major", "minor", "none")  # the values of each judgement, the worst first

REVIEWER, ADMIN, READONLY = ROLES = ("reviewer", "admin", "readonly")

_MOST_NOTES = 20  # that are kept of one file: a hostile one could give any number
_LONGEST_NUMBER = 20


class Judgement(NamedTuple):
    """What a person thought of an iteration; None where it was not given."""

    correctness: int | None = None
    scope: str | None = None
    hallucination: str | None = None

    @property
    def is_empty(self) -> bool:
        """Whether nothing was given."""
        return self == Judgement()


class LabelEdit(NamedTuple):
    """One entry of a label's history. ``note`` is free text, "" for none; ``timestamp`` is as written."""

    judgement: Judgement
    role: str = REVIEWER
    note: str = ""
    timestamp: str = ""


@dataclass(frozen=True, slots=True)
class LabelRecord:
    """The label of one person, its history oldest first; ``position`` in the file, ``updated`` in ns since 1970."""

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
        """The last edit by a person who may edit; None when there is none."""
        return next((edit for edit in reversed(self.history) if edit.role != READONLY), None)


class LabelFacts(NamedTuple):
    """The labels of an iteration in file order, and the file; ``labels`` is None without a file, or for a ``problem``.

    ``notes`` say what of it was passed over.
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
    """Read the content of a file of labels; ``path`` is only named. Never raises."""
    reading = _Reading(iteration)
    try:
        node = parse(data)
        content = {} if node is None else Reader().struct(node, {**_HEAD, "labels": reading.labels})
    except YamlError as e:
        return LabelFacts(path, None, f"{path.name}: {e}")
    version = content.get("schema_version", "")
    if not _is_readable(version):
        said = f"has schema version {_shown(version)}" if version else "has no schema_version"
        return LabelFacts(path, None, f"{path.name}: {said}; {MAJOR}.x is read")
    if content.get("iteration", iteration) != iteration:
        return LabelFacts(path, None, f"{path.name}: is of iteration {content['iteration']}")
    return LabelFacts(path, tuple(content.get("labels", ())), notes=tuple(reading.notes))


def _is_readable(version: str) -> bool:
    return version.partition(".")[0] == MAJOR


def _shown(text: str) -> str:
    return cut(printable(text), 40)


class _Reading:
    """Takes the labels of one file, and notes what it passes over."""

    def __init__(self, iteration: int) -> None:
        self.iteration = iteration
        self.notes: list[str] = []
        self._position = -1

    def labels(self, reader: Reader, node: Node) -> list[LabelRecord]:
        return [label for label in reader.items(node, self._label) if label is not None]

    def _note(self, text: str) -> None:
        if len(self.notes) < _MOST_NOTES:
            self.notes.append(text)

    def _label(self, reader: Reader, node: Node) -> LabelRecord | None:
        self._position += 1
        try:
            given = reader.struct(node, {**_LABEL, "history": items_of(self._edit)})
        except YamlError as e:
            self._note(f"{e}; this label is left out")
            return None
        if why := self._why_not(given):
            self._note(f"line {node.line}: {why}; this label is left out")
            return None
        stamp = given.get("updated_at", "")
        if (updated := timestamp_ns(stamp.replace(" ", "T", 1)) if stamp else None) is None:
            self._note(f"line {node.line}: updated_at is no time; any label that has one is later")
        role = self._word(node, "role", given.get("role", ""), ROLES) or REVIEWER
        overrides = given.get("admin_override", False) and role != READONLY
        if given.get("admin_override") and not overrides:
            self._note(
                f"line {node.line}: admin_override with the role readonly; it overrides nothing"
            )
        history = tuple(given.get("history", ()))
        return LabelRecord(
            self._position,
            given.get("id", ""),
            given["actor"],
            role,
            overrides,
            updated,
            history,
            stamp,
        )

    def _why_not(self, given: dict[str, Any]) -> str:
        if not given.get("actor"):
            return "no actor"
        version = given.get("schema_version", "")
        if version and not _is_readable(version):
            return f"schema version {_shown(version)}, and {MAJOR}.x is read"
        if given.get("iteration", self.iteration) != self.iteration:
            return f"it is of iteration {given['iteration']}"
        return ""

    def _edit(self, reader: Reader, node: Node) -> LabelEdit:
        given = reader.struct(node, {**_EDIT, "structured": self._judgement})
        role = self._word(node, "role", given.get("role", ""), ROLES) or REVIEWER
        judgement = given.get("structured", Judgement())
        return LabelEdit(judgement, role, given.get("free_text", ""), given.get("timestamp", ""))

    def _judgement(self, reader: Reader, node: Node) -> Judgement:
        given = reader.struct(node, {**_STRUCTURED, "correctness": self._correctness})
        words = {name: given.get(name, "").replace("_", "-") for name in _STRUCTURED}
        return Judgement(
            given.get("correctness"),
            self._word(node, "scope_judgement", words["scope_judgement"], SCOPES),
            self._word(node, "hallucination", words["hallucination"], HALLUCINATIONS),
        )

    def _correctness(self, reader: Reader, node: Node) -> int | None:
        text = "" if reader.is_null(node) else reader.string(node).strip()
        if not text:
            return None
        tag, value = resolve(text) if len(text) <= _LONGEST_NUMBER else (STR, text)
        if tag in (INT, FLOAT) and value in CORRECTNESS:
            return int(value)
        self._note(
            f"line {node.line}: correctness is {_shown(text)}, not 0 to 3; it counts as not given"
        )
        return None

    def _word(self, node: Node, name: str, word: str, known: Iterable[str]) -> str | None:
        if word in known:
            return word
        if word:
            self._note(
                f"line {node.line}: {name} {_shown(word)} is unknown; it counts as not given"
            )
        return None


_HEAD: dict[str, Take] = {"iteration": Reader.integer, "schema_version": Reader.string}
_LABEL: dict[str, Take] = {
    **dict.fromkeys(("id", "actor", "role", "schema_version", "updated_at"), Reader.string),
    "iteration": Reader.integer,
    "admin_override": Reader.boolean,
}
_EDIT: dict[str, Take] = dict.fromkeys(("role", "free_text", "timestamp"), Reader.string)
_STRUCTURED: dict[str, Take] = dict.fromkeys(("scope_judgement", "hallucination"), Reader.string)
