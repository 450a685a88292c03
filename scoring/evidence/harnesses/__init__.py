"""One reader a harness: from the bytes of its transcripts to events."""
