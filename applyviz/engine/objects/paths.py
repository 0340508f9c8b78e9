"""Field paths in one canonical form: each step is a path element in its fieldsV1 form.

`f:name` a field, `k:{"name":"web"}` a list entry by its keys, `v:"x"` an entry of a set, `i:0` an
index. Rule: https://kubernetes.io/docs/reference/using-api/server-side-apply/ (fieldsV1) and
structured-merge-diff `fieldpath`. Elements are plain strings, so that a set of paths is a plain trie
and equality is string equality; keys are written with sorted names and compact JSON.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any, TypeAlias

from applyviz.engine.objects.golang import element_string, quote, render_float, render_number
from applyviz.engine.objects.values import JSONObject, JSONValue

PathElement: TypeAlias = str
FieldPath: TypeAlias = tuple[PathElement, ...]


def _text(value: JSONValue) -> str:
    """Return JSON as fieldsV1 writes it, with one spelling for each number: 1 and 1.0 are one element."""
    if isinstance(value, str):
        return element_string(value)
    if isinstance(value, float):
        return render_float(value + 0.0, low=1e-6)  # the sum turns -0 into 0, because they are one element
    if isinstance(value, Mapping):
        return "{" + ",".join(f"{element_string(k)}:{_text(value[k])}" for k in sorted(value)) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(_text, value)) + "]"
    return json.dumps(value)


_EXACT_LIMIT = 2**53
_PLAIN = '"[^\x00-\x1f"\\\\<>&\u2028\u2029\ud800-\udfff]*"'
# Most entries are named by one plain text, which has a single spelling.
_ONE_SPELLING = re.compile(f"v:{_PLAIN}|k:{{{_PLAIN}:{_PLAIN}}}")


class ExactElement(str):
    """An element with an integer that a float cannot represent: equal to its float form, written exactly.

    - Two integers are compared exactly, so that two integers with one float form are two elements.
    """

    __slots__ = ("written",)

    written: str

    def __eq__(self, other: object) -> bool:
        return self.written == other.written if type(other) is ExactElement else str.__eq__(self, other)

    def __ne__(self, other: object) -> bool:
        return not self == other

    __hash__ = str.__hash__


def _is_inexact(item: JSONValue) -> bool:
    return type(item) is int and not -_EXACT_LIMIT < item < _EXACT_LIMIT


def _make_exact(element: PathElement, rounded: JSONValue) -> PathElement:
    exact = ExactElement(element[:2] + _text(rounded))
    exact.written = element
    return exact


def field(name: str) -> PathElement:
    """Return the element of a struct field or map entry."""
    return "f:" + name


def key(keys: JSONObject) -> PathElement:
    """Return the element of an entry of a map list, by its key fields."""
    element = "k:" + _text(keys)
    if any(map(_is_inexact, keys.values())):
        return _make_exact(element, {k: float(v) if _is_inexact(v) else v for k, v in keys.items()})
    return element


def value(item: Any) -> PathElement:
    """Return the element of an entry of a set."""
    element = "v:" + _text(item)
    return _make_exact(element, float(item)) if _is_inexact(item) else element


def index(position: int) -> PathElement:
    """Return the element of a list entry by its position."""
    return f"i:{position}"


def fields(*names: str) -> FieldPath:
    """Return a path of fields only: `fields("metadata", "labels")`."""
    return tuple("f:" + n for n in names)


def write_element(element: PathElement) -> str:
    """Return the text of an element in fieldsV1."""
    return element.written if isinstance(element, ExactElement) else element


def element_value(element: PathElement) -> Any:
    """Return the value that an element refers to: a field name, the keys as a dict, a set value, or an index."""
    kind, text = element[0], write_element(element)[2:]
    if kind == "f":
        return text
    return json.loads(text)


def normalize_element(element: PathElement) -> PathElement:
    """Return an element in canonical form, whatever client wrote it.

    - Raises `ValueError` for text that is not a path element; unknown types are unchanged.
    """
    return _recall(element) if len(element) <= _LONGEST_KEPT else _normalize(element)


def _normalize(element: PathElement) -> PathElement:
    if _ONE_SPELLING.fullmatch(element):
        return element
    if len(element) < 2 or element[1] != ":":
        raise ValueError(f"no path element: {element}")
    if element[0] in "kv":
        named = _read_json(element[2:])
        if element[0] == "k" and not isinstance(named, dict):
            raise ValueError(f"keys of a list entry are no object: {element}")
        return element[:2] + _text(named)
    return f"i:{int(element[2:])}" if element[0] == "i" else element


# As large as lists get: a smaller cache would evict the names of a longer list before they are used again. Long
# elements are not cached, because the author of an object chooses them.
_LONGEST_KEPT = 300
_recall = lru_cache(maxsize=1 << 14)(_normalize)


def _read_json(text: str) -> Any:
    # Integers of managed fields are floats in the API server too; beyond 2**53 they lose digits.
    return json.loads(text, parse_int=lambda t: int(t) if len(t) < 16 else float(t))


def render_value(value: JSONValue) -> str:
    """Return a value as the API server writes it in paths and messages."""
    if isinstance(value, str):
        return quote(value)
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, list):
        return "[" + ",".join(map(render_value, value)) + "]"
    if isinstance(value, Mapping):
        return "".join(f"{k}={render_value(v)}" for k, v in value.items())
    return render_number(value)


def _as_float(value: JSONValue) -> Any:
    return float(value) if isinstance(value, int) and not isinstance(value, bool) else value


def _render_element(element: PathElement, is_stored: bool) -> str:
    kind = element[0]
    if kind == "f":  # hot: most elements are
        return "." + element[2:]
    named = element_value(element)
    if kind == "i":
        return f"[{named}]"
    fix = _as_float if is_stored else (lambda v: v)
    if kind == "k":
        return "[" + ",".join(f"{k}={render_value(fix(v))}" for k, v in named.items()) + "]"
    return f"[={render_value(fix(named))}]"


def render_path(path: Iterable[PathElement], *, is_stored: bool = False) -> str:
    """Return a path as the API server writes it: `.spec.containers[name="web"].image`.

    - `is_stored`: the path comes from managedFields, where every number is a float (1e+06).
    """
    return "".join(_render_element(e, is_stored) for e in path)


def _rank_value(value: JSONValue) -> tuple[int, Any]:
    """Return the sort key of a value in a path: numbers, strings, booleans, lists, maps, null."""
    if isinstance(value, bool):
        return (2, value)
    if isinstance(value, int | float):
        return (0, value)
    if isinstance(value, str):
        return (1, value.encode())
    if isinstance(value, list):
        return (3, [_rank_value(v) for v in value])
    if isinstance(value, Mapping):
        return (4, [(k, _rank_value(value[k])) for k in sorted(value)])
    return (5, 0)


def sort_key(element: PathElement) -> tuple[int, Any]:
    """Return the sort key of an element in the order of the API server: fields, keys, values, indices."""
    named = element_value(element)
    kind = element[0]
    if kind == "f":
        return (0, named.encode())
    if kind == "k":
        return (1, [(k, _rank_value(named[k])) for k in sorted(named)])
    return (2, _rank_value(named)) if kind == "v" else (3, named)
