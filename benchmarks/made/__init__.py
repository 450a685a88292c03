"""The parts of a made backlog: text, a history, a log, and transcripts of two harnesses."""
