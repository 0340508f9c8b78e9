"""A Kubernetes API server in one object: one request in, one answer out.

Rule: https://kubernetes.io/docs/reference/using-api/api-concepts/. Separate modules implement the verbs; here a path
finds its resource, a method its verb, and an error becomes a `Status`. A write is one transaction of the store; a dry
run opens none. Left out: authorization (the caller's), proxies, logs.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping
from datetime import datetime

from applyviz.engine.objects.exchange import Answer, Request
from applyviz.engine.objects.structs import replace
from applyviz.engine.objects.values import JSONObject
from applyviz.kubernetes.parity.payloads import Payload
from applyviz.kubernetes.parity.status import StatusError, bad_request, method_not_allowed
from applyviz.kubernetes.v1_36.warnings.kinds import DEPRECATED_RESOURCES
from applyviz.sandbox.api import admission_policies, component_statuses
from applyviz.sandbox.api.access_reviews import RequestUser, answer_review, is_review
from applyviz.sandbox.api.controllers import Controllers
from applyviz.sandbox.api.deletes import Deleter
from applyviz.sandbox.api.discovery_documents import answers_any_method, find_aggregated, find_document
from applyviz.sandbox.api.reads import list_objects, read_object
from applyviz.sandbox.api.scale_writes import write_scale
from applyviz.sandbox.api.service_account_tokens import issue_token
from applyviz.sandbox.api.shapes import check_shape, find_absence
from applyviz.sandbox.api.watches import WatchStep, bookmark, continue_watch, has_bookmarks, start_watch
from applyviz.sandbox.api.writes import Writer
from applyviz.sandbox.storage import bootstrap
from applyviz.sandbox.storage.bodies import read_body
from applyviz.sandbox.storage.cluster import SandboxCluster
from applyviz.sandbox.storage.resources import Registry, ResourceTarget
from applyviz.sandbox.storage.routing import Route, parse_path
from applyviz.sandbox.storage.scaling import render_scale
from applyviz.sandbox.storage.store import Store
from applyviz.sandbox.workloads.controller_client import MANAGER
from applyviz.sandbox.workloads.moments import SimulatedClock

_WRITES = frozenset({"POST", "PUT", "PATCH", "DELETE"})
_SELF = RequestUser()


def _new_uid() -> str:
    return str(uuid.uuid4())


def _warn_of_resource(request: Request, answer: Answer) -> Answer:
    """Add the warning about a deprecated resource, which every request has that a handler of it answers."""
    route = parse_path(request.path)
    if answer.status == 405 or route is None or route.subresource:
        return answer
    return replace(answer, warnings=(*_list_resource_warnings(route), *answer.warnings))


def _list_resource_warnings(route: Route) -> tuple[str, ...]:
    warning = DEPRECATED_RESOURCES.get((route.group, route.version, route.plural))
    return (warning,) if warning is not None else ()


class Sandbox:
    """A sandbox cluster over a store.

    - `clock()` returns aware datetimes; `new_uid()` returns fresh uids.
    - `has_controllers`: the reactions of controllers to deleted namespaces, owners and protected claims are complete
      before the next request; without controllers, such objects wait until a client removes their finalizers.
    - `simulates_workloads`: Pods of workloads appear and become ready by the clock, see `sandbox.workloads`.
    - An empty store gets the namespaces of every cluster with the first request.
    """

    def __init__(
        self,
        store: Store,
        clock: Callable[[], datetime],
        *,
        new_uid: Callable[[], str] = _new_uid,
        has_controllers: bool = True,
        simulates_workloads: bool = False,
    ) -> None:
        self.registry, self.simulates_workloads = Registry(store), simulates_workloads
        simulated = SimulatedClock(clock)
        self._cluster = SandboxCluster(store, simulated, new_uid, self.registry, has_controllers)
        self._writer, self._deleter = Writer(self._cluster), Deleter(self._cluster)
        self._controllers = Controllers(
            self._cluster, self._deleter, self._send, simulated, simulates=simulates_workloads
        )
        self._store = store
        self._is_started = False

    def handle(
        self, request: Request, *, user: str = "", payload: Payload | None = None, caller: RequestUser = _SELF
    ) -> Answer:
        """Answer one request; `user` is the field manager if the query names none.

        - `payload`: the body in wire format; without one, the body of the request is the value itself.
        - `caller`: the user of the request; it affects no field owner, and no object but a request for a certificate.
        """
        token = admission_policies.caller.set(caller)
        try:
            self._start()
            payload = payload if payload is not None else Payload(request.content_type, None, request.body)
            answer = self._route(request, user, payload, caller)
        except StatusError as error:
            answer = Answer(error.code, error.render(), error.warnings)
        except RecursionError:
            answer = Answer(400, bad_request("the object is nested too deeply").render())
        finally:
            admission_policies.caller.reset(token)
        return _warn_of_resource(request, answer)

    def watch(self, request: Request, position: int | None = None, *, has_bookmark: bool = False) -> WatchStep:
        """Return the events of a collection since a position, None for the position that the client names.

        - `has_bookmark`: end with the position, if the client wants bookmarks.
        - Raises `StatusError` for a resource that does not support watching.
        """
        self._start()
        route, target = self._find_collection(request)
        query, namespace = request.query, route.namespace
        if position is None:
            step = self._start_watch(route, target, query)
        else:
            step = continue_watch(self._cluster, target, namespace, query, position)
        if not has_bookmark or step.is_ended or not has_bookmarks(query):
            return step
        return replace(step, events=(*step.events, bookmark(target, step.position)))

    def _start_watch(self, route: Route, target: ResourceTarget, query: Mapping[str, str]) -> WatchStep:
        warnings = _list_resource_warnings(route)
        try:
            step = start_watch(self._cluster, target, route.namespace, query)
        except StatusError as error:
            error.warnings = (*warnings, *error.warnings)
            raise
        return replace(step, warnings=warnings)

    def _start(self) -> None:
        if not self._is_started:
            bootstrap.ensure(self._cluster)
            self._is_started = True
        self._controllers.run_due()

    def _find_collection(self, request: Request) -> tuple[Route, ResourceTarget]:
        route = parse_path(request.path)
        target = self.registry.find(route) if route is not None else None
        if route is None or target is None or route.name:
            raise find_absence(request.path)
        check_shape(request, route, target)
        return route, target

    def discover(self, path: str) -> JSONObject | None:
        """Return the aggregated discovery document of `/api` or `/apis`."""
        return find_aggregated(path, self._cluster)

    def _route(self, request: Request, user: str, payload: Payload, caller: RequestUser) -> Answer:
        route = parse_path(request.path)
        if route is None:
            document = find_document(request.path, self._cluster)
            if document is None:
                raise find_absence(request.path)
            if request.method not in ("GET", "HEAD") and not answers_any_method(request.path):
                raise method_not_allowed()
            return Answer(200, document)
        target = self.registry.find(route)
        if target is None:
            raise find_absence(request.path)
        if is_review(route) and request.method == "POST" and not route.name:
            review = read_body(target, payload, request.query.get("fieldValidation", "Warn"))
            return replace(answer_review(route, review.obj, caller, self._cluster.now()), warnings=review.warnings)
        check_shape(request, route, target)
        if target.plural == component_statuses.PLURAL and target.struct is not None:
            return component_statuses.read_components(request, route, target)
        if request.method not in _WRITES or request.is_dry_run:
            return self._act(request, route, target, user, payload)
        with self._store.transaction():
            self._cluster.changes.clear()
            answer = self._act(request, route, target, user, payload)
            self._controllers.run()
            return answer

    def _send(self, request: Request) -> JSONObject:
        """Answer a request of a controller inside the transaction of its caller; raises `StatusError`."""
        route = parse_path(request.path)
        target = self.registry.find(route) if route is not None else None
        if route is None or target is None:
            raise find_absence(request.path)
        answer = self._act(request, route, target, MANAGER, Payload(request.content_type, None, request.body))
        return dict(answer.body or {})

    def _act(self, request: Request, route: Route, target: ResourceTarget, user: str, payload: Payload) -> Answer:
        method = request.method
        if not route.name or (method == "POST" and target.struct is None and not route.subresource):
            return self._act_on_collection(request, route, target, user, payload)
        if route.subresource == "scale":
            if method == "GET":
                answer = read_object(self._cluster, request, route, target)
                return Answer(200, render_scale(target, answer.body))
            if method in ("PUT", "PATCH"):
                return write_scale(self._cluster, self._writer, request, route, target, user, payload)
        elif route.subresource == "token":
            return issue_token(self._cluster, request, route, target, user, payload)
        elif method == "GET":
            return read_object(self._cluster, request, route, target)
        elif method == "PUT":
            return self._writer.replace(request, route, target, user, payload)
        elif method == "PATCH":
            return self._writer.patch(request, route, target, user, payload)
        elif method == "DELETE" and not route.subresource:
            return self._deleter.delete(request, route, target, payload)
        raise method_not_allowed()

    def _act_on_collection(
        self, request: Request, route: Route, target: ResourceTarget, user: str, payload: Payload
    ) -> Answer:
        match request.method:
            case "GET":
                return list_objects(self._cluster, request, route, target)
            case "POST":
                return self._writer.create(request, route, target, user, payload)
            case "DELETE":
                return self._deleter.delete_collection(request, route, target, payload)
            case _:
                raise method_not_allowed()
