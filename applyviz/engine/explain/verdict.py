"""The rule that decides one leaf, before owners and source position are added."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from typing import NamedTuple

from applyviz.engine.diff.structural import is_equal_in_meaning, is_without_breaks
from applyviz.engine.diff.yaml_text import below
from applyviz.engine.explain.reasons import FieldOperation, Reason, Stage
from applyviz.engine.explain.rows import Row
from applyviz.engine.explain.versions import Column, ObjectVersions, is_same
from applyviz.engine.objects.paths import FieldPath, render_path
from applyviz.engine.objects.values import JSONValue
from applyviz.engine.schema.topology import Topology
from applyviz.engine.schema.walk import MISSING, find_merge_key

# Looked up for every leaf: a module global is faster than an enum member.
UNCHANGED = FieldOperation.UNCHANGED


class LeafExplanation(NamedTuple):
    """Operation, reason, detail and stage of one leaf."""

    operation: FieldOperation
    reason: Reason
    detail: str = ""
    stage: Stage = Stage.MERGE


# The server counts the templates of a DaemonSet there (`pkg/apis/apps/v1/conversion.go` of k8s.io/kubernetes).
TEMPLATE_GENERATION = ("f:metadata", "f:annotations", "f:deprecated.daemonset.template.generation")
NULL_TEXTS = ("", "0")
"""A server-side apply stores a null as one of these, in a map of texts or of amounts. They are no defaults."""
# The server sets the old name of the service account of a pod to the new one.
_ALIAS, _NAME = "f:serviceAccount", "f:serviceAccountName"
MAKE_WAY = frozenset(
    {
        Reason.REMOVED_FROM_MANIFEST,
        Reason.REMOVED_SOLE_OWNER,
        Reason.NULL_CLEARS,
        Reason.RETAIN_KEYS,
        Reason.REPLACED_WHOLE,
        Reason.PATCH_REMOVES,
    }
)
"""The reasons by which a live value goes, so that the server sets its default there."""
# The explanation of most leaves, created once.
AS_IT_IS = LeafExplanation(UNCHANGED, Reason.MANIFEST_EQUALS_LIVE)
NULL_AGAIN = LeafExplanation(UNCHANGED, Reason.NULL_CLEARS)
GONE_ALREADY = LeafExplanation(UNCHANGED, Reason.REMOVED_FROM_MANIFEST)
NOBODYS = LeafExplanation(FieldOperation.KEPT, Reason.LIVE_ONLY)


def name_operation(live: JSONValue, after: JSONValue) -> FieldOperation:
    """Return set, changed, cleared or unchanged, from the values before and after."""
    if is_same(live, after):
        return UNCHANGED
    if live is MISSING:
        return FieldOperation.SET
    return FieldOperation.CLEARED if after is MISSING else FieldOperation.CHANGED


def find_new_entry(versions: ObjectVersions, path: FieldPath) -> str:
    """Return the new entry of an existing list at or above the path, "" if there is none."""
    for length in range(1, len(path) + 1):
        if path[length - 1][0] in "kv" and not versions.live.has_path(path[:length]):
            return render_path(path[:length]) if versions.live.has_path(path[: length - 1]) else ""
    return ""


def judge_server(versions: ObjectVersions, path: FieldPath, row: Row) -> LeafExplanation | None:
    """Return how defaults or the server changed a leaf after the merge, or None if they did not."""
    after, live, wanted, _, merged, _, _, _ = row
    if is_same(merged, after):
        return None
    operation = name_operation(live, after)
    # The server completes and spells anew what the merge asks for. It changed a field itself only if the merge asks for
    # nothing that live lacks, and nothing of live is gone.
    at = versions.find_topology(path)
    if is_answer_to(merged, after, at) and not (
        operation is not UNCHANGED and _asks_nothing(merged, live, at) and is_answer_to(live, after, at)
    ):
        return None
    if any(holds(after, merged) and not holds(live, merged) for holds in (_holds, partial(_begins, at=at))):
        return None  # the merge asks for another spelling or for other entries, and the server takes them over
    if operation is not UNCHANGED and not _asks_nothing(merged, live, at) and _is_part_of(merged, after, at):
        return None  # the merge asks for it, and the server leaves out the rest
    is_asked = after is None and wanted is None and not is_same(merged, live)
    is_stored = is_asked or (merged is None and after in NULL_TEXTS)
    if _is_emptied(versions, path, after) or is_stored:  # a null is stored as one, or as what stands for it
        return None
    if merged is MISSING and after == {} and versions.merged.is_hollow(path):
        return None  # the server leaves out the empty maps that the merge asks for below, and the rest is this
    if live is not MISSING and merged is MISSING and _is_followed(versions, path, after):
        return LeafExplanation(operation, Reason.SERVER_CHANGED, stage=Stage.SERVER)
    is_left = operation is UNCHANGED and path in versions.manifest
    if merged in (MISSING, None) and not is_left and _is_free(versions, path):
        if operation in (FieldOperation.SET, FieldOperation.CHANGED):
            operation = FieldOperation.DEFAULTED
        return LeafExplanation(operation, Reason.SERVER_DEFAULT, stage=Stage.DEFAULTS)
    return LeafExplanation(operation, Reason.SERVER_CHANGED, stage=Stage.SERVER)


def _is_followed(versions: ObjectVersions, path: FieldPath, after: JSONValue) -> bool:
    """Return whether the server derives a value from other fields. Such a value is no default, whatever removed it."""
    is_alias = path[-1] == _ALIAS and after is not MISSING and after == versions.after.get((*path[:-1], _NAME))
    return is_alias or path == TEMPLATE_GENERATION


def _is_free(versions: ObjectVersions, path: FieldPath) -> bool:
    """Return whether the merge asks for nothing at or above a path: null and a map without fields leave room."""
    above = versions.merged.find_above(path)
    return above is None or versions.merged.get(above) in (None, {})


def _is_emptied(versions: ObjectVersions, path: FieldPath, after: JSONValue) -> bool:
    """Return whether the manifest empties a map or list of live, which the server may write again as an empty one."""
    is_asked = after in ({}, []) and versions.manifest.get(path) == after and versions.live.has_path(path)
    return is_asked and (path in versions.merged or not versions.merged.has_path(path))


def _asks_nothing(merged: JSONValue, live: JSONValue, at: Topology | None) -> bool:
    """Return whether the merge asks for nothing that live lacks; a single value in another spelling is asked for."""
    return is_answer_to(merged, live, at) if isinstance(merged, Mapping | list) else is_same(merged, live)


def _holds(value: JSONValue, part: JSONValue) -> bool:
    """Return whether a value has everything that a part of it has, in the same spelling."""
    if isinstance(value, Mapping) and isinstance(part, Mapping):
        return all(name in value and _holds(value[name], below) for name, below in part.items())
    if isinstance(value, list) and isinstance(part, list):
        return len(value) == len(part) and all(map(_holds, value, part))
    return is_same(value, part)


def _begins(value: JSONValue, part: JSONValue, at: Topology | None) -> bool:
    """Return whether a list begins with everything that was asked for: admission adds tolerations to those of a pod."""
    if not isinstance(value, list) or not isinstance(part, list) or not part:
        return False
    return len(value) >= len(part) and is_answer_to(part, value[: len(part)], at)


def _is_part_of(asked: JSONValue, answer: JSONValue, at: Topology | None) -> bool:
    """Return whether an answer holds some fields of what was asked, and nothing else."""
    if not isinstance(asked, Mapping) or not isinstance(answer, Mapping) or not answer:
        return False
    return all(
        name in asked and is_answer_to(asked[name], value, below(at, f"f:{name}")) for name, value in answer.items()
    )


def is_answer_to(asked: JSONValue, answer: JSONValue, at: Topology | None) -> bool:
    """Return whether an answer only completes what was asked: with defaults, other spellings, or without empty values.

    - Rule: the server fills in defaults inside lists that are replaced whole, and may leave out `[]`, `{}`, `""`, `0`
      and `false`. A null among texts is an empty text, and one among amounts is 0. The schema (`at`) says what is an
      amount, which the server writes in its own spelling, and what is base64, in which line breaks mean nothing.
    """
    if answer is MISSING or answer is None:
        return asked is not MISSING and not asked
    if isinstance(asked, Mapping) and isinstance(answer, Mapping):
        pairs = ((v, answer.get(n, MISSING), below(at, f"f:{n}")) for n, v in asked.items())
        return all(is_answer_to(v, given, child) or _is_default(v, given) for v, given, child in pairs)
    if isinstance(asked, list) and isinstance(answer, list):
        entry = below(at, "i:0")
        return len(asked) == len(answer) and all(is_answer_to(a, b, entry) for a, b in zip(asked, answer, strict=True))
    if isinstance(asked, Mapping | list) or isinstance(answer, Mapping | list) or asked is MISSING:
        return False
    if asked is None:
        return answer in NULL_TEXTS
    if is_same(asked, answer) or at is None:
        return is_same(asked, answer)
    is_amount = at.is_quantity and is_equal_in_meaning(asked, answer)
    return is_amount or (at.is_base64 and is_without_breaks(asked, answer))


def _is_default(asked: JSONValue, answer: JSONValue) -> bool:
    """Return whether an answer is something in place of a null, or a text in place of an empty one: it is a default."""
    return (asked is None and answer is not None and answer is not MISSING) or (asked == "" and isinstance(answer, str))


def _judge_unset(versions: ObjectVersions, path: FieldPath, operation: FieldOperation) -> LeafExplanation:
    """Return the explanation of a leaf that the merge has, and the manifest does not."""
    kept = find_merged_entry(versions, path)
    if kept:
        return LeafExplanation(operation, Reason.KEPT_UNDER_ANOTHER_KEY, kept)
    # Where ownership moves first, the merge starts from an answer, which holds defaults already.
    if path in versions.live and _is_followed(versions, path, versions.after.get(path)):
        return LeafExplanation(operation, Reason.SERVER_CHANGED, stage=Stage.SERVER)
    return LeafExplanation(FieldOperation.DEFAULTED, Reason.SERVER_DEFAULT, stage=Stage.DEFAULTS)


def _is_empty_above(versions: ObjectVersions, above: FieldPath | None) -> bool:
    """Return whether the manifest has null, or a map or list without content, above a leaf.

    - An entry that it has is something.
    """
    return above is not None and above[-1][0] != "k" and versions.manifest.get(above) in (None, {}, [])


def judge_set(versions: ObjectVersions, path: FieldPath, operation: FieldOperation) -> LeafExplanation:
    """Return the explanation of a leaf that the manifest sets."""
    wanted, above = versions.manifest.get(path), versions.manifest.find_above(path)
    written = find_written_beside(versions, path)
    if written:
        return LeafExplanation(operation, Reason.FROM_ANOTHER_ENTRY, written)
    if wanted is MISSING and above is None and not versions.manifest.has_path(path):
        return _judge_unset(versions, path, operation)
    # kubectl sends a null among the annotations as an empty text, and the server stores one for a null among texts.
    if wanted is None and versions.merged.get(path) != "" and versions.after.get(path) not in (None, *NULL_TEXTS):
        return LeafExplanation(FieldOperation.DEFAULTED, Reason.SERVER_DEFAULT, stage=Stage.DEFAULTS)
    if _is_empty_above(versions, above) and wanted is MISSING:
        # the manifest asks for nothing in it, so this is a default
        return LeafExplanation(FieldOperation.DEFAULTED, Reason.SERVER_DEFAULT, stage=Stage.DEFAULTS)
    entry = find_new_entry(versions, path) if operation is FieldOperation.SET else ""
    if entry:
        return LeafExplanation(operation, Reason.NEW_ENTRY, entry)
    if operation is FieldOperation.CHANGED and isinstance(wanted, list | dict) and wanted:
        return LeafExplanation(operation, Reason.REPLACED_WHOLE)
    # Several entries of one name are one leaf, of which the merge takes one. Only the server makes fields of another.
    if wanted is MISSING and above is not None and above[-1][0] != "k":
        return LeafExplanation(operation, Reason.SERVER_CHANGED, stage=Stage.SERVER)
    return LeafExplanation(operation, Reason.MANIFEST_SETS)


def list_keyed_entries(versions: ObjectVersions, path: FieldPath) -> Iterator[tuple[FieldPath, str]]:
    """Yield each entry at or above a path that a strategic merge finds by a key, with this key; outer ones first."""
    if not versions.is_strategic:
        return
    for length in range(1, len(path) + 1):
        entry = path[:length]
        key = find_merge_key(versions.root, entry) if entry[-1][0] == "k" else ""
        if key:
            yield entry, key


def find_merged_entry(versions: ObjectVersions, path: FieldPath) -> str:
    """Return the merge key by which an entry takes over the values of a live one that has other keys; "" if none.

    - Rule: client-side apply merges Service ports by number, so an entry of another protocol keeps the node port.
    """
    after = versions.after.get(path)
    for entry, key in list_keyed_entries(versions, path):
        twins = () if versions.live.has_path(entry) else versions.live.list_twins(entry, key)
        if any(is_same(versions.live.get((*twin, *path[len(entry) :])), after) for twin in twins):
            return key
    return ""


def find_written_beside(versions: ObjectVersions, path: FieldPath) -> str:
    """Return the merge key by which another entry of the manifest sets a value, and not its own entry; "" if none.

    - Rule: client-side apply merges entries with one merge key into one, whatever their other keys are.
    """
    after = versions.merged.get(path)
    at = versions.find_topology(path)
    if after is MISSING or is_answer_to(versions.manifest.get(path), after, at):
        return ""
    for entry, key in list_keyed_entries(versions, path[:-1]):
        twins = versions.manifest.list_twins(entry, key)
        if any(is_answer_to(versions.manifest.get((*twin, *path[len(entry) :])), after, at) for twin in twins):
            return key
    return ""


def find_twin_key(versions: ObjectVersions, path: FieldPath, column: Column) -> str:
    """Return the merge key that the entry of a leaf shares with another entry of one version; "" if with none."""
    entries = list_keyed_entries(versions, path[:-1])
    return next((key for entry, key in entries if column.list_twins(entry, key)), "")


def find_null(versions: ObjectVersions, path: FieldPath) -> FieldPath | None:
    """Return the path of the manifest's null at or above a path; a map with nothing but nulls counts as one."""
    if is_null(versions.manifest.get(path)):
        return path
    above = versions.manifest.find_above(path)
    return above if above is not None and versions.manifest.get(above) is None else None


