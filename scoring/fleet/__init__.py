"""Many repositories on a cluster (``docs/FLEET.md``): the engine of ``backfill`` on Dask, rows in Delta tables."""
