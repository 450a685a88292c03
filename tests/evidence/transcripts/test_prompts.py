"""What a prompt says of the work before it; every form that fires has a twin that does not."""

import pytest
from helpers.harness_lines import cases
from helpers.timing import is_linear

from scoring.evidence.transcripts.prompts import HEAD_LIMIT, LONG_LIMIT, OWN_LIMIT, asks, said_in

OUTPUT = "src/boat.py:12:4: undefined name 'oar'\nerror: 1 problem"
REVIEW = (
    "The function `row_boat` always returns true, even where the oar is missing. This can lead to boats that drift "
    "away silently. The check belongs in front of the loop, with the early return that the rudder has as well."
)


@cases(
    "prompt, twin",
    {
        "is wrong": ("That's wrong.", "Is that wrong?"),
        "is wrong, and a question": ("that's wrong, can you look?", "that's wrong, right?"),
        "is wrong, with an aside": ("that's wrong (the mast)", "see the mast (that's wrong) there"),
        "not no, wait": ("No, stop", "No wait, this was a new boat"),
        "is not right": ("hmm, the map isn't right", "say so when the map isn't right"),
        "without an apostrophe": ("thats not what i asked for", "that is what i asked for"),
        "no, and what instead": ("No, not this one", "No, not yet"),
        "no, ignore": ("No, ignore the second file", "no, go on"),
        "stop": ("Stop!", "Stop here for today"),
        "was missed": ("you missed two of the boats", "in case you missed it: two boats are new"),
        "was left out": ("and you didn't run the tests", "if you didn't run the tests, do"),
        "was removed": ("You removed the anchor", "The anchor you removed was old"),
        "makes no sense": ("the name doesn't make sense", "does the name make sense?"),
        "is off": ("ok, but the numbers are off", "the lights are off"),
        "is too much": ("this is way too complicated", "this is too bad"),
        "is no good": ("but globals are not great either", "globals are great"),
        "is disliked": ("I don't like the new layout", "I like the new layout"),
        "is in the wrong place": ("It went to the wrong folder", "check that it never goes to the wrong folder"),
        "was not asked for": ("I didn't ask for a readme", "What did I ask for?"),
        "was meant": ("I am talking about the blue one", "what would have been meant by it"),
        "is to be undone": ("can you please revert this", "should we revert this?"),
        "is to be undone again": ("Undo the last edit", "write an undo button"),
        "is to be as before": ("let's go back to the old way", "let's go back to main"),
        "is to be removed again": ("can you remove the flag again?", "can you remove the flag?"),
        "not what worked": ("it worked before", "this is the one that worked before"),
        "does not work": ("it doesn't work", "make sure it doesn't work twice"),
        "does not show": ("the list doesn't show the oars", "boat list does not show the oars. Tell me why"),
        "is so, not was": ("this is not blue", "the lake was the issue, that was not blue"),
        "still fails": ("The upload still fails", "tell me whether the upload still fails"),
        "is failing": ("unit tests are failing", "fix the tests that are failing on main"),
        "broke": ("This broke the login", "look at what broke"),
        "a command fails": ('"make sail" fails', 'what is "make sail" for'),
        "has broken": ("the rename has broken our anchors", "I have broken the mast"),
        "goes on": ("it is still loading it twice", "it is still worth a try"),
        "a failure": ("argh, we have a test failure", "what if we have a test failure"),
        "in a list": ("1. lint failing\n2. paint the hull", "why is lint failing"),
        "not expected": ("I wouldn't expect an oar there", "what would you not expect there"),
        "not believed to work": ("I don't think this is working as it should", "I do think this is working"),
        "is to be removed again, in many words": (
            "can you remove the not so useful sail tests again",
            "can you remove the not so useful sail tests",
        ),
        "the same again": ("same error again", "the same again for the other boat"),
        "why it goes on": ("Why are you still rowing?", "Why did you choose Rust?"),
        "what is going on": ("what are you doing??", "what are you able to do?"),
        "no, it is so": ("No, the mast is on the left", "no, that is fine"),
        "was done twice": ("you attached it twice", "once you attached it twice, go on"),
        "is ignored": ("you are still ignoring the map", "are you still ignoring the map?"),
        "is out of date": ("you have old data", "do you have old data?"),
        "was thought of otherwise": ("but I thought we sail at noon?", "so I had a thought"),
        "should have": ("it should have been blue", "it should have rounded corners"),
        "is no longer so": ("there is no harbour there anymore", "is there no harbour anymore?"),
        "none has it": ("I looked, and none of the boats has a flag", "none at all, thanks"),
        "is not found": ("I couldn't find the anchor", "could you find the anchor"),
        "should not be here": ("it shouldn't be here", "make sure that it shouldn't be here"),
        "should be instead": ("it should be a sail instead", "should it be a sail instead?"),
        "was done for it": ("you painted the oar instead of the mast", "paint the oar instead of the mast"),
        "was better": ("the flag was better before", "was the flag better before?"),
        "is not quite": ("not quite", "not yet"),
        "against what was said": ("you said that it floats but it sinks", "you said that it floats"),
        "even": ("did you not row at all?", "did you row"),
        "went away": ("what happened to the flag?", "I am sure this happened, flags got deleted"),
        "remove it": ("remove that", "remove the oar"),
        "start over": ("let's start over", "start the boat"),
        "is not wanted": ("I don't want that", "I don't want you to wait"),
        "made errors": ("That resulted in two new errors", "it made two new boats"),
        "is lost": ("looks like we lost the flag", "have we lost the flag?"),
        "cannot be read": ("can't read them", "can I read them"),
        "has not been done": ("the flag has not been updated", "what has not been updated"),
        "is almost so": ("Almost right, the oar is left", "is it almost right?"),
        "is known": ("this is not working", "of course this is not working"),
        "was on the wrong branch": ("it went to the wrong branch", "I was on the wrong branch"),
        "is asked for politely": ("it seems it's not working", "can you tell me why? it seems it's not working"),
        "is a maybe": ("the mast is bad", "maybe the mast is bad"),
        "is what the person thinks of": ("the mast is bad", "I still think the mast is bad"),
        "is what a question is about": ("the mast is failing", "why is it slow? the mast is failing"),
        "is the person's own trial": ("I ran it and got nothing", "I tried to add an oar, and the boat is broken"),
        "is not new": ("there is still one problem", "there is another problem"),
        "hangs": ("it still hangs", "where it hangs a flag"),
        "still cannot": ("nope, still cannot row", "i still need to row"),
        "still is as it was": ("[Image #1] the sail still looks the same", "[Image #1] paint the sail"),
        "is agreed to": ("the mast is redundant", "yes, the mast is redundant"),
        "is a question of another kind": ("the boat throws an error", "other question: the boat throws an error"),
        "is a question by its label": ("I said in my question: you missed it", "Question: I thought you kept it?"),
        "comes after another subject": ("the boat sinks. It is broken.", "ok, new topic first, the boat is broken"),
        "others say so": ("the boat doesn't work", "I got feedback that the boat doesn't work"),
        "is the person's own doing": ("the map is gone", "I deleted it, so the map is gone"),
        "a question behind it, without a mark between": ("it still crashes how is that possible?", "it still crashes?"),
        "is in a condition of the person's": ("when I row, it is stuck", "when it is stuck, row"),
        "is what is asked about, in another clause": ("that's what I do and it is not working", "what is not working"),
        "is still there": ("the old flag is still there", "is the old flag still there?"),
        "behind what was pasted": (f"It still crashes:\n{OUTPUT}", f"Here is the log:\n{OUTPUT}"),
        "not in a quotation": ("> ok\nno wait, that is wrong", "> no wait, that is wrong\nok"),
        "not in code": ("wrong:\n```\nok\n```", "so:\n```\nthat is wrong\n```"),
        "at the beginning": ("that is wrong. " + "x " * OWN_LIMIT, "x " * OWN_LIMIT + ". That is wrong."),
        "in a short prompt": ("x " * LONG_LIMIT + ". That is wrong.", "x " * HEAD_LIMIT + "\nThat is wrong."),
    },
)
def test_says_that_the_work_is_wrong(prompt: str, twin: str) -> None:
    assert said_in(prompt) == "wrong"
    assert said_in(twin) != "wrong"


