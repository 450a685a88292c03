"""Scenarios of Codex."""

import json
from pathlib import Path

from sessions.codex import (
    OUTPUT,
    CodexRollout,
    Tokens,
    exit_code,
    exited,
    listed,
    mcp_end,
    old_json,
    patch_end,
    running,
    script,
)
from sessions.world import CLI, LOOP_STATE, TESTS, Truth, World, write_lines


def plain(root: Path, seed: int = 0) -> Truth:
    """One thread in two windows."""
    world = World(root, seed)
    thread = CodexRollout(world)
    thread.work(2, checks=True)
    world.mark()
    thread.work(2)
    thread.save()
    return world.truth()


def totals_again(root: Path, seed: int = 0, *, times: int = 3) -> Truth:
    """Token counts written again, also in a later window: they add nothing."""
    world = World(root, seed)
    thread = CodexRollout(world)
    for _ in range(3):
        thread.turn()
        thread.tokens()
        for _ in range(times):
            thread.tokens_again()
        world.mark()
        thread.tokens_again()
    thread.save()
    return world.truth()


def totals_fall(root: Path, seed: int = 0, *, partly: bool = False) -> Truth:
    """Sums that start again, each time with other numbers.

    With ``partly`` the next response has more input than all earlier ones together.
    """
    world = World(root, seed)
    thread = CodexRollout(world)
    for fresh in (700, 800, 900):
        thread.turn()
        thread.tokens(Tokens(5_000, 4_000, 900))
        thread.tokens(Tokens(6_000, 5_000, 800))
        thread.compact()
        used = (
            Tokens(30_000 + thread.sums.given, 20_000, 40)
            if partly
            else Tokens(fresh, 0, 40)
        )
        thread.tokens(used, afresh=True)
        thread.tokens()
        world.mark()
    thread.save()
    return world.truth()


def without_totals(root: Path, seed: int = 0) -> Truth:
    """Token counts that state only the last response; two of them may be equal and count each."""
    world = World(root, seed)
    thread = CodexRollout(world, version="0.40.0", v7=False)
    for _ in range(3):
        thread.turn()
        used = thread.spend()
        thread.tokens(used, totals=False)
        thread.tokens(used, totals=False)
    thread.save()
    return world.truth()


def without_last(root: Path, seed: int = 0) -> Truth:
    """Token counts that state only sums."""
    world = World(root, seed)
    thread = CodexRollout(world)
    for _ in range(4):
        thread.turn()
        thread.tokens(last=False)
    thread.save()
    return world.truth()


def null_info(root: Path, seed: int = 0) -> Truth:
    """Token counts that state nothing but rate limits, before, between and after real ones."""
    world = World(root, seed)
    thread = CodexRollout(world)
    thread.no_tokens()
    for _ in range(3):
        thread.turn()
        thread.no_tokens()
        thread.tokens()
        thread.no_tokens()
        thread.tokens_again()
    thread.save()
    return world.truth()


def cache_writes(root: Path, seed: int = 0) -> Truth:
    """Token counts that state cache writes, which then count as creation, even a 0."""
    world = World(root, seed)
    thread = CodexRollout(world, writes=True)
    for used in (
        Tokens(9_000, 5_000, 90, 1_500),
        Tokens(9_000, 8_000, 90, 0),
        Tokens(400, 0, 10, 400),
    ):
        thread.turn()
        thread.tokens(used)
        thread.tokens()
    thread.save()
    return world.truth()


def forks(
    root: Path,
    seed: int = 0,
    *,
    v7: bool = True,
    spawned: bool = False,
    part: bool = False,
    afresh: bool = False,
) -> Truth:
    """Threads forked from one: their files begin with its lines, stamped with the time of the fork.

    Args:
        root: where to write.
        seed: of everything random.
        v7: whether turns have UUIDs that carry their time.
        spawned: the forks are threads of sub-agents.
        part: the forks repeat only a part of the parent.
        afresh: the forks begin to count anew instead of going on from the parent's sums.
    """
    world = World(root, seed)
    parent = CodexRollout(world, v7=v7)
    parent.work(3, checks=True)
    turns = [n for n, line in enumerate(parent.lines) if line["type"] == "turn_context"]
    world.mark()
    for _ in range(2):
        child = parent.fork(spawned=spawned, end=turns[2] if part else None)
        if afresh:
            child.turn()
            child.tokens(Tokens(50, 0, 5), afresh=True)
        child.work(2)
        child.save()
        world.mark()
        parent.work(1)
    parent.save()
    return world.truth()


