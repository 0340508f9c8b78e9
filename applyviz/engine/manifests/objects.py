"""Convert a document to the objects in it: flatten lists and check identity, with kubectl's messages.

Rule: unstructured decoding of k8s.io/apimachinery (anything with `items` is a list; its items may inherit apiVersion
and kind from the list; a list in a list cannot be read), the metadata check of k8s.io/cli-runtime (names are text,
labels hold text), the segments of client-go (a name that is no segment of a path is refused), and `kubectl apply`
(`generateName` is refused).
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, TypeVar

from applyviz.engine.manifests.addresses import list_address_parts
from applyviz.engine.manifests.documents import (
    DuplicateKey,
    ManifestDocument,
    PlainPath,
    Positions,
    Retyped,
    read_position,
    to_field_path,
)
from applyviz.engine.manifests.metadata import TypeProblem, find_type_problem, name_of_type
from applyviz.engine.manifests.tree_parts import Tree
from applyviz.engine.objects.errors import ManifestError
from applyviz.engine.objects.request_paths import find_segment_problem
from applyviz.engine.objects.structs import replace
from applyviz.engine.objects.values import JSONObject, JSONValue


def _as_text(value: JSONValue) -> str:
    return value if isinstance(value, str) else ""


_Note = TypeVar("_Note", Retyped, DuplicateKey)
_NO_VERSION = "apiVersion not set"
_NO_NAME = "resource name may not be empty"
_SHOWN = 40  # of a scalar, the characters that advice repeats
# The endings of the reasons that keep kubectl from reading the rest of a file.
UNIDENTIFIED = ("not set", "not set]", "isn't string type", "unstructured.detector")


@dataclass(eq=False)
class UnversionedError(ManifestError):
    """A document without apiVersion, which some readers accept nevertheless."""

    document: ManifestDocument | None = None


def _below(notes: tuple[_Note, ...], path: PlainPath) -> tuple[_Note, ...]:
    depth = len(path)
    if not depth:
        return notes
    return tuple(replace(n, path=n.path[depth:]) for n in notes if n.path[:depth] == path)


def _find_unidentified(obj: JSONObject) -> str:
    """Return which of apiVersion and kind is missing, in kubectl's words, or ""."""
    found = []
    for name in ("apiVersion", "kind"):
        value = obj.get(name)
        if value is None:
            found.append(f"{name} not set")
        elif not isinstance(value, str):
            found.append(f"{name} isn't string type")
        elif not value:
            found.append(f"{name} is empty")
    return found[0] if len(found) == 1 else f"[{', '.join(found)}]" if found else ""


def _describe_entry(list_kind: str, kind: str) -> str:
    """Return why an entry without a name cannot be applied, for an object that kubectl reads as a list."""
    return (
        f"{_NO_NAME}: kubectl reads {list_kind} as a list, because it has the field items, and this entry as an "
        f"object of kind {kind}. kubectl cannot apply another kind with this field"
    )


