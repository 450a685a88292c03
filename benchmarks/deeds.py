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
from scoring.evidence.transcripts.facts import NS, LinesFound, timestamp_ns

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
    r"(?:\ball (?:\w+ )?tests (?:are )?pass|\bperfect\b|\bexcellent\b|\u2705)", re.IGNORECASE
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
    """What was seen, counted up."""

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
        before, after = _counted(old), _counted(new)
        held = self.written.setdefault(path, Counter())
        gone, fresh = before - after, after - before
        again = gone & held
        held.subtract(again)
        held.update(fresh)
        self.count["edits"] += 1
        self.count["edits that rework"] += bool(again)
        self.count["reworked"] += again.total()
        self.count["written"] += fresh.total()
        if not self.edited[path] and path in self.read:
            self.read_first.add(path)
        self.edited[path] += 1

    def figures(self, lines_added: int, files: Iterable[str]) -> dict[str, float | None]:
        """Return the candidates; ``files`` are those that the commit changed."""
        count, calls = self.count, max(self.count["calls"], 1)
        edits, written = count["edits"], count["written"]
        stamps = sorted(self.times)
        steps = [(b - a) / NS for a, b in pairwise(stamps)]
        code = [name for name in files if is_code(name)]
        touched = [
            name for name in code if any(f"/{path}".endswith(f"/{name}") for path in self.edited)
        ]
        lengths = [len(prompt) for prompt in self.prompts]
        minutes = sum(step for step in steps if step < _PAUSE) / 60
        asked = len(self.prompts)
        return {
            "context at the end, tokens": self.context[-1] if self.context else None,
            "largest context, tokens": max(self.context, default=None),
            "edits per edited file": edits / len(self.edited) if self.edited else None,
            "edits that rework its own lines, share": count["edits that rework"] / edits
            if edits
            else None,
            "lines reworked, share of those written": count["reworked"] / written
            if written
            else None,
            "lines written per line added": written / lines_added if edits else None,
            "edited files that were read before, share": len(self.read_first) / len(self.edited)
            if self.edited
            else None,
            "reads per edit": count["reads"] / edits if edits else None,
            "searches per edit": count["searches"] / edits if edits else None,
            "files edited outside of the session, share": 1 - len(touched) / len(code)
            if code and edits
            else None,
            "edits refused because the file had changed": count["changed outside"],
            "edits that did not match": count["not found"],
            "commands that failed, share": count["failed"] / count["commands"]
            if count["commands"]
            else None,
            "prompts": asked,
            "length of the first prompt": lengths[0] if lengths else None,
            "mean length of prompts": sum(lengths) / asked if asked else None,
            "calls per prompt": calls / asked if asked else None,
            "prompts that speak of trouble": sum(bool(_TROUBLE.search(one)) for one in self.prompts)
            if asked
            else None,
            "prompts that speak of trouble, share": (
                sum(bool(_TROUBLE.search(one)) for one in self.prompts) / asked if asked else None
            ),
            "prompts that ask, share": sum("?" in one for one in self.prompts) / asked
            if asked
            else None,
            "times the agent admits a mistake": sum(
                bool(_ADMITS.search(one)) for one in self.words
            ),
            "times the agent is sure": sum(bool(_SURE.search(one)) for one in self.words),
            "plans": count["plans"],
            "tasks written down": count["tasks"],
            "thoughts per call": count["thoughts"] / calls,
            "looked up in the web": count["web"],
            "minutes of work": minutes,
            "minutes of work per line added": minutes / lines_added,
            "hours from first to last line": (stamps[-1] - stamps[0]) / NS / 3600
            if stamps
            else None,
            "pauses of ten minutes": sum(step >= _PAUSE for step in steps),
        }


def _counted(text: str) -> Counter[str]:
    """Return the lines of a text that say something, without their indentation."""
    return Counter(line for part in text.splitlines() if len(line := part.strip()) > 2)


def deeds_of(
    repo: GitRepository, found: Mapping[int, Sequence[LinesFound]]
) -> Iterator[tuple[int, Deeds]]:
    """Yield what was seen in the lines of each iteration, where any are in checkpoints."""
    kept = read_checkpoints(repo)
    blobs = {
        s.path: s.blobs for one in kept.values() for s in one.sessions if s.blobs and not s.missing
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
        keys = ("input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")
        deeds.context.append(sum(usage.get(key) or 0 for key in keys))


def _claude_call(deeds: Deeds, name: str, given: Any) -> None:
    given = given if isinstance(given, dict) else {}
    path, count = str(given.get("file_path") or ""), deeds.count
    count["calls"] += 1
    if name in ("Edit", "MultiEdit"):
        for edit in given.get("edits") or [given]:
            deeds.edit(path, str(edit.get("old_string") or ""), str(edit.get("new_string") or ""))
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
        what in ("function_call", "custom_tool_call") and payload.get("call_id") not in deeds.calls
    ):
        deeds.calls.add(str(payload.get("call_id")))
        _codex_call(
            deeds,
            str(payload.get("name")),
            str(payload.get("input") or payload.get("arguments") or ""),
        )
    elif what in ("function_call_output", "custom_tool_call_output"):
        text = str(payload.get("output") or "")[:2000]
        if ((m := _EXITED.search(text)) and m[1] != "0") or "verification failed" in text:
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
    deeds.read.update(word for word in command.split() if "." in PurePosixPath(word).name)


def _failed(deeds: Deeds, text: str) -> None:
    deeds.count["failed"] += 1
    deeds.count["changed outside"] += any(words in text for words in _CHANGED_OUTSIDE)
    deeds.count["not found"] += any(words in text for words in _NOT_FOUND)
