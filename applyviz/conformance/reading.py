"""Family `reading`: does the engine read a manifest as kubectl read it?

A case is one manifest whose apply sent a body: the body of a server-side apply, or the last-applied
annotation of a client-side one, shows the values kubectl saw. What kubectl adds on its own account
(default namespace, empty annotations, an ApplySet's label) is set aside where the manifest lacks it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from applyviz.conformance.cases import CaseResult
from applyviz.conformance.stories import Exchange, Invocation, load_story
from applyviz.engine.manifests.documents import ManifestDocument
from applyviz.engine.manifests.parse import parse_manifests
from applyviz.engine.objects.exchange import APPLY_PATCH
from applyviz.engine.objects.values import JSONObject, JSONValue, canonical_json, clone, get_at, is_same_json
from applyviz.sources.selection import select_files

FAMILIES = ("reading",)
_LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"
_PART_OF = "applyset.kubernetes.io/part-of"
_SUBCOMMANDS = frozenset(("edit-last-applied", "set-last-applied", "view-last-applied"))
_FILE_FLAGS = ("-f", "--filename", "-k", "--kustomize")


@dataclass(frozen=True, slots=True)
class _Arguments:
    targets: tuple[str, ...]
    kustomizations: tuple[str, ...]
    is_recursive: bool


def _split_flag(argument: str) -> tuple[str, str | None]:
    if argument.startswith("--"):
        name, equals, value = argument.partition("=")
        return name, value if equals else None
    if argument[:2] in ("-f", "-k") and len(argument) > 2:
        return argument[:2], argument[2:].removeprefix("=")
    return argument, None


def _read_arguments(argv: tuple[str, ...]) -> _Arguments:
    targets: list[str] = []
    kustomizations: list[str] = []
    is_recursive = False
    rest = iter(argv)
    for argument in rest:
        name, value = _split_flag(argument)
        if name in ("-R", "--recursive"):
            is_recursive = value != "false"
        elif name in _FILE_FLAGS:
            given = next(rest, "") if value is None else value
            if name in ("-f", "--filename"):
                targets.extend(given.split(","))
            else:
                kustomizations.append(given)
    return _Arguments(tuple(targets), tuple(kustomizations), is_recursive)


def _texts(invocation: Invocation) -> Iterator[tuple[str, str]]:
    arguments = _read_arguments(invocation.argv)
    prefix = f"{invocation.folder}/" if invocation.folder else ""
    for target in arguments.targets:
        if target in invocation.rendered:
            yield target, invocation.rendered[target]
        elif target == "-":
            yield "STDIN", invocation.stdin or ""
        else:
            path = prefix + target
            for name in select_files(invocation.files, path, is_recursive=arguments.is_recursive):
                yield name, invocation.files[name]
    for target in arguments.kustomizations:
        if target in invocation.rendered:
            yield target, invocation.rendered[target]


def _seen_manifest(exchange: Exchange) -> JSONValue:
    """What the exchange shows of the manifest, None when it shows nothing."""
    if exchange.method not in ("POST", "PATCH") or not isinstance(exchange.body, Mapping):
        return None
    if exchange.content_type.startswith(APPLY_PATCH):
        return exchange.body
    text = get_at(exchange.body, ("metadata", "annotations", _LAST_APPLIED))
    return json.loads(text) if isinstance(text, str) else None


def _identity(obj: JSONObject) -> tuple[JSONValue, JSONValue, JSONValue]:
    return obj.get("apiVersion"), obj.get("kind"), get_at(obj, ("metadata", "name"))


def _without_additions(obj: JSONObject, manifest: JSONObject) -> JSONValue:
    """`obj` without what kubectl adds to a manifest; only where `manifest` does not hold it."""
    copy = clone(obj)
    meta, written = copy.get("metadata"), manifest.get("metadata")
    if not isinstance(meta, dict) or not isinstance(written, Mapping):
        return copy
    if "namespace" not in written:
        meta.pop("namespace", None)
    for name, key in (("annotations", _LAST_APPLIED), ("labels", _PART_OF)):
        entries = meta.get(name)
        if isinstance(entries, dict):
            if key not in (written.get(name) or {}):
                entries.pop(key, None)
            if not entries:
                del meta[name]
    return copy


def _judge(name: str, document: ManifestDocument, seen: JSONObject) -> CaseResult:
    expected = _without_additions(seen, document.obj)
    got = _without_additions(document.obj, document.obj)
    if is_same_json(expected, got):
        return CaseResult("reading", name, True)
    reason = f"{document.position} is read otherwise by kubectl"
    return CaseResult("reading", name, False, reason, expected, got)


def _run_invocation(story: str, invocation: Invocation) -> Iterator[CaseResult]:
    documents: list[ManifestDocument] = []
    for file, text in _texts(invocation):
        documents.extend(parse_manifests(text.encode(), file).documents)
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
        case = f"{story} step {invocation.step} invocation {invocation.number}: {kind} {name}"
        results = [_judge(case, document, seen) for document in by_identity[identity]]
        yield next((result for result in results if result.agrees), results[0])


def run_story(path: Path) -> Iterator[CaseResult]:
    """Judge every manifest of a recorded story whose apply sent a body."""
    story = load_story(path)
    for step in story.steps:
        for invocation in step.invocations:
            argv = invocation.argv
            if "apply" in argv and not _SUBCOMMANDS.intersection(argv):
                yield from _run_invocation(story.name, invocation)
