"""Which commands are test runs, and how they ended by what they print (``docs/TEST_TOOLS.md``); long as its rules."""

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cache, lru_cache
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

from scoring.evidence.commands import commandlines
from scoring.evidence.commands.shell import ShellCommand

DATA = Path(__file__).parent / "test_tools.toml"
LABEL_LIMIT = 60  # how many characters of a command are named
_LINE_LIMIT = 1000  # how much of a line behind what was looked for may have numbers
_MOST_COMPARED = (
    100  # lines of an output, the last ones, that are compared with what the command line prints
)
_OWN = "test-commands"  # the name of the tool that the setting's commands are
_LATEST = "latest"  # a usual word that has "test" in it and means something else
_SCRIPT = "script"  # the name of the tool that the repository's own scripts are

_COLOURS = re.compile(r"\x1b\[[0-?]*+[ -/]*+[@-~]?")
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff]+")
_VERSION = re.compile(r"(?<=[a-z])-?\d[\d.]*$")
_CD_FAILED = re.compile(
    r"^[^\n]{0,100}\bcd:[^\n]{0,300}(?:no such file|not a directory|permission)", re.M | re.I
)
_DIGITS = re.compile(r"(\\d|\[\\d\.\])([+*])(?![+?])")  # how the data writes a number
_EXECUTABLE = (".exe", ".cmd", ".bat", ".phar", ".sh")


class TestCommand(NamedTuple):
    """A command line that runs tests: the tool of its last test command, that command's first words, and all tools.

    ``passes`` and ``fails`` are whether an exit status can only be that command's; ``folder`` is where it runs.
    ``beside`` are tools of other commands, ``filters`` what reads its output, ``by_cd`` that a ``cd`` guards it,
    ``hooked`` where a commit is ("before", "behind"), ``again`` that it only repeats a failed run. ``own_failure`` and
    ``own_pass`` are whether a summary in the output can only be the run's, ``printed`` the words of the others.
    """

    tool: str
    label: str
    passes: bool = False
    fails: bool = False
    tools: tuple[str, ...] = ()
    folder: str | None = ""
    beside: frozenset[str] = frozenset()
    filters: tuple[tuple[str, ...], ...] = ()
    by_cd: bool = False
    hooked: str = ""
    again: bool = False
    own_failure: bool = True
    own_pass: bool = True
    printed: Sequence[frozenset[str]] = ()


class TestVerdict(NamedTuple):
    """How a run ended: whether it passed, None when nothing says so, and how many tests did, None when not said."""

    passed: bool | None = None
    passed_tests: int | None = None
    failed_tests: int | None = None


class _Form(NamedTuple):
    """A line of a summary: a text that is in it, how it begins, and when it counts ("": always)."""

    has: str
    line: re.Pattern[str]
    only: str = ""


class _Start(NamedTuple):
    """How a command begins: words, some of which are patterns, and which options before them take a value."""

    words: tuple[re.Pattern[str] | str, ...]
    valued: frozenset[str]


class _Tool(NamedTuple):
    name: str
    never: frozenset[str]
    failing: tuple[_Form, ...]
    passing: tuple[_Form, ...]
    empty: tuple[_Form, ...]
    counting: tuple[_Form, ...]
    numbers: dict[str, re.Pattern[str]]
    sums: bool
    runs_any: bool


class _Table(NamedTuple):
    """The data: tools by name, how commands begin by program, and what may come before; what says that nothing ran."""

    tools: dict[str, _Tool]
    starts: dict[str, list[tuple[_Start, str]]]
    carriers: dict[str, list[_Start]]
    prefilter: re.Pattern[str]
    refused: re.Pattern[str]
    unstarted: tuple[_Form, ...]
    ended: tuple[_Form, ...]
    harmless: frozenset[str]
    folders: frozenset[str]
    hooks: frozenset[str]
    script: re.Pattern[str]
    no_script: re.Pattern[str]


