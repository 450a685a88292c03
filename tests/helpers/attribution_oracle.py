"""A second opinion on whose work a transcript is: the rules of docs/EVIDENCE.md, read slowly, with no code of ours.

It reads what is on disk, holds every line in memory, and goes over all of them for every question. It is told one thing
by the history, as which commits of the trunk others landed: how that is found out has tests of its own. It is longer
than other modules, since a reading that is spread over several could not be compared with the rules line by line.
"""

import fnmatch
import json
import re
import subprocess
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

from helpers.histories import History

MAKES_COMMITS = re.compile(r"(?:^|[;&|]\s*)git\s(?:-\S+\s+\S+\s+)*(?:commit|cherry-pick|revert|rebase|merge)\b")
COMMIT_LINE = re.compile(r"^\[([^\]\n]+) ([0-9a-f]{7,40})\] (.*)$", re.M)
TEST_RUN = re.compile(r"(?:pytest|go test)\b")
DAY = 86_400.0


@dataclass
class Line:
    """A line of a transcript; ``key`` is the same for all its copies, ``sessions`` are those that hold one."""

    key: str
    time: float
    sessions: set[str] = field(default_factory=set)
    makers: set[str] = field(default_factory=set)
    output: int | None = None
    made: list[tuple[str, str]] = field(default_factory=list)
    tested: str = ""
    edits: bool = False
    interrupts: bool = False


@dataclass
class Told:
    """What is said of one iteration."""

    method: str | None = None
    sessions: set[str] = field(default_factory=set)
    lines: list[Line] = field(default_factory=list)
    problem: str = ""
    shared_with: int | None = None
    end: float | None = None

    @property
    def turns(self) -> int:
        return sum(line.output is not None for line in self.lines)

    @property
    def output(self) -> int:
        return sum(line.output or 0 for line in self.lines)

    @property
    def tests(self) -> tuple[int, int, bool | None, bool]:
        """Runs, failed runs, how the last one went, and whether code was edited after it."""
        seen = sorted((line for line in self.lines if line.tested or line.edits), key=lambda line: line.time)
        runs = [line for line in seen if line.tested]
        before = [line for line in seen if self.end is None or line.time <= self.end]
        last = next((line for line in reversed(before) if line.tested not in ("", "open")), None)
        edited = last is not None and any(line.edits for line in before[before.index(last) :])
        return len(runs), sum(run.tested == "failed" for run in runs), last.tested == "passed" if last else None, edited

    @property
    def interrupts(self) -> int:
        return sum(line.interrupts for line in self.lines)


