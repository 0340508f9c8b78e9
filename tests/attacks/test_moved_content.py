"""An attacker who holds the database opens nothing by moving it: content is sealed for its row, a token for one use."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from datetime import timedelta

import pytest
from django.apps import apps
from django.db import models
from django.test import Client
from django.utils import timezone

from applyviz.clusters.sandbox import hash_token, is_token_of
from applyviz.engine.objects.errors import SourceError
from applyviz.records import keyed_hashes, triggers
from applyviz.records.enums import ClusterKind, RunState, TokenScope
from applyviz.records.fields import SealedField
from applyviz.records.git_enums import CredentialKind, ForgeKind
from applyviz.records.models import (
    AccountClaim,
    ApiToken,
    Cluster,
    PushDelivery,
    PushWebhook,
    RepositoryCredential,
    SourceFile,
    Webhook,
    WorkerRequest,
)
from applyviz.records.sealing import Sealed, SealError, Unsealed, make_content_key
from applyviz.records.worker_enums import WorkerRequestKind
from applyviz.workflow.clusters import registration
from applyviz.workflow.foundation.errors import NotVisibleError
from applyviz.workflow.people import claims, tokens
from applyviz.workflow.people.tokens import NotKnownError
from applyviz.workflow.plans import repository_credentials
from tests.builders import make_cluster_row, make_person
from tests.stories import Team, config_map, secret

pytestmark = [pytest.mark.attacks, pytest.mark.django_db]


def list_sealed() -> Iterator[tuple[str, Sealed]]:
    """All sealed content of the database: its column, and what is stored with its location."""
    for model in apps.get_app_config("records").get_models():
        for field in model._meta.concrete_fields:
            if isinstance(field, SealedField):
                for row in model._default_manager.exclude(**{field.name: None}):
                    yield f"{model.__name__}.{field.name}", getattr(row, field.attname)


def fill(team: Team) -> None:
    """At least two rows of everything that has sealed content."""
    team.apply(config_map(a="1"), secret(password="one"), config_map("other", a="1"))
    team.apply(config_map(a="2"), secret(password="two"))
    for number in range(2):
        sealed, at = Unsealed(b"content %d" % number), timezone.now() + timedelta(seconds=number)
        by = {"created_at": at, "created_by": team.alice}
        make_cluster_row(f"live-{number}", kind=ClusterKind.LIVE, credential=sealed)
        Webhook.objects.create(name="chat", url="https://chat.example", secret=sealed, **by)
        RepositoryCredential.objects.create(
            prefix=f"https://git.example/{number}", kind=CredentialKind.TOKEN, secret=sealed, secret_at=at, **by
        )
        hook = PushWebhook.objects.create(
            identifier=f"hook-{number}",
            location=f"git.example/{number}",
            forge=ForgeKind.GITHUB,
            secret=sealed,
            secret_at=at,
            **by,
        )
        PushDelivery.objects.create(webhook=hook, body_mark="m", content=sealed, received_at=at)
        WorkerRequest.objects.create(
            kind=WorkerRequestKind.ADD_CLUSTER, key=str(number), sealed=sealed, created_at=at, expires_at=at
        )


def opens(sealed: Sealed) -> bool:
    """Whether a worker can open it."""
    try:
        sealed.open_bytes()
    except SealError:
        return False
    return True


def test_no_sealed_content_opens_in_another_row(team: Team) -> None:
    fill(team)
    stored = list(list_sealed())
    columns = [
        f"{model.__name__}.{field.name}"
        for model in apps.get_app_config("records").get_models()
        for field in model._meta.concrete_fields
        if isinstance(field, SealedField)
    ]
    assert [name for name in columns if sum(name == column for column, _ in stored) < 2] == []
    assert [name for name, sealed in stored if not opens(sealed)] == []

    moved = [
        (name, there)
        for name, sealed in stored
        for there, other in stored
        if other is not sealed and opens(Sealed(sealed.token, other.location))
    ]

    assert moved == []


def test_files_of_one_review_share_a_key_exchange_and_no_row(team: Team) -> None:
    """Sealed at once when the review is opened; a file that takes the content of another opens nowhere."""
    plans = [team.plan(config_map(a="1"), secret(password="one")) for _ in range(2)]
    files = [list(plan.revision.files.all()) for plan in plans]
    heads = [{bytes(file.content.token)[: len(make_content_key().head)] for file in of_plan} for of_plan in files]
    assert ([len(one) for one in heads], heads[0] & heads[1]) == ([1, 1], set())

    triggers.lift("default")
    first, second = files[0]
    SourceFile.objects.filter(pk=first.pk).update(content=second.content)
    assert not opens(SourceFile.objects.get(pk=first.pk).content)


def test_row_of_another_cluster_does_not_open_its_credential(team: Team) -> None:
    """Staging and production swap their credentials, and their names."""
    fill(team)
    first, second = Cluster.objects.filter(slug__startswith="live-").order_by("slug")

    Cluster.objects.filter(pk=first.pk).update(credential=second.credential)
    assert not opens(Cluster.objects.get(pk=first.pk).credential)

    Cluster.objects.filter(pk=second.pk).update(slug="third")
    assert not opens(Cluster.objects.get(pk=second.pk).credential)


def test_credential_does_not_open_for_another_repository(team: Team) -> None:
    """The worker would send it to the host of the attacker."""
    fill(team)
    row = RepositoryCredential.objects.first()
    RepositoryCredential.objects.filter(pk=row.pk).update(prefix="https://mallory.example/x")

    row.refresh_from_db()
    assert not opens(row.secret)
    with pytest.raises(SourceError, match="enter it again"):
        repository_credentials.find_for("https://mallory.example/x/y", by=team.alice)


def test_run_with_content_of_another_object_writes_nothing(team: Team, monkeypatch: pytest.MonkeyPatch) -> None:
    team.wire_up(monkeypatch)
    run = team.start(team.plan(config_map(a="1"), config_map("other", a="1")))
    first, second = run.plan.changes.order_by("position")
    triggers.lift("default")
    type(first).objects.filter(pk=first.pk).update(sealed=second.sealed)

    team.work(run)

    assert (run.state == RunState.APPLIED, team.wire.writes) == (False, [])


def test_token_that_is_written_into_the_database_opens_no_sandbox(team: Team, client: Client) -> None:
    """Neither the plain hash of a known token, nor the stored hash of another sandbox's."""
    other = registration.create_sandbox(slug="other", name="Other")
    token = other.credential.open_bytes().decode()
    assert is_token_of(other, token)

    for forged in (other.token_hash, _plain_hash(token), hash_token("other", token)):
        Cluster.objects.filter(slug="box").update(token_hash=forged)
        answer = client.get("/sandboxes/box/api/v1/pods", HTTP_AUTHORIZATION=f"Bearer {token}")
        assert answer.status_code == 401


