"""Where a field stands in its source: from paths by keys to the place in a document.

A document knows positions by plain path (names and indices); reasons name list entries by their keys. What
the document does not have itself stands where the nearest value above it stands.
"""

from __future__ import annotations

from collections.abc import Callable

from applyviz.engine.manifests.documents import ManifestDocument, PlainPath
from applyviz.engine.objects.errors import SourcePosition
from applyviz.engine.objects.paths import FieldPath, PathElement, element_value
from applyviz.engine.objects.values import JSONValue
from applyviz.engine.schema.model import Node
from applyviz.engine.schema.topology import ItemError, Topology, of_root


def make_position_finder(document: ManifestDocument, root: Node | None) -> Callable[[FieldPath], SourcePosition]:
    """A function that gives the source position of a field path in a document."""
    place = of_root(root)
    # Fields of one list ask for the same entries over and over.
    names: dict[PlainPath, dict[PathElement, int]] = {}

    def find(path: FieldPath) -> SourcePosition:
        return document.positions.nearest(_to_plain(place, document.obj, path, names))

    return find


def _to_plain(
    place: Topology | None, value: JSONValue, path: FieldPath, names: dict[PlainPath, dict[PathElement, int]]
) -> PlainPath:
    plain: PlainPath = ()
    for element in path:
        if element[0] == "f" and isinstance(value, dict):
            name = element[2:]
            if name not in value:
                return plain
            place = place.child(name) if place is not None and place.is_map else None
            plain, value = (*plain, name), value[name]
        elif element[0] != "f" and isinstance(value, list):
            position = _find_entry(place, value, element, plain, names)
            if not 0 <= position < len(value):
                return plain
            place = place.item if place is not None else None
            plain, value = (*plain, position), value[position]
        else:
            return plain
    return plain


def _find_entry(
    place: Topology | None,
    entries: list[JSONValue],
    element: PathElement,
    path: PlainPath,
    names: dict[PlainPath, dict[PathElement, int]],
) -> int:
    if element[0] == "i":
        return int(element_value(element))
    if place is None:
        return -1
    known = names.get(path)
    if known is None:
        known = names[path] = {}
        for position, entry in enumerate(entries):
            try:
                known.setdefault(place.name_item(entry), position)
            except ItemError:
                continue
    return known.get(element, -1)
