"""Create and change objects: POST, PUT and the four kinds of PATCH.

The order is the server's: read the body, compute the object, update the ownership, prepare, admit, validate, check
preconditions, store. A dry run does all of it but the last. Rule:
https://kubernetes.io/docs/reference/using-api/api-concepts/ and .../server-side-apply/.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from msgspec import Struct

from applyviz.engine.objects.errors import ConflictError, OwnershipError
from applyviz.engine.objects.exchange import APPLY_PATCH, Answer, Request
from applyviz.engine.objects.golang import read_digits
from applyviz.engine.objects.paths import render_path
from applyviz.engine.objects.refs import GroupVersionKind
from applyviz.engine.objects.values import JSONObject, MutableObject, clone, is_same_json
from applyviz.engine.ownership import server_side, updates
from applyviz.engine.schema.model import KindSchema
from applyviz.engine.schema.scaling import SCALE
from applyviz.engine.schema.unconditional import ANY_VERSION, NO_UNCONDITIONAL_UPDATE
from applyviz.kubernetes.parity.name_formats import deduplicate_owners
from applyviz.kubernetes.parity.payloads import Payload
from applyviz.kubernetes.parity.status import (
    MODIFIED,
    FieldError,
    StatusError,
    already_exists,
    conflict,
    forbidden_request,
    internal_error,
    invalid,
    invalid_object,
    not_found,
)
from applyviz.kubernetes.v1_36.validation.devices import refuse_admin_access
from applyviz.kubernetes.v1_36.warnings.kinds import list_warnings
from applyviz.sandbox.api.access_reviews import RequestUser
from applyviz.sandbox.api.admission import admit_create, admit_update, check_levels, refuse_growth, refuse_subject
from applyviz.sandbox.api.admission_policies import Attempt, caller, judge
from applyviz.sandbox.api.list_options import find_number_problem
from applyviz.sandbox.api.patching import apply_patch, check_patch_type, check_repeated_keys, read_configuration
from applyviz.sandbox.api.write_options import WriteOptions, read_options
from applyviz.sandbox.lifecycle.finalizers import is_released
from applyviz.sandbox.storage.bodies import Body, check_identity, read_applied, read_body
from applyviz.sandbox.storage.certificate_requests import name_requester
from applyviz.sandbox.storage.cluster import SandboxCluster
from applyviz.sandbox.storage.definitions import namespace_key, update_definition
from applyviz.sandbox.storage.resources import ResourceTarget
from applyviz.sandbox.storage.routing import Route
from applyviz.sandbox.storage.scaling import render_scale
from applyviz.sandbox.storage.service_allocation import allocate_service
from applyviz.sandbox.storage.storage_strategy import NAMED_BY_SERVER, keep_empty, prepare_create, prepare_update
from applyviz.sandbox.validation import validate_create, validate_update

# PUT of an absent object of these kinds creates it (`AllowCreateOnUpdate`).
_CREATED_BY_PUT = frozenset(
    {
        "endpoints", "events", "limitranges", "services", "leases", "runtimeclasses", "clusterrolebindings",
        "clusterroles", "rolebindings", "roles",
    }
)  # fmt: skip


class StoredWrite(Struct, frozen=True):
    """One parsed write request: its object and its options."""

    request: Request
    route: Route
    target: ResourceTarget
    options: WriteOptions
    payload: Payload

    @property
    def namespace(self) -> str:
        """The namespace of the path."""
        return self.route.namespace


def merge_applied(
    write: StoredWrite, kind: KindSchema, live: JSONObject | None, applied: JSONObject, now: str
) -> MutableObject:
    """Return the object that an apply produces, with its managedFields.

    - Raises `StatusError`: 409 for conflicts, else the server's error.
    """
    options, subresource = write.options, write.route.subresource
    try:
        done = server_side.apply(
            live,
            applied,
            kind=kind,
            manager=options.manager,
            force=options.is_forced,
            subresource=subresource,
            now=now,
        )
    except ConflictError as error:
        causes = [("FieldManagerConflict", c.message, render_path(c.path)) for c in error.conflicts]
        raise StatusError(409, "Conflict", error.message, causes=causes) from error
    except OwnershipError as error:
        reasons = {400: "BadRequest", 409: "Conflict", 422: "Invalid"}
        raise StatusError(error.code, reasons.get(error.code, ""), error.reason) from error
    result: MutableObject = clone(dict(done.result))
    return result


def book(write: StoredWrite, kind: KindSchema, live: JSONObject | None, obj: MutableObject, now: str) -> None:
    """Update the ownership in an object after a write that is not an apply."""
    manager, subresource = write.options.manager, write.route.subresource
    try:
        entries = updates.update(live, obj, kind=kind, manager=manager, subresource=subresource, now=now)
    except OwnershipError:
        entries = []  # an object that does not fit its schema is stored without ownership
    if entries:
        obj["metadata"]["managedFields"] = entries
    else:
        obj["metadata"].pop("managedFields", None)


@contextmanager
def _warning(warnings: tuple[str, ...]) -> Iterator[None]:
    """Put the warnings before those of a refusal."""
    try:
        yield
    except StatusError as error:
        error.warnings = tuple(dict.fromkeys((*warnings, *error.warnings)))
        raise


class Writer:
    """The writing verbs of a cluster except delete."""

    def __init__(self, cluster: SandboxCluster) -> None:
        self._cluster = cluster

    def create(self, request: Request, route: Route, target: ResourceTarget, user: str, payload: Payload) -> Answer:
        """POST to a collection."""
        payload.negotiate()
        write = StoredWrite(request, route, target, read_options(request, user), payload)
        body = read_body(target, payload, write.options.validation)
        with _warning(body.warnings):
            check_identity(route, target, body.obj, is_create=True)
            _keep_sent_entries(body.obj, payload)
            version = body.obj["metadata"].pop("resourceVersion", "")
            book(write, write.target.kind, None, body.obj, self._cluster.now())
            # Only the storage minds a version, and a dry run does not reach it; one that is no number is none.
            return self._store_new(write, body, is_refused=bool(read_digits(version)))

    def replace(self, request: Request, route: Route, target: ResourceTarget, user: str, payload: Payload) -> Answer:
        """PUT of an object or of its status."""
        write = StoredWrite(request, route, target, read_options(request, user), payload)
        body = read_body(target, payload, write.options.validation)
        with _warning(body.warnings):
            check_identity(route, target, body.obj)
            _keep_sent_entries(body.obj, payload)
            live = self._cluster.find_stored(target, route.namespace, route.name)
            if live is None and (target.struct is None or target.plural not in _CREATED_BY_PUT or route.subresource):
                raise not_found(target.group, target.plural, route.name)
            book(write, write.target.kind, live, body.obj, self._cluster.now())
            if live is None:
                body.obj["metadata"].pop("resourceVersion", None)
                return self._store_new(write, body)
            check_uid(write, body.obj["metadata"].get("uid"), live["metadata"].get("uid"))
            return self.store_changed(write, body, live)

    def patch(self, request: Request, route: Route, target: ResourceTarget, user: str, payload: Payload) -> Answer:
        """PATCH of any of the four types."""
        check_patch_type(target, request.content_type)
        write = StoredWrite(request, route, target, read_options(request, user), payload)
        if request.content_type == APPLY_PATCH:
            return self._apply(write)
        live = self._cluster.find_stored(target, route.namespace, route.name)
        if live is None:
            raise not_found(target.group, target.plural, route.name)
        body = apply_patch(target, request.content_type, payload, live, write.options.validation)
        with _warning(body.warnings):
            check_identity(route, target, body.obj)
            book(write, write.target.kind, live, body.obj, self._cluster.now())
            return self.store_changed(write, body, live)

    def _apply(self, write: StoredWrite) -> Answer:
        live = self._cluster.find_stored(write.target, write.namespace, write.route.name)
        if live is None and write.route.subresource:
            raise not_found(write.target.group, write.target.plural, write.route.name)
        applied = read_configuration(write.payload)
        result = merge_applied(write, write.target.kind, live, applied, self._cluster.now())
        obj = read_applied(write.target, result, applied)
        warnings = check_repeated_keys(write.payload, write.options.validation)
        with _warning(warnings):
            if live is None and obj["metadata"].get("uid"):
                uid = obj["metadata"]["uid"]
                detail = f"uid mismatch: the provided object specified uid {uid}, and no existing object was found"
                raise conflict(write.target.group, write.target.plural, write.route.name, detail)
            check_identity(write.route, write.target, obj)
            if live is None:
                obj["metadata"].pop("resourceVersion", None)
                return self._store_new(write, Body(obj, warnings, result))
            return self.store_changed(write, Body(obj, warnings, result), live)

    def _check_namespace(self, write: StoredWrite, obj: JSONObject) -> None:
        if not write.target.resource.is_namespaced:
            return
        namespace = self._cluster.store.get(namespace_key(write.namespace))
        if namespace is None:
            raise not_found("", "namespaces", write.namespace)
        if namespace["metadata"].get("deletionTimestamp"):
            detail = f"unable to create new content in namespace {write.namespace} because it is being terminated"
            meta = obj["metadata"]
            name = write.route.name or meta.get("name") or meta.get("generateName", "")
            cause = ("NamespaceTerminating", f"namespace {write.namespace} is being terminated", "metadata.namespace")
            raise forbidden_request(write.target.group, write.target.plural, name, detail, [cause])

    def _list_unmarked(self, write: StoredWrite, obj: JSONObject) -> Iterator[FieldError]:
        if write.target.struct is not None:
            namespace = self._cluster.store.get(namespace_key(write.namespace))
            yield from refuse_admin_access(write.target.plural, obj, namespace)

    def _store_new(self, write: StoredWrite, body: Body, *, is_refused: bool = False) -> Answer:
        cluster, target, obj = self._cluster, write.target, body.obj
        meta = obj["metadata"]
        self._check_namespace(write, obj)
        written, body = body.written, Body(obj, (*body.warnings, *deduplicate_owners(meta)))
        for name in ("deletionTimestamp", "deletionGracePeriodSeconds", "selfLink"):
            meta.pop(name, None)
        meta["uid"], meta["creationTimestamp"] = cluster.new_uid(), cluster.now()
        if not meta.get("name") and meta.get("generateName"):
            meta["name"] = cluster.finish_name(meta["generateName"], meta["uid"])
        elif not meta.get("name") and target.plural in NAMED_BY_SERVER and target.struct is not None:
            meta["name"] = cluster.new_uid()
        prepare_create(target, obj)
        name_requester(target, obj, (caller.get() or RequestUser()).render())
        admit_create(target, obj, cluster.store)
        problems = validate_create(target, keep_empty(target, obj, written))
        _refuse_invalid(write, obj, [*self._list_unmarked(write, obj), *problems])
        _refuse_invalid(write, obj, list(check_levels(target, obj, None)))
        refuse_subject(target, obj)
        body = _warn(write, body, None)
        with _warning(body.warnings):
            return self._admit_new(write, self._judge(write, body, None), is_refused=is_refused)

    def _admit_new(self, write: StoredWrite, body: Body, *, is_refused: bool) -> Answer:
        cluster, target, obj = self._cluster, write.target, body.obj
        meta = obj["metadata"]
        if is_refused and not write.options.is_dry_run:
            raise StatusError(500, "", "resourceVersion should not be set on objects to be created")
        if cluster.store.get(target.key(write.namespace, meta["name"])) is not None:
            raise already_exists(target.group, target.plural, meta["name"])
        self._allot(write, obj, None)
        if write.options.is_dry_run:
            return Answer(201, cluster.preview(target, obj), body.warnings)
        answer = cluster.write(target, obj)
        update_definition(cluster, target, obj)
        return Answer(201, answer, body.warnings)

    def store_changed(self, write: StoredWrite, body: Body, live: MutableObject) -> Answer:
        cluster, target, obj = self._cluster, write.target, body.obj
        if target.struct is None and not obj.get("apiVersion"):
            raise internal_error("Object 'apiVersion' is missing in 'object has no apiVersion field'")
        written, body = body.written, Body(obj, (*body.warnings, *deduplicate_owners(obj["metadata"])))
        _restore_server_fields(obj, live)
        admit_update(target, obj, live)  # before the generation counts what differs
        prepare_update(target, obj, live, write.route.subresource, written=written, now=cluster.now())
        _check_version(write, obj, live)
        self._allot(write, obj, live)
        problems = list(validate_update(target, keep_empty(target, obj, written), live, write.route.subresource))
        body = Body(obj, (*body.warnings, *(str(p) for p in problems if p.is_warning)))
        _refuse_invalid(write, obj, [p for p in problems if not p.is_warning])
        _refuse_invalid(write, obj, list(check_levels(target, obj, live)))
        refuse_growth(target, obj, live, cluster.store)
        body = _warn(write, body, live)
        with _warning(body.warnings):
            body = self._judge(write, body, live)
        obj["metadata"]["resourceVersion"] = live["metadata"]["resourceVersion"]
        if is_unchanged(obj, live):
            return Answer(200, cluster.preview(target, live), body.warnings)
        if write.options.is_dry_run:
            return Answer(200, cluster.preview(target, obj), body.warnings)
        if is_released(target, obj):
            cluster.remove(target.key(write.namespace, write.route.name))
            return Answer(200, obj, body.warnings)
        answer = cluster.write(target, obj)
        update_definition(cluster, target, obj)
        return Answer(200, answer, body.warnings)

    def _judge(self, write: StoredWrite, body: Body, live: JSONObject | None) -> Body:
        """Evaluate the admission policies; their warnings follow the warnings about fields."""
        target, obj, gvk = write.target, body.obj, write.target.gvk
        if write.route.subresource == "scale":
            gvk, obj = SCALE, render_scale(target, obj)
            live = render_scale(target, live) if live is not None else None
        attempt = Attempt(
            "CREATE" if live is None else "UPDATE",
            *(target, write.route, body.obj["metadata"]["name"], gvk, obj, live, write.options.is_dry_run),
        )
        return Body(body.obj, (*body.warnings, *judge(attempt, self._cluster.store, self._cluster.registry)))

    def _allot(self, write: StoredWrite, obj: MutableObject, live: JSONObject | None) -> None:
        if write.target.plural == "services" and not write.target.group and not write.route.subresource:
            _refuse_invalid(write, obj, allocate_service(obj, live, self._cluster.store))


def _warn(write: StoredWrite, body: Body, live: JSONObject | None) -> Body:
    """Add the warnings about an object that is accepted; a write of its status has none."""
    target = write.target
    if target.struct is None or write.route.subresource not in ("", "scale"):
        return body
    return Body(body.obj, (*body.warnings, *list_warnings(target.group, target.plural, body.obj, live)))


def _keep_sent_entries(obj: MutableObject, payload: Payload) -> None:
    """Keep an empty list of managedFields, which asks to clear them; decoding alone would lose it."""
    sent = payload.read()
    metadata = sent.get("metadata") if isinstance(sent, Mapping) else None
    if isinstance(metadata, Mapping) and metadata.get("managedFields") == []:
        obj["metadata"]["managedFields"] = []


def is_unchanged(obj: JSONObject, live: JSONObject) -> bool:
    """Return whether an update would store nothing new; times of managedFields entries are ignored."""
    for name in {*obj, *live}:
        if name != "metadata" and not is_same_json(obj.get(name), live.get(name)):
            return False
    meta, before = obj["metadata"], live["metadata"]
    for name in {*meta, *before} - {"managedFields"}:
        if not is_same_json(meta.get(name), before.get(name)):
            return False
    return _without_times(meta) == _without_times(before)


def _without_times(meta: JSONObject) -> list[JSONObject]:
    return [{k: v for k, v in e.items() if k != "time"} for e in meta.get("managedFields") or ()]


def _refuse_invalid(write: StoredWrite, obj: JSONObject, errors: list[FieldError]) -> None:
    if errors:
        name = obj["metadata"].get("name", "")
        # A custom resource is named by the kind in its body, even if that is the error.
        gvk = write.target.gvk if write.target.struct is not None else GroupVersionKind.from_object(obj)
        raise invalid_object(gvk.group, gvk.kind, name, errors)


def _restore_server_fields(obj: MutableObject, live: JSONObject) -> None:
    """Restore metadata that no update changes; a sent uid or deletion is compared later, a sent creation is ignored."""
    meta, before = obj["metadata"], live["metadata"]
    meta.setdefault("uid", before.get("uid"))
    meta["generation"] = before.get("generation")
    meta["creationTimestamp"] = before.get("creationTimestamp")
    meta.pop("selfLink", None)
    for name in ("deletionTimestamp", "deletionGracePeriodSeconds"):
        meta[name] = meta.get(name) or before.get(name)
    for name in ("generation", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds"):
        if meta[name] is None:
            del meta[name]


def _check_version(write: StoredWrite, obj: JSONObject, live: JSONObject) -> None:
    wanted = obj["metadata"].get("resourceVersion") or ""
    target = write.target
    if problem := find_number_problem(wanted):
        raise StatusError(500, "", problem)
    if wanted in ("", ANY_VERSION):
        if target.struct is None or target.plural in NO_UNCONDITIONAL_UPDATE:
            error = invalid("metadata.resourceVersion", 0, "must be specified for an update")
            raise invalid_object(target.group, target.plural, write.route.name, [error])
    elif wanted != live["metadata"].get("resourceVersion"):
        raise conflict(target.group, target.plural, write.route.name, MODIFIED)


def check_uid(write: StoredWrite, wanted: str | None, stored: str | None) -> None:
    """Check the uid of a PUT or of a Scale, which is a precondition; a dry run names the key without its root."""
    if not wanted or wanted == stored:
        return
    target, route = write.target, write.route
    root = "" if write.options.is_dry_run else "registry"
    group = target.group if target.struct is None else ""
    key = "/".join(part for part in (root, group, target.plural, route.namespace, route.name) if part)
    detail = (
        f"StorageError: invalid object, Code: 4, Key: /{key}, ResourceVersion: 0, "
        f"AdditionalErrorMsg: Precondition failed: UID in precondition: {wanted}, UID in object meta: {stored}"
    )
    raise conflict(target.group, target.plural, route.name, detail)