def _plain_hash(token: str) -> str:
    return hashlib.sha256(token.encode()).hexdigest()


def test_token_of_the_api_is_bound_to_account_scope_and_expiry(team: Team) -> None:
    """Mallory's own token, moved to another account, widened, or made to last."""
    mallory = make_person("mallory", "author")
    row, text = tokens.make_token(by=mallory, account=mallory, name="ci", scope=TokenScope.READ, days=7)
    triggers.lift("default")
    assert tokens.is_valid(text)

    for forged in (
        {"person": team.bob},
        {"scope": TokenScope.APPLY},
        {"expires_at": row.expires_at + timedelta(days=900)},
        {"token_hash": _plain_hash(text)},
        {"token_hash": keyed_hashes.hash_token(text, purpose="tokens of sandboxes", of="box")},
    ):
        given = {"person": mallory, "scope": row.scope, "expires_at": row.expires_at, "token_hash": row.token_hash}
        ApiToken.objects.filter(pk=row.pk).update(**{**given, **forged})
        with pytest.raises(NotKnownError):
            tokens.find_caller(text, address="192.0.2.1")


def test_invitation_is_bound_to_its_account(team: Team) -> None:
    """Mallory's own link, moved to another account."""
    mallory = make_person("mallory")
    link = claims.recover(mallory, reason="lost")
    assert claims.find_claim(link).person == mallory

    triggers.lift("default")
    AccountClaim.objects.update(person=team.bob)
    for text in (link, f"{team.bob.pk}-{link.partition('-')[2]}"):
        with pytest.raises(NotVisibleError):
            claims.find_claim(text)


def test_every_sealed_column_names_its_row() -> None:
    fields: list[models.Field] = [
        field for model in apps.get_app_config("records").get_models() for field in model._meta.concrete_fields
    ]

    assert [str(field) for field in fields if isinstance(field, SealedField) and not field.bound_to] == []
