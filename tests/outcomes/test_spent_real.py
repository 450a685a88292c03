"""The tokens of the ledger, of a plain reading of the files, and of ``ccusage`` 17.2.1.

What ``ccusage`` counted is recorded; each difference has its reason. Left out where the repository
is not.
"""

import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from benchmarks.spent import KINDS, laid_out, of_ledger

REAL = Path(
    os.environ.get(
        "DA_SCORE_SHARED_REAL", Path(__file__).parents[3] / "shared" / "real"
    )
)
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        not REAL.exists(), reason=f"the real repositories are not at {REAL}"
    ),
]

CCUSAGE = {
    "input": 240_736,
    "output": 43_841,
    "cache_read": 739_238_871,
    "cache_creation": 39_979_371,
}
FIELDS = dict(
    zip(
        KINDS,
        ("input", "output", "cache_read_input", "cache_creation_input"),
        strict=True,
    )
)


def values(line: bytes) -> list[Any]:
    """Return the values in a line: several where a line break is missing, none in a document's."""
    text, found, at = line.decode(errors="replace"), [], 0
    try:
        while at < len(text):
            value, at = json.JSONDecoder().raw_decode(text, at)
            found.append(value)
    except ValueError:
        return []
    return [one for one in found if isinstance(one, dict)]


def responses(
    folder: Path, largest: bool
) -> Iterator[tuple[tuple[str, ...], dict[str, int]]]:
    """Yield what each line of a response states: by what it is known, and its tokens."""
    for path in sorted(folder.glob("*.jsonl")):
        lines = map(values, path.read_bytes().splitlines())
        for said in (one for of in lines if largest or len(of) == 1 for one in of):
            if (
                largest
                and said.get("type") == "progress"
                and isinstance(said["data"].get("message"), dict)
            ):
                # of a sub-agent, which ccusage leaves out
                said = said["data"]["message"]
            message = said.get("message") or {}
            if said.get("type") == "assistant" and message.get("usage"):
                counts = {
                    kind: message["usage"].get(f"{name}_tokens") or 0
                    for kind, name in FIELDS.items()
                }
                yield (message.get("id", ""), said.get("requestId", "")), counts


def total(folder: Path, largest: bool) -> dict[str, int]:
    """Return the sums, each response once by its largest copy, with those of sub-agents.

    Else without these, each by its first copy, and each copy without a request.
    """
    found: dict[tuple[str, ...], dict[str, int]] = {}
    for number, (name, counts) in enumerate(responses(folder, largest)):
        key = name[:1] if largest else name if name[1] else (*name, str(number))
        if key not in found or (largest and counts["output"] > found[key]["output"]):
            found[key] = counts
    sums: Counter[str] = Counter()
    for counts in found.values():
        sums.update(counts)
    return dict(sums)


def test_the_ledger_has_the_tokens_of_the_files_and_what_differs_from_ccusage_has_a_reason(
    tmp_path: Path,
) -> None:
    repo, home = tmp_path / "repo", tmp_path / "home"
    subprocess.run(["git", "clone", "-q", REAL / "entire-cli.bundle", repo], check=True)
    assert laid_out(repo, home) > 200
    folder = home / "projects" / "laid-out"
    assert total(folder, largest=False) == CCUSAGE
    command = [sys.executable, "-m", "scoring", "init", "--yes"]
    subprocess.run(
        command,
        cwd=repo,
        env=os.environ | {"HOME": str(home)},
        capture_output=True,
        check=True,
    )
    assert of_ledger(repo) == total(folder, largest=True)
