"""The one line that says most about a score: which signal cost it most, and why."""

from scoring.sidecars.scores import PersistedScore


def weakest(score: PersistedScore) -> str:
    """Name the signal that cost a score most, with its detail."""
    rows = [row for row in score.breakdown if row.present]
    worst = max(rows, key=lambda row: row.effective_weight - row.contribution, default=None)
    if worst is None or worst.effective_weight - worst.contribution <= 0:
        return "no signal stands out"
    return f"{worst.signal} cost most: {worst.detail}" if worst.detail else f"{worst.signal} cost most"
