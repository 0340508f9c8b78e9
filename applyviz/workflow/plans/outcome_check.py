"""Outcome check: compares the approved change with the live object, ignoring server-managed fields.

Both directions count: a planned change or removal that did not happen is as wrong as a different value. Identity,
versions, times, status and ownership records change without a request, the server allocates addresses and ports, and
controllers write what is theirs: these are not compared, as far as the plan does not set them. For an estimated plan,
values that the server added and empty values that the API omits are ignored as well. An amount may have another
spelling where the schema has an amount; any other text must be the approved one.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from functools import partial

from applyviz.engine.diff.structural import StructuralDifference, diff_objects, is_same_at
from applyviz.engine.objects.controller_fields import is_controller_written
from applyviz.engine.objects.json_text import write_json
from applyviz.engine.objects.known_names import SERVER_WRITTEN
from applyviz.engine.objects.paths import FieldPath
from applyviz.engine.objects.values import JSONObject, JSONValue, get_at, is_same_json
from applyviz.engine.planning.model.server_chosen import without_chosen
from applyviz.engine.schema.model import Node
from applyviz.engine.schema.walk import MISSING, LeafFinder
from applyviz.workflow.plans.changes import without_written

_NOISE = SERVER_WRITTEN | {"deletionTimestamp"}
# Set by the server or its controllers when the manifest does not set them.
_ALLOCATED = frozenset({"f:clusterIP", "f:clusterIPs", "f:nodePort", "f:healthCheckNodePort", "f:volumeName"})


def identity(live: JSONObject | None) -> dict[str, str]:
    """Return the uid and resourceVersion of an object; empty when it is absent."""
    if live is None:
        return {}
    return {name: str(get_at(live, ("metadata", name), "")) for name in ("uid", "resourceVersion")}


def take_promised(promised: JSONObject | None, got: JSONObject) -> JSONObject:
    """Return the promised object itself for one that is written like it, but for its version and the times of owners.

    - So nothing of it is compared field by field: neither values nor owners differ from themselves.
    """
    if promised is None:
        return got
    wanted, found = without_written(promised), without_written(got)
    try:
        is_same = bool(wanted == found) and write_json(wanted) == write_json(found)
    except (UnicodeError, TypeError, RecursionError):
        return got
    return promised if is_same else got


def _plain(obj: JSONObject, *, with_status: bool = False) -> dict[str, JSONValue]:
    metadata = obj.get("metadata")
    metadata = metadata if isinstance(metadata, Mapping) else {}
    kept = {name: value for name, value in metadata.items() if name not in _NOISE}
    return {**{name: value for name, value in obj.items() if name != "status" or with_status}, "metadata": kept}


def _is_allocated(difference: StructuralDifference) -> bool:
    """Return whether a difference is an allocated value that the plan does not contain."""
    return difference.before is MISSING and any(element in _ALLOCATED for element in difference.path)


def _holds(got: JSONValue, promised: JSONValue) -> bool:
    """Return whether a value contains everything that was planned; it may contain more."""
    if isinstance(promised, Mapping):
        return isinstance(got, Mapping) and all(k in got and _holds(got[k], v) for k, v in promised.items())
    if isinstance(promised, list):
        return isinstance(got, list) and len(got) == len(promised) and all(map(_holds, got, promised))
    return is_same_json(got, promised)


def _is_addition(difference: StructuralDifference) -> bool:
    return difference.before is MISSING or (
        difference.after is not MISSING and _holds(difference.after, difference.before)
    )


def _has_stayed(difference: StructuralDifference, before: LeafFinder) -> bool:
    """Return whether a field that should be removed still exists, or a field that should change has its old value."""
    old_value = before.find(difference.path)
    if old_value is MISSING:
        return False
    return difference.before is MISSING or is_same_json(old_value, difference.after)


def _is_left_out(difference: StructuralDifference, root: Node | None) -> bool:
    """Return whether an empty field value is absent: Go omits those, but keeps the entries of maps."""
    if difference.after is not MISSING or root is None or difference.before not in (None, "", 0, {}, []):
        return False
    node: Node | None = root
    for element in difference.path[:-1]:
        if node is None:
            return False
        node = node.child(element[2:]) if element[0] == "f" else node.items
    last = difference.path[-1]
    return node is not None and last[0] == "f" and node.has_field(last[2:])


def _find_related(touched: Collection[FieldPath]) -> Callable[[FieldPath], bool]:
    """Return what says whether a path equals one of these, is inside one, or contains one."""
    around = {one[:length] for one in touched for length in range(len(one) + 1)}

    def is_related(path: FieldPath) -> bool:
        return path in around or any(path[:length] in touched for length in range(len(path)))

    return is_related


def find_broken(
    promised: JSONObject,
    got: JSONObject,
    *,
    root: Node | None,
    is_confirmed: bool,
    before: JSONObject | None = None,
    has_moved: bool = False,
    omits_empty: bool = False,
    writes_status: bool = False,
) -> tuple[StructuralDifference, ...]:
    """Return the paths where live differs from the approved change.

    - `before`: the object before the change (None: absent). A field that the plan changes or removes must not keep its
      value from there, even where additions are accepted.
    - `has_moved`: others may have written meanwhile; then only fields that the plan touches count.
    - `omits_empty`: the kind is built in, so the API omits empty values of its fields.
    - `writes_status`: the change writes the status of the object, which else belongs to controllers.
    """
    if got is promised:
        return ()
    plain = partial(_plain, with_status=writes_status)
    found = diff_objects(plain(promised), plain(without_chosen(got, promised, before)), root=root)
    finder = LeafFinder(root, before or {})
    if has_moved:
        is_related = _find_related({d.path for d in diff_objects(plain(before or {}), plain(promised), root=root)})
        found = tuple(d for d in found if is_related(d.path))

    def is_excused(difference: StructuralDifference) -> bool:
        if is_controller_written(difference.path, promised):
            return difference.before is MISSING or is_same_json(finder.find(difference.path), difference.before)
        if is_confirmed:
            return False
        if omits_empty and _is_left_out(difference, root):
            return True
        return _is_addition(difference) and not _has_stayed(difference, finder)

    return tuple(
        d for d in found if not (_is_allocated(d) or is_same_at(root, d.path, d.before, d.after) or is_excused(d))
    )
