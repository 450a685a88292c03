"""Reads a shell command line in one pass: its simple commands, and what separates them.

The reader follows the grammar of POSIX shells and bash as far as it decides where a command
begins, which words it has and where its output goes. A line that no shell would take, or one that
is cut off, is read as far as it makes sense. The time is linear in the length of the line.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from scoring.evidence.commands.programs import base_name
from scoring.evidence.commands.shell_command import Between, ShellCommand, ShellEvent
from scoring.evidence.commands.starters import STARTERS

SHELLS = frozenset({"bash", "sh", "zsh", "dash", "ksh"})
"""Programs that run a script, or the text after their option ``-c``."""

_TEXT_RUNNERS = SHELLS | {"nix-shell"}

_SPECIAL = re.compile(
    r"""
    '[^']*+'                                   # a quoted text
    | "[^"\\`$]*+"                             # the same, with nothing to replace in it
    | && | \|\| | ;;?&?
    | &>>?                                     # output and errors go to a file
    | \|&?
    | [<>]&(?:\d+|-)                           # a descriptor is copied or closed
    | <<<                                      # a text as input
    | <<-?[ \t]*(?:'[^'\n]*'|"[^"\n]*"|[^\s|&;()<>'"`]+)   # a here-document with its delimiter
    | [<>]\(                                   # a command in place of a file
    | >> | >[|&]? | <[>&]?
    | &
    | [()\n'"`#]
    | \\.?
    | \$\(
    | \$'(?:[^'\\]++|\\.)*+'?                  # a text with escapes
    | \$\{[^}\n]*+\}?                          # a parameter
    """,
    re.VERBOSE | re.DOTALL,
)
"""Everything that is not simply a part of a word or a blank."""

_IN_DOUBLE_QUOTES = re.compile(r'"|`|\\.?|\$\(', re.DOTALL)
_EMPTY_PARENTHESES = re.compile(r"[ \t]{0,9}\)")  # after the opening one
_ESCAPE = re.compile(r"\\(?:x[\da-fA-F]{1,2}|[uU][\da-fA-F]{1,8}|[0-7]{1,3}|(.))", re.DOTALL)
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*\+?=")
_NEEDS_QUOTES = re.compile(r"[\s|&;()<>'\"`]")
_TEXT_OPTION = re.compile(r"-[a-z]*c[a-z]*|--run|--command")
_TO_STANDARD_OUTPUT = re.compile(r"1?>|&>")

_DIGITS = "0123456789"
_STARTS_PART_OF_WORD = frozenset("'\"$\\`#")

_SEPARATORS = {
    "&&": Between.AND,
    "||": Between.OR,
    "|": Between.PIPE,
    "|&": Between.PIPE,
    "&": Between.BACKGROUND,
    ";": Between.SEQUENCE,
    "\n": Between.SEQUENCE,
    ";;": Between.SEQUENCE,
    ";&": Between.SEQUENCE,
    ";;&": Between.SEQUENCE,
}

_OPENING_KEYWORDS = frozenset({"if", "then", "elif", "else", "do", "while", "until", "{", "!"})
_CLOSING_KEYWORDS = frozenset({"fi", "done", "esac", "}"})
_HIDING_KEYWORDS = frozenset({"if", "elif", "while", "until", "!"})
"""Keywords after which a status is that of a condition, or is inverted."""

_TERMINALS = frozenset({"/dev/stdout", "/dev/stderr", "/dev/tty", "/dev/fd/1", "/dev/fd/2"})
_SUBSTITUTED = "$()"
"""What a word has in place of a substitution."""


class _Redirection(NamedTuple):
    """A redirection: its operator, with the descriptor, and the index of the word that is its file.

    A here-document has no such word, and an index that no command reaches.
    """

    operator: str
    word_index: int


_NO_WORD = 1 << 62


@dataclass(slots=True)
class _Draft:
    """A simple command while it is read: its words, redirections, and the pieces of its last word.

    A redirection's file is among the words until the command is complete.
    """

    words: list[str] = field(default_factory=list)
    redirections: list[_Redirection] = field(default_factory=list)
    pieces: list[str] = field(default_factory=list)

    def end_word(self) -> None:
        """Make a word of the pieces, if there are any.

        An empty piece makes an empty word.
        """
        if self.pieces:
            self.words.append("".join(self.pieces))
            self.pieces = []


class _Group(NamedTuple):
    """An open group of commands.

    Attributes:
        closed_by: the text that closes it.
        hides_status: whether the status of what is in it shows nowhere.
        resumes: the command that a substitution is part of.
        in_double_quotes: whether the substitution is in double quotes.
    """

    closed_by: str
    hides_status: bool
    resumes: _Draft | None = None
    in_double_quotes: bool = False


class _Redirected(NamedTuple):
    """Where the output of a command goes: see the fields of :class:`ShellCommand`."""

    writes: list[str]
    output_file: str
    reads_input: bool


class _Stripped(NamedTuple):
    """A command without keywords, assignments and starters.

    Attributes:
        words: the words that are left.
        status_hidden: whether a keyword hides its status.
        starters: the programs that were taken off.
    """

    words: list[str]
    status_hidden: bool
    starters: tuple[str, ...]


def read_events(text: str, depth_limit: int) -> list[ShellEvent]:
    """Return the commands of a line and what separates them, those of a substitution first.

    Args:
        text: the command line.
        depth_limit: how many shells within shells are looked into: ``bash -c "sh -c '...'"``.
    """
    return _Reader(text, depth_limit).read()


@dataclass(slots=True, eq=False)
class _Reader:
    """One pass over a command line. Methods with ``position`` return where reading goes on."""

    text: str
    depth_limit: int
    events: list[ShellEvent] = field(default_factory=list)
    draft: _Draft = field(default_factory=_Draft)
    groups: list[_Group] = field(default_factory=list)
    open_parentheses: int = 0
    open_backquotes: int = 0
    pending_documents: list[str] = field(default_factory=list)
    expects_body: bool = False  # of a function, after its name

    def read(self) -> list[ShellEvent]:
        text = self.text
        position = 0

        mark = _SPECIAL.search(text)
        while mark is not None:
            if mark.start() > position:
                self._read_plain(text[position : mark.start()])
            position = self._read_mark(mark[0], mark.end())
            mark = _SPECIAL.search(text, position)

        if position < len(text):
            self._read_plain(text[position:])
        self._complete_command()
        return self.events

    def _read_plain(self, run: str) -> None:
        """Read blanks and words without special characters.

        The last word may go on after it.
        """
        starts_in_word = not run[0].isspace()
        ends_in_word = not run[-1].isspace()
        words = run.split()
        draft = self.draft

        if draft.pieces:
            if starts_in_word:
                draft.pieces.append(words.pop(0))
                if not words and ends_in_word:
                    return
            draft.end_word()

        if ends_in_word:
            draft.pieces = [words.pop()]
        draft.words += words

    def _read_mark(self, mark: str, position: int) -> int:
        """Read what :data:`_SPECIAL` matched.

        Args:
            mark: what it matched.
            position: where that ends.
        """
        separator = _SEPARATORS.get(mark)
        if separator is not None:
            self._complete_command()
            self.events.append(separator)
            if mark == "\n" and self.pending_documents:
                return self._skip_documents(position)
            return position

        if mark[0] in _STARTS_PART_OF_WORD:
            return self._read_part_of_word(mark, position)
        if mark == "(":
            return self._open_parenthesis(position)
        if mark == ")":
            return self._close_parenthesis(position)

        if mark in ("<(", ">("):
            self.draft.end_word()
            self._open_substitution(")", in_double_quotes=False)
        else:
            self._add_redirection(mark)
        return position

    def _read_part_of_word(self, mark: str, position: int) -> int:
        """Read quotes, escapes, substitutions, parameters and comments."""
        pieces = self.draft.pieces

        if mark == "#":
            if not pieces:
                return self._find("\n", position)
            pieces.append(mark)
        elif mark == '"':
            pieces.append("")
            return self._read_double_quoted(position)
        elif mark == "'":  # nothing closes it
            pieces.append(self.text[position:])
            return len(self.text)
        elif mark == "`":
            return self._read_backquote(position, in_double_quotes=False)
        elif mark == "$(":
            self._open_substitution(")", in_double_quotes=False)
        elif mark[0] in "'\"":
            pieces.append(mark[1:-1])
        elif mark[0] == "\\":
            if mark != "\\\n":  # the line goes on
                pieces.append(mark[1:])
        elif mark.startswith("$'"):
            quoted = mark[2:].removesuffix("'")
            pieces.append(_ESCAPE.sub(_escaped_character, quoted))
        else:
            pieces.append(mark)
        return position

    def _read_double_quoted(self, position: int) -> int:
        """Read what is in double quotes, up to their end or a substitution."""
        text = self.text
        pieces = self.draft.pieces

        mark = _IN_DOUBLE_QUOTES.search(text, position)
        while mark is not None:
            pieces.append(text[position : mark.start()])
            position = mark.end()

            if mark[0] == '"':
                return position
            if mark[0] == "`":
                return self._read_backquote(position, in_double_quotes=True)
            if mark[0] == "$(":
                self._open_substitution(")", in_double_quotes=True)
                return position

            pieces.append(_escaped_in_double_quotes(mark[0]))
            mark = _IN_DOUBLE_QUOTES.search(text, position)

        pieces.append(text[position:])
        return len(text)

    def _read_backquote(self, position: int, *, in_double_quotes: bool) -> int:
        if self.open_backquotes:
            self._complete_command()
            return self._close_group("`", position)

        self._open_substitution("`", in_double_quotes=in_double_quotes)
        return position

    def _open_substitution(self, closed_by: str, *, in_double_quotes: bool) -> None:
        """Begin a substitution.

        The command that it is part of goes on when it closes.
        """
        self.draft.pieces.append(_SUBSTITUTED)
        group = _Group(
            closed_by,
            hides_status=True,
            resumes=self.draft,
            in_double_quotes=in_double_quotes,
        )
        self.draft = _Draft()
        self._open_group(group)

    def _open_group(self, group: _Group) -> None:
        self.groups.append(group)
        self.open_parentheses += group.closed_by == ")"
        self.open_backquotes += group.closed_by == "`"
        self.events.append(Between.GROUP_OPENS)

    def _close_group(self, closed_by: str, position: int) -> int:
        """Close all groups up to the last one that this text closes, which must be open."""
        group = self._close_last_group()
        while group.closed_by != closed_by:
            group = self._close_last_group()

        self.draft = group.resumes or _Draft()
        if group.in_double_quotes:
            return self._read_double_quoted(position)
        return position

    def _close_last_group(self) -> _Group:
        group = self.groups.pop()
        self.open_parentheses -= group.closed_by == ")"
        self.open_backquotes -= group.closed_by == "`"
        if group.hides_status:
            self.events.append(Between.HIDDEN_GROUP_CLOSES)
        else:
            self.events.append(Between.GROUP_CLOSES)
        return group

    def _open_parenthesis(self, position: int) -> int:
        """Read a parenthesis: of an array, of a function, or of a group of commands."""
        draft = self.draft
        if draft.pieces and draft.pieces[-1].endswith("="):
            return self._find(")", position) + 1
        draft.end_word()

        if draft.words and not draft.redirections:
            parentheses = _EMPTY_PARENTHESES.match(self.text, position)
            if parentheses is not None:
                self._define_function(draft.words[-1])
                return parentheses.end()

        if draft.words and draft.words[-1] in _OPENING_KEYWORDS:
            self._complete_command()
        if not self.draft.words and not self.draft.redirections:
            self._open_group(_Group(")", hides_status=False))
        return position

    def _define_function(self, name: str) -> None:
        self.draft = _Draft()
        self.expects_body = True
        self.events.append(ShellCommand((name,), defines_function=True))

    def _close_parenthesis(self, position: int) -> int:
        self._complete_command()
        if self.open_parentheses:
            return self._close_group(")", position)
        return position  # it is that of a function, or of a case

    def _add_redirection(self, operator: str) -> None:
        draft = self.draft
        has_descriptor = len(draft.pieces) == 1 and draft.pieces[0].isdecimal()
        if has_descriptor and operator[0] != "&":
            operator = draft.pieces.pop() + operator
        draft.end_word()

        if "<<" in operator and not operator.endswith("<<<"):
            self.pending_documents.append(operator.lstrip(_DIGITS))
            draft.redirections.append(_Redirection(operator, _NO_WORD))
        elif operator[-1] not in f"{_DIGITS}-":
            draft.redirections.append(_Redirection(operator, len(draft.words)))

    def _skip_documents(self, position: int) -> int:
        """Return where the here-documents end that begin at a position."""
        for operator in self.pending_documents:
            delimiter = operator.lstrip("<-").strip(" \t'\"").replace("\\", "")
            strips_tabs = operator.startswith("<<-")

            is_open = True
            while is_open and position < len(self.text):
                end = self._find("\n", position)
                line = self.text[position:end].removesuffix("\r")
                if strips_tabs:
                    line = line.lstrip("\t")
                position = end + 1
                is_open = line != delimiter

        self.pending_documents = []
        return min(position, len(self.text))

    def _find(self, character: str, position: int) -> int:
        """Return where a character comes next, or the end of the text."""
        index = self.text.find(character, position)
        return len(self.text) if index < 0 else index

    def _complete_command(self) -> None:
        """Note the command that was read, if it has any words."""
        draft = self.draft
        self.draft = _Draft()
        draft.end_word()
        if not draft.words:
            return

        redirected = _take_redirections(draft)
        stripped = self._strip(draft.words)
        program = base_name(stripped.words[0]) if stripped.words else ""

        if program in _TEXT_RUNNERS:
            script = _script_of_shell(stripped.words)
            if self._is_whole_script(script):
                self._add_script(script[0], stripped, redirected)
                return
            if script:
                inner = self._strip(script)
                stripped = _Stripped(
                    inner.words,
                    stripped.status_hidden or inner.status_hidden,
                    stripped.starters + inner.starters,
                )
        elif program == "tee":
            redirected.writes.extend(_files_of_tee(stripped.words))
        elif program == "case":
            self.events.append(Between.BRANCHES_OPEN)

        self._add_command(stripped, redirected)

    def _is_whole_script(self, script: Sequence[str]) -> bool:
        """Return whether a shell runs a text that was quoted, and that is still looked into."""
        is_quoted = len(script) == 1 and _NEEDS_QUOTES.search(script[0]) is not None
        return is_quoted and self.depth_limit > 0

    def _add_script(self, script: str, stripped: _Stripped, redirected: _Redirected) -> None:
        """Note the commands of a text that a shell is given, as a group."""
        self._add_command(stripped._replace(words=[], status_hidden=False, starters=()), redirected)

        self.events.append(Between.GROUP_OPENS)
        for event in read_events(script, self.depth_limit - 1):
            if isinstance(event, ShellCommand):
                self.events.append(event._replace(starters=stripped.starters + event.starters))
            else:
                self.events.append(event)

        if stripped.status_hidden:
            self.events.append(Between.HIDDEN_GROUP_CLOSES)
        else:
            self.events.append(Between.GROUP_CLOSES)

    def _add_command(self, stripped: _Stripped, redirected: _Redirected) -> None:
        """Note a command, unless it has no words and writes nothing."""
        if not (stripped.words or redirected.writes or redirected.output_file):
            return

        command = ShellCommand(
            words=tuple(stripped.words),
            writes=tuple(redirected.writes),
            status_hidden=stripped.status_hidden,
            starters=stripped.starters,
            output_file=redirected.output_file,
            reads_input=redirected.reads_input,
        )
        self.events.append(command)

    def _strip(self, words: list[str]) -> _Stripped:
        """Take off keywords, assignments and starters, and note the groups that keywords bound."""
        index = 0
        status_hidden = False
        starters: list[str] = []

        while index < len(words):
            word = words[index]
            if word in _OPENING_KEYWORDS:
                status_hidden = status_hidden or word in _HIDING_KEYWORDS
                self._open_by_keyword(word)
                index += 1
            elif word in _CLOSING_KEYWORDS:
                self._close_by_keyword(word)
                index += 1
            elif _ASSIGNMENT.match(word):
                index += 1
            else:
                program = base_name(word)
                starter = STARTERS.get(program)
                started_index = starter.command_index(words, index) if starter else None
                if started_index is None:
                    break
                starters.append(program)
                index = started_index

        return _Stripped(words[index:], status_hidden, tuple(starters))

    def _open_by_keyword(self, keyword: str) -> None:
        if keyword == "if":
            self.events.append(Between.BRANCHES_OPEN)
        elif keyword == "do":
            self._open_group(_Group("done", hides_status=True))
            self.expects_body = False
        elif keyword == "{" and self.expects_body:
            self._open_group(_Group("}", hides_status=True))
            self.expects_body = False

    def _close_by_keyword(self, keyword: str) -> None:
        if keyword in ("fi", "esac"):
            self.events.append(Between.BRANCHES_CLOSE)
        elif self.groups and self.groups[-1].closed_by == keyword:
            self._close_last_group()


def _escaped_character(escape: re.Match[str]) -> str:
    """Return the character that an escape means.

    A character that is given by its code is "?".
    """
    character: str | None = escape[1]
    return character or "?"


def _escaped_in_double_quotes(escape: str) -> str:
    """Return what a backslash and the character after it mean in double quotes."""
    if escape == "\\\n":
        return ""
    if escape[1:] in ("", "$", "`", '"', "\\"):
        return escape[1:]
    return escape


def _take_redirections(draft: _Draft) -> _Redirected:
    """Take the files of redirections out of the words of a command."""
    writes: list[str] = []
    output_file = ""

    for operator, word_index in reversed(draft.redirections):
        if word_index >= len(draft.words):
            continue

        target = draft.words.pop(word_index)
        if ">" in operator and not target.startswith("/dev/"):
            writes.append(target)
        if _TO_STANDARD_OUTPUT.match(operator) and target not in _TERMINALS and not output_file:
            output_file = f">>{target}" if ">>" in operator else target

    writes.reverse()
    reads_input = any("<" in operator for operator, _ in draft.redirections)
    return _Redirected(writes, output_file, reads_input)


def _script_of_shell(words: Sequence[str]) -> list[str]:
    """Return what a shell is given to run after its option ``-c``.

    That is one word that had quotes, or the words that a list was joined from. Empty without it.
    """
    for index in range(1, len(words)):
        word = words[index]
        if not word.startswith(("-", "+")):
            break

        if _TEXT_OPTION.fullmatch(word):
            script = list(words[index + 1 :])
            if script and _NEEDS_QUOTES.search(script[0]):
                return script[:1]
            return script
    return []


def _files_of_tee(words: Sequence[str]) -> list[str]:
    return [word for word in words[1:] if not word.startswith(("-", "/dev/"))]
