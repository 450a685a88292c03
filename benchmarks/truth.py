"""``python -m benchmarks truth`` compares what da-score says with what readers found by hand.

A label is a line of JSON with ``repository``, ``commit``, ``harness``, ``observation`` and
``truth``, which is "cannot say" where the reader could not. A label of a prompt has ``where``
instead of a commit. docs/VALIDITY.md, "Is what it observes true?", says what labels there are and
how they were made.

Each repository is cloned, and its log is derived in the clone, with an entry for each labeled
commit that has none, and scored under 3.1.0. The command prints tables, and each label that
da-score does not agree with. ``--out`` puts the tables into the page.
"""

import argparse
import hashlib
import json
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

from benchmarks.measure import HERE
from benchmarks.tables import markdown, put
from rubric import released_rubric
from scoring import ScoredIteration, load_iteration_log, score_log
from scoring.evidence.attribution.attributed import AttributedScan
from scoring.evidence.git.facts import REVERTED
from scoring.evidence.git.repository import GitRepository
from scoring.evidence.rules import ATTRIBUTED, Sources
from scoring.evidence.transcripts.events import Prompt, PromptKind
from scoring.evidence.transcripts.facts import TranscriptPlaces
from scoring.grouping import lists_by_key
from scoring.jobs.derive import derive
from scoring.outcomes.spending import spending_of
from scoring.sidecars.provenance import provenance_as_dict
from scoring.statistics import wilson
from scoring.text import counted
from scoring.views.score_pages import chain_payload, score_payload

RUBRIC = "3.1.0"
DOCUMENT = "VALIDITY.md"
CANNOT_SAY = "cannot say"
ALL = "all"
REAL = HERE.parents[1] / "shared" / "real"
OWN = HERE.parent / "testdata" / "labels"

_FETCHED_REFS = ("pull", "merge-requests", "entire")
"""Namespaces of refs that a clone leaves out, though work and transcripts may be there."""

PROMPT_LABEL = "prompt"
PROMPT_FINDINGS: dict[str, PromptKind] = {"correction": "wrong", "report": "report"}
"""What a reader may call a prompt, and what da-score calls it."""

OBSERVATIONS = (
    "sessions",
    "runs",
    "failed",
    "last",
    "interrupts",
    "rejections",
    "corrections_in_words",
    "errors",
    "calls",
    "tokens",
    "landed",
    "reverted",
    "files",
)

Said: TypeAlias = dict[str, Any]
"""What da-score says of a commit, by observation. Observations that it does not make are absent."""


class Label(NamedTuple):
    """What a reader found.

    Attributes:
        repository: the name of the repository.
        commit: the SHA, or for a prompt its place: ``ab/cdef012345/0/full.jsonl:12``, where the
            last number is that of the line, from 1.
        harness: the name of the harness.
        observation: what the label is about.
        truth: the value; None where there is nothing to say, as where no tests ran.
    """

    repository: str
    commit: str
    harness: str
    observation: str
    truth: Any

    @property
    def half(self) -> str:
        """The half of the labels that it is in, A or B. All labels of a commit are in one half."""
        return "AB"[hashlib.sha256(self.commit.encode()).digest()[-1] % 2]


class Judged(NamedTuple):
    """A label, whether da-score says something about it, and what."""

    label: Label
    is_said: bool
    said: Any

    @property
    def agrees(self) -> bool:
        """Whether the two are the same. Saying nothing is right where there is nothing to say."""
        truth = self.label.truth
        if self.label.observation == PROMPT_LABEL:
            return bool(self.said == PROMPT_FINDINGS.get(truth))
        if self.label.observation == "sessions":
            return set(truth) == set(self.said or ())
        return bool(self.said == truth and (self.is_said or truth is None))

    @property
    def is_silent(self) -> bool:
        """Whether da-score says nothing where there was something to say."""
        return not self.is_said and not self.agrees


# Labels


