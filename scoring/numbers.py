"""Whole numbers of 64 bits, signed: the reference's integers, limits and overflow included."""

INT_MIN, INT_MAX = -(2**63), 2**63 - 1


def wrap64(number: int) -> int:
    """Bring a number into 64 bits, the way signed integers wrap around."""
    return number if INT_MIN <= number <= INT_MAX else (number - INT_MIN) % 2**64 + INT_MIN
