"""The hook in a harness's settings: put in, shown, taken out, while everything else stays."""

import functools
import json
import os
import re
import shutil
import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from helpers import tables
from helpers.commands import DaScore, Outcome, in_process, one_line
from helpers.doors import ends, make_fifo
from helpers.repos import Repo

from scoring.errors import InputError, WriteError
from scoring.jobs.hook_install import (
    HookChange,
    install_hook,
    installed_in,
    uninstall_hook,
)

NEW_FILE = """\
{
  "hooks": {
    "Stop": [
      {
        "hooks": [
          {
            "type": "command",
            "command": "da-score close-task",
            "timeout": 30
          }
        ]
      }
    ]
  }
}
"""
ONE_LINE = (
    '{"hooks": [{"type": "command", "command": "da-score close-task", "timeout": 30}]}'
)
HOOKED = json.dumps(
    {"hooks": {"Stop": [{"hooks": [{"command": "da-score close-task"}]}]}}
)
PLACES = {
    ("claude", "project"): "project/.claude/settings.local.json",
    ("claude", "user"): "home/.claude/settings.json",
    ("codex", "project"): "project/.codex/hooks.json",
    ("codex", "user"): "home/.codex/hooks.json",
    ("gemini", "project"): "project/.gemini/settings.json",
    ("qwen", "user"): "home/.qwen/settings.json",
    ("droid", "project"): "project/.factory/settings.json",
    ("cursor", "user"): "home/.cursor/hooks.json",
    ("copilot", "project"): "project/.github/hooks/da-score.json",
    ("copilot", "user"): "home/.copilot/hooks/da-score.json",
}
HOOKS = {
    "gemini": ("AfterAgent", {"timeout": 30_000}),
    "qwen": ("Stop", {}),
    "droid": ("Stop", {"timeout": 30}),
    "cursor": ("stop", {"timeout": 30}),
    "copilot": ("agentStop", {"timeoutSec": 30}),
}
"""The event of each other harness, and how long a hook may take there, in its own unit."""
BACKUP = ".da-score-backup"


@pytest.fixture
def settings(tmp_path: Path) -> Path:
    """Where Claude Code keeps the settings of a project; there is no file yet."""
    return tmp_path / "project/.claude/settings.json"


def given(path: Path, text: str | bytes, mode: int = 0o644) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    path.chmod(mode)
    return path


def backup_of(path: Path) -> Path:
    return path.with_name(path.name + BACKUP)


def files_below(root: Path) -> dict[str, bytes]:
    found = {
        str(path.relative_to(root)): path for path in root.rglob("*") if path.is_file()
    }
    return {
        name: path.read_bytes() for name, path in found.items() if "/.git/" not in name
    }


