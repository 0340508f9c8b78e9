"""Fields that the schema does not declare: strict validation refuses them.

Rule: https://kubernetes.io/docs/reference/using-api/api-concepts/#field-validation. Maps with free keys, and values
that preserve unknown fields, allow every name; a kind without a schema is not checked. A null in a client-side patch
removes nothing there, and the merged object does not have the field, so the server accepts it.
"""

from __future__ import annotations

from collections.abc import Iterator

from applyviz.engine.risks.model import Risk, RiskKind, RiskLevel, RiskSubject
from applyviz.engine.risks.rules import rule
from applyviz.engine.risks.walking import path_of, position_of
from applyviz.engine.schema.model import Node

_ROOT_FIELDS = frozenset(("apiVersion", "kind", "metadata"))


UNKNOWN_FIELD = RiskKind(
    "unknown-field",
    "Unknown field",
    "{kind} has no field {field} here, so strict validation rejects the object.",
    level=RiskLevel.HIGH,
)


def _is_open(node: Node) -> bool:
    return node.preserves_unknown or node.additional is not None or not node.properties


@rule(20)
def find(subject: RiskSubject) -> Iterator[Risk]:
    """Yield the fields of the manifest that its kind does not have."""
    is_merged = not subject.is_server_side and subject.live is not None and not subject.is_merge_only
    for where, value, node in subject.containers:
        if node is None or type(value) is list or _is_open(node) or value.keys() <= node.properties.keys():
            continue
        is_object = not where or node.is_embedded_resource
        for name, wanted in value.items():
            if wanted is None and is_merged:
                continue
            if not node.has_field(name) and not (is_object and name in _ROOT_FIELDS):
                plain = (*where, name)
                facts = {"field": name, "kind": subject.ref.gvk.kind}
                path, position = path_of(subject, plain), position_of(subject, plain)
                yield UNKNOWN_FIELD.at(path, facts, position)
