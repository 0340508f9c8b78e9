"""Requests for certificates: who asks, approval, the certificate, and what a broken request is refused with."""

import base64
from datetime import UTC, datetime

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding

from applyviz.engine.objects.exchange import JSON, Request
from applyviz.kubernetes.parity.certificate_requests import find_certificate_problem, find_request_problem
from applyviz.kubernetes.v1_36.validation.certificates import validate_request_update
from applyviz.sandbox.api.access_reviews import RequestUser
from applyviz.sandbox.storage.certificate_requests import prepare_request
from tests.controlplane.refusal_sides import load_objects
from tests.pace import measure

REQUESTS = "/apis/certificates.k8s.io/v1/certificatesigningrequests"


@pytest.fixture
def request_of_certificate():
    return next(obj for obj in load_objects() if obj["kind"] == "CertificateSigningRequest")


def test_update_does_not_change_the_spec_of_a_request(ask, request_of_certificate):
    spec = request_of_certificate["spec"]
    made = ask("POST", REQUESTS, {**request_of_certificate, "spec": {**spec, "username": "somebody else"}}).body

    changed = ask("PUT", f"{REQUESTS}/fx", {**request_of_certificate, "spec": {**spec, "usages": ["server auth"]}})

    assert (made["spec"]["username"], "system:masters" in made["spec"]["groups"]) == ("sandbox", True)
    assert changed.body["spec"] == made["spec"]


def test_request_for_a_certificate_is_approved_once(ask, request_of_certificate):
    ask("POST", REQUESTS, request_of_certificate)
    condition = {"type": "Approved", "status": "True", "reason": "ByHand"}

    def write(subresource, *conditions, **status):
        body = {**request_of_certificate, "status": {"conditions": list(conditions), **status}}
        return ask("PUT", f"{REQUESTS}/fx/{subresource}", body)

    approved = write("approval", condition, certificate="eA==").body["status"]
    moment = approved["conditions"][0]["lastUpdateTime"]
    again = write("status", {**condition, "reason": "Other"}).body["status"]
    refusals = [
        write(subresource).body["message"].partition("is invalid: ")[2] for subresource in ("approval", "status")
    ]

    assert approved == {"conditions": [{**condition, "lastUpdateTime": moment, "lastTransitionTime": moment}]}
    assert again == approved
    assert refusals == ['status.conditions: Forbidden: updates may not remove a condition of type "Approved"'] * 2


def test_certificate_is_issued_once(ask, request_of_certificate):
    ask("POST", REQUESTS, request_of_certificate)
    issued, other = (base64.b64encode(make_certificate()).decode() for _ in range(2))

    def write(certificate):
        return ask("PUT", f"{REQUESTS}/fx/status", {**request_of_certificate, "status": {"certificate": certificate}})

    assert write(issued).body["status"]["certificate"] == issued
    assert (
        write(other)
        .body["message"]
        .endswith("status.certificate: Forbidden: updates may not modify existing certificate content")
    )


def make_certificate():
    key, name = Ed25519PrivateKey.generate(), x509.Name([])
    builder = x509.CertificateBuilder(name, name, key.public_key(), 1)
    valid = builder.not_valid_before(datetime(2020, 1, 1, tzinfo=UTC)).not_valid_after(datetime(2119, 1, 1, tzinfo=UTC))
    return valid.sign(key, None).public_bytes(Encoding.PEM)


def test_request_names_who_is_impersonated(sandbox, request_of_certificate):
    caller = RequestUser("ann", ("ops",), "7", (("scope", ("a",)),))

    made = sandbox.handle(Request("POST", REQUESTS, {}, JSON, request_of_certificate), caller=caller).body["spec"]

    assert (made["username"], made["groups"]) == ("ann", ["ops", "system:authenticated"])
    assert (made["uid"], made["extra"]) == ("7", {"scope": ["a"]})


def test_certificates_are_read_one_by_one():
    found = make_certificate()

    assert find_certificate_problem(found + b"text\n" + make_certificate()) == ""
    assert find_certificate_problem(found.replace(b"CERTIFICATE", b"X")) == (
        'only CERTIFICATE PEM blocks are allowed, found "X"'
    )
    assert find_certificate_problem(b"") == ""


@pytest.mark.parametrize(
    "text",
    [
        b"-----BEGIN CERTIFICATE REQUEST-----\n" * 6_000,
        b"-----BEGIN CERTIFICATE REQUEST-----\n" * 6_000 + b"\n-----END OTHER-----\n",
        b"-----BEGIN A-----\nx\n-----END B-----\n" * 6_000,
        b"-----BEGIN A-----\n" + b"a: b\n" * 40_000,
    ],
    ids=["begun", "begun-and-ended-once", "ended-by-another", "headers"],
)
def test_broken_blocks_are_read_in_linear_time(text):
    problem, seconds = measure(find_request_problem, text)

    assert problem == "PEM block type must be CERTIFICATE REQUEST"
    assert seconds < 1


@pytest.mark.parametrize("is_known", [False, True])
def test_many_conditions_and_usages_take_linear_time(is_known):
    conditions = [{"type": f"c{number}", "status": "True"} for number in range(20_000)]
    usages = [f"u{number}" for number in range(20_000)]
    live = {"spec": {"usages": usages}, "status": {"conditions": conditions if is_known else []}}
    obj = {"spec": {}, "status": {"conditions": [dict(one) for one in conditions]}}

    def write():
        prepare_request(obj, live, "status", "2026-01-01T00:00:00Z")
        return sum(1 for _ in validate_request_update(obj, live, "status"))

    assert measure(write)[1] < 2


def test_condition_keeps_the_time_at_which_it_got_its_status():
    known = [
        {"type": "Failed", "status": "True"},
        {"type": "Failed", "status": "True", "lastTransitionTime": "2025-01-01T00:00:00Z"},
        {"type": "Failed", "status": "True", "lastTransitionTime": "2025-02-02T00:00:00Z"},
    ]
    obj = {"status": {"conditions": [{"type": "Failed", "status": "True"}, {"type": "Failed", "status": "False"}]}}

    prepare_request(obj, {"spec": {}, "status": {"conditions": known}}, "status", "2026-01-01T00:00:00Z")

    times = [one["lastTransitionTime"] for one in obj["status"]["conditions"]]
    assert times == ["2025-01-01T00:00:00Z", "2026-01-01T00:00:00Z"]


def test_blocks_of_one_end_are_read_in_linear_time():
    """The lines between a beginning and the one end are not copied for each beginning."""
    problem, seconds = measure(find_request_problem, b"-----BEGIN A-----\n" * 60_000 + b"\n-----END A-----\n")

    assert problem == "PEM block type must be CERTIFICATE REQUEST"
    assert seconds < 1
