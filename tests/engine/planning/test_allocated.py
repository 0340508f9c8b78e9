"""Is exactly that left out of a promise which only the real server can choose?"""

from __future__ import annotations

import pytest
import yaml

from applyviz.engine.explain.reasons import FieldOperation
from applyviz.engine.planning.model.server_chosen import without_allocated, without_chosen
from tests.controlplane.refusal_sides import load_objects
from tests.engine.planning.test_estimates import BOTH, JOB, SERVICE, paths_of, plan_last

UID = "11111111-1111-4111-8111-111111111111"


def service(**spec):
    return {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "s", "uid": UID}, "spec": spec}


def test_new_object_is_without_its_uid_wherever_it_stands():
    labels = {"controller-uid": UID, "app": "a"}
    spec = {"selector": {"matchLabels": {"controller-uid": UID}}, "list": [{"of": UID}, labels], "none": {}}
    job = {"kind": "Job", "metadata": {"name": "j", "uid": UID, "creationTimestamp": "now"}, "spec": spec}

    assert without_chosen(job, {}, None) == {
        "kind": "Job",
        "metadata": {"name": "j"},
        "spec": {"list": [{}, {"app": "a"}], "none": {}},
    }


def test_new_object_without_a_uid_stays_as_it_is():
    assert without_chosen({"kind": "Job", "metadata": {"name": "j"}}, {}, None) == {
        "kind": "Job",
        "metadata": {"name": "j"},
    }


def test_changed_object_keeps_its_uid():
    held = {"kind": "Job", "metadata": {"uid": UID}, "spec": {"l": UID}}

    assert without_chosen(held, {}, held) == held


def test_address_that_was_asked_for_stays_with_the_list_that_says_the_same():
    answer = service(clusterIP="None", clusterIPs=["None"], ports=[{"port": 80, "nodePort": 30080}])

    kept = without_allocated(answer, service(clusterIP="None"), {})

    assert kept["spec"] == {"clusterIP": "None", "clusterIPs": ["None"], "ports": [{"port": 80}]}


def test_address_that_was_there_before_stays():
    live = service(clusterIP="10.0.0.1", clusterIPs=["10.0.0.1"], ports=[{"port": 80, "nodePort": 30080}])

    assert without_allocated(live, service(), live) == live


def test_address_that_a_patch_clears_stays_as_the_server_answers():
    live = service(clusterIP="None", clusterIPs=["None"])

    assert without_allocated(live, {"spec": {"clusterIP": None}}, live) == live


@BOTH
@pytest.mark.parametrize("can_dry_run", [True, False])
@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("clusterIPs: []", ".spec.clusterIPs"),
        ("clusterIP: null", ".spec.clusterIP"),
        ("type: NodePort, ports: [{port: 80, nodePort: 0}]", '.spec.ports[port=80,protocol="TCP"].nodePort'),
        ("type: LoadBalancer, externalTrafficPolicy: Local, healthCheckNodePort: 0", ".spec.healthCheckNodePort"),
    ],
)
def test_empty_field_of_a_new_service_is_chosen_by_the_server(options, can_dry_run, text, path):
    written = SERVICE.replace("clusterIP: ''", text) if "ports" not in text else SERVICE.split("spec:")[0]
    written = f"{written}spec: {{{text}}}" if "ports" in text else written
    change = plan_last(written, options, can_dry_run=can_dry_run)

    assert paths_of(change, FieldOperation.ALLOCATED) == {path}
    assert not {"clusterIP", "clusterIPs", "healthCheckNodePort"} & {*change.versions.after["spec"]}
    assert "admission-changed" not in {risk.kind.slug for risk in change.risks}


@BOTH
@pytest.mark.parametrize("selector", ["{}", "{matchLabels: {}}", "null"])
def test_empty_selector_of_a_new_job_is_chosen_by_the_server(options, selector):
    text = JOB.replace("spec: {template", f"spec: {{selector: {selector}, template", 1).replace("made", "default")

    assert paths_of(plan_last(text, options, can_dry_run=False), FieldOperation.ALLOCATED) == {".spec.selector"}


@BOTH
def test_requester_of_a_certificate_is_set_by_the_server(options):
    request = next(obj for obj in load_objects() if obj["kind"] == "CertificateSigningRequest")
    nobody = {**request, "spec": {**request["spec"], "username": "", "groups": []}}

    change = plan_last(yaml.safe_dump(nobody), options, can_dry_run=False)

    assert paths_of(change, FieldOperation.ALLOCATED) == {".spec.username", ".spec.groups"}
