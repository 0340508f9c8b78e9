"""Read model of an object's history: its plans, results of runs and audit entries; newest first.

An audit entry shows the result of a run; only outcomes without an entry (not attempted) come from the run itself.
Pages go by time: each source returns a page's worth before a moment, and the newest of all are shown.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from urllib.parse import urlencode

from django.db.models import QuerySet
from django.db.models.functions import Coalesce
from django.urls import reverse
from django.utils.translation import gettext as _
from msgspec import Struct

from applyviz.engine.objects.structs import replace
from applyviz.engine.planning.model.plan import Operation
from applyviz.engine.requests.options import PRODUCT_MANAGER
from applyviz.records.enums import AuditAction, Outcome
from applyviz.records.models import AuditEntry, ObjectChange, ObjectResult, Review
from applyviz.web.components.badges import OBJECT_STYLES
from applyviz.web.components.notices import PlanFact
from applyviz.web.components.object_links import CORE, NO_NAMESPACE, link_change
from applyviz.web.history.pages.entries import Starters, TimelineRow, find_starters, present_entry
from applyviz.web.history.pages.ownership_history import OwnerTimes, present_owner_times
from applyviz.web.runs.pages.results import OUTCOME_STYLES
from applyviz.workflow.clusters.registration import get_cluster
from applyviz.workflow.foundation import access
from applyviz.workflow.foundation.access import Action, Visitor
from applyviz.workflow.foundation.compared import is_compared
from applyviz.workflow.foundation.errors import NotVisibleError
from applyviz.workflow.foundation.scopes import ScopeEntry
from applyviz.workflow.live import ownership_history
from applyviz.workflow.plans.live_history import is_hidden, show_entries
from applyviz.workflow.plans.live_values import show_plan, show_results, show_rows

PER_PAGE = 50


class TimelineSubject(Struct, frozen=True):
    """One object; `group` and `namespace` are empty for the core group and cluster-scoped kinds."""

    cluster: str
    group: str
    kind: str
    namespace: str
    name: str

    @property
    def columns(self) -> dict[str, str]:
        """Return the columns that identify the object in every table."""
        return {"group": self.group, "kind": self.kind, "namespace": self.namespace, "name": self.name}


class ObjectTimeline(Struct, frozen=True):
    """Some rows, newest first, and the position of older ones; the first page includes the field owners.

    - `adopt_url`: where this person brings an object without any row under review.
    """

    subject: TimelineSubject
    events: tuple[TimelineRow, ...]
    older_url: str
    is_first: bool
    history_url: str
    owner_times: OwnerTimes | None = None
    adopt_url: str = ""


def read_address(cluster: str, group: str, kind: str, namespace: str, name: str) -> TimelineSubject:
    """Return the object in an address; raises for an impossible name."""
    if any("\0" in part for part in (group, kind, namespace, name)):
        raise NotVisibleError("no object has such a name")
    return TimelineSubject(
        cluster, "" if group == CORE else group, kind, "" if namespace == NO_NAMESPACE else namespace, name
    )


def _person_url(name: str) -> str:
    return reverse("history:show-person", args=[name])


def _present_plan(change: ObjectChange, for_user: Visitor) -> TimelineRow:
    if is_compared(change):
        (change,) = show_rows(show_plan(change.plan, for_user, can_ask=False), [change])
    plan, style = change.plan, OBJECT_STYLES[Operation(change.operation)]
    who, manager = plan.requested_by.get_username(), str(plan.options.get("field_manager", PRODUCT_MANAGER))
    url = link_change(plan, change.position)
    return TimelineRow(
        at=plan.created_at,
        style=style,
        what=_("planned: %(operation)s") % {"operation": style.word},
        about=plan.review.title,
        who=who,
        who_url=_person_url(who),
        manager=manager,
        manager_url=reverse("history:show-manager", args=[manager]),
        links=(PlanFact("", f"#{plan.review.number} · {plan.number}", url=url),),
    )


def _present_result(result: ObjectResult, at: datetime, for_user: Visitor) -> TimelineRow:
    if is_compared(result.change):
        (result,) = show_results(show_plan(result.run.plan, for_user, can_ask=False), [result])
    style, run = OUTCOME_STYLES[result.outcome], result.run
    who = run.requested_by.get_username()
    url = reverse("runs:show-result", args=[run.number, result.position])
    text = _("run %(number)d") % {"number": run.number}
    return TimelineRow(
        at=at,
        style=style,
        what=str(style.word),
        about=result.detail,
        who=who,
        who_url=_person_url(who),
        links=(PlanFact("", text, url=url),),
    )


def _present_audit(entry: AuditEntry, starters: Starters) -> TimelineRow:
    row = present_entry(entry, starters)
    link = PlanFact("", _("entry %(number)d") % {"number": row.number}, url=row.url)
    return replace(row, links=(*row.links, link))


def _find_plans(
    subject: TimelineSubject, before: datetime | None, seen: QuerySet[Review], for_user: Visitor
) -> Iterator[TimelineRow]:
    found = ObjectChange.objects.filter(**subject.columns, plan__target__cluster__slug=subject.cluster)
    found = found.filter(plan__review__in=seen)
    if before is not None:
        found = found.filter(plan__created_at__lt=before)
    found = found.select_related("plan__review", "plan__requested_by", "plan__target__cluster").defer(
        "document", "found_risks", "sealed"
    )
    for change in found.order_by("-plan__created_at", "-id")[: PER_PAGE + 1]:
        yield _present_plan(change, for_user)


def _entries(subject: TimelineSubject) -> QuerySet[AuditEntry]:
    return AuditEntry.objects.filter(cluster=subject.cluster, **subject.columns)


def _find_results(
    subject: TimelineSubject, before: datetime | None, seen: QuerySet[Review], for_user: Visitor
) -> Iterator[TimelineRow]:
    columns = {f"change__{name}": value for name, value in subject.columns.items()}
    recorded = _entries(subject).filter(action=AuditAction.OBJECT_RESULT, run__isnull=False).values("run")
    found = (
        ObjectResult.objects.filter(**columns, run__plan__target__cluster__slug=subject.cluster)
        .filter(run__plan__review__in=seen)
        .exclude(outcome__in=[Outcome.WAITING, Outcome.APPLYING])
        .exclude(run__number__in=recorded)
        .annotate(recorded_at=Coalesce("finished_at", "started_at", "run__created_at"))
        .select_related("run__requested_by", "run__plan__target__cluster", "change")
        .defer("change__document", "change__found_risks", "change__sealed")
    )
    if before is not None:
        found = found.filter(recorded_at__lt=before)
    for result in found.order_by("-recorded_at", "-id")[: PER_PAGE + 1]:
        yield _present_result(result, result.recorded_at, for_user)


def _find_audit(subject: TimelineSubject, before: datetime | None, for_user: Visitor) -> Iterator[TimelineRow]:
    found = access.visible_entries(_entries(subject), for_user)
    if before is not None:
        found = found.filter(at__lt=before)
    entries = show_entries(list(found.order_by("-id")[: PER_PAGE + 1]), for_user)
    starters = find_starters(entries)
    for entry in entries:
        yield _present_audit(entry, starters)


def _cut(events: list[TimelineRow]) -> list[TimelineRow]:
    """Return a page's worth, without splitting rows of the same moment."""
    if len(events) <= PER_PAGE:
        return events
    whole = [event for event in events[:PER_PAGE] if event.at != events[PER_PAGE].at]
    return whole or [event for event in events if event.at == events[0].at]


