"""``python -m benchmarks.foretelling REPO...`` tries what foretells defective work.

For each repository a log is made with an entry for each commit of the trunk that names a
checkpoint. Printed are the tables of docs/validity/foretelling.txt: what the scores
foretell; each candidate on the older two thirds of each log and on the newest third; what
candidates foretell together, learned from the older part and tried on the newest, and learned from
one repository and tried on the others; and how many cases it would take. Everything is seeded, so
the tables are the same every time. Only numbers are printed. Needs the extra ``bench``.
"""

import argparse
import json
import re
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from msgspec.structs import replace

from benchmarks.deeds import deeds_of
from benchmarks.distribution import make_log
from benchmarks.history import files_of, history, texts
from benchmarks.trial import (
    SHUFFLES,
    Cases,
    Combination,
    Figures,
    Sample,
    chance_of,
    forest,
    foretold,
    holm,
    learned,
    needed,
    of_words,
    ranked,
    variance,
    weighed,
)
from rubric import Rubric, released_rubric
from scoring.evidence.git.checkpoint_files import BRANCH
from scoring.evidence.git.checkpoints import checkpoint_ids
from scoring.evidence.git.repository import GitRepository
from scoring.evidence.git.starter import as_text
from scoring.evidence.rules import Sources, rules_of
from scoring.log.load import load_iteration_log
from scoring.outcomes.cases import Case, OutcomeName, log_cases
from scoring.outcomes.outcome import Outcome, log_outcomes
from scoring.outcomes.outcome_rules import OutcomeRules
from scoring.outcomes.validity import validity
from scoring.prediction import Foretold
from scoring.score import score_log_under
from scoring.statistics import CONFIDENCE

RUBRIC = "3.1.0"
HORIZON = OutcomeRules()
OLDER = 2 / 3
"""The part of a log, by its order, on which anything may be tuned."""

DEFECTIVE: OutcomeName = "defective"
ANY_FIXED = "any line fixed"

LEVEL = 0.05

JUST_IN_TIME = Combination(
    "just-in-time features, without size",
    {
        "entropy, as a share of the most": -1,
        "lines per file before": -1,
        "changes per file before": -1,
        "people who changed its files": -1,
        "days since its files were touched": 1,
        "recent commits of its author": 1,
        "commits of its author in its folders": 1,
        "fixes of its files in 14 days": -1,
        "share of fixes among the changes before": -1,
        "is a fix itself": -1,
        "replaced lines younger than 3 days, share": -1,
    },
)
CHECKED = Combination(
    "how it was checked",
    {
        "tests passed after the last edit": 1,
        "any test run": 1,
        "failed test runs, share": -1,
        "commands that failed, share": -1,
        "edited files that were read before, share": 1,
        "reads per edit": 1,
        "changes code and no test": -1,
    },
)
WORKED = Combination(
    "how the work went",
    {
        "corrections": -1,
        "resets": -1,
        "lines reworked, share of those written": -1,
        "edits that did not match": -1,
        "edits refused because the file had changed": -1,
        "files edited outside of the session, share": -1,
        "prompts that speak of trouble, share": -1,
        "context_compactions": -1,
        "calls per prompt": -1,
        "rounds of review on its branch before": 1,
        "lines_by_people": -1,
    },
)
SIZE = Combination(
    "size alone (a control)", {"lines added": -1, "files": -1, "lines removed": -1}
)
COMBINATIONS = (
    SIZE,
    JUST_IN_TIME,
    CHECKED,
    WORKED,
    Combination("checked and worked", {**CHECKED.signs, **WORKED.signs}),
    Combination(
        "all of these without size",
        {**JUST_IN_TIME.signs, **CHECKED.signs, **WORKED.signs},
    ),
    Combination(
        "all of these with size",
        {**SIZE.signs, **JUST_IN_TIME.signs, **CHECKED.signs, **WORKED.signs},
    ),
)
"""What is weighed together, each with the direction that it should point.

They were chosen before any was tried on the newest part.
"""


