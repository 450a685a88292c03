"""Where a commit can be looked at on the web: the page of it at the host of a remote, as far as the host is known."""

import re
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import quote

from scoring.errors import DaScoreError
from scoring.evidence.git.browsing import remote_urls
from scoring.evidence.git.repository import GitRepository
from scoring.evidence.transcripts.neighbourhood import same_remote
from scoring.text import as_utf8

_PAGES = {
    "github": "/commit/",
    "gitlab": "/-/commit/",
    "bitbucket": "/commits/",
    "codeberg": "/commit/",
    "gitea": "/commit/",
    "forgejo": "/commit/",
}
"""What is between a repository and a commit, by a word in the name of the host."""
_HOST = re.compile(r"[a-z0-9](?:[a-z0-9.-]{0,251}[a-z0-9])?", re.ASCII)
_SHA = re.compile(r"[0-9a-f]{7,64}", re.ASCII)
_PATH_LIMIT = 500


def commit_pages(remotes: Mapping[str, str]) -> str:
    """Return what comes before the name of a commit in the address of its page; "" where no remote's host is known.

    ``remotes`` are the URLs of remotes by their names, of which ``origin`` comes first. The address begins with
    ``https://``, has neither a user nor a password in it, and is quoted.
    """
    for _, url in sorted(remotes.items(), key=lambda one: (one[0] != "origin", one[0])):
        host, _, path = same_remote(url).partition("/")
        page = next((page for word, page in _PAGES.items() if word in host), None)
        parts = path.split("/")
        if (
            page
            and _HOST.fullmatch(host)
            and len(path) <= _PATH_LIMIT
            and len(parts) > 1
            and not {"", ".", ".."} & {*parts}
        ):
            return f"https://{host}/{quote(path)}{page}"
    return ""


def commit_page(pages: str, sha: str) -> str:
    """Return the address of the page of a commit; "" where there is none."""
    return pages + sha if pages and _SHA.fullmatch(sha) else ""


def where_it_is(repo_dir: Path) -> tuple[str, str]:
    """Return what the repository of a log is called, and what :func:`commit_pages` returns for it."""
    try:
        repository = GitRepository(repo_dir)
        remotes, folder = remote_urls(repository), repository.top_level.name
    except DaScoreError:
        return repo_dir.absolute().name, ""
    name = same_remote(remotes.get("origin", "")).rpartition("/")[2]
    return as_utf8(name or folder), commit_pages(remotes)
