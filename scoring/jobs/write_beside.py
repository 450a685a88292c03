"""Writes hook outcomes and DR transcripts beside an entry, whole or not at all; all that a file said it still says."""

import contextlib
import os
from datetime import UTC, datetime
from pathlib import Path

from scoring.errors import InputError, YamlError
from scoring.evidence.beside import HookOutcome, deliberation_names, hook_file_name, hook_records
from scoring.evidence.harnesses.fields import keys_of
from scoring.files import alone_in, read_file, write_atomically
from scoring.log.find import missing_log_message

CLASSES = {  # the intervention class of a point in the life of a session, where none is named
    "pre_tool_use": "prevent_before_action",
    "stop": "remediate_at_stop",
    "subagent_stop": "remediate_at_stop",
    "pre_compact": "continuity_advice",
    "post_tool_use": "observe_tool_result",
    "session_start": "continuity_advice",
}
RESULTS = ("allow", "advise", "remediate")

FILE_LIMIT = 4 << 20  # the largest file of hook outcomes, in bytes, that is added to


def save_deliberation(
    log_dir: Path, iteration: int, data: bytes, source: str, force: bool = False
) -> Path:
    """Put a transcript with claims beside an entry, and return its path; InputError, WriteError."""
    from scoring.meters.dr.transcript import parse_transcript
    from scoring.meters.plaindata import decode

    text = decode(data, source)
    parse_transcript(text, source)
    _require_log(log_dir)
    as_json, as_lines = (log_dir / name for name in deliberation_names(iteration))
    path, other = (as_json, as_lines) if "rounds" in keys_of(text.encode()) else (as_lines, as_json)
    there = next((p for p in (as_json, as_lines) if os.path.lexists(p)), None)
    if there is not None and not force:
        raise InputError(f"{there}: is there already; replace it with --force")
    parse_transcript(text, str(path))  # the name decides where the content does not
    write_atomically(path, data, mode=0o644)
    with contextlib.suppress(OSError):
        os.unlink(other)
    return path


def record_hook_outcome(log_dir: Path, iteration: int, outcome: HookOutcome) -> Path:
    """Add a record to the hook outcomes of an iteration, and return the file; InputError, WriteError."""
    if not outcome.rule_id.strip():
        raise InputError("a hook outcome needs the rule that it is about")
    if outcome.result not in RESULTS:
        raise InputError(f"{outcome.result!r} is none of the results {', '.join(RESULTS)}")
    _require_log(log_dir)
    path = log_dir / hook_file_name(iteration)
    with alone_in(log_dir):
        write_atomically(path, _with_record(path, outcome), mode=0o644)
    return path


def _with_record(path: Path, outcome: HookOutcome) -> bytes:
    from ruamel.yaml.comments import CommentedMap, CommentedSeq
    from ruamel.yaml.scalarstring import DoubleQuotedScalarString

    from scoring.jobs.label_file import dumped, kept_tree, round_trip

    tree = CommentedMap(schema_version=1, records=CommentedSeq())
    try:
        before = read_file(path, FILE_LIMIT, within=path.parent)
    except FileNotFoundError:
        before = b""
    yaml, said = round_trip(before, rb"records"), []
    if before.strip():
        try:
            said = hook_records(before)
        except YamlError as e:
            raise InputError(f"{path}: {e}; nothing is added to it") from e
        tree = kept_tree(yaml, before, path)
        if not isinstance(tree, CommentedMap) or not isinstance(
            tree.setdefault("records", None) or [], list
        ):
            raise InputError(
                f"{path}: is no mapping with a list of records; nothing is added to it"
            )
    if not tree.get("records"):
        tree["records"] = CommentedSeq()
    fields = {name: getattr(outcome, name) for name in HookOutcome.__annotations__}
    quoted = {name: DoubleQuotedScalarString(text) for name, text in fields.items() if text}
    tree["records"].append(CommentedMap(quoted))
    data = dumped(yaml, tree, before)
    if hook_records(data) != [*said, outcome]:
        raise InputError(
            f"{path}: its records would not stay as they are; nothing is added to it, edit it by hand"
        )
    return data


def stamp() -> str:
    """Return the time as hook outcomes have it: UTC, to the second."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _require_log(log_dir: Path) -> None:
    if not log_dir.is_dir():
        raise InputError(missing_log_message(log_dir, f"{log_dir}: no such directory"))
