"""No command, and no process that it starts, imports a module from the working directory."""

import functools
import os
import re
import subprocess
import sys
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest
from helpers.extras import needs
from helpers.fleets import make_fleet

from scoring.demo import Demo

PROGRAM = Path(sys.executable).with_name("da-score")

COMMANDS = [
    ("iteration", "5"),
    ("run", "--no-cache"),
    ("work",),
    ("explain", "5"),
    ("check",),
    ("doctor",),
    ("backfill",),
    ("close-task",),
    ("report", "--out", "report.html"),
    ("derive",),
    ("validate",),
    ("log", "lint"),
    ("hook", "install"),
]
IMPORT = re.compile(rb"^[ \t>]*(?:import|from)[ \t]+([A-Za-z_]\w*)", re.MULTILINE)


@functools.cache
def names_imported() -> frozenset[str]:
    """Return each name that a module that is installed imports, if it is there or not."""
    names = {*sys.stdlib_module_names, *packages_distributions()}
    names |= {"sitecustomize", "usercustomize"}
    packages = Path(pytest.__file__).parents[1]
    for module in packages.rglob("*.py"):
        if "tests" not in module.parts:
            names |= set(map(bytes.decode, IMPORT.findall(module.read_bytes())))
    return frozenset(filter(str.isidentifier, names))


def set_traps(folder: Path, imported: Path) -> None:
    """Put a module of each name that is imported into a folder; each notes its import."""
    for name in names_imported():
        trap = f"open({str(imported)!r}, 'a').write({name!r} + ' ')\n"
        (folder / f"{name}.py").write_text(trap)


def run_in(folder: Path, *arguments: str) -> int:
    environment = {k: v for k, v in os.environ.items() if not k.startswith("PYTHON")}
    done = subprocess.run(
        [PROGRAM, *arguments],
        cwd=folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=300,
        check=False,
    )
    return done.returncode


def test_a_trap_notes_its_import(tmp_path: Path) -> None:
    folder = tmp_path / "traps"
    folder.mkdir()
    set_traps(folder, tmp_path / "imported")

    command = [sys.executable, "-c", "import colorsys"]
    environment = {k: v for k, v in os.environ.items() if not k.startswith("PYTHON")}
    subprocess.run(
        command, cwd=folder, env=environment, check=False, capture_output=True
    )

    assert "colorsys" in (tmp_path / "imported").read_text()


@pytest.mark.parametrize("arguments", COMMANDS, ids=" ".join)
def test_a_command_imports_nothing_from_it(
    here: Demo, tmp_path: Path, arguments: tuple[str, ...]
) -> None:
    set_traps(here.repo_dir, tmp_path / "imported")

    run_in(here.repo_dir, *arguments)

    assert not (tmp_path / "imported").exists()


@pytest.mark.slow
@needs("distributed")
def test_the_workers_of_a_fleet_import_nothing_from_it(tmp_path: Path) -> None:
    path = make_fleet(tmp_path, 2)
    set_traps(path.parent, tmp_path / "imported.txt")

    status = run_in(path.parent, "fleet", str(path), "--workers", "2")

    assert status == 0
    assert not (tmp_path / "imported.txt").exists()
