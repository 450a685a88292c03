"""Transcripts of coding agents, read down to the few numbers that scoring needs.

:mod:`discovery` finds the files, :mod:`scan` has them read, :mod:`lines` gives each line to the reader of its harness,
:mod:`rows` is what is kept of a file, :mod:`tally` sums up, and :mod:`facts` is what comes out. A harness is one file
after :mod:`harness` and one line in :mod:`readers`; the rules of the reference are one more, :mod:`reference`.
"""
