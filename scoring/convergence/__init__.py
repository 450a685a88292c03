"""The meters of convergence: whether a deliberation still says something new, and whether it is ready to act.

A package of its own: transcript in, result out. It knows nothing of iteration logs.
"""
