"""What a file is by its path: code, a document, or neither."""

import pytest

from scoring.evidence.scopes import is_code, is_document

CODE = [
    "a.py",
    "src/x/y.TSX",
    "lib/a.b.go",
    "Makefile",
    "docker/Dockerfile",
    "CMakeLists.txt",
    "t/01-basic.t",
    "a.html",
    "license.py",
]
DOCUMENTS = [
    *("README.md", "docs/INDEX.RST", "notes.txt", "a.adoc", "logo.svg", "img/shot.PNG"),
    *(
        "LICENSE",
        "COPYING",
        "sub/NOTICE",
        "LICENSE.md",
        "LICENSE-MIT",
        "COPYING.LESSER",
        "licence.txt",
    ),
]
NEITHER = {
    "settings": "pyproject.toml",
    "data": "data.json",
    "nothing": "",
    "a folder": "src/",
    "a hidden file with the name of a suffix": ".md",
    "a suffix alone": "md",
    "a suffix of the folder": "a.md/b",
    "a name that only begins like a licence": "licenses",
    "no suffix": "scripts/run",
}


@pytest.mark.parametrize(
    ("path", "code", "document"),
    [
        *(pytest.param(path, True, False, id=path) for path in CODE),
        *(pytest.param(path, False, True, id=path) for path in DOCUMENTS),
        *(pytest.param(path, False, False, id=name) for name, path in NEITHER.items()),
    ],
)
def test_a_file_is_code_or_a_document_or_neither(
    path: str, code: bool, document: bool
) -> None:
    assert (is_code(path), is_document(path)) == (code, document)


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
def test_globs_decide_where_there_are_any(
    path: str, globs: list[str], found: bool
) -> None:
    assert is_code(path, globs) is found