class Oracle:
    """Everything that was read of one history."""

    def __init__(self, history: History) -> None:
        self.history = history
        self.commits = dict(self._commits())
        self.trunk = set(self._git("rev-list", "main").split())
        self.entries = {entry.number: self._entry(entry.number) for entry in history.entries}
        self.landed = {history.shas[a]: history.shas[b] for a, b in history.landed.items()}
        self.lines: dict[str, Line] = {}
        self.parts: dict[str, list[tuple[str, list[Line]]]] = {}
        self.in_checkpoints: set[str] = set()
        self.files: list[tuple[str, set[str]]] = []
        self.recorded: list[tuple[str, set[str]]] = []
        self.test_calls: dict[str, Line] = {}
        self.answered: set[str] = set()
        self._read_checkpoints()
        self._read_home()
        self._add_sub_agents()
        for call, line in self.test_calls.items():
            if call not in self.answered:
                line.tested = "open"
        self.ends = {n: self._result_line(n) for n in self.entries}

    def answers(self) -> dict[int, Told]:
        """Say of each iteration which lines are its own, and how that was found."""
        told: dict[int, Told] = {}
        taken: set[str] = set()
        ways = (self._by_checkpoint, self._by_commit, self._by_session)
        for way in ways:
            if way == self._by_commit:
                self._know_landed(told)
            for n in sorted(self.entries):
                if n not in told and (found := way(n, told)):
                    told[n] = found
                    if found.shared_with is None:
                        found.lines = list({line.key: line for line in found.lines if line.key not in taken}.values())
                        taken |= {line.key for line in found.lines}
                    if not found.turns:
                        found.problem = "session found, no turns in its part"
        before: float | None = None
        for n in sorted(self.entries):
            sha = self.entries[n]["sha"]
            committed = self.commits[sha]["committed"] if sha else None
            if n not in told:
                told[n] = self._by_time(n, before, committed, taken)
                taken |= {line.key for line in told[n].lines}
                if told[n].lines and not told[n].turns:
                    told[n].problem = "session found, no turns in its part"
            before = committed if committed is not None else before
        return told

    # The four ways.

    def _by_checkpoint(self, n: int, told: dict[int, Told]) -> Told | None:
        named = [name for name in self._checkpoints_of(n) if self.parts.get(name)]
        if not named:
            return None
        found = Told("checkpoint", end=self._end(n))
        for name in named:
            users = [k for k in sorted(self.entries) if name in self._checkpoints_of(k)]
            for session, part in self.parts[name]:
                found.sessions.add(session)
                found.lines += self._cut(n, users, session, part)
        first = next((k for name in named if (k := self._shares_with(n, name)) is not None), None)
        if not found.lines and first is not None:
            return Told("shared", found.sessions, told[first].lines, shared_with=first, end=found.end)
        if found.end is None:
            found.end = max((line.time for line in found.lines), default=None)
        return found

    def _shares_with(self, n: int, name: str) -> int | None:
        """Return the first iteration whose commit line nowhere cuts this checkpoint, where this one is another such."""
        users = [k for k in sorted(self.entries) if name in self._checkpoints_of(k)]
        for session, part in self.parts[name]:
            uncut = [k for k in users if not ((at := self.ends[k]) and session in at.sessions)]
            if part and n in uncut[1:]:
                return uncut[0]
        return None

    def _cut(self, n: int, users: list[int], session: str, part: list[Line]) -> list[Line]:
        """Return what of a part is one iteration's, of the several that name its checkpoint."""
        cuts = {k: at.time for k in users if (at := self.ends[k]) and session in at.sessions}
        if len(users) == 1 or (not cuts and n == users[0]):
            return list(part)
        rest = next((k for k in users if k not in cuts), max(cuts, key=lambda k: cuts[k]) if cuts else None)
        own = []
        for line in part:
            later = [k for k in cuts if cuts[k] >= line.time]
            owner = min(later, key=lambda k: cuts[k]) if later else rest
            own += [line] if owner == n else []
        return own

    def _by_commit(self, n: int, _told: dict[int, Told]) -> Told | None:
        at = self.ends[n]
        if at is None:
            return None
        found = Told("commit", self._makers(at), end=at.time)
        for session in found.sessions:
            mine = [line for line in self.lines.values() if session in line.sessions]
            others = [line.time for line in mine if line.made and line.time < at.time and self._is_anothers(line, n)]
            start = max(others, default=float("-inf"))
            found.lines += [line for line in mine if start < line.time <= at.time and line not in found.lines]
        return found

    def _by_session(self, n: int, told: dict[int, Told]) -> Told | None:
        session, sha = self.entries[n]["session"], self.entries[n]["sha"]
        mine = [line for line in self.lines.values() if session in line.sessions]
        if not session or not mine or not sha:
            return None
        end = self.commits[sha]["authored"]
        ends = [
            self._end(k)
            for k in self.entries
            if k != n and (session == self.entries[k]["session"] or (k in told and session in told[k].sessions))
        ]
        start = max((e for e in ends if e is not None and e < end), default=float("-inf"))
        return Told("session", {session}, [line for line in mine if start < line.time <= end], end=end)

    def _by_time(self, n: int, start: float | None, end: float | None, taken: set[str]) -> Told:
        if end is None:
            return Told(problem="commit time unresolvable; cannot window the transcript")
        free = [
            line
            for line in self.lines.values()
            if line.key not in taken and (start is None or start < line.time) and line.time <= end
        ]
        if not free and self._checkpoints_of(n):
            return Told(problem="the checkpoint that its commit names has no transcript here")
        if not free:
            return Told(problem="no transcript covers the iteration window")
        whole = set.intersection(*(line.sessions for line in free))
        if not whole:
            sessions = set.union(*(line.sessions for line in free))
            return Told(problem=f"{len(sessions)} sessions overlap")
        first = min(whole, key=lambda name: (sum(name in line.sessions for line in self.lines.values()), name))
        return Told("time", {first}, free, end=self._end(n))

    # What the ways ask.

    def _checkpoints_of(self, n: int) -> list[str]:
        entry = self.entries[n]
        for sha in (entry["sha"], self._landing(n)):
            if sha and (
                names := re.findall(r"^\s*Entire-Checkpoint: ([0-9a-f]{12})\s*$", self.commits[sha]["text"], re.M)
            ):
                return list(dict.fromkeys(names))
        return []

    def _landing(self, n: int) -> str | None:
        entry = self.entries[n]
        if entry["sha"]:
            return entry["sha"] if entry["sha"] in self.trunk else self.landed.get(entry["sha"])
        same = [s for s in self.trunk if self.commits[s]["subject"] == entry["summary"]]
        return max(same, key=lambda s: self.commits[s]["committed"], default=None)

    def _subjects(self, n: int) -> set[str]:
        sha = self.entries[n]["sha"]
        return {self.entries[n]["summary"]} | ({self.commits[sha]["subject"]} if sha else set())

    def _result_line(self, n: int) -> Line | None:
        """Return the result that made an iteration's commit."""
        commit = self.entries[n]["sha"] or self.entries[n]["commit"]
        by_sha = [line for line in self.lines.values() if any(commit.startswith(sha) for sha, _ in line.made)]
        if by_sha:
            return max(by_sha, key=lambda line: line.time)
        sha = self.entries[n]["sha"] or self._landing(n)
        if not sha:
            return None
        authored = self.commits[sha]["authored"]
        alike = [
            line
            for line in self.lines.values()
            if any(subject in self._subjects(n) for _, subject in line.made) and abs(line.time - authored) <= DAY
        ]
        if not alike or not set.intersection(*map(self._makers, alike)):
            return None
        return max(alike, key=lambda line: line.time)

    def _know_landed(self, told: dict[int, Told]) -> None:
        """A commit that landed as an iteration's, squashed or rebased under another subject, was made for it too."""
        owned = {id(line) for line in self.ends.values() if line}
        for n in self.entries.keys() - told.keys():
            names = {self.entries[n]["sha"] or self._landing(n)} - {None}
            own = self.ends[n]
            if own and any(self.entries[n]["commit"].startswith(sha) for sha, _ in own.made):
                continue
            for line in self.lines.values():
                fulls = [next((s for s in self.commits if s.startswith(sha)), "") for sha, _ in line.made]
                end = self.ends[n]
                later = end is None or line.time > end.time
                if later and id(line) not in owned and any(self.landed.get(full) in names for full in fulls):
                    self.ends[n] = line

    def _makers(self, line: Line) -> set[str]:
        """Return the sessions that a line was written in first: a copy is in a file that has all of another one."""
        holding = [(name, keys) for name, keys in self.files if line.key in keys]
        copied = {name for name, keys in holding if any(other != name and theirs < keys for other, theirs in holding)}
        return line.makers - copied

    def _is_anothers(self, line: Line, n: int) -> bool:
        owners = {k for k in self.entries if self.ends[k] is line}
        for sha, _ in line.made:
            full = next((s for s in self.commits if s.startswith(sha)), sha)
            owners |= {k for k, e in self.entries.items() if full in (e["sha"], e["commit"], self._landing(k))}
            owners |= {k for k, e in self.entries.items() if e["sha"] and self.landed.get(full) == e["sha"]}
        return bool(owners) and n not in owners

    def _end(self, n: int) -> float | None:
        at, sha = self.ends[n], self.entries[n]["sha"]
        return at.time if at else self.commits[sha]["authored"] if sha else None

    # What is read.

    def _git(self, *arguments: str, given: str = "") -> str:
        command = ["git", "-C", str(self.history.repo), *arguments]
        return subprocess.run(command, input=given, capture_output=True, text=True, check=True).stdout

    def _commits(self) -> Iterator[tuple[str, dict[str, Any]]]:
        asked = self._git("cat-file", "--batch-all-objects", "--batch-check=%(objectname) %(objecttype)")
        shas = [line.split()[0] for line in asked.splitlines() if line.endswith(" commit")]
        told = self._git(
            "log", "--no-walk=unsorted", "--stdin", "--format=%H%x00%at%x00%ct%x00%B%x01", given="\n".join(shas)
        )
        for block in told.split("\x01")[:-1]:
            sha, authored, committed, text = block.strip("\n").split("\0")
            times = {"authored": float(authored), "committed": float(committed)}
            yield sha, {"subject": text.partition("\n")[0], "text": text, **times}

    def _entry(self, number: int) -> dict[str, Any]:
        read = json.loads((self.history.log / f"iter-{number}.yaml").read_text())
        sha = next((s for s in self.commits if len(read["commit"]) >= 7 and s.startswith(read["commit"])), None)
        named = read.get("agent", {}).get("session_id", "")
        return {"commit": read["commit"], "sha": sha, "summary": read["impl"]["summary"], "session": named}

    def _read_checkpoints(self) -> None:
        branch = "refs/heads/entire/checkpoints/v1"
        if not self.history.checkpoints:
            return
        names = self._git("ls-tree", "-r", "--name-only", branch).splitlines()
        found = []
        for path in (p for p in names if p.endswith("/full.jsonl")):
            content = self._git("show", f"{branch}:{path}")
            about = json.loads(self._git("show", f"{branch}:{path.replace('full.jsonl', 'metadata.json')}"))
            rows = list(_objects(content))
            lines = self._take(rows, about["session_id"])
            start = about.get("checkpoint_transcript_start") or about.get("transcript_lines_at_start") or 0
            last = max((line.time for line in lines if line), default=0.0)
            found.append((last, len(content), "".join(path.split("/")[:2]), about["session_id"], rows, lines, start))
            self.in_checkpoints.add(about["session_id"])
            self.recorded.append(self.files[-1])
        for last, size, name, session, rows, lines, start in found:
            earlier = [f for f in found if f[3] == session and f[:2] < (last, size)]
            before = {line.key for f in earlier for line in f[5] if line}
            opens = any(r["type"] == "session_meta" for r in rows) or _first_parent(rows) is None
            skipped = start if opens and not earlier else 0
            part = [line for k, line in enumerate(lines) if line and k >= skipped and line.key not in before]
            self.parts.setdefault(name, []).append((session, part))

    def _add_sub_agents(self) -> None:
        """Put the lines of sub-agents into the part during which they were written."""
        for session, keys in self.files:
            recorded = [(s, part) for parts in self.parts.values() for s, part in parts if s == session and part]
            known = {key for name, lines in self.recorded for key in lines if name == session}
            if not keys & known:
                for line in (self.lines[key] for key in keys):
                    inside = [p for _, p in recorded if min(e.time for e in p) <= line.time <= max(e.time for e in p)]
                    if inside:
                        min(inside, key=lambda part: max(e.time for e in part)).append(line)

    def _read_home(self) -> None:
        read = {path: list(_objects(path.read_text())) for path in sorted(self.history.home.rglob("*.jsonl"))}
        folders = {cwd for rows in read.values() for _, _, cwd, _ in _with_commits(rows)}
        ours = {cwd for cwd in folders if self._is_ours(cwd)}
        sessions = {s for rows in read.values() for s in self._qualified(rows, ours)} | self.in_checkpoints
        for rows in read.values():
            self._take(rows, "", lambda session, cwd: self._counts(session, cwd, ours, sessions))

    def _counts(self, session: str, cwd: str, ours: set[str], sessions: set[str]) -> bool:
        if cwd in ours or session in self.in_checkpoints:
            return True
        return not Path(cwd).exists() and session in sessions

    def _is_ours(self, cwd: str) -> bool:
        places = [self.history.repo, *(Path(place) for place in self.history.worktrees)]
        return any(Path(cwd) == place or place in Path(cwd).parents for place in places)

    def _qualified(self, rows: list[dict[str, Any]], ours: set[str]) -> Iterator[str]:
        """Name the sessions of a file that are this repository's for what they say, and not for their folder."""
        entered = [entry["commit"] for entry in self.entries.values()]
        own = _named_last(rows)
        for row, session, cwd, made in _with_commits(rows):
            if Path(cwd).exists() and cwd not in ours:
                continue
            url = row.get("payload", {}).get("git", {}).get("repository_url", "")
            if (
                any(c.startswith(sha) for sha, _ in made for c in [*self.commits, *entered])
                or any(fnmatch.fnmatch(cwd, glob) for glob in self.history.globs)
                or (url and self.history.remote and _plain(url) == _plain(self.history.remote))
            ):
                yield from (session, own)

    def _take(self, rows: list[dict[str, Any]], session: str, counts: Any = None) -> list[Line | None]:
        """Enter lines; of those that have a time and count, return the entry, and None for the others."""
        taken: list[Line | None] = []
        totals = 0
        commands: dict[str, str] = {}
        main = "" if session else _named_last(rows)
        known = {subject for n in self.entries for subject in self._subjects(n)}
        entered = [entry["commit"] for entry in self.entries.values()]
        for row, own, cwd, made in _with_commits(rows):
            delta = _output(row)
            if delta is not None and "payload" in row:
                delta, totals = delta - totals, delta
            commands |= dict(_uses(row))
            if "timestamp" not in row or (counts and not (counts(own, cwd) or counts(main, cwd))):
                taken.append(None)
                continue
            key = row.get("uuid") or f"{own} {json.dumps(row, sort_keys=True)}"
            line = self.lines.setdefault(key, Line(key, _time(row["timestamp"])))
            own = session or own
            line.sessions |= {own, main or own}
            line.makers.add(own)
            line.output = delta
            line.made = [
                (sha, subject)
                for sha, subject in made
                if subject in known or any(c.startswith(sha) for c in [*self.commits, *entered])
            ]
            for call, command in _uses(row):
                if TEST_RUN.match(command):
                    self.test_calls[call] = line
            for call, said in _results(row):
                self.answered.add(call)
                if TEST_RUN.match(commands.get(call, "")):  # without a summary the exit status, here always 0, decides
                    line.tested = "failed" if "1 failed" in said else "passed"
            line.edits = any(i.get("name") == "Edit" for i in _items(row) if i.get("type") == "tool_use")
            line.interrupts = _interrupts(row)
            taken.append(line)
        self.files.append((session or main, {line.key for line in taken if line}))
        return taken


