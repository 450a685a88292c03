"""Score sidecars: how they are written, what they hold, and how they are read back."""
