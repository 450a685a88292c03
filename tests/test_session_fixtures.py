"""The generated sessions: what they state is true, and the evidence policies find it or, where they must, do not."""

import hashlib
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
from helpers.session_oracle import observe, summed
from sessions import claude_cases, codex_cases, place_cases
from sessions.mixed import mixed
from sessions.world import CLAUDE, CODEX, Totals, Truth, Window

Scenario = Callable[[Path, int], Truth]

pytest.importorskip("zstandard")

SCENARIOS: dict[str, Scenario] = {
    "claude-plain": claude_cases.plain,
    "claude-streaming-same": claude_cases.streaming,
    "claude-streaming-rising": partial(claude_cases.streaming, outputs="rising"),
    "claude-streaming-falling": partial(claude_cases.streaming, outputs="falling"),
    "claude-stalled-stream": claude_cases.stalled_stream,
    "claude-on-the-boundary": claude_cases.on_the_boundary,
    "claude-subagents": claude_cases.subagents,
    "claude-subagents-beside": partial(claude_cases.subagents, beside=True),
    "claude-sidechain-in-main": claude_cases.sidechain_in_main,
    "claude-sidechain-replay": claude_cases.sidechain_replay,
    "claude-sidechain-replay-parent-cut": partial(claude_cases.sidechain_replay, cut="parent"),
    "claude-sidechain-replay-agent-cut": partial(claude_cases.sidechain_replay, cut="agent"),
    "claude-resumed": claude_cases.resumed,
    "claude-resumed-restamped": partial(claude_cases.resumed, restamp=True, times=3),
    "claude-forked": claude_cases.forked,
    "claude-compaction": claude_cases.compaction,
    "claude-api-errors": claude_cases.api_errors,
    "claude-without-ids": claude_cases.without_ids,
    "claude-without-ids-or-requests": partial(claude_cases.without_ids, requests=False),
    "claude-string-content": claude_cases.string_content,
    "claude-repeated-results": claude_cases.repeated_results,
    "claude-harness-lines": claude_cases.harness_lines,
    "claude-folders": place_cases.claude_folders,
    "claude-config-places": place_cases.config_places,
    "codex-plain": codex_cases.plain,
    "codex-totals-again": codex_cases.totals_again,
    "codex-totals-fall": codex_cases.totals_fall,
    "codex-totals-fall-partly": partial(codex_cases.totals_fall, partly=True),
    "codex-without-totals": codex_cases.without_totals,
    "codex-without-last": codex_cases.without_last,
    "codex-null-info": codex_cases.null_info,
    "codex-cache-writes": codex_cases.cache_writes,
    "codex-forks": codex_cases.forks,
    "codex-forks-old": partial(codex_cases.forks, v7=False),
    "codex-forks-part": partial(codex_cases.forks, part=True),
    "codex-forks-part-old": partial(codex_cases.forks, part=True, v7=False),
    "codex-forks-afresh": partial(codex_cases.forks, afresh=True),
    "codex-forks-afresh-old": partial(codex_cases.forks, afresh=True, v7=False),
    "codex-spawned": partial(codex_cases.forks, spawned=True),
    "codex-spawned-old": partial(codex_cases.forks, spawned=True, v7=False),
    "codex-nested-forks": codex_cases.nested_forks,
    "codex-nested-forks-old": partial(codex_cases.nested_forks, v7=False),
    "codex-spawned-afresh": codex_cases.spawned_afresh,
    "codex-spawned-afresh-old": partial(codex_cases.spawned_afresh, v7=False),
    "codex-unused-fork": codex_cases.unused_fork,
    "codex-fork-in-the-same-millisecond": codex_cases.fork_in_the_same_millisecond,
    "codex-fork-of-elsewhere": codex_cases.fork_of_elsewhere,
    "codex-fork-of-elsewhere-old": partial(codex_cases.fork_of_elsewhere, v7=False),
    "codex-exit-forms": codex_cases.exit_forms,
    "codex-without-verdicts": codex_cases.without_verdicts,
    "codex-without-verdicts-marked": partial(codex_cases.without_verdicts, marked=True),
    "codex-events-that-decide": codex_cases.events_that_decide,
    "codex-checks": codex_cases.checks,
    "codex-compaction": codex_cases.compaction,
    "codex-compressed": codex_cases.compressed,
    "codex-compressed-frames": partial(codex_cases.compressed, frames=3),
    "codex-archived": codex_cases.archived,
    "codex-folders": place_cases.codex_folders,
    **{f"damaged-{how}": partial(place_cases.damaged, how=how) for how in place_cases.DAMAGES},
    "mixed": mixed,
}

every = pytest.mark.parametrize("scenario", [pytest.param(made, id=name) for name, made in SCENARIOS.items()])
seeds = pytest.mark.parametrize("seed", range(6))
HARNESSES = (CLAUDE, CODEX)


def differences(truth: Truth, found: Callable[[Window, str], tuple[Totals, bool]], *, here: bool) -> list[str]:
    """Return where a reading of windows, which says totals and whether anything was there, is not the truth."""
    wrong = []
    for n, window in enumerate([*truth.windows, truth.everything]):
        for harness in HARNESSES:
            totals, _ = found(window, harness)
            true = truth.totals(window, harness, here=here)
            if totals != true:
                wrong.append(f"window {n} {harness}: {totals}, truth {true}")
        covered, true_cover = found(window, "")[1], truth.covered(window, here=here)
        if true_cover is not None and covered != true_cover:
            wrong.append(f"window {n}: covered {covered}, truth {true_cover}")
    return wrong


def by_the_oracle(truth: Truth, *, here: bool) -> list[str]:
    """Return where the slow reading is not the truth."""
    facts = observe(truth.folders, truth.repository if here else None)

    def found(window: Window, harness: str) -> tuple[Totals, bool]:
        sums = summed(facts, window.start, window.end, harness)
        return (Totals(*sums) if sums else Totals()), sums is not None

    return differences(truth, found, here=here)


def digest(root: Path) -> str:
    """Return a digest of all transcripts below a folder, whatever the folder's name."""
    whole = hashlib.sha256()
    for path in sorted(root.rglob("*.json*")):
        whole.update(path.read_bytes().replace(str(root).encode(), b"ROOT"))
    return whole.hexdigest()


class TestGenerators:
    @every
    def test_the_slow_reading_finds_the_truth(self, scenario: Scenario, tmp_path: Path) -> None:
        truth = scenario(tmp_path / "world", 1)
        assert by_the_oracle(truth, here=False) == []
        assert by_the_oracle(truth, here=True) == []

    @seeds
    def test_the_slow_reading_finds_the_truth_of_a_whole_home(self, seed: int, tmp_path: Path) -> None:
        truth = mixed(tmp_path / "world", seed)
        assert by_the_oracle(truth, here=False) == []
        assert by_the_oracle(truth, here=True) == []
