"""The test tools that are known: how their commands begin, and what they print.

The tools are data, in ``test_tools.toml``. The comment at its top says what each key means, and
``docs/TEST_TOOLS.md``, "How to add a tool", how to add one.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cache, lru_cache
from pathlib import Path
from typing import Any, NamedTuple

from scoring.evidence.commands.summary_forms import LABEL, SummaryForm

TOOL_TABLE = Path(__file__).parent / "test_tools.toml"

SCRIPT_TOOL = "script"
"""The name of the tool that the repository's own scripts are."""

_ANY_WORDS = "..."
_LATEST = "latest"
"""A usual word that has "test" in it and means something else."""

_EXECUTABLE_SUFFIXES = (".exe", ".cmd", ".bat", ".phar", ".sh")
_SCRIPT_SUFFIXES = ("js", "mjs", "cjs")
_MAIN_MODULE = "__main__.py"
_NODE_PACKAGES = "node_modules"
_VERSION = re.compile(r"(?<=[a-z])-?\d[\d.]*$")
_NUMBER_IN_PATTERN = re.compile(r"(\\d|\[\\d\.\])([+*])(?![+?])")

_NUMBER_KEYS = ("passed", "failed", "skipped", "total")
_NAMES_OF_PYTHON = ("py", "pypy")


class CommandStart(NamedTuple):
    """How a command begins that runs a tool.

    Attributes:
        words: the words after the program. A pattern matches any word that is not an option, and
            "..." means any words.
        valued_options: the options of the program that take the next word as their value.
    """

    words: tuple[re.Pattern[str] | str, ...]
    valued_options: frozenset[str]

    def length_in(self, words: Sequence[str]) -> int:
        """Return how many words of a command this beginning takes.

        Return 0 when the command begins otherwise.

        Options between the words are passed over.
        """
        position = 1
        passes_words = False

        for wanted in self.words:
            if wanted == _ANY_WORDS:
                passes_words = True
                continue

            index = self._index_of(wanted, words, position, passes_words=passes_words)
            if index is None:
                return 0
            position = index + 1
        return position

    def _index_of(
        self,
        wanted: re.Pattern[str] | str,
        words: Sequence[str],
        position: int,
        *,
        passes_words: bool,
    ) -> int | None:
        """Return where a word of the beginning comes next.

        Return None where another word comes first.
        """
        while position < len(words):
            word = words[position]
            if _is_wanted(wanted, word):
                return position

            if _is_option(word):
                position += 2 if word in self.valued_options else 1
            elif passes_words:
                position += 1
            else:
                return None
        return None


class TestTool(NamedTuple):
    """A test tool.

    Attributes:
        name: its name in reports.
        never: words with which it runs no test.
        failing: the summaries of a run that failed.
        passing: those of a run that passed.
        empty: those of a run without tests, which no exit status makes a pass.
        counting: further lines that have numbers.
        numbers: what finds the numbers of tests in such lines: "passed", "failed", "skipped" and
            "total", as far as the tool states them.
        sums: whether the numbers of all such lines count, not only of the last of each form.
        runs_any: whether it runs other tools. Their forms count as well.
        if_shown: whether it may run no tests: a run counts where the output has a summary of one.
    """

    name: str
    never: frozenset[str]
    failing: tuple[SummaryForm, ...]
    passing: tuple[SummaryForm, ...]
    empty: tuple[SummaryForm, ...]
    counting: tuple[SummaryForm, ...]
    numbers: Mapping[str, re.Pattern[str]]
    sums: bool
    runs_any: bool
    if_shown: bool

    def summaries(self, *, passed: bool) -> tuple[SummaryForm, ...]:
        """Return the forms of the summaries of runs that passed, or of those that failed."""
        return self.passing if passed else self.failing


