"""What an examination means for the user, and what to do about each thing. Pure."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Literal

from rubric import EVIDENCE_ATTRIBUTED, newest_version
from rubric.model import STRICT
from scoring.evidence.attribution.attribution import NO_TRANSCRIPT, NO_WINDOW, NOT_COVERED, OVERLAP
from scoring.evidence.git.checkpoint_files import REFS
from scoring.evidence.git.facts import MERGE_GIT
from scoring.log.find import commands_that_make_a_log
from scoring.signals.table import is_chosen
from scoring.text import counted, some_spans
from scoring.views.doctor import Examination

Level = Literal[
    "problem", "note"
]  # A problem costs evidence or stops a run; a note is good to know

_MOST_REASONS = 3  # that one finding gives
BEST = newest_version(EVIDENCE_ATTRIBUTED)  # the rubric that da-score init chooses


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was found, and what to do about it."""

    topic: str
    level: Level
    what: str
    advice: str
    change: str = ""  # what following the advice would change; "" where that is nothing
    gain: float = (
        0.0  # how much evidence it would bring, in iterations with all of the rubric's weight
    )


def most_useful_first(found: Iterable[Finding]) -> list[Finding]:
    """Return problems, causes before the signals that lack them, then what changes most, then what needs nothing."""
    known = (
        one if one.change else replace(one, change=_CHANGES.get(one.topic, "")) for one in found
    )

    def rank(one: Finding) -> tuple[bool, bool, bool, float]:
        is_problem = one.level == "problem"
        return (
            not is_problem,
            one.advice.startswith("nothing"),
            is_problem and one.topic == "signals",
            -one.gain,
        )

    return sorted(known, key=rank)


_CHANGES = {
    "log": "what cannot be read now gets a score",
    "repository": "what landed can be known, and how",
    "trunk": "what landed can be known",
    "entries": "whether these iterations landed can be known, and which lines are theirs",
    "transcripts": "tests, corrections and tokens can be known",
    "attribution": "tests, corrections and tokens can be known",
    "hook": "a task is scored when the agent stops",
    "settings": "the settings are used",
    "rubric": "evidence is read where it is, and each response once",
}


def findings(seen: Examination) -> list[Finding]:
    """Return everything worth saying of an examination, by topic."""
    rules = (
        _repository,
        _trunk,
        _log,
        _entries,
        _transcripts,
        _attribution,
        _lines,
        _signals,
        _rules,
        _warnings,
    )
    return [finding for rule in rules for finding in rule(seen)]


def _log(seen: Examination) -> Iterator[Finding]:
    log = seen.log
    if log.problem:
        what = f"there is no iteration log to read: {log.problem.partition(';')[0]}"
        advice = (
            f"make one with {commands_that_make_a_log(log.path)}, or name yours with --iter-log-dir"
        )
        yield Finding("log", "problem", what, advice)
    elif not log.iterations and not log.broken:
        advice = "da-score derive writes one for each commit of an agent, entry new one by hand; work needs none"
        yield Finding("log", "problem", f"{log.path} holds no entry", advice)
    strict = seen.rubric.loading == STRICT
    stops = (
        "a run stops at it" if strict else "it is left out of every run, which then exits with 1"
    )
    for text in log.broken:
        advice = f"fix the entry, or move it out of the log: {stops}"
        yield Finding("log", "problem", f"an entry cannot be read: {text}", advice)


def _repository(seen: Examination) -> Iterator[Finding]:
    repository = seen.repository
    if repository.problem:
        advice = "run da-score inside the repository, or name it with --repo-dir: without it nothing can be scored"
        yield Finding(
            "repository", "problem", f"the repository cannot be read: {repository.problem}", advice
        )
    if (
        repository.git_version
        and repository.git_version < MERGE_GIT
        and seen.sources.rules.as_observed
    ):
        what = f"git is {'.'.join(map(str, repository.git_version))}, which cannot merge without a work tree"
        yield Finding(
            "repository",
            "note",
            what,
            "with git 2.38 or newer more work is found that landed by squash",
        )