def _objects(text: str) -> Iterator[dict[str, Any]]:
    for line in text.splitlines():
        try:
            yield json.loads(line)
        except ValueError:
            continue


def _with_commits(rows: list[dict[str, Any]]) -> Iterator[tuple[dict[str, Any], str, str, list[tuple[str, str]]]]:
    """Go over lines: each with its session, its folder, and the commits that it reports."""
    commands: dict[str, str] = {}
    session = cwd = ""
    for row in rows:
        payload = row.get("payload", {})
        session = row.get("sessionId") or (payload.get("id") if row["type"] == "session_meta" else None) or session
        cwd = row.get("cwd") or payload.get("cwd") or cwd
        commands |= dict(_uses(row))
        made = []
        for call, said in _results(row):
            if MAKES_COMMITS.search(commands.get(call, "")):
                made += [(sha, subject) for _, sha, subject in COMMIT_LINE.findall(said)]
        yield row, session, cwd, made


def _named_last(rows: list[dict[str, Any]]) -> str:
    """Name the session whose file it is."""
    opened: list[str] = [row["payload"]["id"] for row in rows if row["type"] == "session_meta"]
    named: list[str] = [row["sessionId"] for row in rows if "sessionId" in row]
    return ["", *opened[:1], *named][-1]


def _items(row: dict[str, Any]) -> list[dict[str, Any]]:
    content = row.get("message", {}).get("content")
    return content if isinstance(content, list) else []


