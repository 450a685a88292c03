"""What foretells defective work, tried on repositories with checkpoints: ``python -m benchmarks.foretelling REPO...``.

For each repository a log is made with an entry for each commit of the trunk that names a checkpoint. Printed are the
tables of docs/VALIDITY.md: what the scores of rubrics foretell, then each candidate on the older two thirds of each
log and on the newest third, and at last what the candidates that held on the older part make together of the newest,
which is looked at once. Everything is seeded, so the tables are the same every time. Only numbers are printed.
"""

import argparse
import math
import statistics
import sys
import tempfile
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from benchmarks.distribution import make_log, write_transcripts
from rubric import Rubric, released_rubric
from scoring.evidence.git.cache import GitCache
from scoring.evidence.git.checkpoints import checkpoints_named, read_checkpoints
from scoring.evidence.git.repository import GitRepository, as_text
from scoring.evidence.rules import Sources, rules_of
from scoring.log.load import load_iteration_log
from scoring.outcomes.outcome import DAY, Outcome, OutcomeRules, log_outcomes
from scoring.outcomes.validity import Case, Foretold, log_cases, validity
from scoring.statistics import CONFIDENCE, GroupedDraws, auc

RUBRICS = ("2.3.0", "3.1.0")
HORIZON = OutcomeRules()
OLDER = 2 / 3
"""The part of a log, by its order, on which anything may be tuned."""

COVERED = 0.5
"""In which share of the older part a candidate must be known to be tried with others."""

Figures = Mapping[str, float | None]


@dataclass(frozen=True)
class Measured:
    """A repository: its cases under each rubric in order, its outcomes, and further candidates, all by iteration."""

    name: str
    cases: Mapping[str, Sequence[Case]]
    outcomes: Mapping[int, Outcome]
    candidates: Mapping[int, Figures]

    def parts(self, outcome: str) -> tuple[list[Case], list[Case]]:
        """Return the cases under the newest rubric, older and newest part, for one way to see defects."""
        cases = [self._seen(case, outcome) for case in self.cases[RUBRICS[-1]]]
        cut = round(len(cases) * OLDER)
        return cases[:cut], cases[cut:]

    def _seen(self, case: Case, outcome: str) -> Case:
        fixed = (self.outcomes[case.iteration].lines_fixed or 0) > 0
        return replace(case, truth=float(not fixed)) if outcome == "any line fixed" else case


def measured(repo: Path, folder: Path) -> Measured:
    """Make the log of a repository, score it, and find out what became of its work."""
    log, transcripts = folder / "log", folder / "transcripts"
    make_log(repo, log)
    transcripts.mkdir()
    write_transcripts(repo, transcripts)
    found: dict[str, list[Case]] = {}
    for version in RUBRICS:
        rubric = released_rubric(version)
        (found[version],) = log_cases([rubric], log, _sources(rubric, repo, transcripts), HORIZON, "defective")
    sessions = {case.iteration: case.session for case in found[RUBRICS[-1]]}
    cases = {
        version: [replace(case, session=sessions.get(case.iteration, case.session)) for case in of]
        for version, of in found.items()
    }
    records = load_iteration_log(log)
    outcomes = {one.iteration: one for one in log_outcomes(records, repo, HORIZON)}
    commits = {record.iteration: record.commit for record in records}
    history, people = _history(repo), _people(repo, commits)
    candidates: dict[int, Figures] = {}
    for case in cases[RUBRICS[-1]]:
        commit = outcomes[case.iteration].commit or ""
        candidates[case.iteration] = _candidates(case) | history.get(commit, {}) | people.get(case.iteration, {})
    return Measured(repo.resolve().name, cases, outcomes, candidates)


def _sources(rubric: Rubric, repo: Path, transcripts: Path) -> dict[str, Sources]:
    rules = rules_of(rubric)
    if rules.attributes:  # it reads the checkpoints themselves
        return {rules.name: Sources.under(rules, repo, (), {"transcripts": "none"})}
    return {rules.name: Sources.under(rules, repo, (transcripts,), {})}


def _candidates(case: Case) -> dict[str, float | None]:
    """Return what a case itself says, and a few ratios of it."""
    seen, signals = case.observed, case.signals
    found: dict[str, float | None] = {f"signal {name}": value for name, value in signals.items()}
    found |= seen
    found["lines added"] = float(case.lines_added)
    for name in ("tool_calls", "output_tokens", "turns"):
        value = seen.get(name)
        found[f"{name} per line added"] = None if value is None else value / case.lines_added
    calls, runs = seen.get("tool_calls"), seen.get("test_runs")
    found["test runs per tool call"] = runs / calls if calls and runs is not None else None
    passed, edited = seen.get("last_tests_passed"), seen.get("edited_after_tests")
    found["tests passed after the last edit"] = None if passed is None or edited is None else passed * (1 - edited)
    found["any test run"] = None if runs is None else float(runs > 0)
    return found


