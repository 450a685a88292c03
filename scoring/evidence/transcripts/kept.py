"""What the store keeps of a transcript: its events, mixed with a secret of the store.

How rows of the store are keyed and stamped: docs/ARCHITECTURE.md, "What is kept between runs".
"""

from hashlib import shake_256

import msgspec

from scoring.evidence.transcripts.transcript_events import EventsByHarness

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


def mixed(data: bytes, secret: bytes, stamp: bytes) -> bytes:
    """Return data mixed with a stream made of a secret and a stamp. Mixing twice undoes it."""
    stream = shake_256(secret + stamp).digest(len(data))
    number = int.from_bytes(data, "little") ^ int.from_bytes(stream, "little")
    return number.to_bytes(len(data), "little")