@dataclass(frozen=True)
class Measured:
    """A repository: its cases in order, and its outcomes, candidates and texts by iteration."""

    name: str
    cases: Sequence[Case]
    outcomes: Mapping[int, Outcome]
    candidates: Mapping[int, Mapping[str, float | None]]
    texts: Mapping[int, tuple[str, str]]

    def seen(self, outcome: str) -> list[Case]:
        """Return the cases for one way to see defects."""
        if outcome == DEFECTIVE:
            return list(self.cases)
        return [
            replace(case, truth=float(not self.outcomes[case.iteration].lines_fixed))
            for case in self.cases
        ]

    def surviving(self) -> list[Case]:
        """Return the cases whose outcome is the share of their lines that is left at the end."""
        return [
            replace(case, truth=self.outcomes[case.iteration].survival or 0.0)
            for case in self.cases
        ]

    def figures(self, name: str) -> Figures:
        """Return one candidate of all iterations."""
        return {
            iteration: figures.get(name)
            for iteration, figures in self.candidates.items()
        }


@dataclass(frozen=True)
class Parts:
    """The cases of all repositories for one definition of a defect.

    They are split into the older and the newest part of each repository.
    """

    repositories: Sequence[Measured]
    older: Sequence[Cases]
    newest: Sequence[Cases]
    whole: Sequence[Cases]

    @classmethod
    def of(cls, repositories: Sequence[Measured], outcome: str) -> "Parts":
        """Cut what was measured."""
        seen = [one.seen(outcome) for one in repositories]
        cuts = [round(len(cases) * OLDER) for cases in seen]
        older = [Cases(cases[:cut]) for cases, cut in zip(seen, cuts, strict=True)]
        newest = [Cases(cases[cut:]) for cases, cut in zip(seen, cuts, strict=True)]
        return cls(repositories, older, newest, [Cases(cases) for cases in seen])

    def sample(self, part: Sequence[Cases], name: str) -> Sample:
        """Return one candidate for one part."""
        return [
            (of, one.figures(name))
            for one, of in zip(self.repositories, part, strict=True)
        ]


def measured(repo: Path, folder: Path) -> Measured:
    """Make the log of a repository, score it, and find out what became of its work."""
    log = folder / "log"
    make_log(repo, log)
    rubric = released_rubric(RUBRIC)
    rules = rules_of(rubric)
    # Its transcripts are those of the checkpoints.
    sources = {rules.name: Sources.under(rules, repo, (), {"transcripts": "none"})}
    (measured,) = log_cases([rubric], log, sources, HORIZON, "defective")
    cases = measured.cases
    records = load_iteration_log(log)
    outcomes = {one.iteration: one for one in log_outcomes(records, repo, HORIZON)}
    landed = {case.iteration: outcomes[case.iteration].commit or "" for case in cases}
    opened = GitRepository(repo)
    before, people = (
        history(opened, landed.values(), HORIZON.is_fix),
        _people(opened, landed),
    )
    deeds = _deeds(opened, log, sources, rubric)
    files, said = files_of(opened, landed.values()), texts(opened, landed.values())
    order: Counter[str] = Counter()
    candidates: dict[int, dict[str, float | None]] = {}
    for case in cases:
        n, commit = case.iteration, landed[case.iteration]
        figures = _of_case(case) | before.get(commit, {}) | people.get(n, {})
        figures["iterations of its session before"] = (
            float(order[case.session]) if n in deeds else None
        )
        if n in deeds:
            figures |= deeds[n].figures(case.lines_added, files[commit])
        candidates[n] = figures
        order[case.session] += 1
    by_commit = {n: said[commit] for n, commit in landed.items() if commit in said}
    return Measured(repo.resolve().name, cases, outcomes, candidates, by_commit)


def _deeds(  # type: ignore[no-untyped-def]
    repo: GitRepository, log: Path, sources: Mapping[str, Sources], rubric: Rubric
):
    (scored,) = score_log_under([rubric], log, sources)
    seen = {one.record.iteration: one.facts.observed for one in scored.iterations}
    return dict(
        deeds_of(
            repo, {n: facts.lines for n, facts in seen.items() if facts and facts.lines}
        )
    )


