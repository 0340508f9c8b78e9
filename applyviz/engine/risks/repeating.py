"""A patch that every apply will send again, although nothing changes.

Rule: https://kubernetes.io/docs/tasks/manage-kubernetes-objects/declarative-config/. The patch that the next apply of
the same manifest makes of the object after this one is calculated. Defaults inside lists that are replaced whole,
`stringData` of a Secret, other spellings, and nulls make one that never becomes empty.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping

from msgspec import Struct

from applyviz.engine.manifests.documents import PlainPath
from applyviz.engine.merge import patches
from applyviz.engine.merge.last_applied import read_null_annotations
from applyviz.engine.objects.errors import MergeError
from applyviz.engine.objects.known_names import LAST_APPLIED
from applyviz.engine.objects.lookups import ABSENT
from applyviz.engine.objects.paths import render_path
from applyviz.engine.objects.structs import replace
from applyviz.engine.objects.values import JSONObject, JSONValue, canonical_json, get_at
from applyviz.engine.risks.model import Risk, RiskKind, RiskLevel, RiskSubject
from applyviz.engine.risks.rules import rule
from applyviz.engine.risks.walking import begins_with, is_within, path_of, position_of, root_of
from applyviz.engine.schema.definitions import QUANTITY
from applyviz.engine.schema.model import Node

_DIRECTIVES = ("$patch", "$setElementOrder/", "$deleteFromPrimitiveList/", "$retainKeys")


REPEATING_PATCH = RiskKind(
    "repeating-patch",
    "Patch repeats on every apply",
    "{field} is sent again on every later apply, although nothing changes then: {cause}.",
    level=RiskLevel.INFO,
)


def is_directive(name: str) -> bool:
    """Return whether a key is an instruction of a strategic merge patch, which no object has as a field."""
    return name.startswith(_DIRECTIVES)


class _Place(Struct, frozen=True):
    """One node of the manifest: its path, its value, and its schema (None if unknown).

    - `has_status`: a write of the object does not reach its status.
    - `sent`: what the patch of this apply has there, `ABSENT` if nothing; `is_dropped`: the patch deletes an entry that
      has the same key as the one around the node.
    """

    path: PlainPath
    value: JSONValue
    node: Node | None
    has_status: bool
    sent: JSONValue
    is_dropped: bool = False

    def enter(self, name: str) -> _Place:
        node = self.node.child(name) if self.node is not None else None
        value, sent = get_at(self.value, (name,)), get_at(self.sent, (name,), ABSENT)
        return replace(self, path=(*self.path, name), value=value, node=node, sent=sent)

    @property
    def is_lost(self) -> bool:
        """Whether the value goes with an entry that shares its key: the next apply sets it, and the one after nothing.

        - An empty value is not stored, so that it is sent again and again.
        """
        return self.is_dropped and bool(self.value) and self.sent is ABSENT

    @property
    def is_merged(self) -> bool:
        """Whether the node is a list whose entries are merged by a key."""
        node = self.node
        return node is not None and "merge" in node.patch_strategy and bool(node.patch_merge_key)


def _find_cause(at: _Place, value: JSONValue, after: JSONValue, *, is_there: bool) -> str:
    """Return why the object after apply still differs from what the manifest asks for."""
    if at.path[0] == "status" and at.has_status and (value is not None or is_there):
        return "the server ignores status here"
    if at.path == ("stringData",):
        return "the server turns it into data and never keeps it"
    if value is None:
        return (
            "it is null here, and the server sets its default again" if is_there else "it is null here and absent there"
        )
    if value in ({}, []) and _holds_directive(at.value):
        return "it holds a directive of a patch"
    if isinstance(value, list) and _loses_null(value, after):
        return "it holds a null, which the server does not keep"
    if isinstance(value, list) and is_within(value, after):
        return "the server adds defaults to its entries"
    if begins_with(after, value):
        return "the server adds entries to it"
    if _are_texts(value, after, at.node):
        return "the server keeps another value"
    return "the server keeps it in another form" if is_there else "the server does not keep it"


def _holds_directive(value: JSONValue) -> bool:
    """Return whether there is a directive in a value: kubectl computes away what it asks for, and sends the rest."""
    if isinstance(value, Mapping):
        return any(is_directive(name) or _holds_directive(below) for name, below in value.items())
    return isinstance(value, list) and any(map(_holds_directive, value))


def _are_texts(value: JSONValue, after: JSONValue, node: Node | None) -> bool:
    """Return whether a field holds any text, or a list of them: times, base64 and amounts have several spellings."""
    if node is None:
        return False
    if isinstance(value, list) and isinstance(after, list) and value and after:
        return all(_are_texts(one, other, node.items) for one in value for other in after)
    is_text = node.type == "string" and not node.format and node.definition != QUANTITY
    return is_text and isinstance(value, str) and isinstance(after, str)


def _loses_null(value: JSONValue, after: JSONValue) -> bool:
    """Return whether there is a null in a list for which the object has nothing, or something else."""
    if isinstance(value, Mapping):
        found = after if isinstance(after, Mapping) else {}
        is_lost = any(v is None and found.get(n, ABSENT) is not None for n, v in value.items())
        return is_lost or any(_loses_null(v, found.get(n)) for n, v in value.items())
    if isinstance(value, list):
        return isinstance(after, list) and len(value) == len(after) and any(map(_loses_null, value, after))
    return False


def _repeats(patch: JSONObject, after: JSONObject, at: _Place) -> Iterator[tuple[PlainPath, str]]:
    kept = patch.get("$retainKeys")
    if isinstance(kept, list) and all(map(is_directive, patch)) and any(key not in kept for key in after):
        yield at.path, "it keeps only the keys that the manifest has, and the server sets its default again"
    for name, value in patch.items():
        if is_directive(name) or name == LAST_APPLIED:
            continue
        below, before = at.enter(name), after.get(name)
        if below.node is not None and "replace" in below.node.patch_strategy:
            yield below.path, "kubectl always sends it whole"
        elif isinstance(value, Mapping) and value and (isinstance(before, Mapping) or _holds_only_nulls(value, before)):
            yield from _repeats(value, before or {}, below)
        elif isinstance(value, list) and value and below.is_merged and isinstance(before, list | None):
            yield from _repeat_entries(value, before or [], below)
        elif not below.is_lost and not _only_adds(value, before, below):
            yield below.path, _find_cause(below, value, before, is_there=name in after)


def _holds_only_nulls(value: JSONObject, before: JSONValue) -> bool:
    """Return whether a map is absent, and a patch has nothing but nulls for it."""
    return before is None and all(entry is None for entry in value.values())


def _only_adds(value: JSONValue, before: JSONValue, at: _Place) -> bool:
    """Return whether the next apply only adds values that a set lacks: the one after that sends nothing."""
    node, kept = at.node, before or []
    if node is None or "merge" not in node.patch_strategy or node.patch_merge_key:
        return False
    if not isinstance(value, list) or not value or not isinstance(kept, list):
        return False
    return {*map(canonical_json, kept)}.isdisjoint(map(canonical_json, value))


def _index(entries: list[JSONValue], key: tuple[str, ...]) -> dict[JSONValue, Mapping[str, JSONValue]]:
    """Return the entries by their merge key; those whose key is no plain value are left out."""
    named = ((get_at(entry, key), entry) for entry in entries if isinstance(entry, Mapping))
    return {name: entry for name, entry in named if not isinstance(name, (Mapping, list))}


def _repeat_entries(entries: list[JSONValue], after: list[JSONValue], at: _Place) -> Iterator[tuple[PlainPath, str]]:
    """Yield what the entries of a merged list send again; an entry has its key in the object and in the manifest.

    - An entry that the object lacks is added by the next apply, which is no repetition.
    """
    node = at.node
    key: tuple[str, ...] = (node.patch_merge_key,) if node is not None else ()
    wanted = at.value if isinstance(at.value, list) else []
    sent, kept = _index(entries, key), _index(after, key)
    now = at.sent if isinstance(at.sent, list) else []
    dropped = _index([one for one in now if get_at(one, ("$patch",)) == "delete"], key)
    set_now = _index([one for one in now if get_at(one, ("$patch",)) is None], key)
    names = Counter(canonical_json(get_at(item, key)) for item in wanted)
    for index, item in enumerate(wanted):
        name = get_at(item, key)
        if isinstance(name, (Mapping, list)) or name not in sent or name not in kept:
            continue
        count = names.pop(canonical_json(name), 0)
        if count != 1:
            if count and any(part not in key for part in sent[name]):
                yield (*at.path, index), "the manifest has another entry with the same key"
            continue
        again = {part: value for part, value in sent[name].items() if part not in key}
        path, below = (*at.path, index), node.items if node else None
        is_dropped = at.is_dropped or name in dropped
        entry = replace(at, path=path, value=item, node=below, sent=set_now.get(name, ABSENT), is_dropped=is_dropped)
        yield from _repeats(again, kept[name], entry)


def _start(subject: RiskSubject) -> _Place:
    has_status = subject.kind is not None and subject.kind.has_status
    return _Place((), subject.manifest, root_of(subject), has_status, subject.patch)


def describe_idle_patch(subject: RiskSubject, patch: JSONObject) -> str:
    """Return what a patch without an effect sends to the live object, and why; "" if only the order of entries."""
    found = _repeats(patch, subject.live or {}, _start(subject))
    named = [(render_path(path_of(subject, where)).removeprefix("."), cause) for where, cause in found]
    if not named:
        return ""
    more = f", and {len(named) - 1} more" if len(named) > 1 else ""
    field, cause = named[0]
    return f"{field} ({cause}){more}"


@rule(330)
def find(subject: RiskSubject) -> Iterator[Risk]:
    """Yield the parts of a client-side patch that the next apply will send again."""
    after, manifest = subject.result or subject.live, subject.manifest
    if after is None or manifest is None or not isinstance(subject.patch, Mapping):  # created, or server-side
        return
    if get_at(after, ("metadata", "deletionTimestamp")) and not get_at(after, ("metadata", "finalizers")):
        return  # the object goes with this patch, so that the next apply creates another one
    try:
        wanted = read_null_annotations(manifest)
        patch = patches.compute(wanted, wanted, after, kind=subject.kind).body
    except MergeError:
        return
    for where, cause in _repeats(patch, after, _start(subject)):
        path = path_of(subject, where)
        facts = {"field": render_path(path).removeprefix("."), "cause": cause}
        yield REPEATING_PATCH.at(path, facts, position_of(subject, where))
