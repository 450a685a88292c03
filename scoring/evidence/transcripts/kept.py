"""What the store keeps of a transcript: its events, mixed with a secret of the store.

How rows of the store are keyed and stamped: docs/ARCHITECTURE.md, "What is kept between runs".
"""

from hashlib import shake_256

import msgspec

from scoring.evidence.transcripts.events import EventsByHarness, TranscriptEvents
from scoring.evidence.transcripts.facts import IterationWindow

encode_events = msgspec.msgpack.Encoder().encode
_events_decoder = msgspec.msgpack.Decoder(EventsByHarness)


def decode_events(data: bytes) -> EventsByHarness:
    """Return what :func:`encode_events` encoded.

    Raises:
        ValueError: the data is damaged.
    """
    try:
        return _events_decoder.decode(data)
    except msgspec.MsgspecError as e:
        raise ValueError(str(e)) from e


class KeptTranscript(msgspec.Struct, array_like=True):
    """A row of the store.

    Attributes:
        first: the earliest time in it, in nanoseconds since 1970, where events have times for the
            numbers of lines.
        last: the latest such time. Without times it is before ``first``.
        data: the events, encoded and mixed.
    """

    first: int
    last: int
    data: bytes

    def touches(self, window: IterationWindow) -> bool:
        """Return whether a line may be in a window."""
        return self.first <= window.end and (window.start is None or self.last > window.start)

    def events(self, secret: bytes, stamp: bytes) -> EventsByHarness:
        """Return the events.

        Raises:
            ValueError: the data is damaged, or was mixed with another secret.
        """
        return decode_events(mixed(self.data, secret, stamp))


decode_kept = msgspec.msgpack.Decoder(KeptTranscript).decode
"""Decodes a row of the store (raises msgspec.MsgspecError: it is damaged)."""


def encode_kept(events: EventsByHarness, encoded: bytes, secret: bytes, stamp: bytes) -> bytes:
    """Return the row of the store for some events.

    Args:
        events: the events.
        encoded: the same, as :func:`encode_events` encodes them.
        secret: the secret of the store.
        stamp: what the transcript is known by.
    """
    times: list[int] = []
    for part in events.values():
        if not part.lines:
            times += _times_of(part)

    kept = KeptTranscript(
        first=min(times, default=0),
        last=max(times, default=-1),
        data=mixed(encoded, secret, stamp),
    )
    return encode_events(kept)


def _times_of(part: TranscriptEvents) -> list[int]:
    """Return the times in events without numbers of lines."""
    times: list[int] = []
    for cover in part.covers:
        times += cover
    for kind in part.kinds():
        times += [event.line for event in part.of(kind)]
    return times


def mixed(data: bytes, secret: bytes, stamp: bytes) -> bytes:
    """Return data mixed with a stream made of a secret and a stamp. Mixing twice undoes it."""
    stream = shake_256(secret + stamp).digest(len(data))
    number = int.from_bytes(data, "little") ^ int.from_bytes(stream, "little")
    return number.to_bytes(len(data), "little")
