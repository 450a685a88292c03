"""Transcripts of coding agents, read down to the few numbers that scoring needs.

``lines`` reads a line (``exact`` the odd ones), ``reader`` a file, ``scan`` many files in several processes, ``index``
keeps what was read, and ``events`` is what comes out.
"""
