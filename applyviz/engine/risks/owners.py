"""Read the owners of a field from managedFields.

Rule: https://kubernetes.io/docs/reference/using-api/server-side-apply/#field-management. An unreadable entry proves
nothing, so it is left out here and no rule draws conclusions from it.
"""

from __future__ import annotations

from collections.abc import Mapping

from applyviz.engine.objects.paths import FieldPath
from applyviz.engine.objects.values import JSONObject
from applyviz.engine.risks.model import RiskSubject
from applyviz.engine.risks.walking import metadata_of


def list_entries(obj: JSONObject | None) -> list[JSONObject]:
    """Return the readable managedFields entries of an object."""
    entries = metadata_of(obj).get("managedFields")
    return [e for e in entries if isinstance(e, Mapping)] if isinstance(entries, list) else []


def fields_of(entry: JSONObject) -> JSONObject:
    """Return the fields that an entry owns, {} if they cannot be read."""
    found = entry.get("fieldsV1")
    return found if isinstance(found, Mapping) else {}


def is_ours(entry: JSONObject, subject: RiskSubject) -> bool:
    """Return whether an entry belongs to this field manager, or is taken over before the apply."""
    manager, operation = entry.get("manager"), entry.get("operation")
    is_applied = manager == subject.field_manager and operation == "Apply"
    is_taken = manager in subject.taken_managers and operation == "Update"
    return (is_applied or is_taken) and not entry.get("subresource")


def owns_at(entry: JSONObject, path: FieldPath) -> bool:
    """Return whether an entry owns a field, or anything below it."""
    node: object = fields_of(entry)
    for element in path:
        if not isinstance(node, Mapping) or element not in node:
            return False
        node = node[element]
    return True


def is_sole_owner(subject: RiskSubject, path: FieldPath) -> bool:
    """Return whether this field manager is the only owner of a field, so that dropping the field removes it."""
    owning = [e for e in list_entries(subject.live) if owns_at(e, path)]
    return bool(owning) and all(is_ours(e, subject) for e in owning)
