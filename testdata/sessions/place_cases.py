"""Scenarios about where work was done, and about files that are not whole."""

import json
from datetime import datetime, timedelta, timezone
from pathlib import Path

from sessions.claude import ClaudeSession
from sessions.codex import CodexRollout
from sessions.world import Truth, World, git, make_repository

MIB = 1 << 20


def folders(world: World) -> dict[str, Path]:
    """Make folders inside and outside of a world's repository, and enter whether work there counts.

    ``gone`` was deleted since; ``nested`` and what follows belongs to a repository inside;
    ``sibling`` begins with the repository's name; ``way-out`` is a link inside that leads there.
    """
    repo = world.repo
    linked, inside, through = (
        world.root / "linked",
        repo / ".worktrees" / "feature",
        world.root / "through",
    )
    git(repo, "worktree", "add", "-q", str(linked), "-b", "side")
    git(repo, "worktree", "add", "-q", str(inside), "-b", "feature")
    through.symlink_to(repo, target_is_directory=True)
    nested = make_repository(repo / "vendor" / "nested")
    sibling = world.root / "repo-old"
    found = {
        "top": repo,
        "below": repo / "src" / "deep",
        "gone": repo / "build" / "gone",
        "linked": linked,
        "linked-below": linked / "src",
        "linked-inside": inside,
        "through": through,
        "through-below": through / "src",
        "nested": nested,
        "nested-below": nested / "lib",
        "nested-gone": nested / "gone",
        "sibling": sibling,
        "way-out": repo / "way-out",
        "above": world.root,
        "home": world.home,
    }
    for name, path in found.items():
        if name == "way-out":
            path.symlink_to(sibling, target_is_directory=True)
        elif not name.endswith("gone"):
            path.mkdir(parents=True, exist_ok=True)
        if name.startswith(("nested", "sibling", "way-out", "above", "home")):
            world.elsewhere(path)
    return found


def claude_folders(root: Path, seed: int = 0) -> Truth:
    """A Claude session in every folder, and one that moves from folder to folder."""
    world = World(root, seed)
    found = folders(world)
    for path in found.values():
        session = ClaudeSession(world, path)
        session.work(1)
        agent = session.subagent()
        agent.work(1)
        agent.save()
        session.save()
    world.mark()
    moving = ClaudeSession(world)
    for path in found.values():
        moving.cwd = path
        moving.work(1, checks=True)
        world.mark()
    moving.save()
    return world.truth()


def codex_folders(root: Path, seed: int = 0) -> Truth:
    """A Codex thread in every folder, one that moves with each turn, and one begun elsewhere."""
    world = World(root, seed)
    found = folders(world)
    for path in found.values():
        thread = CodexRollout(world, path)
        thread.tests()
        thread.work(1)
        thread.save()
    world.mark()
    moving = CodexRollout(world, found["home"])
    for path in found.values():
        moving.turn(path)
        moving.tests()
        moving.tokens()
        world.mark()
    moving.save()
    return world.truth()


def config_places(root: Path, seed: int = 0) -> Truth:
    """Sessions in both of Claude Code's usual places, one of them in both."""
    world = World(root, seed)
    places = (world.home / ".config" / "claude", world.claude)
    for place in places:
        session = ClaudeSession(world, home=place)
        session.work(2)
        session.save()
    world.mark()
    copied = ClaudeSession(world, home=places[0])
    copied.work(2, checks=True)
    copied.save()
    other = ClaudeSession(world, home=places[1], session_id=copied.session_id)
    other.repeat(copied.lines)
    other.save()
    return world.truth(*(place / "projects" for place in places))


def linked_places(root: Path, seed: int = 0) -> Truth:
    """Homes of the harnesses that are links, two of them to one folder, with a link back."""
    world = World(root, seed)
    dotfiles = world.home / "dotfiles"
    for name in ("claude", "codex"):
        (dotfiles / name).mkdir(parents=True)
        (world.home / f".{name}").symlink_to(dotfiles / name, target_is_directory=True)
    (world.home / ".config").mkdir()
    (world.home / ".config" / "claude").symlink_to(
        "../.claude", target_is_directory=True
    )
    session, thread = ClaudeSession(world), CodexRollout(world)
    session.work(2)
    session.respond(session.text(), without=["id"])
    session.save()
    thread.work(2, checks=True)
    thread.save()
    (world.claude / "projects" / "again").symlink_to(
        world.claude / "projects", target_is_directory=True
    )
    return world.truth()


