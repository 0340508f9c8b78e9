"""The objects that the prune of a plan leaves although one could expect it to delete them, kept in its summary."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from applyviz.engine.objects.refs import GroupVersionKind, ObjectRef
from applyviz.engine.planning.model.plan import PlannedSet, Staying, StayReason
from applyviz.records.models import Plan
from applyviz.workflow.foundation import access
from applyviz.workflow.foundation.access import Action, Person
from applyviz.workflow.foundation.scopes import ScopeEntry

_KEY = "staying"


def keep(finished: PlannedSet) -> dict[str, Any]:
    """Return them for the summary of a plan."""
    return {_KEY: [[*ref.gvk, ref.namespace, ref.name, why.value] for ref, why in finished.staying]}


def list_staying(plan: Plan, *, for_user: Person) -> Sequence[Staying]:
    """Return them, without those in namespaces that this person may not view: the last run may have had others."""
    slug, found = plan.target.cluster.slug, []
    for group, version, kind, namespace, name, why in plan.summary.get(_KEY, ()):
        if access.can(for_user, Action.VIEW, (ScopeEntry(slug, namespace),)):
            ref = ObjectRef(GroupVersionKind(group, version, kind), namespace, name)
            found.append(Staying(ref, StayReason(why)))
    return found
