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
from applyviz.sandbox.cel.pointing import point_at_all
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
# What begins a token: it is left out with the sign at which it stops being one.
_BEGUN: Final = re.compile(r"""[=&|].?|"(?:\\.|[^\\"\n\r])*.?|'(?:\\.|[^\\'\n\r])*.?|`[a-zA-Z0-9_.\-/ ]*.?""", re.S)
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
_BEGINNINGS: Final = ("[", "{", "(", ".", "-", "!")
_END: Final = (("end", "<EOF>"),)
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
    "{'[', '{', '(', '.', '-', '!', 'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES, IDENTIFIER}"
)
_ARGUMENTS: Final = _OPERANDS.replace("'(', ", "'(', ')', ")
_KEYS: Final = _OPERANDS.replace("'!', ", "'!', '?', ")


def parse(text: str) -> Node:
    """Parse an expression.

    - Raises `NotReadableError` if the text is not an expression, or is deeper than the server accepts.
    """
    tokens, problems = _split(text)
    found: Node | None = None
    try:
        found = _ExpressionParser(tokens, problems).read()
    except MisreadError as error:
        problems.append((error.at, str(error)))
    except RecursionError:
        raise NotReadableError(TOO_DEEP) from None
    if problems or found is None:
        raise NotReadableError(point_at_all(text, problems))
    if find_depth(found) > _DEPTH:
        raise NotReadableError(_TOO_LONG)
    return found


def _split(text: str) -> tuple[list[tuple[str, str, int]], list[tuple[int, str]]]:
    """Return the tokens of a text, and where it has none; the lexer leaves that out and goes on."""
    tokens, problems, at = [], [], 0
    while at < len(text):
        found = _TOKEN.match(text, at)
        if found is None:
            begun = _BEGUN.match(text, at)
            unread = begun.group() if begun is not None else text[at]
            problems.append((at, f"Syntax error: token recognition error at: '{unread}'"))
            at += len(unread)
            continue
        if found.lastgroup != "space":
            tokens.append((found.lastgroup or "", found.group(), at))
        at = found.end()
    return [*tokens, ("end", "<EOF>", at)], problems


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

    def __init__(self, tokens: list[tuple[str, str, int]], problems: list[tuple[int, str]]) -> None:
        self._tokens, self._problems, self._at, self._depth = tokens, problems, 0, 0
        # What is expected where more than an operand may stand.
        self._expected: dict[int, str] = {}

    def read(self) -> Node:
        found = self._expression()
        if self._kind != "end" and not self._leave_out("<EOF>", is_left_out=self._following in _END):
            raise self._mismatch("<EOF>")
        return found

    @property
    def _kind(self) -> str:
        return self._tokens[self._at][0]

    @property
    def _last(self) -> int:
        """Where the token begins that was consumed last."""
        return self._tokens[self._at - 1][2]

    @property
    def _following(self) -> tuple[str, str]:
        """Kind and text of the token behind the next one."""
        kind, text, _ = self._tokens[min(self._at + 1, len(self._tokens) - 1)]
        return kind, text

    def _mismatch(self, expected: str) -> MisreadError:
        _, text, at = self._tokens[self._at]
        return MisreadError(f"Syntax error: mismatched input '{text}' expecting {expected}", at)

    def _leave_out(self, expected: str, *, is_left_out: bool) -> bool:
        """Skip the next token and go on if what is expected follows it, as the server does."""
        _, text, at = self._tokens[self._at]
        if is_left_out and self._kind != "end":
            self._problems.append((at, f"Syntax error: extraneous input '{text}' expecting {expected}"))
            self._at += 1
            return True
        return False

    def _take(self, *signs: str) -> str:
        """Consume and return the next token if it is one of these, else return "" and consume nothing."""
        kind, text, _ = self._tokens[self._at]
        if kind == "sign" and text in signs:
            self._at += 1
            return text
        return ""

    def _need(self, sign: str, expected: str = "") -> None:
        """Consume a sign, which one of several may stand for; a closing one may be missing at the end."""
        if self._take(sign):
            return
        kind, text, at = self._tokens[self._at]
        if self._leave_out(expected or f"'{sign}'", is_left_out=self._following == ("sign", sign)):
            self._at += 1
        elif not expected and (sign in ")]" if kind == "end" else self._can_begin(kind, text)):
            self._problems.append((at, f"Syntax error: missing '{sign}' at '{text}'"))
        else:
            raise self._mismatch(expected or f"'{sign}'")

    @staticmethod
    def _can_begin(kind: str, text: str) -> bool:
        """Return whether a token begins an operand."""
        return text in _BEGINNINGS if kind == "sign" else kind != "end" and text != "in"

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
            raise NotReadableError(f"Syntax error: mismatched input '{self._tokens[self._at][1]}'")
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
                self._expected[self._at] = _KEYS
                found = Index(found, self._expression(), is_optional, at)
                self._need("]")
                continue
            name = self._identifier()
            if not is_optional and self._take("("):
                found = Call(name, at=self._last, arguments=self._arguments(), target=found)
            else:
                found = Select(found, name, is_optional, at)
        return found

    def _identifier(self) -> str:
        kind, text, at = self._tokens[self._at]
        if kind != "name":
            raise MisreadError(f"Syntax error: no viable alternative at input '.{text if kind != 'end' else ''}'", at)
        self._at += 1
        return text.strip("`")

    def _arguments(self) -> tuple[Node, ...]:
        found: list[Node] = []
        self._expected[self._at] = _ARGUMENTS
        while not self._take(")"):
            found.append(self._expression())
            if not self._take(","):
                self._need(")")
                break
        return tuple(found)

    def _primary(self) -> Node:
        expected = self._expected.get(self._at, _OPERANDS)
        is_operand = self._can_begin(*self._tokens[self._at][:2])
        if not is_operand and not self._leave_out(expected, is_left_out=self._can_begin(*self._following)):
            raise self._mismatch(expected)
        kind, text, at = self._tokens[self._at]
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
            self._problems.append((at, f"reserved identifier: {name}"))
        if not self._take("("):
            return Name(name, at)
        return Call(name, at=self._last, arguments=self._arguments())

    def _list(self) -> ListOf:
        found: list[tuple[Node, bool]] = []
        at = self._last
        if self._take(","):
            self._need("]")
            return ListOf((), at)
        while not self._take("]"):
            is_optional = bool(self._take("?"))
            found.append((self._expression(), is_optional))
            if not self._take(","):
                self._need("]", "{']', ','}")
                break
        return ListOf(tuple(found), at)

    def _map(self) -> MapOf:
        found: list[tuple[Node, Node, bool]] = []
        at = self._last
        if self._take(","):
            self._need("}")
            return MapOf((), at)
        while not self._take("}"):
            is_optional = bool(self._take("?"))
            key = self._expression()
            self._need(":")
            found.append((key, self._expression(), is_optional))
            if not self._take(","):
                self._need("}", "{'}', ','}")
                break
        return MapOf(tuple(found), at)
