"""A Secret under policies and beside webhooks: nothing that everyone sees of a plan depends on what is live.

Policies count changed objects, ask for more approvals where there is a risk, and apply to the namespaces that a plan
writes to. Two plans differ in one thing only: the manifest of a Secret equals what is live, or it does not.
"""

from __future__ import annotations

import pytest
import yaml
from django.utils import timezone

from applyviz.engine.requests.options import ApplyMode, Replacement
from applyviz.engine.risks.deletions import REPLACED
from applyviz.engine.risks.planning.ownership import FORCED
from applyviz.engine.risks.planning.whole import MANY_OBJECTS
from applyviz.engine.risks.reach import SYSTEM_NAMESPACE
from applyviz.records.models import Delivery, Notification, Webhook
from applyviz.records.sealing import Unsealed
from applyviz.workflow import policies
from applyviz.workflow.approvals import acknowledgments
from applyviz.workflow.notifications import events
from applyviz.workflow.policies.owners import OwnerOf, OwnerRule
from applyviz.workflow.policies.rules import RiskDemand
from tests.attacks.test_identical_pages import RIGHT, WRONG
from tests.builders import make_policy
from tests.stories import Team, config_map, secret

pytestmark = [pytest.mark.attacks, pytest.mark.django_db]
OWNERS = (OwnerRule(OwnerOf.KIND, "core/Secret", "security", 2), OwnerRule(OwnerOf.FILE, "**", "everyone", 2))
TWO_FOR = tuple(RiskDemand(kind, 2) for kind in (MANY_OBJECTS, FORCED, REPLACED))


def elsewhere(**data: str) -> str:
    """A ConfigMap in another namespace than the Secret."""
    found = yaml.safe_load(config_map(**data))
    return yaml.safe_dump({**found, "metadata": {"name": "settings", "namespace": "kube-public"}})


def find_needed(team: Team, value: str, space: str) -> list[object]:
    """Return what plans with a guess need: their namespaces, their approvals, and their acknowledgments for size."""
    text = yaml.safe_dump({**yaml.safe_load(secret(password=value)), "metadata": {"name": "login", "namespace": space}})
    chosen = Replacement(kinds=("core/Secret",))
    found: list[object] = []
    for options in ({"takes_over": True}, {}, {"replacement": chosen}, {"mode": ApplyMode.CLIENT}):
        plan = team.plan(text, elsewhere(b="2"), **options)
        policy = policies.find_policy(plan)
        large = [one.kind for one in acknowledgments.list_required(plan) if one.position == acknowledgments.PLAN_ITSELF]
        found.append((policies.list_scopes(plan), policy.version, policies.find_demands(plan, policy), large))
    return found


@pytest.mark.core(1)
@pytest.mark.parametrize("space", ["default", "kube-system"])
def test_what_a_plan_needs_does_not_depend_on_what_is_live(monkeypatch, space: str) -> None:
    team = Team().wire_up(monkeypatch)
    text = yaml.safe_dump({**yaml.safe_load(secret(password=WRONG)), "metadata": {"name": "login", "namespace": space}})
    assert team.apply(text, elsewhere(b="1")).state == "applied"
    live = {"stringData": {"password": RIGHT}, "immutable": True}
    assert team.edit(f"/api/v1/namespaces/{space}/secrets/login", live).is_ok
    make_policy(many_objects=1, for_risks=(*TWO_FOR, RiskDemand(SYSTEM_NAMESPACE, 3)), owners=OWNERS)
    make_policy("of the namespace", namespace=space, approvals=4, is_cluster_scoped=False)

    right, wrong = (find_needed(team, value, space) for value in (RIGHT, WRONG))

    assert right == wrong


def test_webhook_hears_of_a_plan_whatever_the_server_says_about_its_secret(monkeypatch) -> None:
    team = Team().wire_up(monkeypatch)
    assert team.apply(secret(password=WRONG), config_map(b="1")).state == "applied"
    live = {"stringData": {"password": RIGHT}, "immutable": True}
    assert team.edit("/api/v1/namespaces/default/secrets/login", live).is_ok
    events.send_pending()
    since = timezone.now()
    Webhook.objects.create(
        name="chat",
        url="https://chat.example",
        secret=Unsealed.of_bytes(b"s" * 32),
        created_at=since,
        created_by=team.alice,
    )

    plans = [team.plan(secret(password=value), config_map(b="2"), takes_over=True) for value in (RIGHT, WRONG)]
    events.send_pending()

    assert [plan.changes.filter(operation="error").count() for plan in plans] == [0, 1]
    told = Notification.objects.filter(person=team.bob, notification_event__at__gte=since)
    assert [one.notification_event.event for one in Delivery.objects.order_by("pk")] == ["review.needs_you"] * 2
    assert [one.notification_event.facts["plan"]["digest"] for one in told] == [plans[0].digest]
