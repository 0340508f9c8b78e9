"""Evidence for a period: reviews, approvals with the roles at the time, runs, exceptions, and unreviewed changes.

All facts come from audit entries with the roles of that time, with two exceptions: scans find unreviewed changes, and
runs outside change windows are calculated from the policy versions of that time. Sections are read lazily and by
pages, so that an export of a year is never in memory and keeps no cursor open for a slow reader.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Mapping
from datetime import date, datetime, timedelta
from enum import StrEnum
from heapq import merge
from itertools import islice
from operator import attrgetter

from django.db.models import Q, QuerySet
from django.db.models.functions import Coalesce
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _
from msgspec import Struct
from msgspec.structs import asdict

from applyviz import clock
from applyviz.engine.objects.structs import replace
from applyviz.engine.objects.values import JSONValue, canonical_json
from applyviz.records.enums import AuditAction, FindingSort
from applyviz.records.models import ApplyRun, AuditEntry, LiveFinding
from applyviz.workflow.audit import chain, trail
from applyviz.workflow.evidence.history import (
    ChangedField,
    ExportFormat,
    describe_changes,
    find_between,
    list_changes,
    make_writer,
    tame,
)
from applyviz.workflow.evidence.windows import LateRun, find_late
from applyviz.workflow.foundation import access, sentences
from applyviz.workflow.foundation.access import Action, Person, Visitor
from applyviz.workflow.foundation.errors import NotValidError
from applyviz.workflow.foundation.paging import PAGE, by_number
from applyviz.workflow.plans.live_history import NOT_SHOWN, show_entries, show_findings
from applyviz.workflow.plans.live_values import WITHHELD


class EvidenceSection(StrEnum):
    """The sections of the evidence, in order."""

    REVIEWS = "reviews"
    APPROVALS = "approvals"
    RUNS = "runs"
    CHANGED_OBJECTS = "changed-objects"
    EMERGENCY_APPLIES = "broken-glass"
    LATE = "late-runs"
    POLICIES = "policy-edits"
    RIGHTS = "rights"
    UNREVIEWED = "unexplained"


TITLES: dict[EvidenceSection, str | Promise] = {
    EvidenceSection.REVIEWS: _("Reviews"),
    EvidenceSection.APPROVALS: _("Approvals (with role at the time)"),
    EvidenceSection.RUNS: _("Apply runs"),
    EvidenceSection.CHANGED_OBJECTS: _("Changed objects, with their fields from → to"),
    EvidenceSection.EMERGENCY_APPLIES: _("Emergency applies"),
    EvidenceSection.LATE: _("Runs outside change windows"),
    EvidenceSection.POLICIES: _("Changes to policies, rules and retention"),
    EvidenceSection.RIGHTS: _("Changes to accounts, teams, grants, identities, tokens, keys and clusters"),
    EvidenceSection.UNREVIEWED: _("Changes outside applyviz"),
}
ACTIONS: dict[EvidenceSection, tuple[AuditAction, ...]] = {
    EvidenceSection.REVIEWS: (*(AuditAction.REVIEW_CREATED, AuditAction.REVIEW_CLOSED, AuditAction.REVIEWERS_CHANGED),),
    EvidenceSection.APPROVALS: (
        *(AuditAction.APPROVAL_GIVEN, AuditAction.APPROVAL_REVOKED),
        *(AuditAction.CHANGES_REQUESTED, AuditAction.REQUEST_WITHDRAWN, AuditAction.APPROVALS_CHECKED),
    ),
    EvidenceSection.RUNS: (
        *(AuditAction.START_SCHEDULED, AuditAction.START_CANCELED),
        *(AuditAction.RUN_STARTED, AuditAction.RUN_RETRIED, AuditAction.RUN_CANCELED, AuditAction.RUN_FINISHED),
    ),
    EvidenceSection.CHANGED_OBJECTS: (AuditAction.OBJECT_RESULT,),
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
        *(
            AuditAction.TOKEN_MADE,
            AuditAction.TOKEN_REVOKED,
            AuditAction.KEYS_ROTATED,
            AuditAction.ROWS_RE_SIGNED,
            AuditAction.BACKUP_RESTORED,
            AuditAction.WEBHOOK_CHANGED,
        ),
        *(AuditAction.REPOSITORY_CHANGED, AuditAction.COMMIT_IDENTITY_CHANGED),
        *(AuditAction.FOLLOWING_STARTED, AuditAction.FOLLOWING_ENDED),
    ),
}
_SUMMARIZED = (
    "title",
    "ticket",
    "note",
    "reason",
    "missing",
    "approved by",
    "attempt",
    "addon attempt",
    "objects",
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
    "outcomes",
    "owners",
)
EXCEPTIONS = (
    EvidenceSection.EMERGENCY_APPLIES,
    EvidenceSection.LATE,
    EvidenceSection.POLICIES,
    EvidenceSection.UNREVIEWED,
)


class Period(Struct, frozen=True):
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
        return clock.find_start(self.since)

    @property
    def end(self) -> datetime:
        """Return the moment after its last."""
        return clock.find_start(self.until + timedelta(days=1))


class EvidenceFact(Struct, frozen=True):
    """One line of evidence; `number` is that of the audit entry, None for findings of scans.

    - `owners`: whether the field owners of an object are verified, a slug of `OwnerCheck`; "" for other facts, and for
      a Secret whose results the reader may not see.
    - `changes`: the fields that a write changed (path, before, after; masked); `summary` is all of them in one line.
    """

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
    summary: str = ""
    owners: str = ""
    number: int | None = None
    changes: tuple[ChangedField, ...] = ()

    def to_json(self) -> dict[str, JSONValue]:
        """Return the fact for exports."""
        values = {name: getattr(self, name) for name in EvidenceFact.__struct_fields__}
        changes = [asdict(one) for one in self.changes]
        return {**values, "section": self.section.value, "at": self.at.isoformat(), "changes": changes}

    def to_row(self) -> list[JSONValue]:
        """Return the fact as cells of a table, where `summary` stands for its changes."""
        return [value for name, value in self.to_json().items() if name != "changes"]


def _render_value(value: JSONValue) -> str:
    if isinstance(value, list):
        return ", ".join(str(one) for one in value)
    return str(value)


def _render_fact(name: str, value: JSONValue) -> str:
    if name == "owners" and isinstance(value, Mapping):
        return _render_owners(value)
    if name == "outcomes" and isinstance(value, Mapping):
        return ", ".join(f"{number} {outcome}" for outcome, number in value.items())
    return _render_value(value)


def _render_owners(owners: Mapping[str, JSONValue]) -> str:
    """Return what comparing the field owners found: of one object with its owners, of a run with numbers of objects."""
    if "state" not in owners:
        return ", ".join(f"{number} {state}" for state, number in owners.items())
    fields = owners.get("fields")
    each = [f"{owner} {number}" for owner, number in fields.items()] if isinstance(fields, Mapping) else []
    return f"{owners['state']} ({', '.join(each)})" if each else str(owners["state"])


def _from_entry(section: EvidenceSection, entry: AuditEntry) -> EvidenceFact:
    parts = [f"{name}: {_render_fact(name, entry.detail[name])}" for name in _SUMMARIZED if entry.detail.get(name)]
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
        summary="; ".join(parts) if entry.pruned_by is None else "(the body was removed by a retention policy)",
        number=entry.pk,
    )


def _from_write(entry: AuditEntry, who: str) -> EvidenceFact:
    """Return a write under the name of the person who started the run."""
    fact = _from_entry(EvidenceSection.CHANGED_OBJECTS, entry)
    outcome = WITHHELD if entry.detail == NOT_SHOWN else str(entry.detail.get("outcome") or entry.action)
    owners, changed = entry.detail.get("owners"), describe_changes(entry.action, entry.detail)
    state = str(owners.get("state", "")) if isinstance(owners, Mapping) else ""
    summary = (
        "; ".join((changed, f"owners: {_render_owners(owners)}")) if changed and state else changed or fact.summary
    )
    changes = list_changes(entry.action, entry.detail)
    return replace(fact, who=who, what=outcome, summary=summary, owners=state, changes=changes)


def _read_writes(period: Period, for_user: Visitor) -> Iterator[EvidenceFact]:
    """Yield what runs did to each object, oldest first; nothing of Secrets that are hidden from the reader."""
    (entries,) = _entries(EvidenceSection.CHANGED_OBJECTS, period, for_user)
    found = by_number(entries)
    while page := list(islice(found, PAGE)):
        runs = ApplyRun.objects.filter(number__in={entry.run for entry in page if entry.run})
        starters = dict(runs.values_list("number", "requested_by__username"))
        for entry in show_entries(page, for_user):
            yield _from_write(entry, starters.get(entry.run or 0, entry.actor_name))


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
        summary=" ".join(shown),
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
        summary=sentences.join_clauses(late.closed),
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
        case EvidenceSection.CHANGED_OBJECTS:
            yield from _read_writes(period, for_user)
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
    yield writer.writerow([name for name in EvidenceFact.__struct_fields__ if name != "changes"])
    for fact in facts:
        yield writer.writerow([tame(value) for value in fact.to_row()])


def _write_jsonl(period: Period, facts: Iterator[EvidenceFact]) -> Generator[str, None, None]:
    head = {"evidence": period.since.isoformat(), "until": period.until.isoformat(), "cluster": period.cluster}
    yield canonical_json({**head, "head": str(chain.find_checkpoint())}) + "\n"
    for fact in facts:
        yield canonical_json(fact.to_json()) + "\n"


def export_for(person: Person, period: Period, form: ExportFormat) -> Generator[str, None, None]:
    """Yield the evidence as lines of a file; the export is recorded before the first line."""
    access.require(person, Action.AUDIT)
    filters = {"since": period.since.isoformat(), "until": period.until.isoformat(), "cluster": period.cluster}
    trail.record(
        AuditAction.HISTORY_EXPORTED,
        by=person,
        about=trail.AuditSubject(),
        detail={"form": f"evidence.{form.value}", "filter": filters},
    )
    facts = read_all(period, for_user=person)
    return _write_csv(facts) if form is ExportFormat.CSV else _write_jsonl(period, facts)
