"""One patch as each of the three types: what its body does to one live object, and the operations that do the same.

Rule: https://kubernetes.io/docs/tasks/manage-kubernetes-objects/update-api-object-kubectl-patch/. A strategic merge
patch and a JSON merge patch have one form of body, and differ in lists. A JSON patch has another one: its operations
are derived from the result of a merge, and merges from the result of operations.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from itertools import islice

from msgspec import Struct

from applyviz.engine.diff.embedded import names_secret
from applyviz.engine.diff.yaml_text import render_yaml
from applyviz.engine.explain.fields import CHANGING
from applyviz.engine.explain.reasons import FieldReason, Reason
from applyviz.engine.manifests.documents import ObjectPatch, PatchType
from applyviz.engine.manifests.patch_documents import write_patch
from applyviz.engine.merge import patches
from applyviz.engine.objects.errors import MergeError
from applyviz.engine.objects.exchange import STRATEGIC_MERGE_PATCH
from applyviz.engine.objects.structs import replace
from applyviz.engine.objects.values import JSONObject, JSONValue, is_same_json
from applyviz.engine.planning.model.server_managed import drop_server_managed
from applyviz.engine.schema.model import KindSchema
from applyviz.guide.given import PlaygroundQuery, PlaygroundQueryError
from applyviz.guide.playground import explain, read

_MOST_OPERATIONS = 40


class PatchKind(Struct, frozen=True):
    """What a patch does as one type.

    - `body`: as it is sent; `is_derived`: applyviz calculated it from the result of the patch.
    - `is_written`: whether this is the type that was asked for; `is_same`: whether the object is then the same as with
      that type. `fields`: what changes; `error`: why the server refuses it.
    """

    type: PatchType
    body: JSONValue
    is_written: bool
    is_same: bool
    fields: tuple[FieldReason, ...] = ()
    error: str = ""
    is_derived: bool = False


def _point(path: tuple[str, ...]) -> str:
    return "".join("/" + step.replace("~", "~0").replace("/", "~1") for step in path)


def list_operations(before: JSONValue, after: JSONValue, path: tuple[str, ...] = ()) -> Iterator[JSONObject]:
    """Yield the operations of a JSON patch that turn one value into another.

    - Entries of lists have positions only: they are compared one by one where both lists are equally long.
    """
    if isinstance(before, Mapping) and isinstance(after, Mapping):
        for name in before:
            if name not in after:
                yield {"op": "remove", "path": _point((*path, name))}
        for name, value in after.items():
            if name in before:
                yield from list_operations(before[name], value, (*path, name))
            else:
                yield {"op": "add", "path": _point((*path, name)), "value": value}
    elif isinstance(before, list) and isinstance(after, list) and len(before) == len(after):
        for number, (left, right) in enumerate(zip(before, after, strict=True)):
            yield from list_operations(left, right, (*path, str(number)))
    elif not is_same_json(before, after):
        yield {"op": "replace", "path": _point(path), "value": after}


def _list_values(obj: JSONObject) -> JSONObject:
    """Return an object without what a server writes by itself, its field owners included."""
    kept = drop_server_managed(obj)
    metadata = {name: value for name, value in (kept.get("metadata") or {}).items() if name != "managedFields"}
    return {**kept, "metadata": metadata}


def _ask(given: PlaygroundQuery, kind: PatchType, body: JSONValue, subresource: str) -> PlaygroundQuery:
    ref = read(given).document.ref
    text = write_patch(ref, render_yaml(None, body), patch_type=kind, subresource=subresource)
    return replace(given, manifest=text)


def _derive_merges(before: JSONObject, after: JSONObject, kind: KindSchema | None) -> dict[PatchType, JSONValue]:
    """Return the bodies of both merges that turn one object into the other; a kind may take only one of them."""
    bodies: dict[PatchType, JSONValue] = {}
    for wanted, schema in ((PatchType.STRATEGIC, kind), (PatchType.MERGE, None)):
        with suppress(MergeError):
            found = patches.compute(before, after, before, kind=schema)
            if wanted is PatchType.MERGE or found.content_type == STRATEGIC_MERGE_PATCH:
                bodies[wanted] = found.body
    return bodies


def _list_bodies(
    patch: ObjectPatch, before: JSONObject, after: JSONObject, kind: KindSchema | None
) -> dict[PatchType, JSONValue]:
    """Return the body of each type: as it was written where its form allows that, else from its result."""
    if patch.type is PatchType.JSON:
        return {**_derive_merges(before, after, kind), PatchType.JSON: patch.body}
    bodies: dict[PatchType, JSONValue] = {PatchType.STRATEGIC: patch.body, PatchType.MERGE: patch.body}
    operations = list(islice(list_operations(before, after), _MOST_OPERATIONS + 1))
    return bodies if len(operations) > _MOST_OPERATIONS else {**bodies, PatchType.JSON: operations}


def compare_kinds(given: PlaygroundQuery, *, now: str) -> tuple[PatchKind, ...]:
    """Return what a patch does as each type; () for any other question.

    - None for Secrets, whose values are masked, and without a live object, to which nothing can be compared.
    - `given` is masked; `now` is RFC 3339 in UTC. Raises `PlaygroundQueryError`.
    """
    found = read(given)
    patch, ref = found.document.patch, found.document.ref
    if patch is None or found.live is None or names_secret(ref.gvk.kind):
        return ()
    written = explain(given, now=now)
    if written.versions.live is None or written.versions.after is None or written.error:
        return ()
    before, result = _list_values(written.versions.live), _list_values(written.versions.after)
    bodies = _list_bodies(patch, before, result, found.catalog.find_kind(ref.gvk))
    return tuple(_compare(given, patch, kind, body, result, now=now) for kind, body in bodies.items())


def _compare(
    given: PlaygroundQuery, patch: ObjectPatch, kind: PatchType, body: JSONValue, result: JSONObject, *, now: str
) -> PatchKind:
    is_written, is_derived = kind is patch.type, kind is not patch.type and PatchType.JSON in (kind, patch.type)
    try:
        change = explain(_ask(given, kind, body, patch.subresource), now=now)
    except PlaygroundQueryError as error:
        return PatchKind(kind, body, is_written, is_same=False, error=str(error), is_derived=is_derived)
    after = change.versions.after
    is_same = after is not None and is_same_json(_list_values(after), result)
    changed = tuple(one for one in change.fields if one.operation in CHANGING and one.reason is not Reason.BOOKKEEPING)
    return PatchKind(kind, body, is_written, is_same, changed, change.error, is_derived)
