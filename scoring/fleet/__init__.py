"""Many repositories on a cluster: ``backfill`` on Dask, with rows in Delta tables."""