class TestTools:
    """The tools that are known, and the beginnings of commands of the setting ``test-commands``: ``./check``."""

    def __init__(self, extra: Sequence[str] = ()) -> None:
        self._table = _table()
        self._extra = [tuple(words) for text in extra if (words := text.split())]
        self._names = tuple(words[0].removeprefix("./") for words in self._extra)

    def may_run(self, text: str) -> bool:
        """Return whether a command line can be a test run at all: quick, and never False for one that is."""
        return self._table.prefilter.search(text) is not None or any(
            name in text for name in self._names
        )

    def run_of(self, commands: Sequence[ShellCommand], text: str) -> TestCommand | None:
        """Return what tests the commands of a text run; None when they run none."""
        called = commandlines.are_run(commands)
        found = [
            (at, tool)
            for at, one in enumerate(commands)
            if called[at] and (tool := self._tool(one))
        ]
        if not found:
            return None
        at, tool = found[-1]
        runs, last, table = dict(found), commands[at], self._table
        others = [one for n, one in enumerate(commands) if n not in runs and one.words]
        programs = {_program_of(one.words[0]) for one in others}
        hooks = [n for n, one in enumerate(commands) if self._has_hooks(one)]
        passes, fails = commandlines.status_of(commands, at, table.harmless)
        return TestCommand(
            tool,
            _label(last.words),
            passes,
            fails,
            tuple(dict.fromkeys(name for _, name in found)),
            commandlines.folder_of(commands, at, table.folders, tool == _SCRIPT),
            frozenset(name for program in programs for _, name in table.starts.get(program, ())),
            tuple(one.words for one in commandlines.readers(commands, at)),
            any(
                one.words[:1] in (("cd",), ("pushd",))
                for one in commandlines.chain_before(commands, at)
            ),
            "" if not hooks else "before" if hooks[0] < found[0][0] else "behind",
            len(found) > 1 and last.after == "||",
            *commandlines.shown_by(commands, runs, text),
        )

    def _has_hooks(self, command: ShellCommand) -> bool:
        first = command.words[1:5]
        is_git = (
            command.words[:1] == ("git",)
            and "stash" not in first
            and "--no-verify" not in command.words
        )
        return is_git and not self._table.hooks.isdisjoint(first)

    def _tool(self, command: ShellCommand) -> str:
        """Return the name of the tool that a simple command runs; "" when it runs none."""
        words: Sequence[str] = command.words
        if not words:
            return ""
        for own in self._extra:
            if (
                f"/{words[0]}".endswith(f"/{own[0].removeprefix('./')}")
                and tuple(words[1 : len(own)]) == own[1:]
            ):
                return _OWN
        for _ in range(3):  # a carrier may carry another one
            program = _program_of(words[0])
            for start, name in self._table.starts.get(program, ()):
                if _begins(start, words):
                    tool = self._table.tools[name]
                    return "" if any(word in tool.never for word in words[1:]) else name
            carried = [
                at
                for start in self._table.carriers.get(program, ())
                if (at := _begins(start, words))
            ]
            if not carried or (behind := _behind_options(words, max(carried), frozenset())) >= len(
                words
            ):
                break
            words = words[behind:]
        script, argument = commandlines.script_of(command.words)
        table = self._table
        runs = table.script.search(script) and not any(
            map(table.no_script.search, (script, argument))
        )
        return _SCRIPT if runs and table.tools[_SCRIPT].never.isdisjoint(command.words) else ""

    def verdict(
        self, command: TestCommand | None, output: str, failed: bool | None
    ) -> TestVerdict | None:
        """Return how a test run ended, or None: by a failing summary, else a passing one, else the exit status."""
        text = _COLOURS.sub("", output) if "\x1b" in output else output
        text = text.replace("\r\n", "\n").replace("\r", "\n")
        if failed is not False and self._table.refused.match(text):
            return None
        tools, ended = self._tried(command), failed is not False and _says(self._table.ended, text)
        bad, good = (
            None if ended and passed else self._said(tools, command, text, passed)
            for passed in (False, True)
        )
        if command is None:
            return bad or good or TestVerdict()
        if not bad and not good and command.by_cd and _CD_FAILED.search(text):
            return None
        by_status = self._by_status(tools, command, text, None if ended else failed)
        if command.hooked == "before" or (bad and good and (command.hooked or command.again)):
            return by_status
        found = bad or good or by_status
        if by_status.passed is (
            not found.passed
        ):  # a summary of a part is not the word of what runs it
            own = [self._table.tools[name] for name in command.tools if name != _OWN]
            return found if self._said(own, command, text, found.passed is True) else TestVerdict()
        return found

    def _by_status(
        self, tools: Sequence[_Tool], command: TestCommand, text: str, failed: bool | None
    ) -> TestVerdict:
        """Return what an exit status says, where nothing but the run can have set it."""
        if failed and command.fails and not _says(self._table.unstarted, text):
            return TestVerdict(False)
        passed = (
            failed is False
            and command.passes
            and not any(_says(tool.empty, text) for tool in tools)
        )
        return TestVerdict(True) if passed else TestVerdict()

    def _said(
        self, tools: Sequence[_Tool], command: TestCommand | None, text: str, passed: bool
    ) -> TestVerdict | None:
        several = [(tool, tool.passing if passed else tool.failing) for tool in tools]
        near = [(tool, forms) for tool, forms in several if any(form.has in text for form in forms)]
        said = [tool for tool, forms in near if self._holds(tool, forms, command, text, passed)]
        is_cut = command is not None and any(
            words[0] not in ("tee", "cat") for words in command.filters
        )
        counts = [
            (None, None) if is_cut and tool.sums else _counts(tool, text, passed) for tool in said
        ]
        return (
            TestVerdict(passed, *max(counts, key=lambda two: sum(n is not None for n in two)))
            if counts
            else None
        )

    def _holds(
        self,
        tool: _Tool,
        forms: Sequence[_Form],
        command: TestCommand | None,
        text: str,
        passed: bool,
    ) -> bool:
        """Whether a tool's summaries are in a text, and are its own: not another command's, and not cut short."""
        filters = () if command is None else command.filters
        failures = [form.has for form in tool.failing]
        if command is not None and not (command.own_pass if passed else command.own_failure):
            return False
        if (
            passed
            and tool.sums
            and not all(commandlines.leaves_failures(words, text, failures) for words in filters)
        ):
            return False
        for form in forms:
            if form.only == "filtered" and not any(
                words[0] in commandlines.FILTERS for words in filters
            ):
                continue
            own = form.only in ("sole", "named")
            alone = not own or (command is not None and tool.name not in command.beside)
            lines = (line.strip() for _, line in _lines(form, text))
            if (
                passed and command is not None
            ):  # but for those that another command may print by its words
                several = (
                    (line, set(commandlines.WORD.findall(line)))
                    for line in islice(lines, _MOST_COMPARED)
                )
                lines = (
                    line for line, words in several if not any(map(words.issubset, command.printed))
                )
            is_there = any(
                alone or (form.only == "named" and "test" in line.lower()) for line in lines
            )
            if is_there and (passed or not own or not _says(self._table.unstarted, text)):
                return True
        return False

    def _tried(self, command: TestCommand | None) -> list[_Tool]:
        tools = self._table.tools
        names = (_OWN,) if command is None else command.tools or (command.tool,)
        runs_any = any(name == _OWN or tools[name].runs_any for name in names)
        return list(tools.values()) if runs_any else [tools[name] for name in names]


