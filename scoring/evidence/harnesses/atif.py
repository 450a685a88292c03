"""ATIF, the trajectories of jobs of Harbor: what their steps say (``docs/EVIDENCE.md``, "What each harness writes")."""

from collections.abc import Sequence
from typing import Any

from scoring.evidence.harnesses.event_reader import EventReader
from scoring.evidence.harnesses.fields import (
    count_in,
    items_in,
    keys_of,
    member,
    text_in,
    time_in,
    value_of,
)
from scoring.evidence.harnesses.harness import OTHER_TYPE, FileNames, Harness
from scoring.evidence.harnesses.tool_calls import ToolNames, note_call
from scoring.evidence.transcripts.events import LineSpan

TOOLS = ToolNames(
    "Bash bash shell exec_command run_shell_command execute_bash run_command",
    "Edit Write MultiEdit edit write create edit_file create_file write_file replace str_replace_editor",
    "apply_patch",
    agents="Task Agent task agent",
)
"""The tools of the agents that are run in this way, each with the names that its own harness has."""

_SOURCES = "user", "agent", "system"
_COUNTS = (
    ("prompt_tokens",),
    ("completion_tokens",),
    ("cached_tokens",),
    ("extra", "cache_creation_input_tokens"),
)
_TOTALS = (
    "total_completion_tokens",
    "total_prompt_tokens",
    "total_cached_tokens",
    "total_cache_creation_tokens",
)


class AtifReader(EventReader):
    """Reads a trajectory; the place of a step in it is its number."""

    in_documents = True

    def entry(self, line: dict[str, Any]) -> None:
        """Take a trajectory, and those of the sub-agents that are in it."""
        self.version, session = line.get("schema_version"), text_in(line, "session_id")
        self._steps(line, session, False)
        for inside in items_in(line, "subagent_trajectories"):
            self._steps(inside, session, True)

    def _steps(self, trajectory: Any, session: str, agent: bool) -> None:
        steps, now, measured = items_in(trajectory, "steps"), None, False
        for step in steps:
            self.messages += () if agent else (self.next_event,)
            if not isinstance(step, dict):
                self.skip(OTHER_TYPE)
                continue
            now = time_in(step, "timestamp") or now
            if step.get("is_copied_context") is True:  # an earlier document has it
                self.opens = False
                continue
            model = text_in(step, "model_name") or text_in(trajectory, "agent", "model_name")
            self.where = LineSpan(session=session, model=model, agent=agent)
            if step.get("source") not in _SOURCES:
                self.unknown(step.get("source"))
            elif self.event(
                now,
                session,
                text_in(trajectory, "session_id"),
                step.get("step_id"),
                step.get("message"),
            ):
                measured |= self._take(step)
        totals = [count_in(trajectory, "final_metrics", name) for name in _TOTALS]
        if self.next_event and self.opens and not measured and None not in totals[:2]:
            output, given, reads, writes = (count or 0 for count in totals)
            self.totals(0, output, max(given - reads - writes, 0), reads, writes)

    def _take(self, step: dict[str, Any]) -> bool:
        """Say what a step holds; return whether it states its tokens."""
        text, measured = text_in(step, "message"), False
        if member(step, "extra", "context_management", "type") == "compaction":
            self.seen.compacted()
        if step["source"] == "user":
            self.prompt(text)
        elif step["source"] == "agent":
            measured = step.get("llm_call_count") != 0 and self._response(step)
            self.seen.said(text)
            self._calls(items_in(step, "tool_calls"), items_in(step, "observation", "results"))
        return measured

    def _response(self, step: dict[str, Any]) -> bool:
        given, output, reads, writes = (count_in(step, "metrics", *names) for names in _COUNTS)
        apart = None if given is None else max(given - (reads or 0) - (writes or 0), 0)
        self.response("", output, apart, reads, writes)
        return None not in (given, output)

    def _calls(self, calls: Sequence[Any], results: Sequence[Any]) -> None:
        """Take the calls of a step and their results; one that names no call is that of the call in its place."""
        for call in calls:
            if isinstance(call, dict):
                note_call(
                    self,
                    TOOLS,
                    call.get("tool_call_id"),
                    call.get("function_name"),
                    call.get("arguments"),
                )
        for place, result in enumerate(results):
            of = member(calls[place], "tool_call_id") if place < len(calls) else None
            self.result(member(result, "source_call_id") or of, None, text_in(result, "content"))


class Atif(Harness):
    """See :class:`~scoring.evidence.harnesses.harness.Harness`."""

    name = "atif"
    files = (FileNames("trajectory*.json", document=True),)
    reader = AtifReader

    def claims(self, line: bytes) -> bool:
        """Know a trajectory by the version of its form."""
        version = text_in(value_of(line), "schema_version")
        return keys_of(line) >= {"schema_version", "steps"} and version.startswith("ATIF")
