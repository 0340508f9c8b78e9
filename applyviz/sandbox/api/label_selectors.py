"""Parse label selectors in the words of the API server.

Rule: https://kubernetes.io/docs/concepts/overview/working-with-objects/labels/#api, and `pkg/labels` of
k8s.io/apimachinery for what is refused: a selector is split into words and signs, read from left to right, and the
first problem is reported.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from applyviz.engine.objects.golang import quote, read_signed
from applyviz.engine.requests.selectors import Operator, Requirement, Selector
from applyviz.kubernetes.parity.name_formats import label_value_problems, qualified_name_problems
from applyviz.kubernetes.parity.status import StatusError, bad_request

_WORD = re.compile(r"[^\s=!(),<>]+|==|!=|[=!(),<>]")
_SIGNS = frozenset({"==", "!=", "=", "!", "(", ")", ",", "<", ">"})
_END = ""
_OPERATORS = {
    "=": Operator.IN, "==": Operator.IN, "!=": Operator.NOT_IN, "in": Operator.IN, "notin": Operator.NOT_IN,
    ">": Operator.GREATER, "<": Operator.LESS,
}  # fmt: skip
_NAMED_OPERATORS = "in, notin, =, ==, !=, gt, lt"
_INT64 = 2**63


def _refuse(found: str, expected: str, *, prefix: str = "unable to parse requirement: ") -> StatusError:
    return bad_request(f"{prefix}found '{found}'{expected}")


def _refuse_values(errors: Sequence[str]) -> StatusError:
    lines = list(dict.fromkeys(errors))
    text = lines[0] if len(lines) == 1 else f"[{', '.join(lines)}]"
    return bad_request(f"unable to parse requirement: {text}")


class _Reader:
    def __init__(self, text: str) -> None:
        self._words: list[str] = _WORD.findall(text)
        self._position = 0

    def peek(self) -> str:
        """Return the next word or sign, empty text at the end."""
        return self._words[self._position] if self._position < len(self._words) else _END

    def take(self) -> str:
        word = self.peek()
        self._position += 1
        return word

    def is_name(self) -> bool:
        """Return whether the next one is a word."""
        return self.peek() != _END and self.peek() not in _SIGNS

    def read_requirement(self) -> Requirement:
        is_absent = self.peek() == "!"
        if is_absent:
            self.take()
        if not self.is_name():
            raise _refuse(self.peek(), ", expected: identifier")
        key = self.take()
        if problems := qualified_name_problems(key, "a valid label key"):
            raise bad_request(f"unable to parse requirement: <nil>: Invalid value: {quote(key)}: {'; '.join(problems)}")
        if is_absent:
            return Requirement(key, Operator.ABSENT)
        if self.peek() in (_END, ","):
            return Requirement(key, Operator.EXISTS)
        word = self.take()
        operator = _OPERATORS.get(word)
        if operator is None:
            raise _refuse(word, f", expected: {_NAMED_OPERATORS}")
        values = self._read_values() if word in ("in", "notin") else {self._read_value()}
        return _check(key, operator, values)

    def _read_value(self) -> str:
        if self.peek() in (_END, ","):
            return ""
        if not self.is_name():
            raise _refuse(self.peek(), ", expected: identifier")
        return self.take()

    def _read_values(self) -> set[str]:
        if self.peek() != "(":
            raise _refuse(self.peek(), " expected: '('")
        self.take()
        if self.peek() == ")":
            self.take()
            return {""}
        if not self.is_name() and self.peek() != ",":
            raise _refuse(self.peek(), ", expected: ',', ')' or identifier")
        found = self._read_list()
        if self.peek() != ")":
            raise _refuse(self.peek(), ", expected: ')'")
        self.take()
        return found

    def _read_list(self) -> set[str]:
        """Return the values between parentheses; a missing one beside a comma is the empty value."""
        found: set[str] = set()
        while True:
            if self.is_name():
                found.add(self.take())
                if self.peek() == ")":
                    return found
                if self.peek() != ",":
                    raise _refuse(self.peek(), ", expected: ',' or ')'")
            elif self.peek() == ",":
                self.take()
                found |= set() if found else {""}
                if self.peek() in (")", ","):
                    found.add("")
                if self.peek() == ")":
                    return found
            else:
                raise _refuse(self.peek(), ", expected: ',', or identifier")


def _check(key: str, operator: Operator, values: set[str]) -> Requirement:
    errors: list[str] = []
    for number, value in enumerate(sorted(values)):
        path = f"values[{number}]"
        if operator in (Operator.GREATER, Operator.LESS) and not _is_integer(value):
            detail = "for 'Gt', 'Lt' operators, the value must be an integer"
            errors.append(f"{path}: Invalid value: {quote(value)}: {detail}")
        if problems := label_value_problems(value):
            errors.append(f"{path}[{key}]: Invalid value: {quote(value)}: {'; '.join(problems)}")
    if errors:
        raise _refuse_values(errors)
    return Requirement(key, operator, frozenset(values))


def _is_integer(text: str) -> bool:
    number = read_signed(text)
    return number is not None and -_INT64 <= number < _INT64


def parse_label_selector(text: str) -> Selector:
    """Return the selector of a query; empty text selects everything.

    - Raises `StatusError` (400) for its first problem.
    """
    reader, found = _Reader(text), []
    while reader.peek() != _END:
        if not reader.is_name() and reader.peek() != "!":
            raise _refuse(reader.peek(), ", expected: !, identifier, or 'end of string'", prefix="")
        found.append(reader.read_requirement())
        if reader.peek() == _END:
            break
        if reader.peek() != ",":
            raise _refuse(reader.peek(), ", expected: ',' or 'end of string'", prefix="")
        reader.take()
        if not reader.is_name() and reader.peek() != "!":
            raise _refuse(reader.peek(), ", expected: identifier after ','", prefix="")
    return Selector(tuple(found))
