"""Read the body of an answer: JSON of the form that API servers send, or an error.

Rule: every object has the types of ObjectMeta (https://kubernetes.io/docs/reference/kubernetes-api/common-definitions/),
and everything that reads live objects relies on them. A server that answers with something else, or with objects that
are nested deeper than a page can show, is treated like one that answers with no JSON.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Final

from applyviz.engine.manifests.limits import DEFAULT_LIMITS
from applyviz.engine.objects.errors import UnreachableError
from applyviz.engine.objects.json_text import is_nested_deeper, read_answer
from applyviz.engine.objects.values import JSONValue, get_at

MOST_NESTED: Final = DEFAULT_LIMITS.depth + 10
"""The levels of a manifest, and those of a list and of managedFields around them."""
_SURROGATE = re.compile(rb"\\u[dD][89a-fA-F]")
_TEXTS: Final = ("name", "generateName", "namespace", "uid", "resourceVersion")
_MAPS: Final = ("labels", "annotations")
_LISTS: Final = (("ownerReferences", Mapping), ("managedFields", Mapping), ("finalizers", str))


class _FormError(ValueError):
    """An answer has another form than those of API servers."""


def _check_object(value: JSONValue) -> None:
    if not isinstance(value, Mapping):
        raise _FormError("something that is no object")
    metadata = value.get("metadata")
    if metadata is None:
        return
    if not isinstance(metadata, Mapping):
        raise _FormError("an object without readable metadata")
    for names, form in ((_TEXTS, str), (_MAPS, Mapping)):
        for name in names:
            if not isinstance(metadata.get(name), form | None):
                raise _FormError(f"an object without readable metadata.{name}")
    for name, form in _LISTS:
        entries = metadata.get(name)
        if entries is not None and not (isinstance(entries, list) and all(isinstance(one, form) for one in entries)):
            raise _FormError(f"an object without readable metadata.{name}")


def _check(value: JSONValue) -> None:
    """Raise `_FormError` unless an answer is an object, or a list of objects; only lists have no name."""
    _check_object(value)
    items = get_at(value, ("items",))
    if isinstance(items, list) and not get_at(value, ("metadata", "name")):
        for item in items:
            _check_object(item)


def _read(raw: bytes, *, is_object: bool) -> JSONValue:
    if is_object and is_nested_deeper(raw, MOST_NESTED):
        raise _FormError(f"something that is nested deeper than {MOST_NESTED} levels")
    try:
        answer: JSONValue = read_answer(raw)
        if _SURROGATE.search(raw) is not None:
            json.dumps(answer, ensure_ascii=False).encode()  # half a pair cannot be written to any column or digest
    except ValueError as error:
        raise _FormError("something that is not JSON") from error
    _check(answer)
    return answer


def read_body(status: int, raw: bytes, *, is_object: bool = True) -> JSONValue:
    """Return the body of an answer; an unreadable refusal becomes a Status, an unreadable success is an error.

    - `is_object`: the answer holds objects, whose nesting is limited; the nesting of schema documents is not.
    """
    if not raw:
        if 200 <= status < 300:  # an answer whose headers were cut off looks like an empty one
            raise UnreachableError(f"the server answered {status} with nothing", status)
        return None
    try:
        return _read(raw, is_object=is_object)
    except _FormError as error:
        if 200 <= status < 300:
            raise UnreachableError(f"the server answered {status} with {error}", status) from error
        return {"kind": "Status", "code": status, "message": f"the server answered {status} without a Status"}
