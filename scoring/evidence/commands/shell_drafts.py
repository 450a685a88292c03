"""A simple command of a shell while it is read, and what its words say."""

import re
from string import digits
from typing import NamedTuple

from msgspec import Struct

from .programs import Words
from .shell_command import ShellCommand

_TEXT_OPTION = re.compile(r"-[a-z]*c[a-z]*|--run|--command")
NEEDS_QUOTES = re.compile(r"[\s|&;()<>'\"`]")
_COPY = re.compile(r"(\d*)>&(\d+|-)")
_NOWHERE = "/dev/null"

_TERMINALS = frozenset(
    {"/dev/stdout", "/dev/stderr", "/dev/tty", "/dev/fd/1", "/dev/fd/2"}
)


class Redirection(NamedTuple):
    """A redirection.

    Attributes:
        operator: the operator, with the descriptor before it.
        word_index: the index of the word that is the file; ``NO_WORD`` for a here-document and for
            a copy of a descriptor.
    """

    operator: str
    word_index: int


NO_WORD = 1 << 62  # an index that no command reaches


class CommandDraft(Struct):
    """A simple command while it is read.

    Attributes:
        words: the words that are complete. Files of redirections are among them.
        redirections: the redirections, in order.
        pieces: the pieces of the word that is read now; empty between words.
    """

    words: list[str] = []
    redirections: list[Redirection] = []
    pieces: list[str] = []

    def end_word(self) -> None:
        """Make a word of the pieces, if there are any.

        An empty piece alone makes an empty word, as quotes with nothing in them do.
        """
        if self.pieces:
            self.words.append("".join(self.pieces))
            self.pieces = []

    def read_plain(self, run: str) -> None:
        """Read a text of blanks and words. It is not empty and has no special characters.

        A word at the end of the text may go on after it, and so becomes a piece.
        """
        starts_in_word = not run[0].isspace()
        ends_in_word = not run[-1].isspace()
        words = run.split()

        if self.pieces:
            if starts_in_word:
                self.pieces.append(words.pop(0))
                if not words and ends_in_word:
                    return
            self.end_word()

        if ends_in_word:
            self.pieces = [words.pop()]
        self.words += words

    def note_redirection(self, operator: str) -> str:
        """Note a redirection. One that copies or closes a descriptor, as ``2>&1``, has no word.

        A number right before the operator is its descriptor.

        Returns:
            The operator and the delimiter of a here-document, or "" for any other redirection.
        """
        has_descriptor = len(self.pieces) == 1 and self.pieces[0].isdecimal()
        if has_descriptor and operator[0] != "&":
            operator = self.pieces.pop() + operator
        self.end_word()

        document = ""
        if "<<" in operator and not operator.endswith("<<<"):
            document = operator.lstrip(digits)
            self.redirections.append(Redirection(operator, NO_WORD))
        else:
            has_word = operator[-1] not in f"{digits}-"
            index = len(self.words) if has_word else NO_WORD
            self.redirections.append(Redirection(operator, index))
        return document

    def to_command(self) -> ShellCommand:
        """Return the command. The files of redirections are not among its words."""
        words = list(self.words)
        writes = []
        output_file = ""
        output = "1"  # the descriptor to which the output goes, as copies of it say

        for operator, word_index in reversed(self.redirections):
            copy = _COPY.fullmatch(operator)
            if copy and (copy[1] or "1") == output and not output_file:
                output = copy[2]
            if word_index >= len(words):
                continue

            target = words.pop(word_index)
            if ">" in operator and not target.startswith("/dev/"):
                writes.append(target)
            descriptor, *is_written = operator.split(">", 1)
            is_output = bool(is_written) and (descriptor or "1") in (output, "&")
            if is_output and target not in _TERMINALS and not output_file:
                output_file = f">>{target}" if ">>" in operator else target

        if not output_file and output not in ("1", "2"):
            output_file = _NOWHERE  # closed, or what another command opened

        return ShellCommand(
            words=tuple(words),
            writes=tuple(reversed(writes)),
            output_file=output_file,
            reads_input=any("<" in operator for operator, _ in self.redirections),
        )


def script_of_shell(words: Words) -> Words:
    """Return the words that a shell is given to run after its option ``-c``.

    One word that needs quotes is a script. Otherwise all words that follow are those of one
    command. Empty without the option.
    """
    for index in range(1, len(words)):
        word = words[index]
        if not word.startswith(("-", "+")):
            break

        if _TEXT_OPTION.fullmatch(word):
            script = words[index + 1 :]
            if script and NEEDS_QUOTES.search(script[0]):
                return script[:1]
            return script
    return ()


def end_of_documents(text: str, position: int, operators: list[str]) -> int:
    """Return the position after some here-documents, the first of which begins at ``position``.

    Each ends after the line with its delimiter, or with the text.

    Args:
        text: the command line.
        position: where the first one begins.
        operators: for each here-document its operator and delimiter, in order.
    """
    for operator in operators:
        delimiter = operator.lstrip("<-").strip(" \t'\"").replace("\\", "")
        strips_tabs = operator.startswith("<<-")

        is_open = True
        while is_open and position < len(text):
            end = text.find("\n", position)
            if end < 0:
                end = len(text)
            line = text[position:end].removesuffix("\r")
            if strips_tabs:
                line = line.lstrip("\t")
            position = end + 1
            is_open = line != delimiter

    return min(position, len(text))
