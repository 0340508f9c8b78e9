"""Family `reading`: check that the engine reads a manifest as kubectl did.

A case is one manifest whose apply sent a body: the body of a server-side apply, or the last-applied annotation of a
client-side one, shows the values that kubectl read. Values that kubectl adds (default namespace, empty annotations, an
ApplySet's label) are ignored where the manifest lacks them, and so are values that it removes (a last-applied
annotation, the namespace of a cluster-scoped object). kubectl records an annotation of null as an empty text.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path

from applyviz.conformance.cases import CaseResult
from applyviz.conformance.stories import Invocation, Story, StoryExchange, load_story
from applyviz.engine.manifests.documents import ManifestDocument
from applyviz.engine.manifests.parse import parse_manifests
from applyviz.engine.merge.last_applied import read_null_annotations
from applyviz.engine.objects.exchange import APPLY_PATCH
from applyviz.engine.objects.golang import read_integer
from applyviz.engine.objects.known_names import LAST_APPLIED, PART_OF
from applyviz.engine.objects.values import (
    JSONObject,
    JSONValue,
    MutableObject,
    canonical_json,
    clone,
    get_at,
    is_same_json,
)
from applyviz.engine.requests.argv import is_apply, parse_apply
from applyviz.engine.requests.flags import UsageError
from applyviz.engine.requests.inputs import Material, SourceText, read_inputs


def _texts(story: Story, invocation: Invocation) -> tuple[SourceText, ...]:
    try:
        command = parse_apply(invocation.argv, story.env, namespace=story.namespace)
    except UsageError:
        return ()
    material = Material(invocation.files, invocation.stdin, invocation.rendered, invocation.folder)
    return read_inputs(command, material).texts


def _seen_manifest(exchange: StoryExchange) -> JSONValue:
    """Return the manifest as the exchange shows it, or None if it does not."""
    if exchange.method not in ("POST", "PATCH") or not isinstance(exchange.body, Mapping):
        return None
    if exchange.query.get("fieldManager", "").endswith("-applyset"):
        return None  # the parent of an ApplySet, which is in no file
    if exchange.content_type.startswith(APPLY_PATCH):
        return exchange.body
    text = get_at(exchange.body, ("metadata", "annotations", LAST_APPLIED))
    return json.loads(text, parse_int=read_integer) if isinstance(text, str) else None


def _identity(obj: JSONObject) -> tuple[JSONValue, JSONValue, JSONValue]:
    return obj.get("apiVersion"), obj.get("kind"), get_at(obj, ("metadata", "name"))


def _without_additions(obj: JSONObject, manifest: JSONObject, seen: JSONObject) -> JSONObject:
    """Return `obj` without what kubectl adds to a manifest or removes from it: its annotation, null annotations, the
    namespace of a cluster-scoped kind.
    """
    copy: MutableObject = clone(obj)
    meta, written = copy.get("metadata"), manifest.get("metadata")
    if not isinstance(meta, dict) or not isinstance(written, Mapping):
        return copy
    if not written.get("namespace") or not get_at(seen, ("metadata", "namespace")):
        meta.pop("namespace", None)
    if meta.get("annotations", "") is None:
        del meta["annotations"]
    for name, key in (("annotations", LAST_APPLIED), ("labels", PART_OF)):
        entries = meta.get(name)
        if isinstance(entries, dict):
            if key == LAST_APPLIED or key not in (written.get(name) or {}):
                entries.pop(key, None)
            if not entries:
                del meta[name]
    return copy


def _judge(name: str, document: ManifestDocument, seen: JSONObject, *, is_record: bool) -> CaseResult:
    expected = _without_additions(seen, document.obj, seen)
    read = read_null_annotations(document.obj) if is_record else document.obj
    got = _without_additions(read, document.obj, seen)
    if is_same_json(expected, got):
        return CaseResult("reading", name, True)
    reason = f"{document.position} is read otherwise by kubectl"
    return CaseResult("reading", name, False, reason, expected, got)


def _run_invocation(story: Story, invocation: Invocation) -> Iterator[CaseResult]:
    documents: list[ManifestDocument] = []
    for source in _texts(story, invocation):
        documents.extend(parse_manifests(source.text.encode("utf-8", "surrogateescape"), source.name).documents)
    by_identity: dict[str, list[ManifestDocument]] = {}
    for document in documents:
        by_identity.setdefault(canonical_json(_identity(document.obj)), []).append(document)
    judged: set[str] = set()
    for exchange in invocation.exchanges:
        seen = _seen_manifest(exchange)
        if not isinstance(seen, Mapping):
            continue
        identity = canonical_json(_identity(seen))
        if identity not in by_identity or identity in judged:
            continue
        judged.add(identity)
        kind, name = _identity(seen)[1:]
        case = f"{story.name} step {invocation.step} invocation {invocation.number}: {kind} {name}"
        is_record = not exchange.content_type.startswith(APPLY_PATCH)
        results = [_judge(case, document, seen, is_record=is_record) for document in by_identity[identity]]
        yield next((result for result in results if result.agrees), results[0])


def run_story(path: Path) -> Iterator[CaseResult]:
    """Judge every manifest of a recorded story whose apply sent a body."""
    story = load_story(path)
    for step in story.steps:
        for invocation in step.invocations:
            if is_apply(invocation.argv):
                yield from _run_invocation(story, invocation)
