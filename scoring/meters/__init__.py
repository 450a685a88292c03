"""Meters of deliberations. They know nothing of logs."""
