"""The sentence encoder all-MiniLM-L6-v2 on numpy, as it is published: a text in, a vector of length 1 out."""

import math
from array import array
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from safetensors.numpy import load
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]
from tokenizers import Tokenizer

SIZE = 384  # how many numbers a vector has
MAX_TOKENS = 256  # where the model cuts a text; of a longer one only the beginning counts
_LAYERS, _HEADS, _EPSILON = 6, 12, 1e-12
_BATCH = 2048  # about how many tokens are computed at a time
Numbers: TypeAlias = NDArray[np.float32]


class MiniLM:
    """The model, ready to embed: made of the bytes of ``model.safetensors`` and the text of ``tokenizer.json``."""

    def __init__(self, weights: bytes, tokenizer: str) -> None:
        tensors: Mapping[str, Any] = load(weights)
        self._weights: dict[str, Numbers] = {
            k: v for k, v in tensors.items() if v.dtype == np.float32
        }
        self._tokenizer = Tokenizer.from_str(tokenizer)
        self._tokenizer.no_padding()
        self._tokenizer.enable_truncation(MAX_TOKENS)

    def embed(self, texts: Sequence[str]) -> list["array[float]"]:
        """Return the vector of each text, in their order."""
        found: list[array[float]] = [array("f")] * len(texts)
        well_formed = [
            text.encode("utf-16", "surrogatepass").decode("utf-16", "replace") for text in texts
        ]
        encoded = [e.ids for e in self._tokenizer.encode_batch(well_formed)]
        with threadpool_limits(
            1, user_api="blas"
        ):  # threads that wait for each other are slow on a busy machine
            for batch in _batches([len(ids) for ids in encoded]):
                mean = self._encoded(np.array([encoded[i] for i in batch])).mean(axis=1)
                pooled = mean / np.maximum(np.linalg.norm(mean, axis=1, keepdims=True), _EPSILON)
                for i, row in zip(batch, pooled, strict=True):
                    found[i] = array("f", row.astype(np.float32).tobytes())
        return found

    def _encoded(self, ids: NDArray[np.int_]) -> Numbers:
        texts, tokens = ids.shape
        table = "embeddings.{}_embeddings.weight".format
        states = self._weights[table("word")][ids] + self._weights[table("position")][:tokens]
        states = self._normalized(
            states + self._weights[table("token_type")][0], "embeddings.LayerNorm"
        )
        states = states.reshape(texts * tokens, SIZE)
        for i in range(_LAYERS):
            layer = f"encoder.layer.{i}"
            attended = self._attended(states, texts, f"{layer}.attention")
            wide = _gelu(self._dense(attended, f"{layer}.intermediate.dense"))
            added = self._dense(wide, f"{layer}.output.dense") + attended
            states = self._normalized(added, f"{layer}.output.LayerNorm")
        return states.reshape(texts, tokens, SIZE)

    def _attended(self, states: Numbers, texts: int, name: str) -> Numbers:
        def heads(kind: str) -> Numbers:
            projected = self._dense(states, f"{name}.self.{kind}")
            return projected.reshape(texts, -1, _HEADS, SIZE // _HEADS).transpose(0, 2, 1, 3)

        scores = (
            heads("query")
            @ heads("key").transpose(0, 1, 3, 2)
            / np.float32(math.sqrt(SIZE // _HEADS))
        )
        shares = np.exp(scores - scores.max(axis=-1, keepdims=True))
        shares /= shares.sum(axis=-1, keepdims=True)
        mixed = (shares @ heads("value")).transpose(0, 2, 1, 3).reshape(states.shape)
        return self._normalized(
            self._dense(mixed, f"{name}.output.dense") + states, f"{name}.output.LayerNorm"
        )

    def _dense(self, states: Numbers, name: str) -> Numbers:
        return states @ self._weights[f"{name}.weight"].T + self._weights[f"{name}.bias"]

    def _normalized(self, states: Numbers, name: str) -> Numbers:
        centred = states - states.mean(axis=-1, keepdims=True)
        scale = np.sqrt((centred * centred).mean(axis=-1, keepdims=True) + np.float32(_EPSILON))
        normalized: Numbers = (
            centred / scale * self._weights[f"{name}.weight"] + self._weights[f"{name}.bias"]
        )
        return normalized


def _batches(lengths: Sequence[int]) -> Iterator[list[int]]:
    """Group texts, given by their numbers of tokens, so that each group has one length and a bounded size."""
    by_length: dict[int, list[int]] = {}
    for i, length in enumerate(lengths):
        by_length.setdefault(length, []).append(i)
    for length, group in sorted(by_length.items()):
        step = max(1, _BATCH // length)
        for start in range(0, len(group), step):
            yield group[start : start + step]


_ERF = (0.254829592, -0.284496736, 1.421413741, -1.453152027, 1.061405429)


def _gelu(x: Numbers) -> Numbers:
    """Return ``x · Φ(x)``; the error function is formula 7.1.26 of Abramowitz and Stegun, right to 1.5e-7."""
    z = np.abs(x) * np.float32(math.sqrt(0.5))
    t = 1 / (1 + np.float32(0.3275911) * z)
    tail = np.zeros_like(t)
    for factor in reversed(_ERF):
        tail = (tail + np.float32(factor)) * t
    tail *= np.exp(-z * z) * np.float32(0.5)
    return x * np.where(x < 0, tail, 1 - tail)
