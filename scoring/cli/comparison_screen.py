"""Two rubrics side by side on a terminal, and a log under both."""

from collections.abc import Iterator, Mapping
from pathlib import Path

from rich.text import Text

from scoring.cli import comparison
from scoring.cli.screen import _band, _console, _plain, _table
from scoring.text import printable
from scoring.views.compare import IterationDiff, LogDiff, RubricDiff


def show_comparison(diff: RubricDiff, log: LogDiff | None, source: Path | None, tasks: Mapping[int, str]) -> None:
    """Show two rubrics side by side and, where there is a log, its iterations under both."""
    console = _console()
    before, after = comparison.names(diff)
    console.print(Text(f"Rubric {before} → {after}\n", "bold"))
    table = _table("SIGNAL", before, after, "CHANGE", right=(before, after, "CHANGE"))
    for spec in diff.signals:
        table.add_row(*_plain(printable(spec.signal), *comparison.weight_cells(spec)))
        for line in comparison.word_changes(spec):
            table.add_row(Text(f"  {line}", "dim"))
    console.print(table)
    console.print()
    for line in comparison.summary(diff):
        console.print(Text(line))
    if log is None or source is None:
        if source:
            console.print(Text(f"\n{comparison.no_log(source)}", "dim"))
        return
    console.print(Text(f"\nIterations of {printable(str(source))}\n", "bold"))
    columns = ("ITER", "TASK", before, after, "CHANGE", "BAND", "MOVED BY")
    table = _table(*columns, right=("ITER", before, after, "CHANGE"))
    for item in log.iterations:
        cells = (str(item.iteration), printable(tasks.get(item.iteration, "")), *comparison.value_cells(item))
        table.add_row(*_plain(*cells), _bands_of(item), Text("\n".join(_moves(diff, item))))
    console.print(table)
    console.print()
    table = _table("TOTAL", "")
    for row in comparison.total_rows(log.totals()):
        table.add_row(*_plain(*row))
    console.print(table)


def _bands_of(item: IterationDiff) -> Text:
    before = _band(item.before.band)
    return Text(" → ").join([before, _band(item.after.band)]) if item.band_changed else before


def _moves(diff: RubricDiff, item: IterationDiff) -> Iterator[str]:
    for move in comparison.shown_moves(item):
        yield f"{printable(move.signal)}  {comparison.effect(item, move)}{comparison.why(move)}"
        yield from (f"  {name}: {text}" for name, text in comparison.details(diff, move))
    yield from comparison.weight_moves(item)
