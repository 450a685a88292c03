"""The lines that test tools print about their runs: how a form of them is found in an output."""

import re
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import NamedTuple

_LINE_LIMIT = 1000
"""How many characters of a line are read after those that a form matches."""

LABEL = r"(?:\[[\w:./@-]+\] )"
"""What a runner of tasks puts before each line of a task, such as ``[test] ``."""

_LABEL = re.compile(LABEL)


class SummaryForm(NamedTuple):
    """A line that a tool prints about a run.

    Attributes:
        text: what is in the line, which is looked for first.
        pattern: matches the beginning of the line, or what follows the label of a task there.
        condition: when the line counts: "" always; "sole" where no other command of the line runs
            the same program; "named" also where it names a test; "filtered" after a filter.
    """

    text: str
    pattern: re.Pattern[str]
    condition: str = ""

    def lines_in(self, output: str) -> Iterator["OutputLine"]:
        """Yield the lines of an output that have this form, the last one first.

        No line is looked at twice, so the time is linear.
        """
        end = len(output)
        hit = output.rfind(self.text, 0, end)
        while hit >= 0:
            start = output.rfind("\n", 0, hit) + 1
            match = self.pattern.match(output, start)
            label = None if match else _LABEL.match(output, start)
            if label:
                match = self.pattern.match(output, label.end())
            if match:
                limit = match.end() + _LINE_LIMIT
                line_end = output.find("\n", match.end(), limit)
                if line_end < 0:
                    line_end = limit
                yield OutputLine(start, output[start:line_end])

            if start == 0:
                return
            end = start - 1
            hit = output.rfind(self.text, 0, end)


class OutputLine(NamedTuple):
    """A line of an output: the index of its first character, and its text."""

    start: int
    text: str


def any_form_in(forms: Iterable[SummaryForm], output: str) -> bool:
    """Return whether an output has a line of one of some forms."""
    return last_start(forms, output) >= 0


def last_start(forms: Iterable[SummaryForm], output: str) -> int:
    """Return where the last line begins that has one of some forms, or -1 without one."""
    last = -1
    for form in forms:
        for line in islice(form.lines_in(output), 1):
            last = max(last, line.start)
    return last
