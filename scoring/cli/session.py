"""``da-score session ID``: one session and its members."""

import contextlib
from pathlib import Path

import click
from msgspec.structs import replace

from scoring.cli.app import SCORING_OPTIONS, settings_options
from scoring.cli.completion import complete_sessions, session_ids
from scoring.cli.output import full_text, on_terminal, show, warn, write_json
from scoring.cli.reading import meaning_of, view_under
from scoring.errors import DaScoreError, InputError, NotFoundError, SettingsError
from scoring.log.selection import Selection
from scoring.log.settings import Settings
from scoring.outcomes.spending import together
from scoring.sessions import SessionScore, session_score
from scoring.sidecars.fingerprint import NOT_MEASURED
from scoring.sidecars.scores import (
    PersistedScore,
    is_plain_session_id,
    read_score,
    read_session,
    session_score_path,
)
from scoring.sidecars.states import CURRENT, State, session_state
from scoring.text import some_of
from scoring.views.landing_text import landings_text
from scoring.views.session_pages import session_page, session_payload
from scoring.views.table import AnyCell, named_cells


@click.command(epilog="Example:  da-score session 3f1c2a --json")
@click.argument("session_id", metavar="ID", shell_complete=complete_sessions)
@settings_options(*SCORING_OPTIONS)
def command(session_id: str, settings: Settings) -> None:
    """Show the score of one session that has a sidecar. ID may be the beginning of one, if no other begins so.

    The score is that of the session's entries as they are here; where a sidecar differs from it, that is said.
    """
    log_dir = settings.iter_log_dir
    session_id = _in_full(session_id, log_dir)
    try:
        session = read_session(log_dir, session_id)
    except NotFoundError as e:
        known = session_ids(log_dir)
        raise NotFoundError(
            f"{e}; known sessions: {', '.join(known[:5])}" if known else str(e)
        ) from e
    drawn = on_terminal()
    full = not drawn and not settings.json and full_text(session.rubric_version, settings.rubric)
    members = _members(session, log_dir)
    states: dict[int, State] = {}
    names: dict[int, tuple[AnyCell, ...]] = {}
    state, used, became, meaning = CURRENT, None, "", NOT_MEASURED
    view = replace(
        view_under(session.rubric_version, settings, Selection(session=session_id)), subjects=True
    )
    try:
        now = list(view.examine())
    except DaScoreError:  # the evidence cannot be looked at
        pass
    else:
        states, used = (
            {one.record.iteration: one.state for one in now},
            together(one.spending for one in now),
        )
        members = {one.record.iteration: one.by_evidence.score for one in now}
        rows = [
            (one.record.iteration, one.record.task_id, one.subject, one.facts.landing.sha)
            for one in now
        ]
        names = {row[0]: named_cells(*row) for row in rows}
        became = landings_text([one.facts.landing for one in now])
        scores = ((one.by_evidence.score, one.facts) for one in now)
        meaning = meaning_of(settings, session.rubric_version, scores) if full or drawn else meaning
        kept, session = session, session_score(view.rubric, session_id, members.values())
        state = session_state(kept, session)
    if settings.json:
        write_json(session_payload(session, members, used, states, state))
        return
    old = [f"iteration {n} {one}" for n, one in states.items() if one.name != "current"]
    if state != CURRENT:
        warn(f"session {session_id}: its sidecar is {state}")
    if old and not (full or drawn):  # the text of a reference rubric has no place for it
        warn(f"session {session_id}: {'; '.join(old)}")
    source = session_score_path(log_dir, session_id)
    show(
        session_page(session, members, source, drawn, full, used, states, names, became, meaning),
        not full,
    )


def _in_full(given: str, log_dir: Path) -> str:
    """Return the one session id that begins as given, SettingsError of several; one that no session has as it is."""
    if not given or not is_plain_session_id(given) or session_score_path(log_dir, given).exists():
        return given
    found = [session_id for session_id in session_ids(log_dir) if session_id.startswith(given)]
    if len(found) > 1:
        raise SettingsError(f"several sessions begin with {given!r}: {some_of(found, 5)}")
    return found[0] if found else given


def _members(session: SessionScore, log_dir: Path) -> dict[int, PersistedScore]:
    found = {}
    for iteration in session.iterations:
        with contextlib.suppress(NotFoundError):
            try:
                found[iteration] = read_score(log_dir, iteration)
            except InputError as e:
                warn(f"{e}; it does not count")
    return found
