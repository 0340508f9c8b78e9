"""The parts of patches: what the operations of a JSON patch write, and the directives of a strategic merge patch."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from applyviz.engine.objects.values import JSONObject, JSONValue

_DIRECTIVES = frozenset({"delete", "replace", "merge"})


def is_directive(name: str, content: JSONValue) -> bool:
    """Return whether a field is a directive of a strategic merge patch."""
    return name == "$patch" and isinstance(content, str) and content in _DIRECTIVES


def read_pointer(pointer: str) -> list[str]:
    """Return the keys of a JSON pointer."""
    return [k.replace("~1", "/").replace("~0", "~") for k in pointer.split("/")[1:]]


def write_at(pointer: str, value: JSONValue) -> JSONValue:
    """Return the object that holds a value at a JSON pointer, and nothing else."""
    whole: JSONValue = value
    for key in reversed(read_pointer(pointer)):
        whole = {key: whole}
    return whole


def list_written(operations: JSONValue) -> Iterator[JSONObject]:
    """Yield what each operation of a JSON patch writes, as a part of the object."""
    for operation in operations if isinstance(operations, list) else ():
        pointer = operation.get("path") if isinstance(operation, Mapping) else None
        whole = write_at(pointer, operation.get("value")) if isinstance(pointer, str) else None
        if isinstance(whole, Mapping):
            yield whole
