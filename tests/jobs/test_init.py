"""The settings file that init writes: what is given on the command line is read back from it."""

import tomllib
from pathlib import Path

from helpers.commands import DaScore
from helpers.places import Place


def settings_of(place: Place) -> dict[str, object]:
    return tomllib.loads((place.path / ".agents" / "da-score.toml").read_text("utf-8"))


def test_folders_of_transcripts_are_a_list(place: Place, da_score: DaScore, tmp_path: Path) -> None:
    folders = [tmp_path / "first, with a comma", tmp_path / "second"]
    for folder in folders:
        folder.mkdir()
    options = [f"--transcript-dir={folder}" for folder in folders]
    assert da_score("init", "--yes", "--no-hook", "--no-cache", *options).status == 0
    assert settings_of(place)["transcript-dir"] == [str(folder) for folder in folders]


def test_without_folders_there_is_no_such_setting(place: Place, da_score: DaScore) -> None:
    assert da_score("init", "--yes", "--no-hook", "--no-cache").status == 0
    settings = settings_of(place)
    assert "transcript-dir" not in settings
    assert settings["transcripts"] == "auto"