class ToolTable(NamedTuple):
    """All of ``test_tools.toml``.

    Attributes:
        tools: the tools by name.
        any_summary: finds a line that begins as a summary of any tool, or a run without tests.
        starts: how commands begin, with the name of the tool that they run, by program.
        carriers: what may precede a tool, such as ``python -m``, by program.
        may_run: finds a text that every command line with a test run has.
        refused: matches the beginning of the result of a command that was refused.
        unstarted: lines that say that a program, or what it should run, does not exist.
        no_wrapper: lines by which a program that should start the tests says that it did not.
        ended: lines that say that a command was ended too early.
        harmless: programs that do not fail, or say so.
        folders: options with the folder in which a tool runs.
        hooks: subcommands of git that run hooks.
        script: finds the paths of scripts that run tests.
        no_script: finds those among them that do not, by their path or first argument.
    """

    tools: dict[str, TestTool]
    any_summary: re.Pattern[str]
    starts: dict[str, list[tuple[CommandStart, str]]]
    carriers: dict[str, list[CommandStart]]
    may_run: re.Pattern[str]
    refused: re.Pattern[str]
    unstarted: tuple[SummaryForm, ...]
    no_wrapper: tuple[SummaryForm, ...]
    ended: tuple[SummaryForm, ...]
    harmless: frozenset[str]
    folders: frozenset[str]
    hooks: frozenset[str]
    script: re.Pattern[str]
    no_script: re.Pattern[str]

    def tool_begun_by(self, words: Sequence[str]) -> TestTool | None:
        """Return the tool that a command runs by its first words."""
        for start, name in self.starts.get(program_name(words[0]), ()):
            if start.length_in(words):
                return self.tools[name]
        return None

    def carried_by(self, words: Sequence[str]) -> Sequence[str]:
        """Return the words after the longest carrier that a command begins with, and its options.

        Empty where it begins with no carrier, or nothing follows.
        """
        carriers = self.carriers.get(program_name(words[0]), [])
        length = max((carrier.length_in(words) for carrier in carriers), default=0)
        if length == 0:
            return ()

        valued_options = carriers[0].valued_options  # those of the program
        while length < len(words) and _is_option(words[length]):
            length += 2 if words[length] in valued_options else 1
        return self._as_runner(words[length:])

    def _as_runner(self, words: Sequence[str]) -> Sequence[str]:
        """Return a command that begins with the script of a test tool as one of the tool.

        ``node_modules/mocha/bin/mocha.js`` is ``mocha``, and ``pytest/__main__.py`` is ``python -m
        pytest``.
        """
        if not words:
            return words

        *folders, name = words[0].replace("\\", "/").split("/")
        if name == _MAIN_MODULE and folders:
            return ("python", "-m", folders[-1], *words[1:])

        stem, _, suffix = name.rpartition(".")
        if suffix not in _SCRIPT_SUFFIXES:
            return words
        if any(not start.words for start, _ in self.starts.get(stem, ())):
            return (stem, *words[1:])
        if _NODE_PACKAGES in folders[:-1]:
            last = len(folders) - 1 - folders[::-1].index(_NODE_PACKAGES)
            package = folders[last + 1].removeprefix("@")
            if package in self.starts:
                return (package, *words[1:])
        return words

    def is_test_script(self, path: str, argument: str) -> bool:
        """Return whether a script runs tests, by its path and its first argument."""
        if not self.script.search(path):
            return False
        return not (self.no_script.search(path) or self.no_script.search(argument))


@lru_cache(maxsize=4096)
def program_name(word: str) -> str:
    """Return the name of a program without its folder, version and suffix."""
    name = word.replace("\\", "/").rpartition("/")[2]
    for suffix in _EXECUTABLE_SUFFIXES:
        name = name.removesuffix(suffix)

    name = _VERSION.sub("", name)
    return "python" if name in _NAMES_OF_PYTHON else name


def _is_option(word: str) -> bool:
    return word.startswith(("-", "+"))


def _is_wanted(wanted: re.Pattern[str] | str, word: str) -> bool:
    if isinstance(wanted, str):
        return word == wanted
    return not _is_option(word) and wanted.fullmatch(word.replace(_LATEST, "")) is not None


@cache
def tool_table() -> ToolTable:
    """Return the table of test tools, which is read once."""
    import tomllib  # under the rules of the reference no command is looked at

    data = tomllib.loads(TOOL_TABLE.read_text("utf-8"))
    rows = data["tool"]
    start_texts = [text for row in rows for text in row["starts"]]
    tools = {row["name"]: _tool_of(row, data["never"]) for row in rows}

    return ToolTable(
        tools=tools,
        any_summary=_any_summary_of(tools.values()),
        starts=_starts_by_program(rows, data["valued"]),
        carriers=_carriers_by_program(data["carriers"], data["valued"]),
        may_run=_common_texts(start_texts),
        refused=_any_of(data["refused"]),
        unstarted=_forms(data["unstarted"]),
        no_wrapper=_forms(data["no_wrapper"]),
        ended=_forms(data["ended"]),
        harmless=frozenset(data["harmless"]),
        folders=frozenset(data["folders"]),
        hooks=frozenset(data["hooks"]),
        script=_any_of(data["script"]),
        no_script=_any_of(data["no_script"]),
    )


