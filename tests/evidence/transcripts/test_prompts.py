"""What a prompt says of the work before it; every form that fires has a twin that does not."""

import pytest
from helpers import tables
from helpers.harness_lines import cases
from helpers.timing import is_linear

from scoring.evidence.transcripts.prompts import (
    HEAD_LIMIT,
    LONG_LIMIT,
    OWN_LIMIT,
    asks,
    goes_on,
    said_in,
)

OUTPUT = "src/boat.py:12:4: undefined name 'oar'\nerror: 1 problem"
REVIEW = (
    "The function `row_boat` always returns true, even where the oar is missing. "
    "This can lead to boats that drift away silently. The check belongs in front of the loop, "
    "with the early return that the rudder has as well."
)


@pytest.mark.parametrize(
    ("prompt", "twin"),
    [
        *tables.cases("prompts", "wrong"),
        pytest.param(
            f"It still crashes:\n{OUTPUT}",
            f"Here is the log:\n{OUTPUT}",
            id="behind what was pasted",
        ),
        pytest.param(
            "404 Not Found\nThere isn't a boat here.\n\nIt still fails.",
            "404 Not Found\nThere isn't a boat here.",
            id="behind a page that was pasted",
        ),
        pytest.param(
            "<html>\n<p>The map isn't right</p></html>\nThe map isn't right",
            "<html>\n<p>The map isn't right</p></html>",
            id="behind HTML that was pasted",
        ),
        pytest.param(
            "The spacing feels off",
            "Something feels off",
            id="a feeling only about something",
        ),
        pytest.param(
            "no, I meant the other boat",
            "I meant the other boat",
            id="not what was only put in other words",
        ),
        pytest.param(
            "that is wrong. " + "x " * OWN_LIMIT,
            "x " * OWN_LIMIT + ". That is wrong.",
            id="at the beginning",
        ),
        pytest.param(
            "x " * LONG_LIMIT + ". That is wrong.",
            "x " * HEAD_LIMIT + "\nThat is wrong.",
            id="in a short prompt",
        ),
    ],
)
def test_says_that_the_work_is_wrong(prompt: str, twin: str) -> None:
    assert said_in(prompt) == "wrong"
    assert said_in(twin) != "wrong"


@pytest.mark.parametrize("prompt", tables.cases("prompts", "of no person"))
def test_is_no_prompt_of_a_person(prompt: str) -> None:
    assert said_in(prompt) is None


def test_is_what_stands_behind_the_words_of_a_harness() -> None:
    assert (
        said_in(
            "<ide_opened_file>The user opened a.py, no wait</ide_opened_file>\nthat is wrong"
        )
        == "wrong"
    )
    assert (
        said_in(
            "# Context from my IDE setup:\n\nstop\n\n## My request for Codex:\nthat is wrong"
        )
        == "wrong"
    )
    assert (
        said_in(
            "# Context from my IDE setup:\n\nthat is wrong\n\n## My request for Codex:\ngo on"
        )
        is None
    )


@cases(
    "prompt, twin",
    {
        "output": (OUTPUT, "an undefined name, one problem"),
        "a shell": ("$ make sail\nnothing to do", "make sail, please"),
        "a traceback": (
            'Traceback (most recent call last):\n  File "a.py", line 3',
            "trace it back",
        ),
        "code with output": (f"see\n```\n{OUTPUT}\n```", "see\n```\nboat = 1\n```"),
        "a review": (REVIEW, f"I think that {REVIEW}"),
        "a review, led in": (
            f"can you fix this: {REVIEW}",
            f"can you fix this: I think {REVIEW}",
        ),
        "feedback": ("I got this feedback: that is wrong", "I want feedback, go on"),
    },
)
def test_is_a_report(prompt: str, twin: str) -> None:
    assert said_in(prompt) == "report"
    assert said_in(twin) is None


@pytest.mark.parametrize("prompt", tables.cases("prompts", "other languages"))
def test_in_another_language_is_not_known(prompt: str) -> None:
    assert said_in(prompt) == "foreign"


@pytest.mark.parametrize(("reason", "expected"), tables.cases("prompts", "asks"))
def test_asks(reason: str, expected: bool) -> None:
    assert asks(reason) is expected


@pytest.mark.parametrize(
    ("prompt", "expected"),
    [
        ("continue", True),
        ("Go on.", True),
        ("ok, please continue from where you left off", True),
        ("sorry, go ahead with that", True),
        ("continue, but use tabs", False),
        ("go on with the sails instead", False),
        ("why did you continue", False),
        ("", False),
    ],
)
def test_goes_on(prompt: str, expected: bool) -> None:
    assert goes_on(prompt) is expected


@pytest.mark.parametrize(
    "part",
    [
        "no ",
        "<a-b>",
        "```",
        '"' * 3,
        "a:b",
        " is really",
        "you got a ",
        "# context ",
        "still ",
        "\n",
        "\n> no ",
    ],
)
def test_takes_no_long_time(part: str) -> None:
    assert is_linear(said_in, part, HEAD_LIMIT // 2)
