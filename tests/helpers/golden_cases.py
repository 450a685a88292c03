"""Golden cases: inputs in files, and what the reference made of them in ``expected.json``.

The reference's answers came as folders ``expected/`` of many small files, and the shared cases
still come so; both forms are read here. ``expected.json`` has an entry a file, by its path below
``expected/``: JSON files as their value, texts (tables and sidecars, compared byte for byte) as
their lines, split at "\\n" alone, so that joining them gives the bytes.

    python tests/helpers/golden_cases.py FOLDER...    copies cases of the original form into
    testdata/golden
"""

import json
import shutil
import sys
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

GOLDEN = Path(__file__).parents[2] / "testdata" / "golden"
ONE_FILE = "expected.json"


class Expected:
    """What the reference made of a case, by the name of the file that it came in."""

    def __init__(self, case: Path) -> None:
        one, folder = case / ONE_FILE, case / "expected"
        self.entries: dict[str, Any] = (
            json.loads(one.read_bytes()) if one.exists() else _read_folder(folder)
        )

    def __contains__(self, name: str) -> bool:
        return name in self.entries

    def json(self, name: str) -> Any:
        return self.entries[name]

    def text(self, name: str) -> bytes:
        return "\n".join(self.entries[name]).encode()

    def names(self, pattern: str) -> list[str]:
        return sorted(name for name in self.entries if fnmatchcase(name, pattern))


def _read_folder(folder: Path) -> dict[str, Any]:
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    texts = {
        str(path.relative_to(folder)): path.read_bytes().decode() for path in files
    }
    return {
        name: json.loads(text) if name.endswith(".json") else text.split("\n")
        for name, text in texts.items()
    }


def import_case(case: Path, into: Path = GOLDEN) -> None:
    """Copy a case of the original form, its inputs byte for byte, its answers into one file."""
    copy = into / case.name
    shutil.copytree(
        case,
        copy,
        ignore=lambda folder, _: ["expected"] if Path(folder) == case else [],
    )
    written = json.dumps(_read_folder(case / "expected"), indent=1)
    (copy / ONE_FILE).write_bytes(f"{written}\n".encode())


if __name__ == "__main__":
    for name in sys.argv[1:]:
        import_case(Path(name))