def nested_forks(
    root: Path, seed: int = 0, *, v7: bool = True, depth: int = 3
) -> Truth:
    """A fork of a fork of a fork, each with all lines of the one before, opening lines too."""
    world = World(root, seed)
    thread = CodexRollout(world, v7=v7)
    for level in range(depth + 1):
        thread.work(2, checks=level == 0)
        thread.save()
        world.mark()
        if level < depth:
            thread = thread.fork(spawned=level % 2 == 1)
    return world.truth()


def spawned_afresh(root: Path, seed: int = 0, *, v7: bool = True) -> Truth:
    """Sub-agents' threads that begin without any of the parent's lines.

    Nothing of them is a replay.
    """
    world = World(root, seed)
    parent = CodexRollout(world, v7=v7)
    parent.work(2)
    for _ in range(2):
        child = parent.fork(spawned=True, replay=False)
        child.work(2, checks=True)
        child.save()
    parent.work(1)
    parent.save()
    return world.truth()


def unused_fork(root: Path, seed: int = 0) -> Truth:
    """A fork in which nothing was done: its file is a replay from beginning to end."""
    world = World(root, seed)
    parent = CodexRollout(world)
    parent.work(2, checks=True)
    parent.save()
    world.mark()
    parent.fork().save()
    return world.truth()


def fork_in_the_same_millisecond(root: Path, seed: int = 0) -> Truth:
    """The fork's first turn has the same time as the fork's id.

    What is random in the two says the opposite.
    """
    world = World(root, seed)
    parent = CodexRollout(world)
    parent.work(2)
    parent.save()
    child = parent.fork()
    bare = child.id[:14]
    child.lines[0]["payload"]["id"] = bare + "7fff-bfff-ffffffffffff"
    child.turn(turn_id=bare + "7000-8000-000000000000")
    child.tokens()
    child.work(1)
    child.save()
    return world.truth()


def fork_of_elsewhere(root: Path, seed: int = 0, *, v7: bool = True) -> Truth:
    """A thread that worked in another folder is forked into the repository.

    Its own work there does not come along.
    """
    world = World(root, seed)
    other = world.elsewhere(world.root / "other")
    other.mkdir()
    parent = CodexRollout(world, other, v7=v7)
    parent.work(2, checks=True)
    parent.save()
    world.mark()
    child = parent.fork(cwd=world.repo)
    child.work(2)
    child.save()
    world.mark()
    back = child.fork(cwd=other)
    back.turn(other)
    back.tokens()
    back.save()
    return world.truth()


def fork_without_contexts(root: Path, seed: int = 0) -> Truth:
    """Threads that never say where their turns work.

    Their opening lines do, but not those that a fork repeats.
    """
    world = World(root, seed)
    other = world.elsewhere(world.root / "other")
    other.mkdir()
    parent = CodexRollout(world, other, v7=False, contexts=False)
    parent.work(2)
    parent.save()
    world.mark()
    child = parent.fork(cwd=world.repo)
    child.work(2, checks=True)
    child.save()
    world.mark()
    back = child.fork(cwd=other)
    back.work(1)
    back.save()
    return world.truth()


def orphaned_fork(root: Path, seed: int = 0, *, v7: bool = True) -> Truth:
    """A fork whose parent's file is gone: what the fork repeats of it is still a replay."""
    world = World(root, seed)
    parent = CodexRollout(world, v7=v7)
    parent.work(3, checks=True)
    world.book.forget()
    child = parent.fork()
    child.work(2)
    child.save()
    world.mark()
    grandchild = child.fork(spawned=True)
    child.path.unlink()
    world.book.forget()
    grandchild.work(2)
    grandchild.save()
    return world.truth()


def fork_by_a_newer_version(root: Path, seed: int = 0) -> Truth:
    """A thread whose turns have no UUIDs is forked by a version that gives its own turns some."""
    world = World(root, seed)
    parent = CodexRollout(world, v7=False)
    parent.work(3, checks=True)
    world.mark()
    for _ in range(2):
        child = parent.fork(v7=True)
        child.work(2)
        child.save()
        world.mark()
    parent.work(1)
    parent.save()
    return world.truth()


