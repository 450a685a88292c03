"""``da-score explain ITERATION``: one score in plain words."""

from scoring.errors import NotFoundError
from scoring.evidence.facts import Evidence
from scoring.examine import subject_of
from scoring.log.load import no_such_entry
from scoring.log.places import entry_places
from scoring.log.selection import Selection
from scoring.log.settings import Settings
from scoring.outcomes.prices import stored_prices
from scoring.sidecars.provenance import read_provenance
from scoring.text import short
from scoring.views.explain import explain
from scoring.views.explain_text import explanation_page
from scoring.views.landing_text import named_commit

from .iteration_names import ITERATION, iteration_named, may_be_name
from .options import (
    OUTCOME_OPTIONS,
    SCORING_OPTIONS,
    flag,
    settings_command,
)
from .output import progress, reply
from .reading import exit_if_broken, log_view, outcome_rules
from .work_reading import (
    has_no_log,
    landing_line,
    meaning_of,
    read_ledger,
)


@settings_command(*SCORING_OPTIONS, *OUTCOME_OPTIONS)
@ITERATION
@flag(
    "--recompute",
    "Explain the score that the evidence gives now, not that of the sidecar.",
)
def command(iteration: str, settings: Settings, recompute: bool) -> None:
    """Explain in plain words what became of work, and why an iteration has its score.

    ITERATION is a number, last, a SHA of at least 7 digits, HEAD~2, a branch, or a session (its
    last iteration). Says what the score is made of and where each part was read, what would have
    raised the score, and how claims compare with what was observed. Explains the score of the
    sidecar, if there is one. Work that no entry names has no score: what became of it is said.
    Writes nothing.

    Example:  da-score explain 3
    """
    try:
        if has_no_log(settings):
            raise NotFoundError(
                f"{settings.iter_log_dir}: there is no log here, and no unit of work is called "
                f"{iteration!r}; name a commit of an agent, or a session, that da-score work shows"
            )
        number = iteration_named(iteration, settings)
    except NotFoundError as no_entry:
        _print_unit(iteration, settings, no_entry)
        return
    view = log_view(settings, recompute, Selection(only=(number,)), outcomes=True)

    opened: list[Evidence] = []
    with progress("Scoring the iteration"):
        all_examined = list(view.examine(on_open=opened.append))
    if not all_examined:
        exit_if_broken(view.iter_log_dir, number)
        nowhere = no_such_entry(view.iter_log_dir, number)
        if not may_be_name(iteration):
            raise nowhere
        _print_unit(iteration, settings, nowhere)
        return

    examined = all_examined[0]
    score = examined.score
    meaning = meaning_of(settings, score.rubric_version, [(score, examined.facts)])
    provenance = read_provenance(view.iter_log_dir, number)
    explanation = explain(
        examined,
        entry_places(view.iter_log_dir, number),
        provenance.own if provenance else None,
        view.outcomes.horizon_days if view.outcomes else 0,
        subject_of(view.repo_dir, examined.facts),
    )
    landing = landing_line(settings, examined.facts, *opened)
    with stored_prices(settings.store_dir):
        page = explanation_page(explanation, landing, meaning)
        reply(settings, explanation.as_dict(), page)


def _print_unit(text: str, settings: Settings, no_entry: NotFoundError) -> None:
    """Print what became of a unit that no entry names.

    Args:
        text: what the user named the unit by.
        settings: the settings.
        no_entry: the error that is raised if the text names neither a unit nor a commit.

    Raises:
        NotFoundError: no unit has that name.
    """
    # An iteration needs none of this.
    from scoring.evidence.git.repository import GitRepository
    from scoring.evidence.git.walk import commit_named, subjects_of
    from scoring.outcomes.ledger import unit_named
    from scoring.views.work_pages import unit_page
    from scoring.views.work_rows import work_rows

    horizon_days = outcome_rules(settings).horizon_days
    work = read_ledger(settings)
    sha = commit_named(text, GitRepository(settings.repo_dir))
    unit = unit_named(text, sha, work)
    if unit is None:
        if sha is None:
            raise no_entry
        name = short(sha)
        raise NotFoundError(
            f"commit {name}: no entry names it, and no session here shows that an agent wrote it; "
            f"da-score log entry new --commit {name} writes an entry"
        )

    (row,) = work_rows([unit], settings.store_dir)
    outcome = None
    if unit.outcome:
        outcome = {"horizon_days": horizon_days, **unit.outcome.as_dict()}
    asked = ""
    if sha is not None and sha not in (unit.commit, unit.landing and unit.landing.sha):
        asked = named_commit(sha, subjects_of(settings.repo_dir, [sha]).get(sha, ""))
    page = unit_page(row, horizon_days, asked)
    reply(settings, {**row.values, "outcome": outcome}, page)
