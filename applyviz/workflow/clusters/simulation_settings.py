"""The switch of a sandbox's simulated workloads: Pods that appear and become ready, although nothing runs."""

from __future__ import annotations

from django.db import transaction
from django.utils.translation import gettext as _

from applyviz.clusters import sandbox
from applyviz.records.enums import AuditAction
from applyviz.records.models import Cluster
from applyviz.workflow.audit import trail
from applyviz.workflow.foundation import access
from applyviz.workflow.foundation.access import Action, Person
from applyviz.workflow.foundation.errors import NotPossibleError


def simulate_workloads(cluster: Cluster, *, is_on: bool, by: Person) -> bool:
    """Start or stop the simulation of a sandbox; return whether the setting changed.

    - Started, every workload is checked again. Stopped, all objects stay unchanged.
    - Raises `NotPossibleError` for a live cluster.
    """
    access.require(by, Action.MANAGE)
    if not cluster.is_sandbox:
        raise NotPossibleError(_("only a sandbox simulates workloads"))
    with transaction.atomic():
        changed = Cluster.objects.filter(pk=cluster.pk, simulates_workloads=not is_on).update(simulates_workloads=is_on)
        if changed:
            sandbox.restart_simulation(cluster)
            word = "simulated" if is_on else "not simulated"
            about = trail.AuditSubject(cluster=cluster.slug)
            trail.record(AuditAction.CLUSTER_CHANGED, by=by, about=about, detail={"workloads": word})
    cluster.simulates_workloads = is_on
    return bool(changed)
