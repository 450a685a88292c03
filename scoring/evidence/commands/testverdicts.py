"""How a test run ended: by the summaries in its output, else by the exit status of its line.

``docs/TEST_TOOLS.md``, "The verdict", has the rules.
"""

import re
from collections.abc import Iterable, Sequence
from itertools import chain, islice
from typing import NamedTuple

from .shown_output import FILTERS, PRINTED_WORD, leaves_failures
from .testruns import TestCommand
from .tool_table import (
    SummaryForm,
    TestTool,
    any_form_in,
    last_start,
    tool_table,
)

_COMPARED_LINE_LIMIT = 100
"""How many lines of an output are compared with what other commands print, the last ones."""

_LEAVE_ALL = ("tee", "cat")
"""Readers of an output that never cut it."""

_TERMINAL_CODE = re.compile(r"\x1b\[[0-?]*+[ -/]*+[@-~]?")
_CD_FAILED = re.compile(
    r"^[^\n]{0,100}\bcd:[^\n]{0,300}(?:no such file|not a directory|permission)",
    re.MULTILINE | re.IGNORECASE,
)
_DIGIT_LIMIT = 9  # of a number of tests


class TestVerdict(NamedTuple):
    """How a test run ended.

    Attributes:
        passed: whether it passed; None when nothing says so.
        passed_tests: how many tests passed; None when it is not stated.
        failed_tests: how many tests failed; None when it is not stated.
    """

    passed: bool | None = None
    passed_tests: int | None = None
    failed_tests: int | None = None


_UNKNOWN = TestVerdict()


def verdict_of(
    command: TestCommand | None, output: str, failed: bool | None
) -> TestVerdict | None:
    """Return how a test run ended, or None where no test can have run.

    Args:
        command: the command line; None where the call is not known, only its result.
        output: what the line printed.
        failed: whether its exit status says so; None when it is not stated.
    """
    table = tool_table()
    text = _TERMINAL_CODE.sub("", output).replace("\r\n", "\n").replace("\r", "\n")
    succeeded = failed is False
    if not succeeded and table.refused.match(text):
        return None
    if command and command.other_code == "last":
        return _UNKNOWN

    tools = _tools_that_may_report(text, command)
    counts_if_shown = command is not None and table.tools[command.tool].if_shown
    if counts_if_shown:  # what runs any tasks says nothing about the tests among them
        tools = [tool for tool in tools if not tool.runs_any]
    ended_early = not succeeded and any_form_in(table.ended, text)

    failure = _summary(text, command, tools, passed=False)
    success = None if ended_early else _summary(text, command, tools, passed=True)
    verdict = failure or success

    if command is None:
        return verdict or _UNKNOWN
    if verdict is None and _was_not_reached(text, command):
        return None
    if counts_if_shown:
        return verdict

    by_status = _by_status(text, command, tools, None if ended_early else failed)
    if verdict is None or command.other_code or command.hooks == "before":
        return by_status
    if command.hooks or command.repeats_failed:
        # Where it repeats a run, a failure may be that of the first, and a pass is the last.
        if success and failure:
            return by_status
        if failure and command.repeats_failed and _last_passed(text, tools):
            return by_status
    if by_status.passed in (None, verdict.passed):
        return verdict

    # A summary of one part says nothing about what runs that part.
    tools = [table.tools[name] for name in command.tools]
    if _summary(text, command, tools, passed=verdict.passed is True):
        return verdict
    return _UNKNOWN


def _was_not_reached(text: str, command: TestCommand) -> bool:
    """Return whether an output says that what comes before the test run failed instead of it."""
    if command.after_cd and _CD_FAILED.search(text):
        return True
    return command.is_wrapped and any_form_in(tool_table().no_wrapper, text)


def _last_passed(text: str, tools: Sequence[TestTool]) -> bool:
    """Return whether the last line like a summary of some tools is one of a run that passed."""
    passing = chain.from_iterable(tool.passing for tool in tools)
    failing = chain.from_iterable(tool.failing for tool in tools)
    return last_start(passing, text) > last_start(failing, text)


def _tools_that_may_report(text: str, command: TestCommand | None) -> list[TestTool]:
    """Return the tools that may have printed a summary.

    Where the line may run any tool, an output without a line like a summary has none of them.
    """
    table = tool_table()
    if command:
        tools = [table.tools[name] for name in command.tools]
        if not any(tool.runs_any for tool in tools):
            return tools

    if table.any_summary.search(text):
        return list(table.tool)
    return []


