"""A cluster in memory that has the objects of a question, and answers every request as an API server does.

The objects of the last apply are applied in kubectl's own steps. Other objects are stored unchanged, with their uids,
because the references of dependents name these. The garbage collector finishes before the next request.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime

from msgspec import Struct

from applyviz.engine.manifests.documents import ManifestDocument, ParsedFile
from applyviz.engine.objects.errors import ApplyVizError, ManifestError
from applyviz.engine.objects.exchange import JSON, MERGE_PATCH, Answer, Request
from applyviz.engine.objects.known_names import SERVER_WRITTEN
from applyviz.engine.objects.refs import GroupVersionKind, ObjectRef
from applyviz.engine.objects.structs import replace
from applyviz.engine.objects.values import JSONObject, get_at
from applyviz.engine.planning.model import placeholders
from applyviz.engine.planning.model.plan import PlannedObject
from applyviz.engine.planning.simulation.dry_run_result import describe_refusal
from applyviz.engine.requests.argv import ApplyCommand
from applyviz.engine.requests.kubectl import CommandResult, run_apply
from applyviz.engine.requests.options import ApplyOptions
from applyviz.engine.schema.builtin import bundled
from applyviz.engine.schema.crds import CRDSource
from applyviz.engine.schema.model import Resource, SchemaOrigin
from applyviz.engine.schema.sources import SourceChain
from applyviz.kubernetes.parity.decoding import DecodeError
from applyviz.sandbox.api.estimates import hold_object
from applyviz.sandbox.api.server import Sandbox
from applyviz.sandbox.storage.routing import parse_path
from applyviz.sandbox.storage.store import MemoryStore

NAMESPACE = GroupVersionKind("", "v1", "Namespace")
_USER = "kubectl"
_CREATED = ("CustomResourceDefinition", "Namespace")
_CHOSEN = SERVER_WRITTEN - {"managedFields"}


class StoredObject(Struct, frozen=True):
    """One object that the cluster was given: its reference, its uid, its path, and what it is."""

    ref: ObjectRef
    uid: str
    path: str
    obj: JSONObject


def read_definitions(documents: Iterable[ManifestDocument]) -> SourceChain:
    """Return the kinds of a cluster that has the definitions among the documents.

    - Raises `SchemaError` for a definition that cannot be read.
    """
    definitions = [one.obj for one in documents if one.ref.gvk.kind == "CustomResourceDefinition"]
    return SourceChain(CRDSource(definitions, origin=SchemaOrigin.CLUSTER_CRD), bundled())


class StoredCluster:
    """The cluster; `catalog` has the kinds that it serves, `now` is RFC 3339 in UTC."""

    def __init__(self, catalog: SourceChain, *, namespace: str, now: str) -> None:
        self.catalog, self._namespace, moment = catalog, namespace, datetime.fromisoformat(now)
        self._store = MemoryStore()
        self._stored: dict[str, StoredObject] = {}
        # Controllers would collect a dependent that is stored before its owner.
        self._filling = Sandbox(self._store, lambda: moment, has_controllers=False)
        self._running = Sandbox(self._store, lambda: moment)

    def answer(self, request: Request) -> Answer:
        """Return the answer to one request; controllers are done with what it causes."""
        return self._running.handle(request, user=_USER)

    def carry_out(self, change: PlannedObject) -> None:
        """Send the writes of a plan for one object; controllers react only where the object is gone with them."""
        server = self._running if change.is_ended else self._filling
        resource = self.catalog.find_resource(change.ref.gvk)
        live = self.read(resource.path(change.ref.namespace, change.ref.name)) if resource is not None else None
        for request in change.requests:
            if request.is_write:
                answer = server.handle(placeholders.fill(request, live), user=_USER)
                live = answer.body if answer.is_ok else live

    def read_again(self) -> None:
        """Read the objects again after writes; of one that is gone, what it was stays known."""
        found = {path: self.read(path) for path in self._stored}
        self._stored = {path: replace(one, obj=found[path] or one.obj) for path, one in self._stored.items()}

    def read(self, path: str) -> JSONObject | None:
        """Return the object at a path, None if there is none."""
        answer = self.answer(Request("GET", path))
        return answer.body if answer.is_ok else None

    @property
    def objects(self) -> tuple[StoredObject, ...]:
        """Return what was given, in the order in which the cluster got it."""
        return tuple(self._stored.values())

    def apply(self, file: ParsedFile, options: ApplyOptions) -> Iterator[str]:
        """Apply the manifests as kubectl does, and yield what went wrong."""
        self.add_namespaces(file.documents)
        flow = run_apply([file], command=ApplyCommand(options), catalog=self.catalog)
        try:
            request = next(flow)
            while True:
                request = flow.send(self._filling.handle(request, user=_USER))
        except StopIteration as stop:
            result: CommandResult = stop.value
            yield from result.errors
        except ApplyVizError as error:
            yield str(error)
        for document in file.documents:
            self._know(document)

    def add_namespaces(self, documents: Sequence[ManifestDocument], names: Iterable[str] = ()) -> None:
        """Add the namespace of the question, further ones, and those that the documents do not name as objects."""
        own = {one.ref.name for one in documents if one.ref.gvk == NAMESPACE}
        for name in sorted({self._namespace, *names, *(one.ref.namespace for one in documents)} - own - {""}):
            self._add_namespace(name)

    def hold(self, document: ManifestDocument) -> str:
        """Store an object unchanged; return why that is impossible, "" if it is stored."""
        try:
            resource, namespace = self._place(document)
            if namespace:
                self._add_namespace(namespace)
            path = resource.path(namespace, document.ref.name)
            wrong = self._hold(document, resource, namespace, path)
        except ManifestError as error:
            return error.reason
        if not wrong:
            self._know(document)
        return wrong

    def _place(self, document: ManifestDocument) -> tuple[Resource, str]:
        ref = document.ref
        resource = self.catalog.find_resource(ref.gvk)
        if resource is None:
            raise ManifestError(f'no matches for kind "{ref.gvk.kind}" in version "{ref.gvk.api_version}"')
        return resource, (ref.namespace or self._namespace) if resource.is_namespaced else ""

    def _add_namespace(self, name: str) -> None:
        body = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
        self._filling.handle(Request("POST", "/api/v1/namespaces", {}, JSON, body))

    def _hold(self, document: ManifestDocument, resource: Resource, namespace: str, path: str) -> str:
        metadata = document.obj["metadata"]
        if path in self._stored:
            return f"{document.ref} is named twice"
        if resource.gvk.kind in _CREATED:
            return self._create(document, resource)
        route = parse_path(path)
        target = self._filling.registry.find(route) if route is not None else None
        if target is None:
            return f'no matches for kind "{resource.gvk.kind}" in version "{resource.gvk.api_version}"'
        placed = {**metadata, "uid": metadata.get("uid") or str(uuid.uuid4())}
        placed |= {"namespace": namespace} if namespace else {}
        try:
            is_stored = hold_object(self._store, target, {**document.obj, "metadata": placed})
        except (DecodeError, LookupError, TypeError, AttributeError, ValueError) as error:
            return f"{document.ref} is no object of its kind: {error}"
        return "" if is_stored else f"{document.ref} has fields that its kind does not have"

    def _create(self, document: ManifestDocument, resource: Resource) -> str:
        """Create an object that a server completes: a definition, or a namespace, which may be there already."""
        metadata = {key: value for key, value in document.obj["metadata"].items() if key not in _CHOSEN}
        body = {**document.obj, "metadata": metadata}
        answer = self._filling.handle(Request("POST", resource.path(), {}, JSON, body))
        if answer.status == 409:
            path = resource.path("", document.ref.name)
            answer = self._filling.handle(Request("PATCH", path, {}, MERGE_PATCH, body))
        return "" if answer.is_ok else describe_refusal(answer)

    def _know(self, document: ManifestDocument) -> None:
        try:
            resource, namespace = self._place(document)
        except ManifestError:
            return
        path = resource.path(namespace, document.ref.name)
        found = self.read(path)
        if found is not None:
            ref = ObjectRef(resource.gvk, namespace, document.ref.name)
            self._stored.setdefault(path, StoredObject(ref, get_at(found, ("metadata", "uid"), ""), path, found))


def is_of_kind(ref: ObjectRef, definition: JSONObject) -> bool:
    """Return whether a CustomResourceDefinition defines the kind of an object."""
    named = get_at(definition, ("spec", "group"), ""), get_at(definition, ("spec", "names", "kind"), "")
    return GroupVersionKind.from_object(definition).kind == "CustomResourceDefinition" and named == ref.gvk[::2]
