"""The inputs of an apply, whatever their source: a recorded story, a public report, a random case.

An input is what a cluster holds, and manifests. It is planned in both modes, each once confirmed by the dry run of a
sandbox that holds the same objects, and once estimated. What people read about the plan is then judged by the families
`rows`, `reasons` and `risks`; nothing is judged here.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path

import yaml
from msgspec import Struct, field

from applyviz.conformance.invocations import SeenDefinitions, read_env, read_files
from applyviz.conformance.recorded import RecordedCluster, follow_applies
from applyviz.conformance.stories import NOW, Invocation, Story, StoryStep, load_lines, load_story
from applyviz.engine.manifests.documents import ManifestDocument
from applyviz.engine.manifests.parse import parse_manifests
from applyviz.engine.objects.exchange import JSON, Answer, Request
from applyviz.engine.objects.known_names import CLIENT_SIDE_MANAGER, LAST_APPLIED
from applyviz.engine.objects.refs import GroupVersionKind
from applyviz.engine.objects.structs import replace
from applyviz.engine.objects.values import JSONObject, JSONValue, MutableObject, clone, get_at
from applyviz.engine.planning.model import placeholders
from applyviz.engine.planning.model.plan import PlannedObject, PlannedSet
from applyviz.engine.planning.objects.context import PlanningContext
from applyviz.engine.planning.sets.planner import SetPlanner, drive
from applyviz.engine.requests.argv import parse_apply
from applyviz.engine.requests.flags import UsageError
from applyviz.engine.requests.flow import Catalog
from applyviz.engine.requests.options import SERVER_SIDE_MANAGER, ApplyMode, ApplyOptions
from applyviz.engine.risks.related_objects import find_related_requests, read_related
from applyviz.engine.schema.builtin import bundled
from applyviz.engine.schema.crds import CRDSource
from applyviz.engine.schema.model import KindSchema
from applyviz.engine.schema.sources import SourceChain
from applyviz.kubernetes.parity.decoding import DecodeError
from applyviz.sandbox.api.estimates import with_estimates
from applyviz.sandbox.api.server import Sandbox
from applyviz.sandbox.storage.bodies import materialize
from applyviz.sandbox.storage.routing import parse_path
from applyviz.sandbox.storage.store import MemoryStore

NAMESPACE = "shop"
MANAGERS = {ApplyMode.CLIENT: CLIENT_SIDE_MANAGER, ApplyMode.SERVER: SERVER_SIDE_MANAGER}
CERTAINTIES = ("confirmed", "estimated")
# The operations of random cases that are an apply of a whole object.
_APPLIED = ("smp3", "ssa")
_CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"


class ApplyInput(Struct, frozen=True, dict=True):  # the dict holds cached properties
    """What a cluster holds, and the manifests that are applied to it.

    - `before`: manifests that were applied first, each with its mode; `live`: objects as the cluster returns them.
    - `definitions`: the custom kinds that the cluster serves.
    """

    name: str
    documents: tuple[ManifestDocument, ...]
    live: tuple[JSONObject, ...] = ()
    before: tuple[tuple[tuple[ManifestDocument, ...], ApplyMode], ...] = ()
    definitions: tuple[JSONObject, ...] = ()
    namespace: str = NAMESPACE
    managers: Mapping[ApplyMode, str] = field(default_factory=lambda: MANAGERS)

    @cached_property
    def catalog(self) -> Catalog:
        """The kinds that the cluster serves."""
        return SourceChain(CRDSource(list(self.definitions)), bundled()) if self.definitions else bundled()


class HeldCluster:
    """A sandbox that holds objects exactly as they were returned, with their owners and values of the server."""

    def __init__(self, given: ApplyInput) -> None:
        self._store = MemoryStore()
        self.sandbox = Sandbox(self._store, lambda: datetime.fromisoformat(NOW).astimezone(UTC), has_controllers=False)
        self._catalog = given.catalog
        self.handle(Request("GET", "/api/v1/namespaces"))
        for definition in given.definitions:
            kept = {name: definition[name] for name in ("apiVersion", "kind", "spec")}
            named = {**kept, "metadata": {"name": definition["metadata"]["name"]}}
            self.handle(Request("POST", _CRDS, {}, JSON, named))
        self._make_namespaces([given.namespace, *(_namespace(obj) for obj in given.live)])
        for obj in given.live:
            self.hold(obj)
        for documents, mode in given.before:
            self._apply(replace(given, documents=documents), mode)

    def _make_namespaces(self, names: Iterable[str]) -> None:
        for name in dict.fromkeys(filter(None, names)):
            body = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
            self.handle(Request("POST", "/api/v1/namespaces", {}, JSON, body))

    def hold(self, obj: JSONObject) -> None:
        """Hold an object; raises `LookupError` for a kind that is not served, or that it does not fit."""
        gvk = GroupVersionKind.from_object(obj)
        resource = self._catalog.find_resource(gvk)
        namespace, name = _namespace(obj), get_at(obj, ("metadata", "name"), "")
        route = parse_path(resource.path(namespace, name)) if resource is not None else None
        target = self.sandbox.registry.find(route) if route is not None else None
        if target is None:
            raise LookupError(f"no {gvk.kind} is served")
        revision = str(self._store.next_revision())
        metadata = {**obj["metadata"], "resourceVersion": revision}
        metadata.setdefault("uid", f"00000000-0000-4000-8000-{int(revision):012}")
        metadata.setdefault("creationTimestamp", "2025-01-01T00:00:00Z")
        stored: MutableObject = clone({**obj, "metadata": metadata})
        try:
            decoded = materialize(target, stored)
        except DecodeError as error:
            raise LookupError(f"{gvk.kind} does not fit: {error}") from error
        with self._store.transaction():
            self._store.put(target.key(namespace, name), decoded.obj)

    def handle(self, request: Request) -> Answer:
        """Return the server's own answer."""
        return self.sandbox.handle(request)

    def find(self, change: PlannedObject) -> JSONObject | None:
        """Return the object of a change as the cluster has it now, None if there is none."""
        resource = self._catalog.find_resource(change.ref.gvk)
        if resource is None:
            return None
        answer = self.handle(Request("GET", resource.path(change.ref.namespace, change.ref.name)))
        return answer.body if answer.is_ok else None

    def plan(self, given: ApplyInput, mode: ApplyMode, certainty: str) -> PlannedSet:
        """Plan the manifests of an input against what the cluster holds now."""
        options = ApplyOptions(mode=mode, field_manager=given.managers[mode], namespace=given.namespace)
        asked = find_related_requests([d.ref for d in given.documents], self._catalog, namespace=given.namespace)
        related = read_related([self.handle(request) for request in asked])
        can_dry_run = certainty == CERTAINTIES[0]
        context = with_estimates(PlanningContext(self._catalog, NOW, can_dry_run=can_dry_run, related=related))
        planner = SetPlanner(given.documents, options=options, context=context)
        for _ in drive(planner, lambda requests: [self.handle(request) for request in requests]):
            pass
        return planner.plan()

    def _apply(self, given: ApplyInput, mode: ApplyMode) -> None:
        for change in self.plan(given, mode, CERTAINTIES[0]).changes:
            if not self.run(change):
                raise LookupError(f"{change.ref} is not applied first: {change.error}")

    def write_again(self, change: PlannedObject) -> JSONObject | None:
        """Return what the server makes of the live object itself, written without a change; None without one."""
        live, resource = change.versions.live, self._catalog.find_resource(change.ref.gvk)
        if live is None or resource is None:
            return None
        path = resource.path(change.ref.namespace, change.ref.name)
        answer = self.handle(Request("PUT", path, {"dryRun": "All"}, JSON, live))
        return answer.body if answer.is_ok else live

    def run(self, change: PlannedObject) -> bool:
        """Send what a plan holds for one object; return whether the server accepted all of it."""
        live = self.find(change)
        for request in change.requests:
            answer = self.handle(placeholders.fill(request, live))
            if not answer.is_ok:
                return False
            live = None if request.method == "DELETE" else answer.body
        return not change.error and not change.conflicts


