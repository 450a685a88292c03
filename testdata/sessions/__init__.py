"""Generators of agent sessions as they lie on disk, each with the truth about what happened in them.

``world`` is the machine: a home, a git repository, a clock, and the book in which everything that really happens is
entered once, when it happens. ``claude`` and ``codex`` write what the two harnesses write about it, with all their
repetitions; ``claude_cases``, ``codex_cases`` and ``place_cases`` are the scenarios, ``mixed`` puts many into one home.

A scenario is a function of a folder and a seed; it writes below the folder and returns a
:class:`~sessions.world.Truth`. Everything comes from the seed: the same call
writes the same bytes, but for the folder's own path. The truth is summed from the book alone, never from what was
written, so that a reader can be held to it.
"""
