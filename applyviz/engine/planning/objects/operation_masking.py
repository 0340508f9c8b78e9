"""Mask a JSON patch by its result: what it copies, moves or renames stays masked, wherever it puts it.

Rule: `docs/architecture.md`, invariant 8. The operations run on the live object and, at the same time, on what is shown
of it. What is masked there afterwards is masked in every version that comes of the patch, by its position: comparing
values would answer guesses. The cost is that of applying the patch.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress

from msgspec import Struct

from applyviz.engine.diff.masking import Beside, Masker, is_masked
from applyviz.engine.diff.patch_masking import find_position, mask_operation, without_plain
from applyviz.engine.diff.patch_parts import read_pointer
from applyviz.engine.diff.tags import name_items
from applyviz.engine.merge.json_patch import JSONPatchTarget
from applyviz.engine.objects.errors import PatchError
from applyviz.engine.objects.values import JSONObject, JSONValue, clone

_REPEATING = ("copy", "move")
_Path = tuple[str, ...]


class MaskedPatch(Struct, frozen=True):
    """The masked operations of a JSON patch, and what is shown of the object that they make."""

    operations: tuple[JSONValue, ...]
    shown: JSONValue

    def hide(self, raw: JSONObject | None, shown: JSONObject | None, masker: Masker) -> JSONObject | None:
        """Return what is shown of a version that the patch made, masked where the patch put something masked."""
        if raw is None or shown is None:
            return shown
        hidden = _overlay(self.shown, raw, shown, (), masker)
        return hidden if isinstance(hidden, Mapping) else shown


def mask_operations(operations: Sequence[JSONValue], live: Beside, masker: Masker) -> MaskedPatch:
    """Return the operations of a JSON patch on a live object, masked by their result.

    - An operation that does not apply ends the patch; the values of those after it are masked all the same.
    """
    masker = without_plain(masker)
    raw, shown = JSONPatchTarget(clone(live.raw)), JSONPatchTarget(clone(live.shown))
    masked: list[JSONValue] = []
    is_applying = True
    for operation in operations:
        hidden = mask_operation(operation, raw.value if isinstance(raw.value, Mapping) else None, masker)
        hidden = _hide_replaced(operation, hidden, shown.value, masker)
        masked.append(hidden)
        is_applying = is_applying and _follow(operation, hidden, raw, shown, masker)
    return MaskedPatch(tuple(masked), shown.value)


def _hide_replaced(operation: JSONValue, hidden: JSONValue, shown: JSONValue, masker: Masker) -> JSONValue:
    """Return an operation whose value is masked also where what it tests or replaces is masked."""
    if not isinstance(operation, Mapping) or not isinstance(hidden, Mapping) or "value" not in operation:
        return hidden
    if operation.get("op") == "add":
        return hidden
    there: JSONValue = shown
    for key in read_pointer(str(operation.get("path"))):
        there = _step(there, key)
    if not is_masked(there):
        return hidden
    return {**hidden, "value": _overlay(there, operation["value"], hidden["value"], ("value",), masker)}


def _step(value: JSONValue, key: str) -> JSONValue:
    if isinstance(value, Mapping):
        return value.get(key)
    if isinstance(value, list):
        position = find_position(key, len(value))
        return value[position] if position is not None and position < len(value) else None
    return value if is_masked(value) else None  # inside a value that is masked as a whole


def _follow(
    operation: JSONValue, hidden: JSONValue, raw: JSONPatchTarget, shown: JSONPatchTarget, masker: Masker
) -> bool:
    """Run one operation on both, nothing below a value that is masked as a whole; return whether it applies."""
    if not isinstance(operation, Mapping) or not isinstance(hidden, Mapping):
        return False
    try:
        raw.run(dict(operation))
    except PatchError:
        return False
    if operation["op"] == "test":
        return True
    try:
        shown.run(dict(hidden))
    except PatchError:
        if operation["op"] in _REPEATING:
            mask = masker.mask_value(operation["from"], ("from",))
            with suppress(PatchError):
                shown.run({"op": "add", "path": operation["path"], "value": mask})
    return True


def _overlay(written: JSONValue, raw: JSONValue, shown: JSONValue, path: _Path, masker: Masker) -> JSONValue:
    """Return what is shown of a value, masked where the same position of `written` is."""
    if isinstance(written, Mapping) and isinstance(raw, Mapping) and isinstance(shown, Mapping):
        found = {
            name: _overlay(written[name], raw[name], below, (*path, name), masker)
            for name, below in shown.items()
            if name in written and name in raw
        }
        return {**shown, **found} if any(found[name] is not shown[name] for name in found) else shown
    if isinstance(written, list) and isinstance(raw, list) and isinstance(shown, list):
        pairs = _pair(written, raw)
        if pairs is not None:
            names = name_items(raw, path)
            items = [_overlay(*one, masker) for one in zip(pairs, raw, shown, names, strict=True)]
            return items if any(new is not old for new, old in zip(items, shown, strict=True)) else shown
    if not is_masked(written):
        return shown
    return shown if isinstance(shown, str) and is_masked(shown) else _mask_leaves(raw, path, masker)


def _pair(written: list[JSONValue], raw: list[JSONValue]) -> list[JSONValue] | None:
    """Return the entry of `written` for each of `raw`, by position or by name; None if neither shows which it is.

    - Admission adds entries: a sidecar, a variable.
    """
    if len(written) == len(raw):
        return written
    named = {one["name"]: one for one in written if isinstance(one, Mapping) and isinstance(one.get("name"), str)}
    if len(named) < len(written) or not all(isinstance(one, Mapping) for one in raw):
        return None
    return [named.get(one.get("name")) if isinstance(one, Mapping) else None for one in raw]


def _mask_leaves(value: JSONValue, path: _Path, masker: Masker) -> JSONValue:
    """Return a value of the same shape with every text and number in it masked."""
    if isinstance(value, Mapping):
        return {name: _mask_leaves(below, (*path, name), masker) for name, below in value.items()}
    if isinstance(value, list):
        return [_mask_leaves(item, below, masker) for item, below in zip(value, name_items(value, path), strict=True)]
    masked: JSONValue = masker.mask_value(value, path)
    return masked
