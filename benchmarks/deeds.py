"""What transcripts show of how iterations were worked on, beyond what da-score observes.

For :mod:`benchmarks.foretelling`. Taken of the lines that belong to an iteration, in the
checkpoints of a repository, of Claude Code and of Codex; of other harnesses nothing is. Only
numbers leave this module, no word of a transcript.
"""

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import PurePosixPath
from typing import Any

from scoring.evidence.git.checkpoints import read_checkpoints
from scoring.evidence.git.repository import GitRepository
from scoring.evidence.scopes import is_code
from scoring.evidence.transcripts.facts import NS, timestamp_ns
from scoring.evidence.transcripts.observed_facts import LinesFound

_PAUSE = 600
"""After so many seconds without a line nobody is at work, seconds."""

_TROUBLE = re.compile(
    r"\b(?:still|again|wrong|not work|doesn.?t|didn.?t|isn.?t|broken|undo|revert|error|"
    r"fail(?:s|ed|ing)?|instead|actually|why)\b",
    re.IGNORECASE,
)
_ADMITS = re.compile(
    r"\b(?:you.?re (?:absolutely )?right|my mistake|apolog|i see the (?:issue|problem)|good catch)",
    re.I,
)
_SURE = re.compile(
    r"(?:\ball (?:\w+ )?tests (?:are )?pass|\bperfect\b|\bexcellent\b|\u2705)",
    re.IGNORECASE,
)
_NO_PROMPT = ("[Request interrupted", "<", "Caveat:", "This session is being continued")
_READS = re.compile(r"(?:^|[;&|]\s*)(?:cat|sed -n|nl|head|tail|less)\b")
_SEARCHES = re.compile(r"(?:^|[;&|]\s*)(?:rg|grep|find|fd|ls|git grep)\b")
_EXITED = re.compile(r"Process exited with code (\d+)")
_PATCHED = re.compile(r"\*\*\* (?:Add|Update|Delete) File: (.+)")
_CHANGED_OUTSIDE = ("has been modified since read", "has been unexpectedly modified")
_NOT_FOUND = ("String to replace not found", "Failed to find expected lines")


