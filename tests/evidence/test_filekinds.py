"""What a file is by its path: code, a document, or neither."""

import pytest

from scoring.evidence.scopes import is_code, is_document


@pytest.mark.parametrize(
    "path",
    ["a.py", "src/x/y.TSX", "lib/a.b.go", "Makefile", "docker/Dockerfile", "CMakeLists.txt", "t/01-basic.t", "a.html"],
)
def test_code_is_code_and_no_document(path: str) -> None:
    assert is_code(path)
    assert not is_document(path)


@pytest.mark.parametrize(
    "path",
    [
        "README.md",
        "docs/INDEX.RST",
        "notes.txt",
        "a.adoc",
        "logo.svg",
        "img/shot.PNG",
        "LICENSE",
        "COPYING",
        "sub/NOTICE",
        "LICENSE.md",
        "LICENSE-MIT",
        "COPYING.LESSER",
        "licence.txt",
    ],
)
def test_a_document_is_a_document_and_no_code(path: str) -> None:
    assert is_document(path)
    assert not is_code(path)


@pytest.mark.parametrize(
    "path",
    [
        pytest.param("pyproject.toml", id="settings"),
        pytest.param("data.json", id="data"),
        pytest.param("", id="nothing"),
        pytest.param("src/", id="a folder"),
        pytest.param(".md", id="a hidden file with the name of a suffix"),
        pytest.param("md", id="a suffix alone"),
        pytest.param("a.md/b", id="a suffix of the folder"),
        pytest.param("licenses", id="a name that only begins like a licence"),
        pytest.param("scripts/run", id="no suffix"),
    ],
)
def test_what_is_neither(path: str) -> None:
    assert not is_code(path)
    assert not is_document(path)


def test_a_licence_in_code_is_code() -> None:
    assert is_code("license.py")
    assert not is_document("license.py")


@pytest.mark.parametrize(
    ("path", "globs", "found"),
    [
        pytest.param("src/a.toml", ["src/**"], True, id="in a folder"),
        pytest.param("src/a.toml", ["**/*.toml"], True, id="a suffix anywhere"),
        pytest.param("a/b.toml", ["*.toml"], False, id="one star stops at a folder"),
        pytest.param("lib/a.py", ["src/**"], False, id="globs alone decide"),
        pytest.param("a.py", [], True, id="no globs, so the suffix decides"),
    ],
)
def test_globs_decide_where_there_are_any(path: str, globs: list[str], found: bool) -> None:
    assert is_code(path, globs) is found
