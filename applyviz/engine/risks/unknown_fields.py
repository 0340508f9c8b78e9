"""Fields that the schema does not declare: strict validation refuses them.

Rule: https://kubernetes.io/docs/reference/using-api/api-concepts/#field-validation. Maps with free keys, and values
that preserve unknown fields, allow every name; a kind without a schema is not checked. A null in a client-side patch
removes nothing there, and the merged object does not have the field, so the server accepts it. It obeys the directives
of a patch and stores nothing of them, but kubectl records them as last applied.
"""

from __future__ import annotations

import json
from collections.abc import Iterator

from applyviz.engine.objects.known_names import LAST_APPLIED
from applyviz.engine.risks.model import Facts, Risk, RiskKind, RiskLevel, RiskSubject, Templates
from applyviz.engine.risks.repeating import is_directive
from applyviz.engine.risks.rules import rule
from applyviz.engine.risks.walking import path_of, position_of, texts_of
from applyviz.engine.schema.model import Node

_ROOT_FIELDS = frozenset(("apiVersion", "kind", "metadata"))


def _describe(f: Facts) -> Templates:
    if f.get("how") == "directive":
        sent = "{field} is a directive of a patch, not a field of {kind}: kubectl may not send the fields next to it, "
        return (sent + "and last-applied keeps it, so a later apply may be refused or change something else.",)
    return ("{kind} has no field {field} here, so strict validation rejects the object.",)


UNKNOWN_FIELD = RiskKind(
    "unknown-field",
    "Unknown field",
    _describe,
    level=RiskLevel.HIGH,
)


def _is_open(node: Node) -> bool:
    return node.preserves_unknown or node.additional is not None or not node.properties


def _find_directives(subject: RiskSubject) -> Iterator[Risk]:
    """Yield the directives that kubectl records; an apply that sends nothing records nothing."""
    recorded = texts_of(subject.result, "annotations").get(LAST_APPLIED, "")
    for where, value, node in subject.containers:
        for name in value if node is not None and type(value) is not list else ():
            if is_directive(name) and json.dumps(name) in recorded:
                plain = (*where, name)
                facts = {"field": name, "kind": subject.ref.gvk.kind, "how": "directive"}
                path, position = path_of(subject, plain), position_of(subject, plain)
                yield UNKNOWN_FIELD.at(path, facts, position)


@rule(20)
def find(subject: RiskSubject) -> Iterator[Risk]:
    """Yield the fields of the manifest that its kind does not have."""
    is_merged = not subject.is_server_side and subject.live is not None and not subject.is_merge_only
    if is_merged and subject.kind is not None and subject.kind.is_strategic:
        yield from _find_directives(subject)
    for where, value, node in subject.containers:
        if node is None or type(value) is list or _is_open(node) or value.keys() <= node.properties.keys():
            continue
        is_object = not where or node.is_embedded_resource
        for name, wanted in value.items():
            if is_merged and (wanted is None or is_directive(name)):
                continue
            if not node.has_field(name) and not (is_object and name in _ROOT_FIELDS):
                plain = (*where, name)
                facts = {"field": name, "kind": subject.ref.gvk.kind}
                path, position = path_of(subject, plain), position_of(subject, plain)
                yield UNKNOWN_FIELD.at(path, facts, position)
