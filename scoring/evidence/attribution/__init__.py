"""Whose lines these are: sessions, cuts, work trees, checkpoints."""
