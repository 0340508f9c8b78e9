"""Read models of repository credentials."""

from __future__ import annotations

from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from msgspec import Struct

from applyviz.records.git_enums import CredentialKind
from applyviz.records.models import RepositoryCredential
from applyviz.sources.git.ssh_keys import fingerprint
from applyviz.web.components.badges import Appearance

_UNTRIED = Appearance("·", gettext_lazy("not tested"), "calm")
_WORKS = Appearance("✓", gettext_lazy("works"), "add")
_FAILS = Appearance("×", gettext_lazy("failed"), "remove")  # noqa: RUF001 the cross is drawn


class HostKeyRow(Struct, frozen=True):
    """One pinned host key."""

    kind: str
    fingerprint: str


class CredentialRow(Struct, frozen=True):
    """One credential, whose secret was not read; `style` is the result of its last test."""

    credential: RepositoryCredential
    is_ssh: bool
    team: str
    style: Appearance
    host_keys: tuple[HostKeyRow, ...]
    url: str


def _style_of(credential: RepositoryCredential) -> Appearance:
    if credential.tested_at is None:
        return _UNTRIED
    return _FAILS if credential.test_error else _WORKS


def present_credential(credential: RepositoryCredential) -> CredentialRow:
    """Return one credential, without its secret."""
    return CredentialRow(
        credential,
        is_ssh=credential.kind == CredentialKind.DEPLOY_KEY,
        team=credential.team.name if credential.team else _("every author"),
        style=_style_of(credential),
        host_keys=tuple(HostKeyRow(key.split()[0], fingerprint(key)) for key in credential.host_keys),
        url=reverse("settings:show-repository", args=[credential.pk]),
    )
