"""Claims compared with facts over a whole log: by role and signal, and in the agent's words."""

from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from rubric import SignalID
from scoring.evidence.transcripts.observed_facts import Observed
from scoring.signals.values import (
    ROLE_VERIFIER,
    AgentRole,
    IntegrityObservation,
    SignalSet,
)
from scoring.statistics import mean_or_none
from scoring.text import counted, spans

from .table import Columns, Line, Page, Table, TableRow, numeric

_NUMBERS = map(numeric, ("PAIRS", "OVER", "MEAN", "WORST"))
_COLUMNS: Columns = ("ROLE", "SIGNAL", *_NUMBERS, "OVER-CLAIMED IN")


_ROLES = {
    "impl": "the agent that did the work",
    "verifier": "the verifier",
    "review": "the reviewer",
}
"""What people read for the roles of an entry."""


class IntegritySummary(NamedTuple):
    """The claims of one role about one signal, compared with what was observed.

    Attributes:
        role: who claimed.
        signal: what was claimed about.
        comparable: how many claims have an observation to compare with.
        over_claims: how many of these claimed more than was observed.
        mean_delta: the mean of observed minus claimed, in [-1, 1]; None without a pair.
        worst_delta: the lowest observed minus claimed; None without a pair.
        iterations: the iterations with a pair.
        over_claimed: the iterations with an over-claim.
    """

    role: AgentRole
    signal: SignalID
    comparable: int
    over_claims: int
    mean_delta: float | None
    worst_delta: float | None
    iterations: Sequence[int]
    over_claimed: Sequence[int]


class _Pair(NamedTuple):
    """One claim that has an observation: its iteration, and observed minus claimed."""

    iteration: int
    delta: float


def summarize_integrity(sets: Iterable[SignalSet]) -> list[IntegritySummary]:
    """Summarize the integrity observations of a log, by role and signal.

    Summaries come in the order in which their role and signal first appear.
    """
    compared: dict[tuple[AgentRole, SignalID], list[_Pair]] = {}
    for signals in sets:
        for observation in signals.integrity:
            pairs = compared.setdefault((observation.role, observation.signal), [])
            if observation.comparable:
                pairs.append(_Pair(signals.iteration, observation.delta))

    summaries = []
    for (role, signal), pairs in compared.items():
        deltas = [pair.delta for pair in pairs]
        over_claimed = tuple(pair.iteration for pair in pairs if pair.delta < 0)
        summary = IntegritySummary(
            role=role,
            signal=signal,
            comparable=len(pairs),
            over_claims=len(over_claimed),
            mean_delta=mean_or_none(deltas),
            worst_delta=min(deltas, default=None),
            iterations=tuple(pair.iteration for pair in pairs),
            over_claimed=over_claimed,
        )
        summaries.append(summary)
    return summaries


class WordsSummary(NamedTuple):
    """How many claims in words that tests pass have which result.

    Attributes:
        confirmed: the last run before the claim passed.
        no_run: no run was observed before it.
        last_run_failed: the last run before it failed.
        not_compared: no verdict exists to compare it with.
    """

    confirmed: int
    no_run: int
    last_run_failed: int
    not_compared: int

    @property
    def text(self) -> str:
        """The counts in words."""
        compared = self.confirmed + self.no_run + self.last_run_failed
        counts = []
        if compared:
            counts.append(
                f"{self.confirmed} of {compared} confirmed, {self.no_run} without a run, "
                f"{self.last_run_failed} against the last run"
            )
        if self.not_compared:
            claims = counted(self.not_compared, "more claim" if compared else "claim")
            counts.append(f"{claims} with nothing to compare with")
        return f"Claims in words that tests pass: {'; '.join(counts) or 'no claims found'}."


def summarize_words(observed: Iterable[Observed | None]) -> WordsSummary | None:
    """Count the claims in words of a log, or return None where every iteration is None.

    An iteration is None under rules that do not look at words.

    A claim in lines that several iterations share counts once.
    """
    attributed = [iteration for iteration in observed if iteration is not None]
    if not attributed:
        return None

    result_at = {}
    for iteration in attributed:
        for claim in iteration.claims:
            result_at[claim.where] = claim.result
    results = Counter(result_at.values())

    return WordsSummary(
        confirmed=results["confirmed"],
        no_run=results["no run"],
        last_run_failed=results["last run failed"],
        not_compared=results[None],
    )


def integrity_page(
    rows: Iterable[IntegritySummary], source: Path, words: WordsSummary | None
) -> Page:
    """Yield claims compared with observations: a row for each role and signal, then the words.

    Args:
        rows: the summaries.
        source: the log.
        words: the claims in words; None leaves them out.
    """
    yield Line(f"Claimed against observed — {source}", "bold")
    yield ""
    table_rows = []
    for row in rows:
        values = (row.role, row.signal, row.comparable, row.over_claims)
        deltas = (_delta_text(row.mean_delta), _delta_text(row.worst_delta))
        cells = (*values, *deltas, spans(row.over_claimed) or "-")
        table_rows.append(TableRow(cells, style="red" if row.over_claims else ""))
    yield Table(_COLUMNS, table_rows)
    yield ""
    yield Line(
        "Deltas are observed minus claimed: below 0 the agent claimed more than was observed.",
        "dim",
    )
    if words:
        yield ""
        yield words.text


def _delta_text(delta: float | None) -> str:
    if delta is None:
        return "-"
    return f"{delta:+.3f}"


def compared_claim(pair: IntegrityObservation, has_verifiers: bool) -> str:
    """Return what one role claimed about a signal and what was observed, in a sentence.

    Args:
        pair: the claim and the observation.
        has_verifiers: whether the entry lists verifiers; else a claim of theirs is the entry's.
    """
    claimed = pair.claimed
    observed = pair.observed
    who = _ROLES.get(pair.role, pair.role)
    if pair.role == ROLE_VERIFIER and not has_verifiers:
        who = "the entry"
    head = f"{pair.signal}: {who}"
    observation = f"observed {observed.sub_score:.2f} ({observed.detail})"
    if not claimed.present:
        return f"{head} claimed nothing in the entry; {observation}"

    claim = f"{head} claimed {claimed.sub_score:.2f} ({claimed.detail})"
    if not observed.present:
        return f"{claim}; nothing to compare it with ({observed.detail})"
    if pair.delta < 0:
        return f"{claim}, {observation}: over-claimed"
    return f"{claim}, {observation}: claimed no more than was observed"
