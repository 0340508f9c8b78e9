"""The scopes of a plan: the namespaces that it reads and writes, and the rights of its requester there."""

from __future__ import annotations

from collections.abc import Collection

from django.utils.translation import gettext as _

from applyviz.engine.planning.model.plan import PlannedObject
from applyviz.records.models import Plan, ReviewScope
from applyviz.workflow.foundation import access
from applyviz.workflow.foundation.access import Action
from applyviz.workflow.foundation.errors import NotAllowedError
from applyviz.workflow.foundation.scopes import EVERY_NAMESPACE, ScopeEntry
from applyviz.workflow.policies.reach import list_reached


def _name(namespace: str) -> str:
    if namespace == EVERY_NAMESPACE:
        return "every namespace"
    return f"namespace {namespace}" if namespace else "cluster-scoped objects"


def store_scopes(plan: Plan, scopes: Collection[ScopeEntry]) -> None:
    """Store the scopes that a plan reads and writes before it does; raise where its requester has no right.

    - All namespaces at once are no scope of a review: the right is required, and nothing is stored.
    """
    for scope in sorted(scopes):
        if not access.can(plan.requested_by, Action.WRITE, [scope]):
            where = _name(scope.namespace)
            raise NotAllowedError(
                _("%(name)s can't create plans for %(where)s of %(cluster)s")
                % {"name": plan.requested_by.get_username(), "where": where, "cluster": scope.cluster}
            )
    named = (scope.namespace for scope in scopes if scope.namespace != EVERY_NAMESPACE)
    rows = (ReviewScope(review=plan.review, cluster=plan.target.cluster, namespace=namespace) for namespace in named)
    ReviewScope.objects.bulk_create(rows, ignore_conflicts=True)


def store_reached(plan: Plan, change: PlannedObject, known: set[ScopeEntry]) -> None:
    """Store the scopes that an operation reaches beside those of the source, as prunes and deletions do.

    - `known`: the scopes that are stored, to which these are added. Raises where the requester has no right.
    """
    reached = list_reached(change.ref.key, change.operation.value)
    new = {ScopeEntry(plan.target.cluster.slug, namespace) for namespace in reached} - known
    if new:
        store_scopes(plan, new)
        known |= new