def is_null(value: JSONValue) -> bool:
    """Return whether a value is null, or a map with nothing but nulls."""
    return value is None or (isinstance(value, Mapping) and bool(value) and all(map(is_null, value.values())))


def makes_room(versions: ObjectVersions, path: FieldPath) -> bool:
    """Return whether a live value that is gone stood where the manifest now has fields or entries: both cannot be.

    - An empty value has nothing that could be replaced, and several entries of one name are another rule (`is_filled`).
    """
    live = versions.live.get(path)
    return live is not MISSING and bool(live) and path[-1][0] == "f" and versions.manifest.has_path(path)


def is_empty_section(versions: ObjectVersions, path: FieldPath) -> bool:
    """Return whether a leaf of live that stays is an empty section, in which the manifest sets nothing either."""
    return path[-1][0] == "f" and versions.manifest.has_path(path)


def is_filled(versions: ObjectVersions, path: FieldPath) -> bool:
    """Return whether an empty value gets fields of the manifest, or one entry of it takes the place of several."""
    live = versions.live.get(path)
    is_one_of_several = bool(path) and path[-1][0] in "kv"
    return (not live or is_one_of_several) and versions.manifest.has_path(path) and versions.after.has_path(path)


def render_above(path: FieldPath, ancestor: FieldPath) -> str:
    """Return the path that decided, "" if it is the leaf itself."""
    return "" if ancestor == path else render_path(ancestor)
