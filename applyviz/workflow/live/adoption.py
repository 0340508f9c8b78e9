"""Adoption: bring unmanaged live objects under review, as manifests and one review that applies only them.

Rule: server-written fields are left out (status, identity, versions, managedFields, the last-applied annotation, what
the controller of a kind assigns), so that applying the manifest changes only the owners of the fields.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping, Sequence

import yaml
from django.utils.translation import gettext as _
from msgspec import Struct

from applyviz.clusters import discovery
from applyviz.clusters.reader import ClusterReader
from applyviz.engine.diff import masking
from applyviz.engine.diff.passwords import Passwords
from applyviz.engine.objects.controller_fields import is_controller_written
from applyviz.engine.objects.exchange import Request
from applyviz.engine.objects.known_names import LAST_APPLIED, SERVER_WRITTEN
from applyviz.engine.objects.paths import fields, value
from applyviz.engine.objects.refs import ObjectRef
from applyviz.engine.objects.request_paths import find_segment_problem
from applyviz.engine.objects.values import JSONObject, JSONValue
from applyviz.engine.requests.options import ApplyOptions
from applyviz.records.models import Cluster, Review
from applyviz.sources.bundle import BundledFile, SourceBundle
from applyviz.workflow.clusters import impersonation, masking_settings
from applyviz.workflow.foundation import access
from applyviz.workflow.foundation.access import Action, Person
from applyviz.workflow.foundation.errors import NotPossibleError, NotValidError, NotVisibleError
from applyviz.workflow.foundation.scopes import ScopeEntry
from applyviz.workflow.live.adopted_names import MOST_ADOPTED
from applyviz.workflow.plans import reviews

_NAMED = 10
_SERVERS = SERVER_WRITTEN | {"deletionTimestamp", "deletionGracePeriodSeconds", "ownerReferences"}
_ALLOTTED = {
    "Service": ("clusterIP", "clusterIPs", "healthCheckNodePort"),
    "PersistentVolumeClaim": ("volumeName",),
    "Pod": ("nodeName",),
}


class Adoption(Struct, frozen=True):
    """An object that may be adopted: its manifest as masked text, and its current owners."""

    ref: ObjectRef
    shown: str
    is_masked: bool
    managers: tuple[str, ...]


def make_manifest(live: JSONObject) -> JSONObject:
    """Return a manifest with everything that live sets, without server-written fields."""
    metadata = {name: value for name, value in live.get("metadata", {}).items() if name not in _SERVERS}
    annotations = {
        name: text
        for name, text in (metadata.get("annotations") or {}).items()
        if name != LAST_APPLIED and not is_controller_written(fields("metadata", "annotations", name), live)
    }
    finalizers = [
        name
        for name in metadata.get("finalizers") or ()
        if not is_controller_written((*fields("metadata", "finalizers"), value(name)), live)
    ]
    metadata = {name: value for name, value in metadata.items() if name not in ("annotations", "finalizers")}
    metadata |= {name: kept for name, kept in (("annotations", annotations), ("finalizers", finalizers)) if kept}
    rest = {name: value for name, value in live.items() if name not in ("status", "metadata", "apiVersion", "kind")}
    spec = rest.get("spec")
    allotted = _ALLOTTED.get(str(live.get("kind")), ())
    if isinstance(spec, Mapping):
        rest["spec"] = {name: value for name, value in spec.items() if name not in allotted}
    return {"apiVersion": live["apiVersion"], "kind": live["kind"], "metadata": metadata, **rest}


class _Target(Struct, frozen=True):
    """A live object to read: where it is, what it was called, and which of its fields are passwords."""

    ref: ObjectRef
    request: Request
    passwords: Passwords

    @property
    def text(self) -> str:
        """Kind and name."""
        return f"{self.ref.gvk.kind} {self.ref.name}"


def _find_targets(reader: ClusterReader, objects: Sequence[Mapping[str, str]]) -> list[_Target]:
    catalog, found = discovery.load_catalog(reader), []
    for one in objects:
        resource = catalog.find_preferred(one["group"], one["kind"])
        if resource is None:
            raise NotVisibleError(f"the cluster does not serve {one['kind']}")
        ref = ObjectRef(resource.gvk, one["namespace"] if resource.is_namespaced else "", one["name"])
        read = Request("GET", resource.path(ref.namespace, ref.name), purpose="read")
        found.append(_Target(ref, read, masking_settings.find_passwords(resource.gvk, catalog)))
    return found


def _read(cluster: Cluster, objects: Sequence[Mapping[str, str]], by: Person) -> list[tuple[_Target, JSONObject]]:
    """Read live objects; raises `NotVisibleError` for one that cannot be read, of several an error that names them.

    - The right is asked for where the objects are: a namespace that is named for a kind without one counts for nothing.
    - A name that cannot be a segment of a path is that of no object: it is not asked for.
    """
    if any(find_segment_problem(text) for one in objects for text in one.values()):
        raise NotVisibleError("no object has such a name")
    access.require(by, Action.WRITE, {ScopeEntry(cluster.slug, one["namespace"]) for one in objects})
    with impersonation.open_reader(cluster, for_user=by) as reader:
        targets = _find_targets(reader, objects)
        access.require(by, Action.WRITE, {ScopeEntry(cluster.slug, target.ref.namespace) for target in targets})
        answers = reader.try_send_all([target.request for target in targets])
    pairs = list(zip(targets, answers, strict=True))
    lost = [target.text for target, answer in pairs if not answer.is_ok or not isinstance(answer.body, Mapping)]
    if lost:
        names = ", ".join(lost[:_NAMED]) + ("…" if len(lost) > _NAMED else "")
        if len(objects) == 1:
            raise NotVisibleError(f"{names} cannot be read")
        text = _("These objects cannot be read, or no longer exist: %(names)s. Select the others.")
        raise NotPossibleError(text % {"names": names})
    return [(target, dict(answer.body)) for target, answer in pairs]


def _render(obj: JSONValue) -> str:
    return str(yaml.safe_dump(obj, sort_keys=False, allow_unicode=True, width=120))


def read_adoption(cluster: Cluster, *, group: str, kind: str, namespace: str, name: str, by: Person) -> Adoption:
    """Read the manifest for adopting an object; raises `NotVisibleError` when the object does not exist."""
    where = {"group": group, "kind": kind, "namespace": namespace, "name": name}
    ((target, live),) = _read(cluster, [where], by)
    ref, manifest = target.ref, make_manifest(live)
    policy = masking_settings.with_passwords(masking_settings.policy_for(cluster), target.passwords)
    key, scope = secrets.token_bytes(32), "/".join(ref.key)
    masked = masking.mask(manifest, gvk=ref.gvk, tag_key=key, scope=scope, policy=policy, is_live=True)
    entries = live.get("metadata", {}).get("managedFields") or ()
    managers = sorted({str(entry.get("manager")) for entry in entries if entry.get("subresource") != "status"})
    return Adoption(ref, _render(masked), masked != manifest, tuple(managers))


def _make_file(ref: ObjectRef, live: JSONObject, cluster: Cluster) -> BundledFile:
    group = f".{ref.gvk.group}" if ref.gvk.group else ""
    folder = f"{ref.namespace}/" if ref.namespace else ""
    name = f"{folder}{ref.gvk.kind.lower()}{group}-{ref.name}.yaml"
    return BundledFile(name, _render(make_manifest(live)).encode(), {"from": "live", "cluster": cluster.slug})


def prepare_adoption(
    cluster: Cluster,
    *,
    objects: Sequence[Mapping[str, str]],
    title: str,
    reason: str,
    options: ApplyOptions,
    by: Person,
) -> Callable[[], Review]:
    """Read live objects now; the result opens one review with their manifests, a file for each.

    - `objects`: the group, kind, namespace and name of each; raises `NotValidError` for none or too many.
    """
    if not 0 < len(objects) <= MOST_ADOPTED:
        raise NotValidError(_("Select 1 to %(most)d objects.") % {"most": MOST_ADOPTED})
    files = tuple(_make_file(target.ref, live, cluster) for target, live in _read(cluster, objects, by))
    return lambda: reviews.create_review(
        by=by,
        title=title,
        reason=reason,
        ticket="",
        cluster=cluster,
        options=options,
        bundle=SourceBundle(files),
    )
