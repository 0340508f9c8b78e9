"""What a planned change is told with: why each field goes where it goes, and what no diff shows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from applyviz.engine.explain.fields import explain
from applyviz.engine.explain.reasons import FieldReason
from applyviz.engine.hazards.model import Subject
from applyviz.engine.hazards.rules import find_hazards
from applyviz.engine.manifests.documents import ManifestDocument
from applyviz.engine.objects.errors import SourcePosition
from applyviz.engine.objects.exchange import APPLY_PATCH
from applyviz.engine.objects.paths import FieldPath, PathElement, element_value
from applyviz.engine.objects.values import JSONObject, JSONValue, is_same_json
from applyviz.engine.ownership.managedfields import read_owners
from applyviz.engine.planning.context import PlanContext
from applyviz.engine.planning.plan import ObjectChange
from applyviz.engine.requests.members import Member
from applyviz.engine.requests.options import ApplyMode, ApplyOptions


def _is_named(item: JSONValue, element: PathElement) -> bool:
    """Whether a list entry is the one a path element names; a key the manifest leaves out may be defaulted."""
    wanted = element_value(element)
    if element.startswith("v:"):
        return is_same_json(item, wanted)
    return isinstance(item, Mapping) and all(k not in item or is_same_json(item[k], v) for k, v in wanted.items())


def _find_index(items: list[JSONValue], element: PathElement) -> int | None:
    if element.startswith("i:"):
        index = int(element_value(element))
        return index if index < len(items) else None
    if element[:2] not in ("k:", "v:"):
        return None
    return next((n for n, item in enumerate(items) if _is_named(item, element)), None)


def find_plain_path(manifest: JSONObject, path: FieldPath) -> tuple[str | int, ...]:
    """A field path as the reader of manifests spells it, as far down as the manifest goes."""
    value: JSONValue = manifest
    plain: list[str | int] = []
    for element in path:
        if isinstance(value, Mapping) and element.startswith("f:") and element[2:] in value:
            plain.append(element[2:])
            value = value[element[2:]]
            continue
        index = _find_index(value, element) if isinstance(value, list) else None
        if index is None:
            break
        plain.append(index)
        value = value[index]
    return tuple(plain)


def _explain(
    change: ObjectChange, member: Member, document: ManifestDocument | None, options: ApplyOptions
) -> tuple[FieldReason, ...]:
    versions = change.versions

    def position_of(path: FieldPath) -> SourcePosition:
        if document is None:
            return SourcePosition()
        return document.positions.nearest(find_plain_path(document.obj, path))

    return explain(
        versions=versions,
        mode=options.mode,
        manager=options.field_manager,
        kind=member.kind,
        owners_before=None if versions.live is None else read_owners(versions.live),
        owners_after=None if versions.after is None else read_owners(versions.after),
        conflicts=change.conflicts,
        position_of=position_of,
        subresource=options.subresource,
    )


def _find_patch(change: ObjectChange) -> object:
    """The body of the client-side patch, when one is sent."""
    for request in change.requests:
        if request.method == "PATCH" and request.content_type != APPLY_PATCH:
            return request.body
    return None


def _list_versions(member: Member, context: PlanContext) -> tuple[str, ...]:
    gvk = member.resource.gvk
    served = [r.gvk for r in context.catalog.list_resources() if (r.gvk.group, r.gvk.kind) == (gvk.group, gvk.kind)]
    return tuple(g.api_version for g in served)


def add_notes(
    change: ObjectChange,
    member: Member,
    *,
    document: ManifestDocument | None,
    options: ApplyOptions,
    context: PlanContext,
) -> ObjectChange:
    """The change with its hazards and the reasons of its fields."""
    versions = change.versions
    subject = Subject(
        change.ref,
        manifest=versions.manifest,
        last_applied=versions.last_applied,
        live=versions.live,
        merged=versions.merged,
        after=versions.after,
        patch=_find_patch(change),
        is_server_side=options.mode is ApplyMode.SERVER,
        field_manager=options.field_manager,
        is_namespaced=member.resource.is_namespaced,
        kind=member.kind,
        document=document,
        neighbours=context.neighbours,
        applyset=context.applyset,
        resource_versions=_list_versions(member, context),
    )
    return replace(change, hazards=find_hazards(subject), fields=_explain(change, member, document, options))
