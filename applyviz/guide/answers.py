"""Compute the engine's answer to a worked example.

A three-way example (manifest, last applied, live) gives patch and result; a table gives both for each row; a story of
applies, updates and migrations gives the object and its field owners, or the conflicts at which it stops; a reading
example gives what kubectl would read; a command on a set gives what kubectl prints, a kOps channel what happens with
each addon. The clock of a story is its step number, so that answers never depend on the time.

What is left after an apply is estimated as in reviews and the playground, with the defaults and the refusals of a
server. Examples name only what they are about, so what the server had filled in before stays out of the answer.
"""

from __future__ import annotations

import json

from msgspec import Struct

from applyviz.engine.manifests.documents import ManifestDocument, ObjectPatch
from applyviz.engine.manifests.parse import parse_manifests
from applyviz.engine.manifests.patch_documents import take_patches_apart
from applyviz.engine.merge import patches
from applyviz.engine.merge.calculation import PatchSteps
from applyviz.engine.objects.errors import Conflict, ConflictError, ManifestError, PatchError
from applyviz.engine.objects.exchange import APPLY_PATCH, Request
from applyviz.engine.objects.known_names import CLIENT_SIDE_MANAGER, LAST_APPLIED
from applyviz.engine.objects.paths import render_path
from applyviz.engine.objects.refs import GroupVersionKind
from applyviz.engine.objects.structs import replace
from applyviz.engine.objects.values import JSONObject, JSONValue, MutableObject, clone, get_at
from applyviz.engine.ownership import managed_fields, migrate, server_side, updates
from applyviz.engine.planning.simulation.dry_run_result import describe_conflicts, describe_refusal
from applyviz.engine.requests.options import ApplyMode
from applyviz.engine.requests.patching import CONTENT_TYPES
from applyviz.engine.schema.builtin import bundled
from applyviz.engine.schema.crds import CRDSource
from applyviz.engine.schema.model import KindSchema, SchemaOrigin
from applyviz.guide import playground
from applyviz.guide.abridging import abridge
from applyviz.guide.channels import print_choices
from applyviz.guide.commands import run_command
from applyviz.guide.given import PlaygroundQuery
from applyviz.guide.pages import Block, Example, PagePart
from applyviz.guide.tables import MergeTable, compute_tables
from applyviz.sandbox.api.estimates import EstimatingServer

_EPOCH = "2026-01-01T00:00:{:02d}Z"
_SERVER_FIELDS = ("managedFields", "creationTimestamp", "generation")


class Answers(Struct, frozen=True):
    """The answers of an example; absent parts are None or empty.

    `owners` is one line per field owner: name, operation, subresource and its fields; `managed` is the same as a server
    stores it; `steps` are the parts of a three-way patch; `prints` is the output of kubectl; `refused` is why the
    server rejects the patch, and then there is no result.
    """

    patch: JSONValue = None
    after: JSONObject | None = None
    owners: tuple[str, ...] = ()
    conflicts: tuple[str, ...] = ()
    prints: tuple[str, ...] = ()
    refused: str = ""
    tables: tuple[MergeTable, ...] = ()
    steps: PatchSteps | None = None
    managed: JSONValue = None


def read_object(text: str, file: str) -> JSONObject:
    """Return the one object of a block.

    - Raises `ManifestError` if the block does not contain exactly one readable object.
    """
    parsed = parse_manifests(text.encode(), file)
    if parsed.problems:
        raise ManifestError(parsed.problems[0].reason, parsed.problems[0].position)
    if len(parsed.documents) != 1:
        raise ManifestError(f"expected one object, got {len(parsed.documents)}")
    obj: JSONObject = parsed.documents[0].obj
    return obj


def _read_patch(text: str) -> ManifestDocument | None:
    """Return the patch document of a block; None for a manifest."""
    parsed = take_patches_apart(parse_manifests(text.encode(), "manifest"))
    return next((document for document in parsed.documents if document.patch is not None), None)


def _answer_patch(example: Example, document: ManifestDocument, patch: ObjectPatch) -> Answers:
    """Return what a patch that a person wrote makes of the live object, or why it cannot be applied."""
    live = read_object(example.find(PagePart.LIVE) or "", "live")
    try:
        after = patches.apply(live, patch.body, CONTENT_TYPES[patch.type], kind=_find_kind(document.obj))
    except PatchError as error:
        return Answers(refused=str(error))
    given = PlaygroundQuery(manifest=example.find(PagePart.MANIFEST) or "", live=json.dumps(live))
    return _answer_estimate(given, known=(live, after))