@dataclass
class Deeds:
    """What the lines of an iteration show, added up.

    Attributes:
        times: the times of the lines, in nanoseconds.
        prompts: what people wrote.
        words: what the agent wrote.
        count: how often something happened, by its name.
        read: the files that were read.
        edited: how often each file was edited.
        read_first: the edited files that were read before.
        written: the lines that the iteration wrote into each file and that are still there.
        context: the size of the context at each response, in tokens.
        calls: the ids of the calls that were counted.
    """

    times: list[int] = field(default_factory=list)
    prompts: list[str] = field(default_factory=list)
    words: list[str] = field(default_factory=list)
    count: Counter[str] = field(default_factory=Counter)
    read: set[str] = field(default_factory=set)
    edited: Counter[str] = field(default_factory=Counter)
    read_first: set[str] = field(default_factory=set)
    written: dict[str, Counter[str]] = field(default_factory=dict)
    context: list[int] = field(default_factory=list)
    calls: set[str] = field(default_factory=set)

    def edit(self, path: str, old: str, new: str) -> None:
        """Take an edit. Lines that it replaces and this iteration wrote count as reworked."""
        old_lines = _counted(old)
        new_lines = _counted(new)
        removed = old_lines - new_lines
        added = new_lines - old_lines

        written = self.written.setdefault(path, Counter())
        reworked = removed & written
        written.subtract(reworked)
        written.update(added)

        self.count["edits"] += 1
        if reworked:
            self.count["edits that rework"] += 1
        self.count["reworked"] += reworked.total()
        self.count["written"] += added.total()

        if not self.edited[path] and path in self.read:
            self.read_first.add(path)
        self.edited[path] += 1

    def figures(
        self, lines_added: int, files: Iterable[str]
    ) -> dict[str, float | None]:
        """Return the candidates.

        Args:
            lines_added: how many lines of code the commit added.
            files: the files that the commit changed.
        """
        return {
            **self._figures_of_edits(lines_added, files),
            **self._figures_of_prompts(),
            **self._figures_of_words(),
            **self._figures_of_time(lines_added),
        }

    def _figures_of_edits(
        self, lines_added: int, files: Iterable[str]
    ) -> dict[str, float | None]:
        count = self.count
        edits = count["edits"]
        code = [name for name in files if is_code(name)]
        outside = None
        if code and edits:
            outside = 1 - sum(self._edited(name) for name in code) / len(code)
        return {
            "context at the end, tokens": self.context[-1] if self.context else None,
            "largest context, tokens": max(self.context, default=None),
            "edits per edited file": _ratio(edits, len(self.edited)),
            "edits that rework its own lines, share": _ratio(
                count["edits that rework"], edits
            ),
            "lines reworked, share of those written": _ratio(
                count["reworked"], count["written"]
            ),
            "lines written per line added": count["written"] / lines_added
            if edits
            else None,
            "edited files that were read before, share": _ratio(
                len(self.read_first), len(self.edited)
            ),
            "reads per edit": _ratio(count["reads"], edits),
            "searches per edit": _ratio(count["searches"], edits),
            "files edited outside of the session, share": outside,
            "edits refused because the file had changed": count["changed outside"],
            "edits that did not match": count["not found"],
            "commands that failed, share": _ratio(count["failed"], count["commands"]),
        }

    def _edited(self, name: str) -> bool:
        """Return whether an edit went to a file of the repository, by the end of its path."""
        return any(f"/{path}".endswith(f"/{name}") for path in self.edited)

    def _figures_of_prompts(self) -> dict[str, float | None]:
        asked = len(self.prompts)
        lengths = [len(prompt) for prompt in self.prompts]
        trouble = sum(bool(_TROUBLE.search(prompt)) for prompt in self.prompts)
        questions = sum("?" in prompt for prompt in self.prompts)
        return {
            "prompts": asked,
            "length of the first prompt": lengths[0] if lengths else None,
            "mean length of prompts": _ratio(sum(lengths), asked),
            "calls per prompt": _ratio(self._calls, asked),
            "prompts that speak of trouble": trouble if asked else None,
            "prompts that speak of trouble, share": _ratio(trouble, asked),
            "prompts that ask, share": _ratio(questions, asked),
        }

    def _figures_of_words(self) -> dict[str, float | None]:
        count = self.count
        return {
            "times the agent admits a mistake": sum(
                bool(_ADMITS.search(words)) for words in self.words
            ),
            "times the agent is sure": sum(
                bool(_SURE.search(words)) for words in self.words
            ),
            "plans": count["plans"],
            "tasks written down": count["tasks"],
            "thoughts per call": count["thoughts"] / self._calls,
            "looked up in the web": count["web"],
        }

    def _figures_of_time(self, lines_added: int) -> dict[str, float | None]:
        times = sorted(self.times)
        steps = [(later - earlier) / NS for earlier, later in pairwise(times)]
        minutes = sum(step for step in steps if step < _PAUSE) / 60
        hours = (times[-1] - times[0]) / NS / 3600 if times else None
        return {
            "minutes of work": minutes,
            "minutes of work per line added": minutes / lines_added,
            "hours from first to last line": hours,
            "pauses of ten minutes": sum(step >= _PAUSE for step in steps),
        }

    @property
    def _calls(self) -> int:
        """How many calls the agent made, at least 1."""
        return max(self.count["calls"], 1)


def _ratio(part: float, whole: float) -> float | None:
    return part / whole if whole else None


def _counted(text: str) -> Counter[str]:
    """Return the lines of a text that have content, without their indentation."""
    lines = [line.strip() for line in text.splitlines()]
    return Counter(line for line in lines if len(line) > 2)


def deeds_of(
    repo: GitRepository, found: Mapping[int, Sequence[LinesFound]]
) -> Iterator[tuple[int, Deeds]]:
    """Yield what was seen in the lines of each iteration, where any are in checkpoints."""
    kept = read_checkpoints(repo)
    blobs = {
        s.path: s.blobs
        for one in kept.values()
        for s in one.sessions
        if s.blobs and not s.missing
    }
    for iteration, places in found.items():
        deeds = Deeds()
        for place in places:
            if held := blobs.get(str(place.path)):
                contents = repo.contents(held)
                lines = b"".join(contents[blob] for blob in held).split(b"\n")
                _take(deeds, lines[place.first - 1 : place.last])
        if deeds.times:
            yield iteration, deeds


def _take(deeds: Deeds, lines: Iterable[bytes]) -> None:
    for line in lines:
        try:
            said = json.loads(line)
        except ValueError:
            continue
        if not isinstance(said, dict):
            continue
        if (time := timestamp_ns(str(said.get("timestamp", "")))) is not None:
            deeds.times.append(time)
        if isinstance(said.get("payload"), dict):
            _codex(deeds, said["payload"])
        else:
            _claude(deeds, said)


