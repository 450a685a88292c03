"""Scenarios of Claude Code."""

from pathlib import Path

from sessions import zstd
from sessions.claude import Block, ClaudeSession, Usage
from sessions.world import Truth, World, rfc3339


def plain(root: Path, seed: int = 0, *, turns: int = 5) -> Truth:
    """One session of a line per response, in two windows."""
    world = World(root, seed)
    session = ClaudeSession(world)
    for _ in range(2):
        session.ask()
        for n in range(turns):
            use = (
                session.bash("pytest -q", tests=True)
                if n == 0
                else session.tool("Edit", {"file_path": "a.py"})
            )
            session.respond(use)
            session.result(use, failed=n == 1)
        session.respond(session.text())
        world.mark()
    session.save()
    return world.truth()


def streaming(
    root: Path, seed: int = 0, *, blocks: int = 4, outputs: str = "same"
) -> Truth:
    """Responses of several lines.

    Their output counts are the ``same``, ``rising`` or ``falling``. The largest one is true.
    """
    world = World(root, seed)
    session = ClaudeSession(world)
    for _ in range(4):
        session.ask()
        content = [
            session.thinking(),
            session.text(),
            *(session.bash("make") for _ in range(blocks - 2)),
        ]
        counts = sorted(
            world.rng.sample(range(1, 900), blocks), reverse=outputs == "falling"
        )
        session.respond(*content, outputs=None if outputs == "same" else counts)
        for use in content[2:]:
            session.result(use, failed=world.rng.random() < 0.5)
    session.save()
    return world.truth()


def stalled_stream(root: Path, seed: int = 0) -> Truth:
    """A response with lines on both sides of a window's end belongs where its first line is."""
    world = World(root, seed)
    session = ClaudeSession(world)
    session.ask()
    session.respond(session.text(), session.text(), outputs=[1, 321], split=60_000)
    session.work(2)
    session.save()
    return world.truth()


def shuffled(root: Path, seed: int = 0) -> Truth:
    """A file with lines in any order: stalled streams, results, and copies with a later time."""
    world = World(root, seed)
    session = ClaudeSession(world)
    for _ in range(3):
        session.ask()
        session.respond(
            session.text(),
            session.text(),
            session.thinking(),
            outputs=[5, 6, 700],
            split=30_000,
        )
        session.work(1)
    session.repeat(session.lines[:], restamp=True)
    world.rng.shuffle(session.lines)
    session.save()
    return world.truth()


def on_the_boundary(root: Path, seed: int = 0) -> Truth:
    """A response in the last millisecond of a window belongs to it.

    One a millisecond later does not.
    """
    world = World(root, seed)
    session = ClaudeSession(world)
    session.pace = (0, 0)
    for _ in range(3):
        session.respond(session.text())
        world.mark()
    use = session.bash()
    session.respond(use)
    session.result(use, failed=True)
    world.mark()
    session.save()
    return world.truth()


def subagents(root: Path, seed: int = 0, *, beside: bool = False) -> Truth:
    """Sub-agents in files of their own, two levels deep.

    With ``beside`` the files are next to the session's, as in older versions.

    The parent's line about a finished agent states the agent's tokens and usage again: they are the
    agent's.
    """
    world = World(root, seed)
    session = ClaudeSession(world)
    session.work(2)
    for below in ("", "workflows/wf_12ab"):
        task = session.tool(
            "Task",
            {
                "description": "look",
                "prompt": "look around",
                "subagent_type": "general-purpose",
            },
        )
        session.respond(session.text(), task)
        agent = session.subagent(below=below, beside=beside)
        agent.work(3, checks=not below)
        inner = agent.usage()
        agent.save()
        told = {
            "status": "completed",
            "agentId": agent.agent,
            "content": [
                {
                    "type": "tool_result",
                    "is_error": True,
                    "tool_use_id": "toolu_01noise",
                }
            ],
            "totalTokens": 48_211,
            "totalToolUseCount": 9,
            "usage": inner.as_json(),
        }
        session.result(task, toolUseResult=told)
        agent.path.with_suffix(".meta.json").write_text(
            '{"agentType":"general-purpose"}'
        )
    session.respond(session.text())
    session.save()
    outputs = session.path.with_suffix("") / "tool-results"
    outputs.mkdir(parents=True, exist_ok=True)
    (outputs / "toolu_01x.txt").write_text(
        '{"type":"assistant","message":{"usage":{"input_tokens":1}}}\n'
    )
    return world.truth()


