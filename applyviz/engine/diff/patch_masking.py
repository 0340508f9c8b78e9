"""Mask the bodies of patches: a value is masked like the value at its path in the object.

An operation of a JSON patch names its field by position. What is masked there depends on the object: the value of a
variable on its name, an argument on the flag before it. So each operation is masked with as much of the object around
its path as decides that (`mask_operation`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from applyviz.engine.diff.embedded import names_secret
from applyviz.engine.diff.masking import DEFAULT_POLICY, Beside, Masker, MaskPolicy, make_masker
from applyviz.engine.diff.patch_parts import read_pointer
from applyviz.engine.diff.plain_values import PlainValues
from applyviz.engine.objects.exchange import JSON_PATCH
from applyviz.engine.objects.golang import read_signed
from applyviz.engine.objects.refs import GroupVersionKind
from applyviz.engine.objects.structs import replace
from applyviz.engine.objects.values import JSONObject, JSONValue

# What names a map, and so decides what its other fields are.
_NAMING = ("apiVersion", "kind", "name", "key")
# So many arguments before one are looked at; further ones cost too much for each of many operations.
_MOST_BEFORE = 64
_LONGEST_POINTER = 100


def mask_patch(
    body: JSONValue,
    content_type: str,
    *,
    gvk: GroupVersionKind | None,
    tag_key: bytes,
    scope: str = "",
    policy: MaskPolicy = DEFAULT_POLICY,
    beside: Iterable[Beside] | None = None,
    plain: PlainValues | None = None,
) -> Any:
    """Return the body of a patch with every secret value masked; nulls and directives stay visible.

    - The operations of a JSON patch are masked without the object that they change: see `mask_operation`.
    """
    masker = make_masker(body, gvk, tag_key, scope, policy, beside, plain)
    if content_type == JSON_PATCH and isinstance(body, list):
        masker = without_plain(masker)
        return [mask_operation(one, None, masker) for one in body]
    if isinstance(body, Mapping):
        return masker.mask_object(body, (), is_secret=gvk is None or names_secret(gvk.kind))
    return None if body is None else masker.mask_value(body, ())


def without_plain(masker: Masker) -> Masker:
    """Return a masker for operations: a value that is plain alone may be a credential where it is written.

    - No container is plain then; a text is by the same passwords as anywhere else.
    """
    return replace(masker, plain=PlainValues(paths=("*",), passwords=masker.policy.passwords))


def mask_operation(operation: JSONValue, obj: JSONObject | None, masker: Masker) -> JSONValue:
    """Return one operation of a JSON patch, its value masked like the value at its path.

    - `obj`: the object that it changes; None if it is not known.
    """
    if not isinstance(operation, Mapping):
        hidden: JSONValue = masker.mask_value(operation, ())
        return hidden
    operation = {k: v if _is_shown(k, v) else masker.mask_value(v, (k,)) for k, v in operation.items()}
    if "value" not in operation:
        return operation
    path, value = operation.get("path"), operation["value"]
    keys = read_pointer(path) if isinstance(path, str) else []
    whole = None if len(keys) > _LONGEST_POINTER else _wrap(obj, obj is not None, keys, value)
    if not isinstance(whole, Mapping):
        return {**operation, "value": masker.mask_value(value, ())}
    is_secret = masker.gvk is None or names_secret(masker.gvk.kind)
    masked: JSONValue = masker.mask_object(whole, (), is_secret=is_secret)
    for key in keys:
        if isinstance(masked, Mapping):
            masked = masked[key]
        elif isinstance(masked, list):
            masked = masked[-1]
    return {**operation, "value": masked}


def _is_shown(name: str, content: JSONValue) -> bool:
    """Return whether a field of an operation is shown or read further: a misspelled `value` holds what that holds."""
    return name == "value" or (name in ("op", "path", "from") and isinstance(content, str))


def _wrap(around: JSONValue, is_known: bool, keys: list[str], value: JSONValue) -> JSONValue:
    """Return a value at a pointer, with what decides around it how it is masked; None if that is not known."""
    if not keys:
        return value
    key, rest = keys[0], keys[1:]
    if not is_known:
        below = _wrap(None, False, rest, value)
        return None if below is None and value is not None else {key: below}
    if isinstance(around, Mapping):
        below = _wrap(around.get(key), bool(rest), rest, value)
        named = {name: around[name] for name in _NAMING if isinstance(around.get(name), str) and name != key}
        return None if below is None and value is not None else {**named, key: below}
    if not isinstance(around, list):
        return None
    position = find_position(key, len(around))
    if position is None:
        return None
    below = _wrap(around[position] if position < len(around) else None, bool(rest), rest, value)
    if position > _MOST_BEFORE and any(isinstance(item, str) for item in around[:position]):
        return None
    before = [item for item in around[: min(position, _MOST_BEFORE)] if isinstance(item, str)]
    return None if below is None and value is not None else [*before, below]


def find_position(key: str, size: int) -> int | None:
    """Return the position that a step of a pointer names in a list of a size; None for none, `size` behind its end."""
    if key == "-":
        return size
    position = read_signed(key)
    if position is None:
        return None
    return position % size if -size <= position < 0 else position if 0 <= position <= size else None
