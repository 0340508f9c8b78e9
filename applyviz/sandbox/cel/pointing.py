"""Point at what is wrong in an expression, as `common/error.go` of cel-go v0.26.0 does."""

from __future__ import annotations

_ASCII = 128


def point_at(expression: str, at: int, text: str) -> str:
    """Return what is wrong at a position, with the line that it is in."""
    if not expression:
        return f"ERROR: <input>:1:0: {text}"
    line, column = expression[:at].count("\n") + 1, at - (expression[:at].rfind("\n") + 1)
    shown = expression.split("\n")[line - 1].replace("\t", " ")
    dots = "".join("." if ord(sign) < _ASCII else "\uff0e" for sign in shown[:column])
    mark = "\uff3e" if ord(shown[column : column + 1] or "^") >= _ASCII else "^"
    return f"ERROR: <input>:{line}:{column + 1}: {text}\n | {shown}\n | {dots}{mark}"
