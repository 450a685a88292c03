"""Where the page of a commit is on the web."""

import re
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import quote

from scoring.errors import DaScoreError
from scoring.evidence.git.remote_urls import same_remote
from scoring.evidence.git.repository import GitRepository
from scoring.text import as_utf8

_PATHS = {
    "gitlab": "/-/commit/",
    "bitbucket": "/commits/",
    **dict.fromkeys(("github", "codeberg", "gitea", "forgejo"), "/commit/"),
}
"""What an address has between the repository and the SHA, by a word in the name of the host."""

_HOST = re.compile(r"[a-z0-9](?:[a-z0-9.-]{0,251}[a-z0-9])?", re.ASCII)
_SHA = re.compile(r"[0-9a-f]{7,64}", re.ASCII)
_PATH_LIMIT = 500


def commit_pages(remotes: Mapping[str, str]) -> str:
    """Return the address of commits' pages up to the SHA, or "" if no remote has such pages.

    The address is quoted, and has no user and no password.

    Args:
        remotes: the addresses of remotes by name. The first one with such pages counts: origin
            before all others, and these in the order of their names.
    """
    for name in sorted(remotes, key=lambda name: (name != "origin", name)):
        url = remotes[name]
        host, _, path = same_remote(url).partition("/")
        pages = next((pages for word, pages in _PATHS.items() if word in host), "")
        parts = path.split("/")
        is_path = (
            len(path) <= _PATH_LIMIT
            and len(parts) > 1
            and {"", ".", ".."}.isdisjoint(parts)
        )
        if pages and _HOST.fullmatch(host) and is_path:
            return f"https://{host}/{quote(path)}{pages}"
    return ""


def commit_page(pages: str, sha: str) -> str:
    """Return the address of the page of a commit, or "" where the commit has no page.

    Args:
        pages: the address up to the SHA, from :func:`commit_pages`.
        sha: the SHA of at least seven digits; other text has no page.
    """
    if pages and _SHA.fullmatch(sha):
        return pages + sha
    return ""


def name_and_commit_pages(repo_dir: Path) -> tuple[str, str]:
    """Return the name of a repository, and the address of its commits' pages up to the SHA, or "".

    The name is that of ``origin``, else that of the folder.
    """
    try:
        repository = GitRepository(repo_dir)
        remotes = repository.remote_urls
        folder = repository.top_level.name
    except DaScoreError:
        return repo_dir.absolute().name, ""

    origin = same_remote(remotes.get("origin", ""))
    name = origin.rpartition("/")[2].removesuffix(".bundle")
    return as_utf8(name or folder), commit_pages(remotes)
