"""The doors to the outside: git, transcripts, artifacts and other files.

Nothing else opens a file that was not written by da-score, or starts a process.
"""
