"""kubectl sends patches that change nothing; the plan sends none, and says what kubectl would send and why."""

from __future__ import annotations

import json

import pytest

from applyviz.engine.objects.exchange import JSON_PATCH, Request
from applyviz.engine.planning.model.plan import Operation
from applyviz.engine.requests.options import ApplyMode, ApplyOptions
from applyviz.sandbox.api.estimates import EstimatingServer
from tests.engine.planning.cluster import Box

CLIENT = ApplyOptions(mode=ApplyMode.CLIENT, field_manager="kubectl-client-side-apply")
ESTIMATED = {"can_dry_run": False, "server": EstimatingServer()}
IDLE = "nothing changes, so nothing is sent; kubectl would send "
WEB = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers: [{name: web, image: "web:1"}]
      volumes: [{name: tmp, emptyDir: null}]
"""
ROLE = "{apiVersion: rbac.authorization.k8s.io/v1, kind: Role, metadata: {name: none, labels: {}}, rules: []}"
SECRET = "{apiVersion: v1, kind: Secret, metadata: {name: s}, stringData: {a: b}}"
CONFIG = "{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {a: b}}"
SERVICE = """\
apiVersion: v1
kind: Service
metadata: {name: web}
spec: {selector: {app: web}, ports: [{name: http, port: 8080}]}
"""


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (
            WEB,
            f'{IDLE}spec.template.spec.volumes[name="tmp"].emptyDir '
            "(it is null here, and the server sets its default again)",
        ),
        (ROLE, f"{IDLE}rules (the server keeps it in another form), and 1 more"),
        (SECRET, ""),
    ],
)
def test_patch_without_effect_is_explained(text, reason):
    box = Box()
    box.apply(text, CLIENT)

    confirmed, estimated = box.plan_one(text, CLIENT), box.plan_one(text, CLIENT, **ESTIMATED)

    assert [(c.operation, c.requests) for c in (confirmed, estimated)] == [(Operation.UNCHANGED, ())] * 2
    assert confirmed.certainty_reason == reason
    assert estimated.certainty_reason == "; ".join(filter(None, ("no dry run was asked for", reason)))


def test_patch_of_an_order_alone_is_explained():
    box = Box()
    box.apply(SERVICE, CLIENT)
    port = [{"op": "add", "path": "/spec/ports/-", "value": {"name": "sidecar", "port": 15020}}]
    added = box.handle(Request("PATCH", "/api/v1/namespaces/default/services/web", {}, JSON_PATCH, port))
    assert added.is_ok, json.dumps(added.body)

    change = box.plan_one(SERVICE, CLIENT)

    assert (change.operation, change.certainty_reason) == (Operation.UNCHANGED, f"{IDLE}the order of the entries")


def test_nothing_is_said_where_kubectl_sends_nothing():
    box = Box()
    box.apply(CONFIG, CLIENT)

    assert box.plan_one(CONFIG, CLIENT).certainty_reason == "nothing needs to be sent"
