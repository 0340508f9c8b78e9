"""What a plan does and where, in a few words, for headers, tables and buttons."""

from __future__ import annotations

from collections.abc import Iterable

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy, ngettext

from applyviz.engine.planning.model.plan import Operation
from applyviz.engine.requests.options import ApplyMode, ApplyOptions, SetAction
from applyviz.records.enums import ClusterKind, PlanState, ReviewState
from applyviz.records.models import ObjectChange, Plan
from applyviz.workflow.clusters import impersonation

MODE_WORDS: dict[ApplyMode, str | Promise] = {
    ApplyMode.CLIENT: gettext_lazy("client-side"),
    ApplyMode.SERVER: gettext_lazy("server-side"),
}

_NAMED_NAMESPACES = 3
_WITHOUT_CHANGE = frozenset({Operation.UNCHANGED, Operation.LEFT_OUT, Operation.NOT_FOUND})

ACTION_WORDS: dict[str, str | Promise] = {
    SetAction.DELETE: gettext_lazy("delete"),
    SetAction.PATCH: gettext_lazy("patch"),
    SetAction.SET_LAST_APPLIED: gettext_lazy("set last-applied"),
    SetAction.CLEAR_OWNERSHIP: gettext_lazy("clear managedFields"),
}


def name_mode(options: ApplyOptions) -> str | Promise:
    """Return how the requests of a plan are made, in words."""
    return MODE_WORDS[options.mode] if options.is_applying else ACTION_WORDS[options.action]


def name_manager(options: ApplyOptions) -> str:
    """Return the field manager of a plan; "" for deletions, which have none."""
    return "" if options.is_deleting else options.field_manager


def is_being_planned(plan: Plan) -> bool:
    """Return whether people wait for a plan; they do not once its review is closed."""
    return plan.state == PlanState.PLANNING and plan.review.state != ReviewState.CLOSED


def is_deleting(plan: Plan) -> bool:
    """Return whether a plan deletes the objects of its manifests."""
    return bool(plan.options.get("action") == SetAction.DELETE)


def is_patching(plan: Plan) -> bool:
    """Return whether a plan patches objects."""
    return bool(plan.options.get("action") == SetAction.PATCH)


def can_wait(plan: Plan) -> bool:
    """Return whether a run can wait until workloads are ready: in a sandbox pods run only where they are simulated."""
    cluster = plan.target.cluster
    is_applying = plan.options.get("action", SetAction.APPLY) in (SetAction.APPLY, SetAction.PATCH)
    return is_applying and (cluster.kind != ClusterKind.SANDBOX or cluster.simulates_workloads)


def _name_namespaces(options: ApplyOptions, changes: Iterable[ObjectChange]) -> str:
    """The namespaces of what changes, or of all objects when nothing does; the given one before any object is known."""
    rows = list(changes)
    if not rows:
        return options.namespace
    changed = [row for row in rows if row.operation not in _WITHOUT_CHANGE]
    found = sorted({row.namespace for row in changed or rows if row.namespace})
    if len(found) <= _NAMED_NAMESPACES:
        return ", ".join(found)
    return ngettext("%(n)d namespace", "%(n)d namespaces", len(found)) % {"n": len(found)}


def name_target(plan: Plan, options: ApplyOptions, changes: Iterable[ObjectChange]) -> str:
    """Return the cluster and the namespaces of `changes` as one text; objects without namespace add none."""
    return " / ".join(filter(None, (plan.target.cluster.name, _name_namespaces(options, changes))))


def name_identity(plan: Plan) -> str:
    """Return the identity that a plan impersonates; "" for the cluster's own credential."""
    identity = impersonation.read_identity(plan)
    return "" if identity.is_own else str(identity)
