"""The files beside an entry: hook outcomes, ``iter-N.hook-outcomes.yaml``, and a DR transcript, ``iter-N.dr.json``.

The meter of DR transcripts (:mod:`scoring.meters.dr`) is loaded when there is one to read, and not before. Labels,
``iter-N.labels.yaml``, have a module of their own (:mod:`scoring.evidence.labels`), which most rubrics do without.
"""

import os
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from scoring.errors import InputError, TranscriptError, YamlError
from scoring.files import read_file
from scoring.frozen import Frozen
from scoring.yamlread import Reader, Take, items_of, parse

if TYPE_CHECKING:  # heavy; a log without a DR transcript needs no meter
    from scoring.meters.dr import DRResult

SCORED_CLASSES = ("prevent_before_action", "remediate_at_stop")
"""The intervention classes that are scored; the others are only observed."""


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
    """The scored records of an iteration in file order, and the file; ``records`` is None when there is no file.

    Where the file cannot be used, ``failed`` says what failed (``parse`` or ``read``) and ``problem`` why.
    """

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
    found: list[HookOutcome] = [] if node is None else Reader().struct(node, _FILE).get("records", [])
    return found


def hook_facts(log_dir: Path | str, iteration: int) -> HookFacts:
    """Read the scored records of an iteration. Never raises."""
    path = Path(log_dir) / hook_file_name(iteration)
    try:
        records = hook_records(read_file(path))
    except FileNotFoundError:
        return HookFacts(path, None)
    except InputError as e:
        return HookFacts(path, None, "parse" if isinstance(e, YamlError) else "read", str(e))
    return HookFacts(path, tuple(record for record in records if record.intervention_class in SCORED_CLASSES))


def label_file_name(iteration: int) -> str:
    """Return what the labels of an iteration are called, beside its entry."""
    return f"iter-{iteration}.labels.yaml"


PROFILE = "dr-1"
"""What the meter goes by unless a rubric names another profile, whatever the settings say: scores must compare."""


class DeliberationFacts(NamedTuple):
    """A DR transcript and what the meter measured: ``result`` is None where it cannot be read, ``problem`` why."""

    path: Path
    result: "DRResult | None"
    problem: str = ""


def deliberation_names(iteration: int) -> list[str]:
    """Return what the DR transcript of an iteration may be called, beside its entry, the one that counts first."""
    return [f"iter-{iteration}.dr.json", f"iter-{iteration}.dr.jsonl"]


def deliberation_file(log_dir: Path | str, iteration: int) -> Path | None:
    """Return where the DR transcript of an iteration is; None when there is none."""
    paths = (Path(log_dir) / name for name in deliberation_names(iteration))
    return next((path for path in paths if os.path.exists(path)), None)


def deliberation_facts(log_dir: Path | str, iteration: int, profile: str = PROFILE) -> DeliberationFacts | None:
    """Read and measure an iteration's DR transcript under a released profile; None when there is none. Never raises."""
    path = deliberation_file(log_dir, iteration)
    if path is None:
        return None
    from rubric import released_profile
    from scoring.meters.dr import Profile, read_transcript, score_transcript

    try:
        measured = score_transcript(
            read_transcript(path), profile=Profile.from_data(released_profile(profile), profile)
        )
        return DeliberationFacts(path, measured)
    except TranscriptError as e:
        return DeliberationFacts(path, None, str(e).replace(str(path), path.name))
