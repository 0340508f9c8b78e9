"""What an administrator does to a cluster after it was added: replace its credential, test, rename, pause, archive.

The uid of a cluster never changes: a credential that leads elsewhere is refused. Plans and approvals stay good under a
new credential of the same account; under another account they are made anew (`identities.find_moved`), because what
was approved was approved for the rights of that account. `by` None is the installation itself (`manage.py cluster`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

from django.db import transaction
from django.utils.translation import gettext as _

from applyviz.clusters import connect, facts
from applyviz.clusters.kubeconfig import read_kubeconfig
from applyviz.engine.objects.errors import ClusterError
from applyviz.engine.objects.values import JSONValue
from applyviz.records.enums import AuditAction, RunState
from applyviz.records.models import ApplyRun, Cluster
from applyviz.records.sealing import Sealed
from applyviz.workflow.audit import trail
from applyviz.workflow.clusters.registration import get_cluster
from applyviz.workflow.foundation import access, clock
from applyviz.workflow.foundation.access import Action, Person
from applyviz.workflow.foundation.errors import NotPossibleError, NotValidError
from applyviz.workflow.foundation.locks import lock_cluster


@dataclass(frozen=True, slots=True)
class ConnectionCheck:
    """What a test of a cluster's own credential found; `problem` is one sentence, "" when all is well.

    - `server_message` is what the server or the network said, in its own words.
    """

    version: str = ""
    account: str = ""
    problem: str = ""
    server_message: str = ""


def _require(by: Person | None, cluster: Cluster) -> None:
    if by is not None:
        access.require(by, Action.MANAGE)
        get_cluster(cluster.slug, for_user=by)


def _record(cluster: Cluster, by: Person | None, **detail: Any) -> None:
    trail.record(AuditAction.CLUSTER_CHANGED, by=by, about=trail.AuditSubject(cluster=cluster.slug), detail=detail)


def describe_account(account: dict[str, Any]) -> str:
    """As whom a cluster knows its credential, for people; "" when it does not say."""
    return str(account.get("user", ""))


def remember_facts(cluster: Cluster, found: facts.ClusterFacts, account: dict[str, JSONValue]) -> None:
    """Keep what a cluster says of itself and of its credential; what it does not say stays as it was."""
    told = {name: value for name, value in (("version", found.version), ("account", account)) if value}
    changed = {name: value for name, value in told.items() if getattr(cluster, name) != value}
    if changed:
        Cluster.objects.filter(pk=cluster.pk).update(**changed)
        for name, value in changed.items():
            setattr(cluster, name, value)


def check_connection(cluster: Cluster, *, by: Person | None) -> ConnectionCheck:
    """Ask a cluster with its own credential who it is and as whom it knows us; nothing else is changed by it."""
    _require(by, cluster)
    try:
        with connect.open_reader(cluster) as reader:
            found = facts.require_same(reader, uid=cluster.uid, server=cluster.server, name=cluster.name)
            account = facts.read_account(reader)
    except ClusterError as error:
        return ConnectionCheck(problem=error.reason, server_message=error.detail)
    remember_facts(cluster, found, account)
    return ConnectionCheck(found.version, describe_account(account))


def prepare_credential(
    cluster: Cluster, *, credential: JSONValue, server: str, by: Person | None
) -> Callable[[], Cluster]:
    """Ask with a new credential whether it leads to the same cluster; the result puts it in place of the old one.

    - Raises `ClusterError` with one sentence when the cluster does not answer, or is another one.
    """
    _require(by, cluster)
    if cluster.is_sandbox:
        raise NotPossibleError(_("a sandbox has no credential to replace"))
    changed = Cluster(slug=cluster.slug, kind=cluster.kind, server=server, credential=Sealed.of_json(credential))
    with connect.open_reader(changed) as reader:
        found = facts.require_same(reader, uid=cluster.uid, server=server, name=cluster.name)
        account = facts.read_account(reader)
    # A cluster that does not say as whom it knows us: nobody can tell that it is the same account as before.
    changed.account = account or {"unknown": clock.now().isoformat()}
    changed.uid, changed.version = found.uid, found.version
    return partial(_replace, cluster, changed, by)


def _replace(cluster: Cluster, changed: Cluster, by: Person | None) -> Cluster:
    with transaction.atomic():
        before = lock_cluster(cluster.pk)
        if before.uid and before.uid != changed.uid:
            raise NotPossibleError(_("someone else changed the cluster at the same time; try again"))
        Cluster.objects.filter(pk=cluster.pk).update(
            credential=changed.credential,
            server=changed.server,
            version=changed.version,
            uid=changed.uid,
            account=changed.account,
        )
        accounts = [describe_account(before.account), describe_account(changed.account)]
        _record(
            cluster,
            by,
            change="credential replaced",
            server=[before.server, changed.server],
            account=accounts,
            plans="stay good" if before.account == changed.account else "are made anew",
        )
        return lock_cluster(cluster.pk)


def prepare_upload(cluster: Cluster, *, kubeconfig: bytes, context: str, by: Person) -> Callable[[], Cluster]:
    """Read an uploaded kubeconfig and ask its cluster who it is; the result puts it in place of the old credential."""
    _require(by, cluster)
    taken = read_kubeconfig(kubeconfig, context=context)
    credential = {"form": connect.UPLOADED, "credential": taken.to_json()}
    return prepare_credential(cluster, credential=credential, server=taken.server, by=by)


def rename_cluster(cluster: Cluster, *, name: str, by: Person | None) -> None:
    """Give a cluster another name for people; its short name stays, because grants, policies and history use it."""
    _require(by, cluster)
    name = name.strip()
    if not name or len(name) > 120:
        raise NotValidError(_("a name has 1 to 120 characters"))
    with transaction.atomic():
        before = lock_cluster(cluster.pk)
        Cluster.objects.filter(pk=cluster.pk).update(name=name)
        _record(cluster, by, change="renamed", name=[before.name, name])


def pause_cluster(cluster: Cluster, *, reason: str, by: Person | None) -> None:
    """Start no plan and no run on a cluster until it is resumed; runs that are writing end as they would."""
    _require(by, cluster)
    with transaction.atomic():
        paused = Cluster.objects.filter(pk=cluster.pk, paused_at=None, archived_at=None)
        if not paused.update(paused_at=clock.now(), pause_reason=reason.strip()[:400]):
            raise NotPossibleError(_("the cluster is already paused or archived"))
        _record(cluster, by, change="paused", reason=reason.strip()[:400])


def resume_cluster(cluster: Cluster, *, by: Person | None) -> None:
    """Let plans and runs start again; runs that waited are picked up."""
    _require(by, cluster)
    with transaction.atomic():
        resumed = Cluster.objects.filter(pk=cluster.pk).exclude(paused_at=None)
        if not resumed.update(paused_at=None, pause_reason=""):
            raise NotPossibleError(_("the cluster is not paused"))
        _record(cluster, by, change="resumed")


def archive_cluster(cluster: Cluster, *, by: Person | None) -> None:
    """Take a cluster out of every form; its reviews, runs and history stay. Refused while a run is not finished."""
    _require(by, cluster)
    with transaction.atomic():
        lock_cluster(cluster.pk)
        unfinished = ApplyRun.objects.filter(plan__target__cluster=cluster, state__in=RunState.unfinished())
        if unfinished.exists():
            raise NotPossibleError(_("a run on this cluster is not finished: wait or cancel it"))
        if not Cluster.objects.filter(pk=cluster.pk, archived_at=None).update(archived_at=clock.now()):
            raise NotPossibleError(_("the cluster is already archived"))
        _record(cluster, by, change="archived")


def restore_cluster(cluster: Cluster, *, by: Person | None) -> None:
    """Bring an archived cluster back; a pause of before still holds."""
    _require(by, cluster)
    with transaction.atomic():
        if not Cluster.objects.filter(pk=cluster.pk).exclude(archived_at=None).update(archived_at=None):
            raise NotPossibleError(_("the cluster is not archived"))
        _record(cluster, by, change="restored")
