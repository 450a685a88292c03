"""A check as the files that builds show: JUnit XML, and Markdown for a summary."""

import re
from collections.abc import Sequence
from xml.etree import ElementTree

from scoring.text import as_utf8, counted, cut, visible
from scoring.views.table import Lines, band_text, number

from . import Checked, Failure, Verdict

_MOST_ROWS = 500
"""Rows of a table in a summary; GitHub shows no summary of more than 1 MiB."""

_LONGEST = 300  # characters of a text in a summary, and of a name in XML

_LINK = re.compile(r"://|@|www\.", re.IGNORECASE)
"""What a page turns into a link by itself. A comment inside prevents that, and shows nothing."""


def junit(verdict: Verdict, log: str) -> bytes:
    """Return a check as JUnit XML: a test case for each iteration, and one for the whole log."""
    failing = sum(bool(checked.failures) for checked in verdict.iterations)
    attributes = {
        "name": "da-score check",
        "tests": str(len(verdict.iterations) + 1),
        "failures": str(failing + bool(verdict.whole)),
        "errors": "0",
        "skipped": "0",
    }
    suite = ElementTree.Element("testsuite", attributes)
    for checked in verdict.iterations:
        name = f"iteration {checked.iteration}"
        if checked.task_id:
            name += f" ({cut(checked.task_id, _LONGEST)})"
        _add_test_case(suite, log, name, checked.failures, checked.notes)
    _add_test_case(suite, log, "the log as a whole", verdict.whole, verdict.notes)

    suites = ElementTree.Element("testsuites", suite.attrib)
    suites.append(suite)
    ElementTree.indent(suites)
    return (
        bytes(ElementTree.tostring(suites, encoding="utf-8", xml_declaration=True))
        + b"\n"
    )


def _add_test_case(
    suite: ElementTree.Element,
    log: str,
    name: str,
    failures: Sequence[Failure],
    notes: Sequence[str],
) -> None:
    """Add a test case: all failures in one element, which states the first, and the notes."""
    case = ElementTree.SubElement(
        suite, "testcase", classname=xml_text(log), name=xml_text(name), time="0"
    )
    if failures:
        first = failures[0]
        element = ElementTree.SubElement(
            case, "failure", message=xml_text(first.reason), type=first.gate
        )
        lines = [f"{failure.gate}: {failure.reason}" for failure in failures]
        element.text = xml_text("\n".join(lines))
    if notes:
        ElementTree.SubElement(case, "system-out").text = xml_text("\n".join(notes))


def xml_text(text: str) -> str:
    """Return text that XML can hold, with escapes for other characters and invisible ones."""
    return "\n".join(visible(as_utf8(line)) for line in text.split("\n"))


def markdown(verdict: Verdict, log: str) -> str:
    """Return a check as Markdown, for a page that shows a build's summary."""
    count = len(verdict.iterations)
    head = "passed"
    if not verdict.passed:
        head = f"failed for {counted(len(verdict.failures), 'reason')}"
    mean = "none" if verdict.mean is None else f"{verdict.mean:.3f}"

    lines = [
        f"## da-score check: {head}",
        "",
        f"Log <code>{markdown_text(log)}</code>, {counted(count, 'iteration')}, mean {mean}.",
    ]
    if verdict.looked_at:
        lines.append(f"Work: {verdict.looked_at}.")
    lines += [f"Note: {markdown_text(note)}." for note in verdict.notes]
    lines.append("")

    failures = verdict.failures
    if failures:
        lines += ["| iteration | gate | reason |", "| ---: | --- | --- |"]
        for failure in failures[:_MOST_ROWS]:
            which = failure.whole if failure.iteration is None else failure.iteration
            lines.append(
                f"| {which} | {failure.gate} | {markdown_text(failure.reason)} |"
            )
        lines += ["", *_left_out(len(failures), "failures")]

    lines += [
        "<details><summary>Iterations</summary>",
        "",
        "| iteration | task | score | band | |",
        "| ---: | --- | ---: | --- | --- |",
        *map(_iteration_row, verdict.iterations[-_MOST_ROWS:]),
        "",
        *_left_out(count, "older iterations"),
        "</details>",
        "",
    ]
    return "\n".join(lines)


def _iteration_row(checked: Checked) -> str:
    """Return the row of a Markdown table for an iteration."""
    task = markdown_text(checked.task_id)
    score = number(checked.score.value, checked.score.scored)
    band = markdown_text(band_text(checked.score.band))
    result = "fails" if checked.failures else markdown_text("; ".join(checked.notes))
    return f"| {checked.iteration} | {task} | {score} | {band} | {result} |"


def _left_out(count: int, what: str) -> Lines:
    if count > _MOST_ROWS:
        yield f"and {count - _MOST_ROWS} more {what}"
        yield ""


def markdown_text(text: str) -> str:
    """Return text that a Markdown table shows as it is: no mark-up, no entity, and no link."""
    safe = cut(visible(as_utf8(text)), _LONGEST)
    safe = safe.replace("\\", "\\\\").replace("&", "&amp;")
    for mark in "|`*_[]":
        safe = safe.replace(mark, f"\\{mark}")
    for mark in "<>":
        safe = safe.replace(mark, f"&#{ord(mark)};")
    return _LINK.sub(_without_link, safe)


def _without_link(match: re.Match[str]) -> str:
    """Return what begins a link, with a comment in it that prevents the link."""
    text = match[0]
    if text == "@":
        return "<!-- -->@"
    return f"{text[:-1]}<!-- -->{text[-1]}"
