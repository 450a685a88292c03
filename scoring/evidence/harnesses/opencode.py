"""OpenCode and Kilo: where their sessions are, and what one says (``docs/EVIDENCE.md``)."""

import contextlib
import errno
import shutil
import sqlite3
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from scoring.evidence.harnesses.event_reader import EventReader
from scoring.evidence.harnesses.fields import (
    BROKEN,
    count_in,
    id_in,
    items_in,
    member,
    milliseconds,
    text_in,
    value_in,
    value_of,
)
from scoring.evidence.harnesses.harness import OTHER_TYPE, FileNames, Harness, Home
from scoring.evidence.harnesses.lines import DOCUMENT_LIMIT
from scoring.evidence.harnesses.tool_calls import ToolNames, names, note_call
from scoring.evidence.transcripts.events import LineSpan
from scoring.temporary import temporary_directory

TOOLS = ToolNames(
    "bash", "edit write multiedit", "apply_patch patch", "question plan_enter plan_exit", "task"
)
_PARTS = names(
    "text reasoning file tool step-start step-finish snapshot patch agent retry compaction subtask"
)
_REFUSED = (
    "The user rejected permission to use this specific tool call",
    "The user dismissed this question",
)
_ABORTED = "Tool execution aborted"
_OF_THE_USER = "The following tool was executed by the user"  # before a response that only holds a command of his
_PATIENCE = 2.0  # seconds to wait for a database that is locked
_QUERY = "SELECT {}, CAST(data AS BLOB) FROM {} WHERE session_id = ? ORDER BY {}"
_NEWER = (
    "session_v2"  # the table that only newer versions have, and the key of a line that names it
)


class OpenCodeReader(EventReader):
    """Reads sessions. A message is an event when it begins, and each of its calls is one when it ended."""

    in_documents = True
    _home = LineSpan()
    _reverted = ""  # the id of the first message that the user took back
    _taken_back = _compacting = _by_user = False

    def entry(self, line: dict[str, Any]) -> None:
        """Take a session, the head of one, or the next of its messages."""
        if _NEWER in line:
            self.unknown(f"table {_NEWER}")
        elif "messages" not in line:
            self._take(line)
        else:
            info = member(line, "info")
            parent, revert = (
                member(info, "parentID") or member(info, "parent_id"),
                member(info, "revert"),
            )
            folder, self.version = text_in(info, "directory"), member(info, "version")
            self._home = LineSpan(
                folder, id_in(info, "id"), parent=id_in(parent), agent=bool(parent)
            )
            self._reverted = text_in(
                value_of(revert.encode()) if isinstance(revert, str) else revert, "messageID"
            )
            self._taken_back = self._compacting = self._by_user = False
            for message in items_in(line, "messages"):
                self._take(message)

    def _take(self, message: Any) -> None:
        self.messages.append(self.next_event)
        info, parts = (
            member(message, "info"),
            [part for part in items_in(message, "parts") if isinstance(part, dict)],
        )
        for part in parts:
            if text_in(part, "type") not in _PARTS:
                self.unknown(part.get("type"))
        if not isinstance(info, dict) or len(parts) < len(items_in(message, "parts")):
            self.skip(OTHER_TYPE)
        if not isinstance(info, dict):
            return
        self._taken_back |= bool(self._reverted) and self._reverted in (
            info.get("id"),
            message.get("id"),
        )
        begun, self.where = milliseconds(member(info, "time", "created")), self._home
        text = text_in(
            [part for part in parts if part.get("type") == "text" and not part.get("synthetic")]
        )
        if info.get("role") == "user":
            self._asked(begun, parts, text)
        elif info.get("role") == "assistant":
            self._answered(begun, info, parts, text)
        else:
            self.unknown(info.get("role"))

    def _asked(self, begun: int | None, parts: Sequence[dict[str, Any]], text: str) -> None:
        self._compacting = any(part.get("type") == "compaction" for part in parts)
        others = (text_in(part, "text") for part in parts if part.get("synthetic"))
        self._by_user = any(other.startswith(_OF_THE_USER) for other in others)
        if self.event(begun, "user", begun):
            if self._compacting:
                self.seen.compacted()
            self.prompt(text) if text and not self._taken_back else self.seen.asked()

    def _answered(
        self, begun: int | None, info: dict[str, Any], parts: Sequence[dict[str, Any]], text: str
    ) -> None:
        folder = text_in(info, "path", "cwd") or self._home.cwd
        self.where = self._home._replace(cwd=folder, model=text_in(info, "modelID"))
        steps = [part.get("tokens") for part in parts if part.get("type") == "step-finish"]
        spent = [
            one
            for one in map(_spent, steps if len(steps) > 1 else [info.get("tokens")])
            if any(one)
        ]
        if self._by_user or not self.event(begun, "assistant", begun, *spent):
            return
        self.seen.responds(f"at {begun}")
        self.seen.said(text)
        for tokens in spent:
            self.response(f"at {begun}", *tokens)
        if info.get("summary") is True and not self._compacting:
            self.seen.compacted()
        alike = Counter[str]()
        for part in parts:
            if part.get("type") == "tool":
                alike[
                    call := f"{begun} {member(part, 'state', 'time', 'start')} {part.get('tool')}"
                ] += 1
                self._call(part, f"{call} {alike[call]}", begun)
        ended, stopped = (
            milliseconds(member(info, "time", "completed")),
            member(info, "error", "name"),
        )
        # What stops a sub-agent is the stop of the session that started it.
        if (
            stopped == "MessageAbortedError"
            and not self._home.agent
            and self.event(ended or begun, "aborted", begun)
        ):
            self.seen.interrupted()

    def _call(self, part: dict[str, Any], call: str, begun: int | None) -> None:
        """Note a call of a message that has begun then, and how it ended."""
        state, tool = part.get("state"), text_in(part, "tool")
        status, error = text_in(state, "status"), text_in(state, "error")
        start, end = (milliseconds(member(state, "time", key)) for key in ("start", "end"))
        if not self.event(end or start or begun, "call", call, status):
            return
        note_call(self, TOOLS, call, tool, member(state, "input"))
        if status == "error" and error.startswith(_REFUSED):
            self.refused(call, error.partition("feedback:")[2])
        elif status == "error":
            self.result(call, None if error.startswith(_ABORTED) else True, error)
        elif status == "completed":
            code = member(state, "metadata", "exit")
            failed = (
                (code != 0 if type(code) is int else None)
                if tool in TOOLS.shells
                else tool == "invalid"
            )
            self.result(call, failed, text_in(state, "output"))