def read_labels(files: Iterable[Path], half: str | None = None) -> list[Label]:
    """Return the labels of some files, or one half of them, without those that cannot say.

    Labels of other observations than :data:`OBSERVATIONS` and prompts are left out, and counted on
    standard error.
    """
    labels = []
    left_out = 0
    for row in _rows_of(files):
        if row.get("observation") not in (*OBSERVATIONS, PROMPT_LABEL):
            left_out += 1
            continue
        label = Label(
            repository=row["repository"],
            commit=row["commit"] if "commit" in row else row["where"],
            harness=row["harness"],
            observation=row["observation"],
            truth=row["truth"],
        )
        if label.truth != CANNOT_SAY and half in (None, label.half):
            labels.append(label)

    if left_out:
        count = counted(left_out, "label")
        print(f"left out {count} of what is not compared here", file=sys.stderr)
    return labels


def _rows_of(files: Iterable[Path]) -> Iterator[dict[str, Any]]:
    for file in files:
        for line in file.read_text("utf-8").splitlines():
            if line.strip():
                yield json.loads(line)


# What da-score says


def said_of(scored: ScoredIteration) -> Said:
    """Return what da-score says of an iteration."""
    assert scored.provenance is not None
    facts = scored.facts
    payload: Any = score_payload(
        scored.persisted, attribution=chain_payload(facts), spending=spending_of(facts)
    )
    provenance: Any = provenance_as_dict(scored.provenance, RUBRIC)

    said: Said = {}
    for row in payload["breakdown"]:
        if row["signal"] == "landed" and row["present"]:
            said["landed"] = row["sub_score"]
            said["reverted"] = provenance["landed"]["method"] == REVERTED
    if scored.record.files_changed:
        said["files"] = scored.record.files_changed

    attribution = payload.get("attribution") or {}
    if attribution.get("method"):
        said["sessions"] = attribution["sessions"]
    spending = payload.get("spending") or {}
    if spending.get("source"):
        said["tokens"] = spending["tokens"]["total"]

    if attribution.get("method") and not attribution["checkpoint_tokens"]:
        corrections = provenance["corrections"] | (payload.get("corrections") or {})
        said |= _said_by_transcripts(provenance["tests"], corrections, attribution)
    return said


def _said_by_transcripts(tests: Said, corrections: Said, attribution: Said) -> Said:
    said = {name: tests[name] for name in ("runs", "failed", "last")}
    said |= {name: corrections[name] for name in ("interrupts", "rejections")}
    said |= {name: attribution[name] for name in ("calls", "errors")}
    if corrections.get("words") is not None:
        said["corrections_in_words"] = corrections["words"]
    return said


def clone_of(source: Path, into: Path) -> GitRepository:
    """Clone a bundle, with its refs of pull requests and checkpoints, or copy a repository.

    A copy has all refs. It needs nothing that a partial clone lacks.
    """
    if source.is_dir():
        shutil.copytree(source / ".git", into / ".git", symlinks=True)
        return GitRepository(into)

    subprocess.run(["git", "clone", "-q", source, into], check=True)
    refs = [f"+refs/{name}/*:refs/{name}/*" for name in _FETCHED_REFS]
    subprocess.run(
        ["git", "-C", into, "fetch", "-q", source.resolve(), *refs], check=True
    )
    return GitRepository(into)


def said_in(
    repository: GitRepository, commits: Iterable[str], folder: Path
) -> dict[str, Said]:
    """Return what da-score says of some commits of a repository.

    Args:
        repository: the repository.
        commits: their SHAs.
        folder: where the log is made.
    """
    wanted = set(commits)
    log = folder / "log"
    log.mkdir(parents=True)
    options: Any = {"transcripts": "none", "cache_dir": folder / "cache"}
    derive(log, Sources.under(ATTRIBUTED, repository.directory, (), options))
    _add_entries(log, wanted)

    rubric = released_rubric(RUBRIC)
    scored = score_log(log, repository.directory, rubric=rubric, **options)
    said = {}
    for iteration in scored.iterations:
        if iteration.record.commit in wanted:
            said[iteration.record.commit] = said_of(iteration)
    return said


def _add_entries(log: Path, commits: Iterable[str]) -> None:
    """Write an entry for each commit that has none."""
    records = load_iteration_log(log)
    last = max((record.iteration for record in records), default=0)
    missing = set(commits) - {record.commit for record in records}
    for number, commit in enumerate(sorted(missing), last + 1):
        entry = {"schema_version": 2, "iteration": number, "commit": commit}
        (log / f"iter-{number}.yaml").write_text(json.dumps(entry))


