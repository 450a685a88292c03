"""How a test run ended: by the summaries in its output, else by the exit status of its line.

``docs/TEST_TOOLS.md``, "The verdict", has the rules.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import NamedTuple

from scoring.evidence.commands.shown_output import FILTERS, PRINTED_WORD, leaves_failures
from scoring.evidence.commands.summary_forms import SummaryForm, any_form_in
from scoring.evidence.commands.testcommands import OWN_COMMANDS, TestCommand
from scoring.evidence.commands.tool_table import TestTool, ToolTable

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


class _Output(NamedTuple):
    """The output of a command line that ran tests.

    Attributes:
        text: what was printed, without colors, each line ended by a line feed.
        command: the line; None where it is not known.
        table: the test tools.
    """

    text: str
    command: TestCommand | None
    table: ToolTable


def verdict_of(
    command: TestCommand | None, output: str, failed: bool | None, table: ToolTable
) -> TestVerdict | None:
    """Return how a test run ended, or None where no test can have run.

    Args:
        command: the command line; None where the call is not known, only its result.
        output: what the line printed.
        failed: whether its exit status says so; None when it is not stated.
        table: the test tools.
    """
    text = _plain_text(output)
    succeeded = failed is False
    if not succeeded and table.refused.match(text):
        return None
    if command is not None and command.other_code == "last":
        return _UNKNOWN

    shown = _Output(text, command, table)
    tools = _tools_that_may_report(command, text, table)
    is_if_shown = (
        command is not None and command.tool != OWN_COMMANDS and table.tools[command.tool].if_shown
    )
    if is_if_shown:  # what runs any tasks says nothing about the tests among them
        tools = [tool for tool in tools if not tool.runs_any]
    ended_early = not succeeded and any_form_in(table.ended, text)

    failure = _summary(shown, tools, passed=False)
    success = None if ended_early else _summary(shown, tools, passed=True)

    if command is None:
        return failure or success or _UNKNOWN
    if not failure and not success and _was_not_reached(shown, command):
        return None
    if is_if_shown:
        return failure or success

    by_status = _by_status(shown, command, tools, None if ended_early else failed)
    is_contradictory = failure is not None and success is not None
    if failure and command.repeats_failed and _last_summary_passes(shown, tools):
        is_contradictory = True
    may_be_of_others = command.hooks != "" or command.repeats_failed
    if command.other_code or command.hooks == "before" or (is_contradictory and may_be_of_others):
        return by_status

    verdict = failure or success or by_status
    if _contradict(verdict, by_status):
        return _reported_by_tools_themselves(shown, command, verdict)
    return verdict


def _plain_text(output: str) -> str:
    text = _TERMINAL_CODE.sub("", output) if "\x1b" in output else output
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _was_not_reached(output: _Output, command: TestCommand) -> bool:
    """Return whether the ``cd`` before the tests failed, or what should start them did."""
    if command.after_cd and _CD_FAILED.search(output.text):
        return True
    return command.is_wrapped and any_form_in(output.table.no_wrapper, output.text)


def _tools_that_may_report(
    command: TestCommand | None, text: str, table: ToolTable
) -> list[TestTool]:
    """Return the tools that may have printed a summary.

    Where the line may run any tool, an output without a line like a summary has none of them.
    """
    if command is not None:
        names = command.tools or (command.tool,)
        if not any(name == OWN_COMMANDS or table.tools[name].runs_any for name in names):
            return [table.tools[name] for name in names]

    if table.any_summary.search(text):
        return list(table.tools.values())
    return []


def _contradict(verdict: TestVerdict, by_status: TestVerdict) -> bool:
    return by_status.passed is not None and by_status.passed != verdict.passed


def _reported_by_tools_themselves(
    output: _Output, command: TestCommand, verdict: TestVerdict
) -> TestVerdict:
    """Return a verdict that the status contradicts, if a tool of the line itself reports it.

    A summary of one part says nothing about what runs that part.
    """
    tools = [output.table.tools[name] for name in command.tools if name != OWN_COMMANDS]
    is_reported = _summary(output, tools, passed=verdict.passed is True) is not None
    return verdict if is_reported else _UNKNOWN


def _by_status(
    output: _Output, command: TestCommand, tools: Sequence[TestTool], failed: bool | None
) -> TestVerdict:
    """Return what the exit status says, where nothing but the run can have set it."""
    if failed is None:
        return _UNKNOWN

    if failed:
        if command.proof.of_failure and not any_form_in(output.table.unstarted, output.text):
            return TestVerdict(False)
        return _UNKNOWN

    ran_no_test = any(any_form_in(tool.empty, output.text) for tool in tools)
    if command.proof.of_success and not ran_no_test:
        return TestVerdict(True)
    return _UNKNOWN


def _summary(output: _Output, tools: Iterable[TestTool], *, passed: bool) -> TestVerdict | None:
    """Return what the summaries of passing, or of failing, runs say.

    Return None where they have no summaries.

    Where several tools have one, that with the most numbers counts.
    """
    verdict: TestVerdict | None = None
    most_numbers = -1

    for tool in tools:
        if not _has_summary(output, tool, passed=passed):
            continue

        counted = _counted(output, tool, passed=passed)
        numbers = sum(number is not None for number in counted[1:])
        if numbers > most_numbers:
            verdict = counted
            most_numbers = numbers
    return verdict


def _last_summary_passes(output: _Output, tools: Iterable[TestTool]) -> bool:
    """Return whether the last summary of an output is that of a run that passed."""
    last_passing = -1
    last_failing = -1
    for tool in tools:
        for form in tool.passing:
            for line in islice(form.lines_in(output.text), 1):
                last_passing = max(last_passing, line.start)
        for form in tool.failing:
            for line in islice(form.lines_in(output.text), 1):
                last_failing = max(last_failing, line.start)
    return last_passing > last_failing


def _has_summary(output: _Output, tool: TestTool, *, passed: bool) -> bool:
    """Return whether an output has a summary of a tool that can only be that of the run."""
    forms = tool.summaries(passed=passed)
    if not any(form.text in output.text for form in forms):
        return False
    if not _may_be_believed(output, tool, passed=passed):
        return False
    return any(_has_form(output, tool, form, passed=passed) for form in forms)


def _may_be_believed(output: _Output, tool: TestTool, *, passed: bool) -> bool:
    """Return whether nothing else prints such a summary, and nothing cut one off."""
    command = output.command
    if command is None:
        return True
    if not passed:
        return command.shown.own_failures
    if not command.shown.own_passes:
        return False

    if not tool.sums:
        return True
    failures = [form.text for form in tool.failing]
    return all(leaves_failures(words, output.text, failures) for words in command.readers)


def _has_form(output: _Output, tool: TestTool, form: SummaryForm, *, passed: bool) -> bool:
    """Return whether a line of an output has a form, and may have it under the form's condition."""
    command = output.command
    readers = () if command is None else command.readers
    if form.condition == "filtered" and not any(words[0] in FILTERS for words in readers):
        return False

    is_of_program = form.condition in ("sole", "named")
    is_sole = command is not None and tool.name not in command.other_tools
    names_test_suffices = form.condition == "named"

    lines: Iterable[str] = (line.text.strip() for line in form.lines_in(output.text))
    if passed and command is not None:
        lines = _lines_of_runs_alone(lines, command)

    for line in lines:
        if not is_of_program or is_sole or (names_test_suffices and "test" in line.lower()):
            if passed or not is_of_program:
                return True
            return not any_form_in(output.table.unstarted, output.text)
    return False


