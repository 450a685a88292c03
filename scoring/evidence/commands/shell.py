"""A shell command line as simple commands (``docs/TEST_TOOLS.md``), in linear time; long, as the grammar is."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

from scoring.settings_table import read_toml

COMMAND_LIMIT = (
    65_536  # how many characters of a command line are looked at; what follows is cut off
)
DEPTH_LIMIT = 6  # how many times a line is looked into that a shell is given as a text: ``bash -c "sh -c '...'"``


class ShellCommand(NamedTuple):
    """One simple command: words without quotes, assignments and programs that only start another, and what it writes.

    ``hidden`` is whether its exit status is, ``last`` of its line, ``after`` what is before it ("" where a
    statement begins). ``depth`` is in how many groups it is, ``since`` the fewest since the one before; ``through``
    what starts it, ``defines`` whether it is the name of a function, ``into`` the file that its output goes to
    (``>>FILE`` where it is added to it), and ``fed`` whether it reads a file or a here-document.
    """

    words: tuple[str, ...]
    writes: tuple[str, ...] = ()
    hidden: bool = False
    last: bool = False
    after: str = ""
    depth: int = 0
    since: int = 0
    through: tuple[str, ...] = ()
    defines: bool = False
    into: str = ""
    fed: bool = False


def commands_of(text: str) -> list[ShellCommand]:
    """Return the simple commands of a command line, in order, those of a substitution first."""
    return _settled(
        _Reader(text[:COMMAND_LIMIT], DEPTH_LIMIT).read(), whole=len(text) <= COMMAND_LIMIT
    )


_Events: TypeAlias = list[
    ShellCommand | str
]  # commands, ``hidden`` by a keyword before each, and what is between

_OPENS, _CLOSES, _CLOSES_HIDDEN = "(", ")", "$)"
"""What is around a group; the last is behind one with a status that shows nowhere: a substitution, a loop."""

_BRANCHES, _JOINS = (
    "?",
    "!?",
)  # where commands begin and end that may not be reached: those of if and case

_SPECIAL = re.compile(
    r"""'[^']*+'|"[^"\\`$]*+"|&&|\|\||;;?&?|&>>?|\|&?|[<>]&(?:\d+|-)
    |<<<|<<-?[ \t]*(?:'[^'\n]*'|"[^"\n]*"|[^\s|&;()<>'"`]+)|[<>]\(|>>|>[|&]?|<[>&]?|&
    |[()\n'"`#]|\\.?|\$\(|\$'(?:[^'\\]++|\\.)*+'?|\$\{[^}\n]*+\}?""",
    re.VERBOSE | re.DOTALL,
)
"""Everything that is not simply a part of a word or a blank."""

_IN_DOUBLE = re.compile(r'"|`|\\.?|\$\(', re.DOTALL)
_EMPTY = re.compile(r"[ \t]{0,9}\)")  # behind the name of a function
_ESCAPE = re.compile(
    r"\\(?:x[\da-fA-F]{1,2}|[uU][\da-fA-F]{1,8}|[0-7]{1,3}|(.))", re.DOTALL
)  # a code is not read
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*\+?=")
_SCRIPT = re.compile(
    r"[\s|&;()<>'\"`]"
)  # what a word was quoted for that a shell is given as its script
_SHELL_OPTION = re.compile(r"-[a-z]*c[a-z]*|--run|--command")
SHELLS = frozenset({"bash", "sh", "zsh", "dash", "ksh"})
_SCRIPTED = SHELLS | {"nix-shell"}
_SEPARATORS = {"&&": "&&", "||": "||", "|": "|", "|&": "|", "&": "&"}
_SEPARATORS |= dict.fromkeys((";", "\n", ";;", ";&", ";;&"), ";")
"""What is between commands, and which of the five ways to go on it is."""

_BLANKS = " \t\r\v\f"
_OUTPUT = re.compile(r"1?>|&>")  # what a command prints goes elsewhere
_TERMINAL = frozenset(("/dev/stdout", "/dev/stderr", "/dev/tty", "/dev/fd/1", "/dev/fd/2"))

_OPENERS = frozenset({"if", "then", "elif", "else", "do", "while", "until", "{", "!"})
_CLOSERS = frozenset({"fi", "done", "esac", "}"})
_HIDES = frozenset({"if", "elif", "while", "until", "!"})
"""Keywords behind which a status is that of a condition, or is turned around."""


class _Start(NamedTuple):
    """A program that only starts another one: its next words, options with a value, words before, and ``until``."""

    then: tuple[frozenset[str], ...] = ()
    valued: frozenset[str] = frozenset()
    skips: int = 0
    queries: frozenset[str] = frozenset()
    until: frozenset[str] = frozenset()
    maybe: frozenset[str] = frozenset()

    def behind(self, words: Sequence[str], at: int) -> int:
        """Return where the command begins that it starts; one before ``at`` when it starts none."""
        before = at - 1
        at = self._behind_options(words, at)
        for names in self.then:
            if at >= len(words) or words[at] not in names:
                return before
            at = at + 1 if self.until else self._behind_options(words, at + 1)
        if self.until:
            at = next((n + 1 for n in range(at, len(words)) if words[n] in self.until), len(words))
        if at + 1 < len(words) and words[at] in self.maybe:
            at = self._behind_options(words, at + 1)
        at += self.skips
        at += at < len(words) and words[at] == "--"
        return at if at < len(words) and self.queries.isdisjoint(words[before:at]) else before

    def _behind_options(self, words: Sequence[str], at: int) -> int:
        while at < len(words) and words[at][:1] == "-":
            at += 2 if words[at] in self.valued else 1
        return at


def _started_by(then: Sequence[str] = (), skips: int = 0, **words: str) -> _Start:
    given = {name: frozenset(text.split()) for name, text in words.items()}
    return _Start(tuple(frozenset(text.split()) for text in then), skips=skips, **given)


STARTERS = read_toml((Path(__file__).parent / "starters.toml").read_text("utf-8"))
_STARTS = {
    name: _started_by(**said)
    for names, said in STARTERS["starts"].items()
    for name in names.split()
}
"""What passes a command on; ``docs/TEST_TOOLS.md`` has the table."""

_BEFORE = frozenset({*_OPENERS, *_CLOSERS, *_STARTS})
OWN_FAILURES = frozenset(STARTERS["own_failures"].split())


class _Frame(NamedTuple):
    """A group: what closes it, whether its status is hidden, and the command that goes on behind it, if one does."""

    closes: str
    hides: bool
    goes_on: tuple[list[str], list[tuple[int, str]], list[str], bool] | None = None


@dataclass(slots=True, eq=False)
class _Reader:
    """Goes once over a text and notes commands and what is between them."""

    _text: str
    _depth: int
    events: _Events = field(default_factory=list)
    _frames: list[_Frame] = field(default_factory=list)
    _parentheses: int = 0
    _backquotes: int = 0
    _documents: list[str] = field(default_factory=list)
    _words: list[str] = field(default_factory=list)
    _redirections: list[tuple[int, str]] = field(default_factory=list)
    _pieces: list[str] = field(default_factory=list)
    _defines: bool = False  # the body of a function comes next

    def _begin(self) -> None:
        self._words, self._redirections, self._pieces = [], [], []

    def read(self) -> _Events:
        text, search, pos = self._text, _SPECIAL.search, 0
        while found := search(text, pos):
            end = found.start()
            if end > pos:
                self._plain(text[pos:end])
            pos = self._special(found[0], found.end())
        if pos < len(text):
            self._plain(text[pos:])
        self._complete()
        return self.events

    def _plain(self, run: str) -> None:
        """Take blanks and words in which nothing is special; the last word goes on where no blank ends it."""
        parts = run.split()
        if self._pieces:
            if run[0] not in _BLANKS:
                self._pieces.append(parts.pop(0))
                if not parts and run[-1] not in _BLANKS:
                    return
            self._end_word()
        if run[-1] not in _BLANKS:
            self._pieces = [parts.pop()]
        self._words += parts

    def _find(self, char: str, pos: int) -> int:
        """Return where a character is next, the end of the text where it is not."""
        at = self._text.find(char, pos)
        return len(self._text) if at < 0 else at

    def _end_word(self) -> None:
        if self._pieces:
            self._words.append("".join(self._pieces))
            self._pieces = []

    def _special(self, mark: str, pos: int) -> int:
        if separator := _SEPARATORS.get(mark):
            self._complete()
            self.events.append(separator)
            return self._behind_documents(pos) if mark == "\n" and self._documents else pos
        first = mark[0]
        if first in "'\"$\\`#":
            return self._part_of_word(mark, pos)
        if mark == "(":
            return self._open(pos)
        if mark == ")":
            self._complete()
            return (
                self._back(")", pos) if self._parentheses else pos
            )  # else it is of a function or of a case
        if mark[-1] != "(":
            self._redirect(mark)
            return pos
        self._end_word()
        self._substitute(")", False)  # a command with a file as its output
        return pos

    def _part_of_word(self, mark: str, pos: int) -> int:
        first = mark[0]
        if first in "'\"" and len(mark) > 1:
            self._pieces.append(mark[1:-1])
            return pos
        if first == "#":
            if self._pieces:
                self._pieces.append(mark)
                return pos
            return self._find("\n", pos)
        if first == "\\":
            if mark[1:] != "\n":
                self._pieces.append(mark[1:])
        elif mark == "$(":
            self._substitute(")", False)
        elif mark == "`":
            return self._backquote(pos, False)
        elif mark == '"':
            self._pieces.append("")
            return self._double(pos)
        elif mark == "'":  # never closed
            self._pieces.append(self._text[pos:])
            return len(self._text)
        elif mark.startswith("$'"):
            self._pieces.append(_ESCAPE.sub(lambda m: m[1] or "?", mark[2:].removesuffix("'")))
        else:
            self._pieces.append(mark)
        return pos

    def _double(self, pos: int) -> int:
        """Take what is in double quotes, up to their end or a substitution."""
        text = self._text
        while found := _IN_DOUBLE.search(text, pos):
            self._pieces.append(text[pos : found.start()])
            mark, pos = found[0], found.end()
            if mark == '"':
                return pos
            if mark == "$(":
                self._substitute(")", True)
                return pos
            if mark == "`":
                return self._backquote(pos, True)
            escaped = mark[1:]
            self._pieces.append("" if escaped == "\n" else escaped if escaped in '$`"\\' else mark)
        self._pieces.append(text[pos:])
        return len(text)

    def _substitute(self, closes: str, in_double: bool) -> None:
        """Begin a substitution; the command that it is part of goes on behind it."""
        self._pieces.append("$()")
        self._frames.append(
            _Frame(closes, True, (self._words, self._redirections, self._pieces, in_double))
        )
        self._parentheses += closes == ")"
        self._backquotes += closes == "`"
        self.events.append(_OPENS)
        self._begin()

    def _backquote(self, pos: int, in_double: bool) -> int:
        if self._backquotes:
            self._complete()
            return self._back("`", pos)
        self._substitute("`", in_double)
        return pos

    def _open(self, pos: int) -> int:
        if self._pieces and self._pieces[-1].endswith("="):  # an array
            return self._find(")", pos) + 1
        self._end_word()
        if self._words and not self._redirections and (empty := _EMPTY.match(self._text, pos)):
            name = self._words[-1]
            self._begin()
            self._defines = True
            self.events.append(ShellCommand((name,), defines=True))
            return empty.end()
        if self._words and self._words[-1] in _OPENERS:
            self._complete()
        if not self._words and not self._redirections:
            self._frames.append(_Frame(")", hides=False))
            self._parentheses += 1
            self.events.append(_OPENS)
        return pos

    def _back(self, closes: str, pos: int) -> int:
        """End what is open up to what this closes; go on with the command that it is part of."""
        while True:
            frame = self._frames.pop()
            self._parentheses -= frame.closes == ")"
            self._backquotes -= frame.closes == "`"
            self.events.append(_CLOSES_HIDDEN if frame.hides else _CLOSES)
            if frame.closes == closes:
                break
        if frame.goes_on is None:
            self._begin()
            return pos
        self._words, self._redirections, self._pieces, in_double = frame.goes_on
        return self._double(pos) if in_double else pos

    def _redirect(self, mark: str) -> None:
        if (
            self._pieces
            and mark[0] != "&"
            and self._pieces[-1].isdecimal()
            and len(self._pieces) == 1
        ):
            mark = self._pieces.pop() + mark  # the number of what is redirected
        self._end_word()
        if "<<" in mark and not mark.endswith("<<<"):
            self._documents.append(mark.lstrip("0123456789"))
            self._redirections.append((COMMAND_LIMIT, mark))  # no word is there
        elif mark[-1] not in "0123456789-":
            self._redirections.append((len(self._words), mark))

    def _behind_documents(self, pos: int) -> int:
        """Return where the here-documents end that begin at a position."""
        text = self._text
        for mark in self._documents:
            delimiter = mark.lstrip("<-").strip(" \t'\"").replace("\\", "")
            tabs = mark.startswith("<<-")
            while pos < len(text):
                end = self._find("\n", pos)
                line = text[pos:end].removesuffix("\r")
                pos = end + 1
                if (line.lstrip("\t") if tabs else line) == delimiter:
                    break
        self._documents = []
        return min(pos, len(text))

    def _complete(self) -> None:
        self._end_word()
        words, redirections = self._words, self._redirections
        self._begin()
        if not words:
            return
        writes, into = list[str](), ""
        for at, mark in reversed(redirections):
            if at < len(words):
                target = words.pop(at)
                if ">" in mark and not target.startswith("/dev/"):
                    writes.append(target)
                if _OUTPUT.match(mark) and target not in _TERMINAL:
                    into = into or (">>" in mark) * ">>" + target
        fed = any("<" in mark for _, mark in redirections)
        writes.reverse()
        hides, through = False, tuple[str, ...]()
        if words and (words[0].rpartition("/")[2] in _BEFORE or "=" in words[0]):
            words, hides, through = self._command(words)
        name = words[0].rpartition("/")[2] if words else ""
        if name in _SCRIPTED and (script := _script_of(words)):
            if len(script) == 1 and _SCRIPT.search(script[0]) and self._depth:
                self.events += (
                    [ShellCommand((), tuple(writes), into=into, fed=fed)] if writes or into else []
                )
                inside = _Reader(script[0], self._depth - 1).read()
                carried = (
                    e if isinstance(e, str) else e._replace(through=through + e.through)
                    for e in inside
                )
                self.events += [_OPENS, *carried, _CLOSES_HIDDEN if hides else _CLOSES]
                return
            words, more, inner = self._command(script)
            hides, through = hides or more, through + inner
        elif name == "tee":
            writes += [
                word for word in words[1:] if word[:1] != "-" and not word.startswith("/dev/")
            ]
        if name == "case":
            self.events.append(_BRANCHES)
        if words or writes or into:
            own = ShellCommand(
                tuple(words), tuple(writes), hides, through=through, into=into, fed=fed
            )
            self.events.append(own)

    def _command(self, words: list[str]) -> tuple[list[str], bool, tuple[str, ...]]:
        """Take off what only comes before a command; return also whether that hides its status, and the programs."""
        at, hides, through = 0, False, tuple[str, ...]()
        while at < len(words):
            word = words[at]
            if word in _OPENERS:
                hides = hides or word in _HIDES
                if word == "do" or (word == "{" and self._defines):
                    self._frames.append(_Frame("done" if word == "do" else "}", hides=True))
                    self.events.append(_OPENS)
                    self._defines = False
                elif word == "if":
                    self.events.append(_BRANCHES)
                at += 1
            elif word in _CLOSERS:
                if word in ("done", "}") and self._frames and self._frames[-1].closes == word:
                    self._back(word, 0)
                elif word in ("fi", "esac"):
                    self.events.append(_JOINS)
                at += 1
            elif "=" in word and _ASSIGNMENT.match(word):
                at += 1
            else:
                start = _STARTS.get(word.rpartition("/")[2])
                behind = start.behind(words, at + 1) if start else at
                if behind == at:
                    break
                through += (word.rpartition("/")[2],)
                at = behind
        return words[at:], hides, through


def _script_of(words: Sequence[str]) -> list[str]:
    """Return what a shell is given to run: one word that was quoted, or the words that a list was joined from."""
    for at, word in enumerate(words[1:], 1):
        if not word.startswith(("-", "+")):
            break
        if _SHELL_OPTION.fullmatch(word):
            script = list(words[at + 1 :])
            return script[:1] if script and _SCRIPT.search(script[0]) else script
    return []


def _settled(events: _Events, whole: bool) -> list[ShellCommand]:
    """Go over commands from the last to the first, and find out which status shows.

    ``seen`` is whether a command comes later in the group; what happens later hides the status of all that is before
    it in the group (``followed``), in the ``statement``, or of the command before it (``hidden``).
    """
    found: list[ShellCommand] = []
    before = list(_before(events))
    outside: list[
        tuple[bool, bool, bool, bool]
    ] = []  # the same four, of the groups around this one
    seen = followed = statement = hidden = False
    is_last = whole
    for event in reversed(events):
        if not isinstance(event, str):
            shows = is_last and bool(event.words)
            found.append(event._replace(hidden=event.hidden or hidden, last=shows, **before.pop()))
            seen, is_last = seen or bool(event.words), is_last and not event.words
        elif event == "&&":
            hidden = statement
        elif event == "|":
            hidden = True
        elif event == "||":
            hidden = statement = True
        elif event == ";":
            hidden = statement = followed = followed or seen
        elif event == "&":
            followed = followed or seen
            hidden = statement = True
        elif event in (_CLOSES, _CLOSES_HIDDEN):
            outside.append((seen, followed, statement, hidden))
            seen, hidden = False, hidden or event == _CLOSES_HIDDEN
            followed = statement = hidden
        elif event == _OPENS and outside:
            inside = seen
            seen, followed, statement, hidden = outside.pop()
            seen = seen or inside
    found.reverse()
    return found


def _before(events: _Events) -> Iterator[dict[str, Any]]:
    """Yield what is before each command, in how many groups it is, and in how few since the one before."""
    mark, branches, since = "", 0, 0
    outside: list[str] = []
    for event in events:
        if not isinstance(event, str):
            yield {
                "after": mark or (_BRANCHES if branches else ""),
                "depth": len(outside),
                "since": since,
            }
            since = len(outside)
        elif event == _OPENS:
            outside.append(mark)
        elif event in (_CLOSES, _CLOSES_HIDDEN):
            mark = outside.pop() if outside else ""
            since = min(since, len(outside))
        elif event in (_BRANCHES, _JOINS):
            branches += 1 if event == _BRANCHES else -1
        else:
            mark = "" if event in (";", "&") else event
