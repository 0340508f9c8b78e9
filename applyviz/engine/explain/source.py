"""Find the source positions of manifest fields while walking down the object; each step is taken once.

Field paths name list entries by key, files by position: entries are named here as ownership names them, with the
defaults of their keys. A path that the file does not contain gets the nearest position above it.
"""

from __future__ import annotations

from typing import Any

from applyviz.engine.manifests.documents import ManifestDocument, PositionTree, find_mark, read_position
from applyviz.engine.objects.errors import SourcePosition
from applyviz.engine.objects.paths import FieldPath, PathElement
from applyviz.engine.objects.values import JSONValue
from applyviz.engine.schema.topology import ItemError, Topology


class SourceSpot:
    """One node of a file, with the value that is written there."""

    __slots__ = ("_file", "_indices", "_tree", "_value")

    def __init__(self, file: str, tree: PositionTree, value: JSONValue) -> None:
        self._file = file
        self._tree = tree
        self._value = value
        self._indices: dict[PathElement, int] | None = None

    @property
    def position(self) -> SourcePosition:
        """The position of the node itself, or of the nearest node above it."""
        return read_position(self._tree, self._file)

    def locate(self, name: str) -> SourcePosition:
        """Return the position of a field below."""
        tree = self._tree
        below = tree.get(name) if isinstance(tree, dict) else None
        return read_position(tree if below is None else below, self._file)

    def enter(self, topology: Topology, element: PathElement) -> SourceSpot:
        """Return the spot one step down; `place` is the topology of this spot."""
        tree, value = self._tree, self._value
        if isinstance(tree, dict):
            name = element[2:]
            if name in tree:
                return SourceSpot(self._file, tree[name], value.get(name) if isinstance(value, dict) else None)
        elif isinstance(tree, list) and isinstance(value, list):
            index = self._find_index(topology, value, element)
            if index is not None:
                return SourceSpot(self._file, tree[index + 1], value[index])
        return SourceSpot(self._file, find_mark(tree), None)

    def _find_index(self, topology: Topology, items: list[Any], element: PathElement) -> int | None:
        if self._indices is None:
            self._indices = _index_items(topology, items)
        return self._indices.get(element)


def drop_null_keys(topology: Topology, item: JSONValue) -> JSONValue:
    """Return an entry of a list as the server reads it: a key that is null gets its default."""
    if not isinstance(item, dict) or all(item.get(name, "") is not None for name in topology.keys):
        return item
    return {name: value for name, value in item.items() if value is not None or name not in topology.keys}


def _index_items(topology: Topology, items: list[Any]) -> dict[PathElement, int]:
    """Return the first index of each entry that has a name."""
    found: dict[PathElement, int] = {}
    for index, item in enumerate(items):
        try:
            found.setdefault(topology.name_item(drop_null_keys(topology, item)), index)
        except ItemError:
            continue
    return found


def start(document: ManifestDocument | None) -> SourceSpot:
    """Return the spot of a whole document; without a document every position is unknown."""
    if document is None:
        return SourceSpot("", 0, None)
    return SourceSpot(document.positions.file, document.positions.tree, document.obj)


def locate(document: ManifestDocument, topology: Topology, path: FieldPath) -> SourcePosition:
    """Return the position of one field path."""
    spot = start(document)
    below: Topology | None = topology
    for element in path:
        if below is None:
            break
        spot = spot.enter(below, element)
        below = below.child(element[2:]) if element[0] == "f" else below.item
    return spot.position