class Planned(Struct, frozen=True):
    """One object of an input as planned in one mode with one certainty, and the cluster that it was planned against.

    - `name`: the input, the object, mode and certainty.
    """

    name: str
    change: PlannedObject
    plan: PlannedSet
    document: ManifestDocument | None
    kind: KindSchema | None
    given: ApplyInput
    mode: ApplyMode
    certainty: str
    cluster: HeldCluster

    @property
    def options(self) -> ApplyOptions:
        """The options of the apply."""
        return self.plan.options


def _namespace(obj: JSONObject) -> str:
    return get_at(obj, ("metadata", "namespace")) or ""


def plan_all(given: ApplyInput) -> Iterator[Planned]:
    """Plan an input in both modes with both certainties; yield each object of each plan."""
    cluster = HeldCluster(given)
    for mode in ApplyMode:
        for certainty in CERTAINTIES:
            plan = cluster.plan(given, mode, certainty)
            for change in plan.changes:
                document = next((d for d in given.documents if d.position == change.position), None)
                kind = given.catalog.find_kind(change.ref.gvk)
                name = f"{given.name}: {change.ref.gvk.kind} {change.ref.name}, {mode.value}, {certainty}"
                yield Planned(name, change, plan, document, kind, given, mode, certainty, cluster)


def read_documents(text: str) -> tuple[ManifestDocument, ...]:
    """Return the documents of a manifest."""
    return tuple(parse_manifests(text.encode("utf-8", "surrogateescape"), "app.yaml").documents)


