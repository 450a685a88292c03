"""Many repositories on a cluster (``docs/FLEET.md``): the engine of ``backfill`` on Dask, rows in Delta tables.

``fleet_toml`` reads a FLEET.toml, ``sources`` lists the repositories that it names, ``coordinator`` hands them out,
``on_worker`` scores one of them, ``archives`` unpacks those that come as archives, and ``dataset`` keeps the rows, each
once. ``rescore`` scores what is kept anew, without git and transcripts. What leaves a worker are counts, scores, ids
and times; ``tables`` lists them.
"""
