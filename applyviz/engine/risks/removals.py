"""A field leaves the manifest, or is null there, and stays in the cluster, because it has another owner.

Rule: https://kubernetes.io/docs/reference/using-api/server-side-apply/ (a manager that drops a field gives up its
ownership; the field is removed only if it has no other owner). A null removes a map or a list only as far as no other
manager owns what is in it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from applyviz.engine.objects.known_names import LAST_APPLIED_PATH
from applyviz.engine.objects.lookups import ABSENT, FieldFinder
from applyviz.engine.objects.paths import FieldPath
from applyviz.engine.objects.values import JSONObject
from applyviz.engine.risks.model import Facts, Risk, RiskKind, RiskSubject, Templates
from applyviz.engine.risks.owners import fields_of, is_ours, list_entries, owns_at
from applyviz.engine.risks.rules import rule
from applyviz.engine.risks.walking import path_of, position_of


def _describe(f: Facts) -> Templates:
    if f.get("is_null") == "below":
        return ("Your manifest sets this field to null, but what {owners} owns in it stays.",)
    if f.get("is_null"):
        return ("Your manifest sets this field to null, but it stays: {owners} owns it.",)
    return ("You no longer set this field, but it stays: {owners} still owns it.",)


REMOVAL_WILL_NOT_HAPPEN = RiskKind("removal-will-not-happen", "Removal will not happen", _describe)


def _merge_tries(tries: list[JSONObject]) -> JSONObject:
    merged: dict[str, JSONObject] = {}
    for trie in tries:
        for element, below in trie.items():
            if isinstance(below, Mapping):
                merged[element] = _merge_tries([merged[element], below]) if element in merged else below
    return merged


def _ours(obj: JSONObject | None, subject: RiskSubject) -> JSONObject:
    return _merge_tries([fields_of(e) for e in list_entries(obj) if is_ours(e, subject)])


def _dropped(before: JSONObject, after: JSONObject, path: FieldPath = ()) -> Iterator[FieldPath]:
    for element, below in before.items():
        if element == ".":
            continue
        kept = after.get(element)
        is_leaf = not below
        if is_leaf and kept is None:
            yield (*path, element)
        elif not is_leaf:
            yield from _dropped(below, kept if isinstance(kept, Mapping) else {}, (*path, element))


def _owns(trie: JSONObject, path: FieldPath) -> bool:
    node: object = trie
    for element in path:
        if not isinstance(node, Mapping) or element not in node:
            return False
        node = node[element]
    return not node or (isinstance(node, Mapping) and "." in node)


@rule(120)
def find(subject: RiskSubject) -> Iterator[Risk]:
    """Yield the fields that this field manager gives up and others keep; kubectl's record is no field of a manifest.

    - An open conflict leaves a field of the manifest out of what would be applied, which gives up nothing.
    """
    if not subject.is_server_side or subject.live is None or subject.result is None:
        return
    before, after = _ours(subject.live, subject), _ours(subject.result, subject)
    if not before or not after or before == after:
        return
    others = [e for e in list_entries(subject.result) if not is_ours(e, subject)]
    manifest = FieldFinder(subject.manifest or {})
    for path in _dropped(before, after):
        owners = [e for e in others if _owns(fields_of(e), path)]
        if owners and path != LAST_APPLIED_PATH and manifest.find(path) is ABSENT:
            yield REMOVAL_WILL_NOT_HAPPEN.at(path, {"owners": _name(owners)})


def _name(owners: list[JSONObject]) -> str:
    return ", ".join(f"{e.get('manager')} ({e.get('operation')})" for e in owners)


@rule(125)
def find_null(subject: RiskSubject) -> Iterator[Risk]:
    """Yield the fields that the manifest sets to null and a server-side apply keeps for their owners."""
    if not subject.is_server_side or subject.is_merge_only or subject.live is None or subject.merged is None:
        return
    merged = FieldFinder(subject.merged)
    others = [e for e in list_entries(subject.result) if not is_ours(e, subject)]
    for where, value, _node in subject.containers:
        for name in (n for n, entry in value.items() if entry is None) if isinstance(value, Mapping) else ():
            path = path_of(subject, (*where, name))
            owners = [e for e in others if owns_at(e, path)] if merged.find(path) not in (ABSENT, None) else []
            if owners:
                how = "yes" if all(_owns(fields_of(e), path) for e in owners) else "below"
                facts = {"owners": _name(owners), "is_null": how}
                yield REMOVAL_WILL_NOT_HAPPEN.at(path, facts, position_of(subject, (*where, name)))