def _spent(tokens: Any) -> tuple[int, int, int, int]:
    """Return output with reasoning, what was given, read and written; ``total`` tells whether output has reasoning."""
    counts = [
        ("input",),
        ("output",),
        ("reasoning",),
        ("cache", "read"),
        ("cache", "write"),
        ("total",),
    ]
    given, output, reasoning, reads, writes, total = (
        count_in(tokens, *name) or 0 for name in counts
    )
    beside = total == given + output + reasoning + reads + writes
    return output + (reasoning if beside else 0), given, reads, writes


class OpenCode(Harness):
    """See :class:`~scoring.evidence.harnesses.harness.Harness`."""

    name = "opencode"
    keys = frozenset(("info", "messages"))  # of the document that ``export`` prints
    files: Sequence[FileNames] = (
        FileNames("*.db", store=True),
        FileNames("ses_*.json", folder="storage/session/*", store=True),
        FileNames("ses_*.json", document=True),
    )
    reader = OpenCodeReader

    def homes(self, environment: Mapping[str, str]) -> list[Home]:
        """Return the folder with the database, and those with the files of older versions."""
        variable = f"{self.name.upper()}_DB"
        shared, named = (environment.get(key, "").strip() for key in ("XDG_DATA_HOME", variable))
        origin = "XDG_DATA_HOME" if shared else f"~/.local/share/{self.name}"
        data = Path(shared or "~/.local/share").expanduser() / self.name
        path = data / Path(named).expanduser() if named else data / self.name
        databases = Home(path.parent, variable if named else origin, path.name, below=False)
        return [
            databases,
            Home(data / "storage" / "session", origin),
            Home(data / "project", origin),
        ]

    def lines_of(self, path: Path) -> Iterator[bytes]:
        """Yield the head of each session, and behind it its messages."""
        for line in _lines_of_files(path) if path.suffix == ".json" else _lines_of_database(path):
            try:
                yield msgspec.json.encode(line)
            except (*BROKEN, OverflowError):
                yield b"null"

    def beside(self, path: Path) -> Sequence[Path]:
        """Return the log of a database, or the files of a session."""
        if path.suffix == ".json":
            return [file for message, parts in _messages(path) for file in (message, *parts)]
        return [Path(f"{path}-wal")]


