"""Why an object can no longer be applied as approved, although nobody changed its values."""

import pytest

from applyviz.engine.objects.exchange import Request
from applyviz.records.enums import RunState
from tests.stories import config_map

pytestmark = pytest.mark.django_db


def test_object_that_conflicts_now_is_said_to_conflict(team):
    team.apply(config_map(a="1"))
    run = team.start(team.plan(config_map(a="2")))
    team.apply_as("somebody", config_map(a="1"))

    assert team.work(run).state == RunState.STALE
    assert run.results.get(outcome="stale").detail == "it now has a conflict with somebody: .data.a"


_POLICIES = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolic"
_RULE = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["configmaps"]}


def test_object_that_the_server_refuses_now_is_said_to_be_refused(team):
    """Nothing of the object changed: a policy that came after the review refuses it."""
    run = team.start(team.plan(config_map(a="1")))
    spec = {
        "matchConstraints": {"resourceRules": [_RULE]},
        "validations": [{"expression": "false", "message": "no settings here"}],
    }
    kind = {"apiVersion": "admissionregistration.k8s.io/v1", "metadata": {"name": "none"}}
    team.send(Request("POST", f"{_POLICIES}ies", body={**kind, "kind": "ValidatingAdmissionPolicy", "spec": spec}))
    bound = {"policyName": "none", "validationActions": ["Deny"]}
    team.send(
        Request(
            "POST", f"{_POLICIES}ybindings", body={**kind, "kind": "ValidatingAdmissionPolicyBinding", "spec": bound}
        )
    )

    assert team.work(run).state == RunState.STALE
    detail = run.results.get(outcome="stale").detail
    assert detail.startswith("the API server now refuses it: ")
    assert "no settings here" in detail
