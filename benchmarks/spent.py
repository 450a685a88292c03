"""``python -m benchmarks spent REPO`` compares the tokens of the ledger with those of ``ccusage``.

The checkpoints of a clone are laid out as folders of Claude Code. Without ``ccusage`` 20 (``npm
install`` it, and name its command with ``--ccusage``) its column is left out. docs/VALIDITY.md has
what was measured, and why it differs.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from shutil import which

from scoring.evidence.git.checkpoints import read_checkpoints
from scoring.evidence.git.repository import GitRepository

KINDS = {
    "input": "inputTokens",
    "output": "outputTokens",
    "cache_read": "cacheReadTokens",
    "cache_creation": "cacheCreationTokens",
}
"""The kinds of tokens, and what ``ccusage`` calls them."""


def laid_out(repo: Path, home: Path) -> int:
    """Write the transcripts of a repository's checkpoints as Claude Code does, and count them."""
    repository = GitRepository(repo)
    transcripts = set()
    for checkpoint in read_checkpoints(repository).values():
        for session in checkpoint.sessions:
            if session.blobs and not session.missing:
                transcripts.add(session.blobs)

    folder = home / "projects" / "laid-out"
    folder.mkdir(parents=True)
    for number, blobs in enumerate(sorted(transcripts)):
        content = b"".join(repository.contents(blobs).values())
        (folder / f"{number}.jsonl").write_bytes(content)
    return len(transcripts)


def of_ledger(repo: Path) -> dict[str, int]:
    """Return what the ledger counts for Claude Code, by kind."""
    command = [
        sys.executable,
        "-m",
        "scoring",
        "work",
        "--json",
        "--no-cache",
        "--repo-dir",
    ]
    process = subprocess.run(
        [*command, os.fspath(repo)], capture_output=True, check=True
    )

    counts = dict.fromkeys(KINDS, 0)
    for unit in json.loads(process.stdout)["units"]:
        if unit["harness"] == "claude":
            for kind in KINDS:
                counts[kind] += unit["tokens"][kind] or 0
    return counts


def of_ccusage(command: str, home: Path) -> dict[str, int]:
    """Return what ``ccusage`` counts in a folder of Claude Code, under its own names."""
    process = subprocess.run(
        [command, "claude", "daily", "--json", "--offline"],
        capture_output=True,
        check=True,
        env=os.environ | {"CLAUDE_CONFIG_DIR": str(home), "HOME": str(home)},
    )
    totals: dict[str, int] = json.loads(process.stdout)["totals"]
    return totals


def main(arguments: list[str]) -> int:
    """Print both, one kind of tokens a line."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks spent", description=__doc__
    )
    parser.add_argument("repo", type=Path)
    parser.add_argument("--ccusage", default=which("ccusage"), help="its command")
    options = parser.parse_args(arguments)

    ledger = of_ledger(options.repo)
    with tempfile.TemporaryDirectory() as name:
        count = laid_out(options.repo, Path(name))
        other = of_ccusage(options.ccusage, Path(name)) if options.ccusage else {}

    missing = "" if other else "; ccusage is not installed"
    print(f"{count} transcripts{missing}")
    for kind, name in KINDS.items():
        line = f"{kind:15} {ledger[kind]:>15,}"
        if other:
            line += f" {other[name]:>15,} {other[name] - ledger[kind]:>+15,}"
        print(line)
    return 0
