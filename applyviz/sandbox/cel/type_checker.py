"""Check the types of an expression before it is evaluated, and refuse it in the words of the server.

Rule: `checker/checker.go` and `common/error.go` of cel-go v0.26.0. The result of a function that `static_types` does
not declare has the type of an earlier error, so that it causes no other problem.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from msgspec import Struct

from applyviz.sandbox.cel.functions import FUNCTIONS, TYPES
from applyviz.sandbox.cel.literals import check_literals
from applyviz.sandbox.cel.macros import count_names
from applyviz.sandbox.cel.nodes import Call, Index, ListOf, Literal, MapOf, Name, Node, Select, list_chain
from applyviz.sandbox.cel.pointing import point_at_all
from applyviz.sandbox.cel.static_types import (
    BOOL,
    DOUBLE,
    DYN,
    ERROR,
    INT,
    NULL,
    STRING,
    Signature,
    StaticType,
    is_any,
    is_assignable,
    list_of,
    map_of,
    optional_of,
    signatures,
    substitute,
)
from applyviz.sandbox.cel.syntax import TOO_DEEP, NotReadableError, parse
from applyviz.sandbox.cel.values import UInt

Variables = Mapping[str, StaticType]
_SIGNS: Final = ("==", "!=", "<", "<=", ">", ">=", "+", "-", "*", "/", "%")
_SHOWN: Final = {"in": "@in", "[]": "_[_]", "?:": "_?_:_", "!_": "!_", "-_": "-_"} | {s: f"_{s}_" for s in _SIGNS}
_LITERALS: Final[Mapping[type, StaticType]] = {
    bool: BOOL, str: STRING, int: INT, UInt: StaticType("uint"), float: DOUBLE, bytes: StaticType("bytes"),
    type(None): NULL,
}  # fmt: skip
_TESTS: Final = ("all", "exists")


class ExpressionProblem(Struct, frozen=True):
    """A problem with the types of an expression, and its position in the text."""

    at: int
    text: str


def render_problems(expression: str, problems: Sequence[ExpressionProblem]) -> str:
    """Return the problems as a server prints them, each with the line that it is in."""
    return point_at_all(expression, [(one.at, one.text) for one in problems])


def check_types(node: Node, variables: Variables) -> tuple[StaticType, list[ExpressionProblem]]:
    """Return the type of an expression and the problems of its types."""
    checker = _TypeChecker()
    found = checker.check(node, variables)
    literals = () if checker.problems else check_literals(node, checker.kinds)
    return found, [*checker.problems, *(ExpressionProblem(at, text) for at, text in literals)]


def check_expression(text: str, variables: Variables) -> tuple[StaticType, str]:
    """Return the type of an expression, and the reason why a server does not compile it; "" if it does."""
    try:
        found, problems = check_types(parse(text), variables)
    except NotReadableError as error:
        return ERROR, f"compilation failed: {error}"
    except RecursionError:
        return ERROR, f"compilation failed: {TOO_DEEP}"
    return (ERROR, f"compilation failed: {render_problems(text, problems)}") if problems else (found, "")


def find_kinds(node: Node, variables: Variables) -> Mapping[int, StaticType]:
    """Return the types of all parts of an expression, by the identity of their nodes."""
    checker = _TypeChecker()
    checker.check(node, variables)
    return checker.kinds


class _TypeChecker:
    """Walks an expression from its operands to its operators and gathers the problems."""

    def __init__(self) -> None:
        self.problems: list[ExpressionProblem] = []
        self.kinds: dict[int, StaticType] = {}

    def check(self, node: Node, scope: Variables) -> StaticType:
        for one in reversed(list_chain(node)):
            if id(one) not in self.kinds:
                self.kinds[id(one)] = self._check(one, scope)
        return self.kinds[id(node)]

    def _check(self, node: Node, scope: Variables) -> StaticType:
        match node:
            case Literal(value):
                return _LITERALS.get(type(value), DYN)
            case Name(name, at):
                return self._check_name(name, at, scope)
            case Select() if (named := _qualify(node)) in scope:
                return scope[named]
            case Select(operand, field, is_optional, at):
                found = self._select(self.check(operand, scope), field, at)
                return optional_of(found) if is_optional and found.name != "optional_type" else found
            case Index(operand, index, is_optional, at):
                found = self._resolve("[]", [self.check(operand, scope), self.check(index, scope)], at)
                return optional_of(found) if is_optional and found.name != "optional_type" else found
            case ListOf(entries):
                return list_of(_join([self._check_entry(one, scope, is_optional=opt) for one, opt in entries]))
            case MapOf(pairs):
                keys = [self.check(key, scope) for key, _, _ in pairs]
                values = [self._check_entry(value, scope, is_optional=opt) for _, value, opt in pairs]
                return map_of(_join(keys), _join(values))
            case Call():
                return self._check_call(node, scope)

    def _check_entry(self, node: Node, scope: Variables, *, is_optional: bool) -> StaticType:
        """Return the type of an entry of a list or a map; an optional one may be left out."""
        found = self.check(node, scope)
        if not is_optional or is_any(found):
            return found
        if found.name == "optional_type":
            return found.parameters[0]
        self._report(node.at, f"expected type '{optional_of(found)}' but found '{found}'")
        return found

    def _report(self, at: int, text: str) -> StaticType:
        self.problems.append(ExpressionProblem(at, text))
        return ERROR

    def _check_name(self, name: str, at: int, scope: Variables) -> StaticType:
        if name in scope:
            return scope[name]
        if name in TYPES:
            return StaticType("type", (StaticType(name),))
        return self._report(at, f"undeclared reference to '{name}' (in container '')")

    def _select(self, operand: StaticType, field: str, at: int) -> StaticType:
        if operand.name == "optional_type":
            return optional_of(self._select(operand.parameters[0], field, at))
        if operand.name == "map":
            return operand.parameters[1]
        if operand.fields is not None:
            found = operand.fields.get(field)
            return found if found is not None else self._report(at, f"undefined field '{field}'")
        if not is_any(operand):
            self._report(at, f"type '{operand}' does not support field selection")
        return DYN

    def _check_call(self, node: Call, scope: Variables) -> StaticType:
        if node.target is None and node.function == "has":
            inner = node.arguments[0] if node.arguments else node
            if isinstance(inner, Select):
                self._select(self.check(inner.operand, scope), inner.field, node.at)
            return BOOL
        if node.target is None and node.function in ("&&", "||"):
            return self._check_logic(node.arguments, scope)
        names = count_names(node)
        if names and node.target is not None:
            return self._check_macro(node, node.target, names, scope)
        return self._check_function(node, scope)

    def _check_logic(self, sides: Sequence[Node], scope: Variables) -> StaticType:
        found = BOOL
        for side, kind in [(side, self.check(side, scope)) for side in sides]:
            if not is_assignable(BOOL, kind, {}):
                found = self._report(side.at, f"expected type 'bool' but found '{kind}'")
        return found

    def _check_function(self, node: Call, scope: Variables) -> StaticType:
        qualified = f"{_qualify(node.target)}.{node.function}" if node.target is not None else ""
        arguments = [self.check(one, scope) for one in node.arguments]
        if qualified in FUNCTIONS:
            return self._resolve(qualified, arguments, node.at)
        if node.target is not None:
            arguments.insert(0, self.check(node.target, scope))
        if node.function not in FUNCTIONS and node.function not in signatures():
            return self._report(node.at, f"undeclared reference to '{node.function}' (in container '')")
        return self._resolve(node.function, arguments, node.at, is_member=node.target is not None)

    def _resolve(self, name: str, arguments: Sequence[StaticType], at: int, *, is_member: bool = False) -> StaticType:
        overloads = signatures().get(name)
        if overloads is None:
            return ERROR
        found = [_match(one, arguments) for one in overloads if one.is_member is is_member]
        results = [one for one in found if one is not None]
        if results:
            return results[0] if all(one == results[0] for one in results) else DYN
        inside = ", ".join(map(str, arguments[1:] if is_member else arguments))
        shown = f"{arguments[0]}.({inside})" if is_member else f"({inside})"
        return self._report(at, f"found no matching overload for '{_SHOWN.get(name, name)}' applied to '{shown}'")

    def _check_macro(self, node: Call, target: Node, names: int, scope: Variables) -> StaticType:
        bound = [one.name for one in node.arguments[:names] if isinstance(one, Name)]
        operand = self.check(target, scope)
        if node.function in ("optMap", "optFlatMap"):
            inner = operand.parameters[0] if operand.name == "optional_type" else DYN
            found = self.check(node.arguments[-1], {**scope, bound[0]: inner})
            return optional_of(found) if node.function == "optMap" else found
        kinds = self._find_entries(target, operand, names)
        inside = {**scope, **dict(zip(bound, kinds, strict=True))}
        bodies = [(one, self.check(one, inside)) for one in node.arguments[names:]]
        if node.function in _TESTS:
            for body, kind in bodies:
                if not is_assignable(BOOL, kind, {}):
                    self._report(body.at, f"expected type 'bool' but found '{kind}'")
            return BOOL
        return self._find_result(node, operand, [kind for _, kind in bodies])

    def _find_entries(self, target: Node, operand: StaticType, names: int) -> list[StaticType]:
        """Return the types of the variables that a macro binds to each entry."""
        if operand.name == "list":
            return [INT, operand.parameters[0]][-names:]
        if operand.name == "map":
            return list(operand.parameters[:names])
        if not is_any(operand):
            words = "cannot be range of a comprehension (must be list, map, or dynamic)"
            self._report(target.at, f"expression of type '{operand}' {words}")
            return [ERROR] * names
        return [DYN] * names

    def _find_result(self, node: Call, operand: StaticType, kinds: Sequence[StaticType]) -> StaticType:
        if node.function in ("exists_one", "existsOne"):
            self._resolve("?:", [kinds[0], INT, INT], node.at)
            return BOOL
        if node.function == "filter":
            item = list_of(operand.parameters[0] if operand.parameters else DYN)
            return self._resolve("?:", [kinds[0], item, item], node.at)
        if node.function == "map":
            made = list_of(kinds[-1])
            return made if len(kinds) == 1 else self._resolve("?:", [kinds[0], made, made], node.at)
        return ERROR


def _join(kinds: Sequence[StaticType]) -> StaticType:
    """Return the most general type of the entries of a list or a map, any if there is none.

    Rule: `checker/checker.go` of cel-go.
    """
    found = kinds[0] if kinds else DYN
    for kind in kinds[1:]:
        if not is_assignable(found, kind, {}):
            return DYN
        found = found if _is_more_general(found, kind) else kind
    return found


def _is_more_general(one: StaticType, other: StaticType) -> bool:
    if is_any(one):
        return True
    if one.name != other.name or len(one.parameters) != len(other.parameters):
        return False
    return all(_is_more_general(a, b) for a, b in zip(one.parameters, other.parameters, strict=True))


def _match(overload: Signature, arguments: Sequence[StaticType]) -> StaticType | None:
    bound: dict[str, StaticType] = {}
    if len(overload.arguments) != len(arguments):
        return None
    pairs = zip(overload.arguments, arguments, strict=True)
    if not all(is_assignable(wanted, found, bound) for wanted, found in pairs):
        return None
    return substitute(overload.result, bound)


def _qualify(node: Node) -> str:
    if isinstance(node, Name):
        return node.name
    if isinstance(node, Select) and (head := _qualify(node.operand)):
        return f"{head}.{node.field}"
    return ""
