"""Walk an object along its schema: every list and mapping with its plain path and its node.

Entries of map lists are named by their keys (`k:`) as ownership names them, other entries by index; source positions
are looked up by the plain path.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import zip_longest
from typing import Any, NamedTuple

from applyviz.engine.diff.structural import is_same_at
from applyviz.engine.manifests.documents import PlainPath
from applyviz.engine.objects.errors import SourcePosition
from applyviz.engine.objects.paths import FieldPath, PathElement, index, key
from applyviz.engine.objects.paths import field as field_step
from applyviz.engine.objects.values import JSONObject, JSONValue, get_at
from applyviz.engine.risks.model import RiskSubject
from applyviz.engine.schema.model import ListType, Node


class ManifestField(NamedTuple):
    """One value of an object: its path, its value, and its schema (None if unknown)."""

    path: FieldPath
    plain: PlainPath
    value: Any
    node: Node | None


def list_keys(node: Node | None) -> tuple[str, ...]:
    """Return the key fields that identify entries of a list, () for other lists."""
    return node.list_map_keys if node is not None and node.list_type is ListType.MAP else ()


def name_entry(node: Node | None, item: JSONValue, position: int) -> PathElement:
    """Return the path element of a list entry: by its keys if it has them all, else by index."""
    keys = list_keys(node)
    if not keys or not isinstance(item, Mapping):
        return index(position)
    found: dict[str, JSONValue] = {}
    for name in keys:
        shape = node.items.child(name) if node is not None and node.items is not None else None
        if item.get(name) is None and shape is not None and shape.has_default:
            found[name] = shape.default
        elif name in item:
            found[name] = item[name]
    return key(found) if found else index(position)


def find_field(subject: RiskSubject, plain: PlainPath) -> ManifestField | None:
    """Return the field of a plain path in the manifest, with its schema; None if the manifest does not have it."""
    value: JSONValue = subject.manifest
    node = root_of(subject)
    path: FieldPath = ()
    for step in plain:
        if isinstance(value, Mapping) and isinstance(step, str) and step in value:
            node, path, value = (
                node.child(step) if node is not None else None,
                (*path, field_step(step)),
                value[step],
            )
        elif isinstance(value, list) and isinstance(step, int) and step < len(value):
            path, value = (*path, name_entry(node, value[step], step)), value[step]
            node = node.items if node is not None else None
        else:
            return None
    return ManifestField(path, plain, value, node)


def path_of(subject: RiskSubject, plain: PlainPath) -> FieldPath:
    """Return the field path of a plain path of the manifest."""
    field = find_field(subject, plain)
    return field.path if field is not None else field_path(plain)


def root_of(subject: RiskSubject) -> Node | None:
    """Return the root schema of the subject's kind."""
    return subject.kind.root if subject.kind is not None else None


def position_of(subject: RiskSubject, plain: PlainPath) -> SourcePosition:
    """Return where the manifest sets a value, or the nearest one above it; no position without a document."""
    if subject.document is None:
        return SourcePosition()
    return subject.document.positions.nearest(plain)


def field_path(plain: PlainPath) -> FieldPath:
    """Return a plain path of fields and indices as a field path."""
    return tuple(index(step) if isinstance(step, int) else field_step(step) for step in plain)


def metadata_of(obj: JSONObject | None) -> JSONObject:
    """Return the metadata of an object, {} if it has none."""
    meta = obj.get("metadata") if obj is not None else None
    return meta if isinstance(meta, Mapping) else {}


def map_at(obj: JSONValue, *keys: str) -> JSONObject:
    """Return the map at a path of an untrusted object, {} if there is none."""
    found = get_at(obj, keys)
    return found if isinstance(found, Mapping) else {}


def list_at(obj: JSONValue, *keys: str) -> list[JSONValue]:
    """Return the list at a path of an untrusted object, [] if there is none."""
    found = get_at(obj, keys)
    return found if isinstance(found, list) else []


def texts_of(obj: JSONObject | None, name: str) -> Mapping[str, str]:
    """Return the labels or annotations of an object whose values are text."""
    entries = metadata_of(obj).get(name)
    if not isinstance(entries, Mapping):
        return {}
    return {k: v for k, v in entries.items() if isinstance(v, str)}


def is_within(part: JSONValue, whole: JSONValue) -> bool:
    """Return whether `whole` contains `part`: maps may have further keys, lists have equally many entries."""
    if isinstance(part, Mapping):
        return isinstance(whole, Mapping) and all(k in whole and is_within(v, whole[k]) for k, v in part.items())
    if isinstance(part, list):
        return (
            isinstance(whole, list)
            and len(part) == len(whole)
            and all(is_within(a, b) for a, b in zip(part, whole, strict=True))
        )
    return type(part) is type(whole) and bool(part == whole)


def begins_with(given: JSONValue, asked: JSONValue) -> bool:
    """Return whether a list begins with all entries of another and has more: admission adds tolerations to a pod's."""
    if not isinstance(asked, list) or not isinstance(given, list) or not asked:
        return False
    return len(given) > len(asked) and is_within(asked, given[: len(asked)])


def respell(value: JSONValue, live: JSONValue, root: Node | None, path: FieldPath = ()) -> Any:
    """Return a version of an object with each amount as live has it, where it is the same one.

    - `root`: the schema, which says what is an amount. The server compares amounts, not their spellings.
    """
    if isinstance(value, Mapping) and isinstance(live, Mapping):
        return {n: respell(v, live[n], root, (*path, field_step(n))) if n in live else v for n, v in value.items()}
    if isinstance(value, list) and isinstance(live, list):
        pairs = zip(value, live, strict=False)
        known = [respell(v, old, root, (*path, index(n))) for n, (v, old) in enumerate(pairs)]
        return [*known, *value[len(known) :]]
    return live if is_same_at(root, path, value, live) else value


def keep_readable(value: JSONValue, live: JSONValue, node: Node | None) -> Any:
    """Return a version of an object without what a server cannot read, so that only the rest is compared with live.

    - Left out are fields that the schema does not declare; what is no map or list where live has one is as live.
    """
    if isinstance(value, Mapping) and isinstance(live, Mapping | None):
        old = live or {}
        is_closed = node is not None and bool(node.properties) and not node.preserves_unknown and not node.additional
        kept = (n for n in value if not is_closed or n in old or node is None or node.has_field(n))
        return {n: keep_readable(value[n], old.get(n), node.child(n) if node is not None else None) for n in kept}
    if isinstance(value, list) and isinstance(live, list | None):
        entries = node.items if node is not None else None
        return [keep_readable(item, old, entries) for item, old in zip_longest(value, (live or ())[: len(value)])]
    return live if value is not None and isinstance(live, Mapping | list) else value


def fill_from_live(result: JSONValue, live: JSONValue) -> Any:
    """Return a merge with what only live has: a server defaults what a merge lacks."""
    if isinstance(result, Mapping) and isinstance(live, Mapping):
        filled = {name: fill_from_live(value, live[name]) if name in live else value for name, value in result.items()}
        return {**live, **filled}
    if isinstance(result, list) and isinstance(live, list) and len(result) == len(live):
        return [fill_from_live(item, old) for item, old in zip(result, live, strict=True)]
    return result


def fill_entries(result: JSONObject, live: JSONObject) -> JSONObject:
    """Return a merge whose entries of lists have what only those of live have."""
    filled = {}
    for name, value in result.items():
        old = live.get(name)
        if isinstance(value, Mapping) and isinstance(old, Mapping):
            filled[name] = fill_entries(value, old)
        else:
            filled[name] = fill_from_live(value, old)
    return filled
