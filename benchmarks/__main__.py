"""``python -m benchmarks`` measures how long da-score takes, and with ``truth`` whether it says what is so."""

import sys

from benchmarks import run, truth

sys.exit(truth.main(sys.argv[2:]) if sys.argv[1:2] == ["truth"] else run.main())