class TestInstall:
    @pytest.mark.parametrize(
        "text",
        [
            '{\n    "model": "ö \\ud83d",\n    "n": 1.5,\n    "list": []\n}\n',
            '{\r\n\t"a": {\r\n\t\t"b": null\r\n\t}\r\n}',
            '{"hooks": {"Stop": [{"hooks": [{"command": "mine"}]}], "PreToolUse": []}, "z": 1}\n',
        ],
        ids=["four spaces", "tabs and the line ends of Windows", "one line"],
    )
    def test_keeps_the_rest_and_its_style_and_gives_back_every_byte(
        self, settings: Path, text: str
    ) -> None:
        given(settings, text)
        install_hook(settings)
        data, new = json.loads(text), settings.read_bytes()
        data.setdefault("hooks", {}).setdefault("Stop", []).append(json.loads(ONE_LINE))
        assert (json.loads(new), list(json.loads(new))) == (data, list(data))
        assert new.startswith(text.partition(":")[0].encode())
        assert new.endswith(text[-2:].encode())
        uninstall_hook(settings)
        assert (settings.read_bytes(), backup_of(settings).exists()) == (
            text.encode(),
            False,
        )

    @pytest.mark.parametrize(
        "command",
        [
            *(
                "/usr/local/bin/da-score close-task",
                "'/opt/my tools/da-score' close-task --json",
            ),
            *(
                "DA_SCORE_RUBRIC=2.0.2 da-score close-task",
                "cd /src && da-score   close-task || true",
            ),
            "da-score --json close-task",
        ],
    )
    def test_is_done_already_by_a_command_of_ones_own(
        self, settings: Path, command: str
    ) -> None:
        text = json.dumps(
            {
                "hooks": {
                    "SubagentStop": [
                        {"hooks": [{"type": "command", "command": command}]}
                    ]
                }
            }
        )
        given(settings, text)
        assert install_hook(settings) == HookChange(
            settings, changed=False, backup=None
        )
        assert (settings.read_text(), installed_in(settings)) == (
            text,
            ["SubagentStop"],
        )

    @pytest.mark.parametrize(
        "command",
        [
            *(
                "da-score run",
                "da-score backfill close-task",
                "close-task",
                "my-da-score close-task",
            ),
            *(
                "da-score-other close-task",
                "da-score",
                "da-score --json",
                "",
                None,
                7,
                ["da-score", "close-task"],
            ),
        ],
        ids=repr,
    )
    def test_is_not_done_by_another_command(self, settings: Path, command: Any) -> None:
        given(
            settings,
            json.dumps(
                {
                    "hooks": {
                        "Stop": [{"hooks": [{"type": "command", "command": command}]}]
                    }
                }
            ),
        )
        assert installed_in(settings) == []
        assert install_hook(settings).changed

    @pytest.mark.parametrize(
        "groups",
        [
            [None],
            ["x"],
            [[]],
            [{}],
            [{"hooks": None}],
            [{"hooks": {}}],
            [{"hooks": ["x", None, {}]}],
        ],
        ids=repr,
    )
    def test_bears_groups_of_any_shape(self, settings: Path, groups: Any) -> None:
        given(
            settings, json.dumps({"hooks": {"Stop": groups, "Other": 7, "Third": "x"}})
        )
        install_hook(settings)
        hooks = {"Stop": [*groups, json.loads(ONE_LINE)], "Other": 7, "Third": "x"}
        assert json.loads(settings.read_text())["hooks"] == hooks


class TestRepair:
    @pytest.mark.parametrize(
        ("command", "wanted"),
        [
            pytest.param(
                "A=1 da-score close-task || true",
                "A=1 {} close-task || true",
                id="inside a longer command",
            ),
            pytest.param(
                "/gone/da-score close-task", "{} close-task", id="a path that is gone"
            ),
            pytest.param(
                "{} close-task --json", "{} close-task --json", id="one that runs stays"
            ),
        ],
    )
    def test_writes_the_path_of_the_da_score_that_is_here(
        self, settings: Path, tmp_path: Path, command: str, wanted: str
    ) -> None:
        here = given(tmp_path / "bin/da-score", "#!/bin/sh\n", 0o755)
        before = json.dumps(
            {"hooks": {"Stop": [{"hooks": [{"command": command.format(here)}]}]}}
        )
        given(settings, before)
        changed = install_hook(settings, f"{here} close-task").changed
        assert settings.read_text() == before.replace(
            command.format(here), wanted.format(here)
        )
        assert changed == (command != wanted)


class TestUninstall:
    @pytest.mark.parametrize(
        ("text", "wanted"),
        tables.cases("hook_install", "takes the hook and nothing else"),
    )
    def test_takes_the_hook_and_nothing_else(
        self, settings: Path, text: str, wanted: str
    ) -> None:
        given(settings, text)
        uninstall_hook(settings)
        assert settings.read_text() == wanted
        assert installed_in(settings) == []


class TestBackup:
    def test_is_the_former_file_and_both_keep_its_mode(self, settings: Path) -> None:
        given(settings, '{"a":1}\r\n', 0o640)
        install_hook(settings)
        assert backup_of(settings).read_bytes() == b'{"a":1}\r\n'
        assert [
            stat.S_IMODE(path.stat().st_mode)
            for path in (settings, backup_of(settings))
        ] == [
            0o640,
            0o640,
        ]

    def test_that_cannot_be_made_keeps_the_file_as_it_is(self, settings: Path) -> None:
        given(settings, "{}")
        backup_of(settings).mkdir()
        with pytest.raises(
            WriteError,
            match=r"settings\.json\.da-score-backup: cannot write: is a directory",
        ):
            install_hook(settings)
        assert settings.read_text() == "{}"


