"""Claude Cowork: sessions of Claude Code in a virtual machine, with folders of this one in it.

``docs/EVIDENCE.md``, "What each harness writes", says where the folders are.
"""

import json
import re
from collections.abc import Iterator, Sequence
from pathlib import Path, PureWindowsPath

from scoring.evidence.harnesses.claude import ClaudeReader
from scoring.evidence.harnesses.event_reader import lines_in
from scoring.evidence.harnesses.fields import items_in, text_in, value_in
from scoring.evidence.harnesses.harness import FileNames, Harness

_FOLDER = "local-agent-mode-sessions"


class Cowork(Harness):
    """See :class:`~scoring.evidence.harnesses.harness.Harness`."""

    name = "cowork"
    files = (FileNames("*.jsonl", folder=f"{_FOLDER}/*/.claude/projects/*", store=True),)
    reader = ClaudeReader
    places = (
        ("", "~/Library/Application Support/Claude", _FOLDER),
        ("", "~/.config/Claude", _FOLDER),
    )

    def lines_of(self, path: Path) -> Iterator[bytes]:
        """Yield the lines of a session, with paths as they are on this machine.

        A session works in a folder of its own. Where one folder of this machine is shared with it,
        that is the folder of its work.
        """
        about = value_in(_session_file(path))
        root = f"/sessions/{text_in(about, 'processName')}"
        folders: dict[bytes, bytes] = {}
        for folder in items_in(about, "userSelectedFolders"):
            if not isinstance(folder, str) or not PureWindowsPath(folder).name:
                continue
            inside = f"{root}/mnt/{PureWindowsPath(folder).name}"
            folders[_escaped(inside)] = _escaped(folder)
        only_folder = next(iter(folders.values()), b"") if len(folders) == 1 else b""
        own_folder = re.compile(rb'("cwd"\s*:\s*")' + re.escape(_escaped(root)) + rb'(?:/[^"]*)?"')

        for line_inside in lines_in(path):
            line = line_inside
            for path_inside, path_here in folders.items():
                line = line.replace(path_inside, path_here)
            if only_folder:
                line = own_folder.sub(lambda cwd: cwd[1] + only_folder + b'"', line)
            yield line

    def sibling_files(self, path: Path) -> Sequence[Path]:
        """Return the file that names the folders of the session."""
        return (_session_file(path),)


def _session_file(path: Path) -> Path:
    """Return the file about a session, which has the name of its folder."""
    for parent in path.parents:
        if parent.name == ".claude":
            folder = parent.parent
            return folder.with_name(f"{folder.name}.json")
    return path


def _escaped(path: str) -> bytes:
    """Return a path as it is written in JSON."""
    return json.dumps(path, ensure_ascii=False)[1:-1].encode("utf-8", "replace")
