"""``da-score completion SHELL``, and the iterations and sessions that completion offers."""

import contextlib
import functools
import os
import re
import shlex
from pathlib import Path

import click
from click.shell_completion import CompletionItem, get_completion_class

from scoring.cli.group import COMPLETION_VARIABLE, PROGRAM, cli
from scoring.cli.output import write
from scoring.errors import OptionError
from scoring.files import make_folder, read_file, write_atomically
from scoring.log.find import names_in_log
from scoring.log.settings import resolve_settings

_ITERATION = re.compile(r"iter-([0-9]+)\.yaml")
_SESSION = re.compile(r"session-(.+)\.score\.yaml")

_SHELLS = ("bash", "zsh", "fish")
_NEEDS_COMPDEF = "(( $+functions[compdef] )) || { autoload -Uz compinit && compinit }\n"  # what zsh starts without


@click.command(epilog="Example:  da-score completion bash --install")
@click.argument("shell", type=click.Choice(_SHELLS), required=False)
@click.option(
    "--install", is_flag=True, help="Write the script, and have the shell read it when it starts."
)
def command(shell: str | None, install: bool) -> None:
    """Print the completion script of a shell, to be evaluated in its start-up file, or install it.

    Without a name it is the shell of the variable SHELL.
    """
    name = shell or Path(os.environ.get("SHELL", "")).name
    if name not in _SHELLS:
        raise OptionError(
            f"no completion for the shell {name or 'without a name'}; name one of {', '.join(_SHELLS)}"
        )
    kind = get_completion_class(name)
    assert kind is not None  # click knows the three shells
    script = kind(cli, {}, PROGRAM, COMPLETION_VARIABLE).source() + "\n"
    write(_install(name, script) if install else script)


def _install(shell: str, script: str) -> str:
    """Write the script to where the shell, or a line of its start-up file, reads it; return what was done, in words."""
    home = Path.home()
    if shell == "fish":
        file = (
            Path(os.environ.get("XDG_CONFIG_HOME") or home / ".config")
            / "fish/completions"
            / f"{PROGRAM}.fish"
        )
    else:
        file = (
            Path(os.environ.get("XDG_DATA_HOME") or home / ".local/share")
            / PROGRAM
            / f"completion.{shell}"
        )
    make_folder(file.parent)
    write_atomically(file, ((_NEEDS_COMPDEF if shell == "zsh" else "") + script).encode())
    done = f"wrote {file}\n"
    if shell != "fish":
        start = (
            home / ".bashrc"
            if shell == "bash"
            else Path(os.environ.get("ZDOTDIR") or home) / ".zshrc"
        )
        done += _add_line(start, f"[ ! -r {shlex.quote(str(file))} ] || . {shlex.quote(str(file))}")
    added = "the file" if shell == "fish" else "the file and the line"
    return (
        f"{done}Completion begins in the next {shell} that you start; to undo it, remove {added}.\n"
    )


def _add_line(file: Path, line: str) -> str:
    """Add a line at the end of a start-up file, unless it has it; return what was done, in words."""
    real, before, mode, owner = Path(os.path.realpath(file)), b"", 0o644, None
    with contextlib.suppress(FileNotFoundError):
        before, found = read_file(real), os.stat(real)
        mode, owner = found.st_mode & 0o7777, (found.st_uid, found.st_gid)
    if line.encode() in before.splitlines():
        return f"{file} reads it already\n"
    end = b"" if not before or before.endswith(b"\n") else b"\n"
    write_atomically(real, before + end + line.encode() + b"\n", mode, owner)
    return f"added a line to {file} that reads it\n"


def session_ids(log_dir: Path, pattern: re.Pattern[str] = _SESSION) -> list[str]:
    """Return the sessions that have a sidecar in a log, sorted; or what another pattern finds in names of files."""
    return [m[1] for name in names_in_log(log_dir) if (m := pattern.fullmatch(name))]


def _offered(
    pattern: re.Pattern[str], ctx: click.Context, _: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    given = {"iter-log-dir": ctx.params.get("iter_log_dir"), "repo-dir": ctx.params.get("repo_dir")}
    try:
        found = session_ids(resolve_settings(given).iter_log_dir, pattern)
    except Exception:
        return []
    return [CompletionItem(name) for name in found if name.startswith(incomplete)]


complete_iterations = functools.partial(_offered, _ITERATION)
complete_sessions = functools.partial(_offered, _SESSION)
