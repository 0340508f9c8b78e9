"""Point at the problems of an expression, as `common/error.go` and `common/errors.go` of cel-go v0.26.0 do."""

from __future__ import annotations

from collections.abc import Sequence

_ASCII = 128
_LONGEST_LINE, _MOST_PROBLEMS = 16_384, 100


def point_at(expression: str, at: int, text: str) -> str:
    """Return a problem with its position, and with the line of the expression unless that is very long."""
    if not expression:
        return f"ERROR: <input>:1:0: {text}"
    line, column = expression[:at].count("\n") + 1, at - (expression[:at].rfind("\n") + 1)
    shown = expression.split("\n")[line - 1].replace("\t", " ")
    if len(shown.encode("utf-8", "surrogatepass")) > _LONGEST_LINE:
        return f"ERROR: <input>:{line}:{column + 1}: {text}"
    dots = "".join("." if ord(sign) < _ASCII else "\uff0e" for sign in shown[:column])
    mark = "\uff3e" if ord(shown[column : column + 1] or "^") >= _ASCII else "^"
    return f"ERROR: <input>:{line}:{column + 1}: {text}\n | {shown}\n | {dots}{mark}"


def point_at_all(expression: str, problems: Sequence[tuple[int, str]]) -> str:
    """Return the first hundred problems in the order of their positions, and how many are left out."""
    shown = sorted(problems[:_MOST_PROBLEMS], key=lambda problem: problem[0])
    left = len(problems) - len(shown)
    more = [f"{left} more errors were truncated"] if left else []
    return "\n".join([*(point_at(expression, at, text) for at, text in shown), *more])
