"""Where the command ``da-score`` begins, and ``python -m scoring``; Ctrl-C ends it quietly while it loads."""

import signal

if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
    signal.signal(signal.SIGINT, signal.SIG_DFL)

from scoring.cli import run

if __name__ == "__main__":
    run()
