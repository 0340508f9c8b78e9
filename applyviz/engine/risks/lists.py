"""Lists that do not merge as people expect: duplicate keys, a new order, lost entries of others.

Rule: https://kubernetes.io/docs/reference/using-api/server-side-apply/#merge-strategy and the patch merge keys of
strategic merge patches: `ports` of a Service merge by `port` alone there, so port 53 over TCP and UDP are one entry.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from applyviz.engine.manifests.documents import PlainPath
from applyviz.engine.merge import last_applied
from applyviz.engine.objects.errors import MergeError
from applyviz.engine.objects.known_names import CLIENT_SIDE_MANAGER
from applyviz.engine.objects.paths import FieldPath, element_value, render_path
from applyviz.engine.objects.paths import value as value_step
from applyviz.engine.objects.values import JSONObject, JSONValue, canonical_json, get_at, is_same_json
from applyviz.engine.risks.model import Risk, RiskKind, RiskLevel, RiskSubject
from applyviz.engine.risks.owners import list_entries, owns_at
from applyviz.engine.risks.rules import rule
from applyviz.engine.risks.walking import is_within, name_entry, path_of, position_of, root_of
from applyviz.engine.schema.model import ListType, Node
from applyviz.engine.schema.walk import find_merge_key, list_leaves

# At most so many characters of entries are compared part by part in a list.
_MOST_COMPARED = 10_000_000
# kubectl's names for the record of earlier applies, and for unknown writers.
_OWN_NAMES = frozenset((CLIENT_SIDE_MANAGER, "kubectl-last-applied", "before-first-apply"))


DUPLICATE_MERGE_KEY = RiskKind(
    "duplicate-merge-key",
    "Duplicate merge key",
    "{list} has two entries with the same key ({keys}); the merge treats them as one.",
)
SHARED_MERGE_KEY = RiskKind(
    "shared-merge-key",
    "Entry of the manifest removed",
    "{entry} is removed although the manifest contains it: the patch removes every entry with {key} {value}.",
    level=RiskLevel.HIGH,
)
ORDER_CHURN = RiskKind(
    "order-churn",
    "Only the order changes",
    "The {count} entries of {list} only change their order.",
    level=RiskLevel.INFO,
)
ATOMIC_LIST_REPLACED = RiskKind(
    "atomic-list-replaced",
    "List replaced entirely",
    lambda f: (
        "{list} is replaced entirely: {lost} live entry that {owners} wrote is lost."
        if f["lost"] == "1"
        else "{list} is replaced entirely: {lost} live entries that {owners} wrote are lost.",
    ),
)


def _keys_of(node: Node, *, is_server_side: bool) -> tuple[str, ...]:
    if is_server_side:
        return node.list_map_keys if node.list_type is ListType.MAP else ()
    is_merged = "merge" in node.patch_strategy
    return (node.patch_merge_key,) if is_merged and node.patch_merge_key else ()


def _identity(item: JSONValue, keys: tuple[str, ...], node: Node) -> str:
    if not isinstance(item, dict) or not any(name in item for name in keys):
        return ""
    found = []
    for name in keys:
        if name in item:
            found.append(item[name])
            continue
        shape = node.items.child(name) if node.items is not None else None
        found.append(shape.default if shape is not None and shape.has_default else None)
    return repr(found)


def _is_each_named_once(value: list[JSONValue], key: str) -> bool:
    """Return whether every entry has a unique text key, as in nearly every list."""
    names = {item.get(key) for item in value if type(item) is dict and type(item.get(key)) is str}
    return len(names) == len(value)


@rule(50)
def find_duplicates(subject: RiskSubject) -> Iterator[Risk]:
    """Yield the merged lists with two entries of the same keys, and sets with a duplicate value."""
    root = root_of(subject)
    if root is None or subject.manifest is None:
        return
    for plain, value, node in subject.containers:
        if isinstance(value, list) and node is not None and len(value) > 1:
            yield from _duplicates_at(subject, plain, value, node)


def _duplicates_at(subject: RiskSubject, plain: PlainPath, value: list[Any], node: Node) -> Iterator[Risk]:
    keys = _keys_of(node, is_server_side=subject.is_server_side)
    is_set = subject.is_server_side and node.list_type is ListType.SET
    if not keys and not is_set:
        return
    if len(keys) == 1 and _is_each_named_once(value, keys[0]):
        return
    seen: dict[str, int] = {}
    for index, item in enumerate(value):
        identity = _identity(item, keys, node) if keys else canonical_json(item)
        seen[identity] = seen.get(identity, 0) + 1
        if not identity or seen[identity] != 2:
            continue
        shown = ", ".join(f"{k}={item.get(k)}" for k in keys) if keys else str(item)
        facts = {"keys": shown, "list": str(plain[-1]), "count": str(len(value))}
        level = RiskLevel.HIGH if subject.is_server_side else RiskLevel.MEDIUM
        yield DUPLICATE_MERGE_KEY.at(path_of(subject, plain), facts, position_of(subject, (*plain, index)), level=level)


@rule(60)
def find_shared_keys(subject: RiskSubject) -> Iterator[Risk]:
    """Yield the entries that the manifest contains and a client-side apply removes with another of their merge key.

    - Rule: `$patch: delete` names an entry by its merge key alone, so it removes each live entry with that key. An
      entry that the same patch adds again is there once the server has filled in its other keys.
    """
    kind, result = subject.kind, subject.result if subject.merged is None else subject.merged
    if subject.is_server_side or kind is None or not kind.is_strategic:
        return
    if subject.manifest is None or subject.live is None or result is None:
        return
    root = kind.root
    wanted = list_leaves(root, subject.manifest)
    live, left = (_list_entry_paths(list_leaves(root, obj)) for obj in (subject.live, result))
    if not subject.is_merge_only:
        left |= _list_entry_paths(list_leaves(root, subject.result or {}))
    for entry in _list_entry_paths(wanted):
        key = find_merge_key(root, entry) if entry in live and entry not in left else ""
        if not key or (*entry, "f:$patch") in wanted:
            continue
        facts = {"entry": render_path(entry).lstrip("."), "key": key, "value": str(element_value(entry[-1]).get(key))}
        yield SHARED_MERGE_KEY.at(entry, facts)


def _list_entry_paths(leaves: Iterable[FieldPath]) -> dict[FieldPath, None]:
    """Return the path of each entry of a list with keys, in order, each once."""
    ends = ((leaf, n) for leaf in leaves for n, element in enumerate(leaf, 1) if element[0] == "k")
    return dict.fromkeys(leaf[:n] for leaf, n in ends)


def _is_merged(node: Node | None, *, is_server_side: bool) -> bool:
    if node is None:
        return False
    if is_server_side:
        return node.list_type in (ListType.MAP, ListType.SET)
    return "merge" in node.patch_strategy


class _Pair(NamedTuple):
    plain: PlainPath
    node: Node | None
    live: list[JSONValue]
    result: list[JSONValue]


def _pairs(subject: RiskSubject) -> Iterator[_Pair]:
    # Lists of the manifest that live and result both have at the same path; below lists nothing is paired, because
    # indices of entries are not comparable there.
    if subject.manifest is None or subject.live is None or subject.result is None:
        return
    for plain, node in _list_plain(subject):
        names = [str(step) for step in plain]
        live, result = get_at(subject.live, names), get_at(subject.result, names)
        if isinstance(live, list) and isinstance(result, list) and live != result:
            yield _Pair(plain, node, live, result)


def _list_plain(subject: RiskSubject) -> Iterator[tuple[PlainPath, Node | None]]:
    """Yield the path and schema of each list of the manifest; also of empty ones, which are no containers."""
    for container in subject.containers:
        plain, value, node = container
        if container.is_below_list:
            continue
        if isinstance(value, list):
            yield plain, node
        else:
            empty = (name for name, entry in value.items() if isinstance(entry, list) and not entry)
            yield from (((*plain, name), node.child(name) if node is not None else None) for name in empty)


def _sort_texts(entries: Iterable[JSONValue]) -> list[str]:
    return sorted(map(canonical_json, entries))


@rule(350)
def find_order(subject: RiskSubject) -> Iterator[Risk]:
    """Yield the lists with the same entries in another order: a difference without an effect."""
    for plain, _, live, result in _pairs(subject):
        if len(live) != len(result):
            continue
        moved = [(a, b) for a, b in zip(live, result, strict=True) if not is_same_json(a, b)]
        # A single entry cannot be reordered, and printing it is most of the cost.
        if len(moved) > 1 and _sort_texts(a for a, _ in moved) == _sort_texts(b for _, b in moved):
            position = position_of(subject, plain)
            yield ORDER_CHURN.at(path_of(subject, plain), {"list": str(plain[-1]), "count": str(len(live))}, position)


def _find_applied(subject: RiskSubject) -> JSONObject | None:
    """Return what was applied last; under server-side apply, what kubectl once applied client-side."""
    if not subject.is_server_side or subject.live is None:
        return subject.last_applied
    try:
        return last_applied.find(subject.live)
    except MergeError:
        return None


def _list_known(subject: RiskSubject, pair: _Pair) -> list[JSONValue]:
    before = get_at(_find_applied(subject), [str(step) for step in pair.plain])
    return [*pair.result, *(before if isinstance(before, list) else ())]


def _list_writers(subject: RiskSubject, path: FieldPath) -> list[str]:
    """Return the other field managers that own a live list, an entry of it or parts of it: they wrote its value."""
    own = {subject.field_manager, *_OWN_NAMES}
    entries = [e for e in list_entries(subject.live) if owns_at(e, path)]
    return sorted({str(e.get("manager")) for e in entries} - own)


def _list_losers(
    subject: RiskSubject, node: Node | None, path: FieldPath, lost: JSONValue, position: int
) -> list[str] | None:
    """Return the other field managers that wrote a live entry; None of a list that has one owner."""
    list_type = node.list_type if node is not None else None
    if list_type is ListType.SET:
        return _list_writers(subject, (*path, value_step(lost)))
    name = name_entry(node, lost, position)
    return _list_writers(subject, (*path, name)) if list_type is ListType.MAP and name[0] == "k" else None


def _find_lost(live: Sequence[JSONValue], known: Sequence[JSONValue]) -> Iterator[tuple[int, JSONValue]]:
    """Yield the live entries, with their positions, of which no known entry is a part.

    - Of very long lists that differ everywhere, the last entries are only compared as a whole.
    """
    texts = [canonical_json(entry) for entry in known]
    same, size = set(texts), sum(map(len, texts))
    parts = [entry for entry in known if isinstance(entry, Mapping | list)]
    left = _MOST_COMPARED
    for position, entry in enumerate(live):
        if canonical_json(entry) in same:
            continue
        left -= size
        if left < 0 or not any(is_within(part, entry) for part in parts):
            yield position, entry


@rule(220)
def find_replaced(subject: RiskSubject) -> Iterator[Risk]:
    """Yield lists that are replaced as a whole although another field manager wrote entries of the live list.

    - Only owners prove that: an entry may differ from the manifest because the server defaulted it.
    """
    for pair in _pairs(subject):
        if _is_merged(pair.node, is_server_side=subject.is_server_side):
            continue
        path = path_of(subject, pair.plain)
        writers = _list_writers(subject, path)
        lost = _find_lost(pair.live, _list_known(subject, pair)) if writers else ()
        found = (_list_losers(subject, pair.node, path, v, n) for n, v in lost)
        losers = [writers if names is None else names for names in found if names != []]
        if not losers:
            continue
        owners = ", ".join(sorted({name for names in losers for name in names}))
        facts = {"list": str(pair.plain[-1]), "lost": str(len(losers)), "owners": owners}
        yield ATOMIC_LIST_REPLACED.at(path, facts, position_of(subject, pair.plain))
