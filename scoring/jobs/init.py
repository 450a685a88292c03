"""The settings file that ``da-score init`` writes: every setting with a comment, and what was found while looking."""

import json
import os
import textwrap
from collections.abc import Mapping, Sequence
from pathlib import Path

from scoring.errors import NotARepositoryError, SettingsError, WriteError
from scoring.files import is_inside, make_folder, write_atomically
from scoring.log.find import commands_that_make_a_log
from scoring.log.settings import DEFAULT_LOG_DIR, SETTINGS_FILE, Settings
from scoring.text import counted, printable
from scoring.views.doctor import Examination

_WIDTH = 100


def settings_text(seen: Examination, settings: Settings) -> str:
    """Return the file: what the command line names as settings, and what was found under its rubric as comments."""
    rubric, trunk, files = seen.rubric, seen.repository.trunk, seen.transcripts.files
    top = seen.repository.top_level or seen.repository.path
    log_dir = _place(seen.log.path, top)
    log = f"Found at {log_dir}: {counted(len(seen.log.iterations), 'iteration')}"
    usual = os.path.realpath(settings.iter_log_dir) == os.path.realpath(top / DEFAULT_LOG_DIR)
    no_trunk = f"None was found: {trunk.how if trunk else 'there is no repository'}"
    count = sum(not file.left_out for file in files)
    known = f"{count} of {len(files)} transcripts found are of work in this repository"
    folders = [_place(folder, top) for folder in settings.transcript_dirs]
    auto = (
        '# transcripts = "auto"'
        if folders
        else f"transcripts = {_quoted(settings.transcripts or 'auto')}"
    )
    found = {
        "version": settings.rubric,
        "claims": "a claim has a vote"
        if rubric.claims_vote
        else "what an agent says of its own work has no vote",
        "coverage": f"{rubric.minimum_coverage * 100:.0f}",
        "found_log": f"There is none at {log_dir} yet" if seen.log.problem else log,
        "found_trunk": f"Found: {trunk.name}, {trunk.how}" if trunk and trunk.commit else no_trunk,
        "found_transcripts": known if files else "None were found",
        "rubric": f"rubric = {_quoted(settings.rubric)}",
        "log": _setting(
            "iter-log-dir",
            None if usual else _place(settings.iter_log_dir, top),
            str(DEFAULT_LOG_DIR),
        ),
        "trunk": _setting("trunk", settings.trunk, (trunk and trunk.name) or "main"),
        "transcripts": f"{auto}\n{_list_setting('transcript-dir', folders, '~/.claude/projects/-home-me-src-app')}",
        "derive": "derive = true" if settings.derive else "# derive = true",
        "worktrees": _list_setting("worktrees", settings.worktrees, "~/worktrees/*"),
        "tests": _list_setting("test-commands", settings.test_commands, "./check --all"),
    }
    template = (Path(__file__).parent / "settings.txt").read_text("utf-8").rstrip("\n")
    return "\n\n".join(_block(part, found) for part in template.split("\n\n")) + "\n"


def _block(template: str, found: Mapping[str, str]) -> str:
    comment, *lines = (line.format_map(found) for line in template.split("\n"))
    wrapped = textwrap.wrap(
        printable(comment), _WIDTH - 2, break_long_words=False, break_on_hyphens=False
    )
    return "\n".join([*(f"# {line}" for line in wrapped), *lines])


def _quoted(text: str) -> str:
    """Return a TOML string; what JSON escapes TOML does too, but for DEL and half a pair of surrogates."""
    escaped = json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
    return escaped.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def _setting(key: str, value: str | None, example: str) -> str:
    return f"# {key} = {_quoted(example)}" if value is None else f"{key} = {_quoted(value)}"


def _list_setting(key: str, values: Sequence[str], example: str) -> str:
    return f"{'' if values else '# '}{key} = [{', '.join(map(_quoted, values or (example,)))}]"


def _place(path: Path, top: Path) -> str:
    real, root = os.path.realpath(path), os.path.realpath(top)
    return os.path.relpath(real, root) if real.startswith(root + os.sep) else real


def write_settings(seen: Examination, text: str, force: bool) -> Path:
    """Write the settings file and return where; NotARepositoryError, SettingsError without ``force``, WriteError."""
    top = seen.repository.top_level
    if top is None:
        raise NotARepositoryError(seen.repository.problem)
    path = top / SETTINGS_FILE
    if not force and os.path.lexists(path):
        log = "" if seen.log.iterations else f"; make the log with {commands_that_make_a_log(path)}"
        raise SettingsError(
            f"{path}: is there already; --force replaces it, --print shows what would be written{log}"
        )
    if not is_inside(path.parent, top):
        raise WriteError(
            f"{path.parent}: a link leads out of the repository, to {os.path.realpath(path.parent)}"
        )
    make_folder(path.parent)
    write_atomically(path, text.encode("utf-8"), mode=0o644)
    return path
