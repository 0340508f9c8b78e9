"""The notifications of one person; visible to that person only, and as long as their review is."""

from __future__ import annotations

from django.db.models import Exists, IntegerField, OuterRef, Q, QuerySet
from django.db.models.fields.json import KT
from django.db.models.functions import Cast

from applyviz import clock
from applyviz.records.models import Notification, NotificationEvent, Review
from applyviz.workflow.foundation import access
from applyviz.workflow.foundation.access import Action, Person
from applyviz.workflow.foundation.visible_rows import get_visible

_KEPT_UNREAD = 99


def list_visible(person: Person) -> QuerySet[Notification]:
    """Return the notifications of a person about reviews that they may see now, and about no review."""
    found, visible = Notification.objects.filter(person=person), access.select_reviews(person)
    if not visible:  # they see every review
        return found
    reviews = Review.objects.filter(visible).values("number")
    about = NotificationEvent.objects.alias(of_review=Cast(KT("facts__review__number"), IntegerField()))
    seen = about.filter(Q(of_review=None) | Q(of_review__in=reviews), pk=OuterRef("notification_event"))
    return found.filter(Exists(seen))


def list_notifications(*, for_user: Person) -> QuerySet[Notification]:
    """Return a person's notifications in the product, newest first."""
    access.require(for_user, Action.VIEW)
    return list_visible(for_user).filter(is_shown=True).select_related("notification_event")


def count_unread(*, for_user: Person) -> int:
    """Return the number of unread notifications, at most one more than pages show."""
    unread = list_notifications(for_user=for_user).filter(read_at=None).order_by()
    return unread[: _KEPT_UNREAD + 1].count()


def read_one(number: int, *, by: Person) -> Notification:
    """Mark one of the person's own notifications as read."""
    found = get_visible(list_notifications(for_user=by), "there is no such notification", pk=number)
    Notification.objects.filter(pk=found.pk, read_at=None).update(read_at=clock.host_now())
    return found


def read_all(*, by: Person, up_to: int) -> int:
    """Mark everything as read that a page showed, but no notification that came later."""
    access.require(by, Action.VIEW)
    return Notification.objects.filter(person=by, pk__lte=up_to, read_at=None).update(read_at=clock.host_now())
