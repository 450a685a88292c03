"""The same content on a terminal: drawn, coloured by band, with the coverage of every score beside it."""

import io
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from rich.console import Console
from rich.table import Table
from rich.text import Text

from rubric import Coverage
from scoring.cli.tables import (
    INTEGRITY_HEAD,
    breakdown_cells,
    deliberation_head,
    deliberation_rows,
    hook_cells,
    integrity_cells,
    iteration_head,
    number,
)
from scoring.evidence.hooks import HookOutcome
from scoring.score import ScoredLog
from scoring.sessions import SessionScore
from scoring.sidecars.scores import PersistedScore
from scoring.signals.values import Deliberation, IterationObjectives
from scoring.text import printable
from scoring.views.integrity import IntegritySummary

_BAND_STYLES = {"excellent": "bold green", "good": "green", "fair": "yellow", "poor": "red", "unscored": "dim"}


def _console() -> Console:
    if isinstance(sys.stdout, io.TextIOWrapper):  # a terminal that lacks a character gets another one
        sys.stdout.reconfigure(errors="replace")
    return Console(highlight=False, markup=False, emoji=False)


def _table(*columns: str, right: Sequence[str] = ()) -> Table:
    table = Table(box=None, header_style="bold", padding=(0, 2, 0, 0))
    for column in columns:
        table.add_column(column, justify="right" if column in right else "left", overflow="fold")
    return table


def _band(name: str) -> Text:
    return Text(printable(name), _BAND_STYLES.get(name, ""))


def _plain(*cells: str) -> list[Text]:
    return [Text(c) for c in cells]


def show_run(scored: ScoredLog, source: Path, written: tuple[int, int] | None) -> None:
    """Show the summary of a run, coverage beside every score, and where the log is blind."""
    console = _console()
    console.print(Text(f"Outcome scoring — rubric {scored.rubric.version}", "bold"), f"· {printable(str(source))}\n")
    table = _table("ITER", "TASK", "SCORE", "BAND", "COVERAGE", "DATE", right=("ITER", "SCORE"))
    for i in scored.iterations:
        s = i.score
        cells = _plain(str(s.iteration), printable(i.record.task_id), number(s.value, s.scored))
        table.add_row(*cells, _band(s.band), *_plain(str(s.coverage), printable(i.record.date)))
    console.print(table)
    if scored.sessions:
        console.print()
        by_number = {i.score.iteration: i.score.coverage for i in scored.iterations}
        table = _table("SESSION", "SCORE", "ITERS", "BAND", "COVERAGE", right=("SCORE", "ITERS"))
        for session in scored.sessions:
            cells = _plain(
                printable(session.session_id), number(session.value, session.scored), str(len(session.iterations))
            )
            table.add_row(*cells, _band(session.band), Text(session_coverage_text(session, by_number)))
        console.print(table)
    console.print()
    console.print(_presence(scored.presence()))
    console.print()
    if written is None:
        console.print("Wrote nothing (--no-write)")
    else:
        console.print(
            Text(f"Wrote {written[0]} iteration and {written[1]} session sidecars to {printable(str(source))}")
        )


def _presence(shares: Mapping[str, float]) -> Table:
    table = _table("SIGNAL", "PRESENT IN", "", right=("PRESENT IN",))
    for signal, share in shares.items():
        filled = round(share * 20)
        bar = Text("█" * filled + "·" * (20 - filled), "green" if share >= 0.5 else "yellow" if share else "red")
        table.add_row(Text(signal), Text(f"{share * 100:.0f} %"), bar)
    return table


def session_coverage_text(session: SessionScore, coverages: Mapping[int, Coverage]) -> str:
    """Say how many members are scored, and on how much of the weight they rest on average."""
    known = [coverages[n].weight for n in session.iterations if n in coverages]
    scored = sum(ref.scored for ref in session.per_iteration)
    weight = f", {sum(known) / len(known) * 100:.0f} % of the weight on average" if known else ""
    return f"{scored} of {len(session.iterations)} iterations{weight}"


def show_iteration(
    score: PersistedScore,
    hooks: Sequence[HookOutcome],
    source: Path,
    objective: IterationObjectives | None = None,
    deliberation: Deliberation | None = None,
) -> None:
    """Show an iteration's breakdown with its coverage, and the objective checks when they were made now."""
    console = _console()
    console.print(Text(iteration_head(score).rstrip("\n"), "bold"))
    console.print(Text(f"{score.coverage}\n", "dim"))
    table = _table(
        "SIGNAL", "PRESENT", "SUBSCORE", "WEIGHT", "CONTRIB", "DETAIL", right=("SUBSCORE", "WEIGHT", "CONTRIB")
    )
    for row in score.breakdown:
        *cells, _ = breakdown_cells(row)
        table.add_row(*_plain(*cells, printable(row.detail)), style="" if row.present else "dim")
    console.print(table)
    if hooks:
        console.print("\nHook outcome sources", style="bold")
        table = _table("RULE_ID", "SENTINEL_ID", "LIFECYCLE", "RESULT", "INTERVENTION")
        for hook in hooks:
            table.add_row(*_plain(*hook_cells(hook)))
        console.print(table)
    if deliberation is not None:
        console.print(Text(f"\n{deliberation_head(score)}", "bold"))
        table = Table(box=None, show_header=False, padding=(0, 2, 0, 0))
        for name, text in deliberation_rows(deliberation):
            table.add_row(*_plain(name, text))
        console.print(table)
    if objective is not None:
        console.print("\nObserved, not scored", style="bold")
        table = _table("CHECK", "SEEN", "DETAIL")
        for name, value in objective.as_dict().items():
            seen = "-" if not value["present"] else "yes" if value["sub_score"] else "no"
            table.add_row(*_plain(name, seen, str(value["detail"])))
        console.print(table)
    console.print(Text(f"\nSource: {printable(str(source))}", "dim"))


def show_session(session: SessionScore, coverages: Mapping[int, Coverage], source: Path) -> None:
    """Show a session and its members; coverage where a member's sidecar is there."""
    console = _console()
    head = f"Session {printable(session.session_id)}   rubric {printable(session.rubric_version)}   "
    console.print(Text(head, "bold"), f"score {number(session.value, session.scored)}  ", _band(session.band))
    console.print(Text(session_coverage_text(session, coverages) + "\n", "dim"))
    table = _table("ITER", "SCORE", "BAND", "COVERAGE", right=("ITER", "SCORE"))
    for ref in session.per_iteration:
        cells = _plain(str(ref.iteration), number(ref.value, ref.scored))
        table.add_row(*cells, _band(ref.band), Text(str(coverages.get(ref.iteration, "-"))))
    console.print(table)
    console.print(Text(f"\nSource: {printable(str(source))}", "dim"))


def show_integrity(rows: Sequence[IntegritySummary], source: Path) -> None:
    """Show claimed against observed, a line per role and signal."""
    console = _console()
    console.print(Text(f"Claimed against observed — {printable(str(source))}\n", "bold"))
    table = _table(*INTEGRITY_HEAD, right=("PAIRS", "OVER", "MEAN", "WORST"))
    for row in rows:
        table.add_row(*_plain(*integrity_cells(row)), style="red" if row.over_claims else "")
    console.print(table)
    console.print("\nDeltas are observed minus claimed: below 0 the agent claimed more than was seen.", style="dim")


def show_table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Show a table of texts that are fit to be printed."""
    table = _table(*heads)
    for row in rows:
        table.add_row(*_plain(*row))
    _console().print(table)
