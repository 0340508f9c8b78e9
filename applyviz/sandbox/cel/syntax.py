"""Parse the text of an expression to its tree.

Rule: the grammar of https://github.com/google/cel-spec/blob/master/doc/langdef.md#syntax, with optional fields
(`a.?b`, `a[?b]`, `[?a]`, `{?a: b}`) as cel-go reads them.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from applyviz.engine.objects.golang import read_digits
from applyviz.sandbox.cel.nodes import Call, Index, ListOf, Literal, MapOf, Name, Node, Select, find_depth
from applyviz.sandbox.cel.pointing import point_at
from applyviz.sandbox.cel.values import INT64, CelError, UInt

_TOKEN: Final = re.compile(
    r"""(?P<space>[\t\n\f\r ]+|//[^\n]*)
    |(?P<float>[0-9]+\.[0-9]+(?:[eE][+-]?[0-9]+)?|[0-9]+[eE][+-]?[0-9]+|\.[0-9]+(?:[eE][+-]?[0-9]+)?)
    |(?P<int>0x[0-9a-fA-F]+[uU]?|[0-9]+[uU]?)
    |(?P<text>(?:[rR][bB]?|[bB][rR]?)?(?:\"{3}(?:\\.|[^\\])*?\"{3}|'{3}(?:\\.|[^\\])*?'{3}))
    |(?P<raw>(?:[rR][bB]?|[bB][rR])(?:"[^"\n\r]*"|'[^'\n\r]*'))
    |(?P<line>[bB]?(?:"(?:\\.|[^\\"\n\r])*"|'(?:\\.|[^\\'\n\r])*'))
    |(?P<name>[A-Za-z_][A-Za-z0-9_]*|`[a-zA-Z0-9_.\-/ ]+`)
    |(?P<sign>&&|\|\||[<>=!]=|[-+*/%<>!?:.,()\[\]{}])""",
    re.X | re.S,
)
_ESCAPE: Final = re.compile(
    r"\\(?:x([0-9a-fA-F]{2})|X([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|([0-3][0-7]{2})|(.))", re.S
)
_PLAIN: Final = dict(zip("abfnrtv", "\a\b\f\n\r\t\v", strict=True)) | {sign: sign for sign in "\\?\"'`"}
RESERVED: Final = frozenset({
    "as", "break", "const", "continue", "else", "for", "function", "if", "import", "let", "loop", "package",
    "namespace", "return", "var", "void", "while",
})  # fmt: skip
_LEVELS = (("||",), ("&&",), ("<", "<=", ">", ">=", "==", "!=", "in"), ("+", "-"), ("*", "/", "%"))
_BINARY: Final = {sign: level for level, signs in enumerate(_LEVELS, 1) for sign in signs}
_LOGIC = ("&&", "||")
_DEPTH = 250
TOO_DEEP: Final = f"ERROR: <input>:-1:0: expression recursion limit exceeded: {_DEPTH}"
_TOO_LONG: Final = "ERROR: <input>:-1:0: max recursion depth exceeded"


class NotReadableError(CelError):
    """The text is not an expression."""


class MisreadError(CelError):
    """The text is not an expression, in the words of the server, and where."""

    def __init__(self, text: str, at: int) -> None:
        super().__init__(text)
        self.at = at


_OPERANDS: Final = (
    "expecting {'[', '{', '(', '.', '-', '!', 'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES, "
    "IDENTIFIER}"
)


def parse(text: str) -> Node:
    """Parse an expression.

    - Raises `NotReadableError` if the text is not an expression, or is deeper than the server accepts.
    """
    parser = _ExpressionParser(_split(text))
    try:
        found = parser.read()
    except MisreadError as error:
        raise NotReadableError(point_at(text, error.at, str(error))) from None
    except RecursionError:
        raise NotReadableError(TOO_DEEP) from None
    if find_depth(found) > _DEPTH:
        raise NotReadableError(_TOO_LONG)
    return found


def _split(text: str) -> list[tuple[str, str, int]]:
    tokens, at = [], 0
    while at < len(text):
        found = _TOKEN.match(text, at)
        if found is None:
            raise NotReadableError(f"Syntax error: token recognition error at: {text[at : at + 1]!r}")
        if found.lastgroup != "space":
            tokens.append((found.lastgroup or "", found.group(), at))
        at = found.end()
    return [*tokens, ("end", "<EOF>", at)]


def _unescape(text: str) -> str:
    def replace(found: re.Match[str]) -> str:
        digits = next((g for g in found.groups()[:4] if g), None)
        if digits or found.group(5):
            return chr(int(digits, 16) if digits else int(found.group(5), 8))
        if found.group(6) not in _PLAIN:
            raise NotReadableError(f"unable to unescape string: {found.group()}")
        return _PLAIN[found.group(6)]

    return _ESCAPE.sub(replace, text)


def _read_text(token: str) -> str | bytes:
    prefix = token[: min(i for i in (token.find('"'), token.find("'")) if i >= 0)].lower()
    body = token[len(prefix) :]
    width = 3 if body[:3] in ('"""', "'''") and len(body) >= 6 else 1
    body = body[width:-width]
    if "b" not in prefix:
        return body if "r" in prefix else _unescape(body)
    if "r" in prefix:
        return body.encode()
    found = bytearray()
    for piece in re.findall(r"\\(?:[xX][0-9a-fA-F]{2}|[0-3][0-7]{2})|\\.|[^\\]+", body, re.S):
        is_byte = piece[0] == "\\" and len(piece) == 4 and piece[1] not in "uU"
        found += bytes([ord(_unescape(piece))]) if is_byte else _unescape(piece).encode()
    return bytes(found)


def _read_int(token: str, is_negative: bool = False) -> int:
    digits = token.rstrip("uU")
    value = int(digits, 16) if digits.lower().startswith("0x") else read_digits(digits)
    if digits != token:
        if value is None or value >= INT64 * 2:
            raise NotReadableError("invalid uint literal")
        return UInt(value)
    if value is None or value > INT64 - (not is_negative):
        raise NotReadableError("invalid int literal")
    return -value if is_negative else value


def _balance(sign: str, sides: Sequence[Node], signs: Sequence[int]) -> Node:
    """Return the tree of a condition, as flat as that of the server, which allows any number of operands."""
    if not signs:
        return sides[0]
    middle = len(signs) // 2
    before = _balance(sign, sides[: middle + 1], signs[:middle])
    return Call(sign, (before, _balance(sign, sides[middle + 1 :], signs[middle + 1 :])), at=signs[middle])


class _ExpressionParser:
    """Descends through the levels of the grammar; operators of one level are read in a loop."""

    def __init__(self, tokens: list[tuple[str, str, int]]) -> None:
        self._tokens, self._at, self._depth = tokens, 0, 0

    def read(self) -> Node:
        found = self._expression()
        if self._kind != "end":
            raise self._problem()
        return found

    @property
    def _kind(self) -> str:
        return self._tokens[self._at][0]

    @property
    def _last(self) -> int:
        """Where the token begins that was consumed last."""
        return self._tokens[self._at - 1][2]

    def _problem(self) -> NotReadableError:
        return NotReadableError(f"Syntax error: mismatched input '{self._tokens[self._at][1]}'")

    def _take(self, *signs: str) -> str:
        """Consume and return the next token if it is one of these, else return "" and consume nothing."""
        kind, text, _ = self._tokens[self._at]
        if kind == "sign" and text in signs:
            self._at += 1
            return text
        return ""

    def _need(self, sign: str) -> None:
        if self._kind == "end" and sign == ")":
            raise MisreadError(f"Syntax error: missing '{sign}' at '<EOF>'", self._tokens[self._at][2])
        if not self._take(sign):
            raise self._problem()

    def _expression(self) -> Node:
        self._depth += 1
        if self._depth > _DEPTH:
            raise NotReadableError(TOO_DEEP)
        found = self._binary(1)
        if self._take("?"):
            at = self._last
            chosen = self._binary(1)
            self._need(":")
            found = Call("?:", (found, chosen, self._expression()), at=at)
        self._depth -= 1
        return found

    def _binary(self, level: int) -> Node:
        left = self._unary()
        while True:
            kind, sign, at = self._tokens[self._at]
            strength = _BINARY.get(sign, 0) if kind == "sign" or sign == "in" else 0
            if strength < level or (kind not in ("sign", "name")):
                return left
            if sign in _LOGIC:
                left = self._logic(sign, left, strength)
                continue
            self._at += 1
            left = Call(sign, (left, self._binary(strength + 1)), at=at)

    def _logic(self, sign: str, first: Node, level: int) -> Node:
        sides, signs = [first], []
        while self._take(sign):
            signs.append(self._last)
            sides.append(self._binary(level + 1))
        return _balance(sign, sides, signs)

    def _unary(self) -> Node:
        signs, first = [], self._tokens[self._at][2]
        while sign := self._take("!", "-"):
            signs.append(sign)
        if len(set(signs)) > 1:
            raise self._problem()
        kind, text, _ = self._tokens[self._at]
        if signs and signs[-1] == "-" and kind in ("int", "float"):
            self._at += 1
            signs.pop()
            value = _read_int(text, is_negative=True) if kind == "int" else -float(text)
            found = self._members(Literal(value, first))
        else:
            found = self._members(self._primary())
        # Two signs cancel each other, whatever the type, as in `VisitLogicalNot` of the parser of cel-go.
        return Call(f"{signs[0]}_", (found,), at=first) if len(signs) % 2 else found

    def _members(self, found: Node) -> Node:
        while sign := self._take(".", "["):
            at, is_optional = self._last, bool(self._take("?"))
            if sign == "[":
                found = Index(found, self._expression(), is_optional, at)
                self._need("]")
                continue
            name = self._identifier()
            if not is_optional and self._take("("):
                found = Call(name, at=self._last, arguments=self._arguments(")"), target=found)
            else:
                found = Select(found, name, is_optional, at)
        return found

    def _identifier(self) -> str:
        kind, text, at = self._tokens[self._at]
        if kind == "end":
            raise MisreadError("Syntax error: no viable alternative at input '.'", at)
        if kind != "name":
            raise self._problem()
        self._at += 1
        return text.strip("`")

    def _arguments(self, end: str) -> tuple[Node, ...]:
        found: list[Node] = []
        while not self._take(end):
            found.append(self._expression())
            if not self._take(","):
                self._need(end)
                break
        return tuple(found)

    def _primary(self) -> Node:
        kind, text, at = self._tokens[self._at]
        if kind == "end":
            raise MisreadError(f"Syntax error: mismatched input '<EOF>' {_OPERANDS}", at)
        if kind in ("int", "float", "text", "raw", "line"):
            self._at += 1
            if kind in ("int", "float"):
                return Literal(_read_int(text) if kind == "int" else float(text), at)
            return Literal(_read_text(text), at)
        if self._take("("):
            found = self._expression()
            self._need(")")
            return found
        if self._take("["):
            return self._list()
        if self._take("{"):
            return self._map()
        self._take(".")
        return self._named()

    def _named(self) -> Node:
        name = self._identifier()
        at = self._last
        if name in ("true", "false", "null"):
            return Literal({"true": True, "false": False, "null": None}[name], at)
        if name in RESERVED or name == "in":
            raise MisreadError(f"reserved identifier: {name}", at)
        if not self._take("("):
            return Name(name, at)
        return Call(name, at=self._last, arguments=self._arguments(")"))

    def _list(self) -> ListOf:
        found: list[tuple[Node, bool]] = []
        at = self._last
        while not self._take("]"):
            is_optional = bool(self._take("?"))
            found.append((self._expression(), is_optional))
            if not self._take(","):
                self._need("]")
                break
        return ListOf(tuple(found), at)

    def _map(self) -> MapOf:
        found: list[tuple[Node, Node, bool]] = []
        at = self._last
        while not self._take("}"):
            is_optional = bool(self._take("?"))
            key = self._expression()
            self._need(":")
            found.append((key, self._expression(), is_optional))
            if not self._take(","):
                self._need("}")
                break
        return MapOf(tuple(found), at)
