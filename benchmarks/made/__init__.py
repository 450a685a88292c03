"""The parts of a made backlog: text, a history, an iteration log, and transcripts of two harnesses."""
