"""Records are structs (decision 0077); a dataclass needs a reason, and `field` comes from the library of its class."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping

import pytest

from tests.architecture import tracked

# What a struct cannot: leave a field out of its text, its equality or its constructor, or demand its name.
REASONS = frozenset({"repr", "compare", "hash", "init", "kw_only"})


def list_problems(tree: ast.Module) -> Iterator[str]:
    """Yield what is wrong with the records of a module."""
    modules = {
        alias.name: node.module
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and node.module in ("dataclasses", "msgspec")
        for alias in node.names
    }
    for found in (node for node in ast.walk(tree) if isinstance(node, ast.ClassDef)):
        calls = [one.value for one in found.body if isinstance(one, ast.AnnAssign) and isinstance(one.value, ast.Call)]
        fields = [call for call in calls if ast.unparse(call.func).rpartition(".")[2] == "field"]
        decorator = next((one for one in found.decorator_list if "dataclass" in ast.unparse(one)), None)
        if decorator is not None:
            yield from _check_dataclass(found.name, decorator, fields)
        yield from _check_fields(found.name, "msgspec" if decorator is None else "dataclasses", fields, modules)


def _check_dataclass(name: str, decorator: ast.expr, fields: list[ast.Call]) -> Iterator[str]:
    options = {one.arg for one in decorator.keywords} if isinstance(decorator, ast.Call) else set()
    reasons = options | {one.arg for call in fields for one in call.keywords}
    if "frozen" in options and not reasons & {*REASONS, "eq"}:
        yield f"{name} can be a struct"


def _check_fields(name: str, module: str, fields: list[ast.Call], modules: Mapping[str, str | None]) -> Iterator[str]:
    for call in fields:
        qualifier = ast.unparse(call.func).rpartition(".")[0]
        if (qualifier or modules.get("field")) != module:
            yield f"{name} has a field of {qualifier or modules.get('field')}"


def test_records_are_structs_with_fields_of_their_own_module():
    found = {
        path.name: problems
        for path in tracked.files_below("applyviz", ".py")
        if (problems := list(list_problems(tracked.parse(path))))
    }

    assert found == {}


DATACLASS = "from dataclasses import dataclass, field\n@dataclass({})\nclass A:\n    a: int = {}"
STRUCT = "from {} import field\nclass A(Struct, frozen=True):\n    a: list = field(default_factory=list)"


@pytest.mark.parametrize(
    ("source", "problem"),
    [
        (DATACLASS.format("frozen=True", "1"), "A can be a struct"),
        (DATACLASS.format("frozen=True", "field(repr=False)"), ""),
        (DATACLASS.format("slots=True", "field(default=1)"), ""),
        (DATACLASS.format("slots=True", "msgspec.field(default=1)"), "A has a field of msgspec"),
        (STRUCT.format("dataclasses"), "A has a field of dataclasses"),
        (STRUCT.format("msgspec"), ""),
    ],
)
def test_planted_record_is_found(source, problem):
    assert list(list_problems(ast.parse(source))) == ([problem] if problem else [])
