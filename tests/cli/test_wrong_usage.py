"""Wrong usage ends with 2: values that an option does not take, and options that exclude others."""

from pathlib import Path

import pytest
from helpers.commands import DaScore, one_line
from helpers.projects import LOG

from scoring.log.settings import Settings

RECORD = [
    *[
        "hook",
        "record",
        "3",
        "--sentinel",
        "s",
        "--rule",
        "gate.r",
        "--result",
        "advise",
    ],
    "--lifecycle",
]


@pytest.mark.usefixtures("scored")
@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["run", "--since", "whenever"], "--since 'whenever' names no days"),
        (["backfill", "--since", "whenever"], "--since 'whenever' names no days"),
        (["derive", "--since", "whenever"], "--since 'whenever' names no days"),
        (["report", "--since", "whenever"], "--since 'whenever' names no days"),
        (
            ["report", "--out", "-", "--json"],
            "--out - and --json both want standard output",
        ),
        (["check", "--min-band", "fine"], "--min-band: rubric"),
        (["check", "--max-drop", ".1"], "--max-drop and --baseline go together"),
        (
            ["check", "--base", "master"],
            "--base chooses work, and no gate looks at work",
        ),
        (
            ["check", "--base", "master", "--min-score", "0"],
            "--base chooses work, and no gate looks at work",
        ),
        (["outcomes", "--horizon", "3q"], "--horizon: '3q' is not a time above 0"),
        (["run", "--transcripts", "some"], "--transcripts: 'some' is not auto or none"),
        (
            ["run", "--transcripts", "none", "--transcript-dir", "x"],
            "the command line: transcripts is none and",
        ),
        (
            ["run", "--transcript-dir", ".git,.agents"],
            "--transcript-dir '.git,.agents': give the option once for each folder",
        ),
        (["work", "--worktrees", ""], "--worktrees: '' is not a glob of folders"),
        (["cost", "--code-globs", " "], "--code-globs: ' ' is not a glob of files"),
        (
            ["run", "--cache-dir", "/dev/null/x"],
            "--cache-dir '/dev/null/x': not a directory; name a folder that you may write",
        ),
        (["work", "--cache-dir", ""], "Invalid value for '--cache-dir': '' is not a"),
        (["export"], "several tables need a directory"),
        (["export", "--tables", "nope"], "--tables: 'nope' is not a table"),
        (["query", " "], "query: there is no SQL"),
        (
            [*RECORD, "sunrise"],
            "Invalid value for '--lifecycle': 'sunrise' is not one of",
        ),
        (
            ["meeting", "run", "--state", "x", "--option", "B"],
            "--option goes with --answer yes",
        ),
        (
            ["check", "--min-score", "x"],
            "Invalid value for '--min-score': 'x' is not a valid number. (see",
        ),
        (
            ["check", "--min-score", "nan"],
            "Invalid value for '--min-score': 'nan' is not a valid number. (see",
        ),
        (
            ["run", "--last", "x"],
            "Invalid value for '--last': 'x' is not a valid whole number. (see",
        ),
        (
            ["hook", "record", "x", *RECORD[3:], "stop"],
            "Invalid value for '[N]': 'x' is not a valid whole number. (see",
        ),
        (
            ["meeting", "schema"],
            "Missing argument '{record|config}'. Choose from: record, config (see",
        ),
    ],
)
def test_a_value_or_combination_of_options(
    da_score: DaScore, arguments: list[str], said: str
) -> None:
    found = da_score(*arguments)
    assert (found.status, one_line(found)[: len(said)]) == (2, said)


@pytest.mark.usefixtures("scored")
def test_is_neither_a_variable_nor_a_file_nor_a_name_of_nothing(
    da_score: DaScore, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    assert da_score("run", "--iter-log-dir", tmp_path / "missing").status == 1
    assert da_score("check", "--max-drop", ".1", "--baseline", "nope").status == 1
    monkeypatch.setenv("DA_SCORE_HORIZON", "3q")
    assert da_score("outcomes", "--iter-log-dir", LOG).status == 1


@pytest.mark.usefixtures("scored")
class TestCache:
    def test_is_made(self, da_score: DaScore, tmp_path: Path) -> None:
        folder = tmp_path / "new" / "cache"
        assert da_score("work", "--cache-dir", folder).status == 0
        assert folder.stat().st_mode & 0o777 == 0o700

    def test_that_cannot_be_written_does_not_matter_without_one(
        self, da_score: DaScore
    ) -> None:
        found = da_score("work", "--no-cache", "--cache-dir", "/dev/null/x")
        assert (found.status, found.err) == (0, "")

    @pytest.mark.parametrize("folder", ["/dev/null/x", "cache"])
    def test_of_a_variable_is_no_wrong_usage(
        self,
        da_score: DaScore,
        monkeypatch: pytest.MonkeyPatch,
        tmp_path: Path,
        folder: str,
    ) -> None:
        monkeypatch.setenv("DA_SCORE_CACHE_DIR", str(tmp_path / folder))
        monkeypatch.delenv("DA_SCORE_NO_CACHE", raising=False)
        found = da_score("work")
        is_usable = folder == "cache"
        assert found.status == (0 if is_usable else 1)
        assert ("DA_SCORE_CACHE_DIR '/dev/null/x': " in found.err) is not is_usable


@pytest.mark.usefixtures("scored")
@pytest.mark.parametrize(
    ("globs", "unfit"),
    [
        pytest.param(["["], ["["], id="an open bracket"),
        pytest.param(["*.[ch]", "**/*.py"], ["*.[ch]"], id="one of two"),
        pytest.param(["**/*.py"], [], id="fits files"),
        pytest.param([], [], id="none given"),
    ],
)
def test_patterns_of_code_that_fit_no_file_are_named(
    da_score: DaScore, globs: list[str], unfit: list[str]
) -> None:
    found = da_score("outcomes", *(f"--code-globs={glob}" for glob in globs))
    assert found.status == 0
    warnings = found.err.splitlines()
    assert len(warnings) == len(unfit)
    for warning, glob in zip(warnings, unfit, strict=True):
        assert f"code-globs {glob!r} fits no file that git tracks: " in warning


@pytest.mark.usefixtures("scored")
@pytest.mark.parametrize(
    ("command", "is_asked"),
    [
        pytest.param(["outcomes"], True, id="warns"),
        pytest.param(["iteration", "5"], False, id="shows a sidecar"),
    ],
)
def test_git_is_asked_about_patterns_only_where_a_warning_would_be_seen(
    da_score: DaScore,
    asked_globs: list[Settings],
    monkeypatch: pytest.MonkeyPatch,
    command: list[str],
    is_asked: bool,
) -> None:
    monkeypatch.setenv("DA_SCORE_CODE_GLOBS", "[")
    assert da_score(*command).status == 0
    assert bool(asked_globs) is is_asked


@pytest.mark.usefixtures("scored")
def test_a_comma_in_the_name_of_a_folder_is_part_of_it(
    da_score: DaScore, tmp_path: Path
) -> None:
    (tmp_path / "a,b").mkdir()
    for name, said in (("a,b", "a,b: no *.jsonl file"), ("a,c", "a,c: no such dir")):
        found = da_score("run", "--no-write", "--transcript-dir", tmp_path / name)
        assert (found.status, said in found.err) == (0, True)
