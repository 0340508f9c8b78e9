"""Which objects of a cluster belong to which ApplySet, and what is odd about its parents and members.

Rule: KEP-3659. An object is a member by its label part-of, which holds the id of a parent. kubectl finds members only
of the kinds and in the namespaces that the parent records, and refuses a parent whose id is not that of its name.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from enum import StrEnum

from msgspec import Struct

from applyviz.engine.objects.known_names import PART_OF
from applyviz.engine.objects.refs import ObjectRef
from applyviz.engine.objects.structs import replace
from applyviz.engine.objects.values import JSONObject, get_at
from applyviz.engine.requests.applyset import ID, KINDS, NAMESPACES, RESOURCES, TOOLING, Parent
from applyviz.engine.schema.model import Resource

_MOST_WORDS = 500
_MOST_SHARING = 10


class ParentFault(StrEnum):
    """Why kubectl refuses a parent, or cannot distinguish its members from those of another one."""

    OTHER_ID = "other-id"
    SHARED_ID = "shared-id"
    NO_TOOLING = "no-tooling"
    NO_KINDS = "no-kinds"


class SetMember(Struct, frozen=True):
    """One member; `is_missed`: the parent does not record its kind or its namespace, so that prune never finds it."""

    ref: ObjectRef
    is_missed: bool = False


class FoundSet(Struct, frozen=True):
    """One parent with what it records, and its members in order.

    - `is_legacy`: it names resources in place of kinds, as older tools wrote; then no member counts as missed.
    - `is_cut`: it records more kinds or namespaces than are read; then no member counts as missed either.
    """

    parent: ObjectRef
    id: str
    tooling: str = ""
    kinds: tuple[str, ...] = ()
    is_legacy: bool = False
    namespaces: tuple[str, ...] = ()
    faults: tuple[ParentFault, ...] = ()
    members: tuple[SetMember, ...] = ()
    is_cut: bool = False


class ParentlessSet(Struct, frozen=True):
    """Members whose parent was not read."""

    id: str
    members: tuple[SetMember, ...]


class Survey(Struct, frozen=True):
    """The sets of a cluster by their parents, and members without one."""

    sets: tuple[FoundSet, ...] = ()
    parentless: tuple[ParentlessSet, ...] = ()


def _read_texts(obj: JSONObject, name: str) -> Mapping[str, str]:
    found = get_at(obj, ("metadata", name))
    pairs = found.items() if isinstance(found, Mapping) else ()
    return {key: text for key, text in pairs if isinstance(text, str)}


def _list_words(text: str) -> tuple[str, ...]:
    """Return the first words of an annotation, and one more if there are more: its author may write 256 KiB."""
    words = text.split(",", _MOST_WORDS + 1)
    return tuple(word for word in words[: _MOST_WORDS + 1] if word)


def read_set(obj: JSONObject) -> str:
    """Return the id of the set that an object is a member of; "" for none."""
    return _read_texts(obj, "labels").get(PART_OF, "")


def _find_faults(ref: ObjectRef, found_id: str, annotations: Mapping[str, str]) -> Iterator[ParentFault]:
    if Parent(Resource(ref.gvk, "", is_namespaced=bool(ref.namespace)), ref.namespace, ref.name).id != found_id:
        yield ParentFault.OTHER_ID
    if not annotations.get(TOOLING):
        yield ParentFault.NO_TOOLING
    if KINDS not in annotations and not annotations.get(RESOURCES):
        yield ParentFault.NO_KINDS


def _read_parent(ref: ObjectRef, obj: JSONObject) -> FoundSet:
    annotations, found_id = _read_texts(obj, "annotations"), _read_texts(obj, "labels").get(ID, "")
    kinds = _list_words(annotations.get(KINDS, annotations.get(RESOURCES, "")))
    recorded = _list_words(annotations.get(NAMESPACES, ""))
    return FoundSet(
        ref,
        found_id,
        annotations.get(TOOLING, ""),
        kinds[:_MOST_WORDS],
        KINDS not in annotations,
        tuple(dict.fromkeys((*filter(None, [ref.namespace]), *recorded[:_MOST_WORDS]))),
        tuple(_find_faults(ref, found_id, annotations)),
        is_cut=max(len(kinds), len(recorded)) > _MOST_WORDS,
    )


def _add_members(one: FoundSet, refs: Iterable[ObjectRef], *, is_shared: bool) -> FoundSet:
    kinds, namespaces = frozenset(one.kinds), frozenset(one.namespaces)
    members = []
    for ref in refs:
        kind = f"{ref.gvk.kind}.{ref.gvk.group}" if ref.gvk.group else ref.gvk.kind
        is_found = (one.is_legacy or kind in kinds) and (not ref.namespace or ref.namespace in namespaces)
        members.append(SetMember(ref, is_missed=not is_found and not one.is_cut))
    faults = (*one.faults, ParentFault.SHARED_ID) if is_shared else one.faults
    return replace(one, members=tuple(members), faults=faults)


def _order(ref: ObjectRef) -> tuple[str, str, str]:
    return ref.namespace, ref.gvk.kind, ref.name


def survey(parents: Iterable[tuple[ObjectRef, JSONObject]], members: Iterable[tuple[ObjectRef, JSONObject]]) -> Survey:
    """Return the sets of objects with an id, and where objects with a part-of label belong.

    - An object with the same id as another parent shares its members: the label does not distinguish them. They are
      listed for the first parents of an id only, so that the result grows with the objects and not with their product.
    """
    sets = sorted((_read_parent(ref, obj) for ref, obj in parents), key=lambda one: _order(one.parent))
    by_id: dict[str, list[ObjectRef]] = {}
    for ref, obj in members:
        by_id.setdefault(read_set(obj), []).append(ref)
    counts: dict[str, int] = {}
    for one in sets:
        counts[one.id] = counts.get(one.id, 0) + 1
    ordered = {name: sorted(refs, key=_order) for name, refs in by_id.items()}
    met: dict[str, int] = {}
    found: list[FoundSet] = []
    for one in sets:
        met[one.id] = met.get(one.id, 0) + 1
        listed = ordered.get(one.id, ()) if met[one.id] <= _MOST_SHARING else ()
        found.append(_add_members(one, listed, is_shared=counts[one.id] > 1))
    lost = sorted(by_id.keys() - counts.keys() - {""})
    parentless = (ParentlessSet(name, tuple(SetMember(ref) for ref in ordered[name])) for name in lost)
    return Survey(tuple(found), tuple(parentless))
