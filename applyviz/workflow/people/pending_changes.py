"""Changes of rights that wait for a second administrator: requested, listed, declined, or expired after a week."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta

from django.db import transaction
from django.utils.translation import gettext as _

from applyviz import clock
from applyviz.engine.objects.accessors import map_or_empty
from applyviz.engine.objects.values import JSONValue
from applyviz.records.enums import AuditAction
from applyviz.records.models import PendingChange
from applyviz.records.pending_enums import PendingKind, PendingState
from applyviz.workflow.audit import trail
from applyviz.workflow.audit.entries import list_entries
from applyviz.workflow.foundation import access, row_macs
from applyviz.workflow.foundation.access import Action, Person, Visitor
from applyviz.workflow.foundation.errors import NotPossibleError, NotVisibleError

LASTS = timedelta(days=7)


def ask(
    kind: PendingKind,
    *,
    by: Person,
    given: Mapping[str, JSONValue],
    summary: Mapping[str, JSONValue],
    actor: Person | None = None,
) -> PendingChange:
    """Store a change until a second administrator confirms it; nothing takes effect before.

    - `actor`: who caused it, if that is not the administrator who may not confirm it.
    """
    now = clock.now()
    with transaction.atomic():
        same = PendingChange.objects.filter(kind=kind, state=PendingState.WAITING, expires_at__gt=now, asked_by=by)
        if any(one.given == given for one in same):
            raise NotPossibleError(_("this is already waiting for a second administrator"))
        made = PendingChange(
            kind=kind, given=dict(given), summary=dict(summary), asked_by=by, asked_at=now, expires_at=now + LASTS
        )
        row_macs.vouch(made)
        made.save()
        detail = {"request": made.pk, "what": kind.value, **summary}
        trail.record(AuditAction.SECOND_ASKED, by=actor or by, about=trail.AuditSubject(), detail=detail)
    return made


def list_waiting(*, for_user: Visitor) -> list[PendingChange]:
    """Return the changes that wait for a second administrator; for administrators and auditors."""
    access.require(for_user, Action.VIEW_ACCOUNTS)
    return read_waiting()


def read_waiting() -> list[PendingChange]:
    """Return the waiting changes, for a command on the server.

    - One that this installation did not store, or that the audit log records as declined, does not count.
    """
    found = PendingChange.objects.filter(state=PendingState.WAITING, expires_at__gt=clock.now())
    waiting = row_macs.keep_genuine(found.select_related("asked_by"))
    if not waiting:
        return []
    since = min(one.asked_at for one in waiting) - LASTS
    entries = list_entries(AuditAction.SECOND_DECLINED).filter(at__gte=since)
    declined = {map_or_empty(detail).get("request") for detail in entries.values_list("detail", flat=True)}
    return [one for one in waiting if one.pk not in declined]


def list_waiting_of(name: str, value: JSONValue, *, for_user: Visitor) -> list[PendingChange]:
    """Return the waiting changes whose input has a value, such as an account; none for who may not view accounts."""
    if not access.can(for_user, Action.VIEW_ACCOUNTS):
        return []
    return [row for row in read_waiting() if _names(row.given, name, value)]


def _names(given: Mapping[str, JSONValue], name: str, value: JSONValue) -> bool:
    people = given.get("people") if name == "person" else None
    return given.get(name) == value or (isinstance(people, list) and value in people)


def get_waiting(number: int) -> PendingChange:
    """Return one waiting change; raises `NotVisibleError`."""
    found = next((one for one in read_waiting() if one.pk == number), None)
    if found is None:
        raise NotVisibleError(_("no change with this number is waiting for confirmation"))
    return found


def answer(change: PendingChange, state: PendingState, *, by: Person | None) -> None:
    """Answer a change in the caller's transaction; raises `NotPossibleError` when it was already answered."""
    if state is PendingState.CONFIRMED and row_macs.find_fault(change):
        raise NotPossibleError(_("this change was not requested in this installation; decline it"))
    now = clock.now()
    waiting = PendingChange.objects.filter(pk=change.pk, state=PendingState.WAITING, expires_at__gt=now)
    if not waiting.update(state=state, answered_by=by, answered_at=now):
        raise NotPossibleError(_("this change was already confirmed or declined, or it has expired"))


def _take_claim_back(pk: int) -> None:
    """Let an account be claimed again, by another link: whoever set its password does not get in."""
    person = Person.objects.get(pk=pk)
    person.set_unusable_password()
    person.is_active = True
    person.save(update_fields=["password", "is_active"])


def decline(change: PendingChange, *, by: Person) -> None:
    """Decline a change that another administrator requested, or withdraw one's own."""
    access.require(by, Action.MANAGE)
    with transaction.atomic():
        answer(change, PendingState.DECLINED, by=by)
        if change.kind == PendingKind.CLAIM:
            _take_claim_back(change.given["person"])
        detail = {"request": change.pk, "asked by": change.asked_by.get_username(), **change.summary}
        trail.record(AuditAction.SECOND_DECLINED, by=by, about=trail.AuditSubject(), detail=detail)
