"""``python -m benchmarks spent REPO`` compares the tokens of the ledger with those of ``ccusage``.

The checkpoints of a clone are laid out as folders of Claude Code. Without ``ccusage`` 17.2.1 (``npm
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

KINDS = {"input": "inputTokens", "output": "outputTokens", "cache_read": "cacheReadTokens"}
KINDS |= {"cache_creation": "cacheCreationTokens"}


def laid_out(repo: Path, home: Path) -> int:
    """Write the transcripts of a repository's checkpoints as Claude Code does, and count them."""
    repository = GitRepository(repo)
    folder = home / "projects" / "laid-out"
    folder.mkdir(parents=True)
    blobs = {
        s.blobs
        for one in read_checkpoints(repository).values()
        for s in one.sessions
        if not s.missing
    }
    for n, parts in enumerate(sorted(blobs - {()})):
        (folder / f"{n}.jsonl").write_bytes(b"".join(repository.contents(parts).values()))
    return len(blobs - {()})


def of_ledger(repo: Path) -> dict[str, int]:
    """Return what the ledger counts for Claude Code, by kind."""
    command = [
        sys.executable,
        "-m",
        "scoring",
        "work",
        "--json",
        "--repo-dir",
        os.fspath(repo),
        "--no-cache",
    ]
    units = json.loads(subprocess.run(command, capture_output=True, check=True).stdout)["units"]
    return {
        kind: sum(one["tokens"][kind] or 0 for one in units if one["harness"] == "claude")
        for kind in KINDS
    }


def main(arguments: list[str]) -> int:
    """Print both, one kind of tokens a line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks spent", description=__doc__)
    parser.add_argument("repo", type=Path)
    parser.add_argument("--ccusage", default=which("ccusage"), help="its command")
    options = parser.parse_args(arguments)
    ledger, other = of_ledger(options.repo), dict[str, int]()
    with tempfile.TemporaryDirectory() as home:
        count = laid_out(options.repo, Path(home))
        if options.ccusage:
            command = [options.ccusage, "daily", "--json", "--offline"]
            environment = os.environ | {"CLAUDE_CONFIG_DIR": home, "HOME": home}
            answer = subprocess.run(command, capture_output=True, check=True, env=environment)
            other = json.loads(answer.stdout)["totals"]
    print(f"{count} transcripts; ccusage is not installed" if not other else f"{count} transcripts")
    for kind, name in KINDS.items():
        print(
            f"{kind:15} {ledger[kind]:>15,}"
            + (f" {other[name]:>15,} {other[name] - ledger[kind]:>+15,}" if other else "")
        )
    return 0
