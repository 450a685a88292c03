"""Generators of agent sessions as harnesses write them, each with the truth about what happened.

``world`` is the machine: a home, a git repository, a clock, and the book that has each thing that
really happens, once, when it happens. ``claude`` and ``codex`` write what the two harnesses write
about it, with all their repetitions. ``claude_cases``, ``codex_cases`` and ``place_cases`` are the
scenarios, and ``mixed`` puts many into one home.

A scenario is a function of a folder and a seed. It writes below the folder and returns a
:class:`~sessions.world.Truth`. Everything comes from the seed: the same call writes the same bytes,
except for the folder's own path. The truth is summed from the book alone, never from what was
written, so that it can test a reader.
"""
