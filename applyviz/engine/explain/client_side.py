"""Explain what client-side apply does to one leaf.

Rule: https://kubernetes.io/docs/tasks/manage-kubernetes-objects/declarative-config/ (manifest, last applied, live →
action). Fields of the manifest are set, fields of last applied alone are cleared, other fields are kept; `retainKeys`,
whole sections and whole lists remove more.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from applyviz.engine.explain.reasons import FieldOperation, Reason
from applyviz.engine.explain.rows import Row
from applyviz.engine.explain.verdict import (
    AS_IT_IS,
    GONE_ALREADY,
    NOBODYS,
    NULL_AGAIN,
    UNCHANGED,
    LeafExplanation,
    find_null,
    find_twin_key,
    find_written_beside,
    is_answer_to,
    is_empty_section,
    is_filled,
    judge_set,
    list_keyed_entries,
    makes_room,
    name_operation,
    render_above,
)
from applyviz.engine.explain.versions import ObjectVersions, is_same
from applyviz.engine.objects.known_names import CLIENT_SIDE_MANAGER
from applyviz.engine.objects.owners import Owner, name_owner
from applyviz.engine.objects.paths import FieldPath, element_value, render_path
from applyviz.engine.objects.values import JSONValue, canonical_json
from applyviz.engine.schema.model import Node
from applyviz.engine.schema.walk import MISSING, find_merge_key


def judge_client(versions: ObjectVersions, path: FieldPath, row: Row, manager: str) -> LeafExplanation:
    """Return the rule of client-side apply that decides a leaf."""
    after, live, wanted, _, _, before, owners, _ = row
    operation = name_operation(live, after)
    if operation is not UNCHANGED:
        if operation is FieldOperation.CLEARED:
            return LeafExplanation(operation, *_judge_cleared(versions, path))
        found = judge_set(versions, path, operation)
        if found.reason is Reason.NEW_ENTRY:
            return _judge_new(versions, path, found)
        is_whole = found.reason is Reason.REPLACED_WHOLE
        return LeafExplanation(operation, Reason.MANIFEST_SETS) if is_whole and _is_merged(versions, path) else found
    if wanted is not MISSING:
        return _judge_same(versions, path, live, wanted)
    if live is MISSING:
        return GONE_ALREADY
    if is_empty_section(versions, path):
        return AS_IT_IS
    key = find_written_beside(versions, path)
    if key:
        return LeafExplanation(FieldOperation.KEPT, Reason.FROM_ANOTHER_ENTRY, key)
    return _judge_kept(versions, manager, before, owners)


def _judge_same(versions: ObjectVersions, path: FieldPath, live: JSONValue, wanted: JSONValue) -> LeafExplanation:
    """Return why a leaf in the manifest does not change."""
    if wanted is None and live is MISSING:
        return NULL_AGAIN
    if is_same(wanted, live) or is_answer_to(wanted, live, versions.find_topology(path)):
        return AS_IT_IS
    if any(element.startswith("f:$") for element in path):
        return LeafExplanation(UNCHANGED, Reason.DIRECTIVE)
    directive = _find_directive(versions, path)
    if directive is not None:
        return LeafExplanation(UNCHANGED, Reason.DIRECTIVE, render_path(directive))
    key = find_twin_key(versions, path, versions.manifest) or find_twin_key(versions, path, versions.merged)
    return LeafExplanation(UNCHANGED, Reason.FROM_ANOTHER_ENTRY, key) if key else AS_IT_IS


def _judge_new(versions: ObjectVersions, path: FieldPath, found: LeafExplanation) -> LeafExplanation:
    """Return why an entry is new to client-side apply, which knows fewer keys than the owners of fields.

    - Rule: a strategic merge looks for one merge key, and a list without one is replaced as a whole.
    """
    entry = next(path[:n] for n in range(1, len(path) + 1) if render_path(path[:n]) == found.detail)
    if entry[-1][0] == "v":
        return found
    key = find_merge_key(versions.root if versions.is_strategic else None, entry)
    if key and [*element_value(entry[-1])] == [key]:
        return found
    if not key or versions.live.list_twins(entry, key):
        return LeafExplanation(found.operation, Reason.MANIFEST_SETS)
    return LeafExplanation(found.operation, Reason.NEW_BY_KEY, key)


def _is_merged(versions: ObjectVersions, path: FieldPath) -> bool:
    """Return whether a leaf is a map that client-side apply merges key by key, although it has one owner.

    - Rule: only lists are replaced whole, and what is in them; `x-kubernetes-map-type` is for server-side apply.
    """
    is_map = all(isinstance(column.get(path), Mapping) for column in (versions.live, versions.manifest))
    return is_map and _find_replaced(versions, path) is None


def _judge_kept(
    versions: ObjectVersions, manager: str, before: tuple[Owner, ...], after: tuple[Owner, ...]
) -> LeafExplanation:
    """Return why a leaf stays that the manifest does not have; its owners are those afterwards, if any are known."""
    is_own = any(o.operation == "Update" and o.manager in (manager, CLIENT_SIDE_MANAGER) for o in before)
    if is_own and not versions.has_last_applied:
        return LeafExplanation(FieldOperation.NOT_REMOVED, Reason.NO_LAST_APPLIED)
    ours = (manager, CLIENT_SIDE_MANAGER)
    others = name_owners((o for o in after or before if o.operation != "Update" or o.manager not in ours), manager)
    if others:
        return LeafExplanation(FieldOperation.KEPT, Reason.OWNED_BY_OTHERS, others)
    return NOBODYS


def name_owners(owners: Iterable[Owner], you: str) -> str:
    """Return the names of field managers, each once: `kubectl-edit, hpa (scale)`; `you` is the one that applies."""
    named = (name_owner(o.manager, o.subresource, operation=o.operation, you=you) for o in owners)
    return ", ".join(dict.fromkeys(named))


def _judge_cleared(versions: ObjectVersions, path: FieldPath) -> tuple[Reason, str]:
    null = find_null(versions, path)
    if null is not None:
        return Reason.NULL_CLEARS, render_above(path, null)
    shared = _find_shared_key(versions, path)
    if shared:
        return Reason.SHARED_MERGE_KEY, shared
    if path in versions.manifest:
        is_lost = bool(versions.manifest.get(path)) and path not in versions.merged
        key = find_twin_key(versions, path, versions.manifest) if is_lost else ""
        if key:
            return Reason.FROM_ANOTHER_ENTRY, key
        shared = _find_dropped_twin(versions, path) if is_lost else ""
        if shared:
            return Reason.SHARED_MERGE_KEY, shared
        # Where ownership moves first, the merge starts from an answer, which may lack a value of the manifest already.
        return Reason.SERVER_CHANGED if versions.manifest.get(path) else Reason.MANIFEST_SETS, ""
    if makes_room(versions, path):
        return Reason.REPLACED_WHOLE, ""
    if is_filled(versions, path):
        return Reason.MAKES_ROOM, ""
    if path in versions.last_applied or (
        # an empty value of live stands for what was applied below it
        versions.last_applied.has_path(path) and not versions.manifest.has_path(path)
    ):
        return Reason.REMOVED_FROM_MANIFEST, ""
    return _judge_taken_along(versions, path)


def _find_dropped_twin(versions: ObjectVersions, path: FieldPath) -> str:
    """Return the merge key that the entry of a leaf shares with one that the manifest no longer has; "" if with none.

    - Rule: `$patch: delete` removes both, and what the patch sets again lacks the fields that live already had.
    """
    applied = versions.last_applied
    for entry, key in list_keyed_entries(versions, path[:-1]):
        is_repeated = isinstance(applied.get(entry), list)
        if is_repeated or any(not versions.manifest.has_path(twin) for twin in applied.list_twins(entry, key)):
            return key
    return ""


def _is_dropped_beside(versions: ObjectVersions, path: FieldPath) -> bool:
    """Return whether last applied has a leaf in another entry with the same merge key, and the manifest in none.

    - Rule: a strategic merge takes entries with the same merge key for one, so it removes the leaf from this one.
    """
    for entry, key in list_keyed_entries(versions, path[:-1]):
        dropped = ((*twin, *path[len(entry) :]) for twin in versions.last_applied.list_twins(entry, key))
        if any(one in versions.last_applied and one not in versions.manifest for one in dropped):
            return True
    return False


def _judge_taken_along(versions: ObjectVersions, path: FieldPath) -> tuple[Reason, str]:
    """Return why a leaf goes that neither manifest nor last-applied has: something around it takes it along."""
    if _is_dropped_beside(versions, path):
        return Reason.REMOVED_FROM_MANIFEST, ""
    retaining = _find_retaining(versions, path)
    if retaining is not None:
        return Reason.RETAIN_KEYS, render_path(retaining)
    dropped = _find_dropped(versions, path)
    if dropped is not None:
        return Reason.REMOVED_FROM_MANIFEST, render_path(dropped)
    above = versions.manifest.find_above(path)
    if above is not None:
        return Reason.REPLACED_WHOLE, render_path(above)
    if _find_directive(versions, path) is not None:
        return Reason.DIRECTIVE, ""
    renamed = _find_renamed(versions, path) or _find_renewed(versions, path)
    if renamed is not None:
        return Reason.REPLACED_WHOLE, render_path(renamed)
    # What no list or map around it takes along, the server removed before the merge, when ownership moved.
    replaced = _find_replaced(versions, path)
    if replaced:
        return Reason.REPLACED_WHOLE, render_path(replaced)
    is_replaced = versions.manifest.has_path(path) or replaced is not None
    return Reason.REPLACED_WHOLE if is_replaced else Reason.SERVER_CHANGED, ""


def _find_shared_key(versions: ObjectVersions, path: FieldPath) -> str:
    """Return the merge key of an entry that the manifest contains and the merge removes with another one; "" if none.

    - Rule: `$patch: delete` names an entry by its merge key alone, and every live entry with that key goes.
    """
    for length in range(1, len(path) + 1):
        entry = path[:length]
        if entry[-1][0] != "k" or not versions.manifest.has_path(entry) or versions.merged.has_path(entry):
            continue
        if not versions.manifest.has_path((*entry, "f:$patch")):
            return find_merge_key(versions.root if versions.is_strategic else None, entry)
    return ""


def _find_renamed(versions: ObjectVersions, path: FieldPath) -> FieldPath | None:
    """Return the live entry that becomes another one: the manifest has its merge key with other keys of the list.

    - A Service port of another protocol is another entry to the owners, and the same one to the merge.
    """
    for entry, name in list_keyed_entries(versions, path):
        value = None if versions.manifest.has_path(entry) else element_value(entry[-1]).get(name)
        if value is not None and canonical_json(value) in versions.manifest.list_keys(entry[:-1], name):
            return entry
    return None


def _find_renewed(versions: ObjectVersions, path: FieldPath) -> FieldPath | None:
    """Return the entry that goes with another one of its merge key, and comes again with what the manifest sets."""
    for entry, key in list_keyed_entries(versions, path):
        twins = versions.live.list_twins(entry, key) if versions.merged.has_path(entry) else ()
        if any(not versions.merged.has_path(twin) for twin in twins):
            return entry
    return None


def _find_dropped(versions: ObjectVersions, path: FieldPath) -> FieldPath | None:
    """Return the section or entry that was last applied and is gone from the manifest with everything below it."""
    for length in range(1, len(path)):
        above = path[:length]
        was_applied = above in versions.remembered or versions.last_applied.has_path(above)
        if was_applied and not versions.manifest.has_path(above):
            return above
    return None


def _find_retaining(versions: ObjectVersions, path: FieldPath) -> FieldPath | None:
    """Return the path above with patch strategy `retainKeys`, if the manifest sets something there."""
    node: Node | None = versions.root if versions.is_strategic else None
    for length, element in enumerate(path[:-1], start=1):
        node = None if node is None else node.child(element[2:]) if element[0] == "f" else node.items
        ancestor = path[:length]
        if node is None or "retainKeys" not in node.patch_strategy:
            continue
        if versions.manifest.has_path(ancestor) and ancestor not in versions.manifest:
            return ancestor
    return None


def _find_replaced(versions: ObjectVersions, path: FieldPath) -> FieldPath | None:
    """Return the list or map around a path that is replaced as a whole, () if no schema says which; None if none is.

    - Rule: any list is, unless the schema merges it.
    """
    node: Node | None = versions.root
    for length, element in enumerate(path[:-1], start=1):
        node = None if node is None else node.child(element[2:]) if element[0] == "f" else node.items
        strategy = node.patch_strategy if node is not None and versions.is_strategic else ()
        if "replace" in strategy or (node is not None and node.items is not None and "merge" not in strategy):
            return path[:length]
    return () if node is None else None


def _find_directive(versions: ObjectVersions, path: FieldPath) -> FieldPath | None:
    """Return the directive `$patch` of the manifest beside or above a path."""
    beside = ((*path[:n], "f:$patch") for n in range(len(path)))
    return next((one for one in beside if versions.manifest.has_path(one)), None)
