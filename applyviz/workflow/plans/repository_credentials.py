"""Credentials of git repositories: registered by administrators, used by workers, for one address and what is below it.

A secret is entered once, sealed at once, and never shown. The address of a credential is never changed: whoever could
point a token at another host would have it.
"""

from __future__ import annotations

from collections.abc import Mapping

from django.db import IntegrityError, transaction
from django.db.models import Q, QuerySet
from django.utils.translation import gettext as _
from msgspec import Struct

from applyviz import clock
from applyviz.engine.objects.errors import SourceError
from applyviz.records.enums import AuditAction
from applyviz.records.fields import seal_for
from applyviz.records.git_enums import CredentialKind
from applyviz.records.models import RepositoryCredential, Team
from applyviz.records.sealing import SealError, Unsealed
from applyviz.sources.git import fetching, ssh_keys
from applyviz.sources.git.addresses import covers, is_ssh, read_prefix
from applyviz.sources.git.model import Credential, DeployKey, GitLogin, shorten
from applyviz.workflow.audit import trail
from applyviz.workflow.foundation import access, row_macs
from applyviz.workflow.foundation.access import Action, Person
from applyviz.workflow.foundation.errors import FieldRefusedError, NotPossibleError
from applyviz.workflow.foundation.visible_rows import get_visible
from applyviz.workflow.people import humans
from applyviz.workflow.plans.fetch_policy import make_policy

SHORTEST_TOKEN = 8


class Draft(Struct, frozen=True):
    """A credential as entered: a token with its user name, or a private key ("": one is made) with host keys."""

    address: str
    secret: str = ""
    username: str = ""
    host_keys: str = ""
    team: Team | None = None


def list_credentials(*, for_user: Person) -> QuerySet[RepositoryCredential]:
    """Return the credentials in force; for administrators only."""
    access.require(for_user, Action.MANAGE)
    rows = RepositoryCredential.objects.filter(archived_at=None)
    return rows.select_related("created_by", "team").defer("secret")


def get_credential(number: int, *, for_user: Person) -> RepositoryCredential:
    """Return one credential in force by its id; raises `NotVisibleError`."""
    return get_visible(list_credentials(for_user=for_user), "there is no such credential", pk=number)


def _record(credential: RepositoryCredential, what: str, by: Person) -> None:
    detail = {
        "what": what,
        "repository": credential.prefix,
        "kind": credential.kind,
        "team": credential.team.slug if credential.team else "",
        "host keys": [ssh_keys.fingerprint(key) for key in credential.host_keys],
    }
    trail.record(AuditAction.REPOSITORY_CHANGED, by=by, about=trail.AuditSubject(), detail=detail)


def _read_secret(prefix: str, secret: str) -> tuple[str, str]:
    """Return the secret and its public half; makes a key where none was entered. Raises `FieldRefusedError`."""
    if not is_ssh(prefix):
        if len(secret) < SHORTEST_TOKEN or any(sign.isspace() or not sign.isprintable() for sign in secret):
            text = _("A token has at least %(least)s characters and no spaces.")
            raise FieldRefusedError("secret", text % {"least": SHORTEST_TOKEN})
        return secret, ""
    if not secret.strip():
        return ssh_keys.make_key()
    try:
        return secret.strip() + "\n", ssh_keys.read_key(secret)
    except SourceError as error:
        raise FieldRefusedError("secret", str(error)) from None


def _read_host_keys(prefix: str, text: str) -> list[str]:
    if not is_ssh(prefix):
        return []
    try:
        return list(ssh_keys.read_host_keys(text))
    except SourceError as error:
        raise FieldRefusedError("host_keys", str(error)) from None


def _read_address(text: str) -> str:
    try:
        return read_prefix(text, make_policy())
    except SourceError as error:
        raise FieldRefusedError("address", str(error)) from None


def add_credential(draft: Draft, *, by: Person) -> RepositoryCredential:
    """Register a credential; raises `FieldRefusedError` for what cannot be used."""
    access.require(by, Action.MANAGE)
    prefix = _read_address(draft.address)
    secret, public = _read_secret(prefix, draft.secret)
    now = clock.host_now()
    credential = RepositoryCredential(
        prefix=prefix,
        kind=CredentialKind.DEPLOY_KEY if is_ssh(prefix) else CredentialKind.TOKEN,
        username="" if is_ssh(prefix) else draft.username.strip(),
        secret=Unsealed.of_bytes(secret.encode()),
        public_key=public,
        host_keys=_read_host_keys(prefix, draft.host_keys),
        team=draft.team,
        created_at=now,
        created_by=by,
        secret_at=now,
    )
    row_macs.vouch(credential)
    try:
        with transaction.atomic():
            credential.save(force_insert=True)
            _record(credential, "added", by)
    except IntegrityError:
        raise FieldRefusedError("address", _("There is already a credential for this address and team.")) from None
    return credential