def _label(words: Sequence[str]) -> str:
    """Return the first words of a command, with nothing in them that could move a cursor."""
    label = ""
    for word in words:
        longer = f"{label} {_CONTROL.sub(' ', word[: LABEL_LIMIT + 1]).strip()}".strip()
        if len(longer) > LABEL_LIMIT:
            return f"{label} …" if label else longer[: LABEL_LIMIT - 1] + "…"
        label = longer
    return label


@lru_cache(maxsize=4096)
def _program_of(word: str) -> str:
    """Return the name of a program without its folder, version and suffix."""
    name = word.replace("\\", "/").rpartition("/")[2]
    for suffix in _EXECUTABLE:
        name = name.removesuffix(suffix)
    name = _VERSION.sub("", name)
    return {"py": "python", "pypy": "python"}.get(name, name)


def _behind_options(words: Sequence[str], at: int, valued: frozenset[str]) -> int:
    while at < len(words) and words[at][:1] in "-+" and words[at]:
        at += 2 if words[at] in valued else 1
    return at


def _begins(start: _Start, words: Sequence[str]) -> int:
    """Return how many words a beginning takes; 0 when the command does not begin so."""
    at, anywhere = 1, False
    for wanted in start.words:
        if wanted == "...":
            anywhere = True
            continue
        while at < len(words):
            word = words[at]
            is_option = word[:1] in ("-", "+")
            if isinstance(wanted, str):
                fits = word == wanted
            else:
                fits = not is_option and wanted.fullmatch(word.replace(_LATEST, "")) is not None
            if fits:
                break
            if is_option:
                at += 2 if word in start.valued else 1
            elif anywhere:
                at += 1
            else:
                return 0
        at += 1
        if at > len(words):
            return 0
    return at


def _says(forms: Sequence[_Form], text: str) -> bool:
    return any(True for form in forms for _ in _lines(form, text))


def _lines(form: _Form, text: str) -> Iterator[tuple[int, str]]:
    """Yield what fits a form and where it begins, the last first; no line is looked at twice, so the time is linear."""
    end = len(text)
    while (hit := text.rfind(form.has, 0, end)) >= 0:
        start = text.rfind("\n", 0, hit) + 1
        if found := form.line.match(text, start):
            line_end = text.find("\n", found.end(), found.end() + _LINE_LIMIT)
            yield start, text[start : line_end if line_end >= 0 else found.end() + _LINE_LIMIT]
        if start == 0:
            return
        end = start - 1


