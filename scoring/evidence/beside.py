"""The files beside an entry, and the verification artifacts that it names by path, small YAML files.

Paths come from a log and are not trusted: they must stay inside the repository. An artifact that is missing, unreadable
or malformed is as if it had not been named. Labels are in :mod:`scoring.evidence.labels`.
"""

import os
import posixpath
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from scoring.errors import InputError, TranscriptError, Warn, YamlError
from scoring.files import is_inside, read_file
from scoring.frozen import Frozen
from scoring.log.model import IterationRecord
from scoring.text import trim, wrap64
from scoring.yamlread import Reader, Take, items_of, parse, read_fields

if TYPE_CHECKING:  # heavy; a log without a DR transcript needs no meter
    from scoring.meters.dr import DRResult

SCORED_CLASSES = ("prevent_before_action", "remediate_at_stop")  # the other ones are only observed


class HookOutcome(Frozen, frozen=True):
    """One record of a hook gate."""

    sentinel_id: str = ""
    skill: str = ""
    lifecycle_point: str = ""
    intervention_class: str = ""
    result: str = ""
    rule_id: str = ""
    platform: str = ""
    ts: str = ""
    correlation_id: str = ""


class HookFacts(NamedTuple):
    """The scored records of an iteration in file order, None without a file; what ``failed``, and the ``problem``."""

    path: Path
    records: tuple[HookOutcome, ...] | None
    failed: str = ""
    problem: str = ""


_FIELDS: dict[str, Take] = dict.fromkeys(HookOutcome.__annotations__, Reader.string)
_FILE = {"records": items_of(lambda reader, node: HookOutcome(**reader.struct(node, _FIELDS)))}


def hook_file_name(iteration: int) -> str:
    """Return what the hook outcomes of an iteration are called, beside its entry."""
    return f"iter-{iteration}.hook-outcomes.yaml"


def hook_records(data: bytes) -> list[HookOutcome]:
    """Return all records in a file of hook outcomes; YamlError when it is none."""
    node = parse(data)
    found: list[HookOutcome] = (
        [] if node is None else Reader().struct(node, _FILE).get("records", [])
    )
    return found


def hook_facts(log_dir: Path | str, iteration: int) -> HookFacts:
    """Read the scored records of an iteration. Never raises."""
    path = Path(log_dir) / hook_file_name(iteration)
    try:
        records = hook_records(read_file(path, within=log_dir))
    except FileNotFoundError:
        return HookFacts(path, None)
    except InputError as e:
        return HookFacts(path, None, "parse" if isinstance(e, YamlError) else "read", str(e))
    return HookFacts(
        path, tuple(record for record in records if record.intervention_class in SCORED_CLASSES)
    )


def label_file_name(iteration: int) -> str:
    """Return what the labels of an iteration are called, beside its entry."""
    return f"iter-{iteration}.labels.yaml"


PROFILE = "dr-1"  # unless a rubric names another, whatever the settings say: scores must compare


class DeliberationFacts(NamedTuple):
    """A DR transcript and what the meter measured: ``result`` is None where it cannot be read, ``problem`` why."""

    path: Path
    result: "DRResult | None"
    problem: str = ""
    profile: str = PROFILE  # the released profile that the meter went by


def deliberation_names(iteration: int) -> list[str]:
    """Return what the DR transcript of an iteration may be called, beside its entry, the one that counts first."""
    return [f"iter-{iteration}.dr.json", f"iter-{iteration}.dr.jsonl"]


def deliberation_file(log_dir: Path | str, iteration: int) -> Path | None:
    """Return where the DR transcript of an iteration is; None when there is none."""
    paths = (os.path.join(log_dir, name) for name in deliberation_names(iteration))
    return next((Path(path) for path in paths if os.path.exists(path)), None)


