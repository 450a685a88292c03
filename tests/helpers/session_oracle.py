"""A second opinion on transcripts: the rules of docs/EVIDENCE.md, read slowly and simply, with no code of ours.

It holds everything in memory and asks git about every folder. It reads what is written, so it knows nothing of what a
generator entered in its book.
"""

import json
import re
import subprocess
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, NamedTuple
from uuid import UUID

Line = dict[str, Any]

EPOCH = datetime.fromisoformat("1970-01-01T00:00:00+00:00")
TEST_COMMANDS = ("go test", "pytest", "npm test", "yarn test", "make test", "cargo test", "rspec", "phpunit")
CLI, TESTS, LOOP_STATE = 1, 2, 4
READS_LOOP_STATE = re.compile(r"\b(?:cat|sed|head|tail)\b[^|;&\n]*loop-state\.md(?![\w.])")
HEADER_LINE = re.compile(
    r"(?:Exit code|Chunk ID|Wall time|Total output lines|Original token count): |Process |Script |Wall time "
)
LONGEST_LINE = 16 << 20


class Fact(NamedTuple):
    """What one line or one response contributes: a time, whose it is, seven numbers, and the bits of the checks."""

    time: int
    harness: str
    numbers: tuple[int, ...] = (0,) * 7
    checks: int = 0


def observe(roots: Iterable[Path], repository: Path | None) -> list[Fact]:
    """Return every fact below some folders; with a repository only what was done in it."""
    files = {path: list(_objects(path)) for path in _files(roots)}
    inside = _Inside(repository)
    claude, codex = [], []
    for path, lines in files.items():
        claude += [line for line in lines if "payload" not in line]
        codex.append((path, [line for line in lines if isinstance(line.get("payload"), dict)]))
    return [*_claude(claude, inside), *_codex([lines for _, lines in codex if lines], inside)]


def summed(facts: Iterable[Fact], start: int | None, end: int, harness: str = "") -> tuple[int, ...] | None:
    """Sum up a window: seven numbers and the bits; None when nothing lies in it."""
    found = [f for f in facts if (start is None or start < f.time) and f.time <= end and harness in ("", f.harness)]
    checks = 0
    for fact in found:
        checks |= fact.checks
    return (*(sum(column) for column in zip(*(f.numbers for f in found), strict=True)), checks) if found else None


class _Inside:
    """Tells whether a folder belongs to a repository."""

    def __init__(self, repository: Path | None) -> None:
        self._known: dict[str, bool] = {}
        self._everything = repository is None
        self._own = self._repository_of(repository) if repository else None

    def __contains__(self, cwd: object) -> bool:
        if self._everything:
            return True
        if not isinstance(cwd, str):
            return False
        if cwd not in self._known:
            self._known[cwd] = self._repository_of(Path(cwd)) == self._own
        return self._known[cwd]

    @staticmethod
    def _repository_of(folder: Path) -> Path | None:
        folder = folder.resolve()
        while not folder.is_dir():
            folder = folder.parent
        command = ["git", "-C", str(folder), "rev-parse", "--path-format=absolute", "--git-common-dir"]
        asked = subprocess.run(command, capture_output=True, text=True, check=False)
        return Path(asked.stdout.strip()).resolve() if asked.returncode == 0 else None


def _files(roots: Iterable[Path]) -> Iterator[Path]:
    found = {path.resolve() for root in roots for path in sorted(root.resolve().rglob("*.jsonl*")) if path.is_file()}
    rollouts: set[str] = set()
    for path in sorted(found, key=lambda path: ("archived_sessions" in path.parts, path.suffix == ".zst", path)):
        name = path.name.removesuffix(".zst")
        if not name.endswith(".jsonl") or (path.suffix == ".zst" and path.with_suffix("") in found):
            continue
        if name.startswith("rollout-"):
            if name in rollouts:
                continue
            rollouts.add(name)
        yield path


def _objects(path: Path) -> Iterator[Line]:
    data = path.read_bytes()
    if path.suffix == ".zst":
        import zstandard

        data = zstandard.ZstdDecompressor().stream_reader(data, read_across_frames=True).read()
    for line in data.split(b"\n"):
        try:
            found = json.loads(line.decode(errors="replace")) if len(line) <= LONGEST_LINE else None
        except ValueError:
            continue
        if isinstance(found, dict) and isinstance(found.get("timestamp"), str):
            yield found


