"""What was promised against what is there: the fields of the plan's *after*, server noise aside.

Identity, versions, times, status and ownership records change by themselves, and the server allots
addresses and ports: none of them is a broken promise. When the promise was only calculated, what the server
added by defaulting is none either; what it changed or left out is.
"""

from __future__ import annotations

from collections.abc import Mapping

from applyviz.engine.diff.structural import Difference, diff_objects
from applyviz.engine.objects.paths import FieldPath
from applyviz.engine.objects.values import JSONObject, JSONValue, get_at, is_same_json
from applyviz.engine.schema.model import Node
from applyviz.engine.schema.walk import MISSING

_NOISE = frozenset(
    {"uid", "resourceVersion", "generation", "creationTimestamp", "managedFields", "selfLink", "deletionTimestamp"}
)
_ALLOTTED = frozenset({"f:clusterIP", "f:clusterIPs", "f:nodePort", "f:healthCheckNodePort", "f:volumeName"})


def identity(live: JSONObject | None) -> dict[str, str]:
    """The uid and resourceVersion of an object; empty when it is absent."""
    if live is None:
        return {}
    return {name: str(get_at(live, ("metadata", name), "")) for name in ("uid", "resourceVersion")}


def _plain(obj: JSONObject) -> dict[str, JSONValue]:
    metadata = obj.get("metadata")
    metadata = metadata if isinstance(metadata, Mapping) else {}
    kept = {name: value for name, value in metadata.items() if name not in _NOISE}
    return {**{name: value for name, value in obj.items() if name != "status"}, "metadata": kept}


def _is_allotted(path: FieldPath) -> bool:
    return any(element in _ALLOTTED for element in path)


def _holds(got: JSONValue, promised: JSONValue) -> bool:
    """Whether a value has everything that was promised; more may be in it."""
    if isinstance(promised, Mapping):
        return isinstance(got, Mapping) and all(k in got and _holds(got[k], v) for k, v in promised.items())
    if isinstance(promised, list):
        is_as_long = isinstance(got, list) and len(got) == len(promised)
        return is_as_long and all(map(_holds, got, promised))
    return is_same_json(got, promised)


def _is_addition(difference: Difference) -> bool:
    return difference.before is MISSING or (
        difference.after is not MISSING and _holds(difference.after, difference.before)
    )


def _is_within(path: FieldPath, touched: tuple[FieldPath, ...]) -> bool:
    """Whether a path is one of these, in one of them, or around one."""
    return any(path[: len(one)] == one[: len(path)] for one in touched)


def find_broken(
    promised: JSONObject,
    got: JSONObject,
    *,
    root: Node | None,
    is_confirmed: bool,
    reviewed: JSONObject | None = None,
) -> tuple[Difference, ...]:
    """Where what is there is not what was promised.

    - `reviewed`: the object before the change, where others may have moved the rest of it since; then only fields
      that the change touches count.
    """
    found = diff_objects(_plain(promised), _plain(got), root=root)
    if reviewed is not None:
        touched = tuple(d.path for d in diff_objects(_plain(reviewed), _plain(promised), root=root))
        found = tuple(d for d in found if _is_within(d.path, touched))
    return tuple(
        difference
        for difference in found
        if not _is_allotted(difference.path)
        and not difference.is_equal_in_meaning
        and (is_confirmed or not _is_addition(difference))
    )
