"""Choose the objects that are deleted and created again if the server refuses their change as immutable.

Rule: `kubectl apply --force` deletes and creates an object whose patch the server refuses. Here it is chosen per
object, per kind or by an annotation of the manifest; planning finds out whether it helps.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from applyviz.engine.objects.refs import ObjectRef
from applyviz.engine.objects.structs import replace
from applyviz.engine.objects.values import JSONObject, get_at
from applyviz.engine.requests.flow import Deletion
from applyviz.engine.requests.options import ApplyOptions

KIND = re.compile(r"[a-z0-9]([-a-z0-9.]*[a-z0-9])?/[A-Z][A-Za-z0-9]*")
"""A kind with its group: `batch/Job`, `core/Service`."""
_BARE_KIND = re.compile(r"[A-Z][A-Za-z0-9]*")
_PARTS_OF_OBJECT = 3


def name_kind(ref: ObjectRef) -> str:
    """Return the kind of an object as options name it: `batch/Job`, `core/Service`."""
    return f"{ref.gvk.group or 'core'}/{ref.gvk.kind}"


def name_object(ref: ObjectRef) -> str:
    """Return an object as options name it: `batch/Job/default/migrate`; the namespace may be empty."""
    return f"{name_kind(ref)}/{ref.namespace}/{ref.name}"


def list_object_names(ref: ObjectRef) -> tuple[str, str]:
    """Return the names of an object: with its group, and without it, as `Job/default/migrate`."""
    full = name_object(ref)
    return full, full.partition("/")[2]


def read_names(text: str) -> tuple[str, ...]:
    """Return the kinds and objects that a text lists, separated by spaces or commas."""
    return tuple(dict.fromkeys(text.replace(",", " ").split()))


def is_object(name: str) -> bool:
    """Return whether a text names an object as `group/Kind/namespace/name`, or without the group."""
    parts = name.rsplit("/", _PARTS_OF_OBJECT - 1)
    return len(parts) == _PARTS_OF_OBJECT and _is_kind(parts[0]) and bool(parts[-1])


def _is_kind(name: str) -> bool:
    return bool(KIND.fullmatch(name) or _BARE_KIND.fullmatch(name))


def find_odd_names(names: Iterable[str]) -> tuple[str, ...]:
    """Return the texts that name neither a kind nor an object, with or without its group."""
    return tuple(name for name in names if not (_is_kind(name) or is_object(name)))


def choose_names(options: ApplyOptions, names: Iterable[str]) -> ApplyOptions:
    """Return the options that choose these kinds and objects for replacement, besides those of policies."""
    names = tuple(names)
    kinds, objects = (tuple(n for n in names if is_object(n) is wanted) for wanted in (False, True))
    return replace(options, replacement=replace(options.replacement, kinds=kinds, objects=objects))


def find_odd_kinds(kinds: Iterable[str]) -> tuple[str, ...]:
    """Return the texts that name no kind as `group/Kind`."""
    return tuple(kind for kind in kinds if not KIND.fullmatch(kind))


def is_chosen(ref: ObjectRef, manifest: JSONObject, options: ApplyOptions) -> bool:
    """Return whether the options choose an object for replacement."""
    chosen = options.replacement
    if not set(list_object_names(ref)).isdisjoint(chosen.objects) or ref.gvk.kind in chosen.kinds:
        return True
    if name_kind(ref) in (*chosen.kinds, *chosen.policy_kinds):
        return True
    annotations = get_at(manifest, ("metadata", "annotations")) or {}
    return any(annotations.get(name) == "true" for name in chosen.annotations)


def list_unmatched(names: Iterable[str], refs: Iterable[ObjectRef]) -> tuple[str, ...]:
    """Return the names of kinds and objects that match none of these objects."""
    known: set[str] = set()
    for ref in refs:
        known.update((*list_object_names(ref), name_kind(ref), ref.gvk.kind))
    return tuple(name for name in names if name not in known)


def choose(ref: ObjectRef, manifest: JSONObject, options: ApplyOptions) -> ApplyOptions:
    """Return the options for one object: it is replaced on error if it is chosen."""
    if options.is_replacing_on_error or not is_chosen(ref, manifest, options):
        return options
    return replace(options, is_replacing_on_error=True)


def read_deletion(options: ApplyOptions) -> Deletion:
    """Return how the options delete objects."""
    return Deletion(options.propagation.value, timeout=options.deletion_seconds)
