"""How the URLs of a repository's remotes compare."""

import re


def remote_address(url: str) -> str:
    """Return the address of a remote in one form, the same for all spellings of one repository.

    A host is in lower case. Scheme, user, port, outer slashes and ``.git`` are cut off. A path of
    this machine stays a path.

    Example:
        ``git@Example.org:team/project.git`` and ``https://example.org/team/project`` both become
        ``example.org/team/project``.
    """
    address = url.strip()
    _, has_scheme, rest = address.partition("://")
    if has_scheme:
        host, _, path = rest.partition("/")
        host = re.sub(r":\d+\Z", "", host)  # the port
    else:
        host, has_host, path = address.partition(":")
        if not has_host or "/" in host:  # a path
            return _without_suffix(address)
    host = host.rpartition("@")[2]
    return f"{host.lower()}/{_without_suffix(path.strip('/'))}"


def _without_suffix(path: str) -> str:
    return path.rstrip("/").removesuffix(".git").rstrip("/")
