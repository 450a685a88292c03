"""Command lines: where a command starts, what it writes, and whose exit status shows."""

import pytest
from helpers.timing import is_linear

from scoring.evidence.commands.shell import (
    COMMAND_LIMIT,
    MOST_COMMANDS,
    commands_of,
    is_cut,
)
from scoring.evidence.commands.shell_command import ShellCommand


def ran(text: str) -> list[str]:
    """Return what a line runs, each command as one text."""
    return [" ".join(command.words) for command in commands_of(text) if command.words]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        pytest.param("", [], id="nothing"),
        pytest.param("  \n\t", [], id="blanks"),
        pytest.param("ls -la", ["ls -la"], id="one"),
        pytest.param("cd x && pytest", ["cd x", "pytest"], id="and"),
        pytest.param(
            "a || b; c | d & e", ["a", "b", "c", "d", "e"], id="every separator"
        ),
        pytest.param("a&&b|c;d", ["a", "b", "c", "d"], id="without blanks"),
        pytest.param("a\nb\r\nc", ["a", "b", "c"], id="lines"),
        pytest.param("a \\\n  -b", ["a -b"], id="a line goes on"),
        pytest.param("(a; b) && { c; }", ["a", "b", "c"], id="groups"),
        pytest.param("! a", ["a"], id="not"),
        pytest.param(
            "if a; then b; elif c; then d; else e; fi",
            ["a", "b", "c", "d", "e"],
            id="if",
        ),
        pytest.param("for f in x y; do a $f; done", ["for f in x y", "a $f"], id="for"),
        pytest.param("while a; do b; done", ["a", "b"], id="while"),
        pytest.param("x=$(a b)", ["a b"], id="substitution in an assignment"),
        pytest.param(
            'c "$(a "b c" | d)" e',
            ["a b c", "d", "c $() e"],
            id="substitution in quotes in quotes",
        ),
        pytest.param("c `a` d", ["a", "c $() d"], id="backquotes"),
        pytest.param(
            "diff <(a) <(b)", ["a", "b", "diff $() $()"], id="files of output"
        ),
        pytest.param("f() { a; }", ["f", "a"], id="function"),
        pytest.param("v=(a b) c", ["c"], id="array"),
        pytest.param("case $x in y) a;; esac", ["case $x in y", "a"], id="case"),
    ],
)
def test_commands_are_found_where_they_start(text: str, found: list[str]) -> None:
    assert ran(text) == found


@pytest.mark.parametrize(
    ("text", "found"),
    [
        pytest.param("echo 'a && b; c'", ["echo a && b; c"], id="single quotes"),
        pytest.param(
            'echo "a && b; (c) | d"', ["echo a && b; (c) | d"], id="double quotes"
        ),
        pytest.param('echo "a \\" && b"', ['echo a " && b'], id="an escaped quote"),
        pytest.param("echo $'a\\' && b'", ["echo a' && b"], id="dollar quotes"),
        pytest.param("echo a\\;b \\&\\& c", ["echo a;b && c"], id="escapes"),
        pytest.param("a # && b", ["a"], id="comment"),
        pytest.param("a#b && c", ["a#b", "c"], id="no comment inside of a word"),
        pytest.param(
            "a\u00a0; \u00a0",
            ["a"],
            id="a blank that is not ASCII, at the end of a word",
        ),
        pytest.param("cat <<EOF\na && b\nEOF\nc", ["cat", "c"], id="here-document"),
        pytest.param("cat <<'E F' > x\nb\nE F\nc", ["cat", "c"], id="quoted delimiter"),
        pytest.param(
            "cat <<-EOF\n\tb\n\tEOF\nc", ["cat", "c"], id="tabs before the delimiter"
        ),
        pytest.param(
            "cat <<A <<B\na\nA\nb\nB\nc", ["cat", "c"], id="two here-documents"
        ),
        pytest.param("cat <<EOF\nb && c", ["cat"], id="one that never ends"),
        pytest.param("cat <<< 'a && b'", ["cat"], id="here-text"),
        pytest.param("echo ${a:-b; c}", ["echo ${a:-b; c}"], id="parameter"),
        pytest.param("echo 'a && b", ["echo a && b"], id="a quote that never ends"),
        pytest.param(
            'git commit -m "$(cat <<\'EOF\'\nfix "x" && b; it\'s )\nEOF\n)" && c',
            ["cat", "git commit -m $()", "c"],
            id="a message in a here-document",
        ),
    ],
)
def test_quoted_text_comments_and_documents_are_no_commands(
    text: str, found: list[str]
) -> None:
    assert ran(text) == found


