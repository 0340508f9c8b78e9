"""The scopes of a plan: the namespaces that it reads and writes, and the rights of its requester there.

They are known once the manifests and the kinds of the cluster are read. Until then, and permanently if that fails, a
review is visible in the namespace that was entered for it, whatever namespaces its files are about. Meanwhile only the
person who brought the files, and people who view the whole cluster, read their names. A re-plan brings no files.
"""

from __future__ import annotations

from collections.abc import Collection

from django.utils.translation import gettext as _

from applyviz.engine.planning.model.plan import PlannedObject
from applyviz.records.enums import PlanState
from applyviz.records.models import Plan, ReviewScope
from applyviz.workflow.foundation import access
from applyviz.workflow.foundation.access import Action, Visitor
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


def _may_read_names(plan: Plan, reader: Visitor) -> bool:
    if plan.state == PlanState.COMPLETE or plan.expected:
        return True
    slug = plan.target.cluster.slug
    everything = [ScopeEntry(slug), ScopeEntry(slug, EVERY_NAMESPACE)]
    return reader.pk == plan.revision.created_by_id or access.can(reader, Action.VIEW, everything)


def withhold_files(plan: Plan, reader: Visitor) -> Plan:
    """Return the plan for a reader, without the names of its files while the scopes of a plan are not known.

    - Why it failed may name files, namespaces and objects, and is withheld with them.
    - The instance is changed and never saved.
    """
    if _may_read_names(plan, reader):
        return plan
    plan.withholds_files = True  # type: ignore[attr-defined]  # of this very instance
    if plan.error:
        plan.error = _(
            "The plan failed before its namespaces were known. The person who brought the manifests, and people who "
            "can view the whole cluster, can read why."
        )
    if plan.problems:
        text = _("Not all manifests can be read. Which ones is shown once the namespaces of the plan are known.")
        plan.problems = [{"reason": text, "file": "", "line": 0, "column": 0}]
    return plan


def withholds_files(plan: Plan) -> bool:
    """Return whether the names of the files of this plan are withheld from its reader."""
    return getattr(plan, "withholds_files", False)