class TestSymlink:
    def test_to_the_settings_is_kept_and_followed(
        self, settings: Path, tmp_path: Path
    ) -> None:
        real = given(tmp_path / "dotfiles/claude.json", '{"a": 1}', 0o600)
        settings.parent.mkdir(parents=True)
        settings.symlink_to("../../dotfiles/claude.json")
        assert install_hook(settings) == HookChange(
            settings, changed=True, backup=backup_of(real)
        )
        assert os.readlink(settings) == "../../dotfiles/claude.json"
        assert real.read_text() == '{"a": 1, "hooks": {"Stop": [' + ONE_LINE + "]}}"
        assert (stat.S_IMODE(real.stat().st_mode), backup_of(real).read_text()) == (
            0o600,
            '{"a": 1}',
        )
        assert os.listdir(settings.parent) == ["settings.json"]
        uninstall_hook(settings)
        assert (settings.is_symlink(), real.read_text()) == (True, '{"a": 1}')
        real.unlink()
        install_hook(settings)
        assert (settings.is_symlink(), real.read_text()) == (True, NEW_FILE)


INSTALLED_BUT = '{"hooks": {"Stop": [{"hooks": [{"command": "da-score close-task"}]}]}'
"""What a file begins with in which the hook could be found if its rest were not read."""

Job = Callable[[Path], object]


def far_too_large(path: Path) -> None:
    path.touch()
    os.truncate(path, (16 << 20) + 1)


class TestRefused:
    """The message names the file and what is wrong with it, and the file is as it was."""

    @staticmethod
    def refused(job: Job, path: Path, reason: str) -> None:
        before = path.read_bytes() if path.is_file() else None
        names = sorted(os.listdir(path.parent))
        with pytest.raises(InputError) as raised:
            job(path)
        assert str(raised.value).startswith(f"{path}: {reason}")
        assert "\n" not in str(raised.value)
        assert (
            path.read_bytes() if path.is_file() else None,
            sorted(os.listdir(path.parent)),
        ) == (
            before,
            names,
        )

    @pytest.mark.parametrize("job", [install_hook, uninstall_hook, installed_in])
    @pytest.mark.parametrize(
        ("make", "reason"),
        [
            pytest.param(
                lambda path: path.write_text(INSTALLED_BUT),
                "not JSON: line 1, column 70: expecting ','",
                id="cut off",
            ),
            pytest.param(
                lambda path: path.write_text('{"a": 1, "a": 1}'),
                "not JSON: a key is given",
                id="twice",
            ),
            pytest.param(
                lambda path: path.write_bytes(b'{"a": "\xff"}'),
                "is not UTF-8; it was left",
                id="not UTF-8",
            ),
            pytest.param(Path.mkdir, "is a directory", id="a directory"),
            pytest.param(make_fifo, "is not a plain file", id="a FIFO"),
            pytest.param(far_too_large, "larger than 16 MiB", id="too large"),
        ],
    )
    def test_is_what_cannot_be_read(
        self, settings: Path, job: Job, make: Job, reason: str
    ) -> None:
        settings.parent.mkdir(parents=True)
        make(settings)
        ends(lambda: self.refused(job, settings, reason))

    @pytest.mark.parametrize(
        ("text", "reason"),
        [
            ("[]", "the file is not a JSON object"),
            ('{"hooks": {"Stop": "da-score close-task"}}', "hooks.Stop is not a list"),
        ],
    )
    def test_is_a_file_of_another_shape(
        self, settings: Path, text: str, reason: str
    ) -> None:
        given(settings, text)
        self.refused(
            install_hook, settings, f"{reason}; fix it by hand, it was left alone"
        )