STARTERS = [
    "A=1",
    "A='x y' B=2",
    "env",
    "env -i A=1",
    "env -u B A=1",
    "time -p",
    "timeout 60",
    "timeout -k 5 --signal=KILL 60s",
    "sudo",
    "sudo -u me A=1",
    "nice -n 10",
    "nohup",
    "exec",
    "command",
    "uv run",
    "uv run --with x --extra dev",
    "uvx",
    "poetry run",
    "pipenv run",
    "npx --yes",
    "npm exec --",
    "pnpm exec",
    "bunx",
    "bundle exec",
    "conda run -n e",
    "/usr/bin/env",
    "xargs -n 1",
    "A=1 time timeout 5 uv run",
]


@pytest.mark.parametrize("before", STARTERS)
def test_what_only_starts_a_command_is_taken_off(before: str) -> None:
    assert ran(f"{before} pytest -q") == ["pytest -q"]


PROGRAMS = [
    "command -v pytest",
    "sudo -l pytest",
    "npx",
    "uv run",
    "uv pip install x",
    "npm install x",
    "timeout 60",
]


@pytest.mark.parametrize("text", PROGRAMS)
def test_a_program_that_starts_no_other_keeps_its_words(text: str) -> None:
    assert ran(text) == [text]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        pytest.param('bash -c "cd x && go test"', ["cd x", "go test"], id="quoted"),
        pytest.param("sh -lc 'a; b'", ["a", "b"], id="single quotes"),
        pytest.param(
            "bash -lc cd x && go test ./...",
            ["cd x", "go test ./..."],
            id="a list joined by blanks",
        ),
        pytest.param("/bin/zsh -lc pytest -q", ["pytest -q"], id="with a folder"),
        pytest.param(
            "bash -lc env A=1 pytest",
            ["pytest"],
            id="what only starts a command is taken off inside too",
        ),
        pytest.param("""bash -c "sh -c 'a | b'" """, ["a", "b"], id="twice"),
        pytest.param(
            "bash -lc git commit -m 'a; b'",
            ["git commit -m a; b"],
            id="a quoted word of a joined list",
        ),
        pytest.param(
            "bash run.sh -c pytest",
            ["bash run.sh -c pytest"],
            id="a script with options",
        ),
        pytest.param("bash", ["bash"], id="alone"),
        pytest.param("bash -c", ["bash -c"], id="without a script"),
    ],
)
def test_a_shell_is_looked_into(text: str, found: list[str]) -> None:
    assert ran(text) == found


@pytest.mark.parametrize(
    ("text", "writes"),
    [
        *(
            (text, ["x"])
            for text in (
                "a > x",
                "a &> x",
                "a >& x",
                "a >| x",
                "> x",
                "(a; b) > x",
                "a > x | b",
            )
        ),
        ("a >x 2>y", ["x", "y"]),
        ("a >> 'x y'", ["x y"]),
        ("a | tee x y", ["x", "y"]),
        ("a | sudo tee -a x > /dev/null", ["x"]),
        ("cat > x <<EOF\n> y\nEOF", ["x"]),
        ("bash -c 'a > x; b' > y", ["y", "x"]),
        ("for f in *; do a; done > x", ["x"]),
    ],
)
def test_files_that_are_written(text: str, writes: list[str]) -> None:
    assert [path for command in commands_of(text) for path in command.writes] == writes