def _of_case(case: Case) -> dict[str, float | None]:
    """Return what a case itself says, and a few ratios of it."""
    seen, signals = case.observed, case.signals
    found: dict[str, float | None] = {
        f"signal {name}": value for name, value in signals.items()
    }
    found |= seen
    found["signals present"] = float(
        sum(value is not None for value in signals.values())
    )
    found["lines added"] = float(case.lines_added)
    for name in ("tool_calls", "output_tokens", "turns"):
        value = seen.get(name)
        found[f"{name} per line added"] = (
            None if value is None else value / case.lines_added
        )
    calls, runs, failed = (
        seen.get("tool_calls"),
        seen.get("test_runs"),
        seen.get("failed_test_runs"),
    )
    found["test runs per tool call"] = (
        runs / calls if calls and runs is not None else None
    )
    found["failed test runs, share"] = (failed or 0) / runs if runs else None
    passed, edited = seen.get("last_tests_passed"), seen.get("edited_after_tests")
    found["tests passed after the last edit"] = (
        None if passed is None or edited is None else passed * (1 - edited)
    )
    found["any test run"] = None if runs is None else float(runs > 0)
    return found


def _people(
    repo: GitRepository, commits: Mapping[int, str]
) -> dict[int, dict[str, float | None]]:
    """Return what people changed and removed in a commit, where its checkpoints say that."""
    stated = _stated_lines(repo)
    named = {
        sha: checkpoint_ids(as_text(commit))
        for sha, commit in repo.contents(commits.values()).items()
    }
    found: dict[int, dict[str, float | None]] = {}
    for iteration, commit in commits.items():
        lines = sum(
            (stated.get(name, Counter()) for name in named.get(commit, ())),
            Counter[str](),
        )
        if whole := lines["total_committed"]:
            written = lines["human_modified"] + lines["human_added"]
            found[iteration] = {
                "lines_by_people": min(1.0, written / whole),
                "lines changed by people, share": lines["human_modified"] / whole,
                "lines removed by people, share": lines["human_removed"] / whole,
                "people touched its lines": float(written > 0),
            }
    return found


def _stated_lines(repo: GitRepository) -> dict[str, Counter[str]]:
    """Return who wrote the lines of a commit, as the tool of each checkpoint states it."""
    listed = repo.ask("ls-tree", "-r", f"refs/remotes/origin/{BRANCH}").stdout.decode()
    metadata = re.findall(
        r"^\S+ blob (\S+)\t(..)/(\w{10})/\d+/metadata\.json$", listed, re.M
    )
    contents = repo.contents(oid for oid, *_ in metadata)
    found: dict[str, Counter[str]] = {}
    for oid, *name in metadata:
        said = json.loads(contents[oid]).get("initial_attribution") or {}
        found.setdefault("".join(name), Counter()).update(
            {k: n for k, n in said.items() if type(n) is int}
        )
    return found


def shown(found: Foretold) -> str:
    """Return a figure as the tables have it."""
    if found.auc is None:
        return "-"
    if found.interval is None:
        return f"{found.auc:.2f} (n {found.n})"
    return f"{found.auc:.2f} ({found.interval.low:.2f} to {found.interval.high:.2f}, n {found.n})"


def _table_row(name: str, cells: Iterable[str]) -> str:
    return f"| {name} | {' | '.join(cells)} |"


def rubric_table(repositories: Sequence[Measured]) -> Iterator[str]:
    """Yield what the scores and their signals foretell, on whole logs."""
    heads = [f"{one.name}, {RUBRIC}" for one in repositories]
    yield f"| figure | {' | '.join(heads)} |"
    yield f"|---|{'---|' * len(heads)}"
    found = [
        validity(one.cases, "defective", RUBRIC, HORIZON.horizon_days)
        for one in repositories
    ]
    yield _table_row(
        "iterations, defective", [f"{one.score.n}, {one.positives}" for one in found]
    )
    yield _table_row("verdict", [one.verdict for one in found])
    yield _table_row("score", [shown(one.score) for one in found])
    yield _table_row(
        "where there is enough evidence", [shown(one.sufficient) for one in found]
    )
    yield _table_row(
        "fewer lines added", [shown(one.baselines["lines_added"]) for one in found]
    )
    for name in dict.fromkeys(name for one in found for name in one.signals):
        cells = [one.signals.get(name, Foretold(0, None, None)) for one in found]
        if any(cell.auc is not None for cell in cells):
            yield _table_row(name, map(shown, cells))
    bands = [
        ", ".join(f"{row.band} {row.sound:.0%} of {row.n}" for row in one.bands)
        for one in found
    ]
    yield _table_row("sound, by band", bands)
    kept = [
        validity(one.surviving(), "survival", RUBRIC, HORIZON.horizon_days)
        for one in repositories
    ]
    yield _table_row("survival, Spearman", [shown(one.score) for one in kept])
    yield _table_row(
        "survival, fewer lines added",
        [shown(one.baselines["lines_added"]) for one in kept],
    )


