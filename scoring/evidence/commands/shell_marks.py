"""What ends a word or a command in a shell: marks, separators, keywords and escapes."""

import re

from scoring.evidence.commands.shell_command import Between

SPECIAL = re.compile(
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

IN_DOUBLE_QUOTES = re.compile(r'"|`|\\.?|\$\(', re.DOTALL)
EMPTY_PARENTHESES = re.compile(r"[ \t]{0,9}\)")  # after the opening one
ESCAPE = re.compile(r"\\(?:x[\da-fA-F]{1,2}|[uU][\da-fA-F]{1,8}|[0-7]{1,3}|(.))", re.DOTALL)

SEPARATORS = {
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

OPENING_KEYWORDS = frozenset({"if", "then", "elif", "else", "do", "while", "until", "{", "!"})
CLOSING_KEYWORDS = frozenset({"fi", "done", "esac", "}"})
HIDING_KEYWORDS = frozenset({"if", "elif", "while", "until", "!"})
"""Keywords after which a status is that of a condition, or is inverted."""
