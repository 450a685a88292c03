"""Notes what is seen in a transcript, for every harness; calls and results match by id; long, as all of it is here."""

import posixpath
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from itertools import islice
from operator import itemgetter

from scoring.evidence.commands import commandlines
from scoring.evidence.commands.claim_texts import claims_tests_pass
from scoring.evidence.commands.commandlines import targets
from scoring.evidence.commands.shell import COMMAND_LIMIT, ShellCommand, commands_of
from scoring.evidence.commands.testcommands import TestCommand
from scoring.evidence.commands.testruns import TestTools
from scoring.evidence.commands.testverdicts import TestVerdict
from scoring.evidence.transcripts import rows
from scoring.evidence.transcripts.prompts import asks, said_in
from scoring.evidence.transcripts.written import Hashes, KnownFiles, lines_of_documents

NAMES_OF_A_CALL, PATHS_OF_A_CALL = 240, 240
"""How many programs and paths are kept of one call."""

_SHA_DIGITS = 15  # of 16, so that the number has a sign

_RESETS = {"hard": rows.HARD, "paths": rows.PATHS, "revert": rows.REVERT, "amend": rows.AMEND}

_SAID = {"wrong": rows.SAID_WRONG, "report": rows.REPORT, "unknown": rows.FOREIGN}

_Row = tuple[int, ...]
AddedLines = Mapping[str, Hashes]
"""The lines that an edit adds, and takes away, by path."""
NO_LINES: AddedLines = {}


@dataclass(slots=True, eq=False)
class _Call:
    """A call, until its result is seen; ``alone`` is whether it does a single thing, which its failure undoes."""

    span: int
    number: int
    key: int
    response: str | None = None
    question: bool = False
    agent: bool = False
    alone: bool = False
    run: TestCommand | None = None
    failing: bool = False
    folder: str = ""
    commits: Sequence[tuple[str | None, bool]] = ()
    ended: bool = False
    edits: Sequence[tuple[int, int]] = ()
    resets: Sequence[_Row] = ()
    words: Sequence[_Row] = ()
    wrote: Sequence[_Row] = ()
    unsure: Sequence[tuple[int, int]] = ()
    rewrote: Sequence[tuple[int, int]] = ()

    def amends(self, count: int) -> list[bool]:
        """Say of each of the commits that it made whether it is known to amend one."""
        known = [is_amended for _, is_amended in self.commits]
        return known if len(known) == count else [all(known)] * count

    def is_elsewhere(self, folders: Sequence[str | None], homes: Collection[str]) -> bool:
        """Whether there are folders, and all of them are outside of those of its session."""
        known = [
            one is not None and commandlines.is_elsewhere(self.folder, one, homes)
            for one in folders
        ]
        return bool(known) and all(known)


