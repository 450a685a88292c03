"""What a long trunk costs, compared with one ``git log`` of it. No transcripts are read."""

import shutil
from dataclasses import replace

from benchmarks.commands import NO_CACHE, WARM, Program
from benchmarks.corpus import make_corpus
from benchmarks.floor import trunk_command
from benchmarks.made.history import TRUNK, git
from benchmarks.measure import Case, take_times
from benchmarks.setting import Setting
from benchmarks.tables import markdown, number, spread

_GIT = "`git log` of the trunk"
_NEW = "`run --no-write`, warm cache, ten new commits"
_NEW_COMMITS = 10


def measure(setting: Setting) -> str:
    """Measure a log on a long trunk, and subtract what the same log costs on a short one."""
    program = _program(setting, setting.trunk)
    short = _program(setting, 0)
    new = _new_commits(program)
    program.fill_cache()
    short.fill_cache()
    on_short = {
        NO_CACHE: short.no_cache(name="no cache, short"),
        WARM: short.warm(name="warm cache, short"),
    }
    git_log = Case(_GIT, trunk_command(program.corpus.repo))
    cases = [git_log, program.no_cache(), program.warm(), new]
    times = take_times([*cases, *on_short.values()], setting.repeat)
    print(times)

    rows = []
    for case in cases:
        less = "" if case is git_log else on_short.get(case.name, on_short[WARM]).name
        added = number(times.ratio(case.name, _GIT, less).middle)
        rows.append((case.name, *spread(times.ratio(case.name, _GIT)), added))
    table = markdown(
        ("", "time, `git log` = 1", "range", "what the long trunk adds"), rows
    )

    commits = program.corpus.size.extra_commits
    return f"{commits:,} commits before the first iteration.\n\n{table}"


def _program(setting: Setting, extra_commits: int) -> Program:
    """Return da-score on a backlog with some commits before its first iteration."""
    room = setting.room(f"trunk-{extra_commits}")
    size = replace(setting.corpus.size, transcript_mb=0, extra_commits=extra_commits)
    return Program.on(make_corpus(room, size), room)


def _new_commits(program: Program) -> Case:
    """Return a warm run to which the last commits of the trunk are new each time."""
    repo = program.corpus.repo
    before = program.cache.with_name("before")
    tip = git(repo, "rev-parse", TRUNK)
    git(repo, "update-ref", f"refs/heads/{TRUNK}", f"{TRUNK}~{_NEW_COMMITS}")
    program.fill_cache()
    git(repo, "update-ref", f"refs/heads/{TRUNK}", tip)
    shutil.copytree(program.cache, before)
    used = program.cache.with_name("used")

    def restore() -> None:
        shutil.rmtree(used, ignore_errors=True)
        shutil.copytree(before, used)

    return Case(_NEW, program.command("run", "--no-write", cache=used), restore)
