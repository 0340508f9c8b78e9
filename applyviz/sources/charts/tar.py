"""Read the regular files of a tar archive in memory, in time that grows with its size.

Rule: POSIX pax archives and GNU long names, as Go's `archive/tar` reads them. Sparse files are refused: they may claim
any size. The module of Python is not used: its headers cost the square of their size, nest without end, or never end.
"""

from __future__ import annotations

from collections.abc import Iterator

_BLOCK = 512
_NAME, _SIZE, _SUM, _MAGIC, _PREFIX = slice(0, 100), slice(124, 136), slice(148, 156), slice(257, 263), slice(345, 500)
_TYPE = 156
_USTAR = b"ustar\0"
_REGULAR, _WITHOUT_DATA = frozenset(b"\x0007"), frozenset(b"123456")
_EXTENDED, _LONG_NAME, _PAX, _SPARSE = frozenset(b"xgLK"), ord("L"), ord("x"), ord("S")
_BASE_256 = 0x80
_MOST_EXTENDED = 2 * 1024 * 1024
_LONGEST_NUMBER = 10


def _number(field: bytes) -> int:
    """Return a number of a header: octal digits, or bytes after a mark; raises `ValueError` for a negative one."""
    if field[0] & _BASE_256:
        if field[0] != _BASE_256:
            raise ValueError("a size is negative or too large")
        return int.from_bytes(field[1:], "big")
    digits = field.partition(b"\0")[0].strip()
    if digits.strip(b"01234567"):
        raise ValueError("a size is not octal")
    return int(digits or b"0", 8)


def _check_sum(header: bytes) -> None:
    if len(header) < _BLOCK:
        raise ValueError("a header is cut off")
    summed = sum(header) - sum(header[_SUM]) + len(header[_SUM]) * ord(" ")
    if _number(header[_SUM]) != summed:
        raise ValueError("a header has another checksum")


def _text(field: bytes) -> str:
    return field.partition(b"\0")[0].decode()


def _read_name(header: bytes) -> str:
    name = _text(header[_NAME])
    prefix = _text(header[_PREFIX]) if header[_MAGIC] == _USTAR else ""
    return f"{prefix}/{name}" if prefix else name


def _read_pax(data: bytes) -> dict[bytes, bytes]:
    """Return the records of a pax header; raises `ValueError` for one that is not `LENGTH NAME=VALUE`."""
    found, at = {}, 0
    while at < len(data) and data[at]:
        digits, space, _rest = data[at : at + _LONGEST_NUMBER].partition(b" ")
        end = at + int(digits) if space and digits.isdigit() else 0
        name, equals, value = data[at + len(digits) + 1 : end - 1].partition(b"=")
        if not (at < end <= len(data) and name and equals and data[end - 1 : end] == b"\n"):
            raise ValueError("a pax header is broken")
        if name.startswith(b"GNU.sparse"):
            raise ValueError("a file is sparse")
        found[name], at = value, end
    return found


def _find_size(header: bytes, records: dict[bytes, bytes]) -> int:
    """Return the size of what follows a header; that of a pax record counts first."""
    if header[_TYPE] in _WITHOUT_DATA:
        return 0
    if header[_TYPE] in _EXTENDED or b"size" not in records:
        return _number(header[_SIZE])
    if not records[b"size"].isdigit():
        raise ValueError("a size is no number")
    return int(records[b"size"])


def list_files(data: bytes) -> Iterator[tuple[str, bytes]]:
    """Yield the name and the content of each regular file; raises `ValueError` for what is no archive.

    - An empty block ends the archive, and so does the end of the data.
    """
    at, extended, records = 0, 0, dict[bytes, bytes]()
    while (header := data[at : at + _BLOCK]).strip(b"\0"):
        _check_sum(header)
        size = _find_size(header, records)
        start, at = at + _BLOCK, at + _BLOCK + -(-size // _BLOCK) * _BLOCK
        extended += size if header[_TYPE] in _EXTENDED else 0
        if start + size > len(data) or header[_TYPE] == _SPARSE or extended > _MOST_EXTENDED:
            raise ValueError("a file is sparse or cut off, or the names are too long")
        content = data[start : start + size]
        if header[_TYPE] == _PAX:
            records |= _read_pax(content)
        elif header[_TYPE] == _LONG_NAME:
            records[b"path"] = content.partition(b"\0")[0]
        elif header[_TYPE] not in _EXTENDED:
            name = records[b"path"].decode() if b"path" in records else _read_name(header)
            if header[_TYPE] in _REGULAR and not name.endswith("/"):
                yield name, content
            records = {}