def _find_owner_times(subject: TimelineSubject, for_user: Visitor) -> OwnerTimes | None:
    """Return who owned which field and when; None for a Secret that is hidden: a write moves the ownership."""
    if is_hidden(subject.cluster, subject.columns, for_user):
        return None
    key = (subject.group, subject.kind, subject.namespace, subject.name)
    return present_owner_times(ownership_history.owners_of(subject.cluster, key, for_user=for_user))


def _link_adoption(subject: TimelineSubject, for_user: Visitor) -> str:
    """Return the address that brings a live object under review; "" for who may not write there.

    - Raises `NotVisibleError` when there is no such cluster.
    """
    get_cluster(subject.cluster, for_user=for_user)
    if not access.can(for_user, Action.WRITE, [ScopeEntry(subject.cluster, subject.namespace)]):
        return ""
    parts = [subject.group or CORE, subject.kind, subject.namespace or NO_NAMESPACE, subject.name]
    return reverse("clusters:adopt-object", args=[subject.cluster, *parts])


def present_timeline(subject: TimelineSubject, *, before: datetime | None, for_user: Visitor) -> ObjectTimeline:
    """Return one page of an object's history, without rows for a live object that nothing touched here.

    - Raises `NotVisibleError` in an unknown cluster or a hidden scope.
    """
    access.require(for_user, Action.VIEW, [ScopeEntry(subject.cluster, subject.namespace)])
    seen = Review.objects.filter(access.select_reviews(for_user))
    sources = (
        _find_audit(subject, before, for_user),
        _find_results(subject, before, seen, for_user),
        _find_plans(subject, before, seen, for_user),
    )
    events = sorted((event for source in sources for event in source), key=lambda e: e.at, reverse=True)
    adopt_url = "" if events or before is not None else _link_adoption(subject, for_user)
    shown = _cut(events)
    older = f"?{urlencode({'before': shown[-1].at.isoformat()})}" if len(shown) < len(events) else ""
    query = {k: v for k, v in {**subject.columns, "cluster": subject.cluster}.items() if v and k != "group"}
    return ObjectTimeline(
        subject,
        tuple(shown),
        older,
        before is None,
        f"{reverse('history:list-entries')}?{urlencode(query)}",
        _find_owner_times(subject, for_user) if before is None else None,
        adopt_url,
    )
