"""A sandbox answers `kubectl create token` in the form of the server; the token opens nothing."""

import base64
import json

import pytest

from applyviz.sandbox.api.http import HttpFace
from tests.sandbox.conftest import NOW

ACCOUNTS = "/api/v1/namespaces/default/serviceaccounts"


@pytest.fixture
def request_token(ask):
    ask("POST", ACCOUNTS, {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "robot"}})

    def send(name="robot", metadata=None, **spec):
        kind = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest"}
        body = {**kind, "metadata": metadata or {}, "spec": spec}
        return ask("POST", f"{ACCOUNTS}/{name}/token", body)

    return send


def test_token_names_its_account_and_its_end(request_token, ask):
    answer = request_token(expirationSeconds=600, audiences=["a"])

    account = ask("GET", f"{ACCOUNTS}/robot").body["metadata"]
    named = answer.body["metadata"]
    assert (answer.status, named["name"], named["uid"]) == (201, "robot", account["uid"])
    assert answer.body["spec"] == {"audiences": ["a"], "expirationSeconds": 600, "boundObjectRef": None}
    assert answer.body["status"]["expirationTimestamp"] == "2026-01-02T03:14:05Z"
    head, claims, signature = answer.body["status"]["token"].split(".")
    head, claims = (json.loads(base64.urlsafe_b64decode(part + "==")) for part in (head, claims))
    assert (head, signature) == ({"alg": "none"}, "")
    assert claims["sub"] == "system:serviceaccount:default:robot"
    assert claims["exp"] - claims["iat"] == 600


def test_token_opens_no_sandbox(request_token, sandbox):
    token = request_token().body["status"]["token"]
    face = HttpFace(sandbox, {"secret-token": "alice"}.get, lambda: NOW)

    assert face.handle("GET", ACCOUNTS, "", {"authorization": f"Bearer {token}"}).status == 401


@pytest.mark.parametrize(
    ("seconds", "detail"),
    [
        (0, "0: may not specify a duration less than 10 minutes"),
        (1, "1: may not specify a duration less than 10 minutes"),
        (2**33, "8589934592: may not specify a duration larger than 2^32 seconds"),
    ],
)
def test_duration_has_limits(request_token, seconds, detail):
    answer = request_token(expirationSeconds=seconds)

    wanted = f'TokenRequest.authentication.k8s.io "" is invalid: spec.expirationSeconds: Invalid value: {detail}'
    assert (answer.status, answer.message) == (422, wanted)


REQUEST = 'TokenRequest.authentication.k8s.io "robot"'


@pytest.mark.parametrize(
    ("metadata", "status", "message"),
    [
        (
            {"name": "other"},
            422,
            f'{REQUEST} is invalid: metadata.name: Invalid value: "other": '
            "must match the service account name if specified",
        ),
        (
            {"namespace": "other"},
            400,
            "the namespace of the provided object does not match the namespace sent on the request",
        ),
        (
            {"uid": "x"},
            409,
            f"Operation cannot be fulfilled on {REQUEST}: "
            "the UID in the token request (x) does not match the UID of the service account (",
        ),
    ],
)
def test_request_about_another_account_is_refused(request_token, metadata, status, message):
    answer = request_token(metadata=metadata)

    assert answer.status == status
    assert answer.message.startswith(message)


UNREADABLE = 'TokenRequest in version "v1" cannot be handled as a TokenRequest: json: cannot unmarshal'


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ({"audiences": "a"}, "string into Go struct field TokenRequestSpec.spec.audiences of type []string"),
        ({"audiences": [1]}, "number into Go struct field TokenRequestSpec.spec.audiences of type string"),
        (
            {"expirationSeconds": "600"},
            "string into Go struct field TokenRequestSpec.spec.expirationSeconds of type int64",
        ),
        (
            {"expirationSeconds": True},
            "bool into Go struct field TokenRequestSpec.spec.expirationSeconds of type int64",
        ),
        (
            {"boundObjectRef": "x"},
            "string into Go struct field TokenRequestSpec.spec.boundObjectRef of type v1.BoundObjectReference",
        ),
    ],
)
def test_value_of_another_type_is_refused(request_token, spec, message):
    answer = request_token(**spec)

    assert (answer.status, answer.message) == (400, f"{UNREADABLE} {message}")


def test_object_of_another_kind_is_no_request(request_token, ask):
    body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "x"}}
    answer = ask("POST", f"{ACCOUNTS}/robot/token", body)

    reason = "converting (v1.ConfigMap) to (authentication.TokenRequest): unknown conversion"
    assert (answer.status, answer.message) == (
        400,
        f'ConfigMap in version "v1" cannot be handled as a TokenRequest: {reason}',
    )


