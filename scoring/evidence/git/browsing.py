"""A repository as a person sees it: its branches and remotes, by GitPython under the guards of our own git."""

import contextlib
import os
from collections.abc import Iterator
from typing import NamedTuple

from scoring.evidence.git.repository import GitRepository
from scoring.evidence.transcripts.work_trees import same_remote
from scoring.files import refuse_special

_REMOTE = 'remote "'


class Browsed(NamedTuple):
    """What a person sees of a repository."""

    branch: str = ""  # that is checked out, "" for none
    branches: int = 0  # local ones
    remotes: tuple[tuple[str, str], ...] = ()  # names and addresses, without scheme, user and password


NOTHING_BROWSED = Browsed()


def browse(repository: GitRepository) -> Browsed:
    """Look at the branches and remotes of a repository; what cannot be read is as if it were not there."""
    with _own_environment():
        import git  # takes long and starts git once

        try:
            for where, _, refs in os.walk(repository.common_dir / "refs"):
                for ref in refs:
                    refuse_special(os.path.join(where, ref))  # a FIFO would be read in this process, without an end
            with git.Repo(repository.top_level) as repo:
                names = [head.name for head in repo.heads]
                branch = "" if repo.head.is_detached else repo.head.ref.name
            config = git.GitConfigParser(os.fspath(repository.common_dir / "config"), merge_includes=False)
            with config:
                remotes = {
                    section.removeprefix(_REMOTE).removesuffix('"'): str(config.get(section, "url"))
                    for section in config.sections()
                    if section.startswith(_REMOTE) and config.has_option(section, "url")
                }
        except Exception:
            return NOTHING_BROWSED
    return Browsed(branch, len(names), tuple(sorted((name, same_remote(url)) for name, url in remotes.items())))


def remote_urls(repository: GitRepository) -> dict[str, str]:
    """Return the URLs of the remotes by their names, as they are configured; of several URLs of one the first."""
    urls = reversed([(key.removeprefix("remote."), url) for key, url in repository.remotes if key.endswith(".url")])
    return {key.removesuffix(".url"): url for key, url in urls}


@contextlib.contextmanager
def _own_environment() -> Iterator[None]:
    """Take the caller's ``GIT_*`` variables away for a while."""
    held = {name: os.environ.pop(name) for name in list(os.environ) if name.startswith("GIT_")}
    os.environ["GIT_PYTHON_REFRESH"] = "quiet"
    try:
        yield
    finally:
        del os.environ["GIT_PYTHON_REFRESH"]
        os.environ.update(held)