def _by_status(
    text: str, command: TestCommand, tools: Iterable[TestTool], failed: bool | None
) -> TestVerdict:
    """Return what the exit status says, where nothing but the run can have set it."""
    if (
        failed
        and command.proof.of_failure
        and not any_form_in(tool_table().unstarted, text)
    ):
        return TestVerdict(False)

    if failed is False and command.proof.of_success:
        ran_no_test = any(any_form_in(tool.empty, text) for tool in tools)
        if not ran_no_test:
            return TestVerdict(True)
    return _UNKNOWN


def _summary(
    text: str, command: TestCommand | None, tools: Iterable[TestTool], *, passed: bool
) -> TestVerdict | None:
    """Return what the summaries of passing, or else of failing, runs say; None without any.

    Where several tools have one, that with the most numbers counts. None counts that something else
    than the test runs of the line may have printed.
    """
    if command:
        shown = command.shown
        are_own = shown.own_passes if passed else shown.own_failures
        if not are_own:
            return None

    verdicts = []
    for tool in tools:
        summaries = _Summaries(text, command, tool, passed)
        if summaries.has_any():
            verdicts.append(summaries.counted())
    return min(verdicts, key=lambda verdict: verdict.count(None), default=None)


class _Summaries(NamedTuple):
    """The summaries of one tool in an output.

    Attributes:
        text: what was printed, without colors, each line ended by a line feed.
        command: the line; None where it is not known.
        tool: the tool.
        passed: whether they are those of runs that passed, or of those that failed.
    """

    text: str
    command: TestCommand | None
    tool: TestTool
    passed: bool

    @property
    def _forms(self) -> tuple[SummaryForm, ...]:
        """The forms of summaries that the tool prints of such runs."""
        if self.passed:
            return self.tool.passing
        return self.tool.failing

    @property
    def _readers(self) -> tuple[tuple[str, ...], ...]:
        """The words of the commands that read the output of the run."""
        if self.command:
            return self.command.readers
        return ()

    def has_any(self) -> bool:
        """Return whether there is one that can only be that of the run."""
        if (
            self.passed and self.tool.sums
        ):  # then what reads the output may hide a failure
            failures = [form.text for form in self.tool.failing]
            for words in self._readers:
                if not leaves_failures(words, self.text, failures):
                    return False
        return any(map(self._has_form, self._forms))

    def _has_form(self, form: SummaryForm) -> bool:
        """Return whether a line has a form, and may have it under the form's condition."""
        command = self.command
        if form.condition == "filtered" and not any(
            words[0] in FILTERS for words in self._readers
        ):
            return False

        is_of_program = form.condition in ("sole", "named")
        is_sole = command is not None and self.tool.name not in command.other_tools

        # what other commands of the line may have printed by their words
        printed: list[frozenset[str]] = []
        line_limit = None
        if self.passed and command is not None:
            printed = command.shown.printed_words
            line_limit = _COMPARED_LINE_LIMIT

        for _, line in islice(form.lines_in(self.text), line_limit):
            words = set(PRINTED_WORD.findall(line))
            if any(words.issubset(other) for other in printed):
                continue

            names_test = form.condition == "named" and "test" in line.lower()
            if not is_of_program or is_sole or names_test:
                # such a failure may also say that the program is not there
                if self.passed or not is_of_program:
                    return True
                return not any_form_in(tool_table().unstarted, self.text)
        return False

    def counted(self) -> TestVerdict:
        """Return a verdict with the numbers of tests, as far as the summaries state them."""
        may_be_cut = any(words[0] not in _LEAVE_ALL for words in self._readers)
        if self.tool.sums and may_be_cut:
            return TestVerdict(self.passed)

        # The last line of each form counts, and all of them where a tool sums up.
        by_start: dict[int, str] = {}
        for form in (*self._forms, *self.tool.counting):
            by_start.update(
                islice(form.lines_in(self.text), None if self.tool.sums else 1)
            )

        lines = by_start.values()
        passed_tests = _number(self.tool.passed, lines)
        failed_tests = _number(self.tool.failed, lines)
        total = _number(self.tool.total, lines)
        is_known = self.passed or failed_tests is not None
        if passed_tests is None and total is not None and is_known:
            skipped = _number(self.tool.skipped, lines) or 0
            passed_tests = max(0, total - (failed_tests or 0) - skipped)

        if self.passed:
            return TestVerdict(True, passed_tests, None if passed_tests is None else 0)
        # Where no test failed, the run did.
        return TestVerdict(False, passed_tests, failed_tests or None)


def _number(pattern: re.Pattern[str] | None, lines: Iterable[str]) -> int | None:
    """Return the sum of what a pattern finds.

    A word counts 1. Return None where the pattern finds nothing.
    """
    if pattern is None:
        return None

    total: int | None = None
    for line in lines:
        for match in pattern.finditer(line):
            for group in match.groups():
                if group:
                    number = int(group[:_DIGIT_LIMIT]) if group.isdecimal() else 1
                    total = (total or 0) + number
    return total
