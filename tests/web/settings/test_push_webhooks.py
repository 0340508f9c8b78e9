"""Push webhooks and commit identities in the settings and the account: made, shown once, listed, verified, removed."""

import html
import re

import pytest
from django.test import Client
from django.urls import reverse

from applyviz.records.enums import AuditAction, Role
from applyviz.records.git_enums import IdentityKind
from applyviz.records.models import AuditEntry, CommitIdentity, PushWebhook
from applyviz.workflow.people import commit_identities
from tests.builders import make_person
from tests.following import sign, write_body

pytestmark = pytest.mark.django_db
REPOSITORY = "https://github.com/team/shop.git"


def open_as(person):
    client = Client()
    client.force_login(person)
    return client


def read(client, name, *args):
    text = client.get(reverse(name, args=args)).content.decode()
    return re.sub(r"\s+", " ", html.unescape(re.sub(r"<[^>]+>", " ", text)))


@pytest.fixture
def root():
    return open_as(make_person("root", Role.ADMINISTRATOR))


def add(root, **values):
    form = {"repository": REPOSITORY, "forge": "github", **values}
    return root.post(reverse("settings:add-repository-push"), form)


def test_secret_is_shown_once_and_never_again(root):
    assert "No push webhooks yet" in read(root, "settings:list-repositories")
    page = add(root).content.decode()
    secret = re.search(r"data-secret>([\w-]{40,})<", page)
    assert secret
    webhook = PushWebhook.objects.get()
    assert webhook.location == "github.com/team/shop"
    assert f"/push/{webhook.identifier}/" in page

    for name, args in (("settings:list-repositories", ()), ("settings:show-repository-push", (webhook.pk,))):
        assert secret[1] not in root.get(reverse(name, args=args)).content.decode()
    assert secret[1] not in str(AuditEntry.objects.filter(action=AuditAction.REPOSITORY_CHANGED).values_list("detail"))
    assert "No deliveries yet" in read(root, "settings:show-repository-push", webhook.pk)


def test_secret_is_replaced_and_the_webhook_removed(root):
    first = re.search(r"data-secret>([\w-]+)<", add(root).content.decode())
    webhook = PushWebhook.objects.get()
    page = root.post(reverse("settings:rotate-repository-push", args=[webhook.pk])).content.decode()
    second = re.search(r"data-secret>([\w-]+)<", page)
    assert first
    assert second
    assert first[1] != second[1]
    root.post(reverse("settings:remove-repository-push", args=[webhook.pk]))
    assert PushWebhook.objects.get().secret is None
    assert root.get(reverse("settings:show-repository-push", args=[webhook.pk])).status_code == 404
    assert add(root).status_code == 200
    told = AuditEntry.objects.filter(action=AuditAction.REPOSITORY_CHANGED).order_by("pk")
    assert [entry.detail["what"] for entry in told] == [
        "push webhook added",
        "push webhook, new secret",
        "push webhook removed",
        "push webhook added",
    ]


@pytest.mark.parametrize(
    ("values", "text"),
    [
        ({"repository": "nonsense"}, "Enter the https or ssh address"),
        ({"repository": "https://alice:token@github.com/team/shop"}, "user name or token"),
        ({"forge": "bitbucket"}, "not one of the available choices"),
    ],
)
def test_wrong_input_is_told_at_its_field(root, values, text):
    answer = add(root, **values)
    assert answer.status_code == 422
    assert text in html.unescape(answer.content.decode())
    assert not PushWebhook.objects.exists()


def test_one_webhook_per_repository_whatever_its_address(root):
    add(root)
    answer = add(root, repository="git@github.com:Team/shop")
    assert answer.status_code == 422
    assert "There is already a push webhook" in answer.content.decode()


def test_deliveries_are_listed_with_their_results(stage):
    first = stage.commit("alice", a="1")
    second = stage.commit("alice", a="2")
    body = write_body(first, second, login="carol")
    stage.deliver(body, sign(body, "wrong"))
    stage.deliver(body, sign(body, stage.webhook.secret))
    page = read(open_as(stage.admin), "settings:show-repository-push", stage.webhook.webhook.pk)
    for text in ("Refused", "The signature or the token is not that", "Accepted", "No review follows this branch"):
        assert text in page
    assert "by carol" in page


def test_only_administrators_see_push_webhooks(root):
    add(root)
    author = open_as(make_person("alice", Role.AUTHOR))
    for name, args in (
        ("settings:list-repositories", ()),
        ("settings:add-repository-push", ()),
        ("settings:show-repository-push", (PushWebhook.objects.get().pk,)),
    ):
        assert author.get(reverse(name, args=args)).status_code == 403


def test_person_claims_and_an_administrator_verifies(root):
    alice = open_as(make_person("alice", Role.AUTHOR))
    assert "No commit identities yet" in read(alice, "claim-identity")
    alice.post(reverse("claim-identity"), {"kind": "login", "value": "https://github.com/Alice"})
    identity = CommitIdentity.objects.get()
    assert (identity.value, identity.verified_at) == ("github.com/alice", None)
    assert "Not verified" in read(alice, "claim-identity")
    assert "github.com/alice" in read(root, "settings:list-pending")
    assert "Verify" in read(root, "settings:show-person", "alice")

    root.post(reverse("settings:verify-person-identity", args=[identity.pk]))
    assert "Verified" in read(alice, "claim-identity")
    assert "No claim waits." in read(root, "settings:list-pending")
    alice.post(reverse("remove-identity", args=[identity.pk]))
    assert CommitIdentity.objects.get().ended_at is not None


@pytest.mark.parametrize(("kind", "value"), [("email", "nonsense"), ("login", "alice"), ("login", "a/b/c"), ("x", "y")])
def test_wrong_claims_are_told(kind, value):
    alice = open_as(make_person("alice", Role.AUTHOR))
    assert alice.post(reverse("claim-identity"), {"kind": kind, "value": value}).status_code == 422
    assert not CommitIdentity.objects.exists()


def test_administrator_links_and_removes(root):
    make_person("alice", Role.AUTHOR)
    address = reverse("settings:link-person-identity", args=["alice"])
    root.post(address, {"kind": "email", "value": "Alice+git@example.org"})
    identity = CommitIdentity.objects.get()
    assert identity.value == "alice@example.org"
    assert identity.verified_at is not None
    assert root.post(address, {"kind": "email", "value": ""}).status_code == 422
    root.post(reverse("settings:remove-person-identity", args=[identity.pk]))
    assert CommitIdentity.objects.get().ended_at is not None


def test_identities_of_others_are_out_of_reach():
    alice, mallory = make_person("alice", Role.AUTHOR), open_as(make_person("mallory", Role.AUTHOR))
    identity = commit_identities.claim(IdentityKind.LOGIN, "github.com/alice", by=alice)
    assert mallory.post(reverse("remove-identity", args=[identity.pk])).status_code == 404
    for name in ("settings:verify-person-identity", "settings:remove-person-identity"):
        assert mallory.post(reverse(name, args=[identity.pk])).status_code == 403
