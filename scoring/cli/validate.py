"""``da-score validate``: whether the scores mean anything here."""

import click
from msgspec.structs import replace

from rubric import find_rubric
from scoring.cli.app import OUTCOME_OPTIONS, SCORING_OPTIONS, settings_options
from scoring.cli.output import show, write_json
from scoring.cli.reading import broken_entries, outcome_rules, scores_about, sources_of_each
from scoring.log.settings import Settings, cache_dir_of
from scoring.outcomes.validity import OUTCOMES, OutcomeName, gain_over, log_cases, validity
from scoring.sidecars.fingerprint import keep_meaning
from scoring.views.validity_pages import gain_lines, validity_page


@click.command(epilog="Example:  da-score validate --rubric 3.1.0 --rubric 3.1.0")
@settings_options(*(name for name in SCORING_OPTIONS if name != "rubric"), *OUTCOME_OPTIONS)
@click.option(
    "--rubric",
    "rubrics",
    multiple=True,
    metavar="VERSION|FILE",
    help="A rubric to measure; may be given several times.  [default: the one that scores]",
)
@click.option(
    "--outcome",
    type=click.Choice(OUTCOMES),
    default="defective",
    show_default=True,
    metavar="OUTCOME",
    help="What the score should foretell: defective, survival, reverted, label, landed, yield or reward.",
)
def command(settings: Settings, rubrics: tuple[str, ...], outcome: OutcomeName) -> None:
    """Say whether the scores foretell what becomes of the work, in numbers and in words.

    Says how likely it is that sound work scores higher than defective work, with a 95 % interval by session; the same
    for each signal, for all else that was observed, and for counting lines. Scores are computed anew, and no sidecar
    counts. 'run' shows what was last found. Writes nothing beside the log.
    """
    used = [find_rubric(name) for name in rubrics or (settings.rubric,)]
    settings = replace(settings, rubric=used[0].version)
    rules, sources = outcome_rules(settings), sources_of_each(used, settings)
    marks: list[list[bytes]] = []
    cases = log_cases(
        used,
        settings.iter_log_dir,
        sources,
        rules,
        outcome,
        broken_entries,
        lambda log: marks.append(log.marks),
    )
    found = [
        validity(of, outcome, rubric.version, rules.horizon_days)
        for rubric, of in zip(used, cases, strict=True)
    ]
    if outcome == "defective":
        for scores, measured in zip(marks, found, strict=True):
            keep_meaning(
                cache_dir_of(settings),
                scores_about(settings, measured.rubric),
                scores,
                measured.verdict,
            )
    gains = [gain_over(cases[0], of, outcome) for of in cases[1:]]
    if settings.json:
        payload = [one.as_dict() for one in found]
        for one, gain in zip(payload[1:], gains, strict=True):
            one["against"] = {"rubric": used[0].version, **gain}
        write_json(payload[0] if len(payload) == 1 else payload)
        return
    for n, of in enumerate(found):
        show([*validity_page(of), *gain_lines(used[0].version, gains[n - 1] if n else None)])
