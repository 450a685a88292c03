"""Deliberations of sub-agents in sessions, as DR transcripts: docs/DIMINISHING_RETURNS.md, "From a session"."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from scoring.errors import DaScoreError, InputError, Warn
from scoring.evidence.git.checkpoints import read_checkpoints
from scoring.evidence.git.repository import GitRepository
from scoring.evidence.harnesses.fields import items_in, value_of
from scoring.evidence.harnesses.readers import HARNESSES
from scoring.evidence.transcripts.discovery import discover
from scoring.evidence.transcripts.facts import TranscriptPlaces
from scoring.files import read_file
from scoring.meters.dr.extraction import FROM_TEXT, sentences_of
from scoring.meters.dr.novelty import new_by_words, normalize
from scoring.meters.dr.profile import DEFAULT

_TOOLS = ("Task", "Agent")  # the tools by which Claude Code starts a sub-agent
_NOT_SAID = "agentId:"  # a text of the harness behind an answer begins so


class SubAgentAnswer(NamedTuple):
    """What one sub-agent, of a ``kind``, was asked and answered."""

    kind: str
    prompt: str
    text: str


def session_transcript(session: str, places: TranscriptPlaces, warn: Warn) -> tuple[str, bytes]:
    """Return the id and the longest transcript of a session, named by its file or how its id begins; InputError."""
    if Path(session).is_file():
        return session, read_file(session)
    copies: dict[str, list[bytes]] = {}
    try:
        repository = GitRepository(places.repo_dir)
        for checkpoint in read_checkpoints(repository, warn).values():
            for s in checkpoint.sessions:
                if s.session_id.startswith(session) and not s.missing:
                    text = b"\n".join(repository.contents(s.blobs).values())
                    copies.setdefault(s.session_id, []).append(text)
    except DaScoreError as e:  # in no repository there are no checkpoints
        warn(str(e))
    for file in discover(places, HARNESSES, warn).transcripts:
        if file.path.stem.startswith(session) and not file.store:
            copies.setdefault(file.path.stem, []).append(read_file(file.path))
    if not copies:
        raise InputError(
            f"{session}: no transcript of such a session in checkpoints or transcript directories"
        )
    if len(copies) > 1 and session not in copies:
        raise InputError(f"{session}: {len(copies)} sessions begin so; write more of the id")
    name = session if session in copies else next(iter(copies))
    return name, max(copies[name], key=len)


def deliberations_in(data: bytes) -> list[list[SubAgentAnswer]]:
    """Return every deliberation in a transcript: two or more answers to prompts that the meter takes for the same."""
    groups: list[list[SubAgentAnswer]] = []
    for answer in _answers(data):
        for group in groups:
            prompts = [[normalize(group[0].prompt)], [normalize(answer.prompt)]]
            if not new_by_words(prompts, DEFAULT.thresholds.paraphrase)[1][0]:
                group.append(answer)
                break
        else:
            groups.append([answer])
    return [group for group in groups if len(group) > 1]


def transcript_from(answers: list[SubAgentAnswer], session: str) -> dict[str, Any]:
    """Return the DR transcript of a deliberation: an answer is a round, its claims are cut out of text by rules."""
    rounds = []
    for number, answer in enumerate(answers, start=1):
        claims, questions = sentences_of(answer.text)
        outputs = {
            "claims": claims,
            "open_questions": questions,
            "next_actions": [],
            "claims_from": FROM_TEXT,
        }
        rounds.append({"round": number, "agent": f"{answer.kind} {number}", "outputs": outputs})
    topic = " ".join(answers[0].prompt.split())
    return {"conversation_id": session, "topic": topic[:200], "rounds": rounds}


def _answers(data: bytes) -> Iterator[SubAgentAnswer]:
    """Yield the answers of sub-agents in their order, each once."""
    asked: dict[str, dict[str, Any]] = {}
    for line in data.split(b"\n"):
        for block in _blocks(line):
            if (
                block.get("type") == "tool_use"
                and block.get("name") in _TOOLS
                and isinstance(block.get("input"), dict)
            ):
                asked[str(block.get("id"))] = block["input"]
            elif block.get("type") == "tool_result" and not block.get("is_error"):
                given = asked.pop(str(block.get("tool_use_id")), {})
                text, prompt = _text_of(block.get("content")), given.get("prompt")
                if (
                    text
                    and isinstance(prompt, str)
                    and prompt.strip()
                    and not given.get("run_in_background")
                ):
                    yield SubAgentAnswer(str(given.get("subagent_type") or "agent"), prompt, text)


def _blocks(line: bytes) -> list[dict[str, Any]]:
    may_have = b'"tool_use"' in line or b'"tool_result"' in line
    content = items_in(value_of(line), "message", "content") if may_have else ()
    return [block for block in content if isinstance(block, dict)]


def _text_of(content: Any) -> str:
    if isinstance(content, str):
        return content.strip()
    texts = [str(part.get("text") or "") for part in content or () if isinstance(part, dict)]
    return "\n\n".join(text for text in texts if not text.startswith(_NOT_SAID)).strip()
