"""What was promised against what is there: every change and every removal of the plan, server noise aside.

Both directions count: a promised change or removal that did not happen is broken as much as one that came out
otherwise. Identity, versions, times, status and ownership records change by themselves, and the server allocates
addresses and ports: none of them is a broken promise. When the promise was only estimated, neither is what the server
added beside it, or an empty value that the API leaves out.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from applyviz.engine.diff.structural import StructuralDifference, diff_objects
from applyviz.engine.objects.paths import FieldPath
from applyviz.engine.objects.values import JSONObject, JSONValue, get_at, is_same_json
from applyviz.engine.planning.model.server_chosen import without_chosen
from applyviz.engine.schema.model import Node
from applyviz.engine.schema.walk import MISSING, find_value

_NOISE = frozenset(
    {"uid", "resourceVersion", "generation", "creationTimestamp", "managedFields", "selfLink", "deletionTimestamp"}
)
# Given by the server or its controllers where nobody asked for a value.
_ALLOCATED = frozenset({"f:clusterIP", "f:clusterIPs", "f:nodePort", "f:healthCheckNodePort", "f:volumeName"})


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


def _is_allocated(difference: StructuralDifference) -> bool:
    """Whether a difference is a value that nobody promised and the server gave."""
    return difference.before is MISSING and any(element in _ALLOCATED for element in difference.path)


def _holds(got: JSONValue, promised: JSONValue) -> bool:
    """Whether a value has everything that was promised; more may be in it."""
    if isinstance(promised, Mapping):
        return isinstance(got, Mapping) and all(k in got and _holds(got[k], v) for k, v in promised.items())
    if isinstance(promised, list):
        is_as_long = isinstance(got, list) and len(got) == len(promised)
        return is_as_long and all(map(_holds, got, promised))
    return is_same_json(got, promised)


def _is_addition(difference: StructuralDifference) -> bool:
    return difference.before is MISSING or (
        difference.after is not MISSING and _holds(difference.after, difference.before)
    )


def _has_stayed(difference: StructuralDifference, before: JSONObject | None, root: Node | None) -> bool:
    """Whether a field is still there that was to be removed, or still has the value that was to change."""
    held = MISSING if before is None else find_value(root, before, difference.path)
    if held is MISSING:
        return False
    return difference.before is MISSING or is_same_json(held, difference.after)


def _is_left_out(difference: StructuralDifference, root: Node | None) -> bool:
    """Whether an empty value of a field is not there: Go leaves those out; an entry of a map stays."""
    if difference.after is not MISSING or root is None or difference.before not in (None, "", 0, {}, []):
        return False
    place: Node | None = root
    for element in difference.path[:-1]:
        if place is None:
            return False
        place = place.child(element[2:]) if element[0] == "f" else place.items
    last = difference.path[-1]
    return place is not None and last[0] == "f" and place.has_field(last[2:])


def _is_within(path: FieldPath, touched: Collection[FieldPath]) -> bool:
    """Whether a path is one of these, in one of them, or around one."""
    return any(path[: len(one)] == one[: len(path)] for one in touched)


def find_broken(
    promised: JSONObject,
    got: JSONObject,
    *,
    root: Node | None,
    is_confirmed: bool,
    before: JSONObject | None = None,
    has_moved: bool = False,
    omits_empty: bool = False,
) -> tuple[StructuralDifference, ...]:
    """Return where what is there is not what was promised.

    - `before`: the object before the change (None: it was absent): what stays as it was there, although the plan
      changes or removes it, is broken even where additions are not.
    - `has_moved`: others may have written meanwhile; then only fields that the plan touches count.
    - `omits_empty`: the kind is built in, so the API leaves out empty values of its fields.
    """
    found = diff_objects(_plain(promised), _plain(without_chosen(got, promised, before)), root=root)
    if has_moved:
        touched = {d.path for d in diff_objects(_plain(before or {}), _plain(promised), root=root)}
        found = tuple(d for d in found if _is_within(d.path, touched))

    def is_excused(difference: StructuralDifference) -> bool:
        if is_confirmed:
            return False
        if omits_empty and _is_left_out(difference, root):
            return True
        return _is_addition(difference) and not _has_stayed(difference, before, root)

    return tuple(d for d in found if not (_is_allocated(d) or d.is_equal_in_meaning or is_excused(d)))