BROKEN = (
    b'{"type":"assistant","message":{"usage":{"input_tokens":5',
    b'{"type":"assistant"} {"type":"assistant"}',
    b"null",
    b"[]",
    b"42",
    b'"text"',
    b"{}",
    b"\0" * 700,
    b"\x1b[31mnot JSON\x1b[0m",
    b"}",
)
"""Lines that say nothing, or that are no lines."""

DAMAGES = (
    "broken",
    "blank",
    "crlf",
    "half",
    "unended",
    "bytes",
    "surrogates",
    "stamps",
    "large",
    "oversize",
)
"""What :func:`damaged` can do to the files."""


def damaged(root: Path, seed: int = 0, *, how: str = "broken") -> Truth:
    """Files of both harnesses with one kind of damage.

    Args:
        root: where to write.
        seed: of everything random.
        how: ``broken`` lines in the middle; ``blank`` lines; ``crlf`` line ends; a ``half``-written
            last line; a whole last line that is ``unended``; ``bytes`` that are not UTF-8; escaped
            ``surrogates`` that stand alone; ``stamps`` that say the same times in other forms; a
            ``large`` line, of 3 MiB; an ``oversize`` line, of more than 16 MiB, which is left out
            with what it tells.
    """
    world = World(root, seed)
    session, thread = ClaudeSession(world), CodexRollout(world)
    session.work(3, checks=True)
    thread.work(2, checks=True)
    world.mark()
    session.work(2)
    thread.work(2)
    for writer in (session, thread):
        lines = damaged_lines(world, writer.as_bytes(), how)
        writer.path.parent.mkdir(parents=True, exist_ok=True)
        writer.path.write_bytes(lines)
    return world.truth()


def damaged_lines(world: World, lines: list[bytes], how: str) -> bytes:
    """Return the bytes of a file of these lines, with one kind of damage that changes no fact."""
    rng = world.rng
    end = b"\r\n" if how == "crlf" else b"\n"
    if how in ("broken", "blank"):
        for extra in BROKEN if how == "broken" else (b"", b"  ", b"\t", b"\r", b""):
            lines.insert(rng.randrange(len(lines) + 1), extra)
    if how == "half":
        lines.append(_unseen(world, lines))
        return end.join([*lines[:-1], lines[-1][: len(lines[-1]) * 2 // 3]])
    if how == "bytes":
        lines = [
            b'{"odd":"\xff\xfe caf\xe9 \xc0\xaf \xed\xa0\x80",' + line[1:]
            for line in lines
        ]
    if how == "surrogates":
        lines = [b'{"odd":"\\ud83d \\udc00 \\u0000",' + line[1:] for line in lines]
    if how == "stamps":
        lines = [_restated(line, n) for n, line in enumerate(lines)]
    if how == "large":
        lines = [*lines[:-1], b'{"odd":"' + b"x" * 3 * MIB + b'",' + lines[-1][1:]]
    if how == "oversize":
        lines.insert(
            len(lines) // 2,
            b'{"odd":"' + b"x" * 17 * MIB + b'",' + _unseen(world, lines)[1:],
        )
    whole = end.join(lines)
    return whole if how == "unended" else whole + end


def _restated(line: bytes, number: int) -> bytes:
    """Return a line whose time is said in another of the forms that RFC 3339 has."""
    found = json.loads(line)
    if "timestamp" not in found:
        return line
    time = datetime.fromisoformat(found["timestamp"])
    if number % 3 == 0:
        found["timestamp"] = time.astimezone(
            timezone(timedelta(hours=5, minutes=30))
        ).isoformat("T", "milliseconds")
    elif number % 3 == 1:
        found["timestamp"] = time.isoformat("T", "microseconds").replace("+00:00", "Z")
    else:
        found["timestamp"] = (
            time.isoformat("T", "milliseconds")
            .replace(".", ",")
            .replace("+00:00", "-00:00")
        )
    return json.dumps(found, ensure_ascii=False).encode()


def _unseen(world: World, lines: list[bytes]) -> bytes:
    """Return a line that would count if it could be read.

    It is an earlier one with another response or with higher sums.
    """
    for line in lines:
        found = json.loads(line) if line.startswith(b"{") else {}
        if "usage" in (found.get("message") or {}):
            found["message"]["id"], found["requestId"] = (
                world.token("msg_01"),
                world.token("req_011"),
            )
            return json.dumps(found).encode()
        info = (found.get("payload") or {}).get("info")
        if info:
            info["total_token_usage"] = dict.fromkeys(info["total_token_usage"], 10**9)
            return json.dumps(found).encode()
    raise AssertionError("no line counts")
