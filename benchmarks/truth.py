"""``python -m benchmarks truth`` compares what da-score says with what readers found by hand.

A label is a line of JSON: ``repository``, ``commit``, ``harness``, ``observation`` and ``truth``,
which is "cannot say" where the reader could not; docs/VALIDITY.md, "Is what it observes true?", has
what they are and how they were made. The log of each repository is derived in a clone that is
removed in the end, with an entry for each labelled commit that gets none, and scored under 3.1.0.
Labels of prompts say ``where`` one is in place of a commit. Printed are tables, and each label with
which da-score does not agree; ``--out`` puts the tables into the page.
"""

import argparse
import hashlib
import json
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.measure import HERE
from benchmarks.tables import markdown, put
from rubric import released_rubric
from scoring import ScoredIteration, load_iteration_log, score_log
from scoring.evidence.attribution.attributed import attributed_scan
from scoring.evidence.attribution.work_trees import Neighbourhood
from scoring.evidence.git.facts import REVERTED
from scoring.evidence.git.repository import GitRepository
from scoring.evidence.rules import ATTRIBUTED, Sources
from scoring.evidence.transcripts.events import Prompt, PromptKind
from scoring.evidence.transcripts.facts import TranscriptPlaces
from scoring.jobs.derive import derive
from scoring.sidecars.provenance import provenance_as_dict
from scoring.statistics import wilson
from scoring.text import counted
from scoring.views.score_pages import scored_now_payload

RUBRIC = "3.1.0"
DOCUMENT = "VALIDITY.md"
CANNOT_SAY = "cannot say"
ALL = "all"
REAL = HERE.parents[1] / "shared" / "real"
OWN = HERE.parent / "testdata" / "labels"

_KEPT_REFS = ("pull", "merge-requests", "entire")
"""What a clone of a bundle leaves out, and what landed or was said may be in."""


PROMPT_LABEL = "prompt"
PROMPT_FINDINGS = {"correction": PromptKind.SAYS_WRONG, "report": PromptKind.REPORT}
"""What a reader may call a prompt that da-score looks for, and what that is in the rows of a transcript."""

OBSERVATIONS = (
    *("sessions", "runs", "failed", "last", "interrupts", "rejections", "corrections_in_words"),
    *("errors", "calls", "tokens", "landed", "reverted", "files"),
)


class Label(NamedTuple):
    """What a reader found; ``truth`` is None where there is nothing to say, as where no tests ran.

    Of a prompt ``commit`` is the place: ``ab/cdef012345/0/full.jsonl:12``, the number of the line
    from 1.
    """

    repository: str
    commit: str
    harness: str
    observation: str
    truth: Any

    @property
    def half(self) -> str:
        """The half of the labels that it is in, which all of a commit are in: A or B."""
        return "AB"[hashlib.sha256(self.commit.encode()).digest()[-1] % 2]


class Judged(NamedTuple):
    """A label, and what da-score says, where it says something."""

    label: Label
    is_said: bool
    said: Any

    @property
    def agrees(self) -> bool:
        """Whether the two are the same; where there is nothing to say, to say nothing is right."""
        truth = self.label.truth
        if self.label.observation == PROMPT_LABEL:
            return bool(self.said == PROMPT_FINDINGS.get(truth))
        if self.label.observation == "sessions":
            return set(truth) == set(self.said or ())
        return bool(self.said == truth and (self.is_said or truth is None))

    @property
    def is_silent(self) -> bool:
        """Whether da-score says nothing where there was something to say."""
        return not (self.is_said or self.agrees)


def read_labels(files: Iterable[Path], half: str | None = None) -> list[Label]:
    """Return the labels of some files, or one half of them, without those that cannot say.

    Labels of anything else than :data:`OBSERVATIONS` and prompts are left out, and counted on
    standard error.
    """
    rows = [
        json.loads(line)
        for file in files
        for line in file.read_text("utf-8").splitlines()
        if line.strip()
    ]
    known = [row for row in rows if row.get("observation") in (*OBSERVATIONS, PROMPT_LABEL)]
    if len(known) < len(rows):
        print(
            f"left out {counted(len(rows) - len(known), 'label')} of what is not compared here",
            file=sys.stderr,
        )
    known = [row if "commit" in row else row | {"commit": row["where"]} for row in known]
    found = [Label(*(row[name] for name in Label._fields)) for row in known]
    return [label for label in found if label.truth != CANNOT_SAY and half in (None, label.half)]