class Observations:
    """What is seen in one transcript. Every method but the first speaks of the line that was taken last."""

    def __init__(self, tools: TestTools | None) -> None:
        """Take the test tools; without them, as under older rules, only lines and the keys of calls are noted."""
        self._tools = tools
        self.looks = tools is not None
        self._span, self._number = 0, -1
        self._response: str | None = None
        self._lines: list[tuple[int, int, int]] = []
        self._texts: dict[str, int] = {}
        self._tables: dict[int, list[_Row]] = {
            kind: [] for kind in range(rows.RUN, rows.REWROTE + 1)
        }
        self._runs: list[tuple[_Row, _Call | None]] = []
        self._commits: list[tuple[_Row, bool, _Call | None]] = []
        self._trees: set[str] = set()
        self._calls: dict[int, _Call] = {}  # by their keys
        self._over: dict[int, int] = {}  # the keys of the responses of those that are over
        self._failed_first: set[int] = (
            set()
        )  # the keys of calls of which a failure is written before the call
        self._without_id: list[_Call] = []
        self._answered = False
        self._waits = False  # whether the agent has done nothing since the last prompt
        self.files = KnownFiles()  # what tools showed of files
        self._worked = False  # whether it called a tool before, as far as is known
        self.refused_calls: set[int] = set()  # the keys of calls that are none

    def line(self, span: int, number: int, time: int, key: int) -> None:
        """Take a line: the number of its span, its own, its time in nanoseconds since 1970, and its key."""
        if number != self._number:  # two in one line, where a line break is missing, are one
            self._lines.append((number, time, key))
        self._span, self._number = span, number

    @staticmethod
    def line_key(line: bytes) -> int:
        """Return a number of 64 bits, never 0, made of the bytes of a line; the key of one that has no id."""
        return int.from_bytes(blake2b(line, digest_size=8).digest(), "little", signed=True) or 1

    def responds(self, response: str | None) -> None:
        """Note that the line is one of the agent, and of which response: what it calls is called by that."""
        self._response = response
        self._answered = self._waits = False

    def call(self, call: str | None, question: bool = False, agent: bool = False) -> int:
        """Note a call of a tool, which may only ask the user, or start a sub-agent; return its key."""
        if not self.looks:
            return _key(call)
        begun = self._begin(call)
        begun.question, begun.agent, begun.alone = question, agent, True
        return begun.key

    def edit(
        self,
        call: str | None,
        paths: Iterable[str],
        folder: str = "",
        lines: AddedLines = NO_LINES,
        whole: bool = False,
    ) -> int:
        """Note a call of an edit tool, by paths from a folder, with the ``lines`` or the ``whole``; return its key."""
        if not self.looks:
            return _key(call)
        begun = self._begin(call)
        begun.alone, begun.edits = True, self._edits(paths, rows.BY_TOOL, folder)
        begun.wrote = self._wrote(lines, folder, whole)
        return begun.key

    def command(
        self,
        call: str | None,
        text: str,
        folder: str = "",
        patched: Sequence[str] = (),
        lines: AddedLines = NO_LINES,
    ) -> int:
        """Note a call that runs shell commands in a folder ("": not known), with paths it patches; return its key."""
        if self._tools is None:
            return _key(call)
        begun, commands = self._begin(call), commands_of(text)
        begun.alone = len(commands) == 1
        begun.run = self._tools.run_of(commands, text) if self._tools.may_run(text) else None
        begun.folder = folder
        span, number = begun.span, begun.number
        placed = list(_with_folders(commands, folder))
        written = [posixpath.join(at, path) for one, at in placed for path in one.writes]
        maybe = dict.fromkeys(_maybe_written(commands, folder, text))
        begun.edits = self._edits(written, rows.BY_REDIRECTION)
        too_long = len(text) > COMMAND_LIMIT or max(len(written), len(maybe)) > PATHS_OF_A_CALL
        begun.unsure = self._edits(["$"] if too_long else maybe, rows.BY_REDIRECTION)
        begun.wrote = (
            self._wrote(lines_of_documents(text, written), "", ">>" not in text) if written else ()
        )
        changed = ((at, commandlines.rewritten(one.words)) for one, at in placed if one.words)
        begun.rewrote = self._edits(
            (posixpath.join(*place) for place in changed if place[1]), rows.BY_REDIRECTION
        )
        begun.edits = [*begun.edits, *self._edits(patched, rows.BY_TOOL, folder)]
        begun.wrote = [*begun.wrote, *(self._wrote(lines, folder, False) if patched else ())]
        if "worktree" in text:
            self._trees.update(
                posixpath.join(folder, path) for one in commands for path in _work_trees(one.words)
            )
        if "git" in text:
            begun.commits = commandlines.commits_asked(commands)
            for reset in commandlines.resets(commands):
                taken_back = self._edits(
                    reset.paths, rows.BY_TOOL, _folder_after(commands, folder)
                ) or [(-1, 0)]
                begun.resets = [
                    *begun.resets,
                    *((span, number, _RESETS[reset.kind], path) for path, _ in taken_back),
                ]
        programs = (one.words for one in commands if one.words and not one.defines)
        names = [name for words in programs for name in commandlines.program_names(words)]
        begun.words = [
            (span, number, rows.key_of(name)) for name in dict.fromkeys(names[:NAMES_OF_A_CALL])
        ]
        return begun.key

    def result(self, call: str | None, failed: bool | None, output: Callable[[], str]) -> int:
        """Note how a call ended, ``failed`` or not (None: not stated), and return its key."""
        if self._tools is None:
            return _key(call)
        if (key := _key(call)) in self._over:
            return key
        if (begun := self._calls.get(key)) is None:
            # Of a call in another file, or written behind it, the result may show what was called.
            if failed and key:
                self._failed_first.add(key)
            text = output()
            verdict = self._tools.verdict(None, text, None)
            if verdict and verdict.passed is not None:
                self._run(key, rows.RESULT_ONLY, -1, verdict)
            self._made(key, rows.RESULT_ONLY, text)
            return key
        if not begun.ended:
            begun.ended = True
            text = output() if begun.run or begun.commits else ""
            if begun.run and (verdict := self._tools.verdict(begun.run, text, failed)):
                self._run(begun.key, rows.WHOLE, self._text(begun.run.label), verdict, begun)
            if begun.commits:
                self._made(begun.key, rows.WHOLE, text, begun)
            _keep(self._tables, begun, (self._span, self._number), failed is True and begun.alone)
            begun.edits = begun.resets = begun.words = begun.wrote = begun.unsure = (
                begun.rewrote
            ) = ()
            if not (begun.run or begun.commits or begun.question):
                self._over[key] = _key(self._calls.pop(key).response)
        return key

    def printed(self, call: str | None, text: str) -> None:
        """Note what a call printed that still runs: tests that have failed will not pass."""
        begun = self._calls.get(_key(call))
        if (
            self._tools
            and begun
            and begun.run
            and (verdict := self._tools.verdict(begun.run, text, None))
        ):
            begun.failing = begun.failing or verdict.passed is False

    def commits(self, call: str | None) -> bool:
        """Whether a call makes commits."""
        return bool((begun := self._calls.get(_key(call))) and begun.commits)

    def prompt(self, text: str) -> None:
        """Note what a prompt of a person says of the work before it, where there was some; its text is not kept."""
        self._waits = True
        if self.looks and self._worked and (said := said_in(text)):
            self._row(rows.PROMPT, _SAID[said])

    def taken_back(self, since: int) -> None:
        """Note that the user took back what he wrote from a line on."""
        self._tables[rows.PROMPT] = [row for row in self._tables[rows.PROMPT] if row[1] < since]

    def refused(self, call: str | None, reason: str = "") -> None:
        """Note that the user refused a call, and why; a question, one that was declined too, is no correction."""
        begun = self._calls.pop(key := _key(call), None)
        response = _key(begun.response) if begun else self._over.pop(key, 0)
        self.refused_calls.add(key)
        if (begun is not None and begun.question) or asks(reason):
            self._answered = True
        else:
            self._row(rows.BREAK, rows.REJECTION, response)

    def interrupted(self) -> None:
        """Note that the user stopped the agent; where that goes with a question that was declined, it is none."""
        if not self._answered:
            self._row(rows.BREAK, rows.INTERRUPT, int(self._waits))
        self._answered = False

    def compacted(self) -> None:
        """Note that the harness cut what came before to a summary, to make room."""
        self._row(rows.NOTE, rows.COMPACTION)

    def said(self, text: str) -> None:
        """Note a text of the agent to the user; of a sub-agent there are none."""
        if self.looks and text.strip():
            self._waits = False
            self._row(rows.SAID, int(claims_tests_pass(text)))

    def asked(self) -> None:
        """Note a text of the user or of the harness for him: the agent's reply to what came before is at its end."""
        if self.looks:
            self._row(rows.SAID, -1)

    def fill(self, filled: rows.Rows, opens: bool) -> rows.Rows:
        """Put what was seen into rows, and whether the transcript begins where its session does; return them."""
        tables = {kind: list(found) for kind, found in self._tables.items()}
        texts, runs, commits = dict(self._texts), list(self._runs), list(self._commits)
        for begun in (*self._calls.values(), *self._without_id):
            if begun.ended or (begun.key and begun.key in self.refused_calls):
                continue
            where = begun.span, begun.number
            if begun.run:
                label = texts.setdefault(begun.run.label, len(texts))
                passed = 0 if begun.failing else -1
                runs.append(
                    (
                        (*where, begun.key, rows.CALL_ONLY, label, passed, -1, -1, begun.number),
                        begun,
                    )
                )
            if begun.commits:
                row = (
                    *where,
                    begun.key,
                    rows.CALL_ONLY,
                    0,
                    0,
                    0,
                    begun.number,
                    int(begun.amends(1)[0]),
                )
                commits.append((row, False, None))
            _keep(tables, begun, where, begun.alone and begun.key in self._failed_first)
        homes = {
            folder
            for folder in (*self._trees, *(span.cwd for span in filled.spans))
            if folder.startswith("/")
        }
        tables[rows.RUN] += [
            row
            for row, by in runs
            if not (by and by.run and by.is_elsewhere([by.run.folder], homes))
        ]
        tables[rows.MADE] += [
            (
                *row,
                int(
                    is_first or bool(by and by.is_elsewhere([one for one, _ in by.commits], homes))
                ),
            )
            for row, is_first, by in commits
        ]
        filled.tables |= {
            kind: sorted(found, key=itemgetter(1)) for kind, found in tables.items() if found
        }
        filled.lines, filled.texts, filled.opens = sorted(self._lines), list(texts), opens
        return filled

    def _begin(self, call: str | None) -> _Call:
        begun = _Call(self._span, self._number, _key(call), self._response)
        self._worked, self._waits = True, False
        if not call:
            self._without_id.append(begun)
            return begun
        begun.ended = (
            begun.key in self._calls or begun.key in self._over
        )  # written again: the first time counts
        if not begun.ended:
            self._calls[begun.key] = begun
        return begun

    def _run(
        self, key: int, state: int, label: int, verdict: TestVerdict, begun: _Call | None = None
    ) -> None:
        if begun and begun.run and begun.run.folder is None:
            verdict = TestVerdict()  # of what code is not known
        numbers = (-1 if number is None else int(number) for number in verdict)
        place = self._span, self._number, key, state, label, *numbers, begun.number if begun else -1
        self._runs.append((place, begun))

    def _made(self, key: int, state: int, text: str, begun: _Call | None = None) -> None:
        lines = commandlines.commit_lines(text)
        amends = begun.amends(len(lines)) if begun else [False] * len(lines)
        for line, is_amended in zip(lines, amends, strict=True):
            digits, is_first = line.sha[:_SHA_DIGITS], line.branch.endswith(commandlines.FIRST)
            name = int(digits, 16), len(digits), rows.key_of(line.subject)
            made = *name, begun.number if begun else -1, int(is_amended)
            self._commits.append(((self._span, self._number, key, state, *made), is_first, begun))

    def _row(self, kind: int, *columns: int) -> None:
        self._tables[kind].append((self._span, self._number, *columns))

    def _edits(self, paths: Iterable[str], how: int, folder: str = "") -> list[tuple[int, int]]:
        """Return the numbers of paths, and how they are written; as many as are kept of one call."""
        several = islice(filter(None, paths), PATHS_OF_A_CALL)
        numbers = {
            self._text(posixpath.normpath(posixpath.join(folder, path))): how for path in several
        }
        return [(number, how) for number, how in numbers.items() if number >= 0]

    def _wrote(self, lines: AddedLines, folder: str, whole: bool) -> list[_Row]:
        """Return the numbers of paths with what changes of their lines, given that or the ``whole`` of them."""
        named = (
            (posixpath.normpath(posixpath.join(folder, name)), new) for name, new in lines.items()
        )
        found = {
            path: self.files.change(path, new, whole)
            for path, new in islice(named, PATHS_OF_A_CALL)
        }
        return [
            (number, *change)
            for path, change in found.items()
            if change and (number := self._text(path)) >= 0
        ]

    def _text(self, text: str) -> int:
        """Return the number of a text; -1 for one that is too long."""
        return (
            self._texts.setdefault(text, len(self._texts)) if len(text) <= rows.TEXT_LIMIT else -1
        )