def is_report(path: Path) -> bool:
    """Return whether a file is a list of reported inputs."""
    return path.suffix == ".yaml" and "\n- about:" in "\n" + path.read_text("utf-8")


def _write(manifest: JSONValue) -> str:
    return manifest if isinstance(manifest, str) else yaml.safe_dump(manifest, sort_keys=False)


def _read_report(case: JSONObject, number: int) -> Iterator[ApplyInput]:
    """Yield the input of a case, one for each mode in which what was there before may have been applied."""
    live = tuple(document.obj for text in case.get("live", ()) for document in read_documents(text))
    definitions = tuple(document.obj for text in case.get("definitions", ()) for document in read_documents(text))
    documents = read_documents(_write(case["manifest"]))
    modes = [case[name] for name in ("before_mode", "mode") if name in case][:1] or case.get("modes", ["client"])
    for mode in modes if "before" in case else modes[:1]:
        before = ((read_documents(_write(case["before"])), ApplyMode(mode)),) if "before" in case else ()
        first = f", first {mode}" if before else ""
        yield ApplyInput(f"{number} {case['about']}{first}", documents, live, before, definitions)


def read_inputs(path: Path) -> Iterator[ApplyInput]:
    """Yield the inputs of a recorded story, a file of random cases, or a file of reports."""
    if path.suffix == ".yaml":
        yield from read_reports(path)
    elif ".jsonl" in path.name:
        yield from read_lines(path)
    else:
        yield from read_story_inputs(path)


def read_reports(path: Path) -> Iterator[ApplyInput]:
    """Yield the inputs of a file of public reports (format: `tests/conformance/README.md`)."""
    for number, case in enumerate(yaml.safe_load(path.read_text("utf-8")), start=1):
        yield from _read_report(case, number)


def read_lines(path: Path) -> Iterator[ApplyInput]:
    """Yield the inputs of a file of random cases: those of built-in kinds with a manifest and a live object."""
    for number, case in load_lines(path):
        given = _read_line(case["input"], f"{path.name} line {number}") if case.get("op") in _APPLIED else None
        if given is not None:
            yield given


def _read_line(case: JSONObject, name: str) -> ApplyInput | None:
    live, manifest = case.get("current", case.get("live")), case.get("modified", case.get("applied"))
    if live is None or manifest is None or case.get("crd") or case.get("subresource"):
        return None
    if case.get("original") is not None:
        annotations = {**(get_at(live, ("metadata", "annotations")) or {}), LAST_APPLIED: json.dumps(case["original"])}
        live = {**live, "metadata": {**live["metadata"], "annotations": annotations}}
    managers = {**MANAGERS, ApplyMode.SERVER: case.get("manager") or SERVER_SIDE_MANAGER}
    return ApplyInput(name, read_documents(json.dumps(manifest)), (live,), (), (), _namespace(live), managers)


def read_story_inputs(path: Path) -> Iterator[ApplyInput]:
    """Yield the input of every `kubectl apply` of a recorded story, with the objects that the cluster had then."""
    story = load_story(path)
    for step, invocation, cluster, definitions in follow_applies(story):
        yield from _read_invocation(story, step, invocation, cluster, definitions)


def _read_invocation(
    story: Story, step: StoryStep, invocation: Invocation, cluster: RecordedCluster, definitions: SeenDefinitions
) -> Iterator[ApplyInput]:
    try:
        command = parse_apply(invocation.argv, read_env(story, step), namespace=story.namespace)
    except UsageError:
        return
    _inputs, files = read_files(command, invocation)
    documents = tuple(d for f in files for d in f.documents)
    namespace, catalog = command.options.namespace or story.namespace, definitions.catalog()
    live = _find_live(documents, namespace, catalog, cluster)
    managers = {**MANAGERS, command.options.mode: command.options.field_manager}
    name = f"{story.name} step {step.number} invocation {invocation.number}"
    kinds = tuple(definitions.by_name.values())
    yield ApplyInput(name, documents, live, (), kinds, namespace, managers)


def _find_live(
    documents: Sequence[ManifestDocument], namespace: str, catalog: Catalog, cluster: RecordedCluster
) -> tuple[JSONObject, ...]:
    found: dict[str, JSONObject] = {}
    for document in documents:
        resource, ref = catalog.find_resource(document.ref.gvk), document.ref
        if resource is None:
            continue
        path = resource.path((ref.namespace or namespace) if resource.is_namespaced else "", ref.name)
        route = parse_path(path)
        live = cluster.find(route) if route is not None else None
        if live is not None and (route is None or (route.group, route.plural) != ("", "namespaces")):
            found[path] = live
    return tuple(found.values())