def _lines_of_runs_alone(lines: Iterable[str], command: TestCommand) -> Iterator[str]:
    """Yield the lines that no other command of the line can have printed by its words."""
    for line in islice(lines, _COMPARED_LINE_LIMIT):
        words = set(PRINTED_WORD.findall(line))
        if not any(words.issubset(printed) for printed in command.shown.printed_words):
            yield line


def _counted(output: _Output, tool: TestTool, *, passed: bool) -> TestVerdict:
    """Return a verdict with the numbers of tests, as far as the summaries of a tool state them."""
    readers = () if output.command is None else output.command.readers
    may_be_cut = any(words[0] not in _LEAVE_ALL for words in readers)
    if tool.sums and may_be_cut:
        return TestVerdict(passed)

    lines = _lines_with_numbers(output.text, tool, passed=passed)
    numbers = {key: _number(pattern, lines) for key, pattern in tool.numbers.items()}
    passed_tests = numbers.get("passed")
    failed_tests = numbers.get("failed")
    total = numbers.get("total")

    if passed_tests is None and total is not None and (passed or failed_tests is not None):
        skipped = numbers.get("skipped") or 0
        passed_tests = max(0, total - (failed_tests or 0) - skipped)

    if passed:
        return TestVerdict(True, passed_tests, None if passed_tests is None else 0)
    # Where no test failed, the run did.
    return TestVerdict(False, passed_tests, failed_tests or None)


def _lines_with_numbers(text: str, tool: TestTool, *, passed: bool) -> list[str]:
    """Return the lines with numbers that count: the last of each form, all where a tool sums up."""
    lines: dict[int, str] = {}
    for form in (*tool.summaries(passed=passed), *tool.counting):
        lines.update(islice(form.lines_in(text), None if tool.sums else 1))
    return list(lines.values())


def _number(pattern: re.Pattern[str], lines: Iterable[str]) -> int | None:
    """Return the sum of what a pattern finds.

    A word counts 1. Return None where the pattern finds nothing.
    """
    total: int | None = None
    for line in lines:
        for match in pattern.finditer(line):
            for group in match.groups():
                if group:
                    number = int(group[:_DIGIT_LIMIT]) if group.isdecimal() else 1
                    total = (total or 0) + number
    return total
