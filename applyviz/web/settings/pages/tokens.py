"""Read models of tokens, service accounts and identity mappings."""

from __future__ import annotations

from collections.abc import Iterable

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from msgspec import Struct

from applyviz import clock
from applyviz.records.enums import TokenScope
from applyviz.records.models import ApiToken, IdentityMapping, ServiceAccount
from applyviz.web.components.badges import Appearance
from applyviz.workflow.foundation import access
from applyviz.workflow.foundation.access import Action, Person

SCOPES = {
    TokenScope.READ: gettext_lazy("view"),
    TokenScope.PLAN: gettext_lazy("view, create reviews"),
    TokenScope.APPLY: gettext_lazy("view, create reviews, start approved runs"),
}


class TokenRow(Struct, frozen=True):
    """One token, and whether this person may revoke it."""

    token: ApiToken
    scope: str
    state: Appearance
    can_revoke: bool


class AccountRow(Struct, frozen=True):
    """One service account with its roles."""

    name: str
    owner: str
    purpose: str
    roles: str
    is_active: bool


class MappingRow(Struct, frozen=True):
    """One mapping, and for whom it is."""

    mapping: IdentityMapping
    whom: str


def _present_state(token: ApiToken) -> Appearance:
    if token.revoked_at is not None:
        return Appearance("×", _("revoked"), "calm")  # noqa: RUF001 - a cross
    if token.expires_at <= clock.host_now():
        return Appearance("×", _("ended"), "calm")  # noqa: RUF001 - a cross
    return Appearance("✓", _("active"), "add")


def _is_of(token: ApiToken, person: Person) -> bool:
    service = getattr(token.person, "service", None)
    return token.person_id == person.pk or (service is not None and service.owner_id == person.pk)


def present_tokens(found: Iterable[ApiToken], *, for_user: Person) -> tuple[TokenRow, ...]:
    """Return the rows of tokens; its owner and administrators may revoke an active one."""
    now, can_manage = clock.host_now(), access.can(for_user, Action.MANAGE)
    return tuple(
        TokenRow(
            token,
            scope=str(SCOPES[TokenScope(token.scope)]),
            state=_present_state(token),
            can_revoke=token.revoked_at is None and token.expires_at > now and (can_manage or _is_of(token, for_user)),
        )
        for token in found
    )


def present_accounts(found: Iterable[ServiceAccount]) -> tuple[AccountRow, ...]:
    """Return the rows of service accounts."""
    return tuple(
        AccountRow(
            name=one.person.get_username(),
            owner=one.owner.get_username(),
            purpose=one.purpose,
            roles=_list_roles(one.person),
            is_active=one.person.is_active,
        )
        for one in found
    )


def _list_roles(person: Person) -> str:
    return ", ".join(sorted(str(role.label) for role in access.roles_of(person)))


def present_mappings(found: Iterable[IdentityMapping]) -> tuple[MappingRow, ...]:
    """Return the rows of mappings."""
    return tuple(MappingRow(one, _name_subject(one)) for one in found)


def _name_subject(mapping: IdentityMapping) -> str:
    if mapping.person is not None:
        return str(mapping.person.get_username())
    return _("team %(slug)s") % {"slug": mapping.team.slug} if mapping.team is not None else _("default")
