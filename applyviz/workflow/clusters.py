"""Clusters: adding a sandbox or a live one, and looking them up."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from functools import partial

from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone
from django.utils.translation import gettext as _

from applyviz.clusters import connect, discovery
from applyviz.clusters.kubeconfig import read_kubeconfig
from applyviz.clusters.reader import ClusterReader
from applyviz.clusters.sandbox import hash_token
from applyviz.engine.objects.errors import ClusterError
from applyviz.engine.objects.values import JSONValue
from applyviz.records.enums import AuditAction, ClusterKind
from applyviz.records.models import Cluster
from applyviz.records.sealing import Sealed
from applyviz.workflow import access, audit
from applyviz.workflow.access import Action, Person, Visitor
from applyviz.workflow.errors import NotPossibleError, NotValidError, NotVisibleError


def _remember_facts(cluster: Cluster, reader: ClusterReader) -> None:
    facts = discovery.read_facts(reader)
    Cluster.objects.filter(pk=cluster.pk).update(uid=facts.uid, version=facts.version)
    cluster.uid, cluster.version = facts.uid, facts.version


def _record_added(cluster: Cluster, by: Person | None) -> None:
    audit.record(
        AuditAction.CLUSTER_ADDED,
        by=by,
        about=audit.Subject(cluster=cluster.slug),
        detail={"name": cluster.name, "kind": cluster.kind, "server": cluster.server, "uid": cluster.uid},
    )


def create_sandbox(*, slug: str, name: str, by: Person | None = None) -> Cluster:
    """Make a sandbox cluster with a new token for its HTTP face; `by` None: the installation itself."""
    if by is not None:
        access.require(by, Action.MANAGE)
    token = secrets.token_urlsafe(32)
    with transaction.atomic():
        cluster = Cluster.objects.create(
            slug=slug,
            name=name,
            kind=ClusterKind.SANDBOX,
            credential=Sealed.of_bytes(token.encode()),
            token_hash=hash_token(token),
            created_at=timezone.now(),
            created_by=by,
        )
        with connect.open_reader(cluster) as reader:
            _remember_facts(cluster, reader)
        _record_added(cluster, by)
    return cluster


def add_live_cluster(*, slug: str, name: str, credential: JSONValue, server: str, by: Person | None = None) -> Cluster:
    """Add a live cluster, once it answered; `by` None: the installation's own administrator command.

    - Raises as `prepare_live_cluster` does.
    """
    return prepare_live_cluster(slug=slug, name=name, credential=credential, server=server, by=by)()


def prepare_live_cluster(
    *, slug: str, name: str, credential: JSONValue, server: str, by: Person | None = None
) -> Callable[[], Cluster]:
    """Ask a live cluster who it is; the result adds it.

    - Raises `ClusterError` when it cannot be reached, `NotValidError` when it does not say who it is.
    """
    if by is not None:
        access.require(by, Action.MANAGE)
    cluster = Cluster(
        slug=slug,
        name=name,
        kind=ClusterKind.LIVE,
        server=server,
        credential=Sealed.of_json(credential),
        created_at=timezone.now(),
        created_by=by,
    )
    with connect.open_reader(cluster) as reader:
        facts = discovery.read_facts(reader)
    if not facts.version:
        raise ClusterError("the server did not answer GET /version; is the credential accepted?")
    if not facts.uid:
        raise NotValidError(_("the credential must be allowed to read namespace kube-system: its uid is the identity"))
    cluster.uid, cluster.version = facts.uid, facts.version
    return partial(_add, cluster, by)


def _add(cluster: Cluster, by: Person | None) -> Cluster:
    with transaction.atomic():
        if Cluster.objects.filter(slug=cluster.slug).exists():
            raise NotPossibleError(_("there is a cluster %(slug)s already") % {"slug": cluster.slug})
        cluster.save(force_insert=True)
        _record_added(cluster, by)
    return cluster


def upload_cluster(*, slug: str, name: str, kubeconfig: bytes, context: str, by: Person) -> Cluster:
    """Add a live cluster from an uploaded kubeconfig; raises `KubeconfigError` with every reason."""
    return prepare_upload(slug=slug, name=name, kubeconfig=kubeconfig, context=context, by=by)()


def prepare_upload(*, slug: str, name: str, kubeconfig: bytes, context: str, by: Person) -> Callable[[], Cluster]:
    """Read a kubeconfig and ask its cluster who it is; the result adds it."""
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
    """One cluster by its slug."""
    access.require(for_user, Action.LOOK)
    found = Cluster.objects.filter(slug=slug).first() if access.sees_cluster(for_user, slug) else None
    if found is None:
        raise NotVisibleError(f"there is no cluster {slug}")
    return found


def list_clusters(*, for_user: Visitor) -> QuerySet[Cluster]:
    """The clusters this person may see."""
    access.require(for_user, Action.LOOK)
    found = Cluster.objects.defer("credential")
    seen = [slug for slug in found.values_list("slug", flat=True) if access.sees_cluster(for_user, slug)]
    return found.filter(slug__in=seen)


def remember_tokens() -> int:
    """For who can open: keep the hash of each sandbox's token that an earlier release kept none of; gives how many."""
    found = 0
    for cluster in Cluster.objects.filter(kind=ClusterKind.SANDBOX, token_hash="").exclude(credential=None):
        if cluster.credential is not None:
            hashed = hash_token(cluster.credential.open_bytes().decode())
            found += Cluster.objects.filter(pk=cluster.pk, token_hash="").update(token_hash=hashed)
    return found