def make_bound(ask):
    """Create a Pod of the account, one of another account, and a Secret."""
    for name, account in (("robots", {"serviceAccountName": "robot"}), ("others", {})):
        spec = {**account, "containers": [{"name": "c", "image": "i"}]}
        made = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": spec}
        assert ask("POST", "/api/v1/namespaces/default/pods", made).status == 201
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}}
    assert ask("POST", "/api/v1/namespaces/default/secrets", secret).status == 201


@pytest.mark.parametrize(
    ("bound", "status", "message"),
    [
        ({"kind": "Pod", "apiVersion": "v1", "name": "robots"}, 201, ""),
        ({"kind": "Pod", "name": "robots"}, 201, ""),
        ({"kind": "Secret", "apiVersion": "v1", "name": "s"}, 201, ""),
        ({"kind": "Pod", "apiVersion": "v1", "name": "absent"}, 404, 'pods "absent" not found'),
        ({"kind": "Node", "apiVersion": "v1", "name": "absent"}, 404, 'nodes "absent" not found'),
        (
            {"kind": "Pod", "apiVersion": "v1", "name": "others"},
            400,
            'cannot bind token for serviceaccount "robot" to pod running with different serviceaccount name.',
        ),
        (
            {"kind": "Secret", "apiVersion": "v1", "name": "s", "uid": "x"},
            409,
            'Operation cannot be fulfilled on Secret "s": the UID in the bound object reference (x) does not match the '
            "UID in record. The object might have been deleted and then recreated",
        ),
        (
            {"kind": "ConfigMap", "apiVersion": "v1", "name": "c"},
            400,
            "cannot bind token to object of type /v1, Kind=ConfigMap",
        ),
        (
            {"kind": "Pod", "apiVersion": "apps/v1", "name": "robots"},
            400,
            "cannot bind token to object of type apps/v1, Kind=Pod",
        ),
        ({}, 400, "cannot bind token to object of type /, Kind="),
        ({"kind": "Pod", "apiVersion": "v1"}, 400, "Name parameter required."),
        ({"kind": "Pod", "name": "a/b"}, 400, "Name parameter invalid: \"a/b\": may not contain '/'"),
        ({"kind": "Secret", "name": ".."}, 400, "Name parameter invalid: \"..\": may not be '..'"),
    ],
)
def test_token_is_bound_to_an_object_of_its_account(request_token, ask, bound, status, message):
    make_bound(ask)

    answer = request_token(boundObjectRef=bound)

    assert (answer.status, answer.message) == (status, message)
    assert status != 201 or answer.body["spec"]["boundObjectRef"] == bound


def test_answer_keeps_the_metadata_of_the_request(request_token):
    given = {"generateName": "a", "labels": {"a": "b"}, "annotations": {"c": "d"}}
    answer = request_token(metadata=given)

    named = {"name": "robot", "namespace": "default"}
    shown = {name: answer.body["metadata"][name] for name in (*given, *named)}
    assert shown == {**given, **named}


def test_absent_account_has_no_token(request_token):
    assert request_token("absent").status == 404


def test_pod_without_a_node_has_an_empty_log(ask, sandbox):
    pod = {"containers": [{"name": "c", "image": "i"}]}
    ask(
        "POST",
        "/api/v1/namespaces/default/pods",
        {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": pod},
    )
    face = HttpFace(sandbox, {"secret-token": "alice"}.get, lambda: NOW)

    path, headers = "/api/v1/namespaces/default/pods/p/log", {"authorization": "Bearer secret-token"}
    answer = face.handle("GET", path, "", headers)
    other = face.handle("GET", path, "container=other", headers)

    assert (answer.status, answer.body) == (200, b"")
    assert (other.status, json.loads(other.body)["message"]) == (400, "container other is not valid for pod p")


def test_object_whose_name_is_log_is_read(ask, sandbox):
    ask(
        "POST",
        "/api/v1/namespaces/default/configmaps",
        {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "log"}, "data": {"a": "b"}},
    )
    face = HttpFace(sandbox, {"secret-token": "alice"}.get, lambda: NOW)
    headers = {"authorization": "Bearer secret-token"}

    answer = face.handle("GET", "/api/v1/namespaces/default/configmaps/log", "", headers)

    assert (answer.status, json.loads(answer.body)["data"]) == (200, {"a": "b"})