def candidate_table(parts: Parts) -> Iterator[str]:
    """Yield each candidate on the older and the newest part, and how many are clear by chance."""
    yield "| candidate | older two thirds | p | at one size | newest third | p | held |"
    yield "|---|---|---|---|---|---|---|"
    names = dict.fromkeys(
        name
        for one in parts.repositories
        for found in one.candidates.values()
        for name in found
    )
    chances: tuple[dict[str, float], dict[str, float]] = {}, {}
    held: list[str] = []
    for name in names:
        older, newest = (
            parts.sample(parts.older, name),
            parts.sample(parts.newest, name),
        )
        first, last = foretold(older), foretold(newest)
        if (
            first.auc is None
            or len(
                {value for _, figures in older for value in figures.values()} - {None}
            )
            < 2
        ):
            continue
        for of, sample in zip(chances, (older, newest), strict=True):
            if (chance := chance_of(sample)) is not None:
                of[name] = chance
        both = [of.get(name, 1.0) for of in chances]
        if max(both) < LEVEL and (first.auc > 0.5) == ((last.auc or 0) > 0.5):
            held.append(name)
        cells = (
            shown(first),
            _chance(both[0]),
            shown(foretold(older, alike=True)),
            shown(last),
            _chance(both[1]),
        )
        yield f"| {name} | {' | '.join(cells)} | {'yes' if name in held else ''} |"
    yield ""
    yield from _tally(chances, len(held))


def _tally(
    chances: tuple[Mapping[str, float], Mapping[str, float]], held: int
) -> Iterator[str]:
    """Yield how many candidates were clear, and how many would be by chance."""
    tried = len(chances[0])
    older, newest = (sum(chance < LEVEL for chance in of.values()) for of in chances)
    sure = ["; ".join(holm(of, LEVEL)) or "none" for of in chances]
    by_chance = f"{tried * LEVEL:.0f} of them have p below {LEVEL:g} in a part"
    yield f"- Tried: {tried} candidates. By chance {by_chance}."
    yield f"- p below {LEVEL:g}: {older} on the older part, {newest} on the newest."
    yield f"- On both, in one direction: {held}. By chance {tried * LEVEL * LEVEL / 2:.1f}."
    yield f"- Clear for so many tried (Holm), older part: {sure[0]}."
    yield f"- Clear for so many tried (Holm), newest part: {sure[1]}."


def _chance(chance: float | None) -> str:
    return "-" if chance is None else "<0.001" if chance < 0.001 else f"{chance:.3f}"


def together_table(parts: Parts) -> Iterator[str]:
    """Yield what candidates foretell together: trained on the older part, tried on the newest."""
    yield "| together | newest third | p | at one size | learned from another repository |"
    yield "|---|---|---|---|---|"
    trained = list(zip(parts.repositories, parts.older, parts.newest, strict=True))
    for combination in COMBINATIONS:
        sample = []
        for one, older, newest in trained:
            weights = learned(
                ranked(combination, older.cases, older.cases, one.candidates),
                combination,
            )
            sample.append(
                (
                    newest,
                    weighed(
                        ranked(combination, newest.cases, older.cases, one.candidates),
                        weights,
                    ),
                )
            )
        yield _row(
            combination.name, sample, foretold(list(_across(parts, combination)))
        )
    for name, part in (("words of the message", 0), ("words of the added code", 1)):
        said = [
            {n: text[part] for n, text in one.texts.items()}
            for one in parts.repositories
        ]
        sample = [
            (newest, of_words(older.cases, newest.cases, said[n]))
            for n, (_, older, newest) in enumerate(trained)
        ]
        yield _row(name, sample, None)
    sample = [
        (newest, forest(older.cases, newest.cases, one.candidates))
        for one, older, newest in trained
    ]
    yield _row("a random forest of all candidates", sample, None)
    scores = [
        (newest, {case.iteration: case.value for case in newest.cases})
        for newest in parts.newest
    ]
    yield _row(f"the score of {RUBRIC}", scores, None)


