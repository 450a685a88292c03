"""``da-score init``: everything that a repository needs to be scored, after a look at it."""

import contextlib
import os
import sys
from pathlib import Path
from typing import Any

import click
from msgspec.structs import replace

from rubric import EVIDENCE_ATTRIBUTED, newest_version, released_rubric
from scoring.cli.app import EVIDENCE_OPTIONS, shared_options
from scoring.cli.hook import warn_of_tracked
from scoring.cli.output import on_terminal, progress, say, warn, write, write_json
from scoring.cli.reading import settings_of_whole, sources
from scoring.errors import DaScoreError, SettingsError
from scoring.evidence.git.repository import GitRepository
from scoring.evidence.rules import ATTRIBUTED, rules_of
from scoring.files import make_folder, write_atomically
from scoring.jobs.derive import Derivation, derive
from scoring.jobs.hook_install import (
    HOOKS,
    USUAL,
    hook_settings,
    install_command,
    installed_in,
    refuse_outside,
)
from scoring.jobs.init import settings_text, write_settings
from scoring.log.settings import SETTINGS_FILE, Settings
from scoring.text import counted, printable
from scoring.views.doctor import Examination, examine

_BY_HAND = (
    "entry new writes an entry by hand; da-score derive looks again once an agent has made a commit"
)


@click.command(epilog="Example:  da-score init --yes")
@shared_options(*EVIDENCE_OPTIONS)
@click.option("--force", is_flag=True, help="Replace a settings file that is there.")
@click.option("--print", "only_print", is_flag=True, help="Print the settings and write nothing.")
@click.option("--no-hook", is_flag=True, help="Install no hook, and do not offer it.")
@click.option(
    "--yes", is_flag=True, help="Do all that is offered, without a question; for scripts."
)
def command(
    options: dict[str, Any], force: bool, only_print: bool, no_hook: bool, yes: bool
) -> None:
    """Make a repository ready to be scored, after looking at it: settings, a log, the hook.

    Writes .agents/da-score.toml, with comments: it chooses the newest rubric for real work and notes what was found,
    the log, the trunk, the transcripts. Options given here go into the file. Where there is no log, offers to
    derive one from git and transcripts; where an agent works, offers to install the hook that scores its tasks.
    """
    settings = replace(settings_of_whole(options, files=False), derive=_derives_already(options))
    with progress("Looking at git and transcripts"):
        under, seen = _look(settings)
    if seen.repository.trunk_problem:
        raise SettingsError(seen.repository.trunk_problem)
    if only_print:
        write(settings_text(seen, under))
        return
    asks = not yes and on_terminal() and sys.stdin is not None and sys.stdin.isatty()
    path, kept = (seen.repository.top_level or seen.repository.path) / SETTINGS_FILE, False
    if (yes or asks) and not force and os.path.lexists(path):
        under, kept = (
            replace(settings_of_whole(options), json=settings.json),
            True,
        )  # a file that is no use stops here
    derives = not seen.log.iterations and (
        yes or (asks and _wanted("Write a log entry for each commit of an agent?"))
    )
    read = [file.path for file in seen.transcripts.files if not file.left_out]
    offered = [] if no_hook else _harnesses(seen, read)
    by_hook = "Score each task of {}, by a hook in {}?"
    harnesses = [
        one
        for one in offered
        if yes or (asks and _wanted(by_hook.format(one, (HOOKS[one] or USUAL).file)))
    ]
    if not kept:
        write_settings(
            seen, settings_text(seen, replace(under, derive=derives or under.derive)), force
        )
    ignored = asks and _wanted("Have git ignore .agents/? Say no to commit it.") and _ignore(seen)
    with progress("Writing entries"):
        done = derive(under.iter_log_dir, sources(under, ATTRIBUTED)) if derives else None
    for text in done.broken if done else ():
        warn(f"{text}; left as it is")
    hooks = [str(hook) for name in harnesses for hook in _installed(name, path.parents[1])]
    if settings.json:
        more = {"derived": done.as_dict()} if done else {}
        write_json(
            {
                "path": str(path),
                "rubric": under.rubric,
                **more,
                **({"hooks": hooks} if hooks else {}),
            }
        )
        return
    lines = [f"{path} is there already and stays" if kept else f"Wrote {path}"]
    lines += [_of_entries(done, under.iter_log_dir)] if done else []
    lines += [f"Wrote /.agents/ to {ignored}, so git leaves it alone"] if ignored else []
    lines += [f"Wrote the hook to {hook}" for hook in hooks]
    if done and not done.written and read:
        make_folder(
            under.iter_log_dir
        )  # work shows what the sessions did, whose work a person has committed
    some = seen.log.iterations or under.iter_log_dir.is_dir()
    lines.append(f"Next: da-score {'work' if some else _BY_HAND if derives else 'derive'}")
    say("".join(f"{printable(line)}\n" for line in lines))


def _look(settings: Settings) -> tuple[Settings, Examination]:
    """Examine a repository under the newest rubric that gives each iteration its own evidence."""
    rubric = released_rubric(newest_version(EVIDENCE_ATTRIBUTED))
    under = replace(settings, rubric=rubric.version)
    return under, examine(settings.iter_log_dir, sources(under, rules_of(rubric)), rubric)


def _of_entries(done: Derivation, log_dir: Path) -> str:
    if not done.written:
        return "No commit that an agent made was found: da-score doctor shows what is looked at"
    wrote = counted(len(done.written), "entry", "entries")
    return f"Wrote {wrote} to {log_dir}, one for each commit that an agent made"


def _derives_already(options: dict[str, Any]) -> bool:
    with contextlib.suppress(SettingsError):  # a file that is no use says nothing
        return settings_of_whole(options).derive
    return False


def _wanted(question: str) -> bool:
    return click.confirm(question, default=True, err=True)


def settings_as_here(settings: Settings) -> Path:
    """Write the settings file that this command writes, with what is found here, and return where."""
    under, seen = _look(settings)
    return write_settings(seen, settings_text(seen, replace(under, derive=True)), force=False)


def _ignore(seen: Examination) -> Path | None:
    """Have git leave .agents/ alone in this clone, and return the file that says so; None where it does already."""
    top = seen.repository.top_level
    if top is None or GitRepository(top).ask("check-ignore", "-q", ".agents/x").returncode == 0:
        return None
    answer = GitRepository(top).ask("rev-parse", "--git-path", "info/exclude")
    path = top / os.fsdecode(answer.stdout.strip())
    before = path.read_bytes() if path.is_file() else b""
    make_folder(path.parent)
    write_atomically(
        path, before + (b"" if not before or before.endswith(b"\n") else b"\n") + b"/.agents/\n"
    )
    return path


def _harnesses(seen: Examination, read: list[Path]) -> list[str]:
    top = seen.repository.top_level
    used = {word for path in read for word in path.parts}
    found = []
    for name, file in [(name, hook.file) for name, hook in HOOKS.items() if hook and top]:
        try:
            places = [hook_settings(name, scope, top or Path()) for scope in ("project", "user")]
            if file.partition("/")[0] in used and not any(map(installed_in, places)):
                found.append(name)
        except (DaScoreError, RuntimeError) as e:
            warn(str(e))
    return found


def _installed(harness: str, top: Path) -> list[Path]:
    try:
        path = hook_settings(harness, "project", top)
        refuse_outside(path, top)
        warn_of_tracked(path, top)
        done = install_command(path, HOOKS[harness] or USUAL)
        if done.backup:  # what was added is one hook, which 'hook uninstall' takes out again
            done.backup.unlink(missing_ok=True)
    except DaScoreError as e:
        warn(str(e))
        return []
    return [done.path]
