"""``da-score log``: the entries of a log, and the signals as they are read from it."""

from .group import LazyGroup

command = LazyGroup(
    "log",
    help="""Check, print and write the entries of a log.

    What a log holds is described in docs/LOG.md. To score it, use run, iteration or check.
    """,
    epilog="Example:  da-score log lint",
)
command.path = "log"
