"""Removals on the pages of a review: none that a server would undo, and the true reason of one that it makes."""

from __future__ import annotations

import pytest
from django.test import Client
from django.urls import reverse

from applyviz.engine.explain.reasons import FieldOperation, Reason
from applyviz.engine.objects.exchange import STRATEGIC_MERGE_PATCH, Request
from applyviz.engine.objects.paths import render_path
from applyviz.engine.planning.model.plan import Operation
from applyviz.engine.requests.options import ApplyMode
from applyviz.engine.risks.lists import SHARED_MERGE_KEY
from applyviz.engine.risks.model import RiskLevel
from applyviz.web.components.object_links import link_alone
from applyviz.workflow.plans import changes

pytestmark = pytest.mark.django_db
CLIENT = {"mode": ApplyMode.CLIENT, "field_manager": "kubectl-client-side-apply"}
WEB = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: web, image: "nginx:1", ports: [{containerPort: 80}]}]}
"""
UDP, METRICS = "{name: udp, port: 53, protocol: UDP}", "{name: metrics, port: 9153}"
DNS = f"apiVersion: v1\nkind: Service\nmetadata: {{name: dns}}\nspec: {{ports: [PORTS{UDP}, {METRICS}]}}\n"
WHY = "Removed although your manifest contains it: another entry with the same"


def read(team, address):
    browser = Client()
    browser.force_login(team.alice)
    return browser.get(address).content.decode()


def test_takeover_that_a_conflict_blocks_shows_no_removal(team):
    team.apply(WEB, **CLIENT)
    image = {"spec": {"template": {"spec": {"containers": [{"name": "web", "image": "nginx:9"}]}}}}
    path = "/apis/apps/v1/namespaces/default/deployments/web"
    team.send(Request("PATCH", path, {"fieldManager": "kubectl-set"}, STRATEGIC_MERGE_PATCH, image))

    plan = team.plan(WEB)

    change = changes.read_masked(plan.changes.get())
    assert change.operation is Operation.BLOCKED
    cleared = [render_path(one.path) for one in change.fields if one.operation is FieldOperation.CLEARED]
    assert [path for path in cleared if not path.startswith(".metadata.annotations")] == []
    page = read(team, link_alone(plan, 0))
    assert "conflict" in page.lower()
    assert [name for name in ("revisionHistoryLimit", "dnsPolicy", "restartPolicy") if f"{name}</" in page] == []


def test_entry_that_the_merge_removes_with_another_has_its_reason_and_a_high_risk(team):
    team.apply(DNS.replace("PORTS", "{name: tcp, port: 53, protocol: TCP}, "), **CLIENT)

    plan = team.plan(DNS.replace("PORTS", ""), **CLIENT)

    change = changes.read_masked(plan.changes.get())
    assert [(risk.kind, risk.level) for risk in change.risks] == [(SHARED_MERGE_KEY, RiskLevel.HIGH)]
    assert Reason.SHARED_MERGE_KEY in {one.reason for one in change.fields}
    assert WHY in read(team, link_alone(plan, 0))
    risks = read(team, reverse("reviews:show-risks", args=[plan.review.number, plan.number]))
    assert SHARED_MERGE_KEY.title in risks


def test_example_of_the_guide_opens_with_the_same_reason_and_risk(client, db):
    page = client.get(reverse("playground:show-answer", args=["duplicates-1"])).content.decode()

    assert WHY in page
    assert "is removed although the manifest contains it: the patch removes every entry with port 53." in page
