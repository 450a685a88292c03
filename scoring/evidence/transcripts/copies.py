"""Copies of responses, calls and results: which are of one event, and what they say together."""

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
    """A copy of a response: its time, its key, what it says, its model's number, its quarter."""

    time: int
    key: int
    response: Response
    model: int
    quarter: int

    @property
    def rank(self) -> "tuple[int, ...]":
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


class ResponseCopies(NamedTuple):
    """What is known of a response from its copies.

    Attributes:
        request: the key of the request that it answers; 0: not known.
        is_main: whether a copy is outside side chains.
        time: when the earliest copy was written.
        quarter: the same in quarters of an hour since 1970.
        copies: how many copies there are.
        best: the copy that knows most.
    """

    request: int
    is_main: bool
    time: int
    quarter: int
    copies: int
    best: NotedResponse

    @classmethod
    def of(cls, noted: NotedResponse) -> "ResponseCopies":
        """Return what is known from one copy."""
        response = noted.response
        return cls(
            request=response.request,
            is_main=not response.side_chain,
            time=noted.time,
            quarter=noted.quarter,
            copies=response.copies,
            best=noted,
        )

    def with_copies(self, other: "ResponseCopies") -> "ResponseCopies":
        """Return what is known from both."""
        return ResponseCopies(
            request=self.request or other.request,
            is_main=self.is_main or other.is_main,
            time=min(self.time, other.time),
            quarter=min(self.quarter, other.quarter),
            copies=self.copies + other.copies,
            best=max(self.best, other.best, key=lambda noted: noted.rank),
        )


def distinct_responses(copies: Iterable[NotedResponse]) -> list[ResponseCopies]:
    """Return the responses among copies with one id.

    Each request has one response. Copies in side chains and copies without a request belong to
    one of the others, where there is any.
    """
    by_request: dict[int, ResponseCopies] = {}
    for noted in copies:
        copy = ResponseCopies.of(noted)
        if copy.request in by_request:
            copy = by_request[copy.request].with_copies(copy)
        by_request[copy.request] = copy

    responses = [by_request[request] for request in sorted(by_request)]
    if len(responses) == 1:
        return responses

    anchors = (
        [response for response in responses if response.is_main and response.request]
        or [response for response in responses if response.is_main]
        or [response for response in responses if response.request]
        or responses
    )
    first, *others = anchors
    for response in responses:
        if response not in anchors:
            first = first.with_copies(response)
    return [first, *others]


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