@pytest.fixture
def da_score(
    capsysbinary: pytest.CaptureFixture[bytes],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> DaScore:
    """Run a command line with a home and in a project of its own."""
    for name in ("home", "project"):
        (tmp_path / name).mkdir()
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path / "project")
    Repo(tmp_path / "project")

    return functools.partial(in_process, capsysbinary)


def file_of(harness: str) -> str:
    """What is written where there was no file."""
    if harness not in HOOKS:
        return NEW_FILE
    event, limit = HOOKS[harness]
    key = "bash" if harness == "copilot" else "command"
    hook = {"type": "command", key: "da-score close-task >/dev/null"} | limit
    flat = harness in ("cursor", "copilot")
    written = {"hooks": {event: [hook if flat else {"hooks": [hook]}]}} | (
        {"version": 1} if flat else {}
    )
    return json.dumps(written, indent=2) + "\n"


def installed_files(root: Path) -> dict[str, str]:
    """The files below a folder, the program that they name without its folder."""
    return {
        name: re.sub(r'"/[^"]*/da-score ', '"da-score ', data.decode())
        for name, data in files_below(root).items()
    }


class TestCommand:
    @pytest.mark.sampled(3)
    @pytest.mark.parametrize(
        ("harness", "scope"), PLACES, ids=["-".join(place) for place in PLACES]
    )
    def test_installs_and_uninstalls_in_each_place(
        self, da_score: DaScore, tmp_path: Path, harness: str, scope: str
    ) -> None:
        place = PLACES[harness, scope]
        options = ("--harness", harness, "--scope", scope)
        shown = (
            f"{tmp_path}/{place}" if scope == "user" else place.removeprefix("project/")
        )
        assert da_score("hook", "install", *options) == Outcome(
            0, f"{shown}: installed\n", ""
        )
        assert installed_files(tmp_path) == {place: file_of(harness)}
        assert da_score("hook", "install", *options) == Outcome(
            0, f"{shown}: already installed\n", ""
        )
        assert da_score("hook", "uninstall", *options) == Outcome(
            0, f"{shown}: removed\n", ""
        )
        assert not (tmp_path / place).parent.exists()
        assert da_score("hook", "uninstall", *options) == Outcome(
            0, f"{shown}: not installed\n", ""
        )

    def test_says_where_a_harness_runs_none(self, da_score: DaScore) -> None:
        said = one_line(da_score("hook", "install", "--harness", "amp"))
        assert (
            said
            == "amp runs no command when its agent stops; 'da-score watch' scores what it does"
        )

    def test_speaks_json(self, da_score: DaScore, tmp_path: Path) -> None:
        path = ".claude/settings.local.json"
        given(Path(path), "{}")
        backup = f"{tmp_path}/project/{path}{BACKUP}"
        assert da_score("hook", "install", "--json").json == {
            "path": path,
            "changed": True,
            "backup": backup,
        }
        assert da_score("--json", "hook", "install").json == {
            "path": path,
            "changed": False,
            "backup": None,
        }
        shown = da_score("hook", "show", "--json").json[:4]
        assert [
            (row["harness"], row["scope"], row["path"], row["events"]) for row in shown
        ] == [
            ("claude", "project", ".claude/settings.json", []),
            ("claude", "project", path, ["Stop"]),
            ("claude", "user", f"{tmp_path}/home/.claude/settings.json", []),
            ("codex", "project", ".codex/hooks.json", []),
        ]

    def test_settings_that_git_tracks_get_the_command_alone(
        self, da_score: DaScore, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        path = given(Path(".claude/settings.json"), "{}")
        subprocess.run(["git", "add", str(path)], check=True)
        monkeypatch.setenv(
            "PATH", f"{Path(sys.executable).parent}:{os.environ['PATH']}"
        )
        assert da_score("hook", "install").out.startswith(f"{path}: installed")
        (group,) = json.loads(path.read_text())["hooks"]["Stop"]
        assert group["hooks"][0]["command"] == "da-score close-task"
        assert not Path(".claude/settings.local.json").exists()
        assert da_score("hook", "install").out == f"{path}: already installed\n"
        assert da_score("hook", "uninstall").out == f"{path}: removed\n"

    @pytest.mark.parametrize(
        "before", ["{}", HOOKED], ids=["no hook", "a hook on the path"]
    )
    def test_where_others_could_not_run_it_the_hook_is_for_one_person_alone(
        self,
        da_score: DaScore,
        monkeypatch: pytest.MonkeyPatch,
        tmp_path: Path,
        before: str,
    ) -> None:
        path = given(Path(".claude/settings.json"), before)
        subprocess.run(["git", "add", str(path)], check=True)
        (tmp_path / "bin").mkdir()
        for name in ("git", "sh"):
            (tmp_path / "bin" / name).symlink_to(shutil.which(name) or name)
        monkeypatch.setenv("PATH", str(tmp_path / "bin"))
        monkeypatch.setattr(
            "sys.argv", [str(Path(sys.executable).with_name("da-score"))]
        )
        personal = ".claude/settings.local.json"
        assert da_score("hook", "install").out == f"{personal}: installed\n"
        assert path.read_text() == before
        da_score("hook", "uninstall")
        assert not Path(personal).exists()

    @pytest.mark.parametrize("what", ["install", "uninstall", "show"])
    def test_says_in_one_line_what_it_cannot_do(
        self, da_score: DaScore, tmp_path: Path, what: str
    ) -> None:
        given(Path(".claude/settings.json"), '{"a": 1,}')
        said = one_line(da_score("hook", what))
        assert said.startswith(".claude/settings.json: not JSON: ")
        assert said.endswith("; fix it by hand, it was left alone")
        assert files_below(tmp_path) == {"project/.claude/settings.json": b'{"a": 1,}'}

    def test_does_not_install_where_nothing_can_be_scored(
        self, da_score: DaScore, tmp_path: Path
    ) -> None:
        (tmp_path / "plain").mkdir()
        said = one_line(da_score("hook", "install", "--repo-dir", tmp_path / "plain"))
        assert "plain: not a git work tree (" in said
        assert said.endswith(
            "; run da-score in a repository, or name it with --repo-dir"
        )
        assert files_below(tmp_path) == {}

    def test_does_not_install_what_does_not_run(
        self, da_score: DaScore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        program = tmp_path / "bin/da-score"
        program.parent.mkdir()
        program.write_text("#!/bin/sh\necho no such module >&2\nexit 3\n")
        program.chmod(0o755)
        monkeypatch.setattr("sys.argv", [str(program)])
        found = da_score("hook", "install")
        assert found.status == 1
        assert (
            f"was not installed: {program} ends with status 3: no such module"
            in found.err
        )
        assert not Path(".claude").exists()

    @pytest.mark.parametrize(
        ("folder", "problem"),
        [
            (".cache/uv/archive-v0", "is in a cache"),
            (".cache/pypoetry/virtualenvs/a/bin", ""),
            (".cached/bin", ""),
        ],
    )
    def test_does_not_install_what_does_not_last(
        self,
        da_score: DaScore,
        tmp_path: Path,
        monkeypatch: pytest.MonkeyPatch,
        folder: str,
        problem: str,
    ) -> None:
        program = tmp_path / folder / "da-score"
        program.parent.mkdir(parents=True)
        program.write_text("#!/bin/sh\n")
        program.chmod(0o755)
        monkeypatch.setattr("sys.argv", [str(program)])
        assert problem in da_score("hook", "install").err
        assert Path(".claude").exists() == (not problem)

    @pytest.mark.parametrize(
        ("command", "said"),
        [
            pytest.param(
                "/gone/da-score close-task",
                "/gone/da-score is not there",
                id="a path that is gone",
            ),
            pytest.param(
                "'da-score close-task", "is not a command line", id="an open quote"
            ),
        ],
    )
    def test_one_that_cannot_run_is_noticed(
        self, da_score: DaScore, command: str, said: str
    ) -> None:
        given(
            Path(".codex/hooks.json"),
            json.dumps({"hooks": {"Stop": [{"hooks": [{"command": command}]}]}}),
        )
        assert said in da_score("hook", "show").err
        assert said in json.dumps(
            json.loads(da_score("doctor", "--json").out)["findings"]
        )