class Kilo(OpenCode):
    """The same in folders of its own; its exports do not differ. It is before OpenCode, which has wider patterns."""

    name = "kilo"
    files = (
        FileNames("kilo*.db", store=True),
        FileNames("*.db", folder="kilo", store=True),
        FileNames("ses_*.json", folder="kilo/storage/session/*", store=True),
        FileNames("ses_*.json", folder="kilo/project/*/storage/session/*", store=True),
    )


def _messages(session: Path) -> list[tuple[Path, list[Path]]]:
    """Return the files of the messages of a session, each with those of its parts."""
    is_old = session.parent.name == "info"  # up to version 0.5
    root = session.parents[1 if is_old else 2]
    parts = root / "part" / (session.stem if is_old else "")
    messages = sorted((root / "message" / session.stem).glob("*.json"))
    return [(message, sorted((parts / message.stem).glob("*.json"))) for message in messages]


def _lines_of_files(session: Path) -> Iterator[Any]:
    found = [(value_in(path, DOCUMENT_LIMIT), path, parts) for path, parts in _messages(session)]
    yield {"info": value_in(session, DOCUMENT_LIMIT), "messages": []}
    for info, path, parts in sorted(
        found, key=lambda one: milliseconds(member(one[0], "time", "created")) or 0
    ):
        yield {
            "info": info,
            "id": path.stem,
            "parts": [value_in(part, DOCUMENT_LIMIT) for part in parts],
        }


def _lines_of_database(path: Path) -> Iterator[Any]:
    try:
        with _opened(path) as ask:
            tables = {name for (name,) in ask("SELECT name FROM sqlite_master")}
            if not tables & {"session", _NEWER}:  # it is of another program
                return
            sessions = ask("SELECT * FROM session ORDER BY time_created, id")
            for row in sessions.fetchall():
                session = dict(
                    zip((column for column, *_ in sessions.description), row, strict=True)
                )
                own, parts = (session["id"],), dict[object, list[Any]]()
                yield {"info": session, "messages": []}
                for name, data in ask(_QUERY.format("message_id", "part", "id"), own):
                    parts.setdefault(name, []).append(value_of(data or b""))
                for name, data in ask(_QUERY.format("id", "message", "time_created, id"), own):
                    yield {"info": value_of(data or b""), "id": name, "parts": parts.get(name, ())}
            if _NEWER in tables and ask("SELECT 1 FROM session_v2 LIMIT 1").fetchone():
                yield {_NEWER: True}
    except sqlite3.Error as e:
        raise OSError(
            errno.EBADMSG, f"no database of OpenCode or Kilo that can be read ({e})"
        ) from None


@contextlib.contextmanager
def _opened(path: Path) -> Iterator[Callable[..., sqlite3.Cursor]]:
    """Open a database, to be asked, so that nothing beside it is made or changed; others may write meanwhile.

    SQLite would make a log where there is none now, and an index of a log to read it: that is done with a copy.
    """
    with path.open("rb") as file:
        keeps_a_log = file.read(20)[18:] == b"\2\2"
    log, form = Path(f"{path}-wal"), "readonly_shm=1"
    with contextlib.ExitStack() as stack:
        if keeps_a_log and not log.exists():
            form = "immutable=1"
        elif keeps_a_log and not Path(f"{path}-shm").exists():
            folder, form = stack.enter_context(temporary_directory("query")), ""
            for file_of in (
                log,
                path,
            ):  # what moves from the log into the database meanwhile is in both
                shutil.copyfile(file_of, folder / file_of.name)
            path = folder / path.name
        found = sqlite3.connect(
            f"{path.absolute().as_uri()}?mode=ro&{form}", _PATIENCE, uri=True, isolation_level=None
        )
        database = stack.enter_context(contextlib.closing(found))
        database.text_factory = lambda text: text.decode("utf-8", "replace")
        database.execute("BEGIN")
        yield database.execute
