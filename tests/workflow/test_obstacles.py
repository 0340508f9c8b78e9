"""The reasons why an object can no longer be applied as approved, although its values are unchanged."""

import pytest

from applyviz.engine.objects.exchange import Request
from applyviz.records.enums import RunState
from tests.stories import config_map

pytestmark = pytest.mark.django_db


def test_stale_result_names_a_new_conflict(team):
    team.apply(config_map(a="1"))
    run = team.start(team.plan(config_map(a="2")))
    team.apply_as("somebody", config_map(a="1"))

    assert team.work(run).state == RunState.STALE
    assert run.results.get(outcome="stale").detail == "it now has a conflict with somebody: .data.a"


_POLICIES = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolic"
_RULE = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["configmaps"]}


def test_stale_result_names_the_refusal_of_the_server(team):
    """An admission policy that was created after the approval refuses the unchanged object."""
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
