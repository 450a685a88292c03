"""Many repositories scored on a cluster (``docs/FLEET.md``): the engine of ``backfill`` on Dask, results as Parquet.

``fleet_toml`` reads a FLEET.toml, ``sources`` lists the repositories that it names, ``on_worker`` scores one of them
there, ``archives`` unpacks those that come as archives, ``splitting`` reads the transcripts of large ones in parts,
``coordinator`` hands repositories out and ``dataset`` keeps what comes back, each row once. ``rescore`` scores what is
kept anew, without git and transcripts. What leaves a worker are counts, scores, ids and times; ``tables`` lists
them.
"""
