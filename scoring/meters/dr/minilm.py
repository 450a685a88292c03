"""The sentence encoder all-MiniLM-L6-v2, computed with numpy from its published files.

It turns a text into a vector of length 1, and needs neither PyTorch nor a network.
"""

import math
from array import array
from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray
from safetensors.numpy import load
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]
from tokenizers import Tokenizer

from scoring.grouping import lists_by_key

SIZE = 384
"""How many numbers a vector has."""

MAX_TOKENS = 256
"""How many tokens of a text the model reads. Of a longer text only the beginning counts."""

_LAYERS = 6
_HEADS = 12
_EPSILON = 1e-12
_TOKENS_OF_A_BATCH = 2048

Numbers = NDArray[np.float32]


class MiniLM:
    """The model, ready to embed texts.

    Args:
        weights: the bytes of ``model.safetensors``.
        tokenizer: the text of ``tokenizer.json``.
    """

    def __init__(self, weights: bytes, tokenizer: str) -> None:
        self._weights: dict[str, Numbers] = load(weights)
        self._tokenizer = Tokenizer.from_str(tokenizer)
        self._tokenizer.no_padding()
        self._tokenizer.enable_truncation(MAX_TOKENS)

    def embed(self, texts: Sequence[str]) -> list["array[float]"]:
        """Return the vector of each text, in order."""
        well_formed = []
        for text in texts:
            units = text.encode("utf-16", "surrogatepass")
            well_formed.append(units.decode("utf-16", "replace"))

        tokens = [
            encoding.ids for encoding in self._tokenizer.encode_batch(well_formed)
        ]
        vectors: list[array[float]] = [array("f")] * len(texts)

        # On a busy machine, threads that wait for each other are slower than one.
        with threadpool_limits(1, user_api="blas"):
            for batch in _batches([len(ids) for ids in tokens]):
                states = self._encode(np.array([tokens[index] for index in batch]))
                means = states.mean(axis=1)
                lengths = np.linalg.norm(means, axis=1, keepdims=True)
                pooled = means / np.maximum(lengths, _EPSILON)
                for index, row in zip(batch, pooled, strict=True):
                    vectors[index] = array("f", row.astype(np.float32).tobytes())
        return vectors

    def _encode(self, ids: NDArray[np.int_]) -> Numbers:
        """Return the last states of some texts of one length, by text, token and dimension."""
        texts, tokens = ids.shape
        states = self._embeddings(ids).reshape(texts * tokens, SIZE)
        for index in range(_LAYERS):
            layer = f"encoder.layer.{index}"
            attended = self._attend(states, texts, f"{layer}.attention")
            wide = _gelu(self._dense(attended, f"{layer}.intermediate.dense"))
            residual = self._dense(wide, f"{layer}.output.dense") + attended
            states = self._normalize(residual, f"{layer}.output.LayerNorm")
        return states.reshape(texts, tokens, SIZE)

    def _embeddings(self, ids: NDArray[np.int_]) -> Numbers:
        _, tokens = ids.shape
        words = self._weights["embeddings.word_embeddings.weight"][ids]
        positions = self._weights["embeddings.position_embeddings.weight"][:tokens]
        token_type = self._weights["embeddings.token_type_embeddings.weight"][0]
        return self._normalize(words + positions + token_type, "embeddings.LayerNorm")

    def _attend(
        self,
        states: Numbers,
        texts: int,
        name: str,
    ) -> Numbers:
        """Return the states of each text after attention of twelve heads.

        The output of the heads goes through a dense layer and is added to the states; the sum is
        normalized.

        Args:
            states: the states, a row for each token of each text in turn.
            texts: how many texts there are.
            name: the name of the layer in the weights.
        """

        def heads(kind: str) -> Numbers:
            projected = self._dense(states, f"{name}.self.{kind}")
            return projected.reshape(texts, -1, _HEADS, SIZE // _HEADS).transpose(
                0, 2, 1, 3
            )

        scale = np.float32(math.sqrt(SIZE // _HEADS))
        scores = heads("query") @ heads("key").transpose(0, 1, 3, 2) / scale

        shares = np.exp(scores - scores.max(axis=-1, keepdims=True))
        shares /= shares.sum(axis=-1, keepdims=True)

        mixed = (shares @ heads("value")).transpose(0, 2, 1, 3).reshape(states.shape)
        residual = self._dense(mixed, f"{name}.output.dense") + states
        return self._normalize(residual, f"{name}.output.LayerNorm")

    def _dense(self, states: Numbers, name: str) -> Numbers:
        return (
            states @ self._weights[f"{name}.weight"].T + self._weights[f"{name}.bias"]
        )

    def _normalize(self, states: Numbers, name: str) -> Numbers:
        centered = states - states.mean(axis=-1, keepdims=True)
        variance = (centered * centered).mean(axis=-1, keepdims=True)
        scale = np.sqrt(variance + np.float32(_EPSILON))
        weight = self._weights[f"{name}.weight"]
        normalized: Numbers = centered / scale * weight + self._weights[f"{name}.bias"]
        return normalized


def _batches(lengths: Sequence[int]) -> Iterator[list[int]]:
    """Yield groups of indices of texts. The texts of a group have the same number of tokens.

    Args:
        lengths: the number of tokens of each text.
    """
    by_length = lists_by_key((length, index) for index, length in enumerate(lengths))
    for length, group in sorted(by_length.items()):
        size = max(1, _TOKENS_OF_A_BATCH // length)
        for start in range(0, len(group), size):
            yield group[start : start + size]


_ERF = (0.254829592, -0.284496736, 1.421413741, -1.453152027, 1.061405429)


def _gelu(x: Numbers) -> Numbers:
    """Return ``x · Φ(x)``.

    The error function is formula 7.1.26 of Abramowitz and Stegun, which is exact to 1.5e-7.
    """
    z = np.abs(x) * np.float32(math.sqrt(0.5))
    t = 1 / (1 + np.float32(0.3275911) * z)
    tail = np.zeros_like(t)
    for factor in reversed(_ERF):
        tail = (tail + np.float32(factor)) * t
    tail *= np.exp(-z * z) * np.float32(0.5)
    return x * np.where(x < 0, tail, 1 - tail)