def _time(line: Line) -> int:
    return (datetime.fromisoformat(line["timestamp"].replace(",", ".")) - EPOCH) // timedelta(microseconds=1) * 1000


def _claude(lines: Sequence[Line], inside: _Inside) -> Iterator[Fact]:
    responses: dict[Any, list[Line]] = {}
    results: dict[str, list[tuple[Line, Line]]] = {}
    uses: dict[str, list[tuple[Line, Line]]] = {}
    own: dict[Any, Any] = {}
    for line in lines:
        if not line.get("isSidechain") and _is_response(line) and line["message"].get("id"):
            own.setdefault(line["message"]["id"], (line["message"]["id"], line.get("requestId")))
    for n, line in enumerate(lines):
        if line.get("cwd") in inside:
            yield Fact(_time(line), "claude")
        if line.get("type") not in ("user", "assistant"):
            continue
        message = line.get("message") or {}
        if _is_response(line):
            name = message.get("id")
            key = (name, line.get("requestId")) if name else n
            if line.get("isSidechain"):
                key = own.get(name, key)
            responses.setdefault(key, []).append(line)
        content = message.get("content")
        for item in content if isinstance(content, list) else []:
            if item.get("type") == "tool_result":
                results.setdefault(item["tool_use_id"], []).append((line, item))
            if item.get("type") == "tool_use":
                uses.setdefault(item["id"], []).append((line, item))
    for copies in responses.values():
        best = max(copies, key=lambda line: (line["message"]["usage"]["output_tokens"], not line.get("isSidechain")))
        names = ("input_tokens", "output_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")
        tokens = [best["message"]["usage"].get(name) or 0 for name in names]
        if best.get("cwd") in inside:
            yield Fact(min(map(_time, copies)), "claude", (1, *tokens, 0, 0))
    for found in results.values():
        line, item = min(found, key=lambda pair: _time(pair[0]))
        if line.get("cwd") in inside:
            yield Fact(_time(line), "claude", (0, 0, 0, 0, 0, 1, int(item.get("is_error") is True)))
    for found in uses.values():
        line, item = min(found, key=lambda pair: _time(pair[0]))
        given, checks = item["input"], 0
        if item["name"] == "Bash":
            checks = CLI | (TESTS if any(name in given["command"] for name in TEST_COMMANDS) else 0)
        elif item["name"] == "Read" and given["file_path"].endswith("loop-state.md"):
            checks = LOOP_STATE
        if line.get("cwd") in inside:
            yield Fact(_time(line), "claude", checks=checks)


def _is_response(line: Line) -> bool:
    message = line.get("message") or {}
    counts = line.get("type") == "assistant" and isinstance(message.get("usage"), dict)
    return bool(counts and message.get("model") != "<synthetic>" and line.get("isApiErrorMessage") is not True)


def _codex(rollouts: Sequence[list[Line]], inside: _Inside) -> Iterator[Fact]:
    by_id: dict[str, list[Line]] = {}
    for lines in rollouts:
        by_id.setdefault(_first_meta(lines).get("id", ""), lines)
    commands: dict[str, Fact] = {}
    verdicts: dict[str, list[tuple[Fact, bool]]] = {}
    for lines in rollouts:
        meta = _first_meta(lines)
        begins = _end_of_replay(lines, meta, by_id)
        cwd, before = meta.get("cwd"), None
        for n, line in enumerate(lines):
            payload, kind = line["payload"], line["payload"].get("type")
            info = payload.get("info") or {}
            total = info.get("total_token_usage") if kind == "token_count" else None
            if line["type"] == "turn_context":
                cwd = payload.get("cwd", cwd)
            if n >= begins and cwd in inside:
                fact = Fact(_time(line), "codex")
                yield fact
                if kind == "token_count" and info:
                    spent = _spent(before, total) if total else info.get("last_token_usage")
                    if spent:
                        yield fact._replace(numbers=(1, *_tokens(spent), 0, 0))
                command = _command(payload)
                if command is not None:
                    found = fact._replace(checks=_checks(command))
                    commands[payload["call_id"]] = min(found, commands.get(payload["call_id"], found))
                failed = _verdict(payload)
                if failed is not None:
                    verdicts.setdefault(payload["call_id"], []).append((fact, failed))
            before = total or before
    yield from commands.values()
    for said in verdicts.values():
        failed = any(verdict for _, verdict in said)
        yield min(fact for fact, _ in said)._replace(numbers=(0, 0, 0, 0, 0, 1, int(failed)))


