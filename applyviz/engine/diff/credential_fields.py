"""Find the fields of a map whose values are credentials because of another field: its neighbor or the one above it.

Forms: `{name: DB_PASSWORD, value: x}`, `password: {value: x}`, `tokens: [x]`, and the arguments of a command of a
container.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TypeAlias

from applyviz.engine.diff.commands import find_arguments
from applyviz.engine.diff.credential_names import names_list
from applyviz.engine.diff.credentials import holds_value
from applyviz.engine.objects.values import JSONObject, JSONValue

Steps: TypeAlias = tuple[str, ...]
Tree: TypeAlias = "dict[str, Tree]"
Gives: TypeAlias = Callable[[str, JSONValue], bool]

OF_PAIRS = frozenset({"value", "val", "default"})
"""Fields whose value is that of the name beside them."""
_NAMES = ("name", "key")
# Fields below the name of a credential that hold it; others say where it comes from.
_VALUES = frozenset({"value", "data", "plain", "plaintext", "raw", "content", "literal", "inline", "string", "text"})


def find_credentials(value: JSONObject, gives: Gives, *, has_plain: bool) -> Iterator[Steps]:
    """Yield the steps from a map to each value that another name shows to be a credential.

    - `gives`: whether a name gives a credential, by its value or alone.
    - `has_plain`: whether lists and commands are searched; the pairs that a policy names are found without.
    """
    yield from _find_in_pair(value, gives)
    if not has_plain:
        return
    for name, below in value.items():
        if names_list(name):
            yield from _find_entries(below, (name,))
        elif isinstance(below, Mapping | list) and below and gives(name, below):
            yield from _find_below(below, (name,))
    command, args = value.get("command"), value.get("args")
    if isinstance(command, list) and isinstance(args, list):
        yield from (("args", str(n)) for n in find_arguments(args, command))


def find_entries(value: JSONObject) -> Iterator[Steps]:
    """Yield the steps from a map of credentials to each of them."""
    for name, below in value.items():
        yield from _find_entries(below, (name,))


def takes_argument(flag: JSONValue, item: JSONValue) -> bool:
    """Return whether an argument may be the value of the flag before it: `--token x`, `-password x`."""
    is_flag = isinstance(flag, str) and flag.startswith("-") and "=" not in flag
    return is_flag and isinstance(item, str) and not item.startswith("-")


def grow(found: Iterator[Steps]) -> Tree:
    """Return steps as a tree, whose leaves are empty."""
    tree: Tree = {}
    for steps in found:
        at = tree
        for step in steps:
            at = at.setdefault(step, {})
    return tree


def _find_in_pair(value: JSONObject, gives: Gives) -> Iterator[Steps]:
    fields = OF_PAIRS & value.keys()
    names = [name for name in map(value.get, _NAMES) if isinstance(name, str)] if fields else ()
    for field in fields:
        given = value[field]
        if any(gives(name, given) for name in names) and holds_value(given):
            yield (field,)


def _find_entries(value: JSONValue, steps: Steps) -> Iterator[Steps]:
    """Yield every text of a list or map of credentials; the names in it, and references, are none."""
    if isinstance(value, str) and holds_value(value):
        yield steps
    elif isinstance(value, list):
        for n, item in enumerate(value):
            yield from _find_entries(item, (*steps, str(n)))
    elif isinstance(value, Mapping):
        if any(name in value for name in _NAMES):
            yield from _find_below(value, steps)
        else:
            for name, below in value.items():
                yield from _find_entries(below, (*steps, name))


def _find_below(value: JSONObject | list[JSONValue], steps: Steps) -> Iterator[Steps]:
    if isinstance(value, list):
        yield from _find_entries(value, steps)
        return
    for field in _VALUES & value.keys():
        yield from _find_entries(value[field], (*steps, field))