def ancient(root: Path, seed: int = 0) -> Truth:
    """A rollout from before lines had a payload and a time, and one of today.

    The old one has nothing that counts.
    """
    world = World(root, seed)
    thread = CodexRollout(world)
    thread.work(2)
    thread.event("item_completed", item={"type": "CommandExecution", "exit_code": 1})
    thread.add(
        "world_state",
        {"type": "token_count_of_another_kind", "info": {"last_token_usage": None}},
    )
    thread.save()
    lines = [
        {
            "id": world.uuid4(),
            "timestamp": "2025-06-01T10:00:00.000Z",
            "instructions": None,
            "git": {},
        },
        {"record_type": "state"},
        {
            "type": "message",
            "role": "user",
            "content": [{"type": "input_text", "text": "Exit code: 1"}],
        },
        {
            "type": "function_call",
            "name": "shell",
            "arguments": '{"command":["pytest"]}',
            "call_id": "call_1",
        },
        {"type": "function_call_output", "call_id": "call_1", "output": old_json(1)},
    ]
    old = thread.path.with_name(
        "rollout-2025-06-01T10-00-00-" + world.uuid4() + ".jsonl"
    )
    write_lines(old, (json.dumps(line).encode() for line in lines))
    return world.truth()


def exit_forms(root: Path, seed: int = 0) -> Truth:
    """Every form in which the end of a command is written: old and new, good and bad."""
    world = World(root, seed)
    thread = CodexRollout(world, v7=False)
    thread.turn()
    for code in (0, 1, 127, -1):
        thread.call(old_json(code), code != 0, tool="shell")
        thread.call(old_json(code), code != 0, tool="local_shell_call")
        thread.call(exit_code(code), code != 0, tool="shell_command")
        thread.call(listed(exit_code(code)), code != 0, tool="shell_command")
        thread.call(exited(code), code != 0, tool="exec_command")
        thread.call(listed(exited(code)), code != 0, tool="exec_command")
        thread.call(exited(code), code != 0, tool="write_stdin")
        thread.call(old_json(code), code != 0, tool="apply_patch")
        thread.call(exit_code(code), code != 0, tool="apply_patch")
    thread.tokens()
    thread.call(script("completed"), failed=False, tool="exec")
    thread.call(script("failed"), failed=True, tool="exec")
    thread.call(
        "Script completed\nWall time 0.2 seconds\nOutput:\nScript failed",
        failed=False,
        tool="exec",
    )
    thread.call(
        "Script failed\nWall time 0.2 seconds\nOutput:\nScript completed",
        failed=True,
        tool="exec",
    )
    thread.tokens()
    thread.save()
    return world.truth()


def without_verdicts(root: Path, seed: int = 0, *, marked: bool = False) -> Truth:
    """Calls that nothing on disk says anything about.

    They are no part of the rate, whatever their output says.

    With ``marked``, a file that was read has a line ``Output:`` after something that could be a
    verdict elsewhere.
    """
    world = World(root, seed)
    thread = CodexRollout(world)
    thread.turn()
    thread.call(running(), None, tool="exec_command")
    thread.call(listed(running()), None, tool="exec_command")
    thread.call(script("running"), None, tool="exec")
    thread.call("Plan updated", None, tool="update_plan")
    thread.call(
        "Wall time: 0.3 seconds\nOutput:\nExit code: 1\nScript failed",
        None,
        tool="shell_command",
    )
    notes = OUTPUT if marked else OUTPUT.replace("Output:", "")
    thread.call(f"L1: # Notes\n{notes}", None, tool="read_file")
    thread.call(
        json_output := '{"output":"Exit code: 1","metadata":{"duration_seconds":0.1}}',
        None,
        tool="shell",
    )
    thread.call(listed(json_output), None, tool="shell")
    thread.call(
        [{"type": "input_image", "image_url": "data:image/png;base64,AAAA"}],
        None,
        tool="view_image",
    )
    thread.call([], None, tool="exec_command")
    thread.call(None, None, tool="exec_command")
    thread.tokens()
    thread.save()
    return world.truth()


