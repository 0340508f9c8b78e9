"""The signed-in sessions of a person: listed for them, and ended by them.

Rule: a session is stored under the keyed hash of its key, the cookie; the rows of the database open no session.
"""

from __future__ import annotations

from datetime import datetime, timedelta

from django.contrib.sessions.models import Session
from django.db import transaction

from applyviz import clock
from applyviz.records.enums import AuditAction
from applyviz.records.keyed_hashes import hash_token
from applyviz.records.models import OpenSession
from applyviz.workflow.audit import trail
from applyviz.workflow.foundation.access import Person

KEPT = timedelta(days=30)
_NAME_LENGTH = 40  # that of Django's column


def name_row(session: str) -> str:
    """Return what a session is stored under."""
    return hash_token(session, purpose="sessions")[:_NAME_LENGTH]


def remember(person: Person, *, session: str, address: str, agent: str, before: str = "") -> None:
    """Record the session of a person; `before` is the key that it had until now."""
    OpenSession.objects.filter(session_key=name_row(before)).delete()
    given = {"person": person, "address": address[:45], "agent": agent[:120], "started_at": clock.now()}
    OpenSession.objects.update_or_create(session_key=name_row(session), defaults=given)


def list_open(person: Person) -> list[OpenSession]:
    """Return the active sessions of a person, newest first."""
    alive = Session.objects.filter(expire_date__gt=clock.now()).values("session_key")
    return list(OpenSession.objects.filter(person=person, session_key__in=alive))


def end(session: str) -> None:
    """End one session; its browser is signed out."""
    Session.objects.filter(session_key=name_row(session)).delete()


def end_others(person: Person, *, keep: str) -> int:
    """End every session of a person but one, in the caller's transaction; return how many."""
    kept = name_row(keep)
    keys = [one.session_key for one in list_open(person) if one.session_key != kept]
    Session.objects.filter(session_key__in=keys).delete()
    return len(keys)


def sign_out_others(person: Person, *, keep: str) -> int:
    """End the person's other sessions and record it; return how many."""
    with transaction.atomic():
        ended = end_others(person, keep=keep)
        detail = {"others": ended}
        trail.record(AuditAction.SESSION_ENDED, by=person, about=trail.AuditSubject(), detail=detail)
    return ended


def end_all() -> int:
    """End all sessions, in the caller's transaction; return how many were active."""
    alive = Session.objects.filter(expire_date__gt=clock.now()).count()
    Session.objects.all().delete()
    return alive


def forget_old(*, now: datetime) -> None:
    """Remove records of sessions that ended long ago."""
    OpenSession.objects.filter(started_at__lt=now - KEPT).delete()
