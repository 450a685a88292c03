"""Agents of commits: each agent of the list is known by its lines, and people by none."""

import tomllib
from typing import Any

import pytest
from helpers.timing import seconds_of, too_slow

from scoring.evidence.git import agents
from scoring.evidence.git.agents import (
    AGENTS,
    Identity,
    StatedAgent,
    agents_of,
    model_in,
)

LIST = tomllib.loads(AGENTS.read_text("utf-8"))["agent"]


def coauthors(message: str) -> tuple[str, ...]:
    return agents_of(message).coauthors


@pytest.mark.parametrize("agent", LIST, ids=lambda agent: str(agent["name"]))
def test_an_agent_is_known_by_each_address_and_each_name(agent: dict[str, Any]) -> None:
    for email in agent["emails"]:
        address = email.replace("*", "123")
        assert coauthors(f"x\n\nCo-Authored-By: Someone <{address}>\n") == (
            agent["name"],
        )
        assert agents_of("x", [Identity("Someone", address.title())]).authors == (
            agent["name"],
        )

    for name in agent["names"]:
        spelled = name.replace("*", " 1").title()
        assert coauthors(f"x\n\nCO-AUTHORED-BY: {spelled} <x@y.example>\n") == (
            agent["name"],
        )
        assert agents_of("x", [Identity(spelled, "x@y.example")]).authors == (
            agent["name"],
        )


@pytest.mark.parametrize(
    ("line", "agent", "model"),
    [
        (
            "Assisted-by: Claude Opus 4.7 <noreply@anthropic.com>",
            "Claude Code",
            "claude-opus-4-7",
        ),
        (
            "Assisted-by: Claude:claude-3-opus coccinelle",
            "Claude Code",
            "claude-3-opus",
        ),
        ("Generated-by: GitHub Copilot", "GitHub Copilot", ""),
        ("Co-developed-by: Codex <codex@openai.com>", "Codex", ""),
        (
            "Generated with [Claude Code](https://claude.com/claude-code)",
            "Claude Code",
            "",
        ),
    ],
)
def test_an_agent_that_assisted_made_nothing(line: str, agent: str, model: str) -> None:
    agents = agents_of(f"x\n\n{line}\n", [Identity("Ann", "ann@example.org")])
    assert (agents.assisting, agents.coauthors, agents.authors) == ((agent,), (), ())
    assert agents.stated.model == model


@pytest.mark.parametrize(
    "line",
    [
        pytest.param("Assisted-by: Claude Monet <claude@example.org>", id="a person"),
        pytest.param(
            "Assisted-by: Claude <claude@example.org>", id="with a person's address"
        ),
        pytest.param("Generated with a script (https://x.example)", id="no tool"),
        pytest.param("Generated with [protoc](https://x.example)", id="another tool"),
    ],
)
def test_nobody_else_assisted(line: str) -> None:
    assert agents_of(f"x\n\n{line}\n").assisting == ()


@pytest.mark.parametrize(
    ("text", "model"),
    [
        ("Claude Opus 4.6 (1M context)", "claude-opus-4-6"),
        ("claude-opus-4-5-20251101", "claude-opus-4-5-20251101"),
        ("Claude 3.5 Sonnet via GitHub Copilot", "claude-3-5-sonnet"),
        ("aider (gpt-5.4)", "gpt-5.4"),
        ("Gemini 2.5 Pro", "gemini-2.5-pro"),
        ("Claude Code 2.1", ""),
        ("Gemini CLI 0.5", ""),
        ("Claude", ""),
    ],
)
def test_a_model_is_spelled_as_its_id(text: str, model: str) -> None:
    assert model_in(text) == model


def test_what_several_agents_state_is_not_known() -> None:
    one = "Co-Authored-By: Claude Opus 4.7 <noreply@anthropic.com>\n"
    assert agents_of(f"x\n\n{one}").stated == StatedAgent("claude", "claude-opus-4-7")
    assert agents_of(f"x\n\n{one}{one}").stated == StatedAgent(
        "claude", "claude-opus-4-7"
    )
    other = "Co-Authored-By: GPT-5.4 Codex <codex@openai.com>\n"
    assert agents_of(f"x\n\n{one}{other}").stated == StatedAgent()


@pytest.mark.parametrize(
    "line",
    [
        pytest.param(
            "Co-Authored-By: Claude Monet <claude@example.org>",
            id="a name that people have",
        ),
        pytest.param(
            "Co-Authored-By: Ann <ann@cursor.com>", id="somebody who works there"
        ),
        pytest.param(
            "Co-Authored-By: noreply@anthropic.com", id="no address in brackets"
        ),
        pytest.param(
            "> quoted Co-Authored-By: Codex <codex@openai.com>",
            id="not at the beginning of a line",
        ),
        pytest.param("Co-Authored-By: codexa <x@y.example>", id="a longer name"),
        pytest.param(
            "Co-Authored-By: X <xnoreply@anthropic.com>", id="a longer address"
        ),
    ],
)
def test_nobody_else_is_one(line: str) -> None:
    assert coauthors(f"x\n\n{line}\n") == ()


def test_a_hostile_message_takes_no_time() -> None:
    assert coauthors("Co-Authored-By: " + " " * 200_000 + "<" * 200_000) == ()
    assert coauthors(("\t" * 500 + "co-authored-by:") * 500) == ()


def test_blank_lines_take_no_longer_than_other_text() -> None:
    long = 1 << 20

    def took(text: str) -> float:
        return seconds_of(lambda: agents_of(text))

    assert not too_slow(lambda: took("\n" * long), lambda: took("x" * long), times=4)


@pytest.mark.parametrize(
    ("line", "times"),
    [
        pytest.param("Co-Authored-By: Claude <noreply@anthropic.com>\n", 1, id="agent"),
        pytest.param("Co-Authored-By: A B <c@d>\n", 0, id="a person is none of all"),
    ],
)
def test_equal_lines_are_compared_with_each_agent_once(
    monkeypatch: pytest.MonkeyPatch, line: str, times: int
) -> None:
    asked = []
    all_agents = agents._agents

    def count() -> list[agents._Agent]:
        asked.append(1)
        return all_agents()

    monkeypatch.setattr(agents, "_agents", count)
    coauthors(line * 5000)
    assert len(asked) == times
