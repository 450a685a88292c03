"""How fast da-score is, measured against a floor on a made backlog: ``python -m benchmarks``.

``corpus`` makes the backlog (``made`` its parts), ``floor`` is what everything is compared with,
``run`` measures, and the other modules are one part of the measuring each. What comes out stands in
``docs/PERFORMANCE.md``.
"""
