"""Notification settings: per person and event, in the product and by email."""

from __future__ import annotations

from collections.abc import Mapping

from django.conf import settings
from django.db import transaction
from msgspec import Struct

from applyviz.records.enums import NotificationKind
from applyviz.records.models import NotificationChoice
from applyviz.workflow.foundation import access
from applyviz.workflow.foundation.access import Action, Person

_MAILED = frozenset(
    {
        NotificationKind.NEEDS_YOU,
        NotificationKind.REVIEW_REQUESTED,
        NotificationKind.CHANGES_REQUESTED,
        NotificationKind.APPROVALS_DROPPED,
        NotificationKind.APPROVALS_EXPIRING,
        NotificationKind.RUN_FAILED,
        NotificationKind.RUN_ATTENTION,
        NotificationKind.RUN_STALE,
        NotificationKind.RUN_CANCELED,
        NotificationKind.START_CANCELED,
        NotificationKind.EMERGENCY_APPLIED,
        NotificationKind.FOLLOWING_ATTENTION,
    }
)
# Emergency applies notify everyone concerned, regardless of their settings.
ALWAYS_SHOWN = frozenset({NotificationKind.EMERGENCY_APPLIED})
_OF_PROGRAMS = (NotificationKind.WEBHOOK_TRIED, NotificationKind.CHECKPOINT_PUBLISHED)
CHOSEN: tuple[NotificationKind, ...] = tuple(event for event in NotificationKind if event not in _OF_PROGRAMS)


class NotificationChannels(Struct, frozen=True):
    """Whether a person is notified in the product and by email."""

    is_shown: bool
    is_mailed: bool


def can_mail(person: Person) -> bool:
    """Return whether this installation sends email and the person has an address."""
    return bool(settings.APPLYVIZ_MAIL) and bool(person.email)


def list_choices(person: Person) -> dict[NotificationKind, NotificationChannels]:
    """Return a person's settings, with defaults for events without a choice."""
    rows = {row.event: row for row in NotificationChoice.objects.filter(person=person)}
    found: dict[NotificationKind, NotificationChannels] = {}
    for event in CHOSEN:
        row = rows.get(event.value)
        chosen = (
            NotificationChannels(row.is_shown, row.is_mailed) if row else NotificationChannels(True, event in _MAILED)
        )
        found[event] = NotificationChannels(chosen.is_shown or event in ALWAYS_SHOWN, chosen.is_mailed)
    return found


def find_channels(person: Person, event: NotificationKind) -> NotificationChannels:
    """Return how one person is notified of one event."""
    chosen = list_choices(person).get(event, NotificationChannels(False, False))
    return NotificationChannels(chosen.is_shown, chosen.is_mailed and can_mail(person))


def choose(choices: Mapping[NotificationKind, NotificationChannels], *, by: Person) -> None:
    """Save a person's own notification settings."""
    access.require(by, Action.VIEW)
    with transaction.atomic():
        for event, channels in choices.items():
            NotificationChoice.objects.update_or_create(
                person=by, event=event.value, defaults={"is_shown": channels.is_shown, "is_mailed": channels.is_mailed}
            )
