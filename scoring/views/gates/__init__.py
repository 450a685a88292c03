"""Gates: what a log must hold up to, checked iteration by iteration, with the reasons in words.

A new gate is a :class:`~scoring.views.gates.gate.Gate` in a file of this folder, and its line in :data:`GATES`:
``da-score check`` takes its options from there, and its JSON, JUnit XML and Markdown.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from scoring.views.gates.drops import MaxDrop
from scoring.views.gates.flags import NoOverClaims, NoUnscored
from scoring.views.gates.floors import MinBand, MinMean, MinScore
from scoring.views.gates.gate import Gate
from scoring.views.gates.verdict import Checked, Failure, Verdict

if TYPE_CHECKING:  # what is checked, somebody else has loaded
    from scoring.views.examined import Examined, LogView

GATES: list[type[Gate]] = [
    MinScore,
    MinBand,
    MinMean,
    MaxDrop,
    NoOverClaims,
    NoUnscored,
]
"""Every gate, in the order of the help."""


def demands(given: Mapping[str, Any], log: "LogView") -> list[Gate]:
    """Return the demands that some options make, by the keys of the options.

    Raises:
        SettingsError: something is demanded that this log cannot be asked for.
        InputError: a file or revision that an option names is not what it should be.
    """
    return [demand for gate in GATES if (demand := gate.demanded(given, log))]


def check(examined: "Iterable[Examined]", gates: Sequence[Gate], last: int | None = None) -> Verdict:
    """Check iterations, in order; ``last`` is how many of the newest they are, for the verdict to say.

    Raises:
        SettingsError: there is a drop to check and nothing to compare with.
    """
    verdict = Verdict(_as_data(gates) | {"last": last})
    for one in examined:
        number = one.record.iteration
        failures = [Failure(gate.name(), number, reason) for gate in gates for reason in gate.fails(one)]
        notes = [note for gate in gates for note in gate.notes(one)]
        if not one.score.scored:
            notes.insert(0, "no signal is present, so there is no score to check")
        verdict.iterations.append(Checked(number, one.record.task_id, one.score, tuple(failures), tuple(notes)))
    scores = [one.score for one in verdict.iterations]
    verdict.whole = [Failure(gate.name(), None, reason) for gate in gates for reason in gate.fails_whole(scores)]
    return verdict


def _as_data(gates: Sequence[Gate]) -> dict[str, Any]:
    """Return what every gate demands; None, and False for a flag, where it demands nothing."""
    nothing = {option.key: False if option.kind == "flag" else None for gate in GATES for option in gate.options}
    return nothing | {key: value for gate in gates for key, value in gate.as_dict().items()}
