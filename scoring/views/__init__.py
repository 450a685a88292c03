"""A log shown in some way: tables, explanations, gates, comparisons, reports. No log is written."""