class DocumentReader:
    """Converts one tree to documents; each invalid object is a separate error.

    - `number`: which document of the file it is.
    """

    def __init__(self, tree: Tree, file: str, end_line: int, number: int = 1) -> None:
        self._tree = tree
        self._end_line = end_line
        self._number = number
        self._positions = Positions(file, tree.positions)

    def read(self) -> Iterator[ManifestDocument | ManifestError]:
        """Yield the objects of the document in order."""
        value = self._tree.value
        if not isinstance(value, dict):
            kind = name_of_type(value)
            yield self._error(f"json: cannot unmarshal {kind} into Go value of type unstructured.detector")
        elif "items" in value:
            yield from self._read_list(value)
        else:
            yield self._read_object(value, (), self._end_line)

    def _error(self, reason: str, path: PlainPath = ()) -> ManifestError:
        return ManifestError(reason, self._positions.nearest(path), to_field_path(path))

    def _refuse_metadata(self, problem: TypeProblem, meta: JSONValue, path: PlainPath) -> ManifestError:
        where = (*path, *problem.path)
        return replace(self._error(problem.reason, where), advice=self._advise_quotes(problem, meta, where))

    def _advise_quotes(self, problem: TypeProblem, meta: JSONValue, where: PlainPath) -> str:
        """Return how a boolean or a number becomes the text that belongs there; "" for other values."""
        value: Any = meta
        for step in problem.path:
            value = value[step]
        if not problem.reason.endswith(" of type string") or not isinstance(value, bool | int | float):
            return ""
        written = next((n.text for n in self._tree.retyped if n.path == where and not n.is_key), "")
        if written:
            return f"`{written[:_SHOWN]}` is read as {json.dumps(value)}: quote it"
        return f"`{json.dumps(value)}` is read as a {'boolean' if isinstance(value, bool) else 'number'}: quote it"

    def _read_list(self, value: JSONObject) -> Iterator[ManifestDocument | ManifestError]:
        items = value["items"]
        unidentified = _find_unidentified(value)
        problem = find_type_problem(value.get("metadata"))
        if unidentified:
            yield self._error(unidentified)
        elif problem is not None:
            yield self._refuse_metadata(problem, value.get("metadata"), ("metadata",))
        elif items is None:
            return
        elif not isinstance(items, list):
            kind = name_of_type(items)
            reason = f"json: cannot unmarshal {kind} into Go struct field decodeList.items of type []json.RawMessage"
            yield self._error(reason, ("items",))
        else:
            yield from self._read_items(value, items)

    def _read_items(self, value: JSONObject, items: list[Any]) -> Iterator[ManifestDocument | ManifestError]:
        list_kind = _as_text(value.get("kind"))
        inherited = {
            "apiVersion": _as_text(value.get("apiVersion")),
            "kind": list_kind.removesuffix("List"),
        }
        broken = [error for index, item in enumerate(items) if (error := self._find_item_error(item, index))]
        if broken:  # kubectl drops the whole list if one item is not an object, or is a list itself
            yield from broken
            return
        end_lines = self._end_lines(len(items))
        for index, item in enumerate(items):
            entry = item or {}
            inherits = not _as_text(entry.get("kind")) and not _as_text(entry.get("apiVersion"))
            found = self._read_object({**entry, **inherited} if inherits else entry, ("items", index), end_lines[index])
            if isinstance(found, ManifestDocument):
                yield replace(found, list_kind=list_kind)
            elif inherits and found.reason == _NO_NAME:  # more often an object with `items` than a list
                yield replace(found, reason=_describe_entry(list_kind, inherited["kind"]))
            else:
                yield found

    def _find_item_error(self, item: JSONValue, index: int) -> ManifestError | None:
        """Return why an item of a list cannot be read as an object, None if it can."""
        if item is not None and not isinstance(item, dict):
            kind = name_of_type(item)
            reason = f"json: cannot unmarshal {kind} into Go value of type map[string]interface {{}}"
            return self._error(reason, ("items", index))
        if item and "items" in item:
            return self._error("a list inside a list cannot be read: no Items field in this object", ("items", index))
        return None

    def _end_lines(self, count: int) -> list[int]:
        # An item ends on the line before the next one starts; the last one with the document.
        starts = [self._positions.nearest(("items", n)).line for n in range(1, count)]
        return [max(line - 1, 1) for line in starts] + [self._end_line]

    def _read_object(self, obj: JSONObject, path: PlainPath, end_line: int) -> ManifestDocument | ManifestError:
        error = self._find_identity_error(obj, path)
        if error is not None and error.reason != _NO_VERSION:
            return error
        tree = self._positions.subtree(path)
        item = next((step + 1 for step in path if isinstance(step, int)), 0)
        position = replace(read_position(tree, self._positions.file), document=self._number, item=item)
        document = ManifestDocument(
            obj,
            position,
            end_line,
            Positions(self._positions.file, tree),
            _below(self._tree.retyped, path),
            _below(self._tree.duplicates, path),
        )
        return UnversionedError(error.reason, error.position, error.path, document) if error is not None else document

    def _find_identity_error(self, obj: JSONObject, path: PlainPath) -> ManifestError | None:
        unidentified = _find_unidentified(obj)
        if unidentified:
            return self._error(unidentified, path)
        problem = find_type_problem(obj.get("metadata"))
        if problem is not None:
            return self._refuse_metadata(problem, obj.get("metadata"), (*path, "metadata"))
        return self._find_name_error(obj, path)

    def _find_name_error(self, obj: JSONObject, path: PlainPath) -> ManifestError | None:
        meta = obj.get("metadata") or {}
        where: PlainPath = (*path, "metadata")
        if meta.get("name"):
            return self._find_address_error(obj, path)
        generated = _as_text(meta.get("generateName"))
        if generated:
            reason = f"from {generated}: cannot use generate name with apply"
            return self._error(reason, (*where, "generateName"))
        return self._error(_NO_NAME, where)

    def _find_address_error(self, obj: JSONObject, path: PlainPath) -> ManifestError | None:
        """Return the first part of the object's address that would lead somewhere else in the path of a request."""
        for part in list_address_parts(obj):
            problem = find_segment_problem(part.text)
            if problem:
                return self._error(f'invalid {part.what} "{part.text}": [{problem}]', (*path, *part.path))
        return None
