"""The commits that the calls of one transcript make: docs/EVIDENCE.md, "Attribution"."""

import posixpath
from collections.abc import Sequence

from msgspec.structs import replace

from scoring.evidence.commands import git_commands
from scoring.evidence.commands.run_folders import expand_home
from scoring.evidence.commands.shell_command import ShellCommand
from scoring.evidence.transcripts.edits import PathTexts
from scoring.evidence.transcripts.events import CommitMade, key_of
from scoring.evidence.transcripts.open_calls import EventPlace, OpenCall, commit_without_sha

_SHA_DIGITS = 15
"""How many digits of the name of a commit are kept."""


class ObservedCommits:
    """The commits that are seen in one transcript.

    Attributes:
        noted: the commits, each with its call, or None where that is in another file.
    """

    def __init__(self, paths: PathTexts) -> None:
        """Begin a transcript, with the paths that are noted in it."""
        self.noted: list[tuple[CommitMade, OpenCall | None]] = []
        self._paths = paths
        self._last_quiet: int | None = None  # which has no SHA yet, if it is of the last command
        self._is_undone = False  # whether an earlier call took the last commit back

    def note_command(self, opened: OpenCall, commands: Sequence[ShellCommand], text: str) -> None:
        """Note in a call what its commands do to commits.

        Args:
            opened: the call.
            commands: its commands.
            text: the text of these.
        """
        if git_commands.MAY_COMMIT.search(text):
            opened.commits = git_commands.commit_requests(commands)
            opened.undoes_commit = git_commands.undoes_last_commit(commands)
            if git_commands.shows_commits(commands):
                opened.shows_commit = self._last_quiet
        self._last_quiet = None

    def note_result(
        self, opened: OpenCall, place: EventPlace, text: str, failed: bool | None
    ) -> None:
        """Note the commits that a call made, or that it may have made some and printed none.

        Args:
            opened: the call.
            place: where its result is.
            text: what it printed.
            failed: whether it failed; None: not stated.
        """
        if opened.shows_commit is not None:
            self._add_shown(opened.shows_commit, git_commands.shas_shown(text))

        lines = git_commands.commits_printed(opened.commits, text)
        for line, request in zip(lines, opened.requests(len(lines)), strict=True):
            commit = replace(
                _commit_printed(place, opened.key, line),
                called_at=opened.place.line,
                amends=request.amends or self._is_undone,
                folder=self._folder_number(opened, request),
            )
            self.noted.append((commit, opened))
        if failed:
            return

        if opened.commits:
            if not lines:
                self._note_quiet(opened, place, text)
            self._is_undone = False
        self._is_undone = self._is_undone or opened.undoes_commit

    def note_unrequested(self, place: EventPlace, call: int, text: str) -> None:
        """Note the commits in a result without its call, which is in another file, or follows."""
        for line in git_commands.commit_lines(text):
            self.noted.append((_commit_printed(place, call, line), None))

    def _note_quiet(self, opened: OpenCall, place: EventPlace, text: str) -> None:
        """Note that a call may have made a commit and printed none, and what it shows instead."""
        request = opened.requests(1)[0]
        commit = replace(
            commit_without_sha(opened, place),
            amends=request.amends or self._is_undone,
            folder=self._folder_number(opened, request),
        )
        self.noted.append((commit, opened))

        by_other_tool = any(request.by_other_tool for request in opened.commits)
        if by_other_tool or any(request.makes_one for request in opened.commits):
            self._last_quiet = len(self.noted) - 1
            shas = git_commands.shas_shown(text, anywhere=by_other_tool)
            self._add_shown(self._last_quiet, shas)

    def _add_shown(self, index: int, shas: Sequence[str]) -> None:
        """Note which commits are shown after one without a SHA, which may be one of them."""
        commit, opened = self.noted[index]
        self.noted[index] = (replace(commit, shown=(*commit.shown, *shas)), opened)

    def _folder_number(self, opened: OpenCall, request: git_commands.CommitRequest) -> int | None:
        """Return the number of the folder in which commits were made, where that is known."""
        if request.folder is None:
            return None
        named = expand_home(request.folder, [opened.folder])
        folder = posixpath.normpath(posixpath.join(opened.folder, named))
        return self._paths.number(folder) if folder.startswith("/") else None


def _commit_printed(place: EventPlace, call: int, line: git_commands.CommitLine) -> CommitMade:
    """Return a commit as git reports it, by the key of the call."""
    return CommitMade(
        *place,
        call=call,
        sha=line.sha[:_SHA_DIGITS],
        subject=key_of(line.subject),
        other_repository=line.branch.endswith(git_commands.ROOT_COMMIT),
    )