def events_that_decide(root: Path, seed: int = 0) -> Truth:
    """Ends of patches and MCP calls, good and bad, with outputs that agree or differ, or none."""
    world = World(root, seed)
    thread = CodexRollout(world)
    thread.turn()
    good = {"Ok": {"content": [], "isError": False}}
    bad = {"Ok": {"content": [], "isError": True}}
    for result, failed in (
        (good, False),
        ({"Ok": {"content": []}}, False),
        (bad, True),
        ({"Err": "no answer"}, True),
    ):
        thread.call(
            "Exit code: 1 is what the page says",
            failed,
            tool="mcp__docs__search",
            ends=[mcp_end(result)],
        )
    for success in (True, False):
        thread.call(
            "Updated a.py", not success, tool="apply_patch", ends=[patch_end(success)]
        )
        thread.call(
            old_json(0), not success, tool="apply_patch", ends=[patch_end(success)]
        )
        thread.call(
            exit_code(0), not success, tool="apply_patch", ends=[patch_end(success)]
        )
        thread.call(
            exit_code(1), failed=True, tool="apply_patch", ends=[patch_end(success)]
        )
        thread.call(None, not success, tool="apply_patch", ends=[patch_end(success)])
    code = {
        "type": "exec_command_end",
        "exit_code": 0,
        "stdout": OUTPUT,
        "stderr": "",
        "aggregated_output": OUTPUT,
    }
    thread.call(exited(0), failed=False, tool="exec_command", ends=[code])
    thread.tokens()
    thread.save()
    return world.truth()


def checks(root: Path, seed: int = 0) -> Truth:
    """Each command tool, alone in a window, with what it is evidence of and what it is not."""
    world = World(root, seed)
    thread = CodexRollout(world)
    shells = ("shell", "local_shell_call", "shell_command", "exec_command", "exec")
    for tool in shells:
        for command, found in (
            ("git status", 0),
            ("cd api && cargo test --all", TESTS),
            ("cat .agents/active/loop-state.md", LOOP_STATE),
            ("sed -n '1,40p' loop-state.md", LOOP_STATE),
            ("head -n 20 ./loop-state.md && pytest", LOOP_STATE | TESTS),
            ("tail -5 /r/loop-state.md | sort", LOOP_STATE),
            ("grep -n wave loop-state.md", 0),
            ("echo done", 0),
            ("cat loop-state.md.bak", 0),
            ("cat README.md; grep -c . loop-state.md", 0),
            ("ls | head && wc -l loop-state.md", 0),
            ("cat README.md docs/loop-state.md", LOOP_STATE),
        ):
            thread.turn()
            thread.call(
                exited(0), failed=False, tool=tool, command=command, checks=CLI | found
            )
            thread.tokens()
            world.mark()
    for tool in (
        "apply_patch",
        "exec without a command",
        "update_plan",
        "write_stdin",
        "mcp__docs__search",
    ):
        thread.turn()
        thread.call("Done", None, tool=tool, command="pytest loop-state.md", checks=0)
        thread.tokens()
        world.mark()
    thread.save()
    return world.truth()


def compaction(root: Path, seed: int = 0) -> Truth:
    """A compacted thread: the items that the compaction keeps are no new calls."""
    world = World(root, seed)
    thread = CodexRollout(world)
    for _ in range(3):
        thread.work(2)
        thread.compact()
        world.mark()
    thread.work(1)
    thread.save()
    return world.truth()


def compressed(root: Path, seed: int = 0, *, frames: int = 1) -> Truth:
    """Two compressed rollouts, one of them with a plain file, which alone counts then."""
    world = World(root, seed)
    CodexRollout(world).save()
    alone = CodexRollout(world)
    alone.work(2, checks=True)
    alone.save(zstd=True, frames=frames)
    world.mark()
    both = CodexRollout(world)
    both.work(1)
    both.save(zstd=True, frames=frames)
    both.work(1)
    both.save()
    return world.truth()


def archived(root: Path, seed: int = 0) -> Truth:
    """Archived rollouts: one alone, one that is also active and longer there, one compressed."""
    world = World(root, seed)
    alone = CodexRollout(world, archived=True)
    alone.work(2)
    alone.save()
    both = CodexRollout(world)
    both.work(1)
    active = both.path
    both.path = world.codex / "archived_sessions" / active.name
    both.save()
    both.path = active
    both.work(1)
    both.save()
    packed = CodexRollout(world, archived=True)
    packed.work(1, checks=True)
    packed.save(zstd=True)
    twice = CodexRollout(world)
    twice.work(1)
    twice.save()
    twice.path = world.codex / "archived_sessions" / twice.path.name
    twice.save(zstd=True)
    return world.truth(world.codex)