def _answer_estimate(given: PlaygroundQuery, *, known: tuple[JSONObject, ...], patch: JSONValue = None) -> Answers:
    """Return what a server makes of an apply, without the defaults that were there before; or its refusal."""
    change = playground.estimate(given, now=_EPOCH.format(59))
    if change.error:
        return Answers(patch=patch, refused=change.error)
    after = change.versions.after or {}
    kind = playground.read(given).catalog.find_kind(GroupVersionKind.from_object(after))
    shown = abridge(after, known=known, before=change.versions.live, kind=kind)
    return Answers(patch=patch, after=_without_server_fields(_without_record(shown, known)))


def _without_record(obj: JSONObject, known: tuple[JSONObject, ...]) -> JSONObject:
    """Return an object without the annotation last-applied, unless the example itself shows it."""
    annotations = dict(get_at(obj, ("metadata", "annotations")) or {})
    if any(get_at(one, ("metadata", "annotations", LAST_APPLIED)) for one in known):
        return obj
    annotations.pop(LAST_APPLIED, None)
    metadata = {name: value for name, value in obj["metadata"].items() if name != "annotations"}
    return {**obj, "metadata": {**metadata, "annotations": annotations} if annotations else metadata}


def _find_kind(obj: JSONObject, definitions: CRDSource | None = None) -> KindSchema:
    gvk = GroupVersionKind.from_object(obj)
    unknown = KindSchema(gvk, None, SchemaOrigin.NONE, is_custom=True, is_strategic=False)
    defined = definitions.find_kind(gvk) if definitions is not None else None
    return defined or bundled().find_kind(gvk) or unknown


def _without_server_fields(obj: JSONObject) -> JSONObject:
    shown = clone(dict(obj))
    for name in _SERVER_FIELDS:
        shown.get("metadata", {}).pop(name, None)
    return {k: v for k, v in shown.items() if k != "status" or v}


def _answer_three_way(example: Example) -> Answers:
    manifest = read_object(example.find(PagePart.MANIFEST) or "", "manifest")
    live = read_object(example.find(PagePart.LIVE) or "", "live")
    applied_text = example.find(PagePart.LAST_APPLIED)
    applied = read_object(applied_text, "last applied") if applied_text else None
    patch = patches.compute(applied, manifest, live, kind=_find_kind(manifest))
    given = PlaygroundQuery(
        manifest=example.find(PagePart.MANIFEST) or "",
        live=json.dumps(live),
        last_applied=applied_text or "",
        mode=ApplyMode.CLIENT,
        field_manager=CLIENT_SIDE_MANAGER,
    )
    return replace(_answer_estimate(given, known=(live, manifest), patch=patch.body), steps=patch.calculation)


def _take_step(live: JSONObject | None, step: Block, definitions: CRDSource | None, now: str) -> JSONObject:
    if step.part is PagePart.MIGRATE and live is not None:
        moved = migrate.upgrade(live, manager=step.words[0], csa_managers=list(step.words[1:]))
        return {**live, "metadata": {**live["metadata"], "managedFields": moved}}
    obj = read_object(step.text, " ".join((step.part, *step.words)))
    kind, manager = _find_kind(obj, definitions), step.words[0]
    if step.part is PagePart.APPLY:
        is_forced = "force" in step.words
        return server_side.apply(live, obj, kind=kind, manager=manager, force=is_forced, now=now).result
    new: MutableObject = clone(dict(obj))
    kept = {k: v for k, v in (live or {}).get("metadata", {}).items() if k in _SERVER_FIELDS}
    new["metadata"] = {**new["metadata"], **kept}
    subresource = "".join(step.words[1:])
    fields = updates.update(live, new, kind=kind, manager=manager, subresource=subresource, now=now)
    new["metadata"]["managedFields"] = fields
    return new


