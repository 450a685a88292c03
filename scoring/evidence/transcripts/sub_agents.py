"""Sub-agents that a session started, and which of them have lines."""

from collections import Counter, defaultdict
from collections.abc import Iterable

from scoring.evidence.transcripts.events import AgentStarted
from scoring.evidence.transcripts.streams import File


def missing_sub_agents(files: Iterable[File], groups: Iterable[Iterable[int]]) -> list[int]:
    """Return for each group of parts how many sub-agents started in it that have no line there.

    Args:
        files: the files.
        groups: the parts of each group.
    """
    started: Counter[int] = Counter()
    names_in: defaultdict[int, set[str]] = defaultdict(set)
    for file in files:
        spans = list(zip(file.events.spans, file.events.covers, strict=True))
        only_agents = all(span.agent for span, numbers in spans if numbers)
        for index, (span, numbers) in enumerate(spans):
            if not span.agent:
                continue
            # Older versions write sub-agents into the session's own file without their names.
            name = file.agent(index) if only_agents or span.agent_id else ""
            for number in numbers:
                names_in[file.part(number)].add(name)
        for event in file.events.of(AgentStarted):
            started[file.part(event.line)] += 1

    missing = []
    for group in groups:
        group_parts = list(group)
        names: set[str] = set().union(*(names_in.get(part, ()) for part in group_parts))
        if "" in names:  # they cannot be distinguished
            missing.append(0)
        else:
            count = sum(started[part] for part in group_parts)
            missing.append(max(count - len(names), 0))
    return missing
