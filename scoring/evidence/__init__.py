"""The doors to the outside: git, transcripts, artifacts and other files. Nothing else opens a file or starts a process."""
