"""What a report is made of: all of the work, the numbers of every iteration, and the pages of its commits."""

import functools
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote

from msgspec import structs

from rubric import BAND_INSUFFICIENT, BAND_UNSCORED, Rubric
from scoring.errors import DaScoreError
from scoring.evidence.attribution.work_trees import same_remote
from scoring.evidence.git.repository import GitRepository
from scoring.examine import ExaminedIteration
from scoring.log.selection import day_or_none
from scoring.outcomes.validity import Validity
from scoring.sessions import SessionIterRef, SessionScore, session_score
from scoring.sidecars.fingerprint import Meaning
from scoring.signals.values import SignalSet
from scoring.statistics import Interval, bootstrap_interval, difference_interval
from scoring.text import as_utf8, shortened
from scoring.views.integrity import (
    IntegritySummary,
    WordsSummary,
    summarize_integrity,
    summarize_words,
)
from scoring.views.report.reported import ReportedClaim, ReportedIteration, Vote, line_of
from scoring.views.work_rows import WorkRow

RESULTS = ("remediate", "advise", "allow", "other")
"""The results of hook gates, the gravest first; any other result is "other"."""


class Trend(NamedTuple):
    """The mean scores of the older and the newer half of a log, and the interval of the change."""

    older: float
    newer: float
    change: float
    interval: Interval

    @property
    def verdict(self) -> str:
        """What the interval says, in words."""
        low, high = self.interval
        return "better" if low > 0 else "worse" if high < 0 else "no clear change"

    def as_dict(self) -> dict[str, Any]:
        """Return plain data."""
        return self._asdict() | {"interval": list(self.interval), "verdict": self.verdict}


