"""The objects that an earlier run applied and that the manifests of a plan no longer contain; apply keeps them.

Rule: `kubectl apply` deletes nothing without `--prune`. The earlier run is the last one on the cluster of whose objects
at least half are in the plan: sources have no identity of their own, files are renamed and links move. An addon of a
kOps channel has a name: the earlier run is the last one that applied it, and it prunes only the kinds that it names.
The planner finds the objects that a prune leaves (`planning.sets.staying`); the details of the plan keep them.
"""

from __future__ import annotations

from collections.abc import Sequence

from django.db.models import Count, Exists, OuterRef, Q, QuerySet
from msgspec import Struct

from applyviz.engine.planning.digest.serialize import options_from_json
from applyviz.engine.planning.model.plan import APPLIED, Operation, Staying
from applyviz.engine.requests.options import SetAction
from applyviz.records.enums import PlanState, RunState
from applyviz.records.models import ApplyRun, ObjectChange, Plan, Review
from applyviz.workflow.foundation import access
from applyviz.workflow.foundation.access import Action, Person
from applyviz.workflow.foundation.scopes import ScopeEntry
from applyviz.workflow.plans import plan_details

_RUNS = 10
"""So many earlier runs are looked at."""
_GONE = (Operation.DELETE, Operation.PRUNE)


class LeftBehind(Struct, frozen=True):
    """The objects of the last run of a source that its manifests no longer contain, in the order of that run."""

    run: ApplyRun
    objects: tuple[ObjectChange, ...]


def _same_object(changes: QuerySet[ObjectChange]) -> Exists:
    key = {name: OuterRef(name) for name in ("group", "kind", "namespace", "name")}
    return Exists(changes.filter(**key))


def _names_all(plan: Plan) -> bool:
    """Return whether the plan has every object of its manifests: none is selected or unread."""
    options = options_from_json(plan.options)
    is_apply = options.action is SetAction.APPLY and not options.selector
    return is_apply and plan.state == PlanState.COMPLETE and not plan.problems


def _find_run(plan: Plan, runs: list[ApplyRun]) -> ApplyRun | None:
    """Return the newest run of whose objects at least half are in the plan."""
    is_here = _same_object(plan.changes.all())
    counts = (
        ObjectChange.objects.filter(plan__in=[run.plan_id for run in runs], operation__in=APPLIED)
        .order_by()
        .values("plan_id")
        .annotate(total=Count("pk"), here=Count("pk", filter=Q(is_here)))
    )
    shares = {row["plan_id"]: row["here"] * 2 >= row["total"] for row in counts}
    return next((run for run in runs if shares.get(run.plan_id)), None)


def _find_left_by_addons(plan: Plan, runs: list[ApplyRun], names: frozenset[str]) -> LeftBehind | None:
    """Return what the last run of an addon applied, and neither the addon nor its prune names now."""
    gone = ObjectChange.objects.none()
    for run in runs:
        applied = ObjectChange.objects.filter(plan=run.plan_id)
        missing = applied.filter(document__addon__in=names, operation__in=APPLIED).filter(
            ~_same_object(plan.changes.all()), ~_same_object(gone), ~Q(group="", kind="Node")
        )
        found = tuple(missing.only("position", "kind", "namespace", "name", "plan"))
        if found:
            return LeftBehind(run, found)
        names -= frozenset(applied.values_list("document__addon", flat=True))
        gone |= applied.filter(operation__in=_GONE)
    return None


def _select_earlier(plan: Plan, person: Person) -> QuerySet[ApplyRun]:
    """Return the runs on the cluster before a plan was made that a person may see, newest first."""
    visible = Review.objects.filter(access.select_reviews(person)).values("pk")
    runs = ApplyRun.objects.filter(plan__target__cluster=plan.target.cluster_id, plan__review__in=visible)
    return runs.filter(created_at__lt=plan.created_at).exclude(plan=plan).order_by("-number")


def find_earlier_run(plan: Plan, *, for_user: Person) -> ApplyRun | None:
    """Return the last finished run, however it ended, of whose objects at least half are in the plan."""
    runs = list(_select_earlier(plan, for_user).exclude(state__in=RunState.unfinished())[:_RUNS])
    return _find_run(plan, runs) if runs else None


def find_left_behind(plan: Plan, *, for_user: Person) -> LeftBehind | None:
    """Return what the last run of the same source applied, the plan does not name, and no later run deleted.

    - None without such objects, for a plan that does not name all objects of its manifests, and for deletions, patches,
      moves and reverts, which name what a run changed. Runs that the person may not see do not count.
    """
    channel = options_from_json(plan.options).channel
    if not _names_all(plan) or getattr(plan.review, "undoes", None) is not None:
        return None
    runs = list(_select_earlier(plan, for_user).filter(state=RunState.APPLIED)[:_RUNS])
    if channel is not None:
        return _find_left_by_addons(plan, runs, frozenset(addon.name for addon in channel.applied))
    run = _find_run(plan, runs)
    if run is None:
        return None
    later = ObjectChange.objects.filter(plan__in=[one.plan_id for one in runs if one.number > run.number])
    missing = ObjectChange.objects.filter(plan=run.plan_id, operation__in=APPLIED).filter(
        ~_same_object(plan.changes.all()), ~_same_object(later.filter(operation__in=_GONE))
    )
    found = tuple(missing.only("position", "kind", "namespace", "name", "plan"))
    return LeftBehind(run, found) if found else None


def list_staying(plan: Plan, *, for_user: Person) -> Sequence[Staying]:
    """Return the objects that the prune of a plan leaves although it could be expected to delete them.

    - Without those in namespaces that the person may not view: the last run may have had other ones than the plan.
    """
    slug, found = plan.target.cluster.slug, plan_details.list_staying(plan)
    return [one for one in found if access.can(for_user, Action.VIEW, (ScopeEntry(slug, one.ref.namespace),))]
