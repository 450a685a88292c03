"""The parts of a measurement, one per file.

Each has a function ``measure`` that takes a :class:`~benchmarks.setting.Setting`, prints the times
that it took, and returns the Markdown that stands in the document between the marks with its name.
"""