def _owner_lines(obj: JSONObject) -> tuple[str, ...]:
    lines = []
    for entry in managed_fields.read_owners(obj).entries:
        owner = entry.owner
        what = f"{owner.operation} {owner.subresource}" if owner.subresource else owner.operation
        fields = " ".join(sorted(render_path(p) for p in entry.fields))
        lines.append((owner.manager, owner.operation, owner.subresource, f"{owner.manager} ({what}): {fields}"))
    return tuple(line[-1] for line in sorted(lines))


def _conflict_line(conflict: Conflict) -> str:
    return f"{conflict.message}: {render_path(conflict.path)}"


def _answer_story(example: Example) -> Answers:
    live_text = example.find(PagePart.LIVE)
    live: JSONObject | None = read_object(live_text, "live") if live_text else None
    before, definition = live, ""
    definitions: CRDSource | None = None
    steps = [b for b in example.blocks if b.part.is_step or b.part is PagePart.DEFINITION]
    for number, step in enumerate(steps):
        if step.part is PagePart.DEFINITION:
            definition, definitions = step.text, CRDSource([read_object(step.text, "definition")])
            continue
        before = live
        try:
            live = _take_step(live, step, definitions, _EPOCH.format(number + 1))
        except ConflictError as error:
            return Answers(conflicts=tuple(sorted(_conflict_line(c) for c in error.conflicts)))
        # an existing object has a creation time: it tells the merge that this is no create
        live = {**live, "metadata": {"creationTimestamp": _EPOCH.format(0), **live["metadata"]}}
    managed = [{k: v for k, v in one.items() if k != "time"} for one in managed_fields.find_entries(live or {}) or ()]
    left = Answers(after=_without_server_fields(live or {}), owners=_owner_lines(live or {}), managed=managed)
    if steps[-1].part is not PagePart.APPLY:
        return left
    return _serve(_ask_step(steps[-1], before, definition), left, known=(before or {}, live or {}))


def _serve(given: PlaygroundQuery, left: Answers, *, known: tuple[JSONObject, ...]) -> Answers:
    """Return the answer to a story with what a server makes of its last apply, one request; or with its refusal."""
    found = playground.read(given)
    ref, live = found.document.ref, playground.show_live(found)
    kind, resource = found.catalog.find_kind(ref.gvk), found.catalog.find_resource(ref.gvk)
    if kind is None or resource is None:
        return left
    query = {"fieldManager": given.field_manager, "force": str(given.is_forced).lower()}
    request = Request("PATCH", resource.path(ref.namespace, ref.name), query, APPLY_PATCH, found.document.obj, ref)
    answer = EstimatingServer().answer(request, live, kind=kind, resource=resource, now=_EPOCH.format(59))
    if answer is None:
        return left
    if not answer.is_ok:
        conflicts = tuple(sorted(c.message for c in describe_conflicts(answer)))
        return Answers(conflicts=conflicts) if conflicts else Answers(refused=describe_refusal(answer))
    return replace(left, after=_without_server_fields(abridge(answer.body, known=known, before=live, kind=kind)))


def _ask_step(step: Block, live: JSONObject | None, definition: str) -> PlaygroundQuery:
    """Return the apply of a story as a question to the playground."""
    return PlaygroundQuery(
        manifest=step.text,
        live="" if live is None else json.dumps(live),
        crds=definition,
        field_manager=step.words[0],
        is_forced="force" in step.words,
        takes_client_side=False,  # a story states itself where fields move
    )


def compute_answers(example: Example) -> Answers:
    """Run one example through the engine.

    - Raises `ApplyVizError` if it cannot be read or merged; conflicts are an answer, not an error.
    """
    if example.find(PagePart.TABLE) is not None:
        return Answers(tables=compute_tables(example))
    if example.steps:
        return _answer_story(example)
    command = example.find(PagePart.COMMAND)
    if command is not None:
        given = example.find(PagePart.SET) or "", example.find(PagePart.CLUSTER) or ""
        return Answers(prints=tuple(run_command(command, *given)))
    if example.find(PagePart.CHANNEL) is not None:
        return Answers(prints=tuple(print_choices(example)))
    written = _read_patch(example.find(PagePart.MANIFEST) or "")
    if written is not None and written.patch is not None:
        return _answer_patch(example, written, written.patch)
    if example.find(PagePart.LIVE) is None:
        return Answers(after=read_object(example.find(PagePart.MANIFEST) or "", "manifest"))
    return _answer_three_way(example)
