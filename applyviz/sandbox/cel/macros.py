"""The macros of CEL: `has`, and the macros that bind a variable to each entry of a list or a map.

Rule: https://github.com/google/cel-spec/blob/master/doc/langdef.md#macros, the comprehensions with two variables of
cel-go's `ext`, and `optMap` and `optFlatMap`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from applyviz.sandbox.cel.nodes import Call, Name, Node, Select
from applyviz.sandbox.cel.syntax import NotReadableError
from applyviz.sandbox.cel.values import CelError, NoOverloadError, Optional

Step = Callable[[Any, Any], Any]
Compile = Callable[[Node], Step]


def expand(node: Call, compile_node: Compile) -> Step | None:
    """Return the program of a macro, None if the call is not one."""
    if node.target is None:
        return _compile_has(node, compile_node)
    shape = _MACROS.get((node.function, len(node.arguments)))
    if shape is None:
        return None
    names = [_name(a) for a in node.arguments[: shape.names]]
    if any(name is None for name in names):
        return None
    bodies = [compile_node(a) for a in node.arguments[shape.names :]]
    return shape.make(compile_node(node.target), [str(n) for n in names], bodies)


def count_names(node: Call) -> int:
    """Return how many variables a call binds to the entries of its target, 0 if it is no macro that binds any."""
    shape = _MACROS.get((node.function, len(node.arguments))) if node.target is not None else None
    if shape is None or any(_name(one) is None for one in node.arguments[: shape.names]):
        return 0
    return shape.names


def _name(node: Node) -> str | None:
    return node.name if isinstance(node, Name) else None


def _compile_has(node: Call, compile_node: Compile) -> Step | None:
    if node.function != "has" or len(node.arguments) != 1:
        return None
    if not isinstance(node.arguments[0], Select):
        raise NotReadableError("invalid argument to has() macro")
    read, field = compile_node(node.arguments[0].operand), node.arguments[0].field

    def run(scope: Any, meter: Any) -> bool:
        meter.spend()
        operand = read(scope, meter)
        if isinstance(operand, Optional):
            operand = operand.value if operand.has_value else {}
        if not isinstance(operand, dict):
            raise NoOverloadError
        return field in operand

    return run


def _entries(operand: Any, count: int) -> Iterator[tuple[Any, ...]]:
    """Yield the values of the variables, entry by entry: map keys or list values; with two variables, both."""
    if isinstance(operand, dict):
        yield from operand.items() if count == 2 else ((key,) for key in operand)
    elif isinstance(operand, list):
        yield from enumerate(operand) if count == 2 else ((value,) for value in operand)
    else:
        raise NoOverloadError


def _scopes(read: Step, names: list[str], scope: Any, meter: Any) -> Iterator[tuple[dict[str, Any], tuple[Any, ...]]]:
    for entry in _entries(read(scope, meter), len(names)):
        meter.spend(2)
        yield {**scope, **dict(zip(names, entry, strict=True))}, entry


def _test(step: Step, scope: Any, meter: Any) -> bool:
    value = step(scope, meter)
    if not isinstance(value, bool):
        raise NoOverloadError
    return value


def _make_all(read: Step, names: list[str], bodies: list[Step]) -> Step:
    return _make_quantifier(read, names, bodies[0], deciding=False)


def _make_exists(read: Step, names: list[str], bodies: list[Step]) -> Step:
    return _make_quantifier(read, names, bodies[0], deciding=True)


def _make_quantifier(read: Step, names: list[str], body: Step, *, deciding: bool) -> Step:
    """Return the step of `exists` or `all`: one entry may decide it, even if others are errors."""

    def run(scope: Any, meter: Any) -> bool:
        problem: CelError | None = None
        for inner, _ in _scopes(read, names, scope, meter):
            try:
                if _test(body, inner, meter) is deciding:
                    return deciding
            except CelError as error:
                if meter.left < 0:
                    raise
                problem = problem or error
        if problem is not None:
            raise problem
        return not deciding

    return run


def _make_exists_one(read: Step, names: list[str], bodies: list[Step]) -> Step:
    return lambda scope, meter: sum(_test(bodies[0], s, meter) for s, _ in _scopes(read, names, scope, meter)) == 1


def _make_map(read: Step, names: list[str], bodies: list[Step]) -> Step:
    """Return the step of `map(x, value)` or `map(x, test, value)`."""

    def run(scope: Any, meter: Any) -> list[Any]:
        chosen = (s for s, _ in _scopes(read, names, scope, meter) if len(bodies) == 1 or _test(bodies[0], s, meter))
        return [bodies[-1](s, meter) for s in chosen]

    return run


def _make_filter(read: Step, names: list[str], bodies: list[Step]) -> Step:
    return lambda scope, meter: [e[0] for s, e in _scopes(read, names, scope, meter) if _test(bodies[0], s, meter)]


def _make_transform_map(read: Step, names: list[str], bodies: list[Step]) -> Step:
    """Compile `transformMap(k, v, value)` or `transformMap(k, v, condition, value)`."""

    def run(scope: Any, meter: Any) -> dict[Any, Any]:
        found = {}
        for inner, entry in _scopes(read, names, scope, meter):
            if len(bodies) == 1 or _test(bodies[0], inner, meter):
                found[entry[0]] = bodies[-1](inner, meter)
        return found

    return run


def _make_transform_entry(read: Step, names: list[str], bodies: list[Step]) -> Step:
    """Return the step of `transformMapEntry(k, v, {key: value})`: each entry produces a map."""

    def run(scope: Any, meter: Any) -> dict[Any, Any]:
        found: dict[Any, Any] = {}
        for inner, _ in _scopes(read, names, scope, meter):
            if len(bodies) == 1 or _test(bodies[0], inner, meter):
                made = bodies[-1](inner, meter)
                if repeated := [k for k in made if k in found]:
                    raise CelError(f"insert failed: key {repeated[0]} already exists")
                found |= made
        return found

    return run


def _make_optional_map(read: Step, names: list[str], bodies: list[Step]) -> Step:
    def run(scope: Any, meter: Any) -> Optional:
        operand = read(scope, meter)
        if not isinstance(operand, Optional):
            raise NoOverloadError
        return Optional(bodies[0]({**scope, names[0]: operand.value}, meter), True) if operand.has_value else operand

    return run


def _make_optional_flat_map(read: Step, names: list[str], bodies: list[Step]) -> Step:
    mapped = _make_optional_map(read, names, bodies)

    def run(scope: Any, meter: Any) -> Any:
        found = mapped(scope, meter)
        return found.value if found.has_value else found

    return run


class _Shape:
    """The number of variables that a macro binds before its body, and its factory."""

    def __init__(self, names: int, make: Callable[[Step, list[str], list[Step]], Step]) -> None:
        self.names, self.make = names, make


_MACROS: Final[Mapping[tuple[str, int], _Shape]] = {
    ("all", 2): _Shape(1, _make_all),
    ("exists", 2): _Shape(1, _make_exists),
    ("exists_one", 2): _Shape(1, _make_exists_one),
    ("existsOne", 2): _Shape(1, _make_exists_one),
    ("map", 2): _Shape(1, _make_map),
    ("map", 3): _Shape(1, _make_map),
    ("filter", 2): _Shape(1, _make_filter),
    ("all", 3): _Shape(2, _make_all),
    ("exists", 3): _Shape(2, _make_exists),
    ("existsOne", 3): _Shape(2, _make_exists_one),
    ("exists_one", 3): _Shape(2, _make_exists_one),
    ("transformList", 3): _Shape(2, _make_map),
    ("transformList", 4): _Shape(2, _make_map),
    ("transformMap", 3): _Shape(2, _make_transform_map),
    ("transformMap", 4): _Shape(2, _make_transform_map),
    ("transformMapEntry", 3): _Shape(2, _make_transform_entry),
    ("transformMapEntry", 4): _Shape(2, _make_transform_entry),
    ("optMap", 2): _Shape(1, _make_optional_map),
    ("optFlatMap", 2): _Shape(1, _make_optional_flat_map),
}
