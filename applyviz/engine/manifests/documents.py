"""What reading a file gives: documents with positions, and the problems of the others.

Paths are plain here, as a person would write them: `("spec", "containers", 0, "image")`. Values that
YAML changed from what was written, and keys that were written twice, are kept with the document, since
nothing in the object itself tells them any more.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TypeAlias

from applyviz.engine.objects.errors import SourcePosition
from applyviz.engine.objects.refs import ObjectRef
from applyviz.engine.objects.values import JSONValue

PlainPath: TypeAlias = tuple[str | int, ...]


class Retyping(StrEnum):
    """What YAML made of a plain scalar that a person may have meant as text."""

    BOOLEAN = "boolean"
    OCTAL = "octal"
    SEPARATED = "separated digits"
    OTHER_BASE = "number of another base"
    EXPONENT = "number with an exponent"
    FLOAT = "rounded number"
    BIG_INTEGER = "integer above 2^53"
    NULL = "null"
    DATE = "date"


@dataclass(frozen=True, slots=True)
class Retyped:
    """One scalar that YAML read as something else than its text; `is_key` when it is a mapping key."""

    path: PlainPath
    text: str
    value: JSONValue
    retyping: Retyping
    position: SourcePosition = field(default_factory=SourcePosition)
    is_key: bool = False


@dataclass(frozen=True, slots=True)
class DuplicateKey:
    """A key written twice in one mapping: the last one wins, silently in kubectl."""

    path: PlainPath
    first: SourcePosition
    second: SourcePosition


# A position tree is (line, column, children); children are keyed by field name or index.
PositionTree: TypeAlias = tuple[int, int, Mapping[str | int, "PositionTree"] | None]


@dataclass(frozen=True, slots=True)
class Positions:
    """Where each value of a document stands in its file: looked up by plain path."""

    file: str
    tree: PositionTree = (0, 0, None)

    def find(self, path: PlainPath) -> SourcePosition | None:
        """The position of the value at `path`; for a field, where its key stands. None when absent."""
        node = self.tree
        for step in path:
            children = node[2]
            if children is None or step not in children:
                return None
            node = children[step]
        return SourcePosition(self.file, node[0], node[1])

    def nearest(self, path: PlainPath) -> SourcePosition:
        """The position of the value at `path`, or of the nearest value above it."""
        node = self.tree
        for step in path:
            children = node[2]
            if children is None or step not in children:
                break
            node = children[step]
        return SourcePosition(self.file, node[0], node[1])


@dataclass(frozen=True, slots=True)
class ManifestDocument:
    """One object of a file, with everything a page can point at.

    - `position`: where the object starts; `end_line`: its last line (of the list item, for List kinds).
    - `list_kind`: the kind of the List it was an item of, "" when it stood alone.
    """

    obj: Mapping[str, JSONValue]
    position: SourcePosition
    end_line: int
    positions: Positions
    retyped: tuple[Retyped, ...] = ()
    duplicates: tuple[DuplicateKey, ...] = ()
    list_kind: str = ""

    @property
    def ref(self) -> ObjectRef:
        """Which object it is, by its own metadata."""
        return ObjectRef.from_object(self.obj)


@dataclass(frozen=True, slots=True)
class Problem:
    """A document that cannot be read or applied; the others go on."""

    reason: str
    position: SourcePosition = field(default_factory=SourcePosition)
    path: PlainPath = ()

    def __str__(self) -> str:
        return f"{self.position}: {self.reason}"


@dataclass(frozen=True, slots=True)
class ParsedFile:
    """All documents of one file in order, and what could not be read."""

    file: str
    documents: tuple[ManifestDocument, ...] = ()
    problems: tuple[Problem, ...] = ()
