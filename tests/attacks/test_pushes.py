"""Attacks on followed branches: forged and repeated deliveries, other secrets, sizes, rates, second addresses."""

import hashlib
import hmac
import json

import pytest
from django.test import Client
from django.urls import reverse

from applyviz.records.git_enums import ForgeKind, PushResult
from applyviz.records.models import BranchPush, Following, PushDelivery
from applyviz.workflow.following import deliveries, push_webhooks
from tests.builders import set_email
from tests.following import PATH, sign, write_body
from tests.keyless import KeylessWeb

pytestmark = pytest.mark.django_db


def last():
    return PushDelivery.objects.order_by("-pk").first()


def test_answers_are_alike_whatever_exists(begun):
    stage, _review, first, second = begun
    body = write_body(first, second, login="carol")
    good, wrong = sign(body, stage.webhook.secret), sign(body, "x" * 40)
    known = stage.webhook.webhook.identifier

    answers = []
    for identifier, headers in ((known, good), (known, wrong), ("nobody", good), ("nobody", wrong)):
        address = reverse("take-push", args=[identifier])
        answer = Client().post(address, body, content_type="application/json", headers=headers)
        answers.append((answer.status_code, answer.content, sorted(set(answer.headers) - {"X-Request-ID"})))
    assert answers == [answers[0]] * 4
    assert answers[0][:2] == (202, b"received\n")


def test_forged_signature_changes_nothing(begun):
    stage, _review, first, second = begun
    body = write_body(first, second, login="alice")
    for secret in ("", "guess", stage.webhook.secret + "x", stage.webhook.secret[:-1]):
        assert stage.deliver(body, sign(body, secret)) == 202
        assert last().state == PushResult.REFUSED
    headers = sign(body, stage.webhook.secret)
    assert stage.deliver(body.replace(b"alice", b"mallo"), headers) == 202
    assert stage.deliver(body, {**headers, "X-Hub-Signature-256": "sha256="}) == 202
    assert stage.deliver(body, {"X-GitHub-Event": "push"}) == 202
    assert {row.state for row in PushDelivery.objects.all()} == {PushResult.REFUSED}
    assert not BranchPush.objects.exists()
    assert Following.objects.get().due_at is None


def test_replayed_delivery_does_nothing(begun):
    stage, review, first, second = begun
    body = write_body(first, second, login="carol")
    headers = sign(body, stage.webhook.secret, delivery="one")
    stage.deliver(body, headers)
    stage.follow()
    stage.calculate(review)
    Following.objects.update(due_at=None)

    stage.deliver(body, headers)
    assert last().state == PushResult.REPEATED
    stage.deliver(body, {**headers, "X-GitHub-Delivery": "another"})
    assert last().state == PushResult.REPEATED
    other = write_body(first, second, login="carol", extra="x")
    stage.deliver(other, sign(other, stage.webhook.secret, delivery="one"))
    assert last().state == PushResult.REPEATED
    assert Following.objects.get().due_at is None
    assert (BranchPush.objects.count(), review.plans.count()) == (1, 2)


@pytest.mark.long
def test_forged_delivery_cannot_use_up_the_id_of_a_genuine_one(begun):
    stage, _review, first, second = begun
    body = write_body(first, second, login="carol")
    headers = sign(body, stage.webhook.secret, delivery="one")
    stage.deliver(body, {**headers, "X-Hub-Signature-256": "sha256=00"})
    assert last().state == PushResult.REFUSED

    stage.deliver(body, headers)
    assert last().state == PushResult.ACCEPTED


@pytest.mark.long
def test_old_push_brings_back_no_old_commit(begun):
    stage, review, first, second = begun
    third = stage.commit("carol", a="3")
    stage.push(second, third, login="carol", email="carol@example.org")
    stage.push(first, second, login="carol", email="carol@example.org")  # the host retried an earlier delivery
    stage.follow()

    assert stage.calculate(review).revision.provenance["git"]["commit"] == third


