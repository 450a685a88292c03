"""Copies of responses, calls and results: which are of one event, and what they say together."""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from itertools import groupby
from operator import itemgetter
from typing import NamedTuple, TypeVar

from scoring.evidence.transcripts.events import Response, TokensStated


class NotedCall(NamedTuple):
    """A copy of a call: its time, its key, and what it shows."""

    time: int
    key: int
    shows: int


class NotedResult(NamedTuple):
    """A copy of the result of a call: its time, the key of the call, and whether it failed."""

    time: int
    key: int
    failed: bool


class NotedResponse(NamedTuple):
    """A copy of a response: its time, its key, what it says, its model, its quarter of an hour."""

    time: int
    key: int
    response: Response
    model: str
    quarter: int

    @property
    def rank(self) -> "tuple[int | str, ...]":
        """What sorts copies: the last one knows most."""
        response = self.response
        return (
            -1 if response.stated == TokensStated.NOTHING else response.output,
            not response.side_chain,
            response.input,
            response.cache_reads,
            response.cache_writes,
            response.stated,
            response.cache_writes_1h,
            response.web_searches,
            len(response.apart),
            self.model,
        )


_Noted = TypeVar("_Noted", NotedCall, NotedResult, NotedResponse)


def distinct_responses(copies: Iterable[NotedResponse]) -> list[list[NotedResponse]]:
    """Return copies with one id by the response that each is of.

    Each request has one response. Copies in side chains and copies without a request belong to
    one of the others, where there is any.
    """
    by_request: defaultdict[int, list[NotedResponse]] = defaultdict(list)
    for noted in copies:
        by_request[noted.response.request].append(noted)
    groups = [by_request[request] for request in sorted(by_request)]

    main = [group for group in groups if not all(noted.response.side_chain for noted in group)]
    with_request = [group for group in main or groups if group[0].response.request]
    responses = with_request or main or groups
    for group in groups:
        if group not in responses:
            responses[0] += group
    return responses


def by_key(noted: list[_Noted]) -> Iterator[list[_Noted]]:
    """Yield the copies of each event together. What has no key has no copies."""
    noted.sort(key=itemgetter(1))
    for key, group in groupby(noted, itemgetter(1)):
        copies = list(group)
        if key:
            yield copies
        else:
            for copy in copies:
                yield [copy]
