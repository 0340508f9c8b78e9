"""Open plans are compared with live while a person views them, at most once a minute, by a worker.

Cost: one LIST per kind and namespace, of which only uid and resourceVersion are kept. An object is calculated again
only when these changed, at most some hundred in one comparison. What differs by effect is stored with masked fields;
each reader sees it without the Secrets whose comparison with live is hidden from them.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from django.db import transaction
from django.db.models import F, Q
from msgspec import Struct

from applyviz import clock, moments
from applyviz.clusters import connect, discovery, facts
from applyviz.clusters.reader import ClusterReader
from applyviz.engine.objects.errors import ApplyVizError
from applyviz.engine.objects.exchange import Request
from applyviz.engine.objects.refs import GroupVersionKind
from applyviz.engine.objects.values import JSONObject, get_at
from applyviz.engine.planning.model.plan import Certainty
from applyviz.engine.requests.flow import Catalog
from applyviz.queue import TaskName
from applyviz.records.enums import LiveComparisonState, PlanState, ReviewState
from applyviz.records.models import LiveComparison, ObjectChange, Plan
from applyviz.workflow.clusters import impersonation, masking_settings
from applyviz.workflow.foundation import outbox
from applyviz.workflow.foundation.compared import is_compared
from applyviz.workflow.foundation.leases import LeaseLostError, LeaseRenewer, WorkerStoppingError, find_lease_end
from applyviz.workflow.foundation.logs import log_unexpected
from applyviz.workflow.plans import calculation, changes
from applyviz.workflow.plans.live_values import hidden_positions
from applyviz.workflow.plans.moved_objects import describe_move, find_moved, is_unreadable
from applyviz.workflow.plans.outcome_check import identity

logger = logging.getLogger(__name__)
EVERY = timedelta(seconds=60)
MOST_CALCULATED = 200
_PATIENCE = timedelta(seconds=5)
_PAGE, _MOST_PAGES, _BATCH = 500, 40, 200
Names = dict[str, dict[str, str]]


class LiveState(Struct, frozen=True):
    """The comparison of a plan as one reader sees it; `hidden` counts the objects that are not shown to them."""

    state: LiveComparisonState
    is_running: bool = False
    at: datetime | None = None
    objects: tuple[JSONObject, ...] = ()
    hidden: int = 0
    error: str = ""


@dataclass(slots=True)
class _Found:
    """The result of one comparison while it is collected."""

    same: dict[str, dict[str, str]]
    objects: list[JSONObject] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)

    @property
    def state(self) -> LiveComparisonState:
        if self.objects:
            return LiveComparisonState.DIFFERS
        return LiveComparisonState.FAILED if self.errors else LiveComparisonState.SAME


def is_comparable(plan: Plan) -> bool:
    """Return whether a plan is open: complete, the latest of an open review, on a cluster that is not archived."""
    if plan.state != PlanState.COMPLETE or plan.review.state != ReviewState.OPEN or not plan.digest:
        return False
    latest = plan.review.latest_plan
    if latest is not None and latest.pk != plan.pk:
        return False
    return plan.target.cluster.archived_at is None and not hasattr(plan, "run")


def request_comparison(plan: Plan) -> None:
    """Ask a worker to compare an open plan with live, unless that was asked less than a minute ago."""
    if not is_comparable(plan):
        return
    now = clock.now()
    with transaction.atomic():
        row, is_new = LiveComparison.objects.get_or_create(plan=plan, defaults={"requested_at": now})
        free = Q(lease_until=None) | Q(lease_until__lte=now)
        due = LiveComparison.objects.filter(free, pk=row.pk, requested_at__lte=now - EVERY)
        if is_new or due.update(requested_at=now, lease_until=None):
            outbox.post(TaskName.COMPARE_PLAN, comparison_id=row.pk)


def find_unfinished(*, now: datetime) -> list[int]:
    """Return comparisons without a worker: unclaimed for a while, or with an expired lease."""
    waiting = Q(finished_at=None) | Q(finished_at__lt=F("requested_at"))
    lost = Q(lease_until__lt=now) | Q(lease_until=None, requested_at__lt=now - _PATIENCE)
    return list(LiveComparison.objects.filter(waiting, lost).values_list("pk", flat=True))


def _find_row(plan: Plan) -> LiveComparison | None:
    if moments.is_within():
        return getattr(plan, "live_comparison", None)
    return LiveComparison.objects.filter(plan=plan).first()


def read_state(plan: Plan) -> LiveState | None:
    """Return the comparison of an open plan as its reader may see it; None for a plan that is not compared.

    - Whether a hidden Secret differs decides nothing: neither the state nor any count.
    """
    if not is_comparable(plan):
        return None
    row, hidden = _find_row(plan), hidden_positions(plan)
    if row is None:
        return LiveState(LiveComparisonState.NOT_YET, hidden=len(hidden))
    objects = tuple(one for one in row.objects_differing if one["position"] not in hidden)
    state = LiveComparisonState(row.state)
    if state is LiveComparisonState.DIFFERS and not objects:
        state = LiveComparisonState.FAILED if row.error else LiveComparisonState.SAME
    return LiveState(state, row.is_running, row.finished_at, objects, len(hidden), row.error)


def find_differing(plans: Iterable[Plan]) -> frozenset[int]:
    """Return the ids of the plans, the latest of open reviews, of which live was found to differ.

    - Differences of hidden Secrets do not count.
    """
    by_id = {plan.pk: plan for plan in plans}
    rows = LiveComparison.objects.filter(plan__in=list(by_id), state=LiveComparisonState.DIFFERS)
    found = rows.values_list("plan_id", "objects_differing")
    return frozenset(
        plan_id for plan_id, objects in found if {o["position"] for o in objects} - hidden_positions(by_id[plan_id])
    )


def _claim(comparison_id: int, now: datetime) -> LiveComparison | None:
    free = Q(lease_until=None) | Q(lease_until__lte=now)
    waiting = Q(finished_at=None) | Q(finished_at__lt=F("requested_at"))
    end = find_lease_end(now)
    if not LiveComparison.objects.filter(free, waiting, pk=comparison_id).update(lease_until=end):
        return None
    found = LiveComparison.objects.select_related("plan__review", "plan__target__cluster", "plan__revision")
    row = found.get(pk=comparison_id)
    row.lease_until = end
    return row


def _keep(row: LiveComparison) -> bool:
    """Renew the lease; return False when another worker has the comparison."""
    end = find_lease_end(clock.now())
    mine = LiveComparison.objects.filter(pk=row.pk, requested_at=row.requested_at, lease_until=row.lease_until)
    if not mine.update(lease_until=end):
        return False
    row.lease_until = end
    return True


def _finish(row: LiveComparison, found: _Found) -> None:
    mine = LiveComparison.objects.filter(pk=row.pk, requested_at=row.requested_at, lease_until=row.lease_until)
    mine.update(
        state=found.state,
        finished_at=max(clock.now(), row.requested_at),
        lease_until=None,
        same=found.same,
        objects_differing=found.objects,
        error="; ".join(found.errors),
    )


def compare_plan(comparison_id: int) -> None:
    """Compare one plan with live and store the result; writes nothing to the cluster."""
    row = _claim(comparison_id, clock.now())
    if row is None:
        return
    if not is_comparable(row.plan):
        _finish(row, _Found(row.same))
        return
    try:
        with LeaseRenewer(lambda: _keep(row)) as renewer:
            found = _compare(row, renewer)
        _finish(row, found)
    except (LeaseLostError, WorkerStoppingError):
        LiveComparison.objects.filter(pk=row.pk, lease_until=row.lease_until).update(lease_until=None)
    except ApplyVizError as error:
        _finish(row, _Found(row.same, errors=[str(error)]))
    except Exception as error:  # any error: the page says that it could not be compared
        log_unexpected(logger, f"the comparison of plan {row.plan_id} with live stopped", error)
        _finish(row, _Found(row.same, errors=[f"an unexpected error ({type(error).__name__})"]))


def _compare(row: LiveComparison, renewer: LeaseRenewer) -> _Found:
    plan, cluster = row.plan, row.plan.target.cluster
    with connect.open_reader(cluster) as own:
        facts.require_same(own, uid=plan.cluster_uid, server=cluster.server, name=cluster.name)
    found = _Found(dict(row.same))
    with connect.open_reader(cluster, impersonation.read_identity(plan)) as reader:
        suspects = list(_find_suspects(plan, discovery.load_catalog(reader), reader, found, renewer))
        if suspects:
            _calculate(plan, reader, suspects, found, renewer)
    return found


def _list(reader: ClusterReader, path: str, renewer: LeaseRenewer) -> tuple[Names, str]:
    """Return uid and resourceVersion of all objects of one kind in one namespace by name, and why it is incomplete."""
    names: Names = {}
    query = {"limit": str(_PAGE)}
    for _page in range(_MOST_PAGES):
        renewer.check()
        answer = reader.try_send(Request("GET", path, query, purpose="list"))
        if answer.status == 404:  # the kind is not served: none of its objects exists
            return names, ""
        if not answer.is_ok:
            return names, f"{answer.status or 'no answer'}"
        for item in get_at(answer.body, ("items",), []) or ():
            names[str(get_at(item, ("metadata", "name"), ""))] = identity(item)
        rest = get_at(answer.body, ("metadata", "continue"), "")
        if not rest:
            return names, ""
        query = {"limit": str(_PAGE), "continue": str(rest)}
    return names, f"more than {_PAGE * _MOST_PAGES} objects"


def _group(plan: Plan) -> Mapping[tuple[GroupVersionKind, str], list[ObjectChange]]:
    """Return the objects by kind and namespace; without those whose state was unknown, and each only once."""
    groups: dict[tuple[GroupVersionKind, str], dict[str, ObjectChange]] = {}
    known = plan.changes.exclude(certainty=Certainty.UNKNOWN.value).defer("document", "found_risks", "sealed")
    for row in known.order_by("position"):
        groups.setdefault((changes.ref_of(row).gvk, row.namespace), {}).setdefault(row.name, row)
    return {key: list(rows.values()) for key, rows in groups.items()}


def _find_suspects(
    plan: Plan, catalog: Catalog, reader: ClusterReader, found: _Found, renewer: LeaseRenewer
) -> Iterator[ObjectChange]:
    """Yield the objects whose uid or resourceVersion is another one than that of the review."""
    _learn_versions(plan, found, renewer)
    for (gvk, namespace), rows in _group(plan).items():
        resource = catalog.find_resource(gvk)
        names, why = _list(reader, resource.path(namespace), renewer) if resource is not None else ({}, "")
        if why:
            found.errors.append(f"{gvk.kind} could not be listed ({why})")
            continue
        yield from (row for row in rows if names.get(row.name, {}) != found.same[str(row.position)])


def _learn_versions(plan: Plan, found: _Found, renewer: LeaseRenewer) -> None:
    """Remember uid and resourceVersion of every reviewed object, once for each plan."""
    missing = [at for at in plan.changes.values_list("position", flat=True) if str(at) not in found.same]
    for start in range(0, len(missing), _BATCH):
        renewer.check()
        for row in plan.changes.filter(position__in=missing[start : start + _BATCH]).defer("sealed"):
            found.same[str(row.position)] = identity(changes.read_masked_core(row).versions.live)


def _calculate(
    plan: Plan, reader: ClusterReader, suspects: list[ObjectChange], found: _Found, renewer: LeaseRenewer
) -> None:
    """Compare the effect of each changed object with the reviewed one; list those that differ."""
    prepared = calculation.prepare(plan, reader, has_notes=False)
    tag_key, policy = plan.tag_key.open_bytes(), masking_settings.policy_of(plan)
    unread = 0
    secret = [row for row in suspects if is_compared(row)]  # how many they are decides nothing about the others
    others = [row for row in suspects if not is_compared(row)]
    for row in (*others[:MOST_CALCULATED], *secret[:MOST_CALCULATED]):
        renewer.check()
        whole = ObjectChange.objects.defer("sealed").get(pk=row.pk)
        now = prepared.recompute(changes.ref_of(row), record=changes.find_record(whole))
        if now is None or is_unreadable(now):
            unread += not is_compared(row)
            continue
        kind = prepared.catalog.find_kind(now.ref.gvk)
        moved = find_moved(whole, now, tag_key=tag_key, policy=policy, kind=kind)
        if moved is None:
            found.same[str(row.position)] = identity(now.versions.live)
        else:
            how = describe_move(whole, now, moved, tag_key=tag_key, policy=policy)
            found.objects.append({"position": row.position, "how": how, "fields": moved})
    if unread:
        found.errors.append(f"{unread} objects could not be read")
    left = len(others) - MOST_CALCULATED
    if left > 0:
        found.errors.append(f"{left} more objects were written since the review, and are compared next")
