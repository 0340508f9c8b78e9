"""The Go structs of the built-in kinds, as far as they affect JSON.

The server reads JSON into Go structs and writes structs back as JSON. Field types and tags decide what that drops or
adds (empty values dropped, structs always written, null for empty times). OpenAPI does not contain them;
`go_types.json.gz` of the bundled minor does.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any, TypeAlias

from msgspec import Struct

from applyviz.engine.objects.refs import GroupVersionKind
from applyviz.engine.objects.values import JSONObject, JSONValue
from applyviz.engine.schema.builtin import load_bundled

_SCALARS = frozenset({"s", "b", "f", "y"})

Code: TypeAlias = Any  # a one-letter or type name text, or [mark, code, …] for pointer, list, map


class GoField(Struct, frozen=True):
    """One field of a struct; `number` is its protobuf field, `2/1` inside an embedded message.

    `go_path` is its name with those of the embedded structs around it, as Go's errors print it.
    """

    name: str
    code: Code
    drops_empty: bool
    drops_zero: bool
    go_type: str
    number: str = ""
    go_path: str = ""


class GoStruct(Struct, frozen=True):
    """One struct: its full name (`core/v1.Container`), its Go name, its JSON fields in order."""

    name: str
    go_name: str
    fields: Mapping[str, GoField]


def _read_field(raw: Sequence[Any], embedded: Mapping[str, str]) -> GoField:
    name, code, options, go_type, number = raw
    shown = go_type.replace("*", "", 1) if code[0] == "*" else go_type
    parts = number.split("/")
    steps = [embedded[found] for n in range(1, len(parts)) if (found := "/".join(parts[:n])) in embedded]
    if name in embedded:
        steps.append(embedded[name])
    return GoField(name, code, "e" in options, "z" in options, shown, number, ".".join([*steps, name]))


_TYPE_META = {"kind": "TypeMeta", "apiVersion": "TypeMeta"}


class GoTypes:
    """All structs, and the struct of each kind."""

    def __init__(self, document: JSONObject) -> None:
        self._raw: JSONObject = document["types"]
        self._kinds: Mapping[str, str] = document["kinds"]
        self._typed = frozenset(self._kinds.values())
        self._structs: dict[str, GoStruct] = {}

    def find_kind(self, gvk: GroupVersionKind) -> GoStruct | None:
        """Return the struct of a kind; None for a custom resource."""
        name = self._kinds.get(f"{gvk.api_version}/{gvk.kind}")
        return self.find_struct(name) if name else None

    def find_struct(self, name: str) -> GoStruct | None:
        """Return the struct of a full name; None if the code is not a struct."""
        found = self._structs.get(name)
        if found is None and name in self._raw:
            raw = self._raw[name]
            embedded = {**raw.get("in", {}), **(_TYPE_META if name in self._typed else {})}
            fields = {f[0]: _read_field(f, embedded) for f in raw["f"]}
            found = self._structs[name] = GoStruct(name, raw["go"], fields)
        return found

    def get_struct(self, name: str) -> GoStruct:
        """Return the struct of a full name that the table always contains."""
        found = self.find_struct(name)
        if found is None:
            raise LookupError(name)
        return found


@cache
def go_types() -> GoTypes:
    """Return the bundled table, read once per process."""
    return GoTypes(load_bundled("go_types"))


_SCALAR_TYPES: Mapping[str, str] = {"s": "string", "b": "bool", "f": "float64", "y": "[]uint8"}


def item_type(go_type: str, inner: Code) -> str:
    """Return the Go type of the entries of a list or map; a named type does not show it."""
    if go_type.startswith("[]"):
        return go_type[2:]
    if go_type.startswith("map["):
        return go_type.partition("]")[2]
    if not isinstance(inner, str):
        return ""
    return _SCALAR_TYPES.get(inner) or inner.rpartition("/")[2]


_ZEROES: Mapping[str, JSONValue] = {"s": "", "b": False, "f": 0, "Q": "0", "I": 0, "D": "0s"}


def zero_of(code: Code) -> Any:
    """Return what Go writes for an unset value."""
    if not isinstance(code, str):
        return None
    if code.startswith(("int", "uint")):
        return 0
    if code in _ZEROES:
        return _ZEROES[code]
    struct = go_types().find_struct(code)
    return zero_struct(struct) if struct is not None else None


def zero_struct(struct: GoStruct) -> dict[str, JSONValue]:
    """Return what Go writes for an empty struct."""
    return {f.name: zero_of(f.code) for f in struct.fields.values() if is_written_empty(f)}


def is_written_empty(field: GoField) -> bool:
    """Return whether an unset field is written."""
    if field.drops_zero:
        return False
    return not field.drops_empty or is_struct(field.code)


def is_struct(code: Code) -> bool:
    """Return whether the code is a struct without a pointer, which `omitempty` does not omit."""
    return isinstance(code, str) and code not in _SCALARS and not code.startswith(("int", "uint"))
