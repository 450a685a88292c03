"""A home directory after some weeks: everything that happens, in any order."""

from collections.abc import Callable, Iterator
from pathlib import Path

from sessions.claude import Block, ClaudeSession, Usage
from sessions.codex import (
    CodexRollout,
    Tokens,
    exit_code,
    mcp_end,
    patch_end,
    running,
    script,
)
from sessions.place_cases import damaged_lines, folders
from sessions.world import Truth, World

_HARMLESS = (
    "broken",
    "blank",
    "crlf",
    "half",
    "unended",
    "bytes",
    "surrogates",
    "stamps",
)
_FATES = (
    "active",
    "active",
    "active",
    "damaged",
    "archived",
    "both",
    "packed",
    "packed archive",
    "beside",
)


class _Machine:
    """What is going on: the sessions and the threads that exist, and what may happen next."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.rng = world.rng
        self.folders = list(folders(world).values())
        self.homes = (world.claude, world.home / ".config" / "claude")
        self.sessions: list[ClaudeSession] = []
        self.threads: list[CodexRollout] = []
        self.written: set[Path] = set()

    def happen(self) -> None:
        """Let something happen."""
        doings: tuple[tuple[Callable[[], None], int], ...] = (
            (self._session, 3),
            (self._go_on, 4),
            (self._resume, 3),
            (self._subagent, 3),
            (self._stream, 2),
            (self._api_error, 1),
            (self._compact, 1),
            (self._move, 2),
            (self._thread, 3),
            (self._turn, 4),
            (self._fork, 3),
            (self._odd_calls, 2),
            (self._count_anew, 1),
            (self._pause, 3),
        )
        self.rng.choices(
            [doing for doing, _ in doings], [often for _, often in doings]
        )[0]()

    def save(self) -> None:
        """Write all transcripts, some of them damaged, compressed, archived or in two places.

        What an earlier call wrote is written on in place, or goes away when it has moved.
        """
        earlier = self.written
        self.written = set()
        for session in self.sessions:
            self._write(session)
        for thread in self.threads:
            self._put_away(thread, self.rng.choice(_FATES))
        for path in earlier - self.written:
            path.unlink()

    def _put_away(self, thread: CodexRollout, fate: str) -> None:
        active = thread.path
        archive = self.world.codex / "archived_sessions" / active.name
        if fate == "damaged":
            self._write(thread)
            return
        frames = self.rng.randint(1, 3)
        if fate in ("both", "beside"):
            lines = thread.lines
            thread.path = archive if fate == "both" else active
            thread.lines = lines[: len(lines) // 2]
            self.written.add(
                thread.save(
                    zstd=fate == "beside" or self.rng.random() < 0.5, frames=frames
                )
            )
            thread.path = active
            thread.lines = lines
        elif fate in ("archived", "packed archive"):
            thread.path = archive
        self.written.add(thread.save(zstd=fate.startswith("packed"), frames=frames))
        thread.path = active

    def _write(self, writer: ClaudeSession | CodexRollout) -> None:
        """Write a transcript, in one of three cases damaged."""
        lines, how = writer.as_bytes(), ""
        if self.rng.random() < 0.3:
            has_counts = any(
                b'"usage":{' in line or b'"info":{' in line for line in lines
            )
            how = self.rng.choice(_HARMLESS) if has_counts else "blank"
        writer.path.parent.mkdir(parents=True, exist_ok=True)
        writer.path.write_bytes(damaged_lines(self.world, lines, how))
        self.written.add(writer.path)

    def _some_session(self) -> ClaudeSession:
        if not self.sessions:
            self._session()
        return self.rng.choice(self.sessions)

    def _some_thread(self) -> CodexRollout:
        if not self.threads:
            self._thread()
        return self.rng.choice(self.threads)

    def _session(self) -> None:
        session = ClaudeSession(
            self.world, self.rng.choice(self.folders), home=self.rng.choice(self.homes)
        )
        session.work(self.rng.randint(1, 4), checks=self.rng.random() < 0.3)
        self.sessions.append(session)

    def _go_on(self) -> None:
        self._some_session().work(self.rng.randint(1, 3))

    def _resume(self) -> None:
        old, world = self._some_session(), self.world
        if old.agent:
            return
        new = ClaudeSession(world, old.cwd, home=self.rng.choice(self.homes))
        end = (
            len(old.lines)
            if self.rng.random() < 0.6
            else self.rng.randrange(len(old.lines))
        )
        if self.rng.random() < 0.5:
            new.repeat(old.lines[:end], sessionId=new.session_id)
        else:
            new.repeat(old.lines[:end], sessionId=new.session_id, restamp=True)
        new.work(self.rng.randint(0, 2))
        self.sessions.append(new)

    def _subagent(self) -> None:
        parent = self._some_session()
        if parent.agent:
            return
        agent = parent.subagent(
            below=self.rng.choice(("", "deep/er")), beside=self.rng.random() < 0.3
        )
        if self.rng.random() < 0.5:
            changed = {
                "isSidechain": True,
                "agentId": agent.agent,
                "requestId": lambda: self.world.token("req_011"),
            }
            own = [line for line in parent.lines if not line.get("isSidechain")]
            agent.repeat(own, restamp=True, **changed)
        agent.work(self.rng.randint(1, 3))
        self.sessions.append(agent)

    def _stream(self) -> None:
        session, rng = self._some_session(), self.rng
        uses = [session.bash("make check") for _ in range(rng.randint(0, 3))]
        blocks: list[Block] = [session.thinking(), session.text(), *uses]
        counts = sorted(rng.sample(range(1, 2_000), len(blocks)))
        session.respond(*blocks, outputs=counts if rng.random() < 0.5 else None)
        if uses:
            session.results(uses, [rng.random() < 0.3 for _ in uses])

    def _api_error(self) -> None:
        session = self._some_session()
        said = Block({"type": "text", "text": "API Error: 529 Overloaded"})
        own = {"model": "<synthetic>"}
        session.respond(
            said,
            usage=Usage(0, 0, 0, 0),
            counted=False,
            message=own,
            isApiErrorMessage=True,
        )

    def _compact(self) -> None:
        if self.rng.random() < 0.5:
            self._some_thread().compact()
        else:
            session = self._some_session()
            session.own(
                "system",
                subtype="compact_boundary",
                compactMetadata={"trigger": "auto", "preTokens": 155_123},
            )
            session.ask("Continued …", isCompactSummary=True)

    def _move(self) -> None:
        """Go on in another folder, inside or outside of the repository as before.

        Where one work goes from one to the other, what a line led to decides, not its folder.
        """
        if self.rng.random() < 0.5:
            session = self._some_session()
            session.cwd = self._near(session.cwd)
            session.work(1)
        else:
            thread = self._some_thread()
            thread.turn(self._near(thread.cwd))
            thread.tokens()

    def _near(self, folder: Path) -> Path:
        is_here = self.world.is_here(folder)
        return self.rng.choice(
            [one for one in self.folders if self.world.is_here(one) == is_here]
        )

    def _thread(self) -> None:
        rng = self.rng
        thread = CodexRollout(
            self.world,
            rng.choice(self.folders),
            v7=rng.random() < 0.7,
            writes=rng.random() < 0.3,
        )
        thread.work(rng.randint(1, 3), checks=rng.random() < 0.3)
        self.threads.append(thread)

    def _turn(self) -> None:
        self._some_thread().work(self.rng.randint(1, 2))

    def _fork(self) -> None:
        parent, rng = self._some_thread(), self.rng
        child = parent.fork(
            cwd=rng.choice(self.folders),
            spawned=rng.random() < 0.5,
            replay=rng.random() < 0.8,
        )
        child.work(rng.randint(1, 2))
        self.threads.append(child)

    def _odd_calls(self) -> None:
        thread, rng = self._some_thread(), self.rng
        thread.turn()
        thread.call(running(), None, tool="exec_command")
        thread.call(script("completed"), failed=False, tool="exec")
        success = rng.random() < 0.5
        thread.call(
            exit_code(0), not success, tool="apply_patch", ends=[patch_end(success)]
        )
        thread.call(
            "no page",
            failed=True,
            tool="mcp__docs__search",
            ends=[mcp_end({"Err": "no answer"})],
        )
        thread.tokens()
        thread.no_tokens()

    def _count_anew(self) -> None:
        thread, rng = self._some_thread(), self.rng
        thread.turn()
        few = Tokens(rng.randint(500, 999), 0, rng.randint(1, 999))
        thread.tokens(few, afresh=thread.sums.given > few.given)

    def _pause(self) -> None:
        self.world.mark()
        self.world.tick(60_000, 90_000_000)


def stages(
    root: Path, seed: int = 0, *, size: int = 40, times: int = 3
) -> Iterator[Truth]:
    """Write one home directory ``times`` times, each time after ``size`` more things happened.

    Most files only grow from one time to the next; some are compressed, moved, or written anew.
    """
    world = World(root, seed)
    machine = _Machine(world)
    for home, text in (
        (world.claude, '{"display":"go","timestamp":1}\n'),
        (world.codex, '{"ts":1,"text":"go"}\n'),
    ):
        home.mkdir(parents=True)
        (home / "history.jsonl").write_text(text)
    for _ in range(times):
        for _ in range(size):
            machine.happen()
        machine.save()
        yield world.truth(*(home / "projects" for home in machine.homes), world.codex)


def mixed(root: Path, seed: int = 0, *, size: int = 40) -> Truth:
    """Write a home directory in which ``size`` things happened, in several linked work trees."""
    return next(stages(root, seed, size=size, times=1))