@dataclass
class Digest:
    """A log, as a report shows it."""

    log: str
    rubric: Rubric
    lines: list[ReportedIteration] = field(default_factory=list)
    sessions: list[SessionScore] = field(default_factory=list)
    hooks: Counter[tuple[str, str]] = field(default_factory=Counter)
    """How often each rule of a hook gate had each result."""
    integrity: list[IntegritySummary] = field(default_factory=list)
    words: WordsSummary | None = None  # the claims in words; None under rules that look at none
    validity: Validity | None = None
    """Whether the scores foretell what became of the work; None where that was not asked for."""
    work: Sequence[WorkRow] = ()  # all of the work, by when it ended
    horizon_days: float = 0.0  # how many days after it landed work is judged
    is_fleet: bool = False  # whether the work is that of many repositories, of which there are no iterations here
    project: str = ""
    pages: str = ""  # what comes before the name of a commit in the address of its page; "" where there is none

    @property
    def meaning(self) -> Meaning:
        """What is known of whether scores foretell what becomes of the work."""
        return Meaning(self.validity.verdict if self.validity else None)

    @functools.cached_property
    def values(self) -> list[float]:
        """The scores of the iterations that have one on enough evidence."""
        return [line.value for line in self.lines if line.value is not None and line.counted]

    @property
    def insufficient(self) -> int:
        """How many iterations have too little evidence, and are in no mean."""
        return sum(line.band == BAND_INSUFFICIENT for line in self.lines)

    @functools.cached_property
    def interval(self) -> Interval | None:
        """The bootstrap interval of the mean; None for fewer than two scores."""
        return bootstrap_interval(self.values)

    @functools.cached_property
    def trend(self) -> Trend | None:
        """How the newer half of the scores differs from the older one; None where either has fewer than two."""
        values = self.values
        older, newer = values[: len(values) // 2], values[len(values) // 2 :]
        interval = difference_interval(older, newer)
        if interval is None:
            return None
        before, now = sum(older) / len(older), sum(newer) / len(newer)
        return Trend(before, now, now - before, interval)

    @property
    def mean(self) -> float | None:
        """The mean of those scores; None when there is none."""
        return sum(self.values) / len(self.values) if self.values else None

    @property
    def dates(self) -> str:
        """The days of the first and of the last work that has one; "" where none has."""
        dates = [
            *(line.date for line in self.lines),
            *(row.values["ended"] or "" for row in self.work),
        ]
        days = sorted({date[:10] for date in dates if day_or_none(date[:10])})
        return " to ".join(dict.fromkeys((days[0], days[-1]))) if days else ""

    @property
    def coverage(self) -> float | None:
        """The mean share of the rubric's weight that voted, 0 to 1; None for an empty log."""
        return sum(line.weight for line in self.lines) / len(self.lines) if self.lines else None

    @property
    def bands(self) -> dict[str, int]:
        """How many iterations each band has, best first; bands of other rubrics and the unscored at the end."""
        counts = Counter(line.band for line in self.lines)
        known = [band.name for band in self.rubric.bands]
        others = sorted(counts.keys() - {*known, BAND_UNSCORED})
        unscored = [BAND_UNSCORED] if counts[BAND_UNSCORED] else []
        return {name: counts[name] for name in [*known, *others, *unscored]}

    @property
    def signals(self) -> dict[str, str]:
        """The label of every signal that any score has, in the order in which they are met."""
        return {row.signal: row.label for line in self.lines for row in line.rows}

    def presence(self, signal: str) -> float:
        """Return the share of iterations, 0 to 1, in which a signal is present."""
        return sum(line.sub_scores.get(signal) is not None for line in self.lines) / (
            len(self.lines) or 1
        )

    @property
    def deliberated(self) -> list[ReportedIteration]:
        """The iterations that have a DR transcript."""
        return [line for line in self.lines if line.deliberation]

    @property
    def states(self) -> dict[str, list[int]]:
        """The iterations with scores that are not current, by the state of their sidecars."""
        states = dict.fromkeys(line.state for line in self.lines if line.state != "current")
        return {
            state: [line.iteration for line in self.lines if line.state == state]
            for state in states
        }

    @property
    def over_claims(self) -> list[tuple[ReportedIteration, ReportedClaim]]:
        """Every claim of more than was observed, the largest difference first."""
        found = ((line, claim) for line in self.lines for claim in line.claims if claim.delta < 0)
        return sorted(found, key=lambda pair: (pair[1].delta, -pair[0].iteration))

    @property
    def rules(self) -> list[tuple[str, dict[str, int]]]:
        """Every rule of a hook gate with how often it had each result, those that remediated most first."""
        counts: dict[str, dict[str, int]] = {}
        for (rule, result), count in self.hooks.items():
            counts.setdefault(rule, dict.fromkeys(RESULTS, 0))[result] = count
        return sorted(
            counts.items(), key=lambda pair: (*(-pair[1][result] for result in RESULTS), pair[0])
        )


def digest(log: Path, rubric: Rubric, examined: Iterable[ExaminedIteration]) -> Digest:
    """Go through the iterations of a log, in order, and keep what a report needs; ``rubric`` names the bands."""
    found = Digest(as_utf8(str(log)), rubric)
    sessions: dict[tuple[str, str], list[SessionIterRef]] = {}
    observed = []
    votes: dict[Vote, Vote] = {}  # equal ones of several iterations are one in memory
    claims: dict[ReportedClaim, ReportedClaim] = {}

    def signal_sets() -> Iterator[SignalSet]:
        for one in examined:
            if session := one.record.agent.session_id:
                sessions.setdefault((session, one.score.rubric_version), []).append(
                    SessionIterRef.of(one.score)
                )
            observed.append(one.facts.observed)
            line = line_of(one)
            rows = tuple(votes.setdefault(vote, vote) for vote in line.rows)
            claimed = tuple(claims.setdefault(claim, claim) for claim in line.claims)
            found.lines.append(replace(line, rows=rows, claims=claimed))
            for hook in one.facts.hooks.records or ():
                found.hooks[
                    shortened(hook.rule_id), hook.result if hook.result in RESULTS else "other"
                ] += 1
            yield one.signals

    found.integrity, found.words = summarize_integrity(signal_sets()), summarize_words(observed)
    for (session, version), refs in sorted(sessions.items()):
        found.sessions.append(
            structs.replace(session_score(rubric, session, refs), rubric_version=version)
        )
    return found


_PAGES = {"gitlab": "/-/commit/", "bitbucket": "/commits/"}
_PAGES |= dict.fromkeys(("github", "codeberg", "gitea", "forgejo"), "/commit/")
"""What is between a repository and a commit, by a word in the name of the host."""
_HOST = re.compile(r"[a-z0-9](?:[a-z0-9.-]{0,251}[a-z0-9])?", re.ASCII)
_SHA = re.compile(r"[0-9a-f]{7,64}", re.ASCII)
_PATH_LIMIT = 500


def commit_pages(remotes: Mapping[str, str]) -> str:
    """Return a commit page's address up to the name, quoted, without user or password, of origin first, or ""."""
    for _, url in sorted(remotes.items(), key=lambda one: (one[0] != "origin", one[0])):
        host, _, path = same_remote(url).partition("/")
        page = next((page for word, page in _PAGES.items() if word in host), None)
        is_path = (
            len(path) <= _PATH_LIMIT and "/" in path and not {"", ".", ".."} & {*path.split("/")}
        )
        if page and _HOST.fullmatch(host) and is_path:
            return f"https://{host}/{quote(path)}{page}"
    return ""


def commit_page(pages: str, sha: str) -> str:
    """Return the address of the page of a commit; "" where there is none."""
    return pages + sha if pages and _SHA.fullmatch(sha) else ""


def where_it_is(repo_dir: Path) -> tuple[str, str]:
    """Return what the repository of a log is called, and what :func:`commit_pages` returns for it."""
    try:
        repository = GitRepository(repo_dir)
        remotes, folder = repository.remote_urls, repository.top_level.name
    except DaScoreError:
        return repo_dir.absolute().name, ""
    name = same_remote(remotes.get("origin", "")).rpartition("/")[2].removesuffix(".bundle")
    return as_utf8(name or folder), commit_pages(remotes)
