"""Where the command ``da-score`` begins; lets ``python -m scoring`` be it too.

Until the command line is loaded there is nothing to tidy up, so Ctrl-C ends the process at once and without a
traceback; :func:`scoring.cli.run` takes over from there. Who started it to go on through Ctrl-C (``nohup``) is heeded.
"""

import signal

if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
    signal.signal(signal.SIGINT, signal.SIG_DFL)

from scoring.cli import run

if __name__ == "__main__":
    run()
