"""Google Antigravity: where its conversations are, and what a step of one says.

``docs/EVIDENCE.md``, "What each harness writes", has the form of a conversation.
"""

import contextlib
import json
import re
from collections import deque
from collections.abc import Collection
from functools import partial
from itertools import chain, islice
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import unquote

from scoring.frozen import PlainData

from .event_reader import lines_in
from .fields import (
    TokenFields,
    Tokens,
    failure_in,
    is_failure,
    items_in,
    member,
    text_in,
    time_in,
    value_of,
)
from .harness import FileNames, Harness
from .json_reader import MOST_LINES
from .protobuf import first_text, numbers_in, packed_numbers
from .sqlite_store import Ask, in_order, opened_database
from .tool_calls import ToolNames, ToolReader

_LOGS = ".system_generated/logs"

_TYPED = re.compile(r"<USER_REQUEST>(.*?)(?:</USER_REQUEST>|\Z)", re.DOTALL)
_REFUSED = "user denied permission for"
_ENDS = ("DONE", "ERROR")
"""The states of steps that have ended."""

_OF_COMMAND = "RUN_COMMAND"
"""The kind of a step that is the result of a command; newer versions have another one."""

_ENDED = re.compile(
    r"(?:(?:Created|Completed) At: [^\n]*\n|\s)*+The command "
    r"(?:completed successfully|(?:failed with exit code: |exited with code )(-?\d+))"
)
"""How the result of a command begins. What other tools show may have such words further down."""

_OUTPUT = re.compile(r"^[^\S\n]*Output:\n", re.MULTILINE)
_INDENTATION = re.compile(r"^\t+", re.MULTILINE)


class _OpenCall(NamedTuple):
    """A call that waits for its result: its id, and the name of its tool."""

    id: str
    tool: str


