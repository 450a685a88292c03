"""Generated sessions state what is true, and the readings find it where they should."""

import dataclasses
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Unpack

import pytest
from helpers.harness_lines import cases, facts_in
from helpers.repos import Repo
from sessions import claude_cases, codex_cases, place_cases
from sessions.mixed import mixed, stages
from sessions.world import CLAUDE, CLI, CODEX, LOOP_STATE, TESTS, Totals, Truth, Window

from rubric import released_rubric
from scoring.evidence.attribution.attributed import AttributedScan
from scoring.evidence.commands.objective_flags import CallFlag
from scoring.evidence.harnesses.scan import Scan
from scoring.evidence.reference.transcripts import ReferenceScan
from scoring.evidence.transcripts.facts import (
    NS,
    HarnessFacts,
    IterationWindow,
    ReadingOptions,
    TranscriptFacts,
    TranscriptPlaces,
)
from scoring.score import score_log

MakeScan = Callable[..., Scan]
Scenario = Callable[[Path, int], Truth]

SCENARIOS: dict[str, Scenario] = {
    "claude-plain": claude_cases.plain,
    "claude-streaming-same": claude_cases.streaming,
    "claude-streaming-rising": partial(claude_cases.streaming, outputs="rising"),
    "claude-streaming-falling": partial(claude_cases.streaming, outputs="falling"),
    "claude-stalled-stream": claude_cases.stalled_stream,
    "claude-shuffled": claude_cases.shuffled,
    "claude-on-the-boundary": claude_cases.on_the_boundary,
    "claude-subagents": claude_cases.subagents,
    "claude-subagents-beside": partial(claude_cases.subagents, beside=True),
    "claude-sidechain-in-main": claude_cases.sidechain_in_main,
    "claude-sidechain-replay": claude_cases.sidechain_replay,
    "claude-sidechain-replay-parent-cut": partial(
        claude_cases.sidechain_replay, cut="parent"
    ),
    "claude-sidechain-replay-agent-cut": partial(
        claude_cases.sidechain_replay, cut="agent"
    ),
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
    "claude-shared-ids": claude_cases.shared_ids,
    "claude-sparse-usage": claude_cases.sparse_usage,
    "claude-compressed": claude_cases.compressed,
    "claude-checks": claude_cases.checks,
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
    "codex-fork-without-contexts": codex_cases.fork_without_contexts,
    "codex-orphaned-fork": codex_cases.orphaned_fork,
    "codex-fork-by-a-newer-version": codex_cases.fork_by_a_newer_version,
    "codex-ancient": codex_cases.ancient,
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
    "linked-places": place_cases.linked_places,
    **{
        f"damaged-{how}": partial(place_cases.damaged, how=how)
        for how in place_cases.DAMAGES
    },
    "mixed": mixed,
}

SPREAD_RESPONSES = ("claude-stalled-stream", "claude-shuffled")
"""Where the lines of a response lie in several windows.

It counts in its last line, and truth has the first.
"""

REPEATED_SUB_AGENTS = ("claude-harness-lines",)
"""Where a session repeats a sub-agent without a transcript, which truth does not count."""

HARNESSES = (CLAUDE, CODEX)


def differences(
    truth: Truth, found: Callable[[Window, str], tuple[Totals, bool]], *, here: bool
) -> list[str]:
    """Return where a reading of windows differs from the truth.

    It returns the totals of a window, and whether anything was there.
    """
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


def read(
    rules: MakeScan,
    places: TranscriptPlaces,
    truth: Truth,
    **reading: Unpack[ReadingOptions],
) -> Sequence[TranscriptFacts]:
    """Read transcripts under some rules. The last facts are those of all windows together."""
    windows = [
        IterationWindow(n, *window)
        for n, window in enumerate([*truth.windows, truth.everything])
    ]
    with rules(places, **reading).start() as scan:
        return facts_in(scan, windows)


def read_leaves(rules: MakeScan, truth: Truth) -> Sequence[TranscriptFacts]:
    """Read every folder that holds transcripts, named one by one."""
    below = {
        path.parent for folder in truth.folders for path in folder.rglob("*.jsonl*")
    }
    return read(rules, TranscriptPlaces(truth.repository, tuple(sorted(below))), truth)