def _update(credential: RepositoryCredential, values: Mapping[str, object]) -> None:
    """Store values with the MAC that fits, unless it was forged; raises `NotPossibleError` for a removed credential."""
    made = RepositoryCredential.objects.defer("secret").get(pk=credential.pk)
    is_genuine = not row_macs.find_fault(made)
    for name, value in values.items():
        setattr(made, name, value)
    if is_genuine:
        row_macs.vouch(made)
    rows = RepositoryCredential.objects.filter(pk=credential.pk, archived_at=None)
    if not rows.update(**values, mac=made.mac):
        raise NotPossibleError(_("this credential was removed"))


def edit_credential(credential: RepositoryCredential, draft: Draft, *, renews: bool, by: Person) -> None:
    """Change who may use a credential, its host keys and, if `renews` or a secret is given, its secret.

    - The address stays. A new deploy key is made when `renews` and no key was entered.
    """
    access.require(by, Action.MANAGE)
    values: dict[str, object] = {
        "team": draft.team,
        "host_keys": _read_host_keys(credential.prefix, draft.host_keys),
        "username": "" if is_ssh(credential.prefix) else draft.username.strip(),
        "tested_at": None,
    }
    is_new = renews or bool(draft.secret.strip())
    if is_new:
        secret, public = _read_secret(credential.prefix, draft.secret)
        sealed = seal_for(credential, "secret", Unsealed.of_bytes(secret.encode()))
        values |= {"secret": sealed, "public_key": public, "secret_at": clock.host_now()}
    try:
        with transaction.atomic():
            _update(credential, values)
            credential.refresh_from_db()
            _record(credential, "changed, with a new secret" if is_new else "changed", by)
    except IntegrityError:
        raise FieldRefusedError("team", _("There is already a credential for this address and team.")) from None


def remove_credential(credential: RepositoryCredential, *, by: Person) -> None:
    """Remove a credential and delete its secret; reviews that were fetched with it stay."""
    access.require(by, Action.MANAGE)
    with transaction.atomic():
        _update(credential, {"archived_at": clock.host_now(), "secret": None})
        _record(credential, "removed", by)


def _open(row: RepositoryCredential) -> Credential | None:
    if row.secret is None:
        return None
    try:
        secret = row.secret.open_bytes().decode()
    except SealError:
        raise SourceError(
            _("The credential for %(prefix)s was not entered for this address: enter it again.")
            % {"prefix": row.prefix}
        ) from None
    if row_macs.find_fault(row):
        text = _("The credential for %(prefix)s was changed in the database: remove it and register it again.")
        raise SourceError(text % {"prefix": row.prefix})
    if row.kind == CredentialKind.DEPLOY_KEY:
        return DeployKey(row.prefix, tuple(row.host_keys), secret)
    return GitLogin(row.prefix, row.username or "git", secret)


def find_for(repository: str, *, by: Person) -> Credential | None:
    """Return the credential for a repository that a person may use, opened; only workers can.

    - The longest address wins; of equal ones that of a team of the person.
    """
    teams = humans.list_teams([by])[by.pk]
    mine = RepositoryCredential.objects.filter(Q(team=None) | Q(team__slug__in=teams), archived_at=None)
    fitting = [row for row in mine if covers(row.prefix, repository)]
    if not fitting:
        return None
    return _open(max(fitting, key=lambda row: (len(row.prefix), row.team_id is not None, -row.pk)))


def check_credential(number: int, repository: str, *, by: Person) -> str:
    """Sign in at a repository with one credential and return what was found as a sentence; remembers the outcome.

    - Raises `SourceError` with what to do when the repository cannot be read.
    """
    row = get_credential(number, for_user=by)
    address = read_prefix(repository or row.prefix, make_policy())
    if not covers(row.prefix, address):
        raise SourceError(_("Test a repository at %(prefix)s or below it.") % {"prefix": row.prefix})
    error, found = "", None
    try:
        found = fetching.find_branch(address, policy=make_policy(), credential=_open(row))
    except SourceError as refused:
        error = str(refused)
    RepositoryCredential.objects.filter(pk=row.pk).update(tested_at=clock.host_now(), test_error=error[:500])
    if found is None:
        raise SourceError(error)
    fact = {"branch": found.name or "HEAD", "commit": shorten(found.oid.decode("ascii", "replace"))}
    return _("It works: %(branch)s is at %(commit)s.") % fact