def sidechain_in_main(root: Path, seed: int = 0) -> Truth:
    """A sidechain within the main file, with responses of its own, which count."""
    world = World(root, seed)
    session = ClaudeSession(world, version="1.0.60")
    session.work(2)
    session.sidechain = True
    session.work(3)
    session.sidechain = False
    session.work(1)
    session.save()
    return world.truth()


def sidechain_replay(root: Path, seed: int = 0, *, cut: str = "") -> Truth:
    """A sub-agent's file begins with the parent's responses: same message ids, new request ids.

    Args:
        root: where to write.
        seed: of everything random.
        cut: whose copy was taken while it streamed, and so has a smaller output count: "parent",
            "agent" or nobody's. When nobody's was, the two copies differ in what was read from the
            cache, and the parent's is right.
    """
    world = World(root, seed)
    session = ClaudeSession(world)
    session.work(2, checks=True)
    first = len(session.lines)
    usage = session.usage()
    stated = 3 if cut == "parent" else usage.output
    block = session.text()
    session.respond(block, usage=usage, outputs=[stated])
    if cut == "parent":
        _also_true(world, usage.output - stated)
    world.mark()
    agent = session.subagent()
    agent.repeat(
        session.lines,
        restamp=True,
        isSidechain=True,
        agentId=agent.agent,
        requestId=lambda: world.token("req_011"),
    )
    copied = agent.lines[first]["message"]
    if cut:
        copied["usage"]["output_tokens"] = usage.output if cut == "parent" else 1
    else:
        copied["usage"]["cache_read_input_tokens"] = 0
    agent.work(2)
    agent.save()
    world.mark()
    session.work(1)
    session.save()
    return world.truth()


def resumed(
    root: Path, seed: int = 0, *, restamp: bool = False, times: int = 2
) -> Truth:
    """A session that is resumed: each new file begins with all earlier lines and tool results."""
    world = World(root, seed)
    session = ClaudeSession(world, version="1.0.24")
    session.work(3, checks=True)
    session.save()
    for _ in range(times):
        world.mark()
        earlier = session
        session = ClaudeSession(world, version="1.0.24")
        session.repeat(earlier.lines, restamp=restamp, sessionId=session.session_id)
        session.work(2)
        session.save()
    return world.truth()


def forked(root: Path, seed: int = 0, *, branches: int = 3) -> Truth:
    """Several sessions forked from one, at different places, each of which goes on by itself."""
    world = World(root, seed)
    session = ClaudeSession(world, version="2.1.20")
    session.work(4, checks=True)
    session.save()
    for branch in range(branches):
        world.mark()
        fork = ClaudeSession(world, version="2.1.20")
        end = len(session.lines) - 2 * branch
        origin = {
            "sessionId": session.session_id,
            "messageUuid": session.lines[end - 1]["uuid"],
        }
        fork.repeat(session.lines[:end], sessionId=fork.session_id, forkedFrom=origin)
        fork.work(2)
        fork.save()
    world.mark()
    session.work(1)
    session.save()
    return world.truth()


def compaction(root: Path, seed: int = 0) -> Truth:
    """A session compacted twice, by itself and by hand.

    The summary tells what happened and is no new work.
    """
    world = World(root, seed)
    session = ClaudeSession(world)
    for trigger in ("auto", "manual"):
        session.work(3)
        session.own(
            "system",
            subtype="compact_boundary",
            content="Conversation compacted",
            isMeta=False,
            level="info",
            compactMetadata={"trigger": trigger, "preTokens": 155_123},
        )
        session.ask(
            "This session is being continued …",
            isCompactSummary=True,
            isVisibleInTranscriptOnly=True,
        )
        world.mark()
    session.work(2, checks=True)
    session.bare(
        {
            "type": "summary",
            "summary": "Fix the parser",
            "leafUuid": session.lines[-1]["uuid"],
        }
    )
    session.save()
    return world.truth()


