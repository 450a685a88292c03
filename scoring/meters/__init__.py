"""Meters of deliberations, ``dr`` and ``meeting``, and what they share. They know nothing of logs."""