def said_of(one: ScoredIteration) -> dict[str, Any]:
    """Return what da-score says of an iteration, by observation.

    Observations that it does not make are left out.
    """
    assert one.provenance is not None
    payload: Any = scored_now_payload(one)
    kept: Any = provenance_as_dict(one.provenance, RUBRIC)
    landed = {
        row["signal"]: row["sub_score"] for row in payload["breakdown"] if row["present"]
    }.get("landed")
    found = (
        {}
        if landed is None
        else {"landed": landed, "reverted": kept["landed"]["method"] == REVERTED}
    )
    if one.record.files_changed:
        found["files"] = one.record.files_changed
    chain = payload.get("attribution") or {}
    if chain.get("method"):
        found["sessions"] = chain["sessions"]
    if (used := payload.get("spending") or {}).get("source"):
        found["tokens"] = used["tokens"]["total"]
    if chain.get("method") and not chain["checkpoint_tokens"]:
        corrections = kept["corrections"] | (payload.get("corrections") or {})
        found |= {name: kept["tests"][name] for name in ("runs", "failed", "last")}
        found |= {name: corrections[name] for name in ("interrupts", "rejections")}
        found |= (
            {"corrections_in_words": corrections["words"]}
            if corrections.get("words") is not None
            else {}
        )
        found |= {name: chain[name] for name in ("calls", "errors")}
    return found


def clone_of(source: Path, into: Path) -> GitRepository:
    """Clone a bundle or a repository, with what it has of pull requests and checkpoints."""
    subprocess.run(["git", "clone", "-q", source, into], check=True)
    refs = [f"+refs/{name}/*:refs/{name}/*" for name in _KEPT_REFS]
    refs += ["+refs/remotes/origin/*:refs/remotes/origin/*"] if source.is_dir() else []
    subprocess.run(["git", "-C", into, "fetch", "-q", source.resolve(), *refs], check=True)
    return GitRepository(into)


def said_in(
    repository: GitRepository, commits: Iterable[str], folder: Path
) -> dict[str, dict[str, Any]]:
    """Return what da-score says of some commits of a repository; the log is made in a folder."""
    log, where = folder / "log", repository.directory
    log.mkdir(parents=True)
    how: Any = {"transcripts": "none", "cache_dir": folder / "cache"}
    derive(log, Sources.under(ATTRIBUTED, where, (), how))
    records = load_iteration_log(log)
    last, named = (
        max((one.iteration for one in records), default=0),
        {one.commit for one in records},
    )
    for number, commit in enumerate(sorted(set(commits) - named), last + 1):
        entry = {"schema_version": 2, "iteration": number, "commit": commit}
        (log / f"iter-{number}.yaml").write_text(json.dumps(entry))
    scored = score_log(log, where, rubric=released_rubric(RUBRIC), **how)
    wanted = set(commits)
    return {
        one.record.commit: said_of(one) for one in scored.iterations if one.record.commit in wanted
    }


def prompts_in(repository: GitRepository) -> dict[str, int]:
    """Return what da-score says of the prompts in a repository's checkpoints, by their places."""
    with attributed_scan(TranscriptPlaces(Path(repository.directory))) as scan:
        sessions = scan.sessions(
            lambda trees, _: Neighbourhood(trees, (), frozenset, lambda _: False)
        )
        files = {file.transcript.blobs: file for session in sessions for file in session.files}
        held = [
            session
            for checkpoint in scan.checkpoints.values()
            for session in checkpoint.sessions
            if session.blobs
        ]
    return {
        f"{one.path.partition(':')[2]}:{prompt.line + 1}": prompt.kind
        for one in held
        if one.blobs in files
        for prompt in files[one.blobs].events.of(Prompt)
    }


def judge(labels: Sequence[Label], sources: Iterable[Path]) -> Iterator[Judged]:
    """Yield each label with what da-score says.

    The repository of a label is the first source that has a commit of its labels.
    """
    left: dict[str, list[Label]] = {}
    for label in labels:
        left.setdefault(label.repository, []).append(label)
    for source in sources:
        with tempfile.TemporaryDirectory(prefix="benchmarks-") as name:
            repository = clone_of(source, Path(name) / "repo")
            for of, group in list(left.items()):
                prompts = [label for label in group if label.observation == PROMPT_LABEL]
                commits = {label.commit for label in group} - {label.commit for label in prompts}
                if any(repository.resolve(sorted(commits)).values()):
                    del left[of]
                    said = said_in(repository, commits, Path(name) / str(len(left)))
                    known = prompts_in(repository) if prompts else {}
                    for one in group:
                        has = said.get(one.commit, {})
                        if one.observation == PROMPT_LABEL:
                            has = {PROMPT_LABEL: known.get(one.commit)}
                        yield Judged(one, one.observation in has, has.get(one.observation))
    for of, missing in left.items():
        print(
            f"left out {counted(len(missing), 'label')} of {of}: "
            "no repository here has its commits",
            file=sys.stderr,
        )


def share(part: int, whole: int) -> str:
    """Return a share with its Wilson interval, ``19 of 20, 0.95 (0.76 to 0.99)``, or a dash."""
    low, high = wilson(part, whole)
    return f"{part} of {whole}, {part / whole:.2f} ({low:.2f} to {high:.2f})" if whole else "-"


def _agreement(judged: Sequence[Judged]) -> str:
    return share(sum(one.agrees for one in judged), len(judged))


