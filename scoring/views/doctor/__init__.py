"""Looks at what da-score finds, and what it does not find, and says what to do about it.

``examination`` gathers facts without ever stopping at the first problem, ``findings`` makes advice of them.
"""
