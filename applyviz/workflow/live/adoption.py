"""Adoption: bring an unmanaged live object under review, as a manifest and a review that applies only it.

Rule: server-written fields are left out (status, identity, versions, managedFields, the last-applied annotation, what
the controller of a kind assigns), so that applying the manifest changes only the owners of the fields.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import yaml

from applyviz.clusters import discovery
from applyviz.engine.diff import masking
from applyviz.engine.merge.last_applied import ANNOTATION
from applyviz.engine.objects.exchange import Request
from applyviz.engine.objects.refs import ObjectRef
from applyviz.engine.objects.values import JSONObject, JSONValue
from applyviz.engine.requests.options import ApplyOptions
from applyviz.records.models import Cluster, Review
from applyviz.sources.bundle import BundledFile, SourceBundle
from applyviz.workflow.clusters import impersonation, masking_settings
from applyviz.workflow.foundation import access
from applyviz.workflow.foundation.access import Action, Person
from applyviz.workflow.foundation.errors import NotVisibleError
from applyviz.workflow.plans import reviews

_SERVERS = frozenset(
    {
        *("uid", "resourceVersion", "generation", "creationTimestamp", "managedFields", "selfLink"),
        *("deletionTimestamp", "deletionGracePeriodSeconds", "ownerReferences"),
    }
)
_REVISION = "deployment.kubernetes.io/revision"
_ALLOTTED = {
    "Service": ("clusterIP", "clusterIPs", "healthCheckNodePort"),
    "PersistentVolumeClaim": ("volumeName",),
    "Pod": ("nodeName",),
}


@dataclass(frozen=True, slots=True)
class Adoption:
    """An object that may be adopted: its manifest as masked text, and its current owners."""

    ref: ObjectRef
    shown: str
    is_masked: bool
    managers: tuple[str, ...]


def make_manifest(live: JSONObject) -> JSONObject:
    """Return a manifest with everything that live sets, without server-written fields."""
    metadata = {name: value for name, value in live.get("metadata", {}).items() if name not in _SERVERS}
    annotations = {k: v for k, v in (metadata.get("annotations") or {}).items() if k not in (ANNOTATION, _REVISION)}
    metadata = {name: value for name, value in metadata.items() if name != "annotations"}
    if annotations:
        metadata["annotations"] = annotations
    rest = {name: value for name, value in live.items() if name not in ("status", "metadata", "apiVersion", "kind")}
    spec = rest.get("spec")
    allotted = _ALLOTTED.get(str(live.get("kind")), ())
    if isinstance(spec, Mapping):
        rest["spec"] = {name: value for name, value in spec.items() if name not in allotted}
    return {"apiVersion": live["apiVersion"], "kind": live["kind"], "metadata": metadata, **rest}


def _read(
    cluster: Cluster, group: str, kind: str, namespace: str, name: str, by: Person
) -> tuple[ObjectRef, JSONObject]:
    with impersonation.open_reader(cluster, for_user=by) as reader:
        resource = discovery.load_catalog(reader).find_preferred(group, kind)
        if resource is None:
            raise NotVisibleError(f"the cluster does not serve {kind}")
        answer = reader.send(Request("GET", resource.path(namespace, name), purpose="read"))
    if not answer.is_ok or not isinstance(answer.body, Mapping):
        raise NotVisibleError(f"{kind} {name} cannot be read")
    return ObjectRef(resource.gvk, namespace, name), dict(answer.body)


def _render(obj: JSONValue) -> str:
    return str(yaml.safe_dump(obj, sort_keys=False, allow_unicode=True, width=120))


def read_adoption(cluster: Cluster, *, group: str, kind: str, namespace: str, name: str, by: Person) -> Adoption:
    """Read the manifest for adopting an object; raises `NotVisibleError` when the object does not exist."""
    access.require(by, Action.WRITE)
    ref, live = _read(cluster, group, kind, namespace, name, by)
    manifest, policy = make_manifest(live), masking_settings.policy_for(cluster)
    masked = masking.mask(
        manifest, gvk=ref.gvk, tag_key=secrets.token_bytes(32), scope="/".join(ref.key), policy=policy
    )
    entries = live.get("metadata", {}).get("managedFields") or ()
    managers = sorted({str(entry.get("manager")) for entry in entries if entry.get("subresource") != "status"})
    return Adoption(ref, _render(masked), masked != manifest, tuple(managers))


def prepare_adoption(
    cluster: Cluster,
    *,
    group: str,
    kind: str,
    namespace: str,
    name: str,
    title: str,
    reason: str,
    options: ApplyOptions,
    by: Person,
) -> Callable[[], Review]:
    """Read the live object now; the result opens a review with its manifest."""
    access.require(by, Action.WRITE)
    _ref, live = _read(cluster, group, kind, namespace, name, by)
    text = _render(make_manifest(live))
    file = BundledFile(f"{kind.lower()}-{name}.yaml", text.encode(), {"from": "live", "cluster": cluster.slug})
    return lambda: reviews.create_review(
        by=by,
        title=title,
        reason=reason,
        ticket="",
        cluster=cluster,
        options=options,
        bundle=SourceBundle((file,)),
    )


def adopt(
    cluster: Cluster,
    *,
    group: str,
    kind: str,
    namespace: str,
    name: str,
    title: str,
    reason: str,
    options: ApplyOptions,
    by: Person,
) -> Review:
    """Read the live object and open a review with its manifest."""
    where = {"group": group, "kind": kind, "namespace": namespace, "name": name}
    return prepare_adoption(cluster, **where, title=title, reason=reason, options=options, by=by)()
