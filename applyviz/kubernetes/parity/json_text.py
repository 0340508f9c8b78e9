"""Parse JSON text as the server does: values with the details that only the text has, or Go's error messages.

Rule: sigs.k8s.io/json, a fork of Go's encoding/json. A repeated key keeps all its values (`Repeated`), and a number
with a fraction or an exponent keeps its digits (`Written`), because errors quote them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, Final, NoReturn

from applyviz.engine.objects.golang import json_number, quote
from applyviz.engine.objects.values import JSONObject, JSONValue, MutableObject

MAX_DEPTH: Final = 10_000
_MOST_REPEATED: Final = 100
_INT64: Final = 1 << 63
_SPACE: Final = re.compile(rb"[ \t\r\n]*")
_ESCAPES: Final = b'bfnrt\\/"'
_HEX: Final = frozenset(b"0123456789abcdefABCDEF")
_DIGITS: Final = frozenset(b"0123456789")


class JSONTextError(Exception):
    """The text is not JSON; the message is Go's."""


class Repeated(dict[str, Any]):
    """An object with a repeated key: the last value counts, `pairs` has them all."""

    __slots__ = ("pairs",)

    def __init__(self, pairs: list[tuple[str, Any]]) -> None:
        super().__init__(pairs)
        self.pairs = pairs


class Written(float):
    """A number that is not a plain integer, with its text."""

    __slots__ = ("text",)
    text: str

    def __new__(cls, text: str) -> Written:
        made = super().__new__(cls, text)
        made.text = text
        return made


def list_pairs(value: JSONObject) -> Iterator[tuple[str, Any]]:
    """Yield keys and values in the order of the text, including repeated keys."""
    return iter(value.pairs) if isinstance(value, Repeated) else iter(value.items())


def _hold_pairs(pairs: list[tuple[str, Any]]) -> MutableObject:
    made = dict(pairs)
    return made if len(made) == len(pairs) else Repeated(pairs)


def _refuse_constant(text: str) -> NoReturn:
    raise ValueError(text)


def read_json(text: bytes) -> Any:
    """Return the value of a text.

    - Raises `JSONTextError`, also for too deep nesting.
    """
    try:
        return json.loads(
            text.decode("utf-8", "replace"),
            object_pairs_hook=_hold_pairs,
            parse_float=Written,
            parse_constant=_refuse_constant,
        )
    except (ValueError, RecursionError):
        raise JSONTextError(find_fault(text) or "exceeded max depth") from None


def simplify(value: JSONValue) -> JSONValue:
    """Return the same value as plain JSON values, as untyped Go holds it.

    - Integers beyond 64 bits, and numbers with an exponent, are floats.
    """
    if isinstance(value, dict):
        return {name: simplify(item) for name, item in value.items()}
    if isinstance(value, list):
        return [simplify(item) for item in value]
    if isinstance(value, Written):
        return float(value)
    if type(value) is int and not -_INT64 <= value < _INT64:
        return float(value)
    return value


def normalize_numbers(value: Any) -> Any:
    """Return whole floats as integers, because Go writes 1.0 as 1."""
    if isinstance(value, dict):
        return {name: normalize_numbers(item) for name, item in value.items()}
    if isinstance(value, list):
        return [normalize_numbers(item) for item in value]
    is_whole = isinstance(value, float) and value.is_integer() and abs(value) < _INT64
    return int(value) if is_whole else value


def find_repeated(value: JSONValue) -> list[str]:
    """Return `duplicate field "…"` for each repeated key of untyped JSON, once, and up to a limit."""
    found = dict.fromkeys(f"duplicate field {quote(path)}" for path in find_repeated_paths(value))
    return list(found)[:_MOST_REPEATED]


def find_repeated_paths(value: JSONValue, path: str = "") -> Iterator[str]:
    """Yield the paths of repeated keys, in the order of the text."""
    if isinstance(value, Mapping):
        seen = set()
        for name, item in list_pairs(value):
            at = f"{path}.{name}" if path else name
            if name in seen:
                yield at
            seen.add(name)
            yield from find_repeated_paths(item, at)
    elif isinstance(value, list):
        for number, item in enumerate(value):
            yield from find_repeated_paths(item, f"{path}[{number}]")


def number_text(value: float) -> str:
    """Return a number in its spelling."""
    return value.text if isinstance(value, Written) else json_number(value)


class _FaultError(Exception):
    """The position and the reason of invalid JSON; no byte if the text ends too early."""


def find_fault(text: bytes) -> str:
    """Return why a text is not JSON, in Go's words; empty text if it is."""
    try:
        _Scanner(text).scan()
    except _FaultError as fault:
        return str(fault)
    return ""


def _quote_byte(byte: int) -> str:
    if byte == ord("'"):
        return "'\\''"
    return "'\"'" if byte == ord('"') else f"'{quote(chr(byte))[1:-1]}'"