def agreement_table(judged: Sequence[Judged]) -> str:
    """Return how often da-score is right and how often silent, by observation and harness."""
    harnesses = list(dict.fromkeys(one.label.harness for one in judged))
    rows = []
    for name in [
        *(name for name in OBSERVATIONS if any(one.label.observation == name for one in judged)),
        ALL,
    ]:
        of = [one for one in judged if name in (one.label.observation, ALL)]
        each = [
            _agreement([one for one in of if one.label.harness == harness]) for harness in harnesses
        ]
        said = [one for one in of if not one.is_silent]
        rows.append((name, _agreement(of), str(len(of) - len(said)), _agreement(said), *each))
    return markdown(
        ("observation", "agree, of all labels", "not said", "agree, of those said", *harnesses),
        rows,
    )


def _found(is_found: Callable[[Any], bool]) -> Callable[[Any], Iterable[Hashable]]:
    return lambda value: [True] if value is not None and is_found(value) else []


FINDINGS: Mapping[str, tuple[str, Callable[[Any], Iterable[Hashable]]]] = {
    "sessions": ("sessions", lambda value: value or ()),
    "the last tests failed": ("last", _found(lambda value: value == "failed")),
    "landed": ("landed", _found(lambda value: value > 0)),
    "not landed": ("landed", _found(lambda value: value == 0)),
    "corrected in words": ("corrections_in_words", _found(lambda value: value > 0)),
}
"""What can be found and missed: by which observation, and what a value of it has."""


def finding_table(judged: Sequence[Judged]) -> str:
    """Return the precision and recall of what can be missed, in all harnesses and in each."""
    rows = []
    for name, (observation, things) in FINDINGS.items():
        of = [one for one in judged if one.label.observation == observation]
        for harness in [ALL, *dict.fromkeys(one.label.harness for one in of)]:
            pairs = [(set(things(one.said)), set(things(one.label.truth))) for one in of
                     if harness in (one.label.harness, ALL)]  # fmt: skip
            said, true = (
                (sum(map(len, part)) for part in zip(*pairs, strict=True)) if pairs else (0, 0)
            )
            right = sum(len(found & there) for found, there in pairs)
            if said or true:
                rows.append((name, harness, share(right, said), share(right, true)))
    return markdown(("finding", "harness", "precision", "recall"), rows)


def prompt_table(judged: Sequence[Judged]) -> str:
    """Return the precision and the recall of what is found in the prompts of persons."""
    rows = []
    for name, kind in PROMPT_FINDINGS.items():
        said, true = (
            [one for one in judged if one.said == kind],
            [one for one in judged if one.label.truth == name],
        )
        right = sum(one.agrees for one in said)
        rows.append((name, share(right, len(said)), share(right, len(true))))
    return markdown((f"{len(judged)} prompts", "precision", "recall"), rows)


def tables(judged: Sequence[Judged]) -> str:
    """Return all tables, below a line that says of what they are."""
    prompts = [one for one in judged if one.label.observation == PROMPT_LABEL]
    judged = [one for one in judged if one.label.observation != PROMPT_LABEL]
    counts = Counter(name for name, _ in sorted({one.label[:2] for one in judged}))
    what = ", ".join(
        f"{counted(count, 'commit')} of {name.replace('+', '/')}" for name, count in counts.items()
    )
    head = f"{len(judged)} labels: {what}. Intervals hold 95 % (Wilson)."
    parts = [head, agreement_table(judged), finding_table(judged)] + (
        [prompt_table(prompts)] if prompts else []
    )
    return "\n\n".join(parts)


def main(arguments: Sequence[str] | None = None) -> int:
    """Compare, and print the tables and each label that da-score does not agree with."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks truth", description=__doc__)
    parser.add_argument(
        "--labels", type=Path, action="append", metavar="FILE", help="may be given several times"
    )
    parser.add_argument(
        "--repositories", type=Path, default=REAL, metavar="DIR", help="has bundles or clones"
    )
    parser.add_argument(
        "--half", choices="AB", help="only this half of the labels, by their commits"
    )
    parser.add_argument(
        "--out", type=Path, metavar="DIR", help=f"where the {DOCUMENT} is that gets the tables"
    )
    given = parser.parse_args(arguments)
    known = [
        file for file in (REAL / "labels.jsonl", *sorted(OWN.glob("*.jsonl"))) if file.exists()
    ]
    sources = sorted(
        path
        for path in given.repositories.iterdir()
        if path.suffix == ".bundle" or (path / ".git").is_dir()
    )
    judged = list(judge(read_labels(given.labels or known, given.half), sources))
    print(tables(judged))
    for label, is_said, said in (one for one in judged if not one.agrees):
        values = json.dumps(label.truth), json.dumps(said) if is_said else "not said"
        print(
            "{}  {}  {}: truth {}, said {}".format(
                label.commit, label.harness, label.observation, *values
            )
        )
    if given.out:
        put(given.out, "truth", tables(judged), DOCUMENT)
    return 0
