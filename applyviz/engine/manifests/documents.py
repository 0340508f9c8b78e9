"""The result of parsing a file: documents with positions, and the problems of invalid documents.

Paths are plain here, as a person would write them: `("spec", "containers", 0, "image")`. Values that YAML retyped, and
duplicate keys, are kept with the document, because the object itself no longer shows them.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, TypeAlias

import msgspec

from applyviz.engine.objects.errors import SourcePosition
from applyviz.engine.objects.paths import FieldPath
from applyviz.engine.objects.paths import field as field_step
from applyviz.engine.objects.paths import index as index_step
from applyviz.engine.objects.refs import ObjectRef
from applyviz.engine.objects.values import JSONObject, JSONValue

PlainPath: TypeAlias = tuple[str | int, ...]


def to_field_path(path: PlainPath) -> FieldPath:
    """Write a plain path in the spelling of field paths: fields and indices."""
    return tuple(index_step(s) if isinstance(s, int) else field_step(s) for s in path)


class Retyping(StrEnum):
    """The type that YAML gave to a plain scalar that the author may have meant as text."""

    BOOLEAN = "boolean"
    OCTAL = "octal"
    LEADING_ZERO = "leading-zero"
    SEPARATED = "separated-digits"
    OTHER_BASE = "other-base"
    EXPONENT = "exponent"
    FLOAT = "rounded"
    BIG_INTEGER = "big-integer"
    NULL = "null"
    DATE = "date"


class Retyped(msgspec.Struct, frozen=True):
    """One scalar that YAML did not read as text; `is_key` if it is a mapping key."""

    path: PlainPath
    text: str
    value: Any
    retyping: Retyping
    position: SourcePosition = msgspec.field(default_factory=SourcePosition)
    is_key: bool = False


class DuplicateKey(msgspec.Struct, frozen=True):
    """A key written twice in one mapping: the last one wins, silently in kubectl."""

    path: PlainPath
    first: SourcePosition
    second: SourcePosition


# A position tree is a mark for a scalar, a dict by key for a mapping, a list for a list; the mark of a mapping is
# under the empty key, that of a list in front. A mark is line and column in one number. A file has a position for every
# value: this form needs few objects, and most of them are not tracked by the garbage collector.
PositionTree: TypeAlias = int | dict[str, Any] | list[Any]
OWN = ""
_COLUMN_BITS = 32
_COLUMNS = (1 << _COLUMN_BITS) - 1


def make_mark(line: int, column: int) -> int:
    """Return line and column in one number."""
    return line << _COLUMN_BITS | column


def find_mark(tree: PositionTree) -> int:
    """Return the mark at the root of a tree."""
    if isinstance(tree, int):
        return tree
    return int(tree[OWN] if isinstance(tree, dict) else tree[0])


def read_position(tree: PositionTree, file: str) -> SourcePosition:
    """Return the position at the root of a tree; a mark is a tree too."""
    mark = tree if type(tree) is int else find_mark(tree)
    return SourcePosition(file, mark >> _COLUMN_BITS, mark & _COLUMNS)


def put_mark(mark: int, positions: Any) -> PositionTree:
    """Return the tree of a value at a mark: `places` holds the trees below it, None for a scalar.

    - Adds the mark to `places` itself.
    """
    if positions is None:
        return mark
    positions[OWN if type(positions) is dict else 0] = mark
    tree: PositionTree = positions
    return tree


def _find_child(tree: PositionTree, step: str | int) -> PositionTree | None:
    if isinstance(tree, dict):
        return tree.get(step) if isinstance(step, str) else None
    if isinstance(tree, int) or not isinstance(step, int) or not 0 <= step < len(tree) - 1:
        return None
    child: PositionTree = tree[step + 1]
    return child


class Positions(msgspec.Struct, frozen=True):
    """Source positions of the values of a document, looked up by plain path."""

    file: str
    tree: PositionTree = 0

    def find(self, path: PlainPath) -> SourcePosition | None:
        """Return the position of the value at `path` (for a field, of its key), None if absent."""
        node, depth = self._walk(path)
        return read_position(node, self.file) if depth == len(path) else None

    def nearest(self, path: PlainPath) -> SourcePosition:
        """Return the position of the value at `path`, or of the nearest value above it."""
        node, _ = self._walk(path)
        return read_position(node, self.file)

    def subtree(self, path: PlainPath) -> PositionTree:
        """Return the part of the tree at `path`, or at the nearest value above it."""
        return self._walk(path)[0]

    def _walk(self, path: PlainPath) -> tuple[PositionTree, int]:
        node = self.tree
        for depth, step in enumerate(path):
            child = _find_child(node, step)
            if child is None:
                return node, depth
            node = child
        return node, len(path)


class PatchType(StrEnum):
    """The types of patches, as `kubectl patch --type` names them."""

    STRATEGIC = "strategic"
    MERGE = "merge"
    JSON = "json"


class ObjectPatch(msgspec.Struct, frozen=True):
    """A patch that a person wrote: its body, a map of fields or a list of operations, and where it is sent."""

    type: PatchType
    body: JSONValue
    subresource: str = ""


class ManifestDocument(msgspec.Struct, frozen=True):
    """One object of a file, with everything that a page can point at.

    - `position`: where the object starts; `end_line`: its last line (of the list item, for List kinds).
    - `list_kind`: the kind of the List that contained it, "" if it was a separate document.
    - `patch`: set for a patch document; `obj` is then its target, with the values that the patch sets.
    """

    obj: JSONObject
    position: SourcePosition
    end_line: int
    positions: Positions
    retyped: tuple[Retyped, ...] = ()
    duplicates: tuple[DuplicateKey, ...] = ()
    list_kind: str = ""
    patch: ObjectPatch | None = None

    @property
    def ref(self) -> ObjectRef:
        """The reference of the object, from its own metadata."""
        return ObjectRef.from_object(self.obj)


@dataclass(frozen=True, slots=True)
class DocumentProblem:
    """A document that cannot be read or applied; the others are still read.

    - `document`: the object nevertheless, if only its apiVersion is missing; kubectl goes on with it when validation is
      off. It is not part of the equality of problems.
    - `advice`: what to do about it, where that is known; `reason` is what kubectl says.
    """

    reason: str
    position: SourcePosition = field(default_factory=SourcePosition)
    path: FieldPath = ()
    document: ManifestDocument | None = field(default=None, compare=False)
    advice: str = ""

    def __str__(self) -> str:
        return f"{self.position}: {self.reason}"

    @property
    def explanation(self) -> str:
        """The advice with the words of kubectl behind it; without advice its words alone."""
        return f"{self.advice} ({self.reason})" if self.advice else self.reason


class ParsedFile(msgspec.Struct, frozen=True):
    """All documents of one file in order, and the problems of those that cannot be read.

    - `kubectl_stops_after`: the number of documents that kubectl reads before it gives up; None if it reads them all.
    - `channel`: the kOps channel in the file, which is no object (`engine/channels/reading.py`).
    """

    file: str
    documents: tuple[ManifestDocument, ...] = ()
    problems: tuple[DocumentProblem, ...] = ()
    kubectl_stops_after: int | None = None
    channel: ManifestDocument | None = None
