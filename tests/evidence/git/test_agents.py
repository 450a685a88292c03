"""Agents as co-authors: each agent of the list is known by its lines, and people by none."""

import tomllib

import pytest

from scoring.evidence.git.agents import AGENTS, agents_named

LIST = tomllib.loads(AGENTS.read_text("utf-8"))["agent"]


@pytest.mark.parametrize("agent", LIST, ids=lambda agent: str(agent["name"]))
def test_an_agent_is_known_by_each_address_and_each_name(agent: dict[str, str | list[str]]) -> None:
    for email in agent["emails"]:
        assert agents_named(f"x\n\nCo-Authored-By: Someone <{email.replace('*', '123')}>\n") == (
            agent["name"],
        )
    for name in agent["names"]:
        assert agents_named(
            f"x\n\nCO-AUTHORED-BY: {name.replace('*', ' 1').title()} <x@y.example>\n"
        ) == (agent["name"],)


@pytest.mark.parametrize(
    "line",
    [
        pytest.param(
            "Co-Authored-By: Claude Monet <claude@example.org>", id="a name that people have"
        ),
        pytest.param("Co-Authored-By: Ann <ann@cursor.com>", id="somebody who works there"),
        pytest.param("Co-Authored-By: noreply@anthropic.com", id="no address in brackets"),
        pytest.param(
            "> quoted Co-Authored-By: Codex <codex@openai.com>", id="not at the beginning of a line"
        ),
        pytest.param("Co-Authored-By: codexa <x@y.example>", id="a longer name"),
        pytest.param("Co-Authored-By: X <xnoreply@anthropic.com>", id="a longer address"),
    ],
)
def test_nobody_else_is_one(line: str) -> None:
    assert agents_named(f"x\n\n{line}\n") == ()


def test_a_hostile_message_takes_no_time() -> None:
    assert agents_named("Co-Authored-By: " + " " * 200_000 + "<" * 200_000) == ()
    assert agents_named(("\t" * 500 + "co-authored-by:") * 500) == ()
