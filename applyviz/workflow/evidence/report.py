"""Evidence for a period: reviews, approvals with the roles at the time, runs, exceptions, and unreviewed changes.

All facts come from audit entries with the roles of that time, with two exceptions: scans find unreviewed changes, and
runs outside change windows are calculated from the policy versions of that time. Sections are read lazily and by
pages, so that an export of a year is never in memory and keeps no cursor open for a slow reader.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from enum import StrEnum
from heapq import merge
from operator import attrgetter

from django.db.models import Q, QuerySet
from django.db.models.functions import Coalesce
from django.utils import timezone
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from applyviz.engine.objects.values import JSONValue, canonical_json
from applyviz.records.enums import AuditAction, FindingSort
from applyviz.records.models import AuditEntry, LiveFinding
from applyviz.workflow.audit import chain, trail
from applyviz.workflow.evidence.history import ExportFormat, find_between, make_writer, tame
from applyviz.workflow.evidence.windows import LateRun, find_late
from applyviz.workflow.foundation import access
from applyviz.workflow.foundation.access import Action, Person, Visitor
from applyviz.workflow.foundation.errors import NotValidError
from applyviz.workflow.foundation.paging import PAGE, by_number
from applyviz.workflow.plans.live_history import show_findings


class EvidenceSection(StrEnum):
    """The sections of the evidence, in order."""

    REVIEWS = "reviews"
    APPROVALS = "approvals"
    RUNS = "runs"
    EMERGENCY_APPLIES = "broken-glass"
    LATE = "late-runs"
    POLICIES = "policy-edits"
    RIGHTS = "rights"
    UNREVIEWED = "unexplained"


TITLES: dict[EvidenceSection, str | Promise] = {
    EvidenceSection.REVIEWS: _("Reviews"),
    EvidenceSection.APPROVALS: _("Approvals (with role at the time)"),
    EvidenceSection.RUNS: _("Apply runs"),
    EvidenceSection.EMERGENCY_APPLIES: _("Emergency applies"),
    EvidenceSection.LATE: _("Runs outside change windows"),
    EvidenceSection.POLICIES: _("Changes to policies, rules and retention"),
    EvidenceSection.RIGHTS: _("Changes to accounts, teams, grants, identities, tokens, keys and clusters"),
    EvidenceSection.UNREVIEWED: _("Changes outside applyviz"),
}
ACTIONS: dict[EvidenceSection, tuple[AuditAction, ...]] = {
    EvidenceSection.REVIEWS: (AuditAction.REVIEW_CREATED, AuditAction.REVIEW_CLOSED),
    EvidenceSection.APPROVALS: (
        *(AuditAction.APPROVAL_GIVEN, AuditAction.APPROVAL_REVOKED),
        *(AuditAction.CHANGES_REQUESTED, AuditAction.REQUEST_WITHDRAWN, AuditAction.APPROVALS_CHECKED),
    ),
    EvidenceSection.RUNS: (AuditAction.RUN_STARTED, AuditAction.RUN_CANCELED, AuditAction.RUN_FINISHED),
    EvidenceSection.EMERGENCY_APPLIES: (AuditAction.EMERGENCY_APPLIED,),
    EvidenceSection.POLICIES: (
        *(AuditAction.POLICY_CHANGED, AuditAction.RULE_AGREED, AuditAction.RULE_REVOKED),
        *(AuditAction.RETENTION_CHANGED, AuditAction.HISTORY_PRUNED),
    ),
    EvidenceSection.RIGHTS: (
        *(AuditAction.PERSON_ADDED, AuditAction.PERSON_CHANGED, AuditAction.TEAM_CHANGED),
        *(AuditAction.ROLE_GRANTED, AuditAction.ROLE_ENDED, AuditAction.CLUSTER_ADDED, AuditAction.CLUSTER_CHANGED),
        *(AuditAction.IDENTITY_MAPPED, AuditAction.IDENTITY_ENDED, AuditAction.SERVICE_MADE),
        *(AuditAction.LINK_MADE, AuditAction.ACCOUNT_CLAIMED, AuditAction.PASSWORD_CHANGED),
        *(AuditAction.SECOND_ASKED, AuditAction.SECOND_DECLINED),
        *(AuditAction.TOKEN_MADE, AuditAction.TOKEN_REVOKED, AuditAction.KEYS_ROTATED, AuditAction.WEBHOOK_CHANGED),
    ),
}
_TOLD = (
    "title",
    "ticket",
    "note",
    "reason",
    "missing",
    "approved by",
    "state",
    "error",
    "name",
    "policy",
    "slug",
    "version",
    "acts as",
    "sole administrator",
    "confirmed by",
    "forged in all",
)
EXCEPTIONS = (
    EvidenceSection.EMERGENCY_APPLIES,
    EvidenceSection.LATE,
    EvidenceSection.POLICIES,
    EvidenceSection.UNREVIEWED,
)


@dataclass(frozen=True, slots=True)
class Period:
    """A range of days, both included, and a cluster ("" means all)."""

    since: date
    until: date
    cluster: str = ""

    def __post_init__(self) -> None:
        if self.until < self.since:
            raise NotValidError(_("the end of the period must be after its start"))

    @property
    def start(self) -> datetime:
        """Return its first moment."""
        return timezone.make_aware(datetime.combine(self.since, time()))

    @property
    def end(self) -> datetime:
        """Return the moment after its last."""
        return timezone.make_aware(datetime.combine(self.until + timedelta(days=1), time()))


@dataclass(frozen=True, slots=True)
class EvidenceFact:
    """One line of evidence; `number` is that of the audit entry, None for findings of scans."""

    section: EvidenceSection
    at: datetime
    who: str
    what: str
    roles: str = ""
    cluster: str = ""
    review: int | None = None
    plan: int | None = None
    run: int | None = None
    object: str = ""
    field_manager: str = ""
    plan_digest: str = ""
    told: str = ""
    number: int | None = None

    def to_json(self) -> dict[str, JSONValue]:
        """Return the fact for exports."""
        values = {name: getattr(self, name) for name in EvidenceFact.__slots__}
        return {**values, "section": self.section.value, "at": self.at.isoformat()}


def _render_value(value: JSONValue) -> str:
    if isinstance(value, list):
        return ", ".join(str(one) for one in value)
    return str(value)


def _from_entry(section: EvidenceSection, entry: AuditEntry) -> EvidenceFact:
    told = [f"{name}: {_render_value(entry.detail[name])}" for name in _TOLD if entry.detail.get(name)]
    return EvidenceFact(
        section=section,
        at=entry.at,
        who=entry.actor_name,
        what=entry.action,
        roles=entry.roles,
        cluster=entry.cluster,
        review=entry.review,
        plan=entry.plan,
        run=entry.run,
        object=f"{entry.kind} {entry.namespace}/{entry.name}" if entry.kind else "",
        field_manager=entry.field_manager,
        plan_digest=entry.plan_digest,
        told="; ".join(told) if entry.pruned_by is None else "(the body was removed by a retention policy)",
        number=entry.pk,
    )


def _from_finding(finding: LiveFinding) -> EvidenceFact:
    shown = [str(one.get("path")) if isinstance(one, dict) else str(one) for one in finding.fields]
    how = " · ".join(filter(None, (finding.operation, finding.subresource)))
    return EvidenceFact(
        section=EvidenceSection.UNREVIEWED,
        at=finding.changed_at or finding.first_seen,
        who=finding.manager,
        what=finding.sort,
        cluster=finding.cluster.slug,
        run=finding.run,
        object=f"{finding.kind} {finding.namespace}/{finding.name}",
        field_manager=f"{finding.manager} ({how})" if how else finding.manager,
        told=" ".join(shown),
    )


def _from_late(late: LateRun) -> EvidenceFact:
    run = late.run
    return EvidenceFact(
        section=EvidenceSection.LATE,
        at=late.at,
        who=run.requested_by.get_username(),
        what="started outside the change window" if late.is_start else "continued outside the change window",
        cluster=run.plan.target.cluster.slug,
        review=run.plan.review.number,
        plan=run.plan.number,
        run=run.number,
        plan_digest=run.plan.digest,
        told="; ".join(late.closed),
    )


def _entries(section: EvidenceSection, period: Period, for_user: Visitor) -> list[QuerySet[AuditEntry]]:
    """Return one query per action: the index sorts the entries of one action; several would scan the whole period."""
    found = find_between({"since": period.since, "until": period.until})
    if period.cluster:
        # An entry without a cluster (policies, grants) concerns every cluster.
        found = found.filter(Q(cluster=period.cluster) | Q(cluster=""))
    seen = access.visible_entries(found, for_user).defer("words")
    return [seen.filter(action=action) for action in ACTIONS[section]]


def _findings(period: Period, for_user: Visitor) -> QuerySet[LiveFinding]:
    when = Q(changed_at__gte=period.start, changed_at__lt=period.end)
    unseen = Q(changed_at=None, first_seen__gte=period.start, first_seen__lt=period.end)
    found = LiveFinding.objects.filter(when | unseen).exclude(sort=FindingSort.DRIFTED).select_related("cluster")
    if period.cluster:
        found = found.filter(cluster__slug=period.cluster)
    return show_findings(access.limit_findings(found, for_user), for_user)


def _page_findings(findings: QuerySet[LiveFinding]) -> Iterator[LiveFinding]:
    found = findings.annotate(moment=Coalesce("changed_at", "first_seen")).order_by("moment", "id")
    page = list(found[:PAGE])
    while page:
        yield from page
        last = page[-1]
        moment = last.changed_at or last.first_seen
        page = list(found.filter(Q(moment__gt=moment) | Q(moment=moment, id__gt=last.pk))[:PAGE])


def read_section(section: EvidenceSection, period: Period, *, for_user: Visitor) -> Iterator[EvidenceFact]:
    """Yield the facts of one section, oldest first, as this person may see them."""
    access.require(for_user, Action.AUDIT)
    match section:
        case EvidenceSection.UNREVIEWED:
            yield from map(_from_finding, _page_findings(_findings(period, for_user)))
        case EvidenceSection.LATE:
            yield from map(_from_late, find_late(period.start, period.end, cluster=period.cluster, for_user=for_user))
        case _:
            each = (by_number(entries) for entries in _entries(section, period, for_user))
            for entry in merge(*each, key=attrgetter("pk")):
                yield _from_entry(section, entry)


def count_section(section: EvidenceSection, period: Period, *, for_user: Visitor) -> int:
    """Return the number of facts of a section, with as few reads as possible."""
    access.require(for_user, Action.AUDIT)
    match section:
        case EvidenceSection.UNREVIEWED:
            return _findings(period, for_user).count()
        case EvidenceSection.LATE:
            return sum(1 for _late in read_section(section, period, for_user=for_user))
        case _:
            entries = _entries(section, period, for_user)
            if section is EvidenceSection.RUNS:  # one run has several entries: started, canceled, finished
                return len({run for found in entries for run in found.values_list("run", flat=True)})
            return sum(found.count() for found in entries)


def read_all(period: Period, *, for_user: Visitor) -> Iterator[EvidenceFact]:
    """Yield the facts of all sections."""
    for section in EvidenceSection:
        yield from read_section(section, period, for_user=for_user)


def _write_csv(facts: Iterator[EvidenceFact]) -> Generator[str, None, None]:
    writer = make_writer()
    yield writer.writerow(EvidenceFact.__slots__)
    for fact in facts:
        yield writer.writerow([tame(value) for value in fact.to_json().values()])


def _write_jsonl(period: Period, facts: Iterator[EvidenceFact]) -> Generator[str, None, None]:
    head = {"evidence": period.since.isoformat(), "until": period.until.isoformat(), "cluster": period.cluster}
    yield canonical_json({**head, "head": str(chain.find_checkpoint())}) + "\n"
    for fact in facts:
        yield canonical_json(fact.to_json()) + "\n"


def export_for(person: Person, period: Period, form: ExportFormat) -> Generator[str, None, None]:
    """Yield the evidence as lines of a file; the export is recorded before the first line."""
    access.require(person, Action.AUDIT)
    told = {"since": period.since.isoformat(), "until": period.until.isoformat(), "cluster": period.cluster}
    trail.record(
        AuditAction.HISTORY_EXPORTED,
        by=person,
        about=trail.AuditSubject(),
        detail={"form": f"evidence.{form.value}", "filter": told},
    )
    facts = read_all(period, for_user=person)
    return _write_csv(facts) if form is ExportFormat.CSV else _write_jsonl(period, facts)