def _trunk(seen: Examination) -> Iterator[Finding]:
    repository, trunk = seen.repository, seen.repository.trunk
    if repository.trunk_problem:
        advice = "name a branch that is there, or fetch it; a run stops here"
        yield Finding("trunk", "problem", repository.trunk_problem, advice)
    if trunk is None:
        return
    if trunk.commit is None and not seen.sources.rules.as_observed:
        what = "there is no local branch master, the only trunk that this rubric knows: nothing counts as landed"
        yield Finding(
            "trunk",
            "problem",
            what,
            f"score under rubric {BEST}, which finds the trunk that is there",
        )
    elif trunk.commit is None:
        what = f"no trunk was found: {trunk.how}"
        yield Finding("trunk", "problem", what, "name it with --trunk, or in the settings")
    if trunk.shallow:
        what = "this is a shallow clone: what landed before its history begins cannot be known"
        yield Finding(
            "trunk", "problem", what, "fetch the whole history with git fetch --unshallow"
        )


def _entries(seen: Examination) -> Iterator[Finding]:
    repository = seen.repository
    if repository.unresolved:
        numbers = some_spans(repository.unresolved)
        advice = "fetch the branches that held them (git fetch --all); where they were rewritten, name the new commits"
        yield Finding(
            "entries", "problem", f"the commits of these iterations are not here: {numbers}", advice
        )
    if repository.without_commit:
        what = f"these iterations name no commit: {some_spans(repository.without_commit)}"
        yield Finding(
            "entries",
            "problem",
            what,
            "write the SHA into the entry's commit when the iteration ends",
        )


def _transcripts(seen: Examination) -> Iterator[Finding]:
    found, places = seen.transcripts, seen.sources.places
    for root in found.roots:
        if root.problem and (
            root.origin == "--transcript-dir" or root.problem != "no such directory"
        ):
            level: Level = "note" if root.harness else "problem"
            of_harness = (
                "make the folder readable"
                if root.files
                else "nothing, if that harness was not used"
            )
            advice = of_harness if root.harness else "name the folder that holds them"
            yield Finding("transcripts", level, f"{root.path}: {root.problem}", advice)
    read = [file for file in found.files if not file.left_out]
    if not found.roots:
        how = f"name folders with --transcript-dir, or score under rubric {BEST}, which looks there by itself"
        if seen.sources.rules.as_observed:
            how = "set transcripts to auto, or name folders with --transcript-dir"
        yield Finding("transcripts", "problem", "no transcripts are read", how)
    elif not read:
        how = "work with an agent here first, or name the folders of its transcripts with --transcript-dir"
        if places.auto and found.files:
            how = f"those that were found are of other folders; if this repository moved, {how.partition(', or ')[2]}"
            if seen.attribution is not None:
                how += ", or where its work trees were with the setting worktrees"
        yield Finding(
            "transcripts", "problem", "no transcript of work in this repository was found", how
        )
    if seen.uncovered and seen.attribution is None:
        what = f"no transcript covers these iterations: {some_spans(seen.uncovered)}"
        yield Finding("transcripts", "note", what, _IN_TIME)


