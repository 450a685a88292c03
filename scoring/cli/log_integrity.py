"""``da-score log integrity``: what agents claimed against what was observed."""

from typing import Any

from scoring.evidence.transcripts.observed_facts import Observed
from scoring.log.selection import Selection
from scoring.log.settings import Settings
from scoring.views.integrity import integrity_page, summarize_integrity, summarize_words

from .options import SCORING_OPTIONS, selection_options, settings_command
from .output import progress, reply
from .reading import log_view


@settings_command(*SCORING_OPTIONS)
@selection_options
def command(settings: Settings, selection: Selection) -> None:
    """Compare what agents claimed with what was observed, over a log or some of it.

    Has a row for each role and signal. Weights and bands play no part; --rubric only chooses the
    rules under which evidence is read.

    Example:  da-score log integrity --json
    """
    signal_sets = []
    observed: list[Observed | None] = []
    view = log_view(settings, recompute=True, selection=selection)
    with progress("Scoring the log"):
        for iteration in view.examine():
            signal_sets.append(iteration.signals)
            observed.append(iteration.facts.observed)

    rows = summarize_integrity(signal_sets)
    claims = summarize_words(observed)

    value: dict[str, Any] = {"pairs": [row._asdict() for row in rows]}
    if claims:
        value["claims"] = claims._asdict() if any(claims) else None
    reply(settings, value, integrity_page(rows, settings.iter_log_dir, claims))
