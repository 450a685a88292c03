"""Claims in words: what the runs before a claim say of it."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from helpers.commands import DaScore
from helpers.harness_lines import cases, stamp
from helpers.histories import History, Session

from rubric import released_rubric
from scoring.evidence.transcripts.observed_facts import ClaimResult, ClaimSeen, Observed
from scoring.score import score_log
from scoring.views.integrity import WordsSummary, summarize_words

CLAIM = "All tests pass."
PASSED, FAILED, UNKNOWN = "3 passed in 0.1s", "1 failed, 2 passed in 0.1s", "Terminated"


def say(session: Session, second: float, text: str = CLAIM, side: bool = False) -> None:
    """The agent says something."""
    if session.harness == "codex":
        payload = {
            "type": "message",
            "role": "assistant",
            "content": [{"type": "output_text", "text": text}],
        }
        session.lines.append(
            {"timestamp": stamp(second), "type": "response_item", "payload": payload}
        )
    else:
        session.turn(
            second, 1 << int(second), {"type": "text", "text": text}, side=side
        )


def prompt(session: Session, second: float) -> None:
    """The user says something."""
    line = session.lines[-1] | {
        "type": "user",
        "uuid": f"p{second}",
        "timestamp": stamp(second),
    }
    session.lines.append(line | {"message": {"role": "user", "content": "Go on."}})


def commits_again(session: Session) -> None:
    session.run(25, 32, "git commit -am x", "[main 0123456789] other\n 1 file changed")


def run(session: Session, second: float, printed: str) -> None:
    session.run(
        second, 1 << int(second), "pytest -q", printed, failed=printed != PASSED
    )


def reviewer_runs(session: Session, second: float) -> None:
    """A sub-agent that edits nothing runs tests, which fail."""
    run(session, second, FAILED)
    for line in session.lines[-2:]:
        line["isSidechain"] = True


def agent(session: Session, second: float) -> None:
    """A sub-agent does something; its transcript is elsewhere."""
    session.turn(
        second,
        1 << int(second),
        {"type": "tool_use", "id": "a", "name": "Task", "input": {}},
    )
    session.result(second + 0.1, "a", "Done.")


Steps = Callable[[Session], object]
Play = Callable[[Steps, Steps, str], Sequence[ClaimSeen]]


@pytest.fixture
def play(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Play:
    """Return what a session claims that does something, commits at second 20, and goes on."""

    def played(before: Steps, after: Steps, harness: str) -> Sequence[ClaimSeen]:
        history = History(tmp_path)
        session = history.session("s1", harness=harness)
        if harness == "codex":
            session.open_codex(0)
        session.run(1, 2, "ls", "a.py")
        before(session)
        mark = history.commit(20, "work")
        session.commits(20.2, 1 << 20, mark, "work")
        after(session)
        history.entry(mark, "work", "s1")
        history.write()
        monkeypatch.setenv("HOME", str(history.home))
        log = score_log(
            history.log,
            history.repo,
            rubric=released_rubric("3.1.0"),
            transcripts="auto",
        )
        observed = log.iterations[0].facts.observed
        return observed.claims if observed else ()

    return played


def nothing(_: Session) -> None:
    pass


def both(*steps: Steps) -> Steps:
    return lambda session: [step(session) for step in steps]


RUN = {
    text: (lambda s, text=text: run(s, 10, text)) for text in (PASSED, FAILED, UNKNOWN)
}


@cases(
    "before, after, results",
    {
        "a run that passed": (
            both(RUN[PASSED], lambda s: say(s, 12)),
            nothing,
            ["confirmed"],
        ),
        "one that failed": (
            both(RUN[FAILED], lambda s: say(s, 12)),
            nothing,
            ["last run failed"],
        ),
        "one without a verdict": (
            both(
                RUN[PASSED],
                lambda s: s.run(11, 4, "pytest -q | head -1", ""),
                lambda s: say(s, 12),
            ),
            nothing,
            [None],
        ),
        "none": (lambda s: say(s, 12), nothing, ["no run"]),
        "one after it": (both(lambda s: say(s, 9), RUN[PASSED]), nothing, ["no run"]),
        "perhaps one of a sub-agent": (
            both(lambda s: agent(s, 10), lambda s: say(s, 12)),
            nothing,
            [None],
        ),
        "an earlier message": (
            both(
                RUN[PASSED], lambda s: say(s, 12), lambda s: say(s, 13, "Now commit.")
            ),
            nothing,
            [],
        ),
        "a message of a sub-agent": (lambda s: say(s, 12, side=True), nothing, []),
        "in the reply": (RUN[PASSED], lambda s: say(s, 22), ["confirmed"]),
        "before and in the reply": (
            both(RUN[PASSED], lambda s: say(s, 12)),
            lambda s: say(s, 22),
            ["confirmed"] * 2,
        ),
        "in the reply, with a run": (
            RUN[PASSED],
            both(lambda s: run(s, 22, FAILED), lambda s: say(s, 24)),
            ["last run failed"],
        ),
        "in the reply, with a run of a sub-agent": (
            RUN[PASSED],
            both(lambda s: reviewer_runs(s, 22), lambda s: say(s, 24)),
            ["confirmed"],
        ),
        "in the answer to the next prompt": (
            RUN[PASSED],
            both(lambda s: prompt(s, 22), lambda s: say(s, 23)),
            [],
        ),
        "in the words before the next commit": (
            RUN[PASSED],
            both(lambda s: say(s, 22), commits_again),
            [],
        ),
        "and in those before them": (
            RUN[PASSED],
            both(
                lambda s: say(s, 22),
                lambda s: say(s, 23, "Now the rest."),
                commits_again,
            ),
            ["confirmed"],
        ),
        "after further edits": (
            RUN[PASSED],
            both(lambda s: s.edit(22, 8, "a.py"), lambda s: say(s, 23)),
            [],
        ),
    },
)
def test_a_claim_is_compared_with_the_last_run_before_it(
    play: Play, before: Steps, after: Steps, results: list[ClaimResult | None]
) -> None:
    assert [claim.result for claim in play(before, after, "claude")] == results


def test_codex_claims_where_its_message_is(play: Play) -> None:
    found = play(both(RUN[PASSED], lambda s: say(s, 12)), nothing, "codex")
    assert [(claim.result, claim.path.name, claim.line) for claim in found] == [
        ("confirmed", "rollout-s1.jsonl", 9)
    ]


def claim(line: int, result: ClaimResult | None) -> ClaimSeen:
    return ClaimSeen("tests_pass", result, Path("t.jsonl"), line)


@cases(
    "observed, text",
    {
        "some": (
            (claim(1, "confirmed"), claim(2, "no run")),
            "1 of 2 confirmed, 1 without a run, 0 against the last run.",
        ),
        "one that two share": (
            (claim(1, "last run failed"),) * 2,
            "0 of 1 confirmed, 0 without a run, 1 against the last run.",
        ),
        "one without a verdict": (
            (claim(1, None),),
            "1 claim with nothing to compare with.",
        ),
        "none": ((), "no claims found."),
    },
)
def test_claims_are_counted(observed: tuple[ClaimSeen, ...], text: str) -> None:
    found = summarize_words(
        [Observed("commit", claims=(one,)) for one in observed] or [Observed()]
    )
    assert isinstance(found, WordsSummary)
    assert found.text == f"Claims in words that tests pass: {text}"


def test_without_lines_of_their_own_no_words_are_looked_at() -> None:
    assert summarize_words([None]) is None


@pytest.mark.parametrize(
    ("said", "result", "words", "counts"),
    [
        pytest.param(
            CLAIM,
            "confirmed",
            "said in words that tests pass, at ",
            "1 of 1 confirmed",
            id="a claim",
        ),
        pytest.param(
            "Done.",
            None,
            "in words: no claims found in the last message",
            "no claims found",
            id="none",
        ),
    ],
)
def test_commands_say_what_was_claimed_in_words(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    da_score: DaScore,
    said: str,
    result: str | None,
    words: str,
    counts: str,
) -> None:
    history = History(tmp_path)
    session = history.session("s1")
    run(session, 10, PASSED)
    say(session, 12, said)
    mark = history.commit(20, "work")
    session.commits(20.2, 1 << 20, mark, "work")
    history.entry(mark, "work")
    history.write()
    monkeypatch.setenv("HOME", str(history.home))
    monkeypatch.chdir(history.repo)

    def shown(*arguments: str, rubric: str = "3.1.0") -> str:
        return da_score(
            *arguments, "--iter-log-dir", history.log, "--no-cache", "--rubric", rubric
        ).out

    claims = [
        {
            "kind": "tests_pass",
            "result": result,
            "where": f"{next(history.home.rglob('s1.jsonl'))}:3",
        }
    ]
    claims = claims if result else []
    for _ in range(2):  # scored now, and from the sidecar
        assert json.loads(shown("iteration", "1", "--json"))["claims"] == claims
    assert json.loads(shown("explain", "1", "--json"))["claims"] == claims
    assert words in shown("explain", "1")
    assert counts in shown("integrity")
    shown("report")
    assert counts in Path("report.html").read_text()
    found = json.loads(shown("integrity", "--json"))["claims"]
    assert found == (
        {"confirmed": 1, "no_run": 0, "last_run_failed": 0, "not_compared": 0}
        if result
        else None
    )
    assert "claims" not in json.loads(shown("integrity", "--json", rubric="3.0.0"))