def under_the_rules(
    truth: Truth,
    places: TranscriptPlaces,
    *,
    here: bool,
    **reading: Unpack[ReadingOptions],
) -> list[str]:
    """Return where a reading of windows does not find the truth."""
    windows = [*truth.windows, truth.everything]
    facts = dict(
        zip(windows, read(AttributedScan, places, truth, **reading), strict=True)
    )

    def found(window: Window, harness: str) -> tuple[Totals, bool]:
        observed = facts[window]
        assert isinstance(observed, TranscriptFacts)
        shares = [share for share in observed.harnesses if share.name == harness]
        return (_totals(shares[0]) if shares else Totals()), observed.covered

    wrong = differences(truth, found, here=here)
    for n, window in enumerate(windows):
        observed = facts[window]
        assert isinstance(observed, TranscriptFacts)
        dropped = sum(
            share.duplicates_dropped
            for share in observed.harnesses
            if share.name == CLAUDE
        )
        true = truth.duplicates(window, here=here)
        if dropped != true:
            wrong.append(f"window {n}: {dropped} duplicates, truth {true}")
    return wrong


def _totals(share: HarnessFacts) -> Totals:
    flags = (
        (CallFlag.SHELL, CLI),
        (CallFlag.TESTS, TESTS),
        (CallFlag.LOOP_STATE, LOOP_STATE),
    )
    return Totals(
        share.turns,
        share.input_tokens,
        share.output_tokens,
        share.cache_read_tokens,
        share.cache_creation_tokens,
        share.tool_calls,
        share.tool_errors,
        sum(here for flag, here in flags if flag in share.shows),
    )


def wrong_anywhere(truth: Truth) -> list[str]:
    """Return where a reading does not find the truth of named folders and of a home."""
    return [
        *under_the_rules(
            truth, TranscriptPlaces(truth.repository, truth.folders), here=False
        ),
        *under_the_rules(
            truth, TranscriptPlaces(truth.repository, auto=True), here=True
        ),
    ]


