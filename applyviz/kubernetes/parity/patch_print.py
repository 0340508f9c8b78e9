"""Print a strategic patch that did not produce an object as the server does: a Go map, changed by the merge.

Rule: `mergeMap` of k8s.io/apimachinery `pkg/util/strategicpatch` works in the memory of the patch: processed directives
are gone, as are lists with a set order, and nulls of fields that the live object does not have.
"""

from __future__ import annotations

from applyviz.engine.merge.differences import DELETE_FROM_LIST, RETAIN_KEYS_DIRECTIVE, SET_ORDER
from applyviz.engine.merge.ordering import DIRECTIVE, identify
from applyviz.engine.merge.printed import print_value
from applyviz.engine.merge.shapes import MERGE, REPLACE, GoTypeShape, PatchShape
from applyviz.engine.objects.errors import PatchError
from applyviz.engine.objects.values import JSONObject, JSONValue, MutableObject
from applyviz.engine.schema.model import KindSchema


def print_strategic(patch: JSONValue, live: JSONObject, kind: KindSchema) -> str:
    """Return the patch in its state after the merge into the live object."""
    if not isinstance(patch, dict):
        return print_value(patch)
    return print_value(_merged(patch, live, GoTypeShape(kind.root)))


def _merged(patch: JSONObject, live: JSONObject, shape: PatchShape) -> MutableObject:
    if DIRECTIVE in patch:
        is_replaced = patch[DIRECTIVE] == "replace"
        return {k: v for k, v in patch.items() if k != DIRECTIVE} if is_replaced else dict(patch)
    wanted = patch.get(RETAIN_KEYS_DIRECTIVE)
    kept = {identify(name) for name in wanted} if isinstance(wanted, list) else None
    ordered = {name.partition("/")[2] for name in patch if name.startswith(SET_ORDER)}
    result: MutableObject = {}
    for name, value in patch.items():
        if name == RETAIN_KEYS_DIRECTIVE or name.startswith(SET_ORDER) or name in ordered:
            continue
        is_live = name in live and (kept is None or name in kept)
        is_list = name.startswith(DELETE_FROM_LIST)
        result[name] = value if is_list else _field(name, value, live[name] if is_live else None, shape)
    return result


def _field(name: str, value: JSONValue, live: JSONValue, shape: PatchShape) -> JSONValue:
    try:
        if isinstance(value, dict) and isinstance(live, dict):
            rule = shape.map_rule(name)
            return value if rule.strategy == REPLACE else _merged(value, live, rule.shape)
        if isinstance(value, list) and isinstance(live, list):
            rule = shape.list_rule(name)
            return _entries(value, live, rule.shape, rule.merge_key) if rule.strategy == MERGE else value
    except PatchError:
        return value
    return _taken(value)


def _entries(changes: list[JSONValue], live: list[JSONValue], shape: PatchShape, merge_key: str) -> list[JSONValue]:
    found = {identify(e[merge_key]): e for e in live if isinstance(e, dict) and merge_key in e}
    result = []
    for change in changes:
        entry = found.get(identify(change.get(merge_key))) if isinstance(change, dict) else None
        if entry is None or not isinstance(change, dict) or DIRECTIVE in change:
            result.append(change)
        else:
            result.append(_merged(change, entry, shape))
    return result


def _taken(value: JSONValue) -> JSONValue:
    """Return a value that the live object did not have: without nulls and, below it, without parts with directives."""
    if isinstance(value, dict):
        kept = {k: v for k, v in value.items() if v is not None}
        if DIRECTIVE in kept:
            return kept
        return {k: _taken(v) for k, v in kept.items() if not (isinstance(v, dict) and DIRECTIVE in v)}
    return [_taken(item) for item in value] if isinstance(value, list) else value
