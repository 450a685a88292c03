"""``da-score demo``: a small example log, shown by the commands that people run first."""

import shlex
import tempfile
from pathlib import Path

import click

from rubric import RUBRIC_VERSION, newest_version
from scoring.demo import Demo, build_demo
from scoring.evidence.rules import ATTRIBUTED
from scoring.frozen import PlainData
from scoring.log.setting_rows import SETTINGS
from scoring.log.settings import variable_of
from scoring.worker_processes import environment_with

from .group import cli
from .options import PATH, shared_options
from .output import say

_REVERTED = "5"
"""The iteration that is explained: its commit was reverted, and it claimed more than was seen."""

_NO_VARIABLES = dict.fromkeys(map(variable_of, SETTINGS))
"""The variables of all settings, none of which has a value while the demo is shown."""


@click.command
@shared_options()
@click.argument("directory", type=PATH, required=False)
def command(directory: Path | None, options: PlainData) -> None:
    """Make a small example repository with a log, and show what da-score says of it.

    Shows what became of the work and why one iteration went as it did, and then scores under the
    rubric of the reference. The repository goes to DIRECTORY, by default a new temporary folder.
    DA_SCORE_* variables do not change what is shown.

    Example:  da-score demo /tmp/da-score-demo
    """
    root = directory or Path(tempfile.mkdtemp(prefix="da-score-demo-"))
    demo = build_demo(root)
    if options["json"]:
        _show(demo, "run", "--json")
        return

    newest = newest_version(ATTRIBUTED.name)
    say("$ da-score work\n")
    _show(demo, "work")
    say(f"\n$ da-score explain {_REVERTED} --rubric {newest}\n")
    _show(demo, "explain", f"--rubric={newest}", _REVERTED)
    say(
        f"\nThe commands below go by rubric {RUBRIC_VERSION}, that of the reference, which weighs "
        f"evidence otherwise than {newest}: their scores differ from that above.\n"
    )
    say(f"\n$ da-score iteration {_REVERTED}\n")
    _show(demo, "iteration", _REVERTED)
    say("\n$ da-score run\n")
    _show(demo, "run")
    say("\n$ da-score log integrity\n")
    _show(demo, "log", "integrity")

    say(f"\nThe demo is in {demo.root}. Try:\n")
    say(f"  cd {shlex.quote(str(demo.repo_dir))} && da-score work\n")


def _show(demo: Demo, *arguments: str) -> None:
    """Run a command line over the folders of the demo, without a store and the user's settings."""
    options = [
        f"--repo-dir={demo.repo_dir}",
        f"--iter-log-dir={demo.iter_log_dir}",
        *(f"--transcript-dir={folder}" for folder in demo.transcript_dirs),
        "--no-cache",
    ]
    with environment_with(_NO_VARIABLES):
        cli.main([*arguments, *options], standalone_mode=False)
