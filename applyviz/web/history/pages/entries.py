"""Read models of audit entries: a filtered list, and one entry with all details."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from urllib.parse import urlencode

from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from msgspec import Struct

from applyviz import audit_origin
from applyviz.engine.planning.model.plan import Operation
from applyviz.records.enums import AuditAction, Outcome
from applyviz.records.full_text import split_words
from applyviz.records.models import ApplyRun, AuditEntry, Plan
from applyviz.web.components.badges import Appearance
from applyviz.web.components.notices import PlanFact
from applyviz.web.components.object_links import link_object
from applyviz.web.components.readable_yaml import render_yaml
from applyviz.web.history.pages.daily_activity import DailyActivity, present_days
from applyviz.web.runs.pages.results import OUTCOME_STYLES
from applyviz.workflow.audit.entries import name_action
from applyviz.workflow.audit.trail import SYSTEM
from applyviz.workflow.evidence.history import ChangedField, find_page, list_changes
from applyviz.workflow.evidence.name_filters import HistoryFilter, widen_names
from applyviz.workflow.foundation import access
from applyviz.workflow.foundation.access import Visitor
from applyviz.workflow.foundation.errors import NotVisibleError
from applyviz.workflow.plans.live_history import NOT_SHOWN, show_entries
from applyviz.workflow.plans.live_values import WITHHELD

PER_PAGE = 50
_STYLES: dict[str, Appearance] = {
    "approval": Appearance("✓", "", "add"),
    "run": Appearance("▸", "", "change"),
    "object": Appearance("~", "", "change"),
    "review": Appearance("·", "", "calm"),
    "plan": Appearance("·", "", "calm"),
    "decision": Appearance("!", "", "warn"),
    "cluster": Appearance("·", "", "calm"),
    "comment": Appearance("·", "", "calm"),
    "person": Appearance("·", "", "calm"),
    "live": Appearance("!", "", "warn"),
}
_LOUD = {AuditAction.PLAN_FAILED, AuditAction.SIGN_IN_FAILED, AuditAction.RUN_CANCELED, AuditAction.APPROVAL_REVOKED}
_ALARM = Appearance("!", "", "warn")


class TimelineRow(Struct, frozen=True, kw_only=True):
    """One line of a history.

    - `who` is the person who acted; `process` names the product where its worker executed the act.
    """

    at: datetime
    style: Appearance
    what: str
    about: str
    who: str
    who_url: str
    manager: str = ""
    manager_url: str = ""
    links: tuple[PlanFact, ...]
    process: str = ""
    process_url: str = ""


class EntryRow(TimelineRow, frozen=True, kw_only=True):
    """One entry of the audit log."""

    number: int
    url: str
    object: str
    object_url: str
    cluster: str
    cluster_url: str


class HistoryPage(Struct, frozen=True):
    """Some entries, newest first, and the position of older ones; `days`: the chart of activity, on the first page."""

    rows: tuple[EntryRow, ...]
    older_url: str
    query: str
    is_filtered: bool
    is_first: bool
    days: DailyActivity | None = None


class EntryPage(Struct, frozen=True):
    """One entry with all its columns."""

    row: EntryRow
    facts: tuple[PlanFact, ...]
    changes: tuple[ChangedField, ...]
    detail: str
    hash: str
    previous_hash: str
    before_url: str
    after_url: str
    pruned: EntryRow | None
    pruned_policy: str


def _address(chosen: HistoryFilter, **more: object) -> str:
    """Return the filter as the query of an address."""
    return "?" + urlencode({name: str(value) for name, value in {**chosen, **more}.items()})


def present_links(review: int | None, plan: int | None, run: int | None) -> tuple[PlanFact, ...]:
    """Return the links to the plan of an entry, or else to its review, and to its run."""
    links = []
    if review and plan:
        links.append(PlanFact("", f"#{review} · {plan}", url=reverse("reviews:show-plan", args=[review, plan])))
    elif review:
        links.append(PlanFact("", f"#{review}", url=reverse("reviews:show-review", args=[review])))
    if run:
        text = _("run %(number)d") % {"number": run}
        links.append(PlanFact("", text, url=reverse("runs:show-run", args=[run])))
    return tuple(links)


def _describe_object(entry: AuditEntry) -> str:
    if not entry.kind:
        return ""
    where = f"{entry.namespace}/" if entry.namespace else ""
    return f"{entry.kind} {where}{entry.name}"


def _has_words(path: str, wanted: str) -> bool:
    """Return whether a path contains the words of a filter, in their order."""
    at, text = 0, path.casefold()
    for word in split_words(wanted):
        at = text.find(word, at)
        if at < 0:
            return False
        at += len(word)
    return True


def _describe_changes(entry: AuditEntry, wanted: str) -> str:
    """Name the first field that a write changed and that the filter names, and how many more."""
    changed = sorted(list_changes(entry.action, entry.detail), key=lambda one: not _has_words(one.path, wanted))
    if not changed:
        return ""
    nothing = _("nothing")
    first = f"{changed[0].path.lstrip('.')}: {changed[0].before or nothing} → {changed[0].after or nothing}"
    left, more = len(changed) - 1, entry.detail.get("more")
    left += more if isinstance(more, int) else 0
    facts = {"first": first, "n": left}
    return ngettext("%(first)s, +%(n)d field", "%(first)s, +%(n)d fields", left) % facts if left else first


def _describe_reviewers(entry: AuditEntry) -> str:
    """Return who was asked for a review, and whose request was withdrawn."""
    asked, withdrawn = (entry.detail.get(name) for name in ("requested", "withdrawn"))
    named = [(_("requested %(names)s"), asked), (_("withdrew %(names)s"), withdrawn)]
    return "; ".join(text % {"names": ", ".join(names)} for text, names in named if names)


def _about(entry: AuditEntry, wanted: str) -> str:
    if changed := _describe_changes(entry, wanted):
        return changed
    if entry.action == AuditAction.REVIEWERS_CHANGED:
        return _describe_reviewers(entry)
    for name in ("title", "reason", "note", "name"):
        text = entry.detail.get(name)
        if isinstance(text, str) and text:
            return text
    return ""


_WRITTEN = (Outcome.VERIFIED, Outcome.DIFFERS)


def _name_action(entry: AuditEntry) -> tuple[Appearance, str]:
    if entry.detail == NOT_SHOWN:
        return OUTCOME_STYLES[WITHHELD], _("processed an object; the result is not shown to you")
    outcome = entry.detail.get("outcome")
    if entry.action == AuditAction.OBJECT_RESULT and outcome in Outcome.values:
        style = OUTCOME_STYLES[outcome]
        is_replaced = outcome in _WRITTEN and entry.detail.get("operation") == Operation.REPLACE
        return style, _("deleted and re-created") if is_replaced else str(style.word)
    area = entry.action.partition(".")[0]
    style = _ALARM if entry.action in _LOUD else _STYLES.get(area, _STYLES["plan"])
    return style, name_action(entry.action)


Starters = Mapping[tuple[int | None, int | None, int | None], str]


def _name_cause(entry: AuditEntry) -> tuple[int | None, int | None, int | None]:
    """Return the run, else the plan of a review, that made a worker act."""
    return (entry.run, None, None) if entry.run else (None, entry.review, entry.plan)


def find_starters(entries: Iterable[AuditEntry]) -> Starters:
    """Return who requested the runs and plans of worker entries that name no person."""
    causes = {_name_cause(entry) for entry in entries if entry.actor_name == SYSTEM}
    runs = ApplyRun.objects.filter(number__in={run for run, _review, _plan in causes if run})
    found: dict[tuple[int | None, int | None, int | None], str] = {
        (number, None, None): name for number, name in runs.values_list("number", "requested_by__username")
    }
    reviews = {review for run, review, plan in causes if not run and review and plan}
    plans = Plan.objects.filter(review__number__in=reviews) if reviews else Plan.objects.none()
    for review, plan, name in plans.values_list("review__number", "number", "requested_by__username"):
        found[None, review, plan] = name
    return found


def present_entry(entry: AuditEntry, starters: Starters | None = None, *, field: str = "") -> EntryRow:
    """Return one row; of the fields that a write changed it names the one that the filter names (`field`)."""
    style, what = _name_action(entry)
    cause = starters.get(_name_cause(entry), "") if starters and entry.actor_name == SYSTEM else ""
    who = cause or entry.actor_name
    return EntryRow(
        number=entry.pk,
        url=reverse("history:show-entry", args=[entry.pk]),
        at=entry.at,
        style=style,
        who=who,
        process=entry.actor_name if cause else "",
        process_url=reverse("history:show-person", args=[entry.actor_name]) if cause else "",
        what=what,
        about=_about(entry, field),
        who_url=reverse("history:show-person", args=[who]),
        object=_describe_object(entry),
        object_url=link_object(entry.cluster, entry.group, entry.kind, entry.namespace, entry.name),
        cluster=entry.cluster,
        cluster_url=reverse("history:show-cluster", args=[entry.cluster]) if entry.cluster else "",
        manager=entry.field_manager,
        manager_url=reverse("history:show-manager", args=[entry.field_manager]) if entry.field_manager else "",
        links=present_links(entry.review, entry.plan, entry.run),
    )


def present_history(
    chosen: HistoryFilter, *, before: int | None, for_user: Visitor | None = None, is_exact: bool = False
) -> HistoryPage:
    """Return one page of entries; `before` is a number, so that a long history needs no counting.

    - `is_exact`: the names are those of the page's subject, not what a person typed.
    """
    wanted = chosen if is_exact else widen_names(chosen)
    found = find_page(wanted, before=before, count=PER_PAGE + 1, for_user=for_user)
    shown = found[:PER_PAGE]
    starters = find_starters(shown)
    return HistoryPage(
        rows=tuple(present_entry(entry, starters, field=chosen.get("field", "")) for entry in shown),
        older_url=_address(chosen, before=shown[-1].pk) if len(found) > PER_PAGE else "",
        query=_address(chosen),
        is_filtered=bool(chosen),
        is_first=before is None,
        days=present_days(wanted, chosen, for_user=for_user) if before is None else None,
    )


def _present_origin(entry: AuditEntry) -> str:
    kinds = {
        audit_origin.WEB: _("browser session"),
        audit_origin.TOKEN: _("API token"),
        audit_origin.WORKER: _("worker"),
        audit_origin.COMMAND: _("server command"),
    }
    where = [str(kinds.get(entry.session, entry.session)), entry.address, entry.agent]
    return " · ".join(filter(None, where))


def _present_chain(entry: AuditEntry) -> str:
    if entry.chain:
        return _("entry %(entry)d in the chain of run %(run)d") % {"entry": entry.sequence, "run": entry.chain}
    return _("entry %(entry)d in the global chain") % {"entry": entry.sequence}


def present_entry_page(number: int, *, for_user: Visitor) -> EntryPage:
    """Return one entry with its neighbors in its chain; raises `NotVisibleError` for a hidden one."""
    entry = access.visible_entries(AuditEntry.objects.filter(pk=number), for_user).first()
    shown = [] if entry is None else show_entries([entry], for_user, can_ask=True)
    if not shown:
        raise NotVisibleError(f"there is no entry {number}")
    (entry,) = shown
    chained = AuditEntry.objects.filter(chain=entry.chain, sequence__in=[entry.sequence - 1, entry.sequence + 1])
    near = {
        sequence: reverse("history:show-entry", args=[pk]) for sequence, pk in chained.values_list("sequence", "pk")
    }
    pruned = AuditEntry.objects.filter(chain=0, sequence=entry.pruned_by).first() if entry.pruned_by else None
    facts = (
        PlanFact(_("Roles at the time"), entry.roles.replace(" ", ", ")),
        PlanFact(_("From"), _present_origin(entry)),
        PlanFact(_("Plan digest"), entry.plan_digest, is_code=True),
        PlanFact(_("Request"), entry.request_id if entry.request_id != "-" else "", is_code=True),
        PlanFact(_("Chain position"), _present_chain(entry)),
        PlanFact(_("Hash of the details"), entry.detail_hash, is_code=True),
    )
    return EntryPage(
        row=present_entry(entry, find_starters([entry])),
        facts=tuple(fact for fact in facts if fact.text),
        changes=list_changes(entry.action, entry.detail),
        detail=render_yaml(entry.detail) if entry.detail else "",
        hash=entry.hash,
        previous_hash=entry.previous_hash,
        before_url=near.get(entry.sequence - 1, ""),
        after_url=near.get(entry.sequence + 1, ""),
        pruned=present_entry(pruned) if pruned else None,
        pruned_policy=str(pruned.detail.get("policy", "")) if pruned else "",
    )
