"""Claude Cowork: where its transcripts are. Their lines are those of Claude Code.

``docs/EVIDENCE.md``, "What each harness writes", has the form of a line.
"""

import json
import re
from collections.abc import Iterator
from pathlib import Path, PureWindowsPath

from scoring.evidence.transcripts.events import TEXT_LIMIT

from .claude import ClaudeReader
from .event_reader import lines_in
from .fields import items_in, text_in, value_in
from .harness import FileNames, Harness

_FOLDER = "local-agent-mode-sessions"

MOST_FOLDERS = 100
"""How many folders that a session shares are looked at."""

_MOST_REPLACED = 10_000
"""How many paths in a line are replaced, as each may become 64 times as long."""


class Cowork(Harness):
    """Describes Claude Cowork: sessions of Claude Code in a virtual machine.

    The virtual machine has folders of this machine in it.
    """

    name = "cowork"
    files = (FileNames("*.jsonl", "store", f"{_FOLDER}/*/.claude/projects/*"),)
    reader = ClaudeReader
    places = (
        ("", "~/Library/Application Support/Claude", _FOLDER),
        ("", "~/.config/Claude", _FOLDER),
    )

    def lines_of(self, path: Path) -> Iterator[bytes]:
        """Yield the lines of a session, with paths as they are on this machine.

        A session works in a folder of its own in the virtual machine. Where exactly one folder of
        this machine is shared with the session, that folder takes its place as ``cwd``.

        Raises:
            OSError: the file cannot be read.
        """
        about = value_in(_session_file(path))
        root = f"/sessions/{text_in(about, 'processName')[:TEXT_LIMIT]}"
        folders: dict[bytes, bytes] = {}
        for folder in items_in(about, "userSelectedFolders")[:MOST_FOLDERS]:
            if not isinstance(folder, str) or not PureWindowsPath(folder).name:
                continue
            if len(folder) > TEXT_LIMIT:
                continue
            inside = f"{root}/mnt/{PureWindowsPath(folder).name}"
            folders[_escaped(inside)] = _escaped(folder)
        only_folder = next(iter(folders.values()), b"") if len(folders) == 1 else b""
        own_folder = re.compile(
            rb'("cwd"\s*:\s*")' + re.escape(_escaped(root)) + rb'(?:/[^"]*)?"'
        )
        longest_first = sorted(folders, reverse=True)  # one may begin like another
        shared_folder = re.compile(b"|".join(map(re.escape, longest_first)))

        for line in lines_in(path):
            if folders:
                line = shared_folder.sub(
                    lambda inside: folders[inside[0]], line, _MOST_REPLACED
                )
            if only_folder:
                line = own_folder.sub(
                    lambda cwd: cwd[1] + only_folder + b'"', line, _MOST_REPLACED
                )
            yield line

    def sibling_files(self, path: Path) -> list[Path]:
        """Return the file that names the folders of the session."""
        return [_session_file(path)]


def _session_file(path: Path) -> Path:
    """Return the JSON file about a session, next to the folder that holds ``.claude``.

    Return the path itself where no folder above it is named ``.claude``.
    """
    for parent in path.parents:
        if parent.name == ".claude":
            folder = parent.parent
            return folder.with_name(f"{folder.name}.json")
    return path


def _escaped(path: str) -> bytes:
    """Return a path as it is written in a JSON text, without the quotes."""
    return json.dumps(path, ensure_ascii=False)[1:-1].encode("utf-8", "replace")
