"""Administration of an added cluster: replace its credential, test, rename, pause and archive it.

The uid of a cluster never changes: a credential for another cluster is refused. Plans and approvals remain valid under
a new credential of the same account. Under another account they must be re-planned (`impersonation.find_moved`),
because the approval covers the rights of the earlier account. `by` None is the installation (`manage.py cluster`).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from django.db import transaction
from django.utils.translation import gettext as _
from msgspec import Struct

from applyviz import clock
from applyviz.clusters import connect, facts
from applyviz.clusters.kubeconfig import read_kubeconfig
from applyviz.engine.objects.errors import ClusterError
from applyviz.engine.objects.values import JSONObject, JSONValue
from applyviz.records.enums import AuditAction, RunState
from applyviz.records.models import ApplyRun, Cluster
from applyviz.records.sealing import Unsealed
from applyviz.workflow.audit import trail
from applyviz.workflow.clusters.registration import get_cluster
from applyviz.workflow.foundation import access
from applyviz.workflow.foundation.access import Action, Person
from applyviz.workflow.foundation.errors import NotPossibleError, NotValidError
from applyviz.workflow.foundation.locks import lock_cluster


class ConnectionCheck(Struct, frozen=True):
    """The result of testing a cluster's own credential; `problem` is one sentence, "" for success.

    - `server_message` is the original text of the server or the network.
    """

    version: str = ""
    account: str = ""
    problem: str = ""
    server_message: str = ""


def _require(by: Person | None, cluster: Cluster) -> None:
    if by is not None:
        access.require(by, Action.MANAGE)
        get_cluster(cluster.slug, for_user=by)


def _record(cluster: Cluster, by: Person | None, **detail: JSONValue) -> None:
    trail.record(AuditAction.CLUSTER_CHANGED, by=by, about=trail.AuditSubject(cluster=cluster.slug), detail=detail)


def describe_account(account: JSONObject) -> str:
    """Return the account of a credential as the cluster names it; "" when the cluster does not say."""
    return str(account.get("user", ""))


def remember_facts(cluster: Cluster, found: facts.ClusterFacts, account: dict[str, JSONValue]) -> None:
    """Store the facts of a cluster and its credential; facts that it does not report keep their stored value."""
    reported = {name: value for name, value in (("version", found.version), ("account", account)) if value}
    changed = {name: value for name, value in reported.items() if getattr(cluster, name) != value}
    if changed:
        Cluster.objects.filter(pk=cluster.pk).update(**changed)
        for name, value in changed.items():
            setattr(cluster, name, value)


def check_connection(cluster: Cluster, *, by: Person | None) -> ConnectionCheck:
    """Ask a cluster with its own credential for its identity and account; changes nothing else."""
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
    """Check that a new credential leads to the same cluster; the result replaces the old credential.

    - Raises `ClusterError` with one sentence when the cluster does not answer, or is another one.
    """
    _require(by, cluster)
    if cluster.is_sandbox:
        raise NotPossibleError(_("a sandbox has no credential to replace"))
    changed = Cluster(slug=cluster.slug, kind=cluster.kind, server=server, credential=Unsealed.of_json(credential))
    with connect.open_reader(changed) as reader:
        found = facts.require_same(reader, uid=cluster.uid, server=server, name=cluster.name)
        account = facts.read_account(reader)
    # Without the name of an account, it cannot be confirmed that the account is the same as before.
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
            plans="remain valid" if before.account == changed.account else "must be re-planned",
        )
        return lock_cluster(cluster.pk)


def prepare_upload(cluster: Cluster, *, kubeconfig: bytes, context: str, by: Person) -> Callable[[], Cluster]:
    """Read an uploaded kubeconfig and identify its cluster; the result replaces the old credential."""
    _require(by, cluster)
    taken = read_kubeconfig(kubeconfig, context=context)
    credential: JSONObject = {"form": connect.UPLOADED, "credential": taken.to_json()}
    return prepare_credential(cluster, credential=credential, server=taken.server, by=by)


def rename_cluster(cluster: Cluster, *, name: str, by: Person | None) -> None:
    """Change the display name of a cluster; its slug stays, because grants, policies and history use it."""
    _require(by, cluster)
    name = name.strip()
    if not name or len(name) > 120:
        raise NotValidError(_("a name must have 1 to 120 characters"))
    with transaction.atomic():
        before = lock_cluster(cluster.pk)
        Cluster.objects.filter(pk=cluster.pk).update(name=name)
        _record(cluster, by, change="renamed", name=[before.name, name])


def pause_cluster(cluster: Cluster, *, reason: str, by: Person | None) -> None:
    """Start no plan and no run on a cluster until it is resumed; running ones finish normally."""
    _require(by, cluster)
    with transaction.atomic():
        paused = Cluster.objects.filter(pk=cluster.pk, paused_at=None, archived_at=None)
        if not paused.update(paused_at=clock.now(), pause_reason=reason.strip()[:400]):
            raise NotPossibleError(_("the cluster is already paused or archived"))
        _record(cluster, by, change="paused", reason=reason.strip()[:400])


def resume_cluster(cluster: Cluster, *, by: Person | None) -> None:
    """Let plans and runs start again; waiting runs are resumed."""
    _require(by, cluster)
    with transaction.atomic():
        resumed = Cluster.objects.filter(pk=cluster.pk).exclude(paused_at=None)
        if not resumed.update(paused_at=None, pause_reason=""):
            raise NotPossibleError(_("the cluster is not paused"))
        _record(cluster, by, change="resumed")


def archive_cluster(cluster: Cluster, *, by: Person | None) -> None:
    """Remove a cluster from every form; its reviews, runs and history stay. Refused while a run is unfinished."""
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
    """Restore an archived cluster; an earlier pause still applies."""
    _require(by, cluster)
    with transaction.atomic():
        if not Cluster.objects.filter(pk=cluster.pk).exclude(archived_at=None).update(archived_at=None):
            raise NotPossibleError(_("the cluster is not archived"))
        _record(cluster, by, change="restored")