def _counts(tool: _Tool, text: str, passed_all: bool) -> tuple[int | None, int | None]:
    """Return how many tests passed and failed, as far as the summaries of a tool state that."""
    lines: dict[int, str] = {}
    for form in (*(tool.passing if passed_all else tool.failing), *tool.counting):
        found = _lines(form, text)
        lines.update(found if tool.sums else islice(found, 1))
    numbers = {name: _number(pattern, lines.values()) for name, pattern in tool.numbers.items()}
    passed, failed, total = numbers.get("passed"), numbers.get("failed"), numbers.get("total")
    if passed is None and total is not None and (passed_all or failed is not None):
        passed = max(0, total - (failed or 0) - (numbers.get("skipped") or 0))
    if passed_all:
        return passed, 0 if passed is not None else None
    return passed, failed or None  # what failed was no test, but the run


def _number(pattern: re.Pattern[str], lines: Iterable[str]) -> int | None:
    found = [
        group
        for line in lines
        for match in pattern.finditer(line)
        for group in match.groups()
        if group
    ]
    return sum(int(group[:9]) if group.isdecimal() else 1 for group in found) if found else None


@cache
def _table() -> _Table:
    import tomllib  # under the rules of the reference no command is looked at

    data = tomllib.loads(DATA.read_text("utf-8"))
    valued = {program: frozenset(options) for program, options in data["valued"].items()}
    never = frozenset(data["never"])
    tools: dict[str, _Tool] = {}
    starts: dict[str, list[tuple[_Start, str]]] = {}
    carriers: dict[str, list[_Start]] = {}
    for text in data["carriers"]:
        program, start = _start_of(text, valued)
        carriers.setdefault(program, []).append(start)
    for given in data["tool"]:
        tools[given["name"]] = _tool_of(given, never)
        for text in given["starts"]:
            program, start = _start_of(text, valued)
            starts.setdefault(program, []).append((start, given["name"]))
    needles = {_needle(text) for given in data["tool"] for text in given["starts"]}
    needles = {
        needle
        for needle in needles
        if not any(other != needle and other in needle for other in needles)
    }
    data |= {name: re.compile("|".join(data[name])) for name in ("refused", "script", "no_script")}
    data |= {name: _forms(data[name]) for name in ("unstarted", "ended")}
    data |= {name: frozenset(data[name]) for name in ("harmless", "folders", "hooks")}
    data |= {"tools": tools, "starts": starts, "carriers": carriers}
    data["prefilter"] = re.compile("|".join(map(re.escape, sorted(needles))))
    return _Table(**{name: data[name] for name in _Table._fields})


def _tool_of(given: dict[str, Any], never: frozenset[str]) -> _Tool:
    names = [name for name in ("passed", "failed", "skipped", "total") if name in given]
    kinds = ("failing", "passing", "empty", "counting")
    return _Tool(
        name=given["name"],
        never=never | frozenset(given.get("never", ())),
        **{kind: _forms(given.get(kind, ())) for kind in kinds},
        numbers={name: _pattern(given[name].replace(r"(\d+)", r"(?<!\d)(\d+)")) for name in names},
        sums=given.get("sums", False),
        runs_any=given.get("runs_any", False),
    )


def _forms(given: Iterable[Sequence[str]]) -> tuple[_Form, ...]:
    return tuple(_Form(has, _pattern(line), *only) for has, line, *only in given)


def _pattern(given: str) -> re.Pattern[str]:
    """Return a pattern of the data in which a number is all of its digits, so that a long one is not tried by parts."""
    return re.compile(_DIGITS.sub(r"\1\2+", given), re.MULTILINE)


def _start_of(text: str, valued: dict[str, frozenset[str]]) -> tuple[str, _Start]:
    first, *words = text.split()
    program = _program_of(first)
    globs = {
        word: re.compile(".*".join(map(re.escape, word.split("*"))), re.DOTALL)
        for word in words
        if "*" in word
    }
    return program, _Start(
        tuple(globs.get(word, word) for word in words), valued.get(program, frozenset())
    )


def _needle(text: str) -> str:
    """Return a text that is in every command that begins so."""
    words = [word for word in re.split(r"[ *.]+", text) if word not in ("python", "-m")]
    return "test" if "test" in text else "Test" if "Test" in text else max(words, key=len)