def _attribution(seen: Examination) -> Iterator[Finding]:
    if seen.attribution is None:
        return
    survey = seen.transcripts
    if missing := survey.checkpoints.missing:
        count = counted(
            len(missing), "transcript of a checkpoint is", "transcripts of checkpoints are"
        )
        what = f"{count} not in this clone, as {missing[0]}"
        advice = "fetch them: git fetch --refetch --no-filter brings what a partial clone left out"
        yield Finding("attribution", "problem", what, advice)
    if names := survey.checkpoints.not_fetched:
        count = counted(
            len(names), "checkpoint that a commit names is", "checkpoints that commits name are"
        )
        advice = f"fetch them: git fetch origin '{REFS}*:{REFS}*'; a plain clone leaves them out"
        yield Finding("attribution", "problem", f"{count} not in this clone, as {names[0]}", advice)
    for why, numbers in seen.attribution.without.items():
        what = f"no session was found for these iterations: {some_spans(numbers)} ({why})"
        advice = _FOUND_AGAIN.get(why, _OVERLAP if why.endswith(OVERLAP) else _NOTHING_TO_DO)
        yield Finding("attribution", "note", what, advice, gain=len(numbers) / 2)
    if unclaimed := survey.unclaimed:
        count = counted(
            len(unclaimed), "session worked here and belongs", "sessions worked here and belong"
        )
        what = f"{count} to no iteration, as {unclaimed[0].session}"
        advice = "nothing, if they committed nothing; else name their commits in entries, or the session in agent"
        yield Finding("attribution", "note", f"{what} in {unclaimed[0].path}", advice)


_NOTHING_TO_DO = "nothing: what is here does not say more"
_IN_TIME = (
    "harnesses delete transcripts after some weeks: da-score hook install has them scored in time"
)
_OVERLAP = "name the session in the entry (agent.session_id), or the commit that it made: time alone cannot tell"
_FOUND_AGAIN = {
    NO_TRANSCRIPT: "fetch the branch of the checkpoints, if another clone has more of it; some are kept without one",
    NO_WINDOW: "fetch the branches that held their commits (git fetch --all)",
    NOT_COVERED: f"{_IN_TIME}; where work trees are gone, name their folders with the setting worktrees",
}

_LINES = {
    "half-written last line": "nothing: it is being written, and read the next time",
    "over 16 MiB": "nothing: lines of this size hold pictures or whole files, and hardly ever tokens",
}


def _lines(seen: Examination) -> Iterator[Finding]:
    for reason, count in seen.transcripts.lines_skipped.items():
        advice = _LINES.get(
            reason, "nothing, if there are few; many point to a newer form of the harness's files"
        )
        yield Finding(
            "transcripts",
            "note",
            f"{counted(count, 'line was', 'lines were')} skipped: {reason}",
            advice,
        )


def _signals(seen: Examination) -> Iterator[Finding]:
    for signal in seen.signals:
        if signal.present < signal.total:
            why = sorted(signal.absent.items(), key=lambda one: -one[1])
            reasons = ", ".join(f"{reason} ({count})" for reason, count in why[:_MOST_REASONS])
            reasons += (
                f" and {counted(len(why) - _MOST_REASONS, 'more reason')}"
                if len(why) > _MOST_REASONS
                else ""
            )
            absent = f"{signal.total - signal.present} of {counted(signal.total, 'iteration')}"
            what = f"{signal.signal} is absent in {absent}: {reasons}"
            level: Level = "note" if signal.present or is_chosen(signal.signal) else "problem"
            spec, total = (
                seen.rubric.signal(signal.signal),
                sum(one.weight for one in seen.rubric.signals),
            )
            share, missing = (spec.weight / total if spec else 0.0), signal.total - signal.present
            change = f"{share * 100:.0f} % more of the weight would vote in {counted(missing, 'iteration')} at most"
            yield Finding(
                "signals",
                level,
                what,
                signal.advice or "see the rubric's document",
                change,
                share * missing,
            )


def _rules(seen: Examination) -> Iterator[Finding]:
    if not seen.sources.rules.as_observed:
        how = "folders named by hand without sub-folders, repeated responses counted again, a trunk called master"
        what = f"rubric {seen.rubric.version} reads evidence as the reference does: {how}"
        advice = f"da-score doctor --rubric {BEST} shows what is found under the rules of the newest rubric"
        yield Finding("rubric", "note", what, advice)


def _warnings(seen: Examination) -> Iterator[Finding]:
    known = tuple(f"transcript directory {root.path}: " for root in seen.transcripts.roots)
    for text in seen.warnings:
        if not text.startswith(known):
            yield Finding("reading", "note", text, "see what it names")
