"""A peer on the same lines: ccusage 17, a Node program that adds up what Claude Code used and what that cost."""

import json
import os
from dataclasses import replace
from pathlib import Path

from benchmarks.commands import FLOOR, NO_CACHE, Program, floor
from benchmarks.measure import Case, run, take_times
from benchmarks.setting import Setting
from benchmarks.tables import markdown, number, spread

_PEER = "`ccusage session --json --offline`"


def measure(setting: Setting) -> str:
    """Measure the peer and da-score on the transcripts of Claude Code alone."""
    room = setting.room("peer")
    corpus = replace(setting.corpus, transcripts=(setting.corpus.claude,))
    program = Program.on(corpus, room)
    program.fill_cache()
    cases = [floor(corpus), program.no_cache(), program.warm()]
    if setting.ccusage:
        cases.append(_case(setting.ccusage, corpus.claude, room / "claude"))
        totals = json.loads(run(cases[-1]))["totals"]
        print(f"  the peer counted {totals['totalTokens']:,} tokens")
    taken = take_times(cases, setting.repeat)
    print(taken)
    rows = [
        (case.name, *spread(taken.ratio(case.name, FLOOR)), number(taken.ratio(case.name, NO_CACHE).middle))
        for case in cases
    ]
    if not setting.ccusage:
        rows.append((_PEER, "not installed", "", ""))
    return markdown(("", "time, floor = 1", "range", f"time, {NO_CACHE} = 1"), rows)


def _case(program: str, transcripts: Path, directory: Path) -> Case:
    """Return the peer on the transcripts of a folder, which it expects in a place of its own."""
    project = directory / "projects" / "-app"
    project.mkdir(parents=True)
    for path in transcripts.iterdir():
        os.link(path, project / path.name)
    variables = {"CLAUDE_CONFIG_DIR": str(directory), "HOME": str(directory)}
    return Case(_PEER, (program, "session", "--json", "--offline"), variables=variables)
