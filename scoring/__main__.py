"""Where the command ``da-score`` begins, and ``python -m scoring``.

Until the command line is loaded Ctrl-C ends the process without a traceback, unless it was started to go on
(``nohup``).
"""

import signal

if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
    signal.signal(signal.SIGINT, signal.SIG_DFL)

from scoring.cli import run

if __name__ == "__main__":
    run()
