"""Reads JSON objects, a line each or in a document, as events; long, as all that such readers share is in it."""

import json
import os
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from scoring.evidence.commands.objective_flags import command_flags
from scoring.evidence.commands.testruns import TestTools
from scoring.evidence.harnesses.fields import id_in, items_in, member, text_in
from scoring.evidence.harnesses.harness import (
    HASHED_FOLDER,
    MODEL_LIMIT,
    NO_TIME,
    SPELLED_FOLDER,
    UNKNOWN_KIND,
    JsonReader,
)
from scoring.evidence.harnesses.lines import DOCUMENT_LIMIT
from scoring.evidence.transcripts.observing import AddedLines, Observations
from scoring.evidence.transcripts.rows import (
    CALL,
    RESPONSE,
    STATED,
    VERDICT,
    LineSpan,
    Rows,
    key_of,
)
from scoring.evidence.transcripts.tally import NOT_STATED, OUTPUT_ALONE, READS_IN_INPUT
from scoring.evidence.transcripts.written import lines_added, lines_patched, paths_patched
from scoring.files import READ_PLAIN, refuse_special

PLACE = "$place"  # the key of a line that :func:`lines_behind` puts in front
_MOST_KINDS = 40  # of unknown kinds, how many names are kept
_LINE_LIMIT = 16 << 20  # bytes of a line; what is behind them is no JSON


