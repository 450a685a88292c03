"""What became of the work of iterations, and whether their scores foretold it.

None of it ever votes.
"""
