"""A run of a web shop as it stands after some time: requests answered, workloads rolling out, one that does not."""

from __future__ import annotations

from datetime import datetime, timedelta

from django.contrib.auth.models import User

from applyviz.engine.objects.refs import GroupVersionKind, ObjectRef
from applyviz.engine.objects.structs import replace
from applyviz.engine.planning.model.plan import Operation, PlannedObject
from applyviz.records.enums import Outcome, RolloutState, RunState
from applyviz.records.models import ApplyRun, JournalEntry, ObjectResult, Plan, RolloutSample
from tests.web import builders, rows

PULL = {
    "reason": "ImagePullBackOff",
    "pods": 2,
    "pod": "payment-7c9-x2x",
    "container": "server",
    "image": "shop/payment:1.5.0",
    "message": "",
}
Steps = tuple[tuple[str, str, tuple[str, ...]], ...]
STEPS: Steps = (
    ("apiextensions.k8s.io", "CustomResourceDefinition", ("promotions.shop.example",)),
    ("networking.k8s.io", "NetworkPolicy", ("web", "payment")),
    ("", "ConfigMap", ("catalog", "orders", "search", "frontend", "cart")),
    ("", "Service", ("catalog", "orders", "search", "frontend", "cart", "payment")),
    ("apps", "Deployment", ("payment", "frontend", "checkout", "catalog", "orders", "search", "inventory")),
    ("networking.k8s.io", "Ingress", ("shop",)),
    ("shop.example", "Promotion", ("winter-sale",)),
)
# Of each Deployment: when it was ready (None: not yet), new, ready and wanted pods.
ROLLOUTS: dict[str, tuple[float | None, int, int, int]] = {
    "payment": (91.0, 0, 2, 2),
    "frontend": (None, 3, 5, 5),
    "checkout": (None, 2, 3, 3),
    "catalog": (79.0, 3, 3, 3),
    "orders": (69.0, 2, 2, 2),
    "search": (41.0, 2, 2, 2),
    "inventory": (26.0, 1, 1, 1),
}


def list_changes(steps: Steps) -> list[PlannedObject]:
    """The changes of all steps; images of Deployments go from 1.4.2 to 1.5.0."""
    change = replace(builders.build_change(), operation=Operation.UPDATE, conflicts=())
    found = []
    for step, (group, kind, names) in enumerate(steps):
        for name in names:
            ref = ObjectRef(GroupVersionKind(group, "v1", kind), "shop", name)
            found.append(replace(change, ref=ref, step=step))
    return found


def make_scene(alice: User, bob: User, start: datetime, steps: Steps = STEPS) -> ApplyRun:
    """A running run whose payment service cannot pull its image; it began at `start`."""
    run = rows.make_run(rows.make_plan(alice, list_changes(steps)), bob)
    ApplyRun.objects.filter(pk=run.pk).update(
        started_at=start,
        rules={"waits_for_rollout": True, "rollout_seconds": 600},
        lease_until=start.replace(year=2200),
    )
    for result in run.results.select_related("change"):
        step = next(number for number, (_group, kind, _names) in enumerate(steps) if kind == result.change.kind)
        ObjectResult.objects.filter(pk=result.pk).update(step=step, detail="")
    for place, result in enumerate(run.results.select_related("change")):
        sent = start + timedelta(milliseconds=100 * place + 50)
        if result.change.kind in ("Ingress", "Promotion"):
            JournalEntry.objects.filter(result=result).delete()
            ObjectResult.objects.filter(pk=result.pk).update(outcome=Outcome.WAITING)
            continue
        answered = sent + timedelta(milliseconds=24)
        JournalEntry.objects.filter(result=result).update(sent_at=sent, answered_at=answered)
        if result.change.kind == "Deployment":
            _roll_out(result, start, answered)
    run.refresh_from_db()
    return run


def _roll_out(result: ObjectResult, start: datetime, answered: datetime) -> None:
    ready_at, new, ready, wanted = ROLLOUTS.get(result.change.name, (50.0, 1, 1, 1))
    state = RolloutState.FAILED if new == 0 else RolloutState.READY if ready_at else RolloutState.WAITING
    pods = {"new": new, "ready": ready, "wanted": wanted, "problems": [PULL] if new == 0 else [], "unread": {}}
    ObjectResult.objects.filter(pk=result.pk).update(
        rollout=state,
        rollout_at=start + timedelta(seconds=ready_at or 100.0),
        rollout_detail="0 of 2 pods are available" if new == 0 else "",
        pods=pods,
        started_at=answered,
        finished_at=answered,
    )
    first = 0 if result.change.name == "inventory" else wanted
    RolloutSample.objects.create(result=result, at=answered, new=0, ready=first, wanted=wanted)
    if ready_at:
        at = start + timedelta(seconds=ready_at)
        RolloutSample.objects.create(result=result, at=at, new=new, ready=ready, wanted=wanted)


def finish(run: ApplyRun, at: datetime) -> Plan:
    """The run ends with its failure."""
    ApplyRun.objects.filter(pk=run.pk).update(state=RunState.FAILED, finished_at=at, lease_until=None)
    ObjectResult.objects.filter(run=run, rollout=RolloutState.WAITING).update(
        rollout=RolloutState.GIVEN_UP, rollout_at=at
    )
    ObjectResult.objects.filter(run=run, outcome=Outcome.WAITING).update(outcome=Outcome.SKIPPED)
    return run.plan
