"""Fields that the schema does not know: strict validation refuses them.

Rule: https://kubernetes.io/docs/reference/using-api/api-concepts/#field-validation. Maps of free keys and
places that keep unknown fields know every name; a kind without a schema is not judged.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from applyviz.engine.hazards.model import Hazard, HazardKind, Severity, Subject
from applyviz.engine.hazards.walking import name_entry, position_of, root_of
from applyviz.engine.manifests.documents import PlainPath
from applyviz.engine.objects.paths import FieldPath, field
from applyviz.engine.objects.values import JSONValue
from applyviz.engine.schema.model import Node

_ROOT_FIELDS = frozenset(("apiVersion", "kind", "metadata"))


def _is_open(node: Node) -> bool:
    return node.preserves_unknown or node.additional is not None or not node.properties


def _unknown(
    value: JSONValue, node: Node | None, path: FieldPath, plain: PlainPath
) -> Iterator[tuple[FieldPath, PlainPath]]:
    if node is None:
        return
    if isinstance(value, Mapping):
        is_open = _is_open(node)
        is_object = not plain or node.is_embedded_resource
        for name, entry in value.items():
            where, at = (*path, field(name)), (*plain, name)
            if node.has_field(name) or is_open:
                yield from _unknown(entry, node.child(name), where, at)
            elif not (is_object and name in _ROOT_FIELDS):
                yield where, at
    elif isinstance(value, list):
        for index, entry in enumerate(value):
            element = name_entry(node, entry, index)
            yield from _unknown(entry, node.items, (*path, element), (*plain, index))


def find(subject: Subject) -> Iterator[Hazard]:
    """Fields of the manifest that its kind does not have."""
    for path, plain in _unknown(subject.manifest, root_of(subject), (), ()):
        facts = {"field": str(plain[-1]), "kind": subject.ref.gvk.kind}
        yield Hazard(HazardKind.UNKNOWN_FIELD, Severity.DANGER, path, facts, position_of(subject, plain))
