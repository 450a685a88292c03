"""Writes the settings file of ``da-score init``: each setting, with what was found as a comment."""

import json
import os
import textwrap
from collections.abc import Sequence
from pathlib import Path

from scoring.errors import NotARepositoryError, SettingsError, WriteError
from scoring.files import make_folder, write_atomically
from scoring.log.find import commands_that_make_a_log
from scoring.log.settings import DEFAULT_LOG_DIR, SETTINGS_FILE, Settings
from scoring.paths import is_inside, real_path
from scoring.text import counted, printable
from scoring.views.doctor import Examination

_TextOrTexts = str | Sequence[str]

_WIDTH = 100
_TEMPLATE = Path(__file__).parent / "settings.txt"


def settings_text(examination: Examination, settings: Settings) -> str:
    """Return the settings file for a repository.

    Args:
        examination: what was found in the repository, under the rubric of the settings.
        settings: the settings of the command line. A setting that it does not name is a comment in
            the file, but "transcripts" is then "auto", unless folders of them are named. A log
            outside of the repository is a comment too.
    """
    top = examination.repository.top_level or examination.repository.path
    log_dir = None
    real_log = real_path(settings.iter_log_dir)
    # A log outside of the repository is named by an option or a variable, and by no file.
    if real_log != real_path(top / DEFAULT_LOG_DIR) and is_inside(real_log, top):
        log_dir = _path_from_top(settings.iter_log_dir, top)

    trunk = examination.repository.trunk
    usual_trunk = trunk.name if trunk and trunk.name else "main"
    folders = [_path_from_top(folder, top) for folder in settings.transcript_dirs]
    where = None if folders else settings.transcripts or "auto"
    folders_line = _line(
        "transcript-dir", folders, ["~/.claude/projects/-home-me-src-app"]
    )

    values = {
        **_found_values(examination, top),
        "version": settings.rubric,
        "rubric": _line("rubric", settings.rubric, ""),
        "log": _line("iter-log-dir", log_dir, str(DEFAULT_LOG_DIR)),
        "trunk": _line("trunk", settings.trunk, usual_trunk),
        "transcripts": f"{_line('transcripts', where, 'auto')}\n{folders_line}",
        "derive": "derive = true" if settings.derive else "# derive = true",
        "worktrees": _line("worktrees", settings.worktrees, ["~/worktrees/*"]),
        "tests": _line("test-commands", settings.test_commands, ["./check --all"]),
    }

    template = _TEMPLATE.read_text("utf-8").rstrip("\n")
    blocks = []
    for block in template.split("\n\n"):
        comment, *lines = (line.format_map(values) for line in block.split("\n"))
        wrapped = textwrap.wrap(
            printable(comment),
            _WIDTH - len("# "),
            break_long_words=False,
            break_on_hyphens=False,
        )
        blocks.append("\n".join([*(f"# {line}" for line in wrapped), *lines]))
    return "\n\n".join(blocks) + "\n"


def _found_values(examination: Examination, top: Path) -> dict[str, str]:
    """Return in words what was found of the rubric, the log, the trunk and the transcripts.

    The keys are the names that the template has for these words.
    """
    claims = "what an agent says of its own work has no vote"
    if examination.rubric.claims_vote:
        claims = "a claim has a vote"

    log = examination.log
    log_dir = _path_from_top(log.path, top)
    found_log = f"Found at {log_dir}: {counted(log.iterations, 'iteration')}"
    if log.problem:
        found_log = f"There was none at {log_dir} when this was written"

    trunk = examination.repository.trunk
    if trunk is None:
        found_trunk = "None was found: there is no repository"
    elif trunk.commit:
        found_trunk = f"Found: {trunk.name}, {trunk.how}"
    else:
        found_trunk = f"None was found: {trunk.how}"

    files = examination.transcripts.files
    missing = len(examination.transcripts.checkpoints.missing)
    found_transcripts = "None were found"
    if len(files) > missing:
        counted_files = sum(not file.left_out for file in files)
        found_transcripts = (
            f"{counted_files} of {len(files) - missing} transcripts found"
            " are of work in this repository"
        )
    if missing:
        found_transcripts += f"; {missing} more of checkpoints are not in this clone"

    return {
        "claims": claims,
        "coverage": f"{examination.rubric.minimum_coverage * 100:.0f}",
        "found_log": found_log,
        "found_trunk": found_trunk,
        "found_transcripts": found_transcripts,
    }


def _line(key: str, value: _TextOrTexts | None, example: _TextOrTexts) -> str:
    """Return the line of a setting, or a comment with an example where the value is empty."""
    if not value:
        return f"# {key} = {_as_toml(example)}"
    return f"{key} = {_as_toml(value)}"


def _as_toml(value: _TextOrTexts) -> str:
    """Return a text or a list of texts as TOML.

    The text is JSON, which TOML can read: DEL is an escape, and bytes that are not UTF-8 are
    replacement characters.
    """
    escaped = json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    return escaped.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def _path_from_top(path: Path, top: Path) -> str:
    """Return a path relative to the top of a repository, or the whole path of a place elsewhere."""
    real = real_path(path)
    real_top = real_path(top)
    if real.startswith(real_top + os.sep):
        return os.path.relpath(real, real_top)
    return real


def write_settings(examination: Examination, text: str, force: bool) -> Path:
    """Write the settings file of a repository, and return its path.

    Args:
        examination: what was found in the repository.
        text: the content of the file.
        force: whether to replace a file that exists.

    Raises:
        NotARepositoryError: the folder is not in a git work tree.
        SettingsError: the file exists, and ``force`` is not set.
        WriteError: the file cannot be written, or a link leads out of the repository.
    """
    top = examination.repository.top_level
    if top is None:
        raise NotARepositoryError(examination.repository.problem)

    path = top / SETTINGS_FILE
    if not force and os.path.lexists(path):
        advice = ""
        if not examination.log.iterations:
            advice = f"; make the log with {commands_that_make_a_log(path)}"
        raise SettingsError(
            f"{path}: exists already; --force replaces it,"
            f" --print shows what would be written{advice}"
        )

    if not is_inside(path.parent, top):
        target = real_path(path.parent)
        raise WriteError(
            f"{path.parent}: a link leads out of the repository, to {target}"
        )

    make_folder(path.parent)
    write_atomically(path, text.encode("utf-8"), mode=0o644)
    return path
