"""Many repositories on a cluster (``docs/FLEET.md``): the engine of ``backfill`` on Dask, rows in Delta tables.

``run`` is a fleet from beginning to end. What leaves a worker are counts, scores, ids and times; ``tables`` lists them.
"""
