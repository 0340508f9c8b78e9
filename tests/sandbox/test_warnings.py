"""Warnings about objects that are accepted: the words of a real server, and when an update repeats them."""

from pathlib import Path

import pytest
import yaml

from applyviz.engine.objects.exchange import MERGE_PATCH
from applyviz.kubernetes.v1_36.validation.addresses import validate_network
from applyviz.kubernetes.v1_36.warnings.pods import warn_of_claim
from applyviz.sandbox.storage.resources import builtin_resources
from tests.yaml_files import read_yaml

RECORDED = read_yaml(Path(__file__).parent / "data" / "warnings.yaml")
OBJECTS = list(yaml.safe_load_all((Path(__file__).parents[1] / "controlplane" / "kubectl-warnings.yaml").read_text()))
NODE = 'spec.template.spec.nodeSelector[beta.kubernetes.io/os]: deprecated since v1.14; use "kubernetes.io/os" instead'


def find_path(obj, name=""):
    resources = builtin_resources().values()
    found = next(r for r in resources if (r.gvk.kind, r.gvk.api_version) == (obj["kind"], obj["apiVersion"]))
    return found.path("default" if found.is_namespaced else "", name)


@pytest.mark.parametrize("obj", OBJECTS, ids=lambda obj: f"{obj['kind']}/{obj['metadata']['name']}")
def test_new_object_has_the_warnings_of_the_server(ask, obj):
    answer = ask("POST", find_path(obj), obj)

    assert (answer.status, list(answer.warnings)) == (201, RECORDED[f"{obj['kind']}/{obj['metadata']['name']}"])


def make_workload(kind, group="apps/v1", **spec):
    pods = {"nodeSelector": {"beta.kubernetes.io/os": "linux"}, "containers": [{"name": "c", "image": "i"}]}
    template = {"metadata": {"labels": {"app": "x"}}, "spec": pods}
    selector = {"app": "x"} if kind == "ReplicationController" else {"matchLabels": {"app": "x"}}
    body = {"selector": selector, "template": template, **spec}
    return {"apiVersion": group, "kind": kind, "metadata": {"name": "x"}, "spec": body}


@pytest.mark.parametrize(
    ("kind", "group"),
    [("Deployment", "apps/v1"), ("DaemonSet", "apps/v1"), ("ReplicationController", "v1")],
)
def test_update_repeats_warnings_only_if_it_changes_the_spec(ask, kind, group):
    path = find_path(workload := make_workload(kind, group), "x")
    assert ask("POST", find_path(workload), workload).warnings == (NODE,)

    labels = ask("PATCH", path, {"metadata": {"labels": {"a": "b"}}}, MERGE_PATCH)
    image = {"spec": {"template": {"spec": {"containers": [{"name": "c", "image": "j"}]}}}}
    status = ask("PATCH", f"{path}/status", {"status": {"observedGeneration": 1}}, MERGE_PATCH)

    assert (labels.status, labels.warnings) == (200, ())
    assert (status.status, status.warnings) == (200, ())
    assert ask("PATCH", path, image, MERGE_PATCH).warnings == (NODE,)


def test_scale_of_a_workload_repeats_its_warnings(ask):
    workload = make_workload("Deployment", replicas=1)
    ask("POST", find_path(workload), workload)

    answer = ask("PATCH", find_path(workload, "x") + "/scale", {"spec": {"replicas": 2}}, MERGE_PATCH)

    assert (answer.status, answer.warnings) == (200, (NODE,))


def test_server_warns_about_the_template_that_a_replication_controller_had(ask):
    workload = make_workload("ReplicationController", "v1")
    ask("POST", find_path(workload), workload)

    mended = ask(
        "PATCH", find_path(workload, "x"), {"spec": {"template": {"spec": {"nodeSelector": None}}}}, MERGE_PATCH
    )

    assert (mended.status, mended.warnings) == (200, (NODE,))


def test_refusals_after_validation_have_the_warnings_too(ask):
    workload = make_workload("Deployment")
    ask("POST", find_path(workload), workload)

    again = ask("POST", find_path(workload), workload)
    invalid = ask("POST", find_path(workload), make_workload("Deployment", replicas=-1))

    assert (again.status, again.warnings) == (409, (NODE,))
    assert (invalid.status, invalid.warnings) == (422, ())


@pytest.mark.parametrize(
    ("memory", "is_warned"),
    [
        ("1Gi", False),
        ("1e60", False),
        ("1" * 1_000_000, True),
        ("1500m", True),
        (f"0.{'1' * 1_000_000}", True),
        ("1.9999", False),
    ],
    ids=("binary", "exponent", "many digits", "milli", "long fraction", "rounded up"),
)
def test_fraction_of_a_byte_is_warned_of_whatever_its_size(memory, is_warned):
    """A million digits take minutes where the cost is not linear in them."""
    spec = {"resources": {"requests": {"storage": memory}}}

    assert bool(list(warn_of_claim(spec, "spec"))) == is_warned


@pytest.mark.parametrize("method", ["GET", "DELETE"])
def test_every_request_to_a_deprecated_resource_says_so(ask, method):
    answer = ask(method, "/api/v1/namespaces/default/endpoints/absent")

    assert answer.status == 404
    assert answer.warnings == ("v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice",)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("10.0.0.0/8", ""),
        ("2001:DB8::/32", ""),
        ("10.0.0.1/8", "must not have bits set beyond the prefix length"),
        ("::ffff:10.0.0.0/104", "must not have an IPv4-mapped IPv6 address"),
        ("010.0.0.0/8", "must not have leading 0s in IP or prefix length"),
        ("10.0.0.0/08", "must not have leading 0s in IP or prefix length"),
        ("10.0.0.0", "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)"),
        ("10.0.0.0/33", "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)"),
        ("10.0.0.0/255.0.0.0", "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)"),
    ],
)
def test_network_is_refused_in_the_words_of_the_server(text, problem):
    problems = [str(error) for error in validate_network(text, "cidr")]

    assert problems == ([f'cidr: Invalid value: "{text}": {problem}'] if problem else [])


def add_policy(ask, name, action):
    admission = "/apis/admissionregistration.k8s.io/v1"
    rule = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["configmaps"]}
    spec = {"matchConstraints": {"resourceRules": [rule]}, "validations": [{"expression": "false", "message": name}]}
    ask("POST", f"{admission}/validatingadmissionpolicies", {"metadata": {"name": name}, "spec": spec})
    binding = {"policyName": name, "validationActions": [action]}
    ask("POST", f"{admission}/validatingadmissionpolicybindings", {"metadata": {"name": name}, "spec": binding})


def test_denied_request_has_the_warnings_of_other_policies(ask):
    add_policy(ask, "denying", "Deny")
    add_policy(ask, "warning", "Warn")

    answer = ask("POST", "/api/v1/namespaces/default/configmaps", {"metadata": {"name": "a"}})

    assert answer.status == 422
    assert [text.endswith(": warning") for text in answer.warnings] == [True]
