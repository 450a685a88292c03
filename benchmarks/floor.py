"""The floor: the least that a program does which decodes all transcripts and asks git once.

It keeps nothing, checks nothing and computes nothing. Everything else is measured as a multiple of
the time that this takes, as a process of its own::

    python floor.py REPO TRANSCRIPT_DIR...
"""

import subprocess
import sys
from pathlib import Path


def read_transcripts(*directories: Path) -> int:
    """Decode every line of the transcripts in some directories, and return how many there are."""
    import orjson

    count = 0
    for directory in directories:
        for path in sorted(directory.iterdir()):
            with open(path, "rb") as f:
                for line in f:
                    orjson.loads(line)
                    count += 1
    return count


def trunk_command(repo: Path) -> list[str]:
    """Return the command that tells everything about every commit of the trunk."""
    return [
        "git",
        "-C",
        str(repo),
        "log",
        "-z",
        "--format=%H%x00%ct%x00%s%x00%B",
        "master",
        "--",
    ]


def read_trunk(repo: Path) -> int:
    """Read what git says about the trunk, and return how many bytes that is."""
    return len(
        subprocess.run(trunk_command(repo), stdout=subprocess.PIPE, check=True).stdout
    )


if __name__ == "__main__":
    repo, *directories = map(Path, sys.argv[1:])
    read_transcripts(*directories)
    read_trunk(repo)
