"""``da-score completion SHELL``: the script by which a shell completes commands."""

import os
import shlex
from pathlib import Path

import click
from click.shell_completion import get_completion_class

from scoring.errors import OptionError
from scoring.files import make_folder, overwrite, read_or_none, write_atomically

from .group import COMPLETION_VARIABLE, PROGRAM, cli
from .options import flag
from .output import write

_SHELLS = ("bash", "zsh", "fish")

_LOAD_COMPDEF = "(( $+functions[compdef] )) || { autoload -Uz compinit && compinit }\n"
"""A line of zsh that loads ``compdef``, which the script needs, where zsh started without it."""


@click.command
@click.argument("shell", type=click.Choice(_SHELLS), required=False)
@flag("--install", "Write the script, and have the shell read it when it starts.")
def command(shell: str | None, install: bool) -> None:
    """Print the completion script of a shell, or install it.

    Evaluate the printed script in the shell's start-up file. Without a name, the shell is that of
    the variable SHELL.

    Example:  da-score completion bash --install
    """
    name = shell or Path(os.environ.get("SHELL", "")).name
    if name not in _SHELLS:
        raise OptionError(
            f"no completion for the shell {name or 'without a name'}; "
            f"name one of {', '.join(_SHELLS)}"
        )

    completion_class = get_completion_class(name)
    assert completion_class is not None  # click knows the three shells
    script = completion_class(cli, {}, PROGRAM, COMPLETION_VARIABLE).source() + "\n"
    write(_install(name, script) if install else script)


def _install(shell: str, script: str) -> str:
    """Write the script where the shell finds it, and return what was done, for people."""
    if shell == "fish":  # it reads all scripts in its folder
        config_home = Path(os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config")
        path = config_home / "fish" / "completions" / f"{PROGRAM}.fish"
    else:
        data_home = Path(
            os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share"
        )
        path = data_home / PROGRAM / f"completion.{shell}"

    if shell == "zsh":
        script = _LOAD_COMPDEF + script
    make_folder(path.parent)
    write_atomically(path, script.encode())

    if shell == "fish":
        return (
            f"wrote {path}\n"
            "Completion begins in the next fish that you start; to undo it, remove the file.\n"
        )

    start_up_file = Path.home() / ".bashrc"
    if shell == "zsh":
        start_up_file = Path(os.environ.get("ZDOTDIR") or Path.home()) / ".zshrc"
    name = shlex.quote(str(path))
    added = _add_line(start_up_file, f"[ ! -r {name} ] || . {name}")
    return (
        f"wrote {path}\n{added}"
        f"Completion begins in the next {shell} that you start; to undo it, remove the file and "
        "the line.\n"
    )


def _add_line(path: Path, line: str) -> str:
    """Add a line at the end of a start-up file that lacks the line, and return what was done.

    A file that does not exist is made. A file that exists keeps its mode and its owner, and a link
    is followed.
    """
    target = Path(os.path.realpath(path))
    content = read_or_none(target) or b""
    if line.encode() in content.splitlines():
        return f"{path} reads it already\n"

    if content and not content.endswith(b"\n"):
        content += b"\n"
    overwrite(target, content + line.encode() + b"\n")
    return f"added a line to {path} that reads it\n"