def api_errors(root: Path, seed: int = 0) -> Truth:
    """Errors of the API and messages of the harness, which are not responses.

    It does not matter what usage they state.
    """
    world = World(root, seed)
    session = ClaudeSession(world)
    session.work(1)
    session.own(
        "system",
        subtype="api_error",
        level="error",
        error={"status": 529, "message": {"usage": Usage(9, 9, 9, 9).as_json()}},
        retryInMs=544.1,
        retryAttempt=1,
        maxRetries=10,
    )
    nothing = Usage(0, 0, 0, 0)
    said = Block({"type": "text", "text": "API Error: 529 Overloaded"})
    own = {"model": "<synthetic>", "stop_reason": "stop_sequence"}
    session.respond(
        said,
        usage=nothing,
        counted=False,
        message=own,
        without=["requestId"],
        isApiErrorMessage=True,
    )
    session.respond(
        said, usage=nothing, counted=False, message=own, without=["requestId"]
    )
    session.respond(
        said, usage=Usage(7, 8, 9, 10), counted=False, isApiErrorMessage=True
    )
    session.respond(session.text(), isApiErrorMessage=False)
    session.work(1)
    session.save()
    return world.truth()


def without_ids(root: Path, seed: int = 0, *, requests: bool = True) -> Truth:
    """Responses without a message id, which all count, and repeated ones without a request id."""
    world = World(root, seed)
    session = ClaudeSession(world, version="0.2.105")
    session.ask()
    for _ in range(4):
        session.respond(
            session.text(), without=["id"] if requests else ["id", "requestId"]
        )
    for _ in range(3):
        session.respond(session.thinking(), session.text(), without=["requestId"])
    session.save()
    return world.truth()


def string_content(root: Path, seed: int = 0) -> Truth:
    """Messages whose content is a string, of the user and of responses."""
    world = World(root, seed)
    session = ClaudeSession(world)
    session.work(1)
    for content in ("", "Fine.", '[{"type":"tool_result","is_error":true}]'):
        session.ask(content)
        session.respond(session.text())
        session.lines[-1]["message"]["content"] = content
    session.save()
    return world.truth()


def repeated_results(root: Path, seed: int = 0) -> Truth:
    """One tool result on several lines of a file and of another; several results on one line."""
    world = World(root, seed)
    session = ClaudeSession(world)
    session.ask()
    uses = [session.bash(f"step {n}") for n in range(5)]
    session.respond(session.text(), *uses)
    session.results(uses[:3], [False, True, False], plain=False)
    session.result(uses[3], failed=True)
    session.repeat(session.lines[-2:])
    session.result(uses[4])
    session.respond(session.text())
    session.save()
    world.mark()
    other = ClaudeSession(world)
    other.repeat(session.lines, restamp=True, sessionId=other.session_id)
    other.work(1)
    other.save()
    return world.truth()


def harness_lines(root: Path, seed: int = 0) -> Truth:
    """Everything that the harness writes for itself, with counts that are not this session's."""
    world = World(root, seed)
    session = ClaudeSession(world, version="2.1.20")
    snapshot = {
        "messageId": world.uuid4(),
        "trackedFileBackups": {},
        "timestamp": rfc3339(world.now_ms),
    }
    session.bare(
        {
            "type": "file-history-snapshot",
            "messageId": snapshot["messageId"],
            "snapshot": snapshot,
        }
    )
    session.work(2)
    noise = {
        "type": "assistant",
        "message": {"id": "msg_01noise", "usage": Usage(5, 5, 5, 5).as_json()},
    }
    session.own(
        "progress",
        data={"type": "agent_progress", "message": noise, "agentId": "12ab34cd"},
        toolUseID="agent_msg_01",
        parentToolUseID="toolu_01",
    )
    session.own("system", subtype="turn_duration", durationMs=61_400, isMeta=False)
    session.own(
        "system",
        subtype="local_command",
        content="<command-name>/model</command-name>",
        level="info",
    )
    session.own(
        "attachment",
        attachment={
            "type": "todo",
            "content": [{"type": "tool_result", "is_error": True}],
        },
    )
    session.ask(
        "<local-command-stdout>Exit code: 1</local-command-stdout>", isMeta=True
    )
    session.bare(
        {
            "type": "custom-title",
            "customTitle": "Parser",
            "sessionId": session.session_id,
        }
    )
    session.bare(
        {"type": "last-prompt", "lastPrompt": "go", "sessionId": session.session_id}
    )
    session.work(1)
    session.save()
    return world.truth()


