"""What a file is by its path: code, which tests say something about; a document, which they do not; or neither.

Nothing is opened. A path is one as git or an edit tool names it, with ``/`` between folders.
"""

from collections.abc import Sequence
from functools import lru_cache

from scoring.evidence.scopes import GlobScope

# One line a family: scripts, the web, the JVM, native, .NET and mobile, functional, shells, build and queries.
_SOURCES = """
py pyi pyx ipynb rb erb rake php pl pm t lua tcl r jl
js jsx mjs cjs ts tsx mts cts vue svelte astro html htm css scss sass less graphql gql
java kt kts scala sc groovy gradle clj cljs cljc
c h cc cpp cxx hh hpp hxx ipp inl m mm go rs zig d nim f f90 f95 f03 adb ads asm s cu cuh v sv vhd vhdl cr odin
cs fs fsx vb swift dart razor cshtml xaml
ex exs eex heex erl hrl hs lhs ml mli elm lisp scm rkt el purs gleam
sh bash zsh fish ps1 psm1 bat cmd awk nix
sql proto thrift sol wat cmake mk bzl bazel tf hcl
"""
_CODE_SUFFIXES = frozenset(_SOURCES.split())
_CODE_NAMES = frozenset(
    {"makefile", "gnumakefile", "justfile", "rakefile", "gemfile", "dockerfile", "containerfile", "cmakelists.txt"}
)
"""Names that are code without a suffix, or with that of something else."""

_TEXTS = {"md", "markdown", "rst", "txt", "adoc", "asciidoc"}
_IMAGES = {"png", "jpg", "jpeg", "gif", "svg", "webp", "bmp", "ico", "tif", "tiff", "avif"}
_DOCUMENT_SUFFIXES = frozenset(_TEXTS | _IMAGES)
_LICENCES = frozenset({"license", "licence", "copying", "notice"})


def is_code(path: str, globs: Sequence[str] = ()) -> bool:
    """Return whether a file is code.

    Args:
        path: its path, relative to the repository where ``globs`` are given.
        globs: patterns of the repository's own; where there are any, they alone decide. They are read as those of a
            task's scope are (``docs/EVIDENCE.md``, "Scope"): ``*`` stops at a folder and ``**`` does not.
    """
    if globs:
        return path in _scope(tuple(globs))
    name, suffix = _name_and_suffix(path)
    return suffix in _CODE_SUFFIXES or name in _CODE_NAMES


def is_document(path: str) -> bool:
    """Return whether a file is a document: text to read, a licence or an image; no test says anything about it."""
    name, suffix = _name_and_suffix(path)
    if suffix in _CODE_SUFFIXES or name in _CODE_NAMES:
        return False
    return suffix in _DOCUMENT_SUFFIXES or name.partition(".")[0].partition("-")[0] in _LICENCES


def _name_and_suffix(path: str) -> tuple[str, str]:
    """Return the last part of a path, and what is behind its last dot; both in lower case."""
    name = path.rpartition("/")[2].lower()
    stem, _, suffix = name.rpartition(".")
    return name, suffix if stem else ""


@lru_cache(maxsize=8)
def _scope(globs: tuple[str, ...]) -> GlobScope:
    return GlobScope(globs)