@cases(
    "prompt",
    {
        "a command": "/review that is wrong",
        "a command of the shell": "!make that is wrong",
        "a template of a command": "## User Input\n\nthat is wrong",
        "a command with its name": "<command-name>/fix</command-name><command-args>that is wrong</command-args>",
        "a reminder": "<system-reminder>\nThat is wrong.\n</system-reminder>",
        "a notice": "<task-notification>\n<status>it still fails</status>\n</task-notification>",
        "instructions": "# AGENTS.md instructions for /work\n\nthis is wrong",
        "a hook": "Stop hook feedback:\nthe build is failing",
        "a plan": "Implement the following plan:\n\nthe build is failing",
        "a summary": "This session is being continued from a previous conversation. That is wrong.",
        "a refusal that is copied": "The user doesn't want to proceed with this tool use. That is wrong.",
        "an interruption": "[Request interrupted by user]",
        "nothing": "  ",
    },
)
def test_is_no_prompt_of_a_person(prompt: str) -> None:
    assert said_in(prompt) == ""


def test_is_what_stands_behind_the_words_of_a_harness() -> None:
    assert said_in("<ide_opened_file>The user opened a.py, no wait</ide_opened_file>\nthat is wrong") == "wrong"
    assert said_in("# Context from my IDE setup:\n\nstop\n\n## My request for Codex:\nthat is wrong") == "wrong"
    assert said_in("# Context from my IDE setup:\n\nthat is wrong\n\n## My request for Codex:\ngo on") == ""