NOT_WRITTEN = [
    "a 2>&1",
    "a >&2",
    "a 2>&-",
    "a > /dev/null 2>/dev/null",
    "a < x",
    "echo 'a > x'",
    "echo a \\> x",
    "a >",
]


@pytest.mark.parametrize("text", [*NOT_WRITTEN, "echo tee x", "a -"])
def test_no_file_is_written(text: str) -> None:
    assert [path for command in commands_of(text) for path in command.writes] == []


def test_the_number_before_a_redirection_is_no_word() -> None:
    assert ran("a 1 2>&1") == ["a 1"]
    assert ran("a x2>y") == ["a x2"]


def status(text: str) -> tuple[bool, bool]:
    """Return whether the status of ``t`` is hidden, and whether it is the last command."""
    (command,) = [command for command in commands_of(text) if command.words == ("t",)]
    return command.status_hidden, command.is_last


SHOWN = [
    "t",
    "cd x && t",
    "cd x; t",
    "a | t",
    "a || t",
    "t;",
    "t\n",
    "(cd x && t)",
    "{ t; }",
    "t 2>&1",
    "t > x",
    "a\nt",
]


@pytest.mark.parametrize(
    "text", [*SHOWN, "bash -c 'a; t'", "bash -lc cd x && t", "if a; then t; fi"]
)
def test_a_status_that_shows(text: str) -> None:
    assert status(text) == (False, True)


HIDDEN = [
    "t\necho",
    "t | tail",
    "t |& tail",
    "t || true",
    "t && a || true",
    "t; echo $?",
    "t &",
    "t & wait",
    "(t) | tail",
    "(t; a)",
    "{ t; } | tail",
    "bash -c 't' | tail",
    "bash -c 't | tail'",
    "! t",
    "if t; then a; fi",
    "while t; do a; done",
    "for f in a b; do t; done",
    "a $(t)",
    'a "`t`"',
    "a <(t)",
    "t | a && b",
]


@pytest.mark.parametrize("text", HIDDEN)
def test_a_status_that_is_hidden(text: str) -> None:
    assert status(text)[0]


def test_a_command_before_and_is_not_the_last_but_its_status_is_not_hidden() -> None:
    assert status("t && a") == (False, False)


def test_of_a_line_that_is_cut_off_no_command_is_the_last() -> None:
    assert commands_of("t " + "x" * COMMAND_LIMIT)[-1].is_last is False
    assert commands_of("t " + "x" * (COMMAND_LIMIT - 2))[-1].is_last is True


@pytest.mark.parametrize("separator", ["; ", " | ", " && "])
def test_of_very_many_commands_the_first_are_read_and_none_is_the_last(
    separator: str,
) -> None:
    text = separator.join(f"a{number}" for number in range(MOST_COMMANDS + 1))
    commands = commands_of(text)
    assert [command.words[0] for command in commands] == [
        f"a{n}" for n in range(MOST_COMMANDS)
    ]
    assert not any(command.is_last for command in commands)
    assert is_cut(text, commands)


def test_a_line_of_some_commands_is_whole() -> None:
    text = "; ".join(["a"] * (MOST_COMMANDS - 1))
    commands = commands_of(text)
    assert commands[-1].is_last
    assert not is_cut(text, commands)


def test_a_command_is_a_plain_value() -> None:
    command = ShellCommand(("a",), writes=("x",), is_last=True, output_file="x")
    assert commands_of("a > x") == [command]


HOSTILE = [
    *(
        "'",
        '"',
        "`",
        "\\",
        "\\a",
        "$(",
        '"$(',
        "(",
        ")",
        "a=(",
        "<<E\n",
        "<<E ",
        "#",
        "do ",
        "do a;done;",
        "${",
        "$'",
    ),
    *(
        "> ",
        "a;",
        "a|",
        "bash -c ",
        "bash -c 'a b';",
        "env ",
        "uv run --with ",
        "A=1 ",
        "{ ",
    ),
]


@pytest.mark.parametrize("piece", HOSTILE)
def test_the_time_is_linear(piece: str) -> None:
    assert is_linear(commands_of, piece, COMMAND_LIMIT // 8, 0.01)
