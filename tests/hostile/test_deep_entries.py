"""Small entries with merge keys that merge merge keys."""

from pathlib import Path

import pytest

from scoring.errors import LogError
from scoring.jobs.lint import lint_log
from scoring.log.load import load_iteration_log


def merges(depth: int) -> str:
    lines = ["a0: &a0 {task_id: t}"]
    lines += [f"a{n}: &a{n} {{<<: *a{n - 1}}}" for n in range(1, depth + 1)]
    return "\n".join(lines) + "\n"


@pytest.mark.parametrize(
    ("name", "end"),
    [
        ("iter-2.yaml", "schema_version: 2\niteration: 2\n<<: *a2000\n"),
        ("iter-2.yaml", "schema_version: 2\niteration: 2\nverifiers: [<<: *a2000]\n"),
        ("historical.yaml", "iterations: [{iteration: 2, <<: *a2000}]\n"),
    ],
)
def test_merge_keys_of_merge_keys_are_a_fault_of_their_entry(
    tmp_path: Path, name: str, end: str
) -> None:
    (tmp_path / "iter-1.yaml").write_text("schema_version: 2\niteration: 1\n")
    (tmp_path / name).write_text(merges(2000) + end)
    broken: list[LogError] = []
    records = load_iteration_log(tmp_path, broken=broken.append)
    assert [record.iteration for record in records] == [1]
    assert [name in str(error) for error in broken] == [True]
    assert "nested more than 100 deep" in str(broken[0])

    found = [
        one.text for one in lint_log(tmp_path, tmp_path)[1] if one.path.name == name
    ]
    # what is wrong with a field or a key is said instead of where the parser stops
    assert "nested more than 100 deep" in found or 'unknown key "a0"' in found
