"""The door to hook outcomes: ``iter-N.hook-outcomes.yaml`` beside the entries (contract sections 1.3 and 2.6)."""

from dataclasses import dataclass
from pathlib import Path

from scoring.errors import InputError, YamlError
from scoring.files import read_file
from scoring.yamlread import Reader, Take, items_of, parse

SCORED_CLASSES = ("prevent_before_action", "remediate_at_stop")
"""The intervention classes that count; the others are only observed."""


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


class HookFileError(InputError):
    """A hook file that is there but cannot be used; ``verb`` is what failed: parse or read."""

    def __init__(self, verb: str, reason: str) -> None:
        super().__init__(reason)
        self.verb = verb


_FIELDS: dict[str, Take] = dict.fromkeys(HookOutcome.__annotations__, Reader.string)
_FILE = {"records": items_of(lambda reader, node: HookOutcome(**reader.struct(node, _FIELDS)))}


def hook_file(log_dir: Path | str, iteration: int) -> Path:
    """Return where the hook outcomes of an iteration lie."""
    return Path(log_dir) / f"iter-{iteration}.hook-outcomes.yaml"


def scored_hook_outcomes(log_dir: Path | str, iteration: int) -> list[HookOutcome] | None:
    """Return the records of an iteration whose class counts, in file order; None when there is no file.

    Raises:
        HookFileError: the file cannot be read or parsed.
    """
    try:
        node = parse(read_file(hook_file(log_dir, iteration)))
        records = [] if node is None else Reader().struct(node, _FILE).get("records", [])
    except FileNotFoundError:
        return None
    except YamlError as e:
        raise HookFileError("parse", str(e)) from e
    except InputError as e:
        raise HookFileError("read", str(e)) from e
    return [record for record in records if record.intervention_class in SCORED_CLASSES]
