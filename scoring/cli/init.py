"""``da-score init``: everything that a repository needs to be scored, after a look at it."""

import os
import sys
from pathlib import Path
from typing import Any

import click
from msgspec.structs import replace

from rubric import EVIDENCE_ATTRIBUTED, newest_version, released_rubric
from scoring.cli.app import EVIDENCE_OPTIONS, shared_options
from scoring.cli.output import on_terminal, say, warn, write, write_json
from scoring.cli.reading import settings_of_whole, sources
from scoring.errors import DaScoreError, SettingsError
from scoring.evidence.rules import ATTRIBUTED, rules_of
from scoring.jobs.derive import derive
from scoring.jobs.hook_install import HOOKS, USUAL, hook_settings, install_command, installed_in, refuse_outside
from scoring.jobs.init import settings_text, write_settings
from scoring.log.settings import SETTINGS_FILE
from scoring.text import counted, printable
from scoring.views.doctor import Examination, examine

_BY_HAND = "entry new writes an entry by hand; da-score derive looks again once an agent has made a commit"


@click.command(epilog="Example:  da-score init --yes")
@shared_options(*EVIDENCE_OPTIONS)
@click.option("--force", is_flag=True, help="Replace a settings file that is there.")
@click.option("--print", "only_print", is_flag=True, help="Print the settings and write nothing.")
@click.option("--yes", is_flag=True, help="Do all that is offered, without a question; for scripts.")
def command(options: dict[str, Any], force: bool, only_print: bool, yes: bool) -> None:
    """Make a repository ready to be scored, after looking at it: settings, a log, the hook.

    Writes .agents/da-score.toml, with comments: it chooses the newest rubric for real work and notes what was found,
    the log, the trunk, the transcripts. What the options name goes into the file. Where there is no log, offers to
    derive one from git and transcripts; where an agent works, offers to install the hook that scores its tasks.
    """
    settings = settings_of_whole(options, files=False)
    rubric = released_rubric(newest_version(EVIDENCE_ATTRIBUTED))  # gives each iteration its own evidence
    under = replace(settings, rubric=rubric.version)
    seen = examine(settings.iter_log_dir, sources(under, rules_of(rubric)), rubric)
    if seen.repository.trunk_problem:
        raise SettingsError(seen.repository.trunk_problem)
    if only_print:
        write(settings_text(seen, under))
        return
    asks = not yes and on_terminal() and sys.stdin is not None and sys.stdin.isatty()
    path, kept = (seen.repository.top_level or seen.repository.path) / SETTINGS_FILE, False
    if (yes or asks) and not force and os.path.lexists(path):
        resolve = settings_of_whole(options)  # stops before anything is done where the file cannot be used
        under, kept = replace(resolve, json=settings.json), True
    derives = not seen.log.iterations and (yes or (asks and _wanted("There is no log. Derive one from git?")))
    harnesses = [name for name in _harnesses(seen) if yes or (asks and _wanted(f"Score every task of {name}?"))]
    if not kept:
        write_settings(seen, settings_text(seen, replace(under, derive=derives)), force)
    done = derive(under.iter_log_dir, sources(under, ATTRIBUTED)) if derives else None
    for text in done.broken if done else ():
        warn(f"{text}; left as it is")
    hooks = [str(hook) for name in harnesses for hook in _installed(name, path.parents[1])]
    if settings.json:
        more = {"derived": done.as_dict()} if done else {}
        write_json({"path": str(path), "rubric": under.rubric, **more, **({"hooks": hooks} if hooks else {})})
        return
    lines = [f"{path} is there already and stays" if kept else f"Wrote {path}"]
    if done and done.written:
        wrote = counted(len(done.written), "entry", "entries")
        lines.append(f"Wrote {wrote} to {under.iter_log_dir}, one for each commit of an agent")
    elif done:
        lines.append("No commit of an agent was found: da-score doctor shows what is looked at")
    lines += [f"Wrote the hook to {hook}" for hook in hooks]
    nothing = not seen.log.iterations and not (done and done.written)
    lines.append(f"Next: da-score {'run' if not nothing else _BY_HAND if derives else 'derive'}")
    say("".join(f"{printable(line)}\n" for line in lines))


def _wanted(question: str) -> bool:
    return click.confirm(question, default=True, err=True)


def _harnesses(seen: Examination) -> list[str]:
    top = seen.repository.top_level
    used = {word for file in seen.transcripts.files if not file.left_out for word in file.path.parts}
    found = []
    known = [(name, hook.file) for name, hook in HOOKS.items() if hook and top]
    for name, file in known:
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
        return [install_command(path, HOOKS[harness] or USUAL).path]
    except DaScoreError as e:
        warn(str(e))
        return []
