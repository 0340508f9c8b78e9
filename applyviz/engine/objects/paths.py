"""Field paths, one spelling everywhere: each step is a path element in its fieldsV1 form.

`f:name` a field, `k:{"name":"web"}` a list entry by its keys, `v:"x"` an entry of a set, `i:0` an
index. Rule: https://kubernetes.io/docs/reference/using-api/server-side-apply/ (fieldsV1) and
structured-merge-diff `fieldpath`. Elements are plain strings, so that a set of paths is a plain trie
and equality is string equality; keys are written with sorted names and compact JSON.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import TypeAlias

from applyviz.engine.objects.values import JSONValue

PathElement: TypeAlias = str
FieldPath: TypeAlias = tuple[PathElement, ...]


def _text(value: JSONValue) -> str:
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def field(name: str) -> PathElement:
    """The element of a struct field or map entry."""
    return "f:" + name


def key(keys: Mapping[str, JSONValue]) -> PathElement:
    """The element of an entry of a map list, by its key fields."""
    return "k:" + _text(dict(keys))


def value(item: JSONValue) -> PathElement:
    """The element of an entry of a set."""
    return "v:" + _text(item)


def index(position: int) -> PathElement:
    """The element of a list entry by its position."""
    return f"i:{position}"


def fields(*names: str) -> FieldPath:
    """A path of fields only: `fields("metadata", "labels")`."""
    return tuple("f:" + n for n in names)


def element_value(element: PathElement) -> JSONValue:
    """What an element names: the field's name, the keys as a dict, the set value, or the index."""
    kind, text = element[0], element[2:]
    if kind == "f":
        return text
    return json.loads(text)


def _render_element(element: PathElement) -> str:
    kind, named = element[0], element_value(element)
    if kind == "f":
        return f".{named}"
    if kind == "k":
        return "[" + ",".join(f"{k}={_text(v)}" for k, v in named.items()) + "]"
    return f"[={_text(named)}]" if kind == "v" else f"[{named}]"


def render_path(path: Iterable[PathElement]) -> str:
    """Write a path as the API server does in its conflicts: `.spec.containers[name="web"].image`."""
    return "".join(_render_element(e) for e in path)