def _history(repo: Path) -> dict[str, dict[str, float]]:
    """Return what just-in-time defect prediction goes by, for every commit: size, spread, and what came before."""
    log = ("log", "--reverse", "--topo-order", "--no-merges", "--numstat", "--no-renames")
    text = as_text(GitRepository(repo).run(*log, "--format=%x00%H%x01%ct%x01%ae%x01%s%x01"))
    touched: dict[str, list[int]] = defaultdict(list)
    authors: dict[str, set[str]] = defaultdict(set)
    experience: Counter[str] = Counter()
    found = {}
    for block in text.split("\0")[1:]:
        sha, stamp, author, subject, rest = block.split("\x01")
        rows = [line.split("\t") for line in rest.strip().splitlines() if line.count("\t") == 2]
        when, paths = int(stamp), [row[2] for row in rows]
        sizes = [sum(int(part) for part in row[:2] if part.isdigit()) for row in rows]
        whole = sum(sizes)
        shares = [size / whole for size in sizes if size]
        before = [touched[path] for path in paths]
        ages = [(when - times[-1]) / DAY for times in before if times]
        found[sha] = {
            "files": float(len(paths)),
            "folders": float(len({path.rpartition("/")[0] for path in paths})),
            "entropy of the change": -math.fsum(share * math.log2(share) for share in shares),
            "lines removed": float(sum(int(row[1]) for row in rows if row[1].isdigit())),
            "changes of its files before": float(sum(map(len, before))),
            "of these in 30 days": float(sum(when - time < 30 * DAY for times in before for time in times)),
            "days since its files were touched": statistics.fmean(ages) if ages else 0.0,
            "people who changed its files": float(len({name for path in paths for name in authors[path]})),
            "commits of its author before": float(experience[author]),
            "share of new files": sum(not times for times in before) / max(len(paths), 1),
            "share of test files": sum("test" in path.lower() for path in paths) / max(len(paths), 1),
            "is a fix itself": float(HORIZON.is_fix(subject)),
        }
        experience[author] += 1
        for path in paths:
            touched[path].append(when)
            authors[path].add(author)
    return found


def _people(repo: Path, commits: Mapping[int, str]) -> dict[int, dict[str, float]]:
    """Return which share of the lines of a commit people wrote or changed, where its checkpoints say that."""
    opened = GitRepository(repo)
    cache = GitCache(None, opened.common_dir)
    kept, named = read_checkpoints(opened, cache), checkpoints_named(opened, commits.values(), cache)
    found = {}
    for iteration, commit in commits.items():
        lines = [s.lines for name in named.get(commit, ()) if name in kept for s in kept[name].sessions if s.lines]
        whole = sum(part.total_committed or 0 for part in lines)
        if whole:
            human = sum((part.human_added or 0) + (part.human_modified or 0) for part in lines)
            found[iteration] = {"share of lines by people": human / whole}
    return found


Sample = Sequence[tuple[Sequence[Case], Sequence[float | None]]]
"""The cases of each repository, with a figure for each."""


def within(sample: Sample) -> Foretold:
    """Return the AUC within repositories, each counting by its pairs, with its interval by session."""
    count, whole, total = 0, 0.0, 0.0
    drawn: list[tuple[float, Sequence[float | None]]] = []
    for cases, figures in sample:
        there = [n for n, figure in enumerate(figures) if figure is not None]
        values, truths = [figures[n] or 0.0 for n in there], [cases[n].truth for n in there]
        pairs = float(sum(truths) * (len(truths) - sum(truths)))
        if (one := auc(values, truths)) is not None:
            count, whole, total = count + len(there), whole + pairs * one, total + pairs
            draws = GroupedDraws([case.session for case in cases], [case.truth for case in cases])
            drawn.append((pairs, draws.drawn(values, there)))
    if not total:
        return Foretold(count, None, None)
    figures_drawn = []
    for at in range(min(len(found) for _, found in drawn)):
        known = [(pairs, found[at]) for pairs, found in drawn]
        parts = [(pairs, value) for pairs, value in known if value is not None]
        if parts:
            figures_drawn.append(sum(p * v for p, v in parts) / sum(p for p, _ in parts))
    return Foretold(count, whole / total, GroupedDraws.interval(figures_drawn))