class EventReader(JsonReader):
    """Reads JSON objects; of each, :meth:`entry` says what happened, and nothing else.

    It notes in :attr:`where` what holds from now on, begins each event with :meth:`event`, and says what is in it with
    the other methods. A method that takes the id of a call takes any value: what is no text is no id.
    """

    decoder = msgspec.json.Decoder(dict[str, Any])
    in_documents = (
        False  # whether one line holds several events, which then are numbered in their order
    )
    opens = True  # whether the file begins where its session does

    def __init__(self, tools: TestTools | None) -> None:
        super().__init__()
        self.seen = Observations(tools)
        self.where = LineSpan()  # of what is read now
        self.messages: list[
            int
        ] = []  # in documents, which checkpoints count in these: the first event of each
        self._spans: dict[LineSpan, int] = {}
        self._covers: list[list[int]] = []
        self._at = -1, -1  # the span and the number of the event
        self.shown: Any = None  # what the place of a store shows; see :func:`lines_behind`
        self.version: object = (
            None  # of the harness, or of its format, which names a line of an unknown kind too
        )
        self._ahead = 0  # how many lines in front are no lines of the file

    @property
    def events(self) -> int:
        """In documents, the number of the next event."""
        return self._at[1] + 1

    @property
    def folder(self) -> str:
        """The folder of what is read now; "" where it has no path."""
        return "" if self.where.cwd.startswith((HASHED_FOLDER, SPELLED_FOLDER)) else self.where.cwd

    def entry(self, line: dict[str, Any]) -> None:
        """Say what a line, or a document, holds; it is well-formed JSON, and anything in it may be of another type."""
        raise NotImplementedError

    def take(self, lines: Sequence[dict[str, Any]]) -> list[int]:
        """Take some lines; one that :func:`lines_behind` puts in front has no number."""
        for position, line in enumerate(lines):
            self.place = self.number + position - self._ahead
            if self.place == 0 and PLACE in line:
                self.shown, self._ahead = line[PLACE], 1
            else:
                self.entry(line)
        return []

    def event(self, time: int | None, *identity: object) -> bool:
        """Begin an event at a time in ns, with a key made of ``identity``; return whether it counts."""
        if time is None:
            self.skip(NO_TIME)
            return False
        span = self._spans.setdefault(self.where, len(self._spans))
        if span == len(self._covers):
            self._covers.append([])
        number = self._at[1] + 1 if self.in_documents else self.place
        if self._at != (span, number):
            self._covers[span].append(number)
        self._at = span, number
        self.seen.line(span, number, time, key_of("\0".join(map(str, identity))))
        return True

    def unknown(self, kind: object) -> None:
        """Count a line, or a part of one, of a kind that this reader does not know, and name the kind."""
        reason = f"{UNKNOWN_KIND}{_plain(kind)}" + (
            f", version {_plain(self.version)}" if self.version else ""
        )
        known = reason in self.skipped or len(self.skipped) < _MOST_KINDS
        self.skip(reason if known else f"{UNKNOWN_KIND}others")

    def prompt(self, text: str) -> None:
        """Note a prompt of a person; what is written in the name of one is only :meth:`Observations.asked`."""
        self.seen.asked()
        if not self.where.agent:
            self.seen.prompt(text)

    def response(
        self,
        name: str = "",
        output: int | None = None,
        given: int | None = None,
        reads: int | None = None,
        writes: int | None = None,
    ) -> None:
        """Note a response of a model, with tokens where ``output`` (with reasoning) is stated, maybe alone.

        ``given`` were neither read from the cache nor written to it; where none was, all counts as written.
        """
        self.seen.responds(name or f"at {self._at[1]}")
        if output is None:
            tokens = NOT_STATED, 0, 0, 0, 0
        elif given is None:
            tokens = output, 0, 0, 0, OUTPUT_ALONE
        elif writes:
            tokens = output, given, reads or 0, writes, 0
        else:
            tokens = output, given + (reads or 0), reads or 0, given, READS_IN_INPUT
        self.tables[RESPONSE].append((*self._at, 0, 0, int(self.where.agent), 1, *tokens))

    def totals(self, since: int, output: int, given: int, reads: int, writes: int) -> None:
        """Note the tokens of all responses from the event of number ``since`` on that do not state theirs."""
        self.tables[STATED].append((*self._at, since, output, given, reads, writes))

    def command(self, call: object, text: str, folder: str = "") -> None:
        """Note a call that runs shell commands; see :meth:`Observations.command`."""
        self._called(self.seen.command(_id(call), text, folder or self.folder), command_flags(text))

    def edit(
        self, call: object, paths: Iterable[str], lines: AddedLines, whole: bool = False
    ) -> None:
        """Note a call of a tool that edits files; see :meth:`Observations.edit`."""
        self._called(self.seen.edit(_id(call), paths, self.folder, lines, whole))

    def call(self, call: object, question: bool = False, agent: bool = False) -> None:
        """Note a call of any other tool, which may only ask the user, or start a sub-agent."""
        self._called(self.seen.call(_id(call), question, agent))

    def result(self, call: object, failed: bool | None, text: str) -> None:
        """Note how a call ended (None: not stated), and what it printed."""
        key = self.seen.result(_id(call), failed, lambda: text)
        if failed is not None:
            self.tables[VERDICT].append((*self._at, key, int(failed)))

    def refused(self, call: object, reason: str = "") -> None:
        """Note that the user refused a call, and why: it is no call, and refusing it is a correction."""
        self.seen.refused(_id(call), reason)

    def rows(self) -> Rows:
        """Return what was read; calls that the user refused are none."""
        refused = self.seen.refused_calls - {0}
        for kind in (CALL, VERDICT) if refused else ():
            self.tables[kind] = [row for row in self.tables[kind] if row[2] not in refused]
        tables = {kind: found for kind, found in self.tables.items() if found}
        spans = [span._replace(model=span.model[:MODEL_LIMIT]) for span in self._spans]
        rows = Rows(spans, self._covers, tables, self.skipped, messages=self.messages)
        return self.seen.fill(rows, self.opens)

    def _called(self, key: int, flags: int = 0) -> None:
        self.tables[CALL].append((*self._at, key, flags))


def identity(name: object, *others: object) -> Sequence[object]:
    """Return of what the key of an event is made: its id, and only where there is none, or it is hidden, the others."""
    return (name,) if _id(name) else others


def _plain(value: object) -> str:
    """Return a short text or a number as it is; of anything else the name of its type."""
    text = str(value) if type(value) in (str, int) else ""
    return text[:40] if text and text.isascii() and text.isprintable() else type(value).__name__


def _id(call: object) -> str | None:
    return id_in(call) or None


# What calls of tools ask for, and what shells answer. No name of an argument has two meanings.

