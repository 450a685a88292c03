"""Evidence: git, transcripts, artifacts and other files that da-score did not write.

Nothing else opens them.
"""