def prompts_in(repository: GitRepository) -> dict[str, PromptKind]:
    """Return what da-score says of the prompts in a repository's checkpoints, by their places."""
    with AttributedScan(TranscriptPlaces(Path(repository.directory))) as scan:
        files = {file.transcript.blobs: file for file in scan.read().files}

        kinds = {}
        for checkpoint in scan.checkpoints.values():
            for kept in checkpoint.sessions:
                if not kept.blobs or kept.blobs not in files:
                    continue
                path = kept.path.partition(":")[2]
                for prompt in files[kept.blobs].events.of(Prompt):
                    kinds[f"{path}:{prompt.line + 1}"] = prompt.kind
        return kinds


# The comparison


def judge(labels: Sequence[Label], sources: Iterable[Path]) -> Iterator[Judged]:
    """Yield each label with what da-score says.

    The repository of a label is the first source that has a commit of its labels. Labels without
    a source are left out, and counted on standard error.
    """
    waiting = lists_by_key((label.repository, label) for label in labels)
    for source in sources:
        with tempfile.TemporaryDirectory(prefix="benchmarks-") as name:
            repository = clone_of(source, Path(name) / "repo")
            for of, group in list(waiting.items()):
                if any(repository.resolve(sorted(_commits_of(group))).values()):
                    del waiting[of]
                    yield from _judge_group(
                        group, repository, Path(name) / str(len(waiting))
                    )

    for of, missing in waiting.items():
        count = counted(len(missing), "label")
        print(
            f"left out {count} of {of}: no repository here has its commits",
            file=sys.stderr,
        )


def _commits_of(labels: Iterable[Label]) -> set[str]:
    """Return the commits that labels are about. The places of prompts are not commits."""
    prompts = {label.commit for label in labels if label.observation == PROMPT_LABEL}
    return {label.commit for label in labels} - prompts


def _judge_group(
    labels: Sequence[Label], repository: GitRepository, folder: Path
) -> Iterator[Judged]:
    """Yield the labels of a repository with what da-score says."""
    said = said_in(repository, _commits_of(labels), folder)
    prompt_kinds: dict[str, PromptKind] = {}
    if any(label.observation == PROMPT_LABEL for label in labels):
        prompt_kinds = prompts_in(repository)

    for label in labels:
        if label.observation == PROMPT_LABEL:
            yield Judged(label, True, prompt_kinds.get(label.commit))
        else:
            said_of_commit = said.get(label.commit, {})
            is_said = label.observation in said_of_commit
            yield Judged(label, is_said, said_of_commit.get(label.observation))


# The tables


def share(part: int, whole: int) -> str:
    """Return a share with its Wilson interval, ``19 of 20, 0.95 (0.76 to 0.99)``, or a dash."""
    if not whole:
        return "-"
    low, high = wilson(part, whole)
    return f"{part} of {whole}, {part / whole:.2f} ({low:.2f} to {high:.2f})"


def _agreement(judged: Sequence[Judged]) -> str:
    return share(sum(item.agrees for item in judged), len(judged))


def _harnesses_of(judged: Iterable[Judged]) -> list[str]:
    return list(dict.fromkeys(item.label.harness for item in judged))


def agreement_table(judged: Sequence[Judged]) -> str:
    """Return how often da-score is right and how often silent, by observation and harness."""
    harnesses = _harnesses_of(judged)
    present = {item.label.observation for item in judged}

    rows = []
    for name in [*(name for name in OBSERVATIONS if name in present), ALL]:
        of_name = [item for item in judged if name in (item.label.observation, ALL)]
        said = [item for item in of_name if not item.is_silent]
        by_harness = [
            _agreement([item for item in of_name if item.label.harness == harness])
            for harness in harnesses
        ]
        silent = str(len(of_name) - len(said))
        rows.append((name, _agreement(of_name), silent, _agreement(said), *by_harness))

    head = (
        "observation",
        "agree, of all labels",
        "not said",
        "agree, of those said",
        *harnesses,
    )
    return markdown(head, rows)


def _where(holds: Callable[[Any], bool]) -> Callable[[Any], Iterable[Hashable]]:
    """Return what turns a value into one finding where something holds, and else into none."""
    return lambda value: [True] if value is not None and holds(value) else []


