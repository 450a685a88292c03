"""What transcripts are asked about the iterations of a log: by what the lines of each may be known."""

import re
from collections.abc import Collection, Mapping, Sequence

from scoring.evidence.attribution.attributed import (
    AttributedFacts,
    AttributedScan,
    Question,
    Verification,
)
from scoring.evidence.attribution.makers import in_order, place_of
from scoring.evidence.attribution.session_trees import NO_ITERATION, Asked
from scoring.evidence.attribution.work_trees import Neighbourhood, WorkTrees
from scoring.evidence.beside import artifact_place
from scoring.evidence.git.authorship import AttributedHistory
from scoring.evidence.git.facts import GitFacts, Landing
from scoring.evidence.rules import Sources
from scoring.evidence.scopes import is_document
from scoring.evidence.transcripts.events import key_of
from scoring.evidence.transcripts.facts import NS, IterationWindow, clamp_ns, timestamp_ns
from scoring.evidence.transcripts.scan import Scan
from scoring.log.model import IterationRecord
from scoring.text import trim

_HEX = re.compile(r"[0-9a-fA-F]{7,64}")


def ask_transcripts(
    scan: Scan | None,
    git: GitFacts,
    records: Sequence[IterationRecord],
    windows: Mapping[int, IterationWindow],
    sources: Sources,
    only: Collection[int] = (),
) -> dict[int, AttributedFacts]:
    """Return what transcripts show of every iteration, as each bounds others; ``only`` some ask for shares."""
    assert isinstance(scan, AttributedScan)
    assert isinstance(git, AttributedHistory)
    landings = {record.iteration: git.landing(record) for record in records}
    anew = git.rewritten(landing.sha for landing in landings.values() if landing.sha)
    alike = (
        1 if sources.trusted else None
    )  # what a commit is like, and when it was made, is up to its author
    names = {number: _commits(landing, anew)[:alike] for number, landing in landings.items()}
    shas = [sha for found in names.values() for sha in found]
    written = git.written(shas)
    files = git.files(written.values())
    questions = []
    for record in records:
        number = record.iteration
        known = [written[sha] for sha in names[number] if sha in written]
        subjects = {trim(commit.subject) for commit in known} | {trim(record.impl.summary)}
        times = [commit.time for commit in known if commit.time is not None]
        named = next((commit.checkpoints for commit in known if commit.checkpoints), ())
        changed = frozenset().union(*(files.get(commit.sha, ()) for commit in known))
        authored = clamp_ns(times[0] * NS) if times else None
        if record.known_from and not known:  # git does not have it
            authored = timestamp_ns(record.checkpoint_at)
            if checkpoint := scan.checkpoints.get(record.checkpoint):
                named, changed = (checkpoint.id,), frozenset(checkpoint.files_touched)
        own = landings[number].sha or landings[number].commit
        field = trim(record.commit).lower()
        stated = field if _HEX.fullmatch(field) else ""  # and not a branch or an expression
        asked = Asked(
            number,
            tuple(dict.fromkeys(filter(None, (stated, own)))),
            tuple(names[number]),
            tuple(sorted(key_of(subject) for subject in subjects if subject)),
            authored,
            windows[number].end if number in windows else None,
            changed,
            record.agent.session_id,
            named,
            windows.get(number),
        )
        if sources.trusted:
            asked = asked._replace(subjects=(), window=None)
        named_artifacts = ((v.type, v.result_artifact) for v in record.verifiers)
        verifiers = (
            Verification(k, trim(path), artifact_place(sources.repo_dir, path))
            for k, path in named_artifacts
        )
        documents = bool(of_it := files.get(own or "", ())) and all(map(is_document, of_it))
        questions.append(
            Question(asked, tuple(verifiers), (number in only and own) or "", documents)
        )
    entries = in_order(question.asked.commits + question.asked.landed for question in questions)

    resolved: dict[str, str] = {}

    def neighbourhood(work_trees: WorkTrees, made: Collection[str]) -> Neighbourhood:
        resolved.update(git.resolved(made))

        def is_its_commit(sha: str) -> bool:
            return sha in resolved or place_of(entries, sha) != NO_ITERATION

        return Neighbourhood(work_trees, sources.worktrees, git.remotes, is_its_commit)

    def landed_as(names: Collection[str]) -> Mapping[str, Sequence[str]]:
        return git.landed_as(
            {name: resolved[name] for name in names if name in resolved},
            rewritten=not sources.trusted,
        )

    answers = scan.answers(questions, neighbourhood, landed_as, git.lines_added)
    return {
        question.asked.iteration: answer
        for question, answer in zip(questions, answers, strict=True)
    }


def _commits(landing: Landing, anew: Mapping[str, str]) -> list[str]:
    """Return the commit of an iteration and what it became: on the trunk, or on a branch, where that is known."""
    return list(
        dict.fromkeys(filter(None, (landing.sha, landing.commit, anew.get(landing.sha or ""))))
    )