@pytest.mark.long
def test_secret_of_another_repository_is_worth_nothing(begun):
    stage, _review, first, second = begun
    other = push_webhooks.add_webhook(stage.server.url("/team/other.git"), ForgeKind.GITHUB, by=stage.admin)
    body = write_body(first, second, login="carol")
    stage.deliver(body, sign(body, other.secret))
    assert last().state == PushResult.REFUSED

    stage.deliver(body, sign(body, other.secret), other.webhook.identifier)
    assert (last().state, last().reason) == (PushResult.REFUSED, "the push is to another repository")
    assert Following.objects.get().due_at is None


@pytest.mark.long
def test_rotated_and_removed_secrets_are_worth_nothing(begun):
    stage, _review, first, second = begun
    old = stage.webhook
    stage.webhook = push_webhooks.rotate_secret(old.webhook, by=stage.admin)
    body = write_body(first, second, login="carol")
    stage.deliver(body, sign(body, old.secret))
    assert last().state == PushResult.REFUSED

    push_webhooks.remove_webhook(stage.webhook.webhook, by=stage.admin)
    assert stage.deliver(body, sign(body, stage.webhook.secret)) == 202
    assert PushDelivery.objects.count() == 1


def test_oversize_body_is_refused_wherever_it_goes(begun):
    stage, _review, _first, _second = begun
    body = b"x" * (deliveries.MOST_BYTES + 1)
    assert stage.deliver(body, sign(body, stage.webhook.secret)) == 413
    assert stage.deliver(body, {}, "nobody") == 413
    assert not PushDelivery.objects.exists()


@pytest.mark.core(1)
@pytest.mark.parametrize("identifier", ["known", "nobody"])
def test_floods_are_slowed_whether_or_not_the_webhook_exists(begun, monkeypatch, identifier):
    stage, _review, first, second = begun
    monkeypatch.setattr(deliveries, "MOST_OF_WEBHOOK", 3)
    name = stage.webhook.webhook.identifier if identifier == "known" else identifier
    body = write_body(first, second, login="carol")
    assert [stage.deliver(body, {}, name) for _ in range(5)] == [202, 202, 202, 429, 429]


@pytest.mark.long
def test_one_address_is_slowed_over_all_webhooks(begun, monkeypatch):
    stage, _review, _first, _second = begun
    monkeypatch.setattr(deliveries, "MOST_OF_ADDRESS", 3)
    assert [stage.deliver(b"{}", {}, f"guess-{n}") for n in range(5)] == [202, 202, 202, 429, 429]


@pytest.mark.core(1)
@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"[]",
        b"null",
        b"\xff\xfe",
        b"[" * 100_000,
        json.dumps({"ref": "refs/heads/main"}).encode(),
        json.dumps({"ref": 5, "before": [], "after": {}}).encode(),
        json.dumps({"ref": "refs/heads/main", "before": "0" * 40, "after": "zz"}).encode(),
        json.dumps({"ref": "refs/heads/main", "before": "0" * 40, "after": "a" * 40}).encode(),
        json.dumps({"ref": "refs/heads/main", "before": "", "after": "a" * 40, "repository": "team/shop"}).encode(),
    ],
)
def test_signed_nonsense_is_refused_and_harms_nothing(begun, body):
    stage, _review, _first, _second = begun
    assert stage.deliver(body, sign(body, stage.webhook.secret)) == 202
    assert last().state == PushResult.REFUSED
    assert last().content is None


@pytest.mark.long
def test_events_besides_pushes_to_branches_are_ignored(begun):
    stage, _review, first, second = begun
    for event, after, more in (("ping", second, {}), ("push", second, {"ref": "refs/tags/v1"}), ("push", "0" * 40, {})):
        body = write_body(first, after, login="carol", **more)
        stage.deliver(body, sign(body, stage.webhook.secret, event=event))
        assert last().state == PushResult.IGNORED


