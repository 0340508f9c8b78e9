"""Match the values of an updated custom resource with the live ones: unchanged values are not validated again.

Rule:
https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definitions/#validation-ratcheting
and `CorrelatedObject` of k8s.io/apiserver: fields of maps are matched by name, entries of lists by their keys; entries
of lists without keys are not matched.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import Enum, auto
from typing import Any, Final, Literal, TypeAlias

from applyviz.engine.objects.values import JSONObject, JSONValue, is_same_json


class _Mark(Enum):
    ABSENT = auto()


Absent: TypeAlias = Literal[_Mark.ABSENT]
ABSENT: Final = _Mark.ABSENT
"""No value of the live object is the one that is replaced."""


def find_child(before: JSONValue | Absent, name: str) -> JSONValue | Absent:
    """Return the value that a field of a map replaces."""
    return before[name] if isinstance(before, Mapping) and name in before else ABSENT


def find_partner(item: JSONValue, before: JSONValue | Absent, schema: JSONObject) -> Any:
    """Return the value that a list entry replaces: the entry with the same keys, if the list has keys."""
    if schema.get("x-kubernetes-list-type") != "map" or not isinstance(before, list):
        return ABSENT
    keys = schema.get("x-kubernetes-list-map-keys") or ()
    wanted = _read_keys(item, keys)
    if wanted is None:
        return ABSENT
    return next((earlier for earlier in before if is_same_json(_read_keys(earlier, keys), wanted)), ABSENT)


def is_kept(value: JSONValue, before: JSONValue, schema: JSONObject) -> bool:
    """Return whether a value equals the one that it replaces; entries with keys may be reordered."""
    if not isinstance(value, list) or schema.get("x-kubernetes-list-type") != "map":
        return is_same_json(value, before)
    if not isinstance(before, list) or len(value) != len(before):
        return False
    return all(is_same_json(item, find_partner(item, before, schema)) for item in value)


def _read_keys(item: JSONValue, keys: Sequence[str]) -> JSONValue:
    """Return the keys of an entry; None if one is missing, because such an entry replaces none."""
    if not isinstance(item, Mapping) or any(key not in item for key in keys):
        return None
    return [item[key] for key in keys]