def _uses(row: dict[str, Any]) -> Iterator[tuple[str, str]]:
    payload = row.get("payload", {})
    if payload.get("type") == "function_call":
        yield payload["call_id"], json.loads(payload["arguments"])["command"][-1]
    for item in _items(row):
        if item["type"] == "tool_use" and "command" in item["input"]:
            yield item["id"], item["input"]["command"]


def _results(row: dict[str, Any]) -> Iterator[tuple[str, str]]:
    payload = row.get("payload", {})
    if payload.get("type") == "function_call_output":
        yield payload["call_id"], payload["output"]
    for item in _items(row):
        if item["type"] == "tool_result":
            yield item["tool_use_id"], item["content"]


def _output(row: dict[str, Any]) -> int | None:
    info = row.get("payload", {}).get("info")
    if info:
        return int(info["total_token_usage"]["output_tokens"])
    counts = row.get("message", {}).get("usage")
    return int(counts["output_tokens"]) if counts else None


def _interrupts(row: dict[str, Any]) -> bool:
    texts = [item["text"] for item in _items(row) if item["type"] == "text"] if row["type"] == "user" else []
    payload = row.get("payload", {})
    stopped = payload.get("type") == "turn_aborted" and payload.get("reason") == "interrupted"
    return stopped or any(text.startswith("[Request interrupted by user") for text in texts)


def _first_parent(rows: Iterable[dict[str, Any]]) -> Any:
    return next((row["parentUuid"] for row in rows if "parentUuid" in row), "none")


def _plain(url: str) -> str:
    """Bring the forms of an address together: scheme, user, ``.git``, the last slash and the scp form do not matter."""
    url = re.sub(r"^[a-z+]+://", "", url)
    url = re.sub(r"^[^@/]*@", "", url)
    host, _, path = re.sub(r"^([^/:]+):", r"\1/", url).partition("/")
    return f"{host.lower()}/{path.removesuffix('/').removesuffix('.git')}"


def _time(stamp: str) -> float:
    return datetime.fromisoformat(stamp).timestamp()
