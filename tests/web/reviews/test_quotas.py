"""Whether the pods of a plan fit: read live with the plan, said on the Overview, a high risk where they do not."""

from __future__ import annotations

import pytest
import yaml
from django.urls import reverse

from applyviz.engine.objects.exchange import Request
from tests.blockers import name_blockers
from tests.stories import Team
from tests.web import reading
from tests.web.runs.test_retry import browser

pytestmark = pytest.mark.django_db
QUOTAS = "/api/v1/namespaces/default/resourcequotas"


def limit(team: Team, **hard: str) -> None:
    """A quota of which nothing is used yet."""
    body = {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "compute"}, "spec": {"hard": hard}}
    assert team.send(Request("POST", QUOTAS, {}, "application/json", body)).is_ok
    used = {**body, "status": {"hard": hard, "used": dict.fromkeys(hard, "0")}}
    assert team.send(Request("PUT", f"{QUOTAS}/compute/status", {}, "application/json", used)).is_ok


def deployment(replicas: int, **requests: str) -> str:
    container = {"name": "web", "image": "shop/web:1", "resources": {"requests": {"cpu": "500m", **requests}}}
    pod = {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [container]}}
    spec = {"replicas": replicas, "selector": {"matchLabels": {"app": "web"}}, "template": pod}
    return yaml.safe_dump({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"}, "spec": spec})


def read(team: Team, plan) -> str:
    url = reverse("reviews:show-overview", args=[plan.review.number, plan.number])
    return reading.text_of(reading.read(browser(team.bob), url))


def test_overview_says_what_fits(team):
    limit(team, **{"requests.cpu": "2", "pods": "9"})

    text = read(team, team.plan(deployment(4)))

    assert "default compute pods 0 4 9 ✓ fits" in text
    assert "default compute requests.cpu 0 2 2 ✓ fits" in text
    assert "Does not fit the quota" not in text


def test_overview_sums_amounts_that_no_node_has(team):
    text = read(team, team.plan(deployment(2, cpu="1e60", memory="1e99999999999999999999")))

    assert f"2{'0' * 60}" in text


def test_pods_that_do_not_fit_are_a_high_risk_to_acknowledge(team):
    limit(team, **{"requests.cpu": "2"})

    plan = team.plan(deployment(5))

    text = read(team, plan)
    assert "default compute requests.cpu 0 2500m 2 × exceeds" in text  # noqa: RUF001 the cross is drawn
    assert "Does not fit the quota" in text
    assert "1 risk to acknowledge" in " ".join(name_blockers(plan))


def test_quota_that_may_not_be_read_is_not_checked(team):
    team.wire.unreadable.add(QUOTAS)

    text = read(team, team.plan(deployment(1)))

    assert "default all – – – ? not checked (403)" in text  # noqa: RUF001 a dash for nothing
    assert "Does not fit" not in text


def test_namespace_without_a_quota_says_so(team):
    assert "No ResourceQuota in these namespaces." in read(team, team.plan(deployment(1)))