@cases(
    "prompt, twin",
    {
        "output": (OUTPUT, "an undefined name, one problem"),
        "a shell": ("$ make sail\nnothing to do", "make sail, please"),
        "a traceback": ('Traceback (most recent call last):\n  File "a.py", line 3', "trace it back"),
        "code with output": (f"see\n```\n{OUTPUT}\n```", "see\n```\nboat = 1\n```"),
        "a review": (REVIEW, f"I think that {REVIEW}"),
        "a review, led in": (f"can you fix this: {REVIEW}", f"can you fix this: I think {REVIEW}"),
        "feedback": ("I got this feedback: that is wrong", "I want feedback, go on"),
    },
)
def test_is_a_report(prompt: str, twin: str) -> None:
    assert said_in(prompt) == "report"
    assert said_in(twin) == ""


@cases(
    "prompt",
    {
        "German": "Das ist nicht richtig, bitte mach es rückgängig",
        "French": "ce n'est pas bon, il faut que le test passe",
        "Spanish": "esto no es lo que quería, la otra era mejor",
        "Russian": "это неправильно",
        "Chinese": "这是错的",
    },
)
def test_in_another_language_is_not_known(prompt: str) -> None:
    assert said_in(prompt) == "unknown"


@cases(
    "reason, expected",
    {
        "a question": ("what does the linter say now?", True),
        "a question before something else": ("is that in use? it looks old", True),
        "a question that corrects": ("what are you doing?", False),
        "a question of why": ("why did you delete it?", True),
        "an instruction": ("use the other file", False),
        "none": ("", False),
    },
)
def test_asks(reason: str, expected: bool) -> None:
    assert asks(reason) is expected


@pytest.mark.parametrize(
    "part", ["no ", "<a-b>", "```", '"' * 3, "a:b", " is really", "you got a ", "# context ", "still ", "\n", "\n> no "]
)
def test_takes_no_long_time(part: str) -> None:
    assert is_linear(said_in, part, HEAD_LIMIT // 2)
