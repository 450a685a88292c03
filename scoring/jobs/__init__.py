"""Jobs that run without anyone watching: the close-task hook and the backfill. They compose the library."""