class AntigravityReader(ToolReader):
    """Reads the steps of a conversation, in their order.

    Calls have no ids: the steps of the model after a response are the results of its calls, in
    their order. ``shown`` has the folder, and the tokens of responses as the database states them.
    """

    tools = ToolNames(
        "run_command",
        "write_to_file replace_file_content multi_replace_file_content",
        agents="invoke_subagent",
    )

    def set_up(self) -> None:
        """Prepare to read a transcript."""
        # the calls of the last response without results
        self._waiting: deque[_OpenCall] = deque()
        self._has_several = False  # whether that response made several calls
        # calls with a step that said that they run, by its number
        self._running: dict[str, _OpenCall] = {}

    def entry(self, line: PlainData) -> None:
        """Take a step: a prompt, a response of the model, the result of a call, or a compaction.

        Other steps of the system are left out. Those from an unknown source are skipped.
        """
        index = line.get("step_index")
        measured = (member(self.shown, "responses") or {}).get(str(index))
        session = text_in(self.shown, "session")
        model = text_in(measured, "model")
        self.note_session(text_in(self.shown, "folder"), session, model=model)
        kind = text_in(line, "type")
        # a result of what runs may come again when that has ended: these are two events
        has_ended = line.get("status") in _ENDS or kind == "PLANNER_RESPONSE"
        step = index if has_ended else f"{index} runs"
        if not self.begin_event(
            time_in(line, "created_at"), session or json.dumps(line), step
        ):
            return

        source = line.get("source")
        if source == "USER_EXPLICIT":
            text = text_in(line, "content")
            typed = _TYPED.search(text)
            self.note_prompt(typed[1].strip() if typed else text)
        elif kind == "PLANNER_RESPONSE":
            self._take_response(line, index, measured)
        elif kind == "CHECKPOINT":
            self.note_compaction()
        elif source == "MODEL":
            self._take_result(line)
        elif source != "SYSTEM":
            self.skip_unknown(source)

    def _take_response(self, line: PlainData, index: object, measured: Any) -> None:
        """Take a response of the model.

        The id of a call is made of the session, the number of the step and that of the call in it.

        Args:
            line: the step.
            index: the number of the step.
            measured: what the database states of the response; None: nothing.
        """
        self.note_response(f"step {index}", _tokens_of(line, measured))
        self.note_agent_text(text_in(line, "content"))

        self._waiting.clear()
        calls = items_in(line, "tool_calls")
        self._has_several = len(calls) > 1
        for number, call in enumerate(calls):
            tool = text_in(call, "name")
            opened = _OpenCall(f"{self.where.session} {index} {number}", tool)
            self._waiting.append(opened)

            asked = member(call, "args")
            if tool in self.tools.edits and isinstance(asked, dict):
                # One call may replace several parts of a file. An artifact is not an edit.
                replacements = [
                    value for value in asked.values() if isinstance(value, list)
                ]
                asked = asked | {"edits": [asked, *chain(*replacements)]}
                if asked.get("IsArtifact") is True:
                    tool = ""
            self.note_tool_call(opened.id, tool, asked)

    def _take_result(self, line: PlainData) -> None:
        """Take the result of a call that waits for one. Without such a call, do nothing.

        A step that is neither done nor failed says nothing of how its call ended. Where it comes
        again, it is the result of the same call.
        """
        text = text_in(line, "content")
        status = line.get("status")
        is_running = status not in _ENDS
        is_command = (
            line.get("type") == _OF_COMMAND
            or is_running
            or _command_failed(line, text) is not None
        )
        index = str(line.get("step_index"))
        call = self._running.pop(index, None) or self._take_waiting(is_command)
        if call is None:
            return
        if is_running:
            self._running[index] = call

        if status == "ERROR" and _REFUSED in text:
            self.note_refusal(call.id)
        elif status == "ERROR":
            self.note_result(call.id, True, text)
        elif status == "DONE":
            failed: bool | None = False
            if call.tool in self.tools.shells:
                failed = _command_failed(line, text)
                if not is_command and self._has_several:
                    text = ""  # it may be what another call shows
            printed = _OUTPUT.split(text, 1)[-1]
            self.note_result(call.id, failed, _INDENTATION.sub("", printed))

    def _take_waiting(self, is_command: bool) -> _OpenCall | None:
        """Return the call that a result is of, which from then on waits no more.

        It is the first call of the result's kind, or without one the first of all: some tools
        answer with no step. None where no call waits.

        Args:
            is_command: whether the result is that of a command.
        """
        for call in self._waiting:
            if (call.tool in self.tools.shells) is is_command:
                self._waiting.remove(call)
                return call
        return self._waiting.popleft() if self._waiting else None


def _command_failed(line: PlainData, text: str) -> bool | None:
    """Return whether a command failed, by its step or else its text. None where neither says so."""
    failed = failure_in(line, "exit_code")
    ended = _ENDED.match(text)
    if failed is not None or ended is None:
        return failed
    return is_failure(ended[1] or "0")


_TOKENS = TokenFields("output_tokens", "input_tokens", "cache_read_tokens")
_MEASURED = TokenFields("output", "input", "reads")


def _tokens_of(line: PlainData, measured: Any) -> Tokens:
    """Return the tokens of a response: those that the database states, or else its step.

    The input in the database leaves out what was read from the cache. That of a step may include
    it: where tokens were read, and not more than the input, the uncached input is None.
    """
    if measured is not None:
        return _MEASURED.of(measured)

    tokens = _TOKENS.of(line)
    if 0 < tokens.reads <= (tokens.uncached or 0):
        tokens = tokens._replace(uncached=None)
    return tokens


