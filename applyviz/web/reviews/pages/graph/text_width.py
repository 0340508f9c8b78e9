"""The width of a text in the picture of a graph, without a browser.

Rule: the widths of Inter's letters, rounded up; a browser test compares them with what Chromium measures. Letters that
are not in the table count as wide as the font is high.
"""

from __future__ import annotations

_WIDTHS = {
    0.26: "ijl",
    0.30: " !,.:I·",
    0.34: "';`t|",
    0.38: "()/[\\]fr",
    0.42: "1",
    0.47: "-_{}",
    0.50: '"^',
    0.54: "*?s",
    0.57: "7Lakvxyz",
    0.59: "Jce",
    0.61: "5EFhnou",
    0.63: "23689bdgpq",
    0.65: "#$&04PRSTZ",
    0.68: "+<=>BK~",
    0.72: "AVXY",
    0.75: "CDGHU",
    0.79: "NOQ",
    0.90: "mw…",
    0.99: "%@MW",
    1.00: "→",  # another font of the machine may draw it
}
_OF_LETTER = {letter: width for width, letters in _WIDTHS.items() for letter in letters}
_MONO = 0.6
ELLIPSIS = "…"


def measure(text: str, size: float, *, is_mono: bool = False) -> float:
    """Return the width of a text in pixels, never less than what a browser draws."""
    if is_mono:
        return sum(_MONO if letter.isascii() or letter == ELLIPSIS else 1.0 for letter in text) * size
    return sum(_OF_LETTER.get(letter, 1.0) for letter in text) * size


def fit(text: str, size: float, room: float, *, is_mono: bool = False) -> str:
    """Return as much of a text as has room, with an ellipsis where some is left out."""
    if measure(text, size, is_mono=is_mono) <= room:
        return text
    room -= measure(ELLIPSIS, size, is_mono=is_mono)
    kept = 0
    while kept < len(text):
        room -= measure(text[kept], size, is_mono=is_mono)
        if room < 0:
            break
        kept += 1
    return text[:kept].rstrip() + ELLIPSIS
