"""Evidence: git, transcripts, artifacts and other files that da-score did not write, which nothing else opens."""
