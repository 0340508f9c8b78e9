"""A set whose namespace and kind are its own, planned against a real API server: is what was said what then is?"""

from __future__ import annotations

import pytest

from applyviz.clusters import live
from applyviz.clusters.kubeconfig import read_kubeconfig
from applyviz.engine.manifests.parse import parse_manifests
from applyviz.engine.planning.model import placeholders
from applyviz.engine.planning.model.plan import Certainty, Operation
from applyviz.engine.planning.objects.context import PlanningContext
from applyviz.engine.planning.sets.planner import SetPlanner, drive
from applyviz.engine.requests.options import ApplyMode, ApplyOptions
from applyviz.engine.schema.builtin import bundled
from applyviz.sandbox.api.estimates import EstimatingServer
from applyviz.workflow.plans.outcome_check import find_broken

pytestmark = pytest.mark.controlplane
SET = """\
apiVersion: v1
kind: Namespace
metadata: {name: NAMESPACE, labels: {team: a}}
---
apiVersion: batch/v1
kind: Job
metadata: {name: once, namespace: NAMESPACE}
spec: {template: {spec: {restartPolicy: Never, containers: [{name: once, image: busybox}]}}}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: none, namespace: NAMESPACE}
rules: []
---
apiVersion: v1
kind: Service
metadata: {name: web, namespace: NAMESPACE}
spec: {type: NodePort, selector: {app: web}, ports: [{port: 80}]}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: NAMESPACE, labels: {}}
spec:
  minReadySeconds: 0
  paused: false
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {nodeSelector: {}, containers: [{name: web, image: nginx, env: [{name: EMPTY, value: ""}]}]}
"""


@pytest.fixture(scope="module")
def send(control_plane):
    transport = live.from_credential(read_kubeconfig(control_plane.kubeconfig.read_bytes(), context="test"))
    yield transport.send
    transport.close()


def plan(text, options, send):
    documents = parse_manifests(text.encode(), "set.yaml").documents
    context = PlanningContext(bundled(), "2026-06-01T00:00:00Z", server=EstimatingServer())
    planner = SetPlanner(documents, options=options, context=context)
    list(drive(planner, lambda requests: [send(r) for r in requests]))
    return planner.plan().changes


@pytest.mark.core(1)
@pytest.mark.parametrize("mode", list(ApplyMode))
def test_estimates_and_jobs_are_what_the_server_makes_of_them(send, mode):
    text = SET.replace("NAMESPACE", f"estimated-{mode}")
    options = ApplyOptions(mode=mode)
    changes = plan(text, options, send)
    assert {c.operation for c in changes} == {Operation.CREATE}

    broken = {}
    for change in changes:
        (request,) = change.requests
        answer = send(placeholders.fill(request, None))
        assert answer.is_ok, answer.message
        kind, promised = bundled().find_kind(change.ref.gvk), change.versions.after or {}
        # Held to it as if it had been confirmed: nothing may come on top but what only the server can choose.
        broken[str(change.ref)] = find_broken(promised, answer.body, root=kind and kind.root, is_confirmed=True)
    assert {ref: found for ref, found in broken.items() if found} == {}

    again = plan(text, options, send)
    assert {c.operation for c in again} == {Operation.UNCHANGED}
    assert {c.certainty for c in again} == {Certainty.CONFIRMED}
