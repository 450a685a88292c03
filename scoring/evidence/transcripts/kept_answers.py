"""What transcripts said of the iterations of a log, kept until anything that it rests on differs.

Attribution looks at every line of every session. Most runs ask the same of the same transcripts, and most of the time
nothing has changed since; then what was found is taken as it is, and no transcript is looked at.
"""

import os
from collections.abc import Iterable, Sequence
from hashlib import blake2b
from pathlib import Path
from typing import Any

import msgspec

from scoring.errors import InputError, WriteError
from scoring.evidence.transcripts.discovery import TranscriptFile
from scoring.evidence.transcripts.facts import Observed, TranscriptFacts
from scoring.evidence.transcripts.rows import FORMAT, Stamp, guards
from scoring.files import READ_PLAIN, read_file, write_atomically

_SIZE_LIMIT = 1 << 28


class KeptAnswers(msgspec.Struct):
    """What was found, and what it rests on.

    ``sources`` is a digest of the transcripts and checkpoints, ``asked`` one of what was asked and of the state of the
    repository. ``folders`` are those that lines name: whether work in them is work in the repository, and whether they
    are there; ``commits`` what names of commits that sessions made stand for, "" for nothing. ``answers`` are in the
    order of the questions.
    """

    sources: bytes
    asked: bytes
    folders: dict[str, tuple[bool, bool]]
    commits: dict[str, str]
    answers: list[tuple[TranscriptFacts, Observed]]


def _encoded(value: Any) -> Any:
    if isinstance(value, Path):
        return os.fspath(value)
    raise NotImplementedError


def _decoded(kind: type, value: Any) -> Any:
    if kind is Path:
        return Path(value)
    raise NotImplementedError


_encoder = msgspec.msgpack.Encoder(enc_hook=_encoded, order="deterministic")
_decoder = msgspec.msgpack.Decoder(KeptAnswers, dec_hook=_decoded)


class AnswersFile:
    """The file in the cache directory that keeps the answers of one log's transcripts."""

    def __init__(self, folder: Path, places: object) -> None:
        """Take the folder, and where transcripts are looked for: what a log is known by here."""
        self._path = folder / f"answers-{FORMAT}-{digest_of(places).hex()}.cache"

    def load(self) -> KeptAnswers | None:
        """Return what is kept; None where there is nothing that is whole."""
        try:
            data = read_file(self._path, _SIZE_LIMIT)
            if data[:_DIGEST] != _digest(data[_DIGEST:]):
                return None
            return _decoder.decode(data[_DIGEST:])
        except (OSError, InputError, msgspec.MsgspecError, ValueError, TypeError, RecursionError):
            return None

    def save(self, kept: KeptAnswers) -> None:
        """Keep answers. A cache that cannot be written, and a text that is none, are no errors."""
        try:
            data = _encoder.encode(kept)
            self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            write_atomically(self._path, _digest(data) + data, durable=False)
        except (OSError, WriteError, UnicodeEncodeError):
            return


_DIGEST = 16


def _digest(data: bytes) -> bytes:
    return blake2b(data, digest_size=_DIGEST).digest()


def digest_of(value: object) -> bytes:
    """Return a digest of plain data: equal data have equal ones."""
    return _digest(repr(value).encode("utf-8", "surrogateescape"))


def sources_digest(transcripts: Iterable[TranscriptFile], checkpoints: Sequence[object]) -> bytes | None:
    """Return a digest of the state of transcripts, by which a change shows; None when one cannot be looked at."""
    states: list[object] = []
    for transcript in transcripts:
        if transcript.blobs:
            states.append((transcript.blobs, transcript.whole))
            continue
        try:
            fd = os.open(transcript.path, READ_PLAIN)
        except OSError:
            return None
        try:
            stamp = Stamp.of(fd)
            states.append((os.fspath(transcript.path), transcript.whole, stamp, guards(fd, stamp.size)))
        except OSError:
            return None
        finally:
            os.close(fd)
    return digest_of((FORMAT, states, checkpoints))