def _claude(deeds: Deeds, said: Mapping[str, Any]) -> None:
    kind, message = said.get("type"), said.get("message")
    if not isinstance(message, dict) or said.get("isCompactSummary"):
        return
    content = message.get("content")
    items = [{"type": "text", "text": content}] if isinstance(content, str) else content
    for item in items if isinstance(items, list) else ():
        if not isinstance(item, dict):
            continue
        what, text = item.get("type"), str(item.get("text") or "")
        if what == "text" and kind == "user" and not said.get("isMeta"):
            _prompt(deeds, text)
        elif what == "text":
            deeds.words.append(text)
        elif what == "thinking":
            deeds.count["thoughts"] += 1
        elif what == "tool_use" and item.get("id") not in deeds.calls:
            deeds.calls.add(str(item.get("id")))
            _claude_call(deeds, str(item.get("name")), item.get("input"))
        elif what == "tool_result" and item.get("is_error"):
            _failed(deeds, json.dumps(item.get("content")))
    usage = message.get("usage")
    if kind == "assistant" and isinstance(usage, dict):
        keys = (
            "input_tokens",
            "cache_read_input_tokens",
            "cache_creation_input_tokens",
        )
        deeds.context.append(sum(usage.get(key) or 0 for key in keys))


def _claude_call(deeds: Deeds, name: str, given: Any) -> None:
    given = given if isinstance(given, dict) else {}
    path, count = str(given.get("file_path") or ""), deeds.count
    count["calls"] += 1
    if name in ("Edit", "MultiEdit"):
        for edit in given.get("edits") or [given]:
            deeds.edit(
                path,
                str(edit.get("old_string") or ""),
                str(edit.get("new_string") or ""),
            )
    elif name == "Write":
        held = deeds.written.get(path, Counter())
        deeds.edit(path, "\n".join(held.elements()), str(given.get("content") or ""))
    elif name == "Read":
        count["reads"] += 1
        deeds.read.add(path)
    elif name in ("Grep", "Glob", "LSP"):
        count["searches"] += 1
    elif name == "Bash":
        _command(deeds, str(given.get("command") or ""))
    elif name in ("EnterPlanMode", "ExitPlanMode"):
        count["plans"] += 1
    elif name in ("TodoWrite", "TaskCreate", "TaskUpdate"):
        count["tasks"] += 1
    elif name in ("WebFetch", "WebSearch"):
        count["web"] += 1


def _codex(deeds: Deeds, payload: Mapping[str, Any]) -> None:
    what, count = payload.get("type"), deeds.count
    if what == "user_message":
        _prompt(deeds, str(payload.get("message") or ""))
    elif what == "agent_message":
        deeds.words.append(str(payload.get("message") or ""))
    elif what == "reasoning":
        count["thoughts"] += 1
    elif what == "token_count" and isinstance(info := payload.get("info"), dict):
        last = info.get("last_token_usage")
        deeds.context.append((last or {}).get("input_tokens") or 0)
    elif what == "web_search_call":
        count["web"] += 1
    elif (
        what in ("function_call", "custom_tool_call")
        and payload.get("call_id") not in deeds.calls
    ):
        deeds.calls.add(str(payload.get("call_id")))
        _codex_call(
            deeds,
            str(payload.get("name")),
            str(payload.get("input") or payload.get("arguments") or ""),
        )
    elif what in ("function_call_output", "custom_tool_call_output"):
        text = str(payload.get("output") or "")[:2000]
        if (
            (m := _EXITED.search(text)) and m[1] != "0"
        ) or "verification failed" in text:
            _failed(deeds, text)


def _codex_call(deeds: Deeds, name: str, given: str) -> None:
    count = deeds.count
    count["calls"] += 1
    if name == "apply_patch":
        for path, old, new in patched(given):
            deeds.edit(path, old, new)
    elif name == "exec_command":
        try:
            command = json.loads(given).get("cmd")
        except (ValueError, AttributeError):
            command = given
        _command(deeds, str(command))
    elif name == "update_plan":
        count["tasks"] += 1


def patched(patch: str) -> Iterator[tuple[str, str, str]]:
    """Yield of each file that a patch changes its path, the lines that go, and those that come."""
    path, old, new = "", list[str](), list[str]()
    for line in patch.splitlines():
        if m := _PATCHED.match(line):
            if path:
                yield path, "\n".join(old), "\n".join(new)
            path, old, new = m[1].strip(), [], []
        elif line[:1] == "-":
            old.append(line[1:])
        elif line[:1] == "+":
            new.append(line[1:])
    if path:
        yield path, "\n".join(old), "\n".join(new)


def _prompt(deeds: Deeds, text: str) -> None:
    if text.strip() and not text.startswith(_NO_PROMPT):
        deeds.prompts.append(text)


def _command(deeds: Deeds, command: str) -> None:
    deeds.count["commands"] += 1
    deeds.count["reads"] += bool(_READS.search(command))
    deeds.count["searches"] += bool(_SEARCHES.search(command))
    deeds.read.update(
        word for word in command.split() if "." in PurePosixPath(word).name
    )


def _failed(deeds: Deeds, text: str) -> None:
    deeds.count["failed"] += 1
    deeds.count["changed outside"] += any(words in text for words in _CHANGED_OUTSIDE)
    deeds.count["not found"] += any(words in text for words in _NOT_FOUND)
