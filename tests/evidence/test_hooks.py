"""Hook outcomes: where they are, which records are kept, and what makes the file unusable."""

import os
from pathlib import Path

import pytest
from helpers import tables
from helpers.doors import ends, make_fifo

from scoring.evidence.entry_files import HookOutcome, hook_facts, hook_file_name

FULL = """\
records:
- sentinel_id: s1
  skill: k
  lifecycle_point: before
  intervention_class: prevent_before_action
  result: allow
  rule_id: r1
  platform: p
  ts: 2026-04-18T10:00:00Z
  correlation_id: c1
  unknown: [1, 2]
"""


def hook_file(directory: Path, iteration: int) -> Path:
    return directory / hook_file_name(iteration)


def scored_hook_outcomes(
    directory: Path | str, iteration: int
) -> list[HookOutcome] | None:
    found = hook_facts(directory, iteration)
    assert (found.failed, found.problem) == ("", "")
    return None if found.records is None else list(found.records)


def failure(directory: Path) -> tuple[str, str]:
    found = ends(lambda: hook_facts(directory, 4))
    assert found.records is None
    return found.failed, found.problem


@pytest.mark.parametrize(
    ("iteration", "name"),
    [
        (4, "iter-4.hook-outcomes.yaml"),
        (0, "iter-0.hook-outcomes.yaml"),
        (-1, "iter--1.hook-outcomes.yaml"),
    ],
)
def test_the_file_lies_beside_the_entry(
    tmp_path: Path, iteration: int, name: str
) -> None:
    assert hook_file(tmp_path, iteration) == tmp_path / name
    (tmp_path / name).write_text(
        "records: [{intervention_class: remediate_at_stop, rule_id: r}]"
    )
    outcome = HookOutcome(intervention_class="remediate_at_stop", rule_id="r")
    assert scored_hook_outcomes(str(tmp_path), iteration) == [outcome]
    assert scored_hook_outcomes(tmp_path, iteration + 1) is None


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        *tables.cases("hook_outcomes", "broken"),
        pytest.param(b"records: \xff\n", "not YAML text: ", id="not-utf-8"),
    ],
)
def test_a_file_that_cannot_be_parsed_says_why(
    tmp_path: Path, text: str | bytes, reason: str
) -> None:
    hook_file(tmp_path, 4).write_bytes(text.encode() if isinstance(text, str) else text)
    verb, why = failure(tmp_path)
    assert verb == "parse"
    assert why.startswith(reason)


def test_what_is_no_file_of_text_is_not_waited_for(tmp_path: Path) -> None:
    path = hook_file(tmp_path, 4)
    path.mkdir()
    assert failure(tmp_path) == ("read", f"{path}: is a directory")
    path.rmdir()
    make_fifo(path)
    assert failure(tmp_path) == ("read", f"{path}: is not a plain file")
    path.unlink()
    path.write_text(FULL)
    os.truncate(path, (16 << 20) + 1)
    assert failure(tmp_path) == ("read", f"{path}: larger than 16 MiB")
