"""Adding sandboxes and live clusters, and looking them up."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from functools import partial

from django.db import transaction
from django.db.models import QuerySet
from django.utils.translation import gettext as _

from applyviz import clock
from applyviz.clusters import connect, facts
from applyviz.clusters.kubeconfig import read_kubeconfig
from applyviz.clusters.reader import ClusterReader
from applyviz.clusters.sandbox import hash_token
from applyviz.engine.objects.values import JSONValue
from applyviz.records.enums import AuditAction, ClusterKind
from applyviz.records.models import Cluster
from applyviz.records.sealing import Unsealed
from applyviz.workflow.audit import trail
from applyviz.workflow.foundation import access
from applyviz.workflow.foundation.access import Action, Person, Visitor
from applyviz.workflow.foundation.errors import NotPossibleError, NotVisibleError


def _remember_facts(cluster: Cluster, reader: ClusterReader) -> None:
    found, account = facts.read_facts(reader), facts.read_account(reader)
    Cluster.objects.filter(pk=cluster.pk).update(uid=found.uid, version=found.version, account=account)
    cluster.uid, cluster.version, cluster.account = found.uid, found.version, account


def _record_added(cluster: Cluster, by: Person | None) -> None:
    trail.record(
        AuditAction.CLUSTER_ADDED,
        by=by,
        about=trail.AuditSubject(cluster=cluster.slug),
        detail={"name": cluster.name, "kind": cluster.kind, "server": cluster.server, "uid": cluster.uid},
    )


def create_sandbox(*, slug: str, name: str, simulates_workloads: bool = False) -> Cluster:
    """Create a sandbox cluster of the installation, with a new token for its HTTP interface."""
    token = secrets.token_urlsafe(32)
    with transaction.atomic():
        cluster = Cluster.objects.create(
            slug=slug,
            name=name,
            kind=ClusterKind.SANDBOX,
            credential=Unsealed.of_bytes(token.encode()),
            token_hash=hash_token(slug, token),
            simulates_workloads=simulates_workloads,
            created_at=clock.host_now(),
        )
        with connect.open_reader(cluster) as reader:
            _remember_facts(cluster, reader)
        _record_added(cluster, None)
    return cluster


def add_live_cluster(*, slug: str, name: str, credential: JSONValue, server: str, by: Person | None = None) -> Cluster:
    """Add a live cluster that answers; `by` None: the installation's own administrator command.

    - Raises as `prepare_live_cluster` does.
    """
    return prepare_live_cluster(slug=slug, name=name, credential=credential, server=server, by=by)()


def prepare_live_cluster(
    *, slug: str, name: str, credential: JSONValue, server: str, by: Person | None = None
) -> Callable[[], Cluster]:
    """Identify a live cluster; the result adds it.

    - Raises `ClusterError` when it cannot be reached or identified, `NotPossibleError` when it was already added under
      another name.
    """
    if by is not None:
        access.require(by, Action.MANAGE)
    cluster = Cluster(
        slug=slug,
        name=name,
        kind=ClusterKind.LIVE,
        server=server,
        credential=Unsealed.of_json(credential),
        created_at=clock.host_now(),
        created_by=by,
    )
    with connect.open_reader(cluster) as reader:
        found = facts.require_same(reader, uid="", server=server, name=name)
        cluster.account = facts.read_account(reader)
    cluster.uid, cluster.version = found.uid, found.version
    _refuse_known(cluster)
    return partial(_add, cluster, by)


def _refuse_known(cluster: Cluster) -> None:
    """Refuse a cluster that is already known: runs under one name would be unreviewed changes under the other."""
    known = Cluster.objects.filter(uid=cluster.uid).first()
    if known is None:
        return
    facts = {"name": known.name, "slug": known.slug, "uid": known.uid}
    if known.archived_at is not None:
        raise NotPossibleError(
            _("this cluster (%(uid)s) was already added as %(name)s (%(slug)s) and archived: restore it on its page")
            % facts
        )
    raise NotPossibleError(
        _("this cluster (%(uid)s) was already added as %(name)s (%(slug)s): replace its credential on its page") % facts
    )


def is_slug_used(slug: str) -> bool:
    """Return whether a cluster has this slug, archived or not."""
    return Cluster.objects.filter(slug=slug).exists()


def _add(cluster: Cluster, by: Person | None) -> Cluster:
    with transaction.atomic():
        _refuse_known(cluster)
        if is_slug_used(cluster.slug):
            raise NotPossibleError(_("cluster %(slug)s already exists") % {"slug": cluster.slug})
        cluster.save(force_insert=True)
        _record_added(cluster, by)
    return cluster


def prepare_upload(*, slug: str, name: str, kubeconfig: bytes, context: str, by: Person) -> Callable[[], Cluster]:
    """Read a kubeconfig and identify its cluster; the result adds it."""
    access.require(by, Action.MANAGE)
    taken = read_kubeconfig(kubeconfig, context=context)
    return prepare_live_cluster(
        slug=slug,
        name=name,
        server=taken.server,
        credential={"form": connect.UPLOADED, "credential": taken.to_json()},
        by=by,
    )


def get_cluster(slug: str, *, for_user: Visitor) -> Cluster:
    """Return one cluster by its slug; raises `NotVisibleError`."""
    access.require(for_user, Action.VIEW)
    found = Cluster.objects.filter(slug=slug).first() if access.sees_cluster(for_user, slug) else None
    if found is None:
        raise NotVisibleError(f"there is no cluster {slug}")
    return found


def list_clusters(*, for_user: Visitor) -> QuerySet[Cluster]:
    """Return the clusters that this person may see, archived ones too."""
    access.require(for_user, Action.VIEW)
    found = Cluster.objects.defer("credential")
    if access.sees_every_cluster(for_user):
        return found
    seen = [slug for slug in found.values_list("slug", flat=True) if access.sees_cluster(for_user, slug)]
    return found.filter(slug__in=seen)


def list_usable(*, for_user: Visitor, action: Action = Action.WRITE) -> QuerySet[Cluster]:
    """Return the clusters that are not archived and on which this person may perform an action somewhere."""
    found = Cluster.objects.filter(archived_at=None).defer("credential").order_by("kind", "slug")
    usable = [slug for slug in found.values_list("slug", flat=True) if access.may_use(for_user, action, slug)]
    return found.filter(slug__in=usable)
