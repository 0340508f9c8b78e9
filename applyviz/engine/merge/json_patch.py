"""Apply a JSON patch as the API server does.

Rule: https://www.rfc-editor.org/rfc/rfc6902 with the server's extensions: indices may be negative, and `replace` may
create a map field. An unreadable patch is a 400, one that does not apply a 422; more than 10,000 operations are a 413,
and so is more than 3 MiB of copies.
"""

from __future__ import annotations

import json
from copy import deepcopy
from typing import Any

from applyviz.engine.objects.errors import PatchError
from applyviz.engine.objects.golang import read_signed
from applyviz.engine.objects.values import JSONObject, JSONValue, MutableObject, clone, is_identical

_MAX_OPERATIONS = 10_000
_MOST_COPIED = 3 * 1024 * 1024


def apply_json_patch(live: JSONObject, patch: JSONValue) -> MutableObject:
    """Apply all operations to the live object in order; the first failure raises `PatchError`.

    - Maps that an operation touched come out sorted, as the server writes them.
    """
    if not isinstance(patch, list) or not all(isinstance(o, dict) for o in patch):
        raise PatchError("a JSON patch is a list of operations", 400)
    if len(patch) > _MAX_OPERATIONS:
        reason = f"The allowed maximum operations in a JSON patch is {_MAX_OPERATIONS}, got {len(patch)}"
        raise PatchError(reason, 413)
    document = JSONPatchTarget(clone(live))
    for operation in patch:
        document.run(operation)
    document.sort()
    if not isinstance(document.value, dict):
        raise PatchError("the patched object is no map", 422)
    return document.value


def _refuse(reason: str) -> PatchError:
    return PatchError(reason, 422)


def _index(key: str, size: int, problem: str) -> int:
    position = read_signed(key)
    if position is None:
        raise _refuse(f"{problem}: value was not a proper array index: '{key}'")
    if not -size <= position < size:
        raise _refuse(f"{problem}: Unable to access invalid index: {position}: invalid index referenced")
    return position % size


def _sort(entered: MutableObject) -> None:
    items = sorted(entered.items())
    entered.clear()
    entered.update(items)


class JSONPatchTarget:
    """The object that operations change one after the other, in `value`; it must not be used elsewhere."""

    def __init__(self, value: JSONValue) -> None:
        self.value = value
        self._copied = 0
        self._entered: list[MutableObject] = []

    def sort(self) -> None:
        """Sort the maps that operations changed."""
        self._enter(self.value)
        for entered in self._entered:
            _sort(entered)

    def _enter(self, value: JSONValue, *, is_whole: bool = False) -> None:
        if isinstance(value, dict):
            _sort(value)
            self._entered.append(value)
        if is_whole and isinstance(value, (dict, list)):
            for item in value.values() if isinstance(value, dict) else value:
                self._enter(item, is_whole=True)

    def run(self, operation: MutableObject) -> None:
        """Run one operation; raises `PatchError` if it does not apply."""
        kind = operation.get("op")
        runners = {
            "add": self._add,
            "remove": self._remove,
            "replace": self._replace,
            "move": self._move,
            "copy": self._copy,
            "test": self._test,
        }
        if not isinstance(kind, str) or kind not in runners:
            raise _refuse(f"Unexpected kind: {kind if isinstance(kind, str) else 'unknown'}")
        runners[kind](operation)

    def _pointer(self, operation: MutableObject, name: str) -> str:
        pointer = operation.get(name)
        if not isinstance(pointer, str):
            raise _refuse(f"{operation['op']} operation failed to decode {name}: missing value")
        return pointer

    def _locate(self, operation: MutableObject, name: str) -> tuple[Any, str, str]:
        """Return the container, the last key, and the path as error messages write it."""
        pointer = self._pointer(operation, name)
        problem = f'{operation["op"]} operation does not apply: doc is missing path: "{pointer}": missing value'
        keys = [k.replace("~1", "/").replace("~0", "~") for k in pointer.split("/")]
        if len(keys) < 2:
            raise _refuse(problem)
        at = self.value
        for key in keys[1:-1]:
            at = self._step(at, key, problem)
            self._enter(at)
        if not isinstance(at, (dict, list)):
            raise _refuse(problem)
        return at, keys[-1], f"error in {operation['op']} for path: '{pointer}'"

    @staticmethod
    def _step(at: Any, key: str, problem: str) -> Any:
        if isinstance(at, dict) and key in at:
            return at[key]
        position = read_signed(key) if isinstance(at, list) else None
        if position is not None and -len(at) <= position < len(at):
            return at[position]
        raise _refuse(problem)

    @staticmethod
    def _put(at: Any, key: str, value: Any, problem: str) -> None:
        if isinstance(at, dict):
            at[key] = value
        elif key == "-":
            at.append(value)
        else:
            at.insert(_index(key, len(at) + 1, problem), value)

    def _add(self, operation: MutableObject) -> None:
        at, key, problem = self._locate(operation, "path")
        self._put(at, key, deepcopy(operation.get("value")), problem)

    @staticmethod
    def _take(at: Any, key: str, problem: str) -> Any:
        if isinstance(at, list):
            return at.pop(_index(key, len(at), problem))
        if key not in at:
            raise _refuse(f"{problem}: Unable to remove nonexistent key: {key}: missing value")
        return at.pop(key)

    def _remove(self, operation: MutableObject) -> None:
        at, key, problem = self._locate(operation, "path")
        self._take(at, key, problem)

    def _replace(self, operation: MutableObject) -> None:
        value = deepcopy(operation.get("value"))
        if self._pointer(operation, "path") == "":
            if not isinstance(value, (dict, list)):
                raise _refuse("replace operation value must be object or array")
            self.value = value
            return
        at, key, problem = self._locate(operation, "path")
        if isinstance(at, list):
            at[_index(key, len(at), problem)] = value
        else:
            at[key] = value

    def _move(self, operation: MutableObject) -> None:
        at, key, problem = self._locate(operation, "from")
        value = self._take(at, key, problem)
        at, key, problem = self._locate(operation, "path")
        self._put(at, key, value, problem)

    def _read(self, operation: MutableObject, name: str) -> Any:
        at, key, problem = self._locate(operation, name)
        return at.get(key) if isinstance(at, dict) else at[_index(key, len(at), problem)]

    def _copy(self, operation: MutableObject) -> None:
        value = self._read(operation, "from")
        at, key, problem = self._locate(operation, "path")
        self._count_copied(value)
        self._put(at, key, clone(value), problem)

    def _count_copied(self, value: JSONValue) -> None:
        """Refuse copies of copies, whose size would double with each operation."""
        self._copied += len(json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode())
        if self._copied > _MOST_COPIED:
            what = "Unable to complete the copy, the accumulated size increase of copy is"
            raise PatchError(f"{what} {self._copied}, exceeding the limit {_MOST_COPIED}", 413)

    def _test(self, operation: MutableObject) -> None:
        path = self._pointer(operation, "path")
        found = self.value if path == "" else self._read(operation, "path")
        self._enter(found, is_whole=True)
        # Scalars are compared in their spelling: 2 is not 2.0.
        if not is_identical(found, operation.get("value")):
            raise _refuse(f"testing value {path} failed: test failed")
