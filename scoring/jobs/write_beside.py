"""Writes hook outcomes and transcripts of deliberations beside an entry.

A file is replaced whole or not at all, and keeps everything else that it says.
"""

import contextlib
import os
from datetime import UTC, datetime
from pathlib import Path

from scoring.errors import InputError, YamlError
from scoring.evidence.entry_files import (
    HookOutcome,
    deliberation_names,
    hook_file_name,
    hook_records,
)
from scoring.evidence.harnesses.fields import keys_of
from scoring.files import exclusive_lock, overwrite, read_file
from scoring.log.find import missing_log_message

CLASSES = {
    "pre_tool_use": "prevent_before_action",
    "stop": "remediate_at_stop",
    "subagent_stop": "remediate_at_stop",
    "pre_compact": "continuity_advice",
    "post_tool_use": "observe_tool_result",
    "session_start": "continuity_advice",
}
"""The intervention class of each point in the life of a session, unless a hook names one."""

RESULTS = ("allow", "advise", "remediate")

FILE_LIMIT = 4 << 20
"""The largest file of hook outcomes, in bytes, that another one is added to."""


def save_deliberation(
    log_dir: Path,
    iteration: int,
    data: bytes,
    source: str,
    force: bool = False,
) -> Path:
    """Put the transcript of a deliberation beside an entry, and return its file.

    Args:
        log_dir: the log.
        iteration: the number of the entry.
        data: the transcript.
        source: where it comes from, for errors.
        force: whether it may replace a transcript that the entry has.

    Raises:
        InputError: the transcript cannot be read; there is one already; or the log does not exist.
        WriteError: the file cannot be written.
    """
    # Only a transcript needs pydantic, which takes long to load.
    from scoring.meters.dr.transcript import parse_transcript
    from scoring.meters.plaindata import decode

    text = decode(data, source)
    parse_transcript(text, source)
    _require_log(log_dir)

    path, other = (log_dir / name for name in deliberation_names(iteration))
    if not force:
        for existing in (path, other):
            if os.path.lexists(existing):
                raise InputError(f"{existing}: exists already; replace it with --force")

    is_one_document = "rounds" in keys_of(text.encode())
    if not is_one_document:
        path, other = other, path

    # The name of the file decides how a text is read that could be either.
    parse_transcript(text, str(path))
    overwrite(path, data)
    with contextlib.suppress(OSError):
        os.unlink(other)
    return path


def record_hook_outcome(log_dir: Path, iteration: int, outcome: HookOutcome) -> Path:
    """Add a record to the hook outcomes of an iteration, and return their file.

    Args:
        log_dir: the log.
        iteration: the number of the iteration.
        outcome: the record.

    Raises:
        InputError: the record lacks its rule or has a wrong result; the log does not exist; or the
            file cannot be read or would not keep what it says.
        WriteError: the file cannot be written.
    """
    if not outcome.rule_id.strip():
        raise InputError("a hook outcome needs the rule that it is about")
    if outcome.result not in RESULTS:
        raise InputError(f"the result {outcome.result!r} must be one of {', '.join(RESULTS)}")
    _require_log(log_dir)

    path = log_dir / hook_file_name(iteration)
    with exclusive_lock(log_dir):
        overwrite(path, _with_record(path, outcome))
    return path


def _with_record(path: Path, outcome: HookOutcome) -> bytes:
    """Return the content of a file of hook outcomes with another record at its end."""
    # Only this and labels need ruamel.yaml, which takes long to load.
    from ruamel.yaml.comments import CommentedMap, CommentedSeq
    from ruamel.yaml.scalarstring import DoubleQuotedScalarString

    from scoring.jobs.round_trip import dumped, kept_tree, round_trip

    try:
        old = read_file(path, FILE_LIMIT, within=path.parent)
    except FileNotFoundError:
        old = b""

    yaml = round_trip(old, rb"records")
    tree = CommentedMap(schema_version=1, records=CommentedSeq())
    records: list[HookOutcome] = []
    if old.strip():
        try:
            records = hook_records(old)
        except YamlError as e:
            raise InputError(f"{path}: {e}; nothing is added to it") from e

        tree = kept_tree(yaml, old, path)
        is_mapping = isinstance(tree, CommentedMap)
        if not is_mapping or not isinstance(tree.setdefault("records", None) or [], list):
            raise InputError(f"{path}: does not hold a list of records; nothing is added to it")

    if not tree.get("records"):
        tree["records"] = CommentedSeq()
    new_record = CommentedMap()
    for name in HookOutcome.__annotations__:
        text = getattr(outcome, name)
        if text:
            new_record[name] = DoubleQuotedScalarString(text)
    tree["records"].append(new_record)

    data = dumped(yaml, tree, old)
    if hook_records(data) != [*records, outcome]:
        raise InputError(
            f"{path}: its records would not stay as they are; nothing is added to it,"
            " edit it by hand"
        )
    return data


def stamp() -> str:
    """Return the time as hook outcomes have it: in UTC, to the second."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _require_log(log_dir: Path) -> None:
    if not log_dir.is_dir():
        raise InputError(missing_log_message(log_dir, f"{log_dir}: no such directory"))
