"""The deliberation meter: whether a meeting of several experts may end, must go on, or should be parked.

A judge writes one record per round. The way through: :mod:`records` and :mod:`config` say what is read,
:mod:`scores` computes each round's scores from the record's own evidence, :mod:`rules` holds the rules in their order,
and :mod:`meter` puts them together into one verdict per round.
"""
