"""Pages as tests read them: how the template breaks its lines makes no difference, as in a browser."""

import re

_KEPT = re.compile(rb"(<(pre|textarea|script)\b.*?</\2>)", re.DOTALL | re.IGNORECASE)
_TAG_END = re.compile(rb"\s+(/?>)")
_EDGE = re.compile(rb"(<[a-zA-Z](?:\"[^\"]*\"|'[^']*'|[^'\">])*>)\s+|\s+(</)")
_SPACE = re.compile(rb"(\"[^\"]*\"|'[^']*')|\s+")
# What joining changes: a break, or more than one space.
_WIDE = re.compile(rb"[\n\r\t\f\v]|  ")
_RUN = re.compile(rb"\s+")
_BREAK = re.compile(rb"\n\s+")
_TAG = re.compile(rb"<[a-zA-Z](?:\"[^\"]*\"|'[^']*'|[^'\">])*>")


def _join_lines(piece: bytes) -> bytes:
    """Return text and tags on one line; quoted values keep the line breaks that are their own."""
    found, end = [], 0
    for tag in _TAG.finditer(piece):
        found += [_join_text(piece[end : tag.start()]), _join_tag(tag.group())]
        end = tag.end()
    return b"".join([*found, _join_text(piece[end:])])


def _join_text(text: bytes) -> bytes:
    return _RUN.sub(b" ", text) if _WIDE.search(text) else text


def _join_tag(tag: bytes) -> bytes:
    if _WIDE.search(tag):
        tag = _SPACE.sub(lambda one: _BREAK.sub(b" ", one[1]) if one[1] else b" ", tag)
    return _TAG_END.sub(rb"\1", tag) if tag[-2:-1] in b" /" else tag


def flatten(page: bytes) -> bytes:
    """Return HTML with single spaces, and none at the edges of tags and elements; the text of `pre` stays."""
    pieces = _KEPT.split(page)
    # The pattern has two groups: text, the kept element, its name.
    flat = [piece if n % 3 == 1 else _join_lines(piece) for n, piece in enumerate(pieces) if n % 3 != 2]
    return b"".join(
        _EDGE.sub(lambda found: found.group(1) or found.group(2), piece) if not _KEPT.match(piece) else piece
        for piece in flat
    )
