"""Zstandard frames without a library.

The frames have raw blocks and do not state the size of their content, as when a program compresses
a stream. Every decoder reads them (RFC 8878). With the zstandard package one frame is really
compressed.
"""

_MAGIC = (0xFD2FB528).to_bytes(4, "little")
_WINDOW_1_MIB = bytes([0, (20 - 10) << 3])
_BLOCK = 1 << 17


def compressed(data: bytes, frames: int = 1) -> bytes:
    """Return ``data`` as Zstandard frames, the last one really compressed where possible."""
    size = max(1, -(-len(data) // frames))
    parts = [data[at : at + size] for at in range(0, len(data), size)] or [b""]
    return b"".join(map(_raw_frame, parts[:-1])) + _packed_frame(parts[-1])


def _packed_frame(data: bytes) -> bytes:
    try:
        import zstandard
    except ImportError:
        return _raw_frame(data)
    return zstandard.ZstdCompressor(level=3, write_content_size=False).compress(data)


def _raw_frame(data: bytes) -> bytes:
    blocks = [data[at : at + _BLOCK] for at in range(0, len(data), _BLOCK)] or [b""]
    out = [_MAGIC, _WINDOW_1_MIB]
    for n, block in enumerate(blocks):
        header = len(block) << 3 | (n == len(blocks) - 1)
        out += [header.to_bytes(3, "little"), block]
    return b"".join(out)
