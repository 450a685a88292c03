"""What programs print for a terminal, as text."""

import re

_TERMINAL_CODE = re.compile(r"\x1b\[[0-?]*+[ -/]*+[@-~]?")


def without_terminal_codes(output: str) -> str:
    """Return an output without the codes for colors and the like."""
    return _TERMINAL_CODE.sub("", output)