def _row(name: str, sample: Sample, across: Foretold | None) -> str:
    cells = (
        shown(foretold(sample)),
        _chance(chance_of(sample)),
        shown(foretold(sample, alike=True)),
    )
    return f"| {name} | {' | '.join(cells)} | {shown(across) if across else ''} |"


def _across(parts: Parts, combination: Combination) -> Iterator[tuple[Cases, Figures]]:
    """Yield each repository as the others teach to see it."""
    of_each = [
        ranked(combination, whole.cases, whole.cases, one.candidates)
        for one, whole in zip(parts.repositories, parts.whole, strict=True)
    ]
    for n, whole in enumerate(parts.whole):
        others = [
            replace(case, iteration=k, session=f"{m} {case.session}")
            for m, cases in enumerate(of_each)
            if m != n
            for k, case in enumerate(cases)
        ]
        yield whole, weighed(of_each[n], learned(others, combination))


def power_table(parts: Parts) -> Iterator[str]:
    """Yield how many defective iterations it takes to see an effect, and how many there are."""
    bad = [
        int((~of.sound).sum()) for part in (parts.older, parts.newest) for of in part
    ]
    sound = [int(of.sound.sum()) for part in (parts.older, parts.newest) for of in part]
    score = foretold(
        [(of, {case.iteration: case.value for case in of.cases}) for of in parts.whole]
    )
    design = 1.0
    if score.interval and score.auc is not None:
        alone = sum(
            variance(score.auc, n, m) * (n * m) ** 2 for n, m in _kinds(parts.whole)
        )
        alone /= sum(n * m for n, m in _kinds(parts.whole)) ** 2
        design = max(
            1.0,
            ((score.interval.high - score.interval.low) / 2 / 1.959964) ** 2 / alone,
        )
    ratio = sum(sound) / max(sum(bad), 1)
    half = len(parts.older)
    defective = (
        f"{sum(bad[:half])} of the older and {sum(bad[half:])} of the newest iterations"
    )
    yield f"Here {defective} are defective. That"
    yield f"iterations share sessions makes variances {design:.1f} times as large."
    yield ""
    yield "| true AUC | defective iterations to see it | and as many in all |"
    yield "|---|---|---|"
    for auc in (0.55, 0.60, 0.65, 0.70, 0.75):
        count = needed(auc, ratio, design)
        yield f"| {auc:.2f} | {count} | {round(count * (1 + ratio))} |"


def _kinds(parts: Sequence[Cases]) -> list[tuple[int, int]]:
    return [(int((~of.sound).sum()), int(of.sound.sum())) for of in parts]


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the tables for some repositories."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.foretelling", description=__doc__
    )
    parser.add_argument("repo", type=Path, nargs="+")
    given = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as place:
        repositories = []
        for n, repo in enumerate(given.repo):
            folder = Path(place) / str(n)
            folder.mkdir()
            repositories.append(measured(repo, folder))
    print(
        f"Intervals hold {CONFIDENCE:.0%}, by session; "
        f"p is of {SHUFFLES:,} shuffles of whole sessions."
    )
    print("\n### Scores and signals\n")
    print("\n".join(rubric_table(repositories)))
    for outcome in (DEFECTIVE, ANY_FIXED):
        parts = Parts.of(repositories, outcome)
        print(f"\n### Candidates for {outcome}\n")
        print("\n".join(candidate_table(parts)))
        print(f"\n### Together, for {outcome}\n")
        print("\n".join(together_table(parts)))
        if outcome == DEFECTIVE:
            print("\n### How many it would take\n")
            print("\n".join(power_table(parts)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