def deliberation_facts(
    log_dir: Path | str, iteration: int, profile: str = PROFILE
) -> DeliberationFacts | None:
    """Read and measure an iteration's DR transcript under a released profile; None when there is none. Never raises."""
    path = deliberation_file(log_dir, iteration)
    if path is None:
        return None
    if os.path.islink(path) and not is_inside(path, log_dir):
        return DeliberationFacts(path, None, f"{path.name}: is a link to a file elsewhere")
    from rubric import released_profile
    from scoring.meters.dr import Profile, read_transcript, score_transcript

    try:
        released = Profile.from_data(released_profile(profile), profile)
        transcript = read_transcript(path, texts=released.sentences)
        return DeliberationFacts(path, score_transcript(transcript, profile=released), "", profile)
    except TranscriptError as e:
        return DeliberationFacts(path, None, str(e).replace(str(path), path.name), profile)


def artifact_status(repo_root: Path | str, path: str) -> str:
    """Return the ``status`` of a verifier's result artifact, "" when there is none."""
    return str(
        (read_fields(artifact_path(repo_root, path), {"status": Reader.string}) or {}).get(
            "status", ""
        )
    )


def artifact_place(repo_root: Path | str, path: str) -> str:
    """Return where an artifact lies in the repository, relative to it and without symlinks; "" where there is none."""
    if not trim(path):
        return ""
    found = artifact_path(repo_root, path)
    return os.path.relpath(found, os.path.realpath(repo_root)) if found and found.is_file() else ""


class Corrections(NamedTuple):
    """Retries and corrections, 64-bit integers, below 0 where the log says so, and whether any was ``reported``."""

    retries: int
    corrections: int
    reported: bool


def reference_corrections(
    record: IterationRecord,
    repo_root: Path | str,
    warn: Warn,  # noqa: ARG001
) -> Corrections:
    """Count what is there, as the reference does: an entry that reports nothing reports that there was nothing."""
    retries = wrap64(record.impl.retries + sum(v.retries for v in record.verifiers))
    counts = _counts(repo_root, record.review.decision_artifact) or {}
    return Corrections(retries, sum(counts.values()), True)


def reported_corrections(record: IterationRecord, repo_root: Path | str, warn: Warn) -> Corrections:
    """Count what is reported; a count below 0 is read as 0, with a warning."""
    found = _counts(repo_root, record.review.decision_artifact)
    counts = {"retries": record.impl.retries}
    counts |= {f"retries of verifier {n}": v.retries for n, v in enumerate(record.verifiers, 1)}
    counts |= found or {}
    for name, count in counts.items():
        if count < 0:
            warn(f"iteration {record.iteration}: {name} is {count}; a count below 0 is read as 0")
    corrections = sum(max(count, 0) for count in (found or {}).values())
    retries = sum(max(count, 0) for count in counts.values()) - corrections
    return Corrections(
        wrap64(retries), wrap64(corrections), record.retries_reported or found is not None
    )


def _counts(repo_root: Path | str, path: str) -> dict[str, int] | None:
    """Return the counts in a review's decision artifact, by the names of their fields; None when it is unusable."""
    fields = {"user_corrections": items_of(Reader.string), "retries_in_loop": Reader.integer}
    after = {"post_invocation": lambda reader, node: reader.struct(node, fields)}
    given = read_fields(artifact_path(repo_root, path), after)
    if given is None:
        return None
    found = given.get("post_invocation", {})
    corrections, retries = found.get("user_corrections", ()), found.get("retries_in_loop", 0)
    return {"user_corrections": len(corrections), "retries_in_loop": int(retries)}


def artifact_path(repo_root: Path | str, path: str) -> Path | None:
    """Return where an artifact is, or None when its path is no relative path inside a repository."""
    path, root = trim(path), os.fspath(repo_root)
    if not root or not path or path.startswith("/") or "\0" in path:
        return None
    cleaned = posixpath.normpath(path)
    if cleaned == ".." or cleaned.startswith("../"):
        return None
    try:
        real_root = os.path.realpath(root)
        real = os.path.realpath(f"{real_root}/{cleaned}")
    except (OSError, ValueError):
        return None
    return Path(real) if real.startswith(real_root.rstrip("/") + "/") else None