_VALUE, _VALUE_OR_END, _KEY, _KEY_OR_END, _COLON, _NEXT, _END = range(7)
_IN_STRING: Final = "in string literal"
_CONTEXTS: Final = {
    _VALUE: "looking for beginning of value",
    _VALUE_OR_END: "looking for beginning of value",
    _KEY: "looking for beginning of object key string",
    _KEY_OR_END: "looking for beginning of object key string",
    _COLON: "after object key",
    _END: "after top-level value",
}


class _Scanner:
    """Scans a text token by token; its only state is what may come next."""

    def __init__(self, text: bytes) -> None:
        self.text, self.at, self.expected = text, 0, _VALUE
        self.open: list[bytes] = []

    def scan(self) -> None:
        while True:
            found = _SPACE.match(self.text, self.at)
            self.at = found.end() if found else self.at
            if self.at >= len(self.text):
                if self.expected == _END:
                    return
                raise _FaultError("unexpected end of JSON input")
            self.step(self.text[self.at : self.at + 1])

    def fail(self, context: str) -> _FaultError:
        """Return the error for the byte here; at the end, Go reads a space, which a text may contain."""
        if self.at < len(self.text):
            return _FaultError(f"invalid character {_quote_byte(self.text[self.at])} {context}")
        return _FaultError(
            "unexpected end of JSON input" if context == _IN_STRING else f"invalid character ' ' {context}"
        )

    def step(self, char: bytes) -> None:
        expected = self.expected
        if expected == _NEXT:
            self.go_on(char)
        elif (expected, char) in ((_VALUE_OR_END, b"]"), (_KEY_OR_END, b"}")):
            self.close()
        elif expected in (_KEY, _KEY_OR_END) and char == b'"':
            self.pass_string()
            self.expected = _COLON
        elif expected == _COLON and char == b":":
            self.at, self.expected = self.at + 1, _VALUE
        elif expected in (_VALUE, _VALUE_OR_END):
            self.begin(char)
        else:
            raise self.fail(_CONTEXTS[expected])

    def go_on(self, char: bytes) -> None:
        is_map = self.open[-1] == b"{"
        if char == b",":
            self.at, self.expected = self.at + 1, _KEY if is_map else _VALUE
        elif char == (b"}" if is_map else b"]"):
            self.close()
        else:
            raise self.fail("after object key:value pair" if is_map else "after array element")

    def end_value(self) -> None:
        self.expected = _NEXT if self.open else _END

    def close(self) -> None:
        self.at += 1
        self.open.pop()
        self.end_value()

    def begin(self, char: bytes) -> None:
        if char in (b"{", b"["):
            self.open.append(char)
            if len(self.open) > MAX_DEPTH:
                raise self.fail("exceeded max depth")
            self.at, self.expected = self.at + 1, _KEY_OR_END if char == b"{" else _VALUE_OR_END
            return
        if char == b'"':
            self.pass_string()
        elif char == b"-" or char[0] in _DIGITS:
            self.pass_number()
        elif char in (b"t", b"f", b"n"):
            self.pass_word({b"t": b"true", b"f": b"false", b"n": b"null"}[char])
        else:
            raise self.fail(_CONTEXTS[_VALUE])
        self.end_value()

    def peek(self) -> int:
        return self.text[self.at] if self.at < len(self.text) else -1

    def pass_word(self, word: bytes) -> None:
        for letter in word:
            if self.peek() != letter:
                raise self.fail(f"in literal {word.decode()} (expecting '{chr(letter)}')")
            self.at += 1

    def pass_digits(self, context: str) -> None:
        if self.peek() not in _DIGITS:
            raise self.fail(context)
        while self.peek() in _DIGITS:
            self.at += 1

    def pass_number(self) -> None:
        if self.peek() == ord("-"):
            self.at += 1
        if self.peek() == ord("0"):
            self.at += 1
        else:
            self.pass_digits("in numeric literal")
        if self.peek() == ord("."):
            self.at += 1
            self.pass_digits("after decimal point in numeric literal")
        if self.peek() in (ord("e"), ord("E")):
            self.at += 1
            if self.peek() in (ord("+"), ord("-")):
                self.at += 1
            self.pass_digits("in exponent of numeric literal")

    def pass_string(self) -> None:
        self.at += 1
        while (byte := self.peek()) != ord('"'):
            if byte < 0x20:
                raise self.fail(_IN_STRING)
            self.at += 1
            if byte == ord("\\"):
                self.pass_escape()
        self.at += 1

    def pass_escape(self) -> None:
        byte = self.peek()
        if byte == -1 or (byte not in _ESCAPES and byte != ord("u")):
            raise self.fail("in string escape code")
        self.at += 1
        for _ in range(4 if byte == ord("u") else 0):
            if self.peek() not in _HEX:
                raise self.fail("in \\u hexadecimal character escape")
            self.at += 1
