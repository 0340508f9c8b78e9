"""Notification settings: per person and event, in the product and by email."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from django.conf import settings
from django.db import transaction

from applyviz.records.enums import Event
from applyviz.records.models import NotificationChoice
from applyviz.workflow.foundation import access
from applyviz.workflow.foundation.access import Action, Person

_MAILED = frozenset(
    {
        Event.NEEDS_YOU,
        Event.CHANGES_REQUESTED,
        Event.APPROVALS_DROPPED,
        Event.APPROVALS_EXPIRING,
        Event.RUN_FAILED,
        Event.RUN_ATTENTION,
        Event.RUN_STALE,
        Event.GLASS_BROKEN,
    }
)
# Emergency applies notify everyone concerned, regardless of their settings.
ALWAYS_SHOWN = frozenset({Event.GLASS_BROKEN})
_OF_PROGRAMS = (Event.WEBHOOK_TRIED, Event.HEAD_PUBLISHED)
CHOSEN: tuple[Event, ...] = tuple(event for event in Event if event not in _OF_PROGRAMS)


@dataclass(frozen=True, slots=True)
class Ways:
    """Whether a person is notified in the product and by email."""

    is_shown: bool
    is_mailed: bool


def can_mail(person: Person) -> bool:
    """Whether this installation sends mail and knows where to."""
    return bool(settings.APPLYVIZ_MAIL) and bool(person.email)


def list_choices(person: Person) -> dict[Event, Ways]:
    """Return a person's settings, with defaults for events without a choice."""
    rows = {row.event: row for row in NotificationChoice.objects.filter(person=person)}
    found: dict[Event, Ways] = {}
    for event in CHOSEN:
        row = rows.get(event.value)
        chosen = Ways(row.is_shown, row.is_mailed) if row else Ways(True, event in _MAILED)
        found[event] = Ways(chosen.is_shown or event in ALWAYS_SHOWN, chosen.is_mailed)
    return found


def find_ways(person: Person, event: Event) -> Ways:
    """Return how one person is notified of one event."""
    chosen = list_choices(person).get(event, Ways(False, False))
    return Ways(chosen.is_shown, chosen.is_mailed and can_mail(person))


def choose(choices: Mapping[Event, Ways], *, by: Person) -> None:
    """Keep what a person chose for themselves."""
    access.require(by, Action.LOOK)
    with transaction.atomic():
        for event, ways in choices.items():
            NotificationChoice.objects.update_or_create(
                person=by, event=event.value, defaults={"is_shown": ways.is_shown, "is_mailed": ways.is_mailed}
            )