def _first_meta(lines: Sequence[Line]) -> Line:
    return next((line["payload"] for line in lines if line["type"] == "session_meta"), {})


def _end_of_replay(lines: Sequence[Line], meta: Line, by_id: dict[str, list[Line]]) -> int:
    source = meta.get("source")
    spawn = source["subagent"]["thread_spawn"]["parent_thread_id"] if isinstance(source, dict) else None
    parent = meta.get("forked_from_id") or spawn
    if not parent:
        return 0
    turns = [(n, line["payload"].get("turn_id", "")) for n, line in enumerate(lines) if line["type"] == "turn_context"]
    stamped = [(n, _age(turn)) for n, turn in turns if _age(turn) is not None]
    born = _age(meta["id"])
    if stamped and born is not None:
        return next((n for n, age in stamped if age is not None and age >= born), len(lines))
    theirs = [total for _, total in _totals(by_id.get(parent, []))]
    end = 0
    for (n, total), other in zip(_totals(lines), theirs, strict=False):
        if total != other:
            break
        end = n + 1
    return end


def _age(name: str) -> int | None:
    try:
        found = UUID(name)
    except ValueError:
        return None
    return found.int >> 80 if found.version == 7 else None


def _totals(lines: Sequence[Line]) -> list[tuple[int, Line]]:
    found = [(n, (line["payload"].get("info") or {}).get("total_token_usage")) for n, line in enumerate(lines)]
    return [(n, total) for n, total in found if total]


def _spent(before: Line | None, total: Line) -> Line | None:
    if before is None or any(total.get(name, 0) < before[name] for name in before):
        return total
    return {name: total[name] - before.get(name, 0) for name in total} if total != before else None


def _tokens(spent: Line) -> tuple[int, ...]:
    given, cached = spent["input_tokens"], spent["cached_input_tokens"]
    return given, spent["output_tokens"], cached, spent.get("cache_write_input_tokens", max(given - cached, 0))


def _command(payload: Line) -> str | None:
    kind, name = payload.get("type"), payload.get("name")
    if kind == "local_shell_call":
        return " ".join(payload["action"]["command"])
    if kind == "custom_tool_call" and name == "exec" and "exec_command" in payload["input"]:
        return str(payload["input"])
    if kind == "function_call" and name in ("shell", "shell_command", "exec_command"):
        given = json.loads(payload["arguments"])
        command = given.get("command", given.get("cmd"))
        return command if isinstance(command, str) else " ".join(command)
    return None


def _checks(command: str) -> int:
    tests = TESTS if any(name in command for name in TEST_COMMANDS) else 0
    return CLI | tests | (LOOP_STATE if READS_LOOP_STATE.search(command) else 0)


def _verdict(payload: Line) -> bool | None:
    """Tell whether a call failed; None when nothing says how it ended."""
    kind = payload.get("type")
    if kind == "patch_apply_end":
        return not payload["success"]
    if kind == "mcp_tool_call_end":
        return "Err" in payload["result"] or bool(payload["result"]["Ok"].get("isError"))
    if kind not in ("function_call_output", "custom_tool_call_output"):
        return None
    output = payload["output"]
    text = output if isinstance(output, str) else "".join(item.get("text", "") for item in output)
    try:
        return bool(json.loads(text)["metadata"]["exit_code"] != 0)
    except (ValueError, KeyError, TypeError):
        pass
    header, marker, _ = f"\n{text}".partition("\nOutput:")
    if not marker or not all(map(HEADER_LINE.match, header.splitlines()[1:])):
        return None
    said = re.search(r"^(?:Exit code: |Process exited with code |Script )(-?\d+|completed|failed)$", header, re.M)
    return said[1] not in ("0", "completed") if said else None
