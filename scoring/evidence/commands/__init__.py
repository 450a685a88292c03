"""What command lines of agents do and how test runs ended; knows nothing of transcripts."""
