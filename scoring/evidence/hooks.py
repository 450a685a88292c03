"""Hook outcomes: what the gates of an iteration did, from ``iter-N.hook-outcomes.yaml`` beside the entries."""

from dataclasses import dataclass
from pathlib import Path

from scoring.errors import InputError, YamlError
from scoring.files import read_file
from scoring.yamlread import Reader, Take, items_of, parse

SCORED_CLASSES = ("prevent_before_action", "remediate_at_stop")
"""The intervention classes that are scored; the others are only observed."""


@dataclass(frozen=True, slots=True)
class HookOutcome:
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


@dataclass(frozen=True, slots=True)
class HookFacts:
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


def hook_facts(log_dir: Path | str, iteration: int) -> HookFacts:
    """Read the records of an iteration whose class is scored. Never raises."""
    path = Path(log_dir) / hook_file_name(iteration)
    try:
        node = parse(read_file(path))
        records = [] if node is None else Reader().struct(node, _FILE).get("records", [])
    except FileNotFoundError:
        return HookFacts(path, None)
    except InputError as e:
        return HookFacts(path, None, "parse" if isinstance(e, YamlError) else "read", str(e))
    return HookFacts(path, tuple(record for record in records if record.intervention_class in SCORED_CLASSES))
