"""Does the family `risks` notice risks that are false or missing? Each test plants one."""

from __future__ import annotations

import pytest

from applyviz.conformance import risks
from applyviz.conformance.inputs import ApplyInput, Planned, plan_all, read_documents
from applyviz.engine.requests.options import ApplyMode
from applyviz.engine.risks.model import RiskKind
from tests.conformance.unjudged import UNJUDGED

DEPLOYMENT = """
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template: {metadata: {labels: {app: web}}, spec: {containers: [{name: web, image: 'web:1'}]}}
"""
POLICY = """
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: {name: web}
spec: {podSelector: {}, ingress: [{from: [{podSelector: {}}], ports: [{port: 80}]}]}
"""
ROLE = """
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: r}
rules: [{apiGroups: [''], resources: [pods], verbs: [get]}]
"""
SECRET = "{apiVersion: v1, kind: Secret, metadata: {name: s}, data: {a: eA==}}"
CASES = [
    (RiskKind.PODS_RESTART, DEPLOYMENT, DEPLOYMENT.replace("web:1", "web:2")),
    (
        RiskKind.TEMPLATE_WAITS,
        DEPLOYMENT,
        DEPLOYMENT.replace("web:1", "web:2").replace("spec:\n", "spec:\n  paused: true\n"),
    ),
    (RiskKind.IMMUTABLE_FIELD, DEPLOYMENT, DEPLOYMENT.replace("app: web", "app: net")),
    (RiskKind.UNKNOWN_FIELD, DEPLOYMENT, DEPLOYMENT.replace("replicas: 2", "replica: 2")),
    (RiskKind.REPEATING_PATCH, POLICY, POLICY.replace("80", "81")),
    (RiskKind.SECRET_CONTENT, SECRET, SECRET.replace("eA==", "eQ==")),
    (RiskKind.RBAC_CHANGED, ROLE, ROLE.replace("get", "list")),
]


def plan(before: str, after: str) -> Planned:
    given = ApplyInput("x", read_documents(after), before=((read_documents(before), ApplyMode.CLIENT),))
    return next(plan_all(given))


@pytest.mark.parametrize(("kind", "before", "after"), CASES, ids=[str(kind) for kind, *_rest in CASES])
def test_risk_that_is_missing_is_noticed(kind, before, after):
    planned = plan(before, after)
    told = {risk.kind for risk in planned.change.risks}

    assert list(risks.find_wrong(risks.Facts(planned), told)) == []
    assert list(risks.find_wrong(risks.Facts(planned), told - {kind})) == [f"{kind.value} is missing"]


@pytest.mark.parametrize("kind", sorted(risks.PREDICATES))
def test_risk_that_is_false_is_noticed(kind):
    planned = plan("{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {k: a}}", SAME)

    assert list(risks.find_wrong(risks.Facts(planned), {kind})) == [f"{kind.value} is false"]


SAME = "{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {k: b}}"


def test_every_kind_is_judged_or_has_a_reason():
    assert {*risks.PREDICATES, *UNJUDGED} == set(RiskKind)
    assert not set(risks.PREDICATES) & set(UNJUDGED)
