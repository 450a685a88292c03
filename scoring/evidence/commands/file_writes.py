"""Which files a command writes that its redirections do not name (``file_writers.toml``)."""

import posixpath
import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path

from scoring.evidence.commands.programs import (
    OptionRule,
    ProgramCall,
    ProgramNames,
    patterns_of,
    rows_by_program,
)
from scoring.frozen import Frozen
from scoring.settings_table import read_toml

WRITER_TABLE = Path(__file__).parent / "file_writers.toml"

ANY_BELOW = "/**"
"""The end of a path that means everything below it."""

_FIND_ACTIONS = ("-exec", "-execdir", "-ok", "-okdir")
_END_OF_ACTION = (";", "+")
_FIND_OUTPUTS = ("-fprint", "-fls")

_COPIES_FOLDERS = re.compile(r"-[a-zA-Z]*[rRas]|--recursive|--archive|--symbolic|--parents")
_MOVES_FOLDERS = ("mv", "git mv", "rsync")
_PACKED = re.compile(r"\.(?:gz|bz2|xz|zst|lz4)$")

EXPANDED = re.compile(r"[$`*?\[{]")
"""What a shell replaces in a path."""

_QUOTES = re.compile(r"[\"'`>\\]")
_WORD_BREAKS = re.compile(r"[\"'`>\\\s;|&()<=,]")
_FILE_NAME = re.compile(r"[\w.{}$*?%/~#+-]{1,200}\.\w{1,5}")
_INSERTED = re.compile(r"#?\{[^{}]*\}|%\w")  # what a program puts into a text


class RewriteRule(OptionRule, frozen=True):
    """When a program changes files in place, and whether it does so where it runs."""

    here: bool = False


class WriterRule(OptionRule, frozen=True):
    """What a program writes: see ``to`` and ``into`` in ``file_writers.toml``.

    Attributes:
        to: "operands", "copy", "here", "below" or "value".
        into: matches an option with the file that it writes, which is the first group, or the
            next word where that is empty.
    """

    to: str = "operands"
    into: re.Pattern[str] | None = None

    def named_files(self, arguments: Sequence[str]) -> list[str]:
        """Return the files and folders that options name."""
        if self.into is None:
            return []

        files: list[str] = []
        for argument, following in pairwise((*arguments, "")):
            match = self.into.fullmatch(argument)
            if match and (match[1] or following):
                files.append(match[1] or following)
        return files


class CodeRule(Frozen):
    """How a program is given code.

    Attributes:
        options: matches an option with code.
        breaks: what is between the names of files in the code.
    """

    options: re.Pattern[str]
    breaks: re.Pattern[str]

    def is_given_code(self, arguments: Sequence[str]) -> bool:
        """Return whether arguments have code, or none at all: then it comes through a pipe."""
        return not arguments or any(self.options.fullmatch(argument) for argument in arguments)


_TABLE = read_toml(WRITER_TABLE.read_text("utf-8"))


def _read_rewrites() -> dict[str, RewriteRule]:
    rules: dict[str, RewriteRule] = {}
    for name, row in rows_by_program(_TABLE["rewrites"]).items():
        here = bool(row.get("here", False))
        rules[name] = RewriteRule(here=here, **patterns_of(row, ("when", "unless")))
    return rules


def _read_removers() -> dict[str, OptionRule]:
    rows = rows_by_program(_TABLE["removers"])
    return {name: OptionRule(**patterns_of(row, ("unless",))) for name, row in rows.items()}


def _read_writers() -> dict[str, WriterRule]:
    rules: dict[str, WriterRule] = {}
    for name, row in rows_by_program(_TABLE["writers"]).items():
        into = None
        if "into" in row:
            into = re.compile(f"(?:{row['into']})=?(.*)", re.DOTALL)

        patterns = patterns_of(row, ("when", "unless"))
        rules[name] = WriterRule(to=row.get("to", "operands"), into=into, **patterns)
    return rules


def _read_code_rules() -> dict[str, CodeRule]:
    unquoted = _TABLE["code"]["words"].split()
    rules: dict[str, CodeRule] = {}
    for names, options in _TABLE["code"]["options"].items():
        for name in names.split():
            breaks = _WORD_BREAKS if name in unquoted else _QUOTES
            rules[name] = CodeRule(options=re.compile(options), breaks=breaks)
    return rules


_REWRITES = _read_rewrites()
_WRITERS = _read_writers()
_REMOVERS = _read_removers()
_CODE = _read_code_rules()
_CODE_THAT_WRITES = re.compile(_TABLE["code"]["writes"])
_NAMES = ProgramNames(_REWRITES, _WRITERS, _REMOVERS)

_MOST_FINDS = 3
"""How many commands ``find`` within each other are looked into; deeper ones may write anything."""

_UNKNOWN_WRITER = WriterRule(to="value")


def rewritten_path(words: Sequence[str]) -> str:
    """Return what a simple command changes in place, "." for the folder it runs in, "" for nothing.

    Args:
        words: the words of the command, at least one.
    """
    call = _NAMES.call(words, _REWRITES)
    rule = _REWRITES.get(call.name)
    if rule is None or not rule.applies(call.options):
        return ""

    if rule.here or not call.operands:
        return "."
    return call.operands[-1]


def removed_paths(words: Sequence[str]) -> list[str]:
    """Return the paths that a simple command deletes, or moves from and to, in plain words.

    Args:
        words: the words of the command, at least one.
    """
    call = _NAMES.call(words, _REMOVERS)
    rule = _REMOVERS.get(call.name)
    if rule is None or not rule.applies(call.options):
        return []
    return [path for path in call.operands if not EXPANDED.search(path)]