def shown(found: Foretold) -> str:
    """Return a figure as the tables have it."""
    if found.auc is None:
        return "-"
    if found.interval is None:
        return f"{found.auc:.2f} (n {found.n})"
    return f"{found.auc:.2f} ({found.interval.low:.2f} to {found.interval.high:.2f}, n {found.n})"


def rubric_table(repositories: Sequence[Measured]) -> Iterator[str]:
    """Yield what the scores of each rubric foretell, and their signals, on the whole of each log."""
    heads = [f"{one.name}, {version}" for one in repositories for version in RUBRICS]
    yield f"| figure | {' | '.join(heads)} |"
    yield f"|---|{'---|' * len(heads)}"
    found = [validity(one.cases[v], "defective", v, HORIZON.horizon_days) for one in repositories for v in RUBRICS]
    yield f"| iterations, defective | {' | '.join(f'{one.score.n}, {one.positives}' for one in found)} |"
    yield f"| verdict | {' | '.join(one.verdict for one in found)} |"
    yield f"| score | {' | '.join(shown(one.score) for one in found)} |"
    yield f"| fewer lines added | {' | '.join(shown(one.baselines['lines_added']) for one in found)} |"
    for name in dict.fromkeys(name for one in found for name in one.signals):
        cells = [one.signals.get(name, Foretold(0, None, None)) for one in found]
        if any(cell.auc is not None for cell in cells):
            yield f"| {name} | {' | '.join(map(shown, cells))} |"


def candidate_table(repositories: Sequence[Measured], outcome: str) -> Iterator[str]:
    """Yield each candidate on the older and on the newest part, and what those that held make together."""
    older = [one.parts(outcome)[0] for one in repositories]
    newest = [one.parts(outcome)[1] for one in repositories]
    yield "| candidate | older two thirds | newest third | held |"
    yield "|---|---|---|---|"
    names = dict.fromkeys(name for one in repositories for found in one.candidates.values() for name in found)
    signs: dict[str, int] = {}
    for name in names:
        before, after = (_of(repositories, part, name) for part in (older, newest))
        first, last = within(before), within(after)
        if first.auc is None:
            continue
        known = sum(figure is not None for _, figures in before for figure in figures)
        clear = first.interval is not None and not first.interval.low <= 0.5 <= first.interval.high
        if clear and known >= COVERED * sum(map(len, older)):
            signs[name] = 1 if first.auc > 0.5 else -1
        yield f"| {name} | {shown(first)} | {shown(last)} | {'yes' if name in signs else ''} |"
    both = [
        within(
            [
                (cases, _together(one, cases, train, signs))
                for one, cases, train in zip(repositories, part, older, strict=True)
            ]
        )
        for part in (older, newest)
    ]
    yield f"| **those that held, together** | {shown(both[0])} | {shown(both[1])} | |"
    scores = [within([(cases, [case.value for case in cases]) for cases in part]) for part in (older, newest)]
    yield f"| the score of {RUBRICS[-1]} | {shown(scores[0])} | {shown(scores[1])} | |"


def _of(repositories: Sequence[Measured], parts: Sequence[Sequence[Case]], name: str) -> Sample:
    pairs = zip(repositories, parts, strict=True)
    return [(cases, [one.candidates[case.iteration].get(name) for case in cases]) for one, cases in pairs]


def _together(one: Measured, cases: Sequence[Case], train: Sequence[Case], signs: Mapping[str, int]) -> list[float]:
    """Return the sum of what held, each by its rank among the older cases and with its sign; 0.5 where unknown."""
    take: Callable[[Case, str], float | None] = lambda case, name: one.candidates[case.iteration].get(name)  # noqa: E731
    known = {name: sorted(v for case in train if (v := take(case, name)) is not None) for name in signs}
    found = []
    for case in cases:
        whole = 0.0
        for name, sign in signs.items():
            value, among = take(case, name), known[name]
            rank = 0.5
            if value is not None and among:
                rank = (sum(v < value for v in among) + sum(v <= value for v in among)) / 2 / len(among)
            whole += sign * (rank - 0.5)
        found.append(whole)
    return found


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the tables for some repositories."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.foretelling", description=__doc__)
    parser.add_argument("repo", type=Path, nargs="+")
    given = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as place:
        repositories = []
        for n, repo in enumerate(given.repo):
            folder = Path(place) / str(n)
            folder.mkdir()
            repositories.append(measured(repo, folder))
    print(f"Intervals hold {CONFIDENCE:.0%}, by session.\n\n### Scores and signals\n")
    print("\n".join(rubric_table(repositories)))
    for outcome in ("defective", "any line fixed"):
        print(f"\n### Candidates for {outcome}\n")
        print("\n".join(candidate_table(repositories, outcome)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