class Antigravity(Harness):
    """Describes Google Antigravity: its files and folders, and what shows that it wrote a line."""

    name = "antigravity"
    files = (
        FileNames("transcript_full.jsonl", "store", f"brain/*/{_LOGS}"),
        FileNames("transcript.jsonl", "other", f"brain/*/{_LOGS}"),
        FileNames("*.jsonl", "other", f"brain/*/{_LOGS}/chunks/*"),
        FileNames("*.db", "other", ".gemini/antigravity*/conversations"),
        FileNames("history.jsonl", "other", ".gemini/antigravity*"),
    )
    places = (
        ("", "~/.gemini", "antigravity-cli/brain"),
        ("", "~/.gemini", "antigravity-ide/brain"),
        ("", "~/.gemini", "antigravity/brain"),
    )
    reader = AntigravityReader
    input_holds_cached = True
    keys = frozenset(("step_index", "source", "type"))

    def lines_of(self, path: Path) -> list[bytes]:
        """Return the steps of a conversation in the order of their numbers.

        At most one more than :data:`MOST_LINES` is returned: that is too many to be read.

        Raises:
            OSError: the file of the steps cannot be read.
        """
        return sorted(islice(lines_in(path), MOST_LINES + 1), key=_index_of)

    def shown(self, path: Path) -> PlainData:
        """Return what is stated about a conversation: ``session``, ``folder`` and ``responses``.

        ``folder`` is "" where neither the database nor the list of prompts names one.
        ``responses`` has, by the number of a step as text, the tokens and the model of its
        response; the key is missing without a database that can be read.
        """
        shown: PlainData = {"session": path.parents[2].name}
        database = opened_database(_database_of(path))
        with contextlib.suppress(OSError), database as (ask, tables):
            shown |= _about(ask, tables)
        shown.setdefault("folder", _folder_in_history(path))
        return shown

    def sibling_files(self, path: Path) -> list[Path]:
        """Return the database of the conversation, its log, and the list of prompts."""
        database = _database_of(path)
        return [database, Path(f"{database}-wal"), _history_of(path)]


def _index_of(line: bytes) -> int:
    """Return the number of a step, or -1 where its line has none."""
    index = member(value_of(line), "step_index")
    return index if type(index) is int else -1


def _database_of(path: Path) -> Path:
    """Return the path of the database of a conversation, by the path of the file of its steps."""
    conversation = path.parents[2]  # it is named by its id
    return conversation.parents[1] / "conversations" / f"{conversation.name}.db"


def _history_of(path: Path) -> Path:
    """Return the path of the list of all prompts, by the path of the steps of a conversation."""
    return path.parents[4] / "history.jsonl"


def _folder_in_history(path: Path) -> str:
    """Return the folder that the list of prompts names for a conversation, or ""."""
    with contextlib.suppress(OSError):
        for line in lines_in(_history_of(path)):
            prompt = value_of(line)
            if text_in(prompt, "conversationId") == path.parents[2].name:
                return text_in(prompt, "workspace")
    return ""


def _about(ask: Ask, tables: Collection[str]) -> PlainData:
    """Return what a database states: ``responses``, and ``folder`` where it names one.

    ``responses`` has, by the number of a step as text, the tokens and the model of its response.
    """
    about: PlainData = {"responses": {}}
    if "trajectory_metadata_blob" in tables:
        for (data,) in ask(
            "SELECT data FROM trajectory_metadata_blob WHERE id = 'main'"
        ):
            root = first_text(data, 1, 1)
            if root.startswith("file://"):
                about["folder"] = unquote(root.removeprefix("file://"))

    if "gen_metadata" in tables:
        rows = in_order(ask("SELECT idx, rowid FROM gen_metadata"))
        ask_data = partial(ask, "SELECT data FROM gen_metadata WHERE rowid = ?")
        for (data,) in chain.from_iterable(ask_data((row,)) for _, row in rows):
            counts = numbers_in(data, 1, 4)
            measured = {
                "input": counts.get(2, 0),
                "output": counts.get(3, 0),
                "reads": counts.get(5, 0),
                "model": first_text(data, 1, 19),
            }
            for step in packed_numbers(data, 2):
                about["responses"][str(step)] = measured
    return about
