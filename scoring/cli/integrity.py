"""``da-score integrity``: what agents claimed against what was observed."""

import click

from scoring.cli.app import SCORING_OPTIONS, selection_options, settings_options
from scoring.cli.output import reply
from scoring.cli.reading import log_view
from scoring.evidence.transcripts.facts import Observed
from scoring.log.selection import Selection
from scoring.log.settings import Settings
from scoring.signals.values import SignalSet
from scoring.views.integrity import integrity_page, summarize_integrity, summarize_words


@click.command(epilog="Example:  da-score integrity --json")
@settings_options(*SCORING_OPTIONS)
@selection_options
def command(settings: Settings, selection: Selection) -> None:
    """Show claimed against observed over the whole log, per role and signal.

    Weights and bands have no part in it; --rubric only says under which rules evidence is read.
    """
    examined = log_view(settings, recompute=True, selection=selection).examine()
    sets, observed = list[SignalSet](), list[Observed | None]()
    for one in examined:
        sets.append(one.signals)
        observed.append(one.facts.observed)
    rows, words = summarize_integrity(sets), summarize_words(observed)
    said = {"claims": words._asdict() if any(words) else None} if words else {}
    payload = {"pairs": [row.as_dict() for row in rows], **said}
    reply(settings.json, payload, integrity_page(rows, settings.iter_log_dir, words))
