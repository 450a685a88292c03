"""What several test files need, such as real git repositories, transcripts and command lines."""
