"""The essentials of a report as text."""

from collections.abc import Iterator

from scoring.text import counted, some_spans, spans
from scoring.views.look_at import look_at_page
from scoring.views.report.digest import Digest
from scoring.views.run_pages import scores_head
from scoring.views.table import Line, Page
from scoring.views.work_pages import became_page


def report_lines(digest: Digest) -> Page:
    """Yield what became of the work, what the scores are worth, and what to look at."""
    yield from became_page(digest.work, digest.horizon_days)
    if not digest.is_fleet:
        yield ""
        scores = [(line.value, line.band) for line in digest.lines]
        yield from scores_head(digest.meaning, digest.rubric.version, scores, digest.log)
        yield from certainty(digest)
        yield from _claim_lines(digest)
    yield ""
    yield from look_at_page(digest.work)


def _claim_lines(digest: Digest) -> Page:
    texts = [digest.words.text] if digest.words else []
    for row in digest.integrity:
        if row.over_claims:
            texts.append(
                f"More claimed than was observed, by {row.role} of {row.signal}: "
                f"{row.over_claims} of {row.comparable}, in iteration {spans(row.over_claimed)}."
            )
    if not texts:
        return

    yield ""
    yield Line("Claimed against observed", "bold")
    yield from texts


def certainty(digest: Digest) -> Iterator[str]:
    """Yield how much evidence the scores have, and which of them are in no mean.

    The mean and its trend are shown only where scores mean something.
    """
    compares = digest.meaning.means_something
    if compares and digest.interval:
        low, high = digest.interval
        yield f"The mean is between {low:.3f} and {high:.3f}, with 95 % confidence."
    if digest.coverage is not None:
        weight = f"{digest.coverage * 100:.0f} % of the rubric's weight"
        yield f"On average there is evidence for {weight}."
    if compares and digest.trend:
        trend = digest.trend
        halves = f"older half {trend.older:.3f}, newer half {trend.newer:.3f}"
        change = f"{trend.change:+.3f} ({trend.interval.low:+.2f} to {trend.interval.high:+.2f})"
        yield f"{trend.verdict.capitalize()}: {halves}, {change}."

    for state, iterations in digest.states.items():
        scores = counted(len(iterations), "score is", "scores are")
        yield f"{scores} {state}: iteration {some_spans(iterations)}."
    if digest.insufficient:
        iterations_text = counted(digest.insufficient, "iteration")
        yield f"{iterations_text} without enough evidence, not counted in any mean."
