"""Drop the parts of an object that no apply determines: versions, times and reports of controllers.

Rule: `docs/architecture.md`, invariant 1: a new resourceVersion alone is no reason to stop, and neither is a status, a
time, or the order of managedFields entries. Used to compare objects and to compute the digest of an effect.
"""

from __future__ import annotations

from collections.abc import Mapping

from applyviz.engine.objects.values import JSONObject, JSONValue, canonical_json, is_same_json

_IDENTITY = ("manager", "operation", "apiVersion", "subresource")
_NOISE = frozenset(("resourceVersion", "generation", "creationTimestamp", "deletionTimestamp", "selfLink"))


def _name_entry(entry: Mapping[str, JSONValue]) -> str:
    return canonical_json([entry.get(name) or "" for name in _IDENTITY])


def _quiet_entries(entries: JSONValue) -> JSONValue:
    """Return managedFields without times, by field owner, so that only real differences between entries count.

    - What controllers write through `status` is theirs and unrelated to an apply.
    - Entries of one name stay unchanged, in a fixed order.
    """
    if not isinstance(entries, list) or not all(isinstance(e, Mapping) for e in entries):
        return entries
    kept = [e for e in entries if e.get("subresource") != "status"]
    named = {_name_entry(e): e.get("fieldsV1") for e in kept}
    if len(named) == len(kept):
        return named
    return sorted(({k: v for k, v in e.items() if k != "time"} for e in kept), key=canonical_json)


def drop_server_managed(obj: JSONObject, *, has_status: bool = True) -> JSONObject:
    """Return the object without what every write changes; `has_status`: only controllers write its status."""
    metadata = obj.get("metadata")
    quiet = {k: v for k, v in obj.items() if k != "status" or not has_status}
    if isinstance(metadata, Mapping):
        kept = {k: v for k, v in metadata.items() if k not in _NOISE}
        if "managedFields" in kept:
            kept["managedFields"] = _quiet_entries(kept["managedFields"])
        quiet["metadata"] = kept
    return quiet


def is_same_object(left: JSONObject, right: JSONObject, *, has_status: bool = True) -> bool:
    """Return whether two objects are equal except for server-managed fields."""
    return is_same_json(
        drop_server_managed(left, has_status=has_status), drop_server_managed(right, has_status=has_status)
    )