FINDINGS: Mapping[str, tuple[str, Callable[[Any], Iterable[Hashable]]]] = {
    "sessions": ("sessions", lambda value: value or ()),
    "the last tests failed": ("last", _where(lambda value: value == "failed")),
    "landed": ("landed", _where(lambda value: value > 0)),
    "not landed": ("landed", _where(lambda value: value == 0)),
    "corrected in words": ("corrections_in_words", _where(lambda value: value > 0)),
}
"""What can be found and missed: the observation that shows it, and the findings in its value."""


def finding_table(judged: Sequence[Judged]) -> str:
    """Return the precision and recall of what can be missed, in all harnesses and in each."""
    rows = []
    for name, (observation, findings_in) in FINDINGS.items():
        of_name = [item for item in judged if item.label.observation == observation]
        for harness in [ALL, *_harnesses_of(of_name)]:
            said = 0
            true = 0
            right = 0
            for item in of_name:
                if harness not in (item.label.harness, ALL):
                    continue
                said_findings = set(findings_in(item.said))
                true_findings = set(findings_in(item.label.truth))
                said += len(said_findings)
                true += len(true_findings)
                right += len(said_findings & true_findings)
            if said or true:
                rows.append((name, harness, share(right, said), share(right, true)))
    return markdown(("finding", "harness", "precision", "recall"), rows)


def prompt_table(judged: Sequence[Judged]) -> str:
    """Return the precision and recall of what is found in the prompts of people."""
    rows = []
    for name, kind in PROMPT_FINDINGS.items():
        said = [item for item in judged if item.said == kind]
        true = [item for item in judged if item.label.truth == name]
        right = sum(item.agrees for item in said)
        rows.append((name, share(right, len(said)), share(right, len(true))))
    return markdown((f"{len(judged)} prompts", "precision", "recall"), rows)


def tables(judged: Sequence[Judged]) -> str:
    """Return all tables, below a line that says what they are of."""
    prompts = [item for item in judged if item.label.observation == PROMPT_LABEL]
    others = [item for item in judged if item.label.observation != PROMPT_LABEL]

    commits = sorted({(item.label.repository, item.label.commit) for item in others})
    counts = Counter(repository for repository, _ in commits)
    sources = [
        f"{counted(count, 'commit')} of {name.replace('+', '/')}"
        for name, count in counts.items()
    ]
    parts = [
        f"{len(others)} labels: {', '.join(sources)}. Intervals hold 95 % (Wilson).",
        agreement_table(others),
        finding_table(others),
    ]
    if prompts:
        parts.append(prompt_table(prompts))
    return "\n\n".join(parts)


def main(arguments: Sequence[str] | None = None) -> int:
    """Compare, and print the tables and each label that da-score does not agree with."""
    options = _parser().parse_args(arguments)
    files = options.labels
    if not files:
        files = [REAL / "labels.jsonl", *sorted(OWN.glob("*.jsonl"))]
        files = [file for file in files if file.exists()]
    sources = [
        path
        for path in sorted(options.repositories.iterdir())
        if path.suffix == ".bundle" or (path / ".git").is_dir()
    ]

    judged = list(judge(read_labels(files, options.half), sources))
    print(tables(judged))
    for item in judged:
        if not item.agrees:
            label = item.label
            said = json.dumps(item.said) if item.is_said else "not said"
            where = f"{label.commit}  {label.harness}  {label.observation}"
            print(f"{where}: truth {json.dumps(label.truth)}, said {said}")
    if options.out:
        put(options.out, "truth", tables(judged), DOCUMENT)
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks truth", description=__doc__
    )
    parser.add_argument(
        "--labels",
        type=Path,
        action="append",
        metavar="FILE",
        help="may be given several times",
    )
    parser.add_argument(
        "--repositories",
        type=Path,
        default=REAL,
        metavar="DIR",
        help="has bundles or clones",
    )
    parser.add_argument(
        "--half", choices="AB", help="only this half of the labels, by their commits"
    )
    parser.add_argument(
        "--out",
        type=Path,
        metavar="DIR",
        help=f"where the {DOCUMENT} is that gets the tables",
    )
    return parser
