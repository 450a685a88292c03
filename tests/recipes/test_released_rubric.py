"""The recipes for a weight and for a rubric: one file in ``rubric/versions``, and all show it."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from helpers.commands import DaScore

from rubric import registry, released_rubric, rubric_versions
from scoring.demo import Demo

WEIGHTS = """\
version: 9.9.9
combination: weighted_mean_renormalized
evidence: attributed
signals:
  - {id: landed, label: Landed, weight: 0.75, two_way: true, description: Did it land.}
  - {id: tests, label: Tests, weight: 0.25, two_way: true, description: Did the tests pass.}
bands:
  - {name: fine, min: 0.5}
  - {name: not yet, min: 0.0}
"""


@pytest.fixture
def released(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """One more file beside the released versions."""
    versions = tmp_path / "versions"
    shutil.copytree(registry.VERSIONS_DIR, versions)
    monkeypatch.setattr(registry, "VERSIONS_DIR", versions)
    (versions / "9.9.9.yaml").write_text(WEIGHTS)
    released_rubric.cache_clear()
    yield
    released_rubric.cache_clear()


@pytest.mark.usefixtures("released")
class TestReleased:
    def test_is_listed_and_shown(self, da_score: DaScore) -> None:
        assert rubric_versions()[-1] == "9.9.9"
        assert "9.9.9" in da_score("rubric", "list").out
        shown = da_score("rubric", "show", "9.9.9", "--json").json["signals"]
        assert [signal["weight"] for signal in shown] == [0.75, 0.25]
        assert da_score("rubric", "diff", "2.1.0", "9.9.9").status == 0

    @pytest.mark.usefixtures("here")
    def test_scores_under_its_own_weights_and_bands(self, da_score: DaScore) -> None:
        found = da_score("run", "--rubric", "9.9.9", "--no-write", "--json").json
        assert found["rubric_version"] == "9.9.9"
        first = found["iterations"][0]
        assert [row["nominal_weight"] for row in first["breakdown"]] == [0.75, 0.25]
        assert {i["band"] for i in found["iterations"]} <= {
            "fine",
            "not yet",
            "unscored",
            "insufficient",
        }

    def test_reads_evidence_under_the_rules_that_it_names(
        self, here: Demo, da_score: DaScore
    ) -> None:
        assert da_score("run", "--rubric", "9.9.9").status == 0
        assert (here.iter_log_dir / "iter-1.evidence.yaml").is_file()


@pytest.mark.usefixtures("here")
def test_weights_are_tried_from_a_file_that_is_anywhere(
    da_score: DaScore, tmp_path: Path
) -> None:
    (tmp_path / "mine.yaml").write_text(WEIGHTS)
    found = da_score(
        "run", "--rubric", tmp_path / "mine.yaml", "--no-write", "--json"
    ).json
    assert found["rubric_version"] == "9.9.9"
