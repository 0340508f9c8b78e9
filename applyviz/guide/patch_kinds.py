"""One patch as each of the three types: what its body does to one live object, and the operations that do the same.

Rule: https://kubernetes.io/docs/tasks/manage-kubernetes-objects/update-api-object-kubectl-patch/. A strategic merge
patch and a JSON merge patch have one form of body, and differ in lists. A JSON patch has another one, so its operations
are derived from the result of the patch as it was written.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from applyviz.engine.diff.embedded import names_secret
from applyviz.engine.diff.yaml_text import render_yaml
from applyviz.engine.explain.fields import CHANGING
from applyviz.engine.explain.reasons import FieldReason, Reason
from applyviz.engine.manifests.documents import PatchType
from applyviz.engine.manifests.patch_documents import write_patch
from applyviz.engine.objects.values import JSONObject, JSONValue, is_same_json
from applyviz.engine.planning.model.server_managed import drop_server_managed
from applyviz.guide.given import PlaygroundQuery, PlaygroundQueryError
from applyviz.guide.playground import explain, read

_MOST_OPERATIONS = 40


@dataclass(frozen=True, slots=True)
class PatchKind:
    """What a patch does as one type.

    - `body`: as it is sent; `is_written`: whether this is the type that was asked for; `is_same`: whether the object is
      then the same as with that type. `fields`: what changes; `error`: why the server refuses it.
    """

    type: PatchType
    body: JSONValue
    is_written: bool
    is_same: bool
    fields: tuple[FieldReason, ...] = ()
    error: str = ""


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


def compare_kinds(given: PlaygroundQuery, *, now: str) -> tuple[PatchKind, ...]:
    """Return what a patch with the body of a merge does as each type; () for any other question.

    - None for Secrets, whose values are masked, and without a live object, to which nothing can be compared.
    - `given` is masked; `now` is RFC 3339 in UTC. Raises `PlaygroundQueryError`.
    """
    found = read(given)
    patch, live = found.document.patch, found.live
    if patch is None or live is None or patch.type is PatchType.JSON or names_secret(found.document.ref.gvk.kind):
        return ()
    written = explain(given, now=now)
    before, result = written.versions.live, written.versions.after
    if before is None or result is None or written.error:
        return ()
    operations = list(list_operations(_list_values(before), _list_values(result)))
    bodies = {PatchType.STRATEGIC: patch.body, PatchType.MERGE: patch.body, PatchType.JSON: operations}
    kinds = []
    for kind, body in bodies.items():
        if kind is PatchType.JSON and len(operations) > _MOST_OPERATIONS:
            continue
        try:
            change = explain(_ask(given, kind, body, patch.subresource), now=now)
        except PlaygroundQueryError as error:
            kinds.append(PatchKind(kind, body, kind is patch.type, is_same=False, error=str(error)))
            continue
        after = change.versions.after
        is_same = after is not None and is_same_json(_list_values(after), _list_values(result))
        changed = tuple(
            one for one in change.fields if one.operation in CHANGING and one.reason is not Reason.BOOKKEEPING
        )
        kinds.append(PatchKind(kind, body, kind is patch.type, is_same, changed, change.error))
    return tuple(kinds)
