"""Settings: which source wins, what each may say, and what is said when it says something else."""

import itertools
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from helpers import tables

from scoring.errors import SettingsError
from scoring.log.settings import Settings, resolve_settings, tables_of

DEFAULTS = Settings(
    iter_log_dir=Path(".agents/active/iteration-log"), repo_dir=Path(), rubric="2.1.0"
)


@pytest.fixture(autouse=True)
def _in_a_repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Make a repository directory the current directory, so that it need not be named."""
    (tmp_path / ".agents").mkdir()
    monkeypatch.chdir(tmp_path)


@dataclass(frozen=True)
class Key:
    """A setting: its attribute, and two texts with their values, for options and variables.

    What is personal cannot be set by the files of a repository.
    """

    name: str
    attribute: str
    values: tuple[tuple[str, Any], tuple[str, Any]]
    personal: bool = False

    def __str__(self) -> str:
        return self.name

    @property
    def variable(self) -> str:
        return "DA_SCORE_" + self.name.upper().replace("-", "_")


KEYS = [
    Key(
        "iter-log-dir",
        "iter_log_dir",
        (("a/log", Path("a/log")), ("b/log", Path("b/log"))),
    ),
    Key("repo-dir", "repo_dir", (("a", Path("a")), ("b", Path("b")))),
    Key(
        "transcript-dir",
        "transcript_dirs",
        (("/a:/b", (Path("/a"), Path("/b"))), ("/c", (Path("/c"),))),
    ),
    Key("transcripts", "transcripts", (("auto", "auto"), ("none", "none"))),
    Key("trunk", "trunk", (("main", "main"), ("upstream/trunk", "upstream/trunk"))),
    Key("worktrees", "worktrees", (("/a/*:*/b-?", ("/a/*", "*/b-?")), ("/c", ("/c",)))),
    Key(
        "test-commands",
        "test_commands",
        (
            ("npm run e2e:all;./check", ("npm run e2e:all", "./check")),
            ("./c", ("./c",)),
        ),
    ),
    Key(
        "code-globs",
        "code_globs",
        (("src/**:*.go", ("src/**", "*.go")), ("lib/*", ("lib/*",))),
    ),
    Key(
        "fix-words",
        "fix_words",
        (("repair,mend", ("repair", "mend")), ("oops", ("oops",))),
    ),
    Key("horizon", "horizon", (("7d", "7d"), ("2w", "2w"))),
    Key("rubric", "rubric", (("2.0.2", "2.0.2"), ("/a/rubric.yaml", "/a/rubric.yaml"))),
    Key("derive", "derive", (("1", True), ("0", False))),
    Key("json", "json", (("1", True), ("0", False))),
    Key(
        "cache-dir",
        "cache_dir",
        (("/a", Path("/a")), ("/b", Path("/b"))),
        personal=True,
    ),
    Key("no-cache", "no_cache", (("1", True), ("0", False))),
    Key("processes", "processes", (("2", 2), ("3", 3))),
]
FILES = ["da-score.toml", "pyproject.toml"]
SOURCES = ["command line", "variable", *FILES]
"""The sources, the one that wins first."""

PAIRS = [
    (key, *pair)
    for key in KEYS
    for pair in itertools.combinations(SOURCES, 2)
    if not (key.personal and {*pair} & {*FILES})
]


def toml_of(key: Key, meaning: Any) -> str:
    match meaning:
        case bool():
            return f"{key.name} = {str(meaning).lower()}\n"
        case int():
            return f"{key.name} = {meaning}\n"
        case tuple():
            return f"{key.name} = {[str(path) for path in meaning]}\n"
    return f'{key.name} = "{meaning}"\n'


def resolve(key: Key, given: Mapping[str, tuple[str, Any]]) -> Any:
    """Set a key in some sources, resolve, and return what it is."""
    options, environment = {}, {}
    for source, (text, meaning) in given.items():
        match source:
            case "command line":
                options[key.name] = meaning
            case "variable":
                environment[key.variable] = text
            case "da-score.toml":
                Path(".agents/da-score.toml").write_text(toml_of(key, meaning))
            case "pyproject.toml":
                Path("pyproject.toml").write_text(
                    "[tool.da-score]\n" + toml_of(key, meaning)
                )
    return getattr(resolve_settings(options, environment), key.attribute)


class TestPrecedence:
    @pytest.mark.parametrize(("key", "stronger", "weaker"), PAIRS, ids=str)
    @pytest.mark.parametrize(
        "swapped", [False, True], ids=["as listed", "values swapped"]
    )
    def test_the_stronger_of_two_sources_wins(
        self, key: Key, stronger: str, weaker: str, swapped: bool
    ) -> None:
        wins, loses = reversed(key.values) if swapped else key.values
        assert resolve(key, {weaker: loses, stronger: wins}) == wins[1]

    def test_an_option_that_was_not_given_sets_nothing(self) -> None:
        absent = dict.fromkeys((key.name for key in KEYS), None) | {
            "transcript-dir": (),
            "test-commands": (),
        }
        assert resolve_settings(absent, {}) == DEFAULTS
        assert resolve_settings(
            absent, {"DA_SCORE_TRANSCRIPT_DIR": "/a"}
        ).transcript_dirs == (Path("/a"),)

    def test_an_option_of_another_command_is_no_setting(self) -> None:
        assert (
            resolve_settings({"no-write": True}, {"DA_SCORE_TRACEBACK": "1"})
            == DEFAULTS
        )

    def test_variables_are_those_of_the_process(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("DA_SCORE_RUBRIC", "2.0.2")
        assert resolve_settings({}).rubric == "2.0.2"
        assert resolve_settings({}, {}).rubric == "2.1.0"

    def test_sources_are_asked_key_by_key(self) -> None:
        Path("pyproject.toml").write_text(
            '[tool.da-score]\nrubric = "1"\niter-log-dir = "p"\njson = true\n'
        )
        Path(".agents/da-score.toml").write_text('rubric = "2"\niter-log-dir = "t"\n')
        assert resolve_settings({"processes": 4}, {"DA_SCORE_RUBRIC": "3"}) == Settings(
            iter_log_dir=Path("t"), rubric="3", json=True, processes=4
        )


class TestWorktrees:
    """Globs match whole folders: a relative one is below the repository or the current folder."""

    @pytest.mark.parametrize(
        ("text", "found"),
        [
            pytest.param(
                "../wt/*", "{above}/wt/*", id="relative: beside the repository"
            ),
            pytest.param(
                "./wt-[0-9]", "{here}/wt-[0-9]", id="relative, with a wildcard behind"
            ),
            pytest.param("/tmp/wt/*", "/tmp/wt/*", id="absolute: as it is"),
            pytest.param("*/wt/*", "*/wt/*", id="begins with a wildcard: anywhere"),
            pytest.param("~/wt/*", "{home}/wt/*", id="below the home"),
        ],
    )
    @pytest.mark.parametrize("source", ["command line", "variable", "da-score.toml"])
    def test_are_whole_folders(
        self, text: str, found: str, source: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("HOME", "/home/me")
        key = next(key for key in KEYS if key.name == "worktrees")
        here = Path.cwd()
        expected = found.format(here=here, above=here.parent, home="/home/me")
        assert resolve(key, {source: (text, (text,))}) == (expected,)


OPTION = {"transcript-dir": ("/o",)}


class TestTranscripts:
    """Folders and ``transcripts`` answer one question, so the stronger source decides on both."""

    @pytest.mark.parametrize(
        ("file", "environment", "options", "folders", "way"),
        [
            pytest.param(
                'transcript-dir = "/t"',
                {},
                {},
                ("/t",),
                None,
                id="a file names a folder",
            ),
            pytest.param(
                'transcripts = "none"', {}, {}, (), "none", id="a file wants none"
            ),
            pytest.param(
                'transcripts = "none"',
                {},
                OPTION,
                ("/o",),
                None,
                id="an option over none",
            ),
            pytest.param(
                'transcript-dir = "/t"',
                {},
                {"transcripts": "none"},
                (),
                "none",
                id="none over a folder",
            ),
            pytest.param(
                'transcript-dir = "/t"',
                {},
                {"transcripts": "auto"},
                (),
                "auto",
                id="auto over a folder",
            ),
            pytest.param(
                'transcripts = "auto"\ntranscript-dir = "/t"',
                {},
                {},
                ("/t",),
                "auto",
                id="both in one file",
            ),
            pytest.param(
                'transcripts = "auto"',
                {"DA_SCORE_TRANSCRIPT_DIR": "/v"},
                {},
                ("/v",),
                None,
                id="a variable over auto",
            ),
            pytest.param(
                "",
                {"DA_SCORE_TRANSCRIPTS": "none"},
                OPTION,
                ("/o",),
                None,
                id="an option over a variable",
            ),
        ],
    )
    def test_are_decided_by_the_stronger_source(
        self,
        file: str,
        environment: dict[str, str],
        options: dict[str, Any],
        folders: tuple[str, ...],
        way: str | None,
    ) -> None:
        Path(".agents/da-score.toml").write_text(file + "\n")
        settings = resolve_settings(options, environment)
        assert (settings.transcript_dirs, settings.transcripts) == (
            tuple(map(Path, folders)),
            way,
        )

    def test_that_are_none_and_named_in_one_place_are_refused(self) -> None:
        with pytest.raises(
            SettingsError,
            match=r"^the command line: transcripts is none and transcript-dir names ",
        ):
            resolve_settings({"transcripts": "none", "transcript-dir": ("t",)}, {})
        Path(".agents/da-score.toml").write_text(
            'transcripts = "none"\ntranscript-dir = "t"\n'
        )
        with pytest.raises(
            SettingsError,
            match=r"^\.agents/da-score\.toml: transcripts is none and transcript-dir",
        ):
            resolve_settings({}, {})

    @pytest.mark.parametrize(
        ("options", "environment", "said"),
        [
            (
                {},
                {"DA_SCORE_TRANSCRIPTS": "all"},
                "DA_SCORE_TRANSCRIPTS: 'all' is not auto or none",
            ),
            (
                {},
                {"DA_SCORE_TRUNK": " "},
                "DA_SCORE_TRUNK: ' ' is not the name of a branch",
            ),
            ({"trunk": ""}, {}, "--trunk: '' is not the name of a branch"),
            (
                {"horizon": "soon"},
                {},
                "--horizon: 'soon' is not a time above 0 such as 14d, 2w or 36h",
            ),
        ],
    )
    def test_and_the_trunk_are_checked(
        self, options: dict[str, Any], environment: dict[str, str], said: str
    ) -> None:
        with pytest.raises(SettingsError, match=f"^{said}$"):
            resolve_settings(options, environment)


class TestRepository:
    """An option or a variable names the repository, and its files are the ones that are read."""

    @pytest.fixture
    def elsewhere(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
        (tmp_path / "here").mkdir()
        (tmp_path / "repo" / ".agents").mkdir(parents=True)
        (tmp_path / "repo" / ".agents" / "da-score.toml").write_text(
            'rubric = "2.0.2"\n'
        )
        monkeypatch.chdir(tmp_path / "here")
        return tmp_path / "repo"

    def test_that_is_named_is_read(self, elsewhere: Path) -> None:
        assert resolve_settings({"repo-dir": elsewhere}, {}).rubric == "2.0.2"
        assert resolve_settings({"repo-dir": "../repo"}, {}).rubric == "2.0.2"
        assert (
            resolve_settings({}, {"DA_SCORE_REPO_DIR": str(elsewhere)}).rubric
            == "2.0.2"
        )
        # not named, it is the current directory
        assert resolve_settings({}, {}).rubric == "2.1.0"

    def test_holds_the_log_that_is_not_named(self, elsewhere: Path) -> None:
        default = Path(".agents/active/iteration-log")
        assert (
            resolve_settings({"repo-dir": elsewhere}, {}).iter_log_dir
            == elsewhere / default
        )
        assert (
            resolve_settings({}, {"DA_SCORE_REPO_DIR": "../repo"}).iter_log_dir
            == Path("../repo") / default
        )
        assert resolve_settings({}, {}).iter_log_dir == default
        assert resolve_settings(
            {"repo-dir": elsewhere, "iter-log-dir": "log"}, {}
        ).iter_log_dir == Path("log")


class TestPaths:
    FILE = 'iter-log-dir = "log"\nrepo-dir = "sub"\ntranscript-dir = ["t", "../t", "/t", "~/t"]\n'

    @pytest.mark.parametrize("name", [".agents/da-score.toml", "pyproject.toml"])
    def test_in_a_file_are_relative_to_the_repository(
        self, tmp_path: Path, name: str
    ) -> None:
        repo, home = tmp_path / "repo", Path(os.environ["HOME"])
        (repo / ".agents").mkdir(parents=True)
        (repo / name).write_text(
            ("[tool.da-score]\n" if name == "pyproject.toml" else "") + self.FILE
        )
        found = resolve_settings({"repo-dir": repo}, {})
        assert found.iter_log_dir == repo / "log"
        assert found.transcript_dirs == (
            repo / "t",
            repo / "../t",
            Path("/t"),
            home / "t",
        )
        assert (
            resolve_settings({}, {"DA_SCORE_REPO_DIR": str(repo)}).iter_log_dir
            == repo / "log"
        )

    def test_in_variables_and_options_are_relative_to_the_current_directory(
        self, tmp_path: Path
    ) -> None:
        (tmp_path / "repo").mkdir()
        variables = {
            "DA_SCORE_ITER_LOG_DIR": "log",
            "DA_SCORE_TRANSCRIPT_DIR": "t:../t",
            "DA_SCORE_RUBRIC": "x.yaml",
        }
        options = {"repo-dir": tmp_path / "repo", "cache-dir": Path("cache")}
        assert resolve_settings(options, variables) == Settings(
            iter_log_dir=Path("log"),
            repo_dir=tmp_path / "repo",
            transcript_dirs=(Path("t"), Path("../t")),
            rubric="x.yaml",
            cache_dir=Path("cache"),
        )

    @pytest.mark.parametrize(
        ("text", "paths"),
        [
            ("/a", ["/a"]),
            ("/a:/b", ["/a", "/b"]),
            (":/a::b:", ["/a", "b"]),
            ("/a b:/c,d", ["/a b", "/c,d"]),
        ],
    )
    def test_of_a_variable_are_separated_by_colons(
        self, text: str, paths: list[str]
    ) -> None:
        found = resolve_settings({}, {"DA_SCORE_TRANSCRIPT_DIR": text}).transcript_dirs
        assert found == tuple(map(Path, paths))


class TestVariables:
    @pytest.mark.parametrize(
        ("texts", "value"),
        [
            ("1 true True TRUE yes YES on oN", True),
            ("0 false False no NO off Off", False),
        ],
    )
    def test_a_flag_is_set_or_cleared(self, texts: str, value: bool) -> None:
        Path("pyproject.toml").write_text(
            f"[tool.da-score]\njson = {str(not value).lower()}\n"
        )
        assert {
            resolve_settings({}, {"DA_SCORE_JSON": text}).json for text in texts.split()
        } == {value}

    @pytest.mark.parametrize(
        "text", ["2", "-1", "t", "y", " 1", "1 ", "truely", "nope", "ja", "\uff11"]
    )
    def test_a_flag_is_nothing_else(self, text: str) -> None:
        with pytest.raises(
            SettingsError,
            match=f"^DA_SCORE_JSON: '{text}' is not true or false; use 1 or 0$",
        ):
            resolve_settings({}, {"DA_SCORE_JSON": text})

    @pytest.mark.parametrize(
        "text", ["0", "-1", "+1", "1.0", "two", " 1", "\u0663", "1" * 5000, "1_0"]
    )
    def test_a_count_is_nothing_else(self, text: str) -> None:
        with pytest.raises(
            SettingsError, match=r"^DA_SCORE_PROCESSES: '.*' is not a number above 0$"
        ):
            resolve_settings({}, {"DA_SCORE_PROCESSES": text})

    def test_that_is_wrong_is_refused_even_where_an_option_wins(self) -> None:
        with pytest.raises(SettingsError, match=r"^DA_SCORE_JSON: "):
            resolve_settings({"json": True}, {"DA_SCORE_JSON": "maybe"})


WRONG_KINDS = {
    "iter-log-dir": (
        "a path",
        ["1", "true", '["log"]', "{a = 1}", "2026-01-01", '"a\\u0000b"'],
    ),
    "repo-dir": ("a path", ["1", "false", "[]"]),
    "transcript-dir": (
        "a list of paths|a path",
        ["1", "true", '["t", 1]', '[["t"]]', "{a = 1}"],
    ),
    "transcripts": ("auto or none", ['"all"', '""', '"AUTO"', "true", '["auto"]']),
    "trunk": ("the name of a branch", ['""', '" "', "1", "true", '["main"]']),
    "worktrees": (
        "a list of globs of folders|a glob of folders",
        ["1", "true", "{a = 1}", '["/a", 1]', '[" "]'],
    ),
    "test-commands": (
        "a list of commands|a command",
        ["1", "true", "{a = 1}", '["./check", ""]'],
    ),
    "code-globs": (
        "a list of globs of files|a glob of files",
        ["1", "true", "{a = 1}", '["*.py", ""]'],
    ),
    "fix-words": ("a list of words|a word", ["1", "true", "{a = 1}", '["fix", " "]']),
    "horizon": (
        "a time above 0 such as 14d, 2w or 36h",
        ["14", '"0d"', '"soon"', '"-1d"', '"14 days"', "true"],
    ),
    "rubric": ("text", ["2.1", "2", '["2.1.0"]']),
    "derive": ("true or false", ['"true"', "1", "0", "[]"]),
    "json": ("true or false", ['"true"', "1", "0", "[]"]),
    "no-cache": ("true or false", ['"1"', "1"]),
    "processes": ("a number above 0", ["0", "-1", "1.5", '"2"', "true", "[]"]),
}
"""What each may be, of a list what an item may be too, and values that are none of it."""


class TestFiles:
    @pytest.fixture(params=[".agents/da-score.toml", "pyproject.toml"])
    def file(self, request: pytest.FixtureRequest) -> Path:
        return Path(request.param)

    def write(self, file: Path, text: str) -> str:
        """Write settings into either file, and return how errors name the place."""
        table = "[tool.da-score]\n" if file.name == "pyproject.toml" else ""
        file.write_bytes((table + text).encode("utf-8", "surrogateescape"))
        return (
            f"{file}: [tool.da-score]" if file.name == "pyproject.toml" else str(file)
        )

    @pytest.mark.parametrize(
        ("key", "written"),
        [
            (key, written)
            for key, (_, wrong) in WRONG_KINDS.items()
            for written in wrong
        ],
    )
    def test_a_value_of_the_wrong_kind_is_refused(
        self, file: Path, key: str, written: str
    ) -> None:
        where = self.write(file, f"{key} = {written}\n")
        with pytest.raises(SettingsError) as raised:
            resolve_settings({}, {})
        kind, _, item = WRONG_KINDS[key][0].partition("|")
        wrong = rf"{key} is .*, not {kind}" + (
            rf"|{key}\[[01]\] is .*, not {item}" if item else ""
        )
        assert re.fullmatch(f"{re.escape(where)}: ({wrong})", str(raised.value))

    def test_a_personal_setting_is_refused(self, file: Path) -> None:
        """A cache is trusted, and a repository that somebody checked out is not."""
        where = self.write(file, 'cache-dir = "cache"\n')
        with pytest.raises(SettingsError) as raised:
            resolve_settings({"cache-dir": "/mine"}, {})
        message = (
            f"{where}: cache-dir cannot be set by a repository;"
            " use --cache-dir or an environment variable"
        )
        assert str(raised.value) == message

    @pytest.mark.parametrize(
        "key", ["rubrics", "iter_log_dir", "JSON", "no-write", '""', "branch"]
    )
    def test_an_unknown_key_is_refused(self, file: Path, key: str) -> None:
        where = self.write(file, f"{key} = true\n")
        known = ", ".join(key.name for key in KEYS if not key.personal)
        with pytest.raises(SettingsError) as raised:
            resolve_settings({}, {})
        assert (
            str(raised.value)
            == f"{where}: unknown setting {key.strip(chr(34))!r}; known: {known}, [dr]"
        )

    def test_a_wrong_value_is_refused_even_where_another_source_wins(
        self, file: Path
    ) -> None:
        self.write(file, "json = 1\n")
        with pytest.raises(SettingsError, match="json is 1, not true or false"):
            resolve_settings({"json": True}, {"DA_SCORE_JSON": "1"})

    @pytest.mark.parametrize(
        "text",
        [
            *(
                "rubric = ",
                'rubric = "a\n',
                "rubric\n",
                "json = true\njson = true\n",
                "[a\n",
                "json = yes\n",
            ),
            pytest.param("\ufeff\ufeff", id="two byte order marks"),
            pytest.param('# da-score \udcff\nrubric = "x"\n', id="no text"),
            pytest.param(f"x = {'1' * 5000}\n", id="a number of thousands of digits"),
            pytest.param(f"x = {'[' * 3000}{']' * 3000}\n", id="lists in lists"),
            pytest.param(f"x = {'{a = ' * 3000}1{'}' * 3000}\n", id="tables in tables"),
        ],
    )
    def test_what_is_not_toml_is_refused(self, file: Path, text: str) -> None:
        self.write(file, text)
        with pytest.raises(
            SettingsError, match=f"^{re.escape(str(file))}: not TOML: "
        ) as raised:
            resolve_settings({}, {})
        assert "\n" not in str(raised.value)

    def test_what_is_no_plain_file_is_refused(self, file: Path) -> None:
        file.mkdir()
        with pytest.raises(SettingsError) as raised:
            resolve_settings({}, {})
        assert (
            str(raised.value)
            == f"{file}: is a directory; settings are a readable TOML file"
        )

    def test_a_home_that_nobody_has_is_refused(self, file: Path) -> None:
        where = self.write(file, 'transcript-dir = "~nobody-has-this-name/t"\n')
        with pytest.raises(SettingsError, match=re.escape(where)):
            resolve_settings({}, {})


class TestPyproject:
    """A project's pyproject.toml belongs to others; without our table it sets nothing."""

    @pytest.mark.parametrize("text", tables.cases("settings", "of other tools"))
    def test_without_our_settings_sets_nothing_and_without_our_name_may_be_broken(
        self, text: str
    ) -> None:
        Path("pyproject.toml").write_bytes(text.encode("latin-1"))
        assert resolve_settings({}, {}) == DEFAULTS

    @pytest.mark.parametrize(
        "text", ["[tool]\nda-score = 1\n", "[[tool.da-score]]\nrubric = 'x'\n"]
    )
    def test_with_something_else_of_our_name_is_refused(self, text: str) -> None:
        Path("pyproject.toml").write_text(text)
        with pytest.raises(
            SettingsError,
            match=r"^pyproject\.toml: \[tool\.da-score\]: (1|a list) where a table belongs$",
        ):
            resolve_settings({}, {})

    def test_is_not_read_for_a_parent_directory(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        Path("pyproject.toml").write_text("[tool.da-score]\njson = true\n")
        Path("sub").mkdir()
        monkeypatch.chdir("sub")
        assert resolve_settings({}, {}) == DEFAULTS


class TestTables:
    """Tables that belong to one command, which checks them."""

    def test_come_with_where_they_stand_and_the_one_that_wins_last(self) -> None:
        assert tables_of(Path(), "dr") == []
        Path("pyproject.toml").write_text("[tool.da-score.dr]\nk = 3\n")
        Path(".agents/da-score.toml").write_text("[dr]\nk = 2\n")
        assert tables_of(Path(), "dr") == [
            ("pyproject.toml: [tool.da-score.dr]", {"k": 3}),
            (".agents/da-score.toml: [dr]", {"k": 2}),
        ]
