"""What can be made of scores once they are there: tables, gates, pictures, answers in words.

:mod:`~scoring.views.examined` goes through a log, one iteration at a time; everything else here takes what it
yields. Nothing in this package writes into a log.
"""
