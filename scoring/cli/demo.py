"""``da-score demo``: a small example log, scored and shown, for those who have none yet."""

import shlex
import tempfile
from collections.abc import Iterator
from pathlib import Path

import click
from msgspec.structs import replace

from scoring.cli.iteration import hooks_behind
from scoring.cli.options import PATH, settings_options
from scoring.cli.output import on_terminal, say, show, warn, write_json
from scoring.demo import Demo, build_demo
from scoring.evidence.git.walk import subjects_of
from scoring.examine import LogView
from scoring.log.settings import Settings
from scoring.score import score_log
from scoring.scored import ScoredIteration, ScoredLog, WrittenSidecars
from scoring.sidecars.scores import iteration_score_path
from scoring.sidecars.writing import write_scored_log
from scoring.views.integrity import integrity_page, summarize_integrity
from scoring.views.landing_text import landing_text, named_commit
from scoring.views.run_pages import RunShown, run_item, run_page, run_payload
from scoring.views.score_pages import iteration_page
from scoring.views.table import Block, Line
from scoring.views.work_rows import work_of


@click.command(epilog="Example:  da-score demo /tmp/da-score-demo")
@click.argument("directory", type=PATH, required=False)
@settings_options()
def command(directory: Path | None, settings: Settings) -> None:
    """Make a small example repository with a log, score it, and show the scores.

    The repository goes to DIRECTORY, by default a new temporary folder.
    """
    root = directory or Path(tempfile.mkdtemp(prefix="da-score-demo-"))
    demo = build_demo(root)
    log = score_log(demo.iter_log_dir, demo.repo_dir, *demo.transcript_dirs, warn=warn)
    iteration_files, session_files = write_scored_log(demo.iter_log_dir, log, warn)

    if settings.json:
        write_json(run_payload(log.summary, map(run_item, log.iterations)))
        return

    shown = _work_to_show(demo, log)
    written = WrittenSidecars(len(iteration_files), len(session_files))
    show(run_page(replace(log.summary, written=written), demo.iter_log_dir, shown))

    lowest = min(log.iterations, key=_unscored_last)
    show(_page_of_lowest(lowest, demo, shown))

    claims = summarize_integrity(iteration.signals for iteration in log.iterations)
    show([Line(), *integrity_page(claims, demo.iter_log_dir)])

    say(
        f"\nThe demo is in {demo.root}. Try:\n"
        f"  cd {shlex.quote(str(demo.repo_dir))} && da-score iteration {lowest.score.iteration}\n"
    )


def _work_to_show(demo: Demo, log: ScoredLog) -> RunShown:
    view = LogView(
        demo.iter_log_dir, demo.repo_dir, demo.transcript_dirs, options={"cache_dir": None}
    )
    commits = [line.commit for line in log.summary.lines if line.commit]
    return RunShown(
        work_of(view),
        subjects_of(demo.repo_dir, commits),
        terminal=on_terminal(),
        every=True,
        sessions=True,
    )


def _unscored_last(iteration: ScoredIteration) -> tuple[bool, float]:
    return not iteration.score.scored, iteration.score.value


def _page_of_lowest(lowest: ScoredIteration, demo: Demo, shown: RunShown) -> Iterator[Block]:
    number = lowest.score.iteration
    yield Line()
    yield Line(f"Why iteration {number} scored lowest", only="terminal")
    yield Line(only="terminal")

    landing = lowest.facts.landing
    subject = shown.subjects.get(lowest.record.commit, "")
    yield from iteration_page(
        lowest.persisted,
        hooks_behind(lowest.persisted, demo.iter_log_dir),
        iteration_score_path(demo.iter_log_dir, number),
        objectives=lowest.signals.objective,
        about=[named_commit(landing.sha, subject), landing_text(landing)],
    )
