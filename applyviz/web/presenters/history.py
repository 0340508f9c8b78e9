"""Audit entries: a filtered list, and one entry with everything it holds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from urllib.parse import urlencode

from django.db.models import QuerySet
from django.urls import reverse

from applyviz.records.enums import AuditAction, Outcome
from applyviz.records.models import AuditEntry
from applyviz.web.presenters.operations import Look
from applyviz.web.presenters.plans import Fact
from applyviz.web.presenters.runs import OUTCOME_LOOKS
from applyviz.web.presenters.values import render_yaml
from applyviz.workflow.errors import NotVisibleError

PER_PAGE = 50
_COLUMNS = {
    "cluster": "cluster",
    "namespace": "namespace",
    "kind": "kind",
    "name": "name",
    "person": "actor_name",
    "action": "action",
    "manager": "field_manager",
    "review": "review",
    "run": "run",
    "since": "at__date__gte",
    "until": "at__date__lte",
}
_LOOKS: dict[str, Look] = {
    "approval": Look("✓", "", "add"),
    "run": Look("▸", "", "change"),
    "object": Look("~", "", "change"),
    "review": Look("·", "", "calm"),
    "plan": Look("·", "", "calm"),
    "decision": Look("!", "", "warn"),
    "cluster": Look("·", "", "calm"),
    "comment": Look("·", "", "calm"),
    "person": Look("·", "", "calm"),
}
_LOUD = {AuditAction.PLAN_FAILED, AuditAction.SIGN_IN_FAILED, AuditAction.RUN_CANCELLED, AuditAction.APPROVAL_REVOKED}
_ALARM = Look("!", "", "warn")


@dataclass(frozen=True, slots=True)
class EntryRow:
    """One entry in the list."""

    sequence: int
    url: str
    at: datetime
    look: Look
    who: str
    what: str
    about: str
    object: str
    cluster: str
    links: tuple[Fact, ...]


@dataclass(frozen=True, slots=True)
class HistoryPage:
    """Some entries, newest first, and where older ones are."""

    rows: tuple[EntryRow, ...]
    older_url: str
    is_filtered: bool
    is_first: bool


@dataclass(frozen=True, slots=True)
class EntryPage:
    """One entry with all its columns."""

    row: EntryRow
    facts: tuple[Fact, ...]
    detail: str
    hash: str
    previous_hash: str
    before_url: str
    after_url: str


def _present_links(entry: AuditEntry) -> tuple[Fact, ...]:
    links = []
    if entry.review and entry.plan:
        url = reverse("reviews:show-plan", args=[entry.review, entry.plan])
        links.append(Fact("", f"#{entry.review} · {entry.plan}", url=url))
    elif entry.review:
        links.append(Fact("", f"#{entry.review}", url=reverse("reviews:show-review", args=[entry.review])))
    return tuple(links)


def _describe_object(entry: AuditEntry) -> str:
    if not entry.kind:
        return ""
    where = f"{entry.namespace}/" if entry.namespace else ""
    return f"{entry.kind} {where}{entry.name}"


def _about(entry: AuditEntry) -> str:
    for name in ("title", "reason", "note", "name"):
        text = entry.detail.get(name)
        if isinstance(text, str) and text:
            return text
    return ""


def _name_action(entry: AuditEntry) -> tuple[Look, str]:
    outcome = entry.detail.get("outcome")
    if entry.action == AuditAction.OBJECT_RESULT and outcome in Outcome.values:
        look = OUTCOME_LOOKS[Outcome(outcome)]
        return look, str(look.word)
    area = entry.action.partition(".")[0]
    known = entry.action in AuditAction.values
    look = _ALARM if entry.action in _LOUD else _LOOKS.get(area, _LOOKS["plan"])
    return look, str(AuditAction(entry.action).label) if known else entry.action


def present_entry(entry: AuditEntry) -> EntryRow:
    """One row."""
    look, what = _name_action(entry)
    return EntryRow(
        sequence=entry.sequence,
        url=reverse("history:show-entry", args=[entry.sequence]),
        at=entry.at,
        look=look,
        who=entry.actor_name,
        what=what,
        about=_about(entry),
        object=_describe_object(entry),
        cluster=entry.cluster,
        links=_present_links(entry),
    )


def _filter(entries: QuerySet[AuditEntry], chosen: Mapping[str, Any]) -> QuerySet[AuditEntry]:
    return entries.filter(**{_COLUMNS[name]: value for name, value in chosen.items()})


def present_history(chosen: Mapping[str, Any], *, before: int | None) -> HistoryPage:
    """One page of entries; `before` is a sequence, so that a long history needs no counting."""
    entries = _filter(AuditEntry.objects.order_by("-sequence"), chosen)
    if before is not None:
        entries = entries.filter(sequence__lt=before)
    found = list(entries[: PER_PAGE + 1])
    shown = found[:PER_PAGE]
    older = ""
    if len(found) > PER_PAGE:
        older = "?" + urlencode({**{k: str(v) for k, v in chosen.items()}, "before": shown[-1].sequence})
    return HistoryPage(tuple(present_entry(e) for e in shown), older, bool(chosen), before is None)


def present_entry_page(sequence: int) -> EntryPage:
    """One entry with its neighbours in the chain."""
    near = {e.sequence: e for e in AuditEntry.objects.filter(sequence__range=(sequence - 1, sequence + 1))}
    entry = near.get(sequence)
    if entry is None:
        raise NotVisibleError(f"there is no entry {sequence}")
    named = {"field manager": entry.field_manager, "plan digest": entry.plan_digest, "request id": entry.request_id}
    return EntryPage(
        row=present_entry(entry),
        facts=tuple(Fact(label, text, is_code=True) for label, text in named.items() if text and text != "-"),
        detail=render_yaml(entry.detail) if entry.detail else "",
        hash=entry.hash,
        previous_hash=entry.previous_hash,
        before_url=reverse("history:show-entry", args=[sequence - 1]) if sequence - 1 in near else "",
        after_url=reverse("history:show-entry", args=[sequence + 1]) if sequence + 1 in near else "",
    )