def is_given_code(program: str, arguments: Sequence[str]) -> bool:
    """Return whether a program runs code that its arguments hold, or that comes through a pipe."""
    rule = _CODE.get(program)
    return rule is not None and rule.is_given_code(arguments)


def possible_targets(
    words: Sequence[str], line: str, *, takes_words: bool = False, finds: int = 0
) -> Iterator[str]:
    """Yield the paths that a simple command may write, from the folder that it runs in.

    ``PATH/**`` is everything below a path, and ``$/PATH`` the path in an unknown folder.

    Args:
        words: the words of the command, at least one.
        line: the text of the whole command line, which may hold code.
        takes_words: whether another program, such as ``xargs``, passes words on to it: files that
            the line names, or any below the folder it runs in.
        finds: in how many commands ``find`` it is.
    """
    if finds > _MOST_FINDS:
        yield "$"
        return

    call = _NAMES.call(words, _WRITERS)
    runs_code = is_given_code(call.program, call.arguments)

    if runs_code:
        yield from _paths_in_code(call, line)
    if call.name == "find":
        yield from _targets_of_find(call.arguments, line, finds + 1)

    folder = _git_folder(words) if call.program == "git" else ""
    for path in _targets_of_call(call):
        yield posixpath.join(folder, path)

    if takes_words and _may_write_words(call, runs_code=runs_code):
        yield from _paths_between(f"{line} >", _WORD_BREAKS)
        if "*." not in line and "name" not in line:
            yield "." + ANY_BELOW


def _paths_in_code(call: ProgramCall, line: str) -> Iterator[str]:
    """Yield the paths in the code that a program runs: its last argument, or anywhere in a line."""
    code = line
    if call.arguments and not call.arguments[-1].startswith(("-", "$", "/")):
        code = " ".join(call.arguments)
    yield from _paths_between(code, _CODE[call.program].breaks)


def _paths_between(code: str, breaks: re.Pattern[str]) -> Iterator[str]:
    """Yield the names of files in code that may write, here and in any folder."""
    if not _CODE_THAT_WRITES.search(code):
        return

    for text in set(breaks.split(code)):
        name = _INSERTED.sub("*", text.strip())
        if _FILE_NAME.fullmatch(name):
            yield name
            yield f"$/{name}"


def _targets_of_find(arguments: Sequence[str], line: str, finds: int) -> Iterator[str]:
    """Yield the paths that ``find`` writes, and the command that it starts."""
    for argument, following in pairwise(arguments):
        if argument.startswith(_FIND_OUTPUTS):
            yield following

    started = _started_by_find(arguments)
    if started:
        yield from possible_targets(started, line, takes_words=True, finds=finds)


def _started_by_find(arguments: Sequence[str]) -> list[str]:
    """Return the words of the first command that ``find`` starts, without its end."""
    for index, argument in enumerate(arguments):
        if argument in _FIND_ACTIONS:
            return _up_to_end_of_action(arguments[index + 1 :])
    return []


def _up_to_end_of_action(words: Sequence[str]) -> list[str]:
    command: list[str] = []
    for word in words:
        if word in _END_OF_ACTION:
            break
        command.append(word)
    return command


def _git_folder(words: Sequence[str]) -> str:
    """Return the folder of ``git -C``, or ""."""
    for word, following in pairwise(words):
        if word == "-C":
            return following
    return ""


def _targets_of_call(call: ProgramCall) -> list[str]:
    """Return the paths that the table says a program may write."""
    rule = _WRITERS.get(call.name, _UNKNOWN_WRITER)
    named = rule.named_files(call.arguments)

    to = rule.to
    if not rule.applies([*call.options, *call.operands[:1]]):
        to = "value"

    targets: list[str] = []
    if to == "copy":
        targets = _targets_of_copy(call, named)
    elif to == "here":
        targets = [posixpath.join(folder, "*") for folder in named or ["."]]
    elif to == "below":
        targets = [folder + ANY_BELOW for folder in named or [".", *call.operands]]
    elif to == "operands":
        for operand in call.operands:
            targets += [operand, _PACKED.sub("", operand), operand + ANY_BELOW]

    return [*named, *targets]


def _targets_of_copy(call: ProgramCall, named: Sequence[str]) -> list[str]:
    """Return what a copy, a move or a link may write: its destination, and files in it."""
    destination = _destination(call, named)
    if not destination:
        return []

    sources = [operand for operand in call.operands if operand != destination]
    targets = [destination]
    for source in sources:
        name = "*" if "$" in source else posixpath.basename(source.rstrip("/"))
        targets.append(posixpath.join(destination, name))

    copies_folders = any(_COPIES_FOLDERS.match(option) for option in call.options)
    if not copies_folders and call.name not in _MOVES_FOLDERS:
        return targets

    folders = targets
    if not _copies_contents(call, sources):
        folders = [path for path in targets if path not in (".", "./", "..")]
    return [*targets, *(folder + ANY_BELOW for folder in folders)]


def _destination(call: ProgramCall, named: Sequence[str]) -> str:
    """Return where a copy goes.

    It is "" where the command does not say.
    """
    if named:
        return named[0]
    if len(call.operands) > 1 or any("$" in operand for operand in call.operands):
        return call.operands[-1]
    if call.name == "ln":
        return "."
    return ""


def _copies_contents(call: ProgramCall, sources: Sequence[str]) -> bool:
    """Return whether a copy may merge a folder into one that exists."""
    if call.name == "rsync" or "--parents" in call.options:
        return True
    return any(source.endswith(("/", "/.", "*")) for source in sources)


def _may_write_words(call: ProgramCall, *, runs_code: bool) -> bool:
    """Return whether a program may write files when it is passed their names."""
    if runs_code:
        return _CODE_THAT_WRITES.search(" ".join(call.arguments)) is not None
    return call.name in _WRITERS