def shared_ids(root: Path, seed: int = 0) -> Truth:
    """Requests outside of sidechains that share a message id are two responses.

    A copy in a sidechain is not a response.
    """
    world = World(root, seed)
    session = ClaudeSession(world)
    shared = world.token("msg_01")
    for output in (700, 400):
        session.ask()
        session.respond(
            session.text(),
            session.text(),
            outputs=[output, output],
            message={"id": shared},
        )
    copied = session.lines[-1]
    world.mark()
    agent = session.subagent()
    changed = {
        "isSidechain": True,
        "agentId": agent.agent,
        "requestId": world.token("req_011"),
    }
    agent.repeat([copied], restamp=True, **changed)
    agent.lines[-1]["message"]["usage"]["output_tokens"] = 1
    agent.work(1)
    agent.save()
    session.save()
    return world.truth()


def sparse_usage(root: Path, seed: int = 0) -> Truth:
    """Usage as gateways state it.

    Counts that are null or missing are 0. A line without usage is not a response.
    """
    world = World(root, seed)
    session = ClaudeSession(world)
    for gone in (
        ("cache_read_input_tokens",),
        ("cache_creation_input_tokens", "cache_creation"),
        ("service_tier",),
    ):
        for null in (True, False):
            session.ask()
            usage = session.usage()
            usage = usage._replace(
                read=0 if "cache_read_input_tokens" in gone else usage.read
            )
            usage = usage._replace(
                created=0 if "cache_creation" in gone else usage.created
            )
            session.respond(session.text(), usage=usage)
            stated = session.lines[-1]["message"]["usage"]
            for key in gone:
                stated[key] = None
                if not null:
                    del stated[key]
    session.respond(session.text(), counted=False)
    session.lines[-1]["message"]["usage"] = None
    session.respond(session.text(), counted=False, without=["usage"])
    session.save()
    return world.truth()


def compressed(root: Path, seed: int = 0) -> Truth:
    """Two compressed transcripts, one of them with a plain file, which alone counts then."""
    world = World(root, seed)
    for beside in (False, True):
        session = ClaudeSession(world)
        for _ in range(3):
            session.respond(session.text(), without=["id"])
        session.work(2)
        path = session.save()
        data = path.read_bytes()
        path.with_name(path.name + ".zst").write_bytes(zstd.compressed(data, frames=2))
        if not beside:
            path.unlink()
        world.mark()
    return world.truth()


def checks(root: Path, seed: int = 0) -> Truth:
    """Tools, each alone in a window, with what they are evidence of and what they are not."""
    world = World(root, seed)
    session = ClaudeSession(world)
    uses = [
        session.bash("git status"),
        session.bash("cd api && go test ./...", tests=True),
        session.bash("npm run test"),
        session.read("a/loop-state.md", loop_state=True),
        session.read("loop-state.md.bak"),
        session.read("README.md"),
        session.tool("BashOutput", {"bash_id": "b1", "command": "pytest"}),
        session.tool("KillShell", {"shell_id": "b1"}),
        session.tool("Write", {"file_path": "/r/loop-state.md", "content": "pytest"}),
        session.tool("Grep", {"pattern": "pytest", "path": "loop-state.md"}),
        session.tool(
            "mcp__docs__search", {"command": "pytest", "file_path": "loop-state.md"}
        ),
    ]
    for use in uses:
        session.respond(use)
        session.result(use)
        world.mark()
    agent = session.subagent()
    agent.respond(agent.bash("yarn test", tests=True))
    agent.save()
    world.mark()
    session.ask("Run pytest and read loop-state.md.")
    session.save()
    return world.truth()


def _also_true(world: World, output: int) -> None:
    """Enter output that a response had beyond what its last written line states."""
    deeds = world.book.deeds
    at = max(n for n, deed in enumerate(deeds) if deed.totals.turns)
    found = deeds[at]
    deeds[at] = found._replace(
        totals=found.totals._replace(output_tokens=found.totals.output_tokens + output)
    )
