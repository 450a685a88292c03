"""Iteration records: what the agent reported, in one shape for both schemas."""
