"""Tables that hold rows for few plans: the query that reads a plan for a page asks all of them at once.

The answer is kept for the moment of the page. Later checks of the page read the rows only if there are some.
"""

from __future__ import annotations

from django.db.models import Count, Exists, OuterRef, QuerySet, Subquery, Value

from applyviz import moments
from applyviz.records.enums import AuditAction
from applyviz.records.models import AuditEntry, ChangeRequest, IdentityMapping, Plan, ScheduledStart
from applyviz.records.written_queries import WrittenQuery

_OF_PLANS = ("review__author", "target__cluster", "requested_by", "revision")
_OF_PAGES = ("run", "live_comparison", "emergency_apply", "review__undoes__run", "details")
# Of these, what few pages read.
_LATER = ("live_comparison__same", "details__overview", "details__graph", "details__owners")


def _count(rows: QuerySet[AuditEntry] | QuerySet[ChangeRequest]) -> Subquery:
    return Subquery(rows.order_by().values(one=Value(1)).annotate(n=Count("*")).values("n"))


def count_change_requests(review: str) -> tuple[Subquery, Subquery]:
    """Count the change requests of a review, by the audit log and by rows; `review` leads to it in the outer query."""
    recorded = AuditEntry.objects.filter(review=OuterRef(f"{review}number"), action=AuditAction.CHANGES_REQUESTED)
    return _count(recorded), _count(ChangeRequest.objects.filter(plan__review=OuterRef(f"{review}pk")))


def find_mappings(cluster: str) -> tuple[Exists, Exists]:
    """Find whether a cluster ever had mappings, by the audit log and by rows; `cluster` leads to it, as above."""
    recorded = AuditEntry.objects.filter(cluster=OuterRef(f"{cluster}slug"), action=AuditAction.IDENTITY_MAPPED)
    return Exists(recorded), Exists(IdentityMapping.objects.filter(cluster=OuterRef(f"{cluster}pk")))


def _plans_of_pages() -> QuerySet[Plan]:
    """Return the query for plans on pages; it asks the rare tables too, for `keep_answers`."""
    newest = Plan.objects.filter(review=OuterRef("review")).order_by("-number").values("pk")[:1]
    plans = Plan.objects.select_related(*_OF_PLANS, *_OF_PAGES).defer(*_LATER)
    scheduled = ScheduledStart.objects.filter(plan=OuterRef("pk"))
    recorded, stored = count_change_requests("review__")
    given, mapped = find_mappings("target__cluster__")
    return plans.annotate(
        newest=Subquery(newest),
        asked_recorded=recorded,
        asked_stored=stored,
        asked_given=given,
        asked_mapped=mapped,
        asked_scheduled=Exists(scheduled),
    )


_ON_PAGE = WrittenQuery(lambda number, review: _plans_of_pages().filter(number=number, review__number=review))
_ELSEWHERE = WrittenQuery(
    lambda number, review: Plan.objects.select_related(*_OF_PLANS).filter(number=number, review__number=review)
)


def find_plan(number: int, review_number: int) -> Plan | None:
    """Return a plan by its numbers, on a page with the answers that `keep_answers` keeps; None when there is none."""
    # A use case must not keep that something does not exist yet.
    asked = _ON_PAGE if moments.is_within() else _ELSEWHERE
    return asked.find(number, review_number)


def keep_answers(plan: Plan) -> None:
    """Keep what `find_plan` found about a plan while its page is shown."""
    found = vars(plan)
    cluster = plan.target.cluster_id
    moments.keep(("number of change requests of plan", plan.pk), (found["asked_recorded"], found["asked_stored"]))
    moments.keep(("cluster has mappings", cluster), found["asked_given"] or found["asked_mapped"])
    moments.keep(("plan has scheduled starts", plan.pk), found["asked_scheduled"])
