"""The events of transcripts: what is observed in them, kept of them, and counted."""
