"""Recovery by the operator of the server when no administrator can act: audited, with a reason."""

from __future__ import annotations

from collections.abc import Iterable

from django.db import transaction
from django.utils.translation import gettext as _

from applyviz.records.enums import AuditAction, Role
from applyviz.records.models import Grant
from applyviz.workflow.foundation.access import Person
from applyviz.workflow.foundation.errors import NotValidError
from applyviz.workflow.foundation.grant_scopes import Scope
from applyviz.workflow.people import rights_changes
from applyviz.workflow.people.rights_changes import Actors


def _actors(reason: str) -> Actors:
    if not reason.strip():
        raise NotValidError(_("a recovery needs a reason"))
    return Actors(None, reason=reason.strip())


def get_or_add(name: str, *, reason: str) -> Person:
    """Return an account, created without a password if it does not exist."""
    actors = _actors(reason)
    with transaction.atomic():
        person = Person.objects.filter(username=name).first()
        if person is None:
            person = Person.objects.create_user(name)
            actors.record(AuditAction.PERSON_ADDED, {"account": name})
    return person


def grant_role(person: Person, role: Role, *, reason: str) -> Grant:
    """Grant a role everywhere."""
    return rights_changes.add_grant(role, actors=_actors(reason), person=person, team=None, scope=Scope())


def link_accounts(accounts: Iterable[Person], *, reason: str) -> None:
    """Link accounts of one person, administrator accounts included."""
    actors, accounts = _actors(reason), list(accounts)
    if len({person.pk for person in accounts}) < 2:
        raise NotValidError(_("name at least two accounts"))
    rights_changes.link_accounts(accounts, actors=actors)
