"""The settings file that init writes: what is given on the command line is read back from it."""

import tomllib
from pathlib import Path

import click
import pytest
from helpers.commands import DaScore
from helpers.places import Place


def test_without_an_agent_it_says_that_there_is_no_hook(
    place: Place, da_score: DaScore
) -> None:
    shown = da_score("init", "--yes", "--no-cache").out
    assert "Wrote no hook, since no session of an agent was found here: " in shown
    assert "For you alone" not in shown
    assert (
        "hook"
        not in da_score("init", "--yes", "--force", "--no-hook", "--no-cache").out
    )
    assert (place.path / ".agents").is_dir()


def copied_session(place: Place, tmp_path: Path) -> Path:
    """Return a folder with the session of an entry, which is in the folder of no agent."""
    place.iteration(1)
    path = place.session("mine", place.turn(1))
    folder = tmp_path / "copied"
    folder.mkdir()
    path.rename(folder / path.name)
    return folder


def test_with_sessions_of_no_agent_that_runs_hooks_it_says_so(
    place: Place, da_score: DaScore, tmp_path: Path
) -> None:
    """They were copied here, or came with checkpoints: they do not say which agent works here."""
    folder = copied_session(place, tmp_path)
    asked = "init", "--yes", "--no-cache", "--transcript-dir", str(folder)
    shown = da_score(*asked).out
    assert (
        "Wrote no hook, since no session is in the folder of an agent that runs hooks: "
        in shown
    )

    assert da_score("hook", "install").status == 0
    assert "Wrote no hook" not in da_score(*asked, "--force").out


def test_with_settings_that_are_kept_it_goes_by_their_transcripts_and_names_their_rubric(
    place: Place, da_score: DaScore, tmp_path: Path
) -> None:
    folder = copied_session(place, tmp_path)
    file = place.path / ".agents/da-score.toml"
    file.write_text(f'transcript-dir = ["{folder}"]\n')
    shown = da_score("init", "--yes", "--no-cache").out
    kept, hook, *_ = shown.splitlines()
    assert kept == (
        f"Kept {file}, which was there already; the rubric stays 2.1.0:"
        ' add rubric = "3.1.0" for the newest'
    )
    assert hook.startswith("Wrote no hook, since no session is in the folder of an ")

    file.write_text(f'rubric = "3.1.0"\n{file.read_text()}')
    kept, *_ = da_score("init", "--yes", "--no-cache").out.splitlines()
    assert kept == f"Kept {file}, which was there already"


def test_settings_for_one_person_are_not_to_be_committed(
    place: Place, da_score: DaScore
) -> None:
    place.iteration(1)
    place.session("mine", place.turn(1))
    shown = da_score("init", "--yes", "--no-cache").out
    assert "For you alone: .claude/settings.local.json (do not commit;" in shown
    advised = [line for line in shown.splitlines() if "(commit, or add" in line]
    assert advised
    assert "settings.local.json" not in "".join(advised)


def test_it_warns_of_broken_entries_as_other_commands_do(
    place: Place, da_score: DaScore
) -> None:
    place.log.mkdir(parents=True, exist_ok=True)
    (place.log / "historical.yaml").write_text("iterations:\n- a: b: c\n")
    said = "historical.yaml: line 2: mapping values are not allowed in this context (column 7); "
    said += "it is left out"
    for command in ("init --yes", "work", "run --rubric 3.1.0"):
        assert said in da_score(*command.split(), "--no-cache").err, command


def test_where_no_agent_made_a_commit_it_says_whether_a_session_is_here(
    place: Place, da_score: DaScore
) -> None:
    asked = ("init", "--yes", "--no-hook", "--no-cache", "--force")
    none = "No commit that an agent made was found"
    shown = da_score(*asked).out
    assert f"{none}: da-score doctor shows what is looked at\n" in shown
    place.session("mine", place.turn(1))
    shown = da_score(*asked).out
    assert (
        f"{none}, but 1 transcript of this repository: da-score work says what it led to\n"
        in shown
    )
    *_, doctor, _ = shown.splitlines()
    assert doctor == "What is missing, and what of it can be fetched: da-score doctor"


def settings_of(place: Place) -> dict[str, object]:
    return tomllib.loads((place.path / ".agents" / "da-score.toml").read_text("utf-8"))


def test_folders_of_transcripts_are_a_list(
    place: Place, da_score: DaScore, tmp_path: Path
) -> None:
    folders = [tmp_path / "first, with a comma", tmp_path / "second"]
    for folder in folders:
        folder.mkdir()
    options = [f"--transcript-dir={folder}" for folder in folders]
    assert da_score("init", "--yes", "--no-hook", "--no-cache", *options).status == 0
    assert settings_of(place)["transcript-dir"] == [str(folder) for folder in folders]


def test_without_folders_there_is_no_such_setting(
    place: Place, da_score: DaScore
) -> None:
    assert da_score("init", "--yes", "--no-hook", "--no-cache").status == 0
    settings = settings_of(place)
    assert "transcript-dir" not in settings
    assert settings["transcripts"] == "auto"


def test_a_log_outside_of_the_repository_is_in_no_settings_file(
    place: Place, da_score: DaScore, tmp_path: Path
) -> None:
    """A file that names one is refused by every other command."""
    asked = "--iter-log-dir", str(tmp_path / "elsewhere")
    assert da_score("init", "--yes", "--no-cache", *asked).status == 0
    assert "iter-log-dir" not in tomllib.loads(
        (place.path / ".agents/da-score.toml").read_text()
    )
    assert da_score("doctor", "--no-cache").status == 0


def accepted_questions(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return a list that takes each question of a terminal on which a person accepts all."""
    questions: list[str] = []

    def accept(question: str, **_: object) -> bool:
        questions.append(question)
        return True

    monkeypatch.setattr(click, "confirm", accept)
    monkeypatch.setattr("scoring.cli.init.on_terminal", lambda: True)
    monkeypatch.setattr("scoring.cli.init.is_terminal", lambda _: True)
    return questions


@pytest.mark.usefixtures("place")
def test_on_a_terminal_it_asks_to_have_its_folder_ignored_until_it_is(
    da_score: DaScore, monkeypatch: pytest.MonkeyPatch
) -> None:
    questions = accepted_questions(monkeypatch)
    question = "Have git ignore .agents/? Say no to commit it."
    for written in (True, False):
        shown = da_score("init", "--no-cache").out
        assert ("\nWrote /.agents/ to " in shown) is written
        assert questions.count(question) == 1


def test_on_a_terminal_it_names_the_settings_file_into_which_the_hook_goes(
    place: Place, da_score: DaScore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without settings that git tracks these are the user's own."""
    place.iteration(1)
    place.session("mine", place.turn(1))
    questions = accepted_questions(monkeypatch)
    shown = da_score("init", "--no-cache").out
    file = ".claude/settings.local.json"
    assert f"Score each task of claude, by a hook in {file}?" in questions
    assert f"Wrote the hook to {place.path / file}" in shown
