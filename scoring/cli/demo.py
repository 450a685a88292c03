"""``da-score demo``: a small example log, scored and shown, for those who have none yet."""

import shlex
import tempfile
from pathlib import Path

import click

from scoring.cli.app import PATH, settings_options
from scoring.cli.iteration import hooks_behind
from scoring.cli.output import on_terminal, say, show, warn, write_json
from scoring.demo import build_demo
from scoring.evidence.git.walk import subjects_of
from scoring.examine import LogView
from scoring.log.settings import Settings
from scoring.score import score_log, write_scored_log
from scoring.sidecars.scores import iteration_score_path
from scoring.views.integrity import integrity_page, summarize_integrity
from scoring.views.landing_text import landing_text, named_commit
from scoring.views.run_pages import RunShown, run_item, run_page, run_payload
from scoring.views.score_pages import iteration_page
from scoring.views.table import Line
from scoring.views.work_rows import work_of


@click.command(epilog="Example:  da-score demo /tmp/da-score-demo")
@click.argument("directory", type=PATH, required=False)
@settings_options()
def command(directory: Path | None, settings: Settings) -> None:
    """Make a small repository with an iteration log in DIRECTORY (a new one by default), score it, and show it."""
    demo = build_demo(directory or Path(tempfile.mkdtemp(prefix="da-score-demo-")))
    scored = score_log(demo.iter_log_dir, demo.repo_dir, *demo.transcript_dirs, warn=warn)
    iterations, sessions = write_scored_log(demo.iter_log_dir, scored, warn)
    if settings.json:
        write_json(run_payload(scored.summary, map(run_item, scored.iterations)))
        return
    written = len(iterations), len(sessions)
    lowest = min(scored.iterations, key=lambda i: (not i.score.scored, i.score.value))
    claims = summarize_integrity(i.signals for i in scored.iterations)
    source = iteration_score_path(demo.iter_log_dir, lowest.score.iteration)
    hooks = hooks_behind(lowest.persisted, demo.iter_log_dir)
    rows = work_of(
        LogView(demo.iter_log_dir, demo.repo_dir, demo.transcript_dirs, options={"cache_dir": None})
    )
    subjects = subjects_of(
        demo.repo_dir, [one.commit for one in scored.summary.lines if one.commit]
    )
    more = RunShown(rows, subjects, terminal=on_terminal(), every=True, sessions=True)
    show(run_page(scored.summary, demo.iter_log_dir, written, more))
    why = f"Why iteration {lowest.score.iteration} scored lowest"
    show([Line(), Line(why, only="terminal"), Line(only="terminal")])
    landing = lowest.facts.landing
    about = [
        named_commit(landing.sha, more.subjects.get(lowest.record.commit, "")),
        landing_text(landing),
    ]
    show(
        iteration_page(
            lowest.persisted, hooks, source, objectives=lowest.signals.objective, about=about
        )
    )
    show([Line(), *integrity_page(claims, demo.iter_log_dir)])
    say(
        f"\nThe demo is in {demo.root}. Try:\n"
        f"  cd {shlex.quote(str(demo.repo_dir))} && da-score iteration {lowest.score.iteration}\n"
    )
