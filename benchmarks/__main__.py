"""``python -m benchmarks`` measures how long da-score takes, with ``truth`` whether it is right.

With ``spent`` it compares the tokens of the ledger with those that another program counts, and with
``landings`` what is said of work off the trunk with histories that it rewrites; ``reader`` shows
what is understood of a transcript.
"""

import sys

from benchmarks import landings, reader, run, spent, truth

_OTHERS = {
    "truth": truth.main,
    "spent": spent.main,
    "landings": landings.main,
    "reader": reader.main,
}

sys.exit(
    _OTHERS[sys.argv[1]](sys.argv[2:]) if sys.argv[1:2] and sys.argv[1] in _OTHERS else run.main()
)
