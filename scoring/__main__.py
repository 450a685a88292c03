"""Where the command ``da-score`` and ``python -m scoring`` begin.

Ctrl-C ends the process quietly while the program is still loading.
"""

import signal

if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
    signal.signal(signal.SIGINT, signal.SIG_DFL)

from .cli import run

if __name__ == "__main__":
    run()
