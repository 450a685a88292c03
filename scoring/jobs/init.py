"""The settings file that ``da-score init`` writes: every setting with a comment, and what was found while looking."""

import json
import os
import textwrap
from collections.abc import Sequence
from pathlib import Path

from rubric import EVIDENCE_ATTRIBUTED, Rubric, newest_version
from scoring.errors import NotARepositoryError, SettingsError, WriteError
from scoring.files import is_inside, write_atomically
from scoring.log.missing import how_to_make_one
from scoring.log.settings import DEFAULT_LOG_DIR, SETTINGS_FILE, Settings
from scoring.text import counted, printable
from scoring.views.doctor import Examination

_WIDTH = 100
_DERIVE = "Whether close-task, the hook, first writes the entries that the session which ended lacks."
_WORKTREES = (
    "Where work trees of this repository may have been, as globs of folders: sessions that worked in one that is gone "
    "count too."
)
_TEST_COMMANDS = "How commands begin that run tests here, beside the tools that da-score knows."


def rubric_for_real_work() -> str:
    """Return the version that a new settings file names: the newest that gives each iteration its own evidence."""
    return newest_version(EVIDENCE_ATTRIBUTED)


def settings_text(seen: Examination, settings: Settings) -> str:
    """Return the file: what the command line names as settings, and what was found under its rubric as comments."""
    trunk = seen.repository.trunk
    parts = [
        _block("Settings of da-score for this repository. Paths are relative to it; options and variables win."),
        _block(
            "The rubric: which signals vote, under which rules their evidence is read, and how much of it is enough. "
            f"Under {settings.rubric} {_votes(seen.rubric)}; da-score rubric show {settings.rubric} has the rest.",
            f"rubric = {_quoted(settings.rubric)}",
        ),
        _block(_log_found(seen), _log_setting(seen, settings)),
        _block(_trunk_found(seen), _setting("trunk", settings.trunk, (trunk and trunk.name) or "main")),
        _block(_transcripts_found(seen), *_transcript_settings(seen, settings)),
        _block(_DERIVE, "derive = true" if settings.derive else "# derive = true"),
        _block(_WORKTREES, _list_setting("worktrees", settings.worktrees, "~/worktrees/*")),
        _block(_TEST_COMMANDS, _list_setting("test-commands", settings.test_commands, "./check --all")),
    ]
    return "\n\n".join(parts) + "\n"


def _votes(rubric: Rubric) -> str:
    """Say what a rubric asks of evidence before it gives a band."""
    claims = "a claim has a vote" if rubric.claims_vote else "what an agent says of its own work has no vote"
    return f"{claims}, and a band needs {rubric.minimum_coverage * 100:.0f} % of the weight"


def _block(comment: str, *lines: str) -> str:
    wrapped = textwrap.wrap(printable(comment), _WIDTH - 2, break_long_words=False, break_on_hyphens=False)
    return "\n".join([*(f"# {line}" for line in wrapped), *lines])


def _quoted(text: str) -> str:
    """Return a TOML string; what JSON escapes TOML does too, but for DEL and half a pair of surrogates."""
    escaped = json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
    return escaped.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def _setting(key: str, value: str | None, example: str) -> str:
    return f"# {key} = {_quoted(example)}" if value is None else f"{key} = {_quoted(value)}"


def _list_setting(key: str, values: Sequence[str], example: str) -> str:
    """Return the line of a list; where the options name none, as an example in a comment."""
    return f"{'' if values else '# '}{key} = [{', '.join(map(_quoted, values or (example,)))}]"


def _log_found(seen: Examination) -> str:
    log = seen.log
    place = _place(log.path, seen.repository.top_level or seen.repository.path)
    if log.problem:
        return f"Where the iteration log is. There is none at {place} yet."
    return f"Where the iteration log is. Found at {place}: {counted(len(log.iterations), 'iteration')}."


def _log_setting(seen: Examination, settings: Settings) -> str:
    top = seen.repository.top_level or settings.repo_dir
    usual = os.path.realpath(settings.iter_log_dir) == os.path.realpath(top / DEFAULT_LOG_DIR)
    return _setting("iter-log-dir", None if usual else _place(settings.iter_log_dir, top), str(DEFAULT_LOG_DIR))


def _place(path: Path, top: Path) -> str:
    """Return a path as the file names it: relative to the repository where it is in it."""
    real, root = os.path.realpath(path), os.path.realpath(top)
    return os.path.relpath(real, root) if real.startswith(root + os.sep) else real


def _trunk_found(seen: Examination) -> str:
    trunk = seen.repository.trunk
    if trunk is None or trunk.commit is None:
        why = trunk.how if trunk else "there is no repository"
        return f"The branch on which work lands. None was found: {why}."
    return f"The branch on which work lands. Found: {trunk.name}, {trunk.how}."


def _transcripts_found(seen: Examination) -> str:
    files = seen.transcripts.files
    count = sum(not file.left_out for file in files)
    known = f"{count} of {len(files)} transcripts found are of work in this repository"
    return (
        "Where transcripts are looked for: auto takes the default transcript directories and counts the work done in "
        f"this repository, none reads none; a list of folders counts whole. {known if files else 'None were found'}."
    )


def _transcript_settings(seen: Examination, settings: Settings) -> tuple[str, ...]:
    top = seen.repository.top_level or settings.repo_dir
    if settings.transcript_dirs:
        folders = ", ".join(_quoted(_place(folder, top)) for folder in settings.transcript_dirs)
        return ('# transcripts = "auto"', f"transcript-dir = [{folders}]")
    return (
        f"transcripts = {_quoted(settings.transcripts or 'auto')}",
        '# transcript-dir = ["~/.claude/projects/-home-me-src-app"]',
    )


def write_settings(seen: Examination, text: str, force: bool) -> Path:
    """Write the file into the repository's top level, and return where.

    Raises:
        NotARepositoryError: there is no repository to write it into.
        SettingsError: there is such a file already, and ``force`` is not given.
        WriteError: it cannot be written, or a link leads out of the repository.
    """
    top = seen.repository.top_level
    if top is None:
        raise NotARepositoryError(seen.repository.problem)
    path = top / SETTINGS_FILE
    if not force and os.path.lexists(path):
        log = "" if seen.log.iterations else f"; make the log with {how_to_make_one(path)}"
        raise SettingsError(f"{path}: is there already; --force replaces it, --print shows what would be written{log}")
    if not is_inside(path.parent, top):
        raise WriteError(f"{path.parent}: a link leads out of the repository, to {os.path.realpath(path.parent)}")
    try:
        path.parent.mkdir(exist_ok=True)
    except OSError as e:
        raise WriteError(f"{path.parent}: cannot make the folder: {(e.strerror or str(e)).lower()}") from e
    write_atomically(path, text.encode("utf-8"), mode=0o644)
    return path
