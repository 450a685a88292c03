"""The signals, one file each.

:mod:`~scoring.signals.table` lists them.
"""
