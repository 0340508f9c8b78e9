"""What the bundled schema says of one field: description, type, and how lists and maps merge there."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from django.utils.translation import gettext as _

from applyviz.engine.objects.paths import FieldPath, element_value, render_path
from applyviz.engine.objects.refs import GroupVersionKind
from applyviz.engine.schema.builtin import bundled
from applyviz.engine.schema.model import ListType, MapType, Node


@dataclass(frozen=True, slots=True)
class SchemaNote:
    """One fact about a field."""

    label: str
    text: str


@dataclass(frozen=True, slots=True)
class FieldSchema:
    """Everything that is said of a field."""

    path: str
    description: str
    notes: tuple[SchemaNote, ...]


def _find_node(root: Node | None, path: FieldPath) -> Node | None:
    node = root
    for element in path:
        if node is None:
            return None
        node = node.child(str(element_value(element))) if element[0] == "f" else node.items
    return node


def _describe_merge(node: Node) -> Iterator[str]:
    if node.list_type is ListType.MAP:
        yield _("list whose entries are known by %(keys)s") % {"keys": ", ".join(node.list_map_keys)}
    elif node.list_type is ListType.SET:
        yield _("set: each value once, each with its own owners")
    elif node.type == "array":
        yield _("list that is owned and replaced as a whole")
    if node.map_type is MapType.ATOMIC:
        yield _("map that is owned and replaced as a whole")
    if node.patch_strategy:
        key = f" ({node.patch_merge_key})" if node.patch_merge_key else ""
        yield _("patch strategy %(strategy)s") % {"strategy": ", ".join(node.patch_strategy)} + key


def _list_notes(node: Node) -> Iterator[SchemaNote]:
    if node.type:
        yield SchemaNote(_("Type"), f"{node.type} ({node.format})" if node.format else node.type)
    for text in _describe_merge(node):
        yield SchemaNote(_("Merges as"), text)
    if node.has_default:
        yield SchemaNote(_("Default"), str(node.default))
    if node.enum:
        yield SchemaNote(_("One of"), ", ".join(str(value) for value in node.enum))


def present_schema(gvk: GroupVersionKind, path: FieldPath) -> FieldSchema:
    """What is known of the field; an empty description when nothing is."""
    kind = bundled().find_kind(gvk)
    node = _find_node(kind.root, path) if kind else None
    if node is None:
        return FieldSchema(render_path(path), "", ())
    return FieldSchema(render_path(path), node.description, tuple(_list_notes(node)))
