"""Fields of protobuf messages without their schema.

A message that is cut or damaged has the fields before that.
"""

from collections.abc import Iterator

_VARINT, _EIGHT_BYTES, _BYTES, _FOUR_BYTES = 0, 1, 2, 5
_LONGEST_VARINT = 10


def fields_of(data: object) -> Iterator[tuple[int, int | bytes]]:
    """Yield the number and the value of each field of a message, in its order.

    A value is a number or bytes. Fields of four or eight bytes are left out, and so is the rest
    from a field that is cut or of an unknown type. What is not bytes has no fields.
    """
    if not isinstance(data, bytes):
        return

    position = 0
    while position < len(data):
        tag, position = _varint(data, position)
        kind = tag & 7
        if kind == _VARINT:
            value, position = _varint(data, position)
            if position <= len(data):
                yield tag >> 3, value
        elif kind == _BYTES:
            length, position = _varint(data, position)
            if position + length <= len(data):
                yield tag >> 3, data[position : position + length]
            position += length
        elif kind in (_EIGHT_BYTES, _FOUR_BYTES):
            position += 8 if kind == _EIGHT_BYTES else 4
        else:
            return


def _varint(data: bytes, position: int) -> tuple[int, int]:
    """Return a number and the position after it.

    Where the number is cut or too long, the position is one after the end of the data.
    """
    number = 0
    for shift in range(_LONGEST_VARINT):
        if position + shift >= len(data):
            break
        byte = data[position + shift]
        number |= (byte & 0x7F) << (7 * shift)
        if byte < 0x80:
            return number, position + shift + 1
    return number, len(data) + 1


def bytes_in(data: object, *path: int) -> bytes:
    """Return the bytes at a path of numbers of fields, or b"" where none are there.

    On each step of the path, the first field with its number and bytes counts.
    """
    for number in path:
        values = (value for field, value in fields_of(data) if field == number)
        data = next((value for value in values if isinstance(value, bytes)), b"")
    return data if isinstance(data, bytes) else b""


def first_text(data: object, *path: int) -> str:
    """Return the text at a path of numbers of fields, or "" where none is there."""
    return bytes_in(data, *path).decode("utf-8", "replace")


def numbers_in(data: object, *path: int) -> dict[int, int]:
    """Return the numbers in the message at a path, by the numbers of their fields.

    Of several numbers in one field, the last one counts.
    """
    message = bytes_in(data, *path)
    return {
        field: value for field, value in fields_of(message) if isinstance(value, int)
    }


def packed_numbers(data: object, field: int) -> list[int]:
    """Return the numbers in all fields of one number, packed together or each in its own field."""
    numbers = []
    for number, value in fields_of(data):
        if number != field:
            continue
        if isinstance(value, int):
            numbers.append(value)
            continue
        position = 0
        while position < len(value):
            packed, position = _varint(value, position)
            numbers.append(packed)
    return numbers