@pytest.mark.core(1)
@pytest.mark.parametrize("forge", [ForgeKind.GITLAB, ForgeKind.GITEA])
def test_every_host_is_verified_in_its_own_way(stage, forge):
    push_webhooks.remove_webhook(stage.webhook.webhook, by=stage.admin)
    stage.webhook = push_webhooks.add_webhook(stage.server.url(PATH), forge, by=stage.admin)
    first = stage.commit("alice", a="1")
    set_email("alice", "alice@example.org")
    review = stage.open()
    stage.start(review)
    second = stage.commit("alice", a="2")
    values = {"ref": "refs/heads/main", "before": first, "after": second}

    def write(secret):
        if forge is ForgeKind.GITLAB:
            body = json.dumps({**values, "project": {"path_with_namespace": "Team/Shop"}, "user_username": "carol"})
            return body.encode(), {"X-Gitlab-Event": "Push Hook", "X-Gitlab-Token": secret}
        body = json.dumps({**values, "repository": {"full_name": "team/shop"}, "pusher": {"login": "carol"}}).encode()
        made = hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()
        return body, {"X-Gitea-Event": "push", "X-Gitea-Signature": made, "X-Gitea-Delivery": "one"}

    stage.deliver(*write("wrong-secret-of-some-length"))
    assert last().state == PushResult.REFUSED
    stage.deliver(*write(""))
    assert last().state == PushResult.REFUSED
    stage.deliver(*write(stage.webhook.secret))
    assert (last().state, last().pusher, last().commit) == (PushResult.ACCEPTED, "carol", second)
    assert BranchPush.objects.get().login == "localhost/carol"


@pytest.mark.core(1)
@pytest.mark.parametrize("name", ["Idempotency-Key", "X-Gitlab-Event-UUID"])
def test_push_that_is_made_again_at_gitlab_counts_again(stage, name):
    push_webhooks.remove_webhook(stage.webhook.webhook, by=stage.admin)
    stage.webhook = push_webhooks.add_webhook(stage.server.url(PATH), ForgeKind.GITLAB, by=stage.admin)
    first, second = stage.commit("alice", a="1"), stage.commit("alice", a="2")

    def push(before, after, key):
        values = {"ref": "refs/heads/main", "before": before, "after": after}
        body = json.dumps({**values, "project": {"path_with_namespace": "Team/Shop"}, "user_username": "carol"})
        token = {"X-Gitlab-Event": "Push Hook", "X-Gitlab-Token": stage.webhook.secret}
        stage.deliver(body.encode(), {**token, name: key})
        return last().state

    assert push(first, second, "one") == PushResult.ACCEPTED
    assert push(first, second, "one") == PushResult.REPEATED
    assert push(second, first, "two") == PushResult.ACCEPTED
    assert push(first, second, "three") == PushResult.ACCEPTED
    assert push(second, first, "three") == PushResult.ACCEPTED


@pytest.mark.long
def test_form_of_github_is_read(begun):
    from urllib.parse import urlencode  # noqa: PLC0415 - one test

    stage, _review, first, second = begun
    body = urlencode({"payload": write_body(first, second, login="carol").decode()}).encode()
    address = reverse("take-push", args=[stage.webhook.webhook.identifier])
    headers = sign(body, stage.webhook.secret)
    Client().post(address, body, content_type="application/x-www-form-urlencoded", headers=headers)
    deliveries.read_delivery(last().pk)
    assert last().state == PushResult.ACCEPTED


def test_web_process_without_keys_takes_deliveries(begun, settings):
    stage, _review, first, second = begun
    body = write_body(first, second, login="carol")
    address = reverse("take-push", args=[stage.webhook.webhook.identifier])
    web = KeylessWeb(settings)
    answer = Client().post(address, body, content_type="application/json", headers=sign(body, stage.webhook.secret))
    assert answer.status_code == 202
    assert last().state == PushResult.WAITING
    with web.as_worker():
        deliveries.read_delivery(last().pk)
    assert last().state == PushResult.ACCEPTED
