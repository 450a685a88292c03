"""Which agents a commit message names as its co-authors.

``agents.toml`` has the names and addresses that each agent writes.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from fnmatch import translate
from functools import cache
from pathlib import Path
from typing import NamedTuple

AGENTS = Path(__file__).parent / "agents.toml"

_COAUTHOR = "co-authored-by:"

_Matches = Callable[[str], object]


class _Agent(NamedTuple):
    """An agent, and what recognizes its addresses and its names, in lower case."""

    name: str
    has_email: _Matches
    has_name: _Matches


class _CoAuthor(NamedTuple):
    """The name and the address on a line ``Co-Authored-By: Name <address>``."""

    name: str
    email: str


def agents_named(message: str) -> tuple[str, ...]:
    """Return the agents that a commit message names in ``Co-Authored-By:`` lines, each once."""
    agents: dict[str, None] = {}
    for coauthor in _coauthors(message.lower()):
        agent = _agent_of(coauthor)
        if agent:
            agents[agent] = None
    return tuple(agents)


def _agent_of(coauthor: _CoAuthor) -> str:
    """Return the agent that wrote a line, or "" for a person."""
    for agent in _agents():
        if agent.has_email(coauthor.email) or agent.has_name(coauthor.name):
            return agent.name
    return ""


def _coauthors(message: str) -> Iterator[_CoAuthor]:
    """Yield the co-authors in a message in lower case.

    The time grows with the length of the message, whatever is in it.
    """
    if _COAUTHOR not in message:
        return

    for line in message.split("\n"):
        text = line.lstrip(" \t")
        if not text.startswith(_COAUTHOR):
            continue

        name, _, rest = text.removeprefix(_COAUTHOR).partition("<")
        email, is_closed, _ = rest.partition(">")
        if is_closed and "<" not in email:
            yield _CoAuthor(name.strip(), email.strip())


@cache
def _agents() -> list[_Agent]:
    import tomllib  # only commands that ask for authors need the agents

    tables = tomllib.loads(AGENTS.read_text("utf-8"))["agent"]
    return [
        _Agent(table["name"], _any_of(table["emails"]), _any_of(table["names"])) for table in tables
    ]


def _any_of(globs: Sequence[str]) -> _Matches:
    # Brackets are characters of a name, and not a set of them.
    patterns = [translate(glob.replace("[", "[[]")) for glob in globs]
    return re.compile("|".join(patterns) or r"(?!)").match
