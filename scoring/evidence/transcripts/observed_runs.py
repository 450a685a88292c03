"""The runs of tests in one transcript: docs/EVIDENCE.md, "Observations"."""

from collections.abc import Sequence

from msgspec.structs import replace

from scoring.evidence.commands.shell_command import ShellCommand
from scoring.evidence.commands.tested_code import leaves_stash
from scoring.evidence.commands.testruns import TestTools
from scoring.evidence.commands.testverdicts import TestVerdict, verdict_of
from scoring.evidence.transcripts.edits import PathTexts
from scoring.evidence.transcripts.events import TestRun
from scoring.evidence.transcripts.open_calls import EventPlace, OpenCall

_NOTHING_TO_STASH = "No local changes to save"


class ObservedRuns:
    """The runs of tests that are seen in one transcript.

    Attributes:
        noted: the runs with a result, each with its call, or None where that is in another file.
    """

    def __init__(self, tools: TestTools, paths: PathTexts) -> None:
        """Begin a transcript, with the test tools and the texts that are noted in it."""
        self.noted: list[tuple[TestRun, OpenCall | None]] = []
        self._tools = tools
        self._paths = paths
        self._is_stashed = False  # whether an earlier call left the work in a stash

    def note_edit(self) -> None:
        """Note that a file is edited: what is done after a stash is the work now."""
        self._is_stashed = False

    def note_command(self, opened: OpenCall, commands: Sequence[ShellCommand], text: str) -> None:
        """Note in a call which tests its commands run, by these and their text."""
        if self._tools.may_run(text):
            opened.run = self._tools.run_of(commands, text, stashed=self._is_stashed)
        if "stash" in text:
            opened.leaves_stash = leaves_stash(commands)

    def note_result(
        self, opened: OpenCall, place: EventPlace, text: str, failed: bool | None
    ) -> None:
        """Note how the tests of a call ended.

        Args:
            opened: the call.
            place: where its result is.
            text: what it printed.
            failed: whether it failed; None: not stated.
        """
        if opened.run:
            verdict = verdict_of(opened.run, text, failed)
            if verdict:
                if opened.run.folder is None:
                    verdict = TestVerdict()  # it is not known which code was tested
                run = replace(
                    _run_ended(place, opened.key, verdict),
                    command=self._paths.number(opened.run.label),
                    called_at=opened.place.line,
                    follows_commit=opened.run.follows_commit,
                )
                self.noted.append((run, opened))
        if opened.leaves_stash is not None and not failed:
            self._is_stashed = opened.leaves_stash and _NOTHING_TO_STASH not in text

    def note_printed(self, opened: OpenCall, text: str) -> None:
        """Note what a call printed that still runs: tests that have failed will not pass."""
        if opened.run is None:
            return
        verdict = verdict_of(opened.run, text, None)
        if verdict and verdict.passed is False:
            opened.has_failed = True

    def note_unrequested(self, place: EventPlace, call: int, text: str) -> None:
        """Note the run in a result without its call, which is in another file, or follows."""
        verdict = verdict_of(None, text, None)
        if verdict and verdict.passed is not None:
            self.noted.append((_run_ended(place, call, verdict), None))


def _run_ended(place: EventPlace, call: int, verdict: TestVerdict) -> TestRun:
    """Return a run with its verdict, by the key of the call."""
    return TestRun(
        *place,
        call=call,
        passed=verdict.passed,
        passed_tests=verdict.passed_tests,
        failed_tests=verdict.failed_tests,
    )