_COMMANDS = "command", "cmd"
_FOLDERS = "cwd", "workdir", "dir_path", "directory"
_PATHS = "file_path", "path", "filePath", "notebook_path"
_WHOLE = "content", "contents", "file_text"
_OLD = "old_string", "old_str", "oldString", "oldText"
_NEW = "new_string", "new_str", "newString", "newText", "new_source"
_PATCHES = "input", "patch", "patchText"


class ToolNames:
    """The names of the tools of a harness that do something which is looked at; of all others only the call counts."""

    def __init__(
        self, shells: str, edits: str, patches: str = "", questions: str = "", agents: str = ""
    ) -> None:
        """Take the names of each kind in one text, with blanks between them."""
        self.shells, self.edits, self.patches = names(shells), names(edits), names(patches)
        self.questions, self.agents = names(questions), names(agents)


def names(words: str) -> frozenset[str]:
    """Return the names in a text."""
    return frozenset(words.split())


def note_call(
    reader: EventReader, tools: ToolNames, call: object, name: object, given: object
) -> None:
    """Note a call of a tool, as its name and its arguments say what it does."""
    name = text_in(name)
    if name in tools.shells:
        reader.command(call, script_of(_first(given, _COMMANDS)), text_in(_first(given, _FOLDERS)))
    elif name in tools.patches:
        patch = given if isinstance(given, str) else text_in(_first(given, _PATCHES))
        reader.edit(call, paths_patched(patch), lines_patched(patch))
    elif name in tools.edits:
        path, whole = text_in(_first(given, _PATHS)), _first(given, _WHOLE)
        if whole is None:
            parts = items_in(given, "edits") or [given]
            lines = (
                lines_added(text_in(_first(part, _NEW)), text_in(_first(part, _OLD)))
                for part in parts
            )
            reader.edit(call, (path,), {path: tuple(line for part in lines for line in part)})
        else:
            reader.edit(call, (path,), {path: lines_added(text_in(whole))}, True)
    else:
        reader.call(call, name in tools.questions, name in tools.agents)


def note_calls(reader: EventReader, tools: ToolNames, parts: Iterable[object]) -> None:
    """Note the calls among the parts of a message."""
    for part in parts:
        if isinstance(part, dict) and part.get("type") == "tool_use":
            note_call(reader, tools, part.get("id"), part.get("name"), part.get("input"))


def _first(given: object, of: Iterable[str]) -> Any:
    return next((value for key in of if (value := member(given, key)) is not None), None)


def script_of(asked: object) -> str:
    """Return what a shell is asked to run, which may be a text or the words of a command."""
    if not isinstance(asked, list):
        return text_in(asked)
    words = [word for word in asked if isinstance(word, str)]
    return words[2] if len(words) == 3 and words[1] in ("-lc", "-c") else shlex.join(words)


_EXIT, _OUTPUT = "\nExit Code: ", "\nOutput: "
_BEHIND = "Signal: ", "Background PIDs: ", "Process Group PGID: "


def shell_answer(text: str) -> tuple[str, bool | None]:
    """Return what ``run_shell_command`` printed, and whether it failed; None while it still runs."""
    if text.startswith("Command moved to background"):
        return "", None
    body, found, rest = text.rpartition(_EXIT)
    code, *behind = rest.split("\n")
    if not found or not all(line.startswith(_BEHIND) for line in behind if line):
        body, code = text, "0"
    _, headed, printed = f"\n{body}".partition(_OUTPUT)
    code = code.strip()
    return printed if headed else text, code.lstrip("-").isdecimal() and code.strip("-0") != ""


def lines_behind(said: Mapping[str, Any], path: Path) -> Iterator[bytes]:
    """Yield the lines of a file behind one that says what its place shows (raises OSError: it cannot be read)."""
    refuse_special(path)
    yield json.dumps({PLACE: said}).encode()
    with open(os.open(path, READ_PLAIN), "rb") as file:
        while line := file.readline(_LINE_LIMIT):
            yield line


def document_of(path: Path) -> Iterator[bytes]:
    """Yield a document as one line, for a store that holds some (raises OSError: it cannot be read)."""
    refuse_special(path)
    with open(os.open(path, READ_PLAIN), "rb") as file:
        yield file.read(DOCUMENT_LIMIT + 1)