def _tool_of(row: Mapping[str, Any], never: Iterable[str]) -> TestTool:
    """Return a tool of the data.

    Args:
        row: the entry of the tool.
        never: words with which no tool runs a test.
    """
    numbers = {
        key: _pattern(row[key].replace(r"(\d+)", r"(?<!\d)(\d+)"))
        for key in _NUMBER_KEYS
        if key in row
    }
    return TestTool(
        name=row["name"],
        never=frozenset(never) | frozenset(row.get("never", ())),
        failing=_forms(row.get("failing", ())),
        passing=_forms(row.get("passing", ())),
        empty=_forms(row.get("empty", ())),
        counting=_forms(row.get("counting", ())),
        numbers=numbers,
        sums=row.get("sums", False),
        runs_any=row.get("runs_any", False),
        if_shown=row.get("if_shown", False),
    )


def _starts_by_program(
    rows: Iterable[Mapping[str, Any]], valued: Mapping[str, Sequence[str]]
) -> dict[str, list[tuple[CommandStart, str]]]:
    starts: dict[str, list[tuple[CommandStart, str]]] = {}
    for row in rows:
        for text in row["starts"]:
            program, start = _start_of(text, valued)
            starts.setdefault(program, []).append((start, row["name"]))
    return starts


def _carriers_by_program(
    texts: Iterable[str], valued: Mapping[str, Sequence[str]]
) -> dict[str, list[CommandStart]]:
    carriers: dict[str, list[CommandStart]] = {}
    for text in texts:
        program, start = _start_of(text, valued)
        carriers.setdefault(program, []).append(start)
    return carriers


def _start_of(text: str, valued: Mapping[str, Sequence[str]]) -> tuple[str, CommandStart]:
    """Return the program of a beginning in the data, and the rest of it."""
    first, *texts = text.split()
    program = program_name(first)

    words: list[re.Pattern[str] | str] = []
    for word in texts:
        if "*" in word:
            letters = map(re.escape, word.split("*"))
            words.append(re.compile(".*".join(letters), re.DOTALL))
        else:
            words.append(word)

    return program, CommandStart(tuple(words), frozenset(valued.get(program, ())))


def _forms(rows: Iterable[Sequence[str]]) -> tuple[SummaryForm, ...]:
    return tuple(SummaryForm(text, _pattern(line), *condition) for text, line, *condition in rows)


def _any_summary_of(tools: Iterable[TestTool]) -> re.Pattern[str]:
    """Return what finds, in one pass, a line of any of the forms that decide a verdict."""
    patterns: dict[str, None] = {}
    for tool in tools:
        for form in (*tool.failing, *tool.passing, *tool.empty):
            patterns[f"(?:{form.pattern.pattern})"] = None
    return re.compile(f"^{LABEL}?(?:{'|'.join(patterns)})", re.MULTILINE)


def _pattern(text: str) -> re.Pattern[str]:
    """Compile a pattern of the data, in which a number is all of its digits.

    So a long number is not tried again from each of its digits.
    """
    return re.compile(_NUMBER_IN_PATTERN.sub(r"\1\2+", text), re.MULTILINE)


def _any_of(patterns: Iterable[str]) -> re.Pattern[str]:
    return re.compile("|".join(patterns))


def _common_texts(starts: Iterable[str]) -> re.Pattern[str]:
    """Return what finds a text in each command line that begins as one of ``starts`` does."""
    texts = {_text_in_every(start) for start in starts}

    needed: list[str] = []
    for text in sorted(texts):
        is_covered = any(other != text and other in text for other in texts)
        if not is_covered:
            needed.append(re.escape(text))
    return re.compile("|".join(needed))


def _text_in_every(start: str) -> str:
    """Return a text that is in every command that begins so."""
    for text in ("test", "Test"):
        if text in start:
            return text

    words = [word for word in re.split(r"[ *.]+", start) if word not in ("python", "-m")]
    return max(words, key=len)
