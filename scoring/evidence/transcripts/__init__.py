"""Transcripts of coding agents, read down to the few counts that scoring needs."""

from scoring.evidence.transcripts.events import IterationWindow, WindowFacts
from scoring.evidence.transcripts.reader import window_facts

__all__ = ["IterationWindow", "WindowFacts", "window_facts"]