def _keep(
    tables: dict[int, list[_Row]], begun: _Call, written: tuple[int, int], undone: bool
) -> None:
    """Keep the rows of a call. Files are ``written`` where it ended, and not when it came to nothing."""
    tables[rows.WORD] += begun.words
    if not undone:
        tables[rows.EDIT] += [(*written, path, how) for path, how in begun.edits]
        tables[rows.WROTE] += [(*written, *row) for row in begun.wrote]
        tables[rows.UNSURE] += [(*written, path) for path, _ in begun.unsure]
        tables[rows.REWROTE] += [(*written, path) for path, _ in begun.rewrote]
        tables[rows.RESET] += begun.resets
        tables[rows.NOTE] += [(begun.span, begun.number, rows.AGENT)] if begun.agent else []


def _key(call: str | None) -> int:
    return rows.key_of(call) if call else 0


def _with_folders(
    commands: Iterable[ShellCommand], folder: str
) -> Iterable[tuple[ShellCommand, str]]:
    """Yield commands that run one after the other, each with the folder that it runs in."""
    for command in commands:
        yield command, folder
        folder = _folder_after((command,), folder)


def _maybe_written(commands: Sequence[ShellCommand], folder: str, text: str) -> Iterable[str]:
    """Yield the paths that commands may write, by a redirection where no plain words say which; ``$`` is not known."""
    start = ""
    for command, here in _with_folders(commands, folder):
        inside = commands_of(" ".join(command.words[1:])) if command.words[:1] == ("eval",) else ()
        redirected = (*command.writes, *(path for one in inside for path in one.writes))
        unsure = [
            posixpath.join(start, path)
            for path in redirected
            if start or inside or _EXPANDED.search(path)
        ]
        for one in (command, *inside):
            paths = targets(one.words, text, "xargs" in one.through) if one.words else ()
            unsure += (posixpath.join(start or here, path) for path in paths)
        for path in unsure:
            if folder.startswith(commandlines.TEMPORARY) or not path.startswith(
                commandlines.TEMPORARY
            ):
                yield path if _EXPANDED.search(path) else f"$/{path}"
        if command.words[:1] in (("cd",), ("pushd",), ("popd",)) and (
            command.depth or command.after in ("&&", "||", "?") or not _folder_after((command,), "")
        ):
            start = "$"  # where the line goes on is not known


_EXPANDED = re.compile(r"[$`*?\[{]")  # what a shell replaces in a path
_UNKNOWN_FOLDERS = frozenset(("-", "$", "~", ""))


def _folder_after(commands: Sequence[ShellCommand], folder: str) -> str:
    """Return the folder in which commands end, as far as ``cd`` says so in plain words."""
    for command in commands:
        if (
            command.words[:1] == ("cd",)
            and len(command.words) == 2
            and command.words[1][:1] not in _UNKNOWN_FOLDERS
        ):
            folder = posixpath.join(folder, command.words[1])
    return folder


def _work_trees(words: Sequence[str]) -> Sequence[str]:
    """Return what may be the folder of a work tree of the repository that a command adds."""
    at = (
        words.index("worktree") + 1 if words[:1] == ("git",) and "worktree" in words else len(words)
    )
    return (
        [word for word in words[at + 1 :] if word[:1] != "-"]
        if words[at : at + 1] == ("add",)
        else []
    )
