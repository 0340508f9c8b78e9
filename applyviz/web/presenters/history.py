"""Audit entries: a filtered list, and one entry with everything it holds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from urllib.parse import urlencode

from django.urls import reverse
from django.utils.translation import gettext as _

from applyviz.records.enums import AuditAction, Outcome
from applyviz.records.models import AuditEntry
from applyviz.web.presenters.objectlinks import link_object
from applyviz.web.presenters.operations import Look
from applyviz.web.presenters.plans import Fact
from applyviz.web.presenters.runs import OUTCOME_LOOKS
from applyviz.web.presenters.values import render_yaml
from applyviz.workflow.errors import NotVisibleError
from applyviz.workflow.history import find_entries, find_window

PER_PAGE = 50
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
    who_url: str
    about: str
    object: str
    object_url: str
    cluster: str
    cluster_url: str
    manager: str
    manager_url: str
    links: tuple[Fact, ...]


@dataclass(frozen=True, slots=True)
class HistoryPage:
    """Some entries, newest first, and where older ones are; a search for a text looks back only so far at once."""

    rows: tuple[EntryRow, ...]
    older_url: str
    looked_back_to: int | None
    query: str
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


def _address(chosen: Mapping[str, Any], **more: object) -> str:
    """The filter as the query of an address."""
    return "?" + urlencode({name: str(value) for name, value in {**chosen, **more}.items()})


def _present_links(entry: AuditEntry) -> tuple[Fact, ...]:
    links = []
    if entry.review and entry.plan:
        url = reverse("reviews:show-plan", args=[entry.review, entry.plan])
        links.append(Fact("", f"#{entry.review} · {entry.plan}", url=url))
    elif entry.review:
        links.append(Fact("", f"#{entry.review}", url=reverse("reviews:show-review", args=[entry.review])))
    if entry.run:
        text = _("run %(number)d") % {"number": entry.run}
        links.append(Fact("", text, url=reverse("runs:show-run", args=[entry.run])))
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
    newest = reverse("history:list-entries")
    return EntryRow(
        sequence=entry.sequence,
        url=reverse("history:show-entry", args=[entry.sequence]),
        at=entry.at,
        look=look,
        who=entry.actor_name,
        what=what,
        about=_about(entry),
        who_url=newest + _address({"person": entry.actor_name}),
        object=_describe_object(entry),
        object_url=link_object(entry.cluster, entry.group, entry.kind, entry.namespace, entry.name),
        cluster=entry.cluster,
        cluster_url=newest + _address({"cluster": entry.cluster}),
        manager=entry.field_manager,
        manager_url=newest + _address({"manager": entry.field_manager}),
        links=_present_links(entry),
    )


def present_history(chosen: Mapping[str, Any], *, before: int | None) -> HistoryPage:
    """One page of entries; `before` is a sequence, so that a long history needs no counting."""
    floor = find_window(chosen, before)
    entries = find_entries(chosen)
    if before is not None:
        entries = entries.filter(sequence__lt=before)
    if floor is not None:
        entries = entries.filter(sequence__gte=floor)
    found = list(entries[: PER_PAGE + 1])
    shown, is_cut = found[:PER_PAGE], floor is not None and floor > 1 and len(found) <= PER_PAGE
    older = _address(chosen, before=shown[-1].sequence) if len(found) > PER_PAGE else ""
    return HistoryPage(
        rows=tuple(present_entry(entry) for entry in shown),
        older_url=_address(chosen, before=floor) if is_cut else older,
        looked_back_to=floor if is_cut else None,
        query=_address(chosen),
        is_filtered=bool(chosen),
        is_first=before is None,
    )


def present_entry_page(sequence: int) -> EntryPage:
    """One entry with its neighbours in the chain."""
    near = {e.sequence: e for e in AuditEntry.objects.filter(sequence__gte=sequence - 1, sequence__lte=sequence + 1)}
    entry = near.get(sequence)
    if entry is None:
        raise NotVisibleError(f"there is no entry {sequence}")
    row = present_entry(entry)
    named = {"plan digest": entry.plan_digest, "request id": entry.request_id}
    return EntryPage(
        row=row,
        facts=tuple(Fact(label, text, is_code=True) for label, text in named.items() if text and text != "-"),
        detail=render_yaml(entry.detail) if entry.detail else "",
        hash=entry.hash,
        previous_hash=entry.previous_hash,
        before_url=reverse("history:show-entry", args=[sequence - 1]) if sequence - 1 in near else "",
        after_url=reverse("history:show-entry", args=[sequence + 1]) if sequence + 1 in near else "",
    )
