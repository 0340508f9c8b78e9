"""Confirmation by a second administrator: a different person, who was one before and does not benefit from the change.

Confirming checks again whether the change is still allowed. `recover` confirms by a command on the server when no
second administrator can; the audit trail records it as such.
"""

from __future__ import annotations

from collections.abc import Callable

from django.db import transaction
from django.utils.translation import gettext as _

from applyviz.engine.objects.values import JSONObject
from applyviz.records.enums import Role
from applyviz.records.git_enums import IdentityKind
from applyviz.records.models import Grant, PendingChange, Team, TeamMember
from applyviz.records.pending_enums import PendingKind, PendingState
from applyviz.workflow.foundation import access
from applyviz.workflow.foundation.access import Action, Person
from applyviz.workflow.foundation.errors import NotAllowedError, NotValidError
from applyviz.workflow.foundation.grant_scopes import Scope
from applyviz.workflow.people import (
    account_links,
    administrators,
    commit_identities,
    pending_changes,
    policy_changes,
    rights_changes,
)
from applyviz.workflow.people.policy_changes import NewVersion
from applyviz.workflow.people.rights_changes import Actors


def _person(given: JSONObject) -> Person:
    return Person.objects.get(pk=given["person"])


def _grant(given: JSONObject, actors: Actors) -> None:
    person = Person.objects.filter(pk=given["person"]).first() if given["person"] else None
    team = Team.objects.filter(pk=given["team"]).first() if given["team"] else None
    rights_changes.add_grant(Role(given["role"]), actors=actors, person=person, team=team, scope=Scope(*given["scope"]))


def _add_member(given: JSONObject, actors: Actors) -> None:
    rights_changes.add_member(Team.objects.get(pk=given["team"]), _person(given), actors=actors)


def _end_grant(given: JSONObject, actors: Actors) -> None:
    rights_changes.end_grant(Grant.objects.get(pk=given["grant"]), actors=actors)


def _end_member(given: JSONObject, actors: Actors) -> None:
    member = TeamMember.objects.select_related("team", "person").get(pk=given["member"])
    rights_changes.end_member(member, actors=actors)


def _archive_team(given: JSONObject, actors: Actors) -> None:
    rights_changes.archive_team(Team.objects.get(pk=given["team"]), actors=actors)


def _activate(given: JSONObject, actors: Actors) -> None:
    rights_changes.set_active(_person(given), is_active=True, actors=actors)


def _deactivate(given: JSONObject, actors: Actors) -> None:
    rights_changes.set_active(_person(given), is_active=False, actors=actors)


def _link_identity(given: JSONObject, actors: Actors) -> None:
    commit_identities.store_link(_person(given), IdentityKind(given["kind"]), given["value"], actors=actors)


def _link_accounts(given: JSONObject, actors: Actors) -> None:
    accounts = list(Person.objects.filter(pk__in=given["people"]))
    account_links.require_linkable(accounts)
    rights_changes.link_accounts(accounts, actors=actors)


def _unlink_account(given: JSONObject, actors: Actors) -> None:
    rights_changes.unlink_account(_person(given), actors=actors)


def _set_mail(given: JSONObject, actors: Actors) -> None:
    person = _person(given)
    account_links.require_linkable([person, *account_links.list_sharing(given["mail"])])
    rights_changes.set_mail(person, given["mail"], actors=actors)


def _publish_policy(given: JSONObject, actors: Actors) -> None:
    scope = Scope(*given["scope"])
    new = NewVersion(given["slug"], scope, given["rules"], note=given["note"], after=given["after"])
    policy_changes.publish(new, actors=actors)


def _archive_policy(given: JSONObject, actors: Actors) -> None:
    policy_changes.archive(given["slug"], given["note"], actors=actors)


_CHANGES: dict[PendingKind, Callable[[JSONObject, Actors], None]] = {
    PendingKind.GRANT: _grant,
    PendingKind.MEMBER: _add_member,
    PendingKind.END_GRANT: _end_grant,
    PendingKind.END_MEMBER: _end_member,
    PendingKind.ARCHIVE_TEAM: _archive_team,
    PendingKind.ACTIVATE: _activate,
    PendingKind.DEACTIVATE: _deactivate,
    PendingKind.IDENTITY: _link_identity,
    PendingKind.LINK: _link_accounts,
    PendingKind.UNLINK: _unlink_account,
    PendingKind.MAIL: _set_mail,
    PendingKind.CLAIM: _activate,
    PendingKind.POLICY: _publish_policy,
    PendingKind.ARCHIVE_POLICY: _archive_policy,
}
_GAINS = frozenset(
    {
        PendingKind.GRANT,
        PendingKind.MEMBER,
        PendingKind.ACTIVATE,
        PendingKind.IDENTITY,
        PendingKind.UNLINK,
        PendingKind.MAIL,
        PendingKind.CLAIM,
    }
)


def _gains(change: PendingChange, person: Person) -> bool:
    """Return whether the person behind an account would benefit from a change."""
    if change.kind not in _GAINS:
        return False
    gainer = Person.objects.filter(pk=change.given.get("person") or 0).first()
    if gainer is not None:
        return administrators.is_same_human(gainer, person)
    return administrators.is_in_team(person, Team.objects.get(pk=change.given["team"]))


def find_blocker(change: PendingChange, *, by: Person) -> str:
    """Return why this administrator cannot confirm a change; "" when they can."""
    if administrators.is_same_human(change.asked_by, by):
        return _("you requested this: another administrator must confirm it")
    if _gains(change, by):
        return _("this benefits you: another administrator must confirm it")
    if not administrators.is_since(by, change.asked_at):
        return _("you became an administrator after this was requested: another administrator must confirm it")
    if not access.can(change.asked_by, Action.MANAGE):
        return _("the requester, %(name)s, is no longer an administrator") % {"name": change.asked_by.get_username()}
    if _gains(change, change.asked_by):
        return _("the requester, %(name)s, would benefit from it") % {"name": change.asked_by.get_username()}
    return ""


def confirm_change(change: PendingChange, *, by: Person) -> None:
    """Carry out a pending change as the second administrator.

    - Raises `NotAllowedError` for the requester under any account, for a beneficiary, and for whoever became an
      administrator later; `NotPossibleError` for a change that was answered, has expired, or leaves no administrator.
    """
    access.require(by, Action.MANAGE)
    blocker = find_blocker(change, by=by)
    if blocker:
        raise NotAllowedError(blocker)
    with transaction.atomic():
        pending_changes.answer(change, PendingState.CONFIRMED, by=by)
        _CHANGES[PendingKind(change.kind)](change.given, Actors(change.asked_by, by))


def recover(change: PendingChange, *, reason: str) -> None:
    """Carry out a pending change by a command on the server; raises `NotValidError` without a reason."""
    if not reason.strip():
        raise NotValidError(_("a recovery needs a reason"))
    with transaction.atomic():
        pending_changes.answer(change, PendingState.CONFIRMED, by=None)
        _CHANGES[PendingKind(change.kind)](change.given, Actors(None, reason=reason.strip()))