class TestWindows:
    @pytest.mark.sampled(31)
    @pytest.mark.parametrize("name", sorted(SCENARIOS.keys() - {*REPEATED_SUB_AGENTS}))
    def test_named_folders_count_whole_and_the_harnesses_places_for_the_repository(
        self, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        truth = SCENARIOS[name](tmp_path / "world", 1)
        if name in SPREAD_RESPONSES:
            truth = dataclasses.replace(truth, windows=(truth.everything,))
        monkeypatch.setenv("HOME", str(truth.home))
        assert wrong_anywhere(truth) == []

    @pytest.mark.sampled(3)
    @pytest.mark.parametrize("seed", range(20, 24))
    def test_what_was_kept_of_an_earlier_reading_serves_a_home_that_goes_on(
        self, seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        cache = tmp_path / "cache"
        monkeypatch.setenv("HOME", str(tmp_path / "world" / "home"))
        for truth in stages(tmp_path / "world", seed, size=20):
            places = TranscriptPlaces(truth.repository, auto=True)
            for _ in range(2):
                assert under_the_rules(truth, places, here=True, cache_dir=cache) == []
            assert (
                under_the_rules(
                    truth,
                    TranscriptPlaces(truth.repository, truth.folders),
                    here=False,
                    cache_dir=cache,
                )
                == []
            )

    @pytest.mark.parametrize(
        "name",
        [
            "claude-plain",
            "claude-subagents",
            "claude-folders",
            "codex-plain",
            "codex-folders",
        ],
    )
    def test_sessions_and_files_count_where_they_were_at_work(
        self, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        truth = SCENARIOS[name](tmp_path / "world", 1)
        monkeypatch.setenv("HOME", str(truth.home))
        facts = read(
            AttributedScan, TranscriptPlaces(truth.repository, auto=True), truth
        )
        for window, observed in zip(
            [*truth.windows, truth.everything], facts, strict=True
        ):
            assert isinstance(observed, TranscriptFacts)
            found = {
                share.name: (share.sessions, share.files)
                for share in observed.harnesses
            }
            true = {
                name: (truth.sessions(window, name), truth.files(window, name))
                for name in HARNESSES
            }
            assert found == {
                name: counts for name, counts in true.items() if counts != (0, 0)
            }

    @pytest.mark.parametrize(
        "directories",
        [
            pytest.param(("", "claude", "codex"), id="one-inside-the-other"),
            pytest.param(("claude", "codex", "claude", "codex"), id="each-twice"),
            pytest.param(("claude", "codex", "link"), id="one-by-another-name"),
        ],
    )
    def test_a_file_that_is_found_twice_counts_once(
        self, directories: Sequence[str], tmp_path: Path
    ) -> None:
        one = claude_cases.without_ids(tmp_path / "all" / "claude", 1)
        two = codex_cases.exit_forms(tmp_path / "all" / "codex", 1)
        (tmp_path / "all" / "link").symlink_to(
            tmp_path / "all" / "claude" / "home", target_is_directory=True
        )
        places = TranscriptPlaces(
            one.repository, tuple(tmp_path / "all" / name for name in directories)
        )
        found = read(AttributedScan, places, two)[-1]
        true = one.totals(one.everything).plus(two.totals(two.everything))
        assert (found.turns, found.tool_calls, found.input_tokens) == (
            true.turns,
            true.tool_calls,
            true.input_tokens,
        )


SESSIONS: dict[str, tuple[Scenario, str]] = {
    "a plain session is the same": (claude_cases.plain, "same"),
    "a response counts once for every block": (claude_cases.streaming, "more"),
    "a resumed session counts once for every file": (claude_cases.resumed, "more"),
    "an API error is a turn": (claude_cases.api_errors, "more"),
    "a token count that is written again is a turn": (codex_cases.totals_again, "more"),
    "a fork counts all of its parent again": (codex_cases.unused_fork, "more"),
    "a compressed rollout does not count": (codex_cases.compressed, "fewer"),
}


class TestReference:
    """What the reference's rules make of the same files."""

    @cases("scenario, compared", SESSIONS)
    def test_turns_are_as_many_as_happened_more_or_fewer(
        self, scenario: Scenario, compared: str, tmp_path: Path
    ) -> None:
        truth = scenario(tmp_path / "world", 1)
        found, counted = (
            read_leaves(rules, truth)[-1].turns
            for rules in (ReferenceScan, AttributedScan)
        )
        assert counted == truth.totals(truth.everything).turns
        assert (
            "same" if found == counted else "more" if found > counted else "fewer"
        ) == compared

    def test_codex_calls_no_tools_for_it(self, tmp_path: Path) -> None:
        truth = codex_cases.exit_forms(tmp_path / "world", 1)
        found, counted = (
            read_leaves(rules, truth)[-1] for rules in (ReferenceScan, AttributedScan)
        )
        assert found.tool_calls == 0 < counted.tool_calls


class TestLog:
    """A log whose iterations ended where the windows of a home do."""

    @pytest.fixture
    def truth(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Truth:
        made = mixed(tmp_path / "world", 11, size=80)
        monkeypatch.setenv("HOME", str(made.home))
        ends = sorted({-(-window.end // NS) for window in made.windows})
        repo, log = Repo.at(made.repository), tmp_path / "log"
        log.mkdir()
        for n, end in enumerate(ends, 1):
            sha = repo.commit(None, f"step {n}", end)
            entry = (
                f"schema_version: 2\niteration: {n}\ncommit: {sha}\n"
                f"impl: {{summary: step {n}, retries: 0}}\n"
            )
            (log / f"iter-{n}.yaml").write_text(entry)
        bounds = [None, *(end * NS for end in ends)]
        windows = tuple(
            Window(start, end * NS) for start, end in zip(bounds, ends, strict=False)
        )
        return dataclasses.replace(made, windows=windows)

    def test_the_reference_finds_nothing_where_its_guide_points(
        self, truth: Truth, tmp_path: Path
    ) -> None:
        named = truth.home / ".claude" / "projects"
        scored = score_log(
            tmp_path / "log", truth.repository, named, rubric=released_rubric("2.2.0")
        )
        assert {
            i.signals.value("token_efficiency").detail for i in scored.iterations
        } == {"no transcript covers the iteration window"}
