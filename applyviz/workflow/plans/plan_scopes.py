"""The scopes of a plan: the namespaces that it reads and writes, and the rights of its requester there."""

from __future__ import annotations

from collections.abc import Collection

from django.utils.translation import gettext as _

from applyviz.records.models import Plan, ReviewScope
from applyviz.workflow.foundation import access
from applyviz.workflow.foundation.access import Action
from applyviz.workflow.foundation.errors import NotAllowedError
from applyviz.workflow.foundation.scopes import ScopeEntry


def store_scopes(plan: Plan, scopes: Collection[ScopeEntry]) -> None:
    """Store the scopes that a plan reads and writes before it does; raise where its requester has no right."""
    for scope in sorted(scopes):
        if not access.can(plan.requested_by, Action.WRITE, [scope]):
            where = f"namespace {scope.namespace}" if scope.namespace else "objects of no namespace"
            raise NotAllowedError(
                _("%(name)s can't create plans for %(where)s of %(cluster)s")
                % {"name": plan.requested_by.get_username(), "where": where, "cluster": scope.cluster}
            )
    rows = (ReviewScope(review=plan.review, cluster=plan.target.cluster, namespace=p.namespace) for p in scopes)
    ReviewScope.objects.bulk_create(rows, ignore_conflicts=True)
