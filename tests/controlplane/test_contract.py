"""The real API server keeps the contract that the sandbox keeps.

`APPLYVIZ_RECORD_CONTRACT=1` writes its answers into the stories instead of comparing them.
"""

import json
import os
import re
import ssl
import time
import urllib.error
import urllib.parse
import urllib.request
from typing import Any

import pytest

from applyviz.engine.objects.exchange import JSON, Answer, Request
from tests.controlplane.controlplane import ADMIN_TOKEN, ControlPlane
from tests.sandbox.contract import CONTROLLED, Send, judge_story, list_stories, load_story, record_story, save_story

pytestmark = pytest.mark.controlplane
POLICIES = "/apis/admissionregistration.k8s.io/v1"
WARNING = re.compile(r'299 - "(.*)"\Z')


def make_sender(plane: ControlPlane):
    """Plain requests of an administrator, without any client library between."""
    context = ssl.create_default_context(cadata=plane.authority.decode())

    def send(request: Request) -> Answer:
        query = f"?{urllib.parse.urlencode(dict(request.query))}" if request.query else ""
        body = None if request.body is None else json.dumps(request.body).encode()
        headers = {
            "Authorization": f"Bearer {ADMIN_TOKEN}",
            "Content-Type": request.content_type or JSON,
            "Accept": JSON,
            "User-Agent": "contract/1",
        }
        call = urllib.request.Request(
            plane.url + request.path + query, data=body, method=request.method, headers=headers
        )
        try:
            response = urllib.request.urlopen(call, context=context)
        except urllib.error.HTTPError as error:
            response = error
        with response:
            text = response.read().decode()
            warnings = response.headers.get_all("Warning") or []
        found = tuple(m.group(1).replace('\\"', '"') for w in warnings if (m := WARNING.match(w)))
        return Answer(response.status, json.loads(text) if text.startswith("{") else text, found)

    return send


def _wait_for_controllers() -> None:
    """Give controllers time to do what they must not do; what they do, they do within milliseconds."""
    time.sleep(3)


class PolicyWaiter:
    """Waits until the server heeds the policies that were written or deleted so far.

    The server replaces all compiled policies together, about every second, from what it saw in their order. Once it
    heeds a policy that was written last, it heeds everything before.
    """

    def __init__(self, send: Send) -> None:
        self.send = send

    def __call__(self) -> None:
        name = f"marker-{time.monotonic_ns()}"
        self._write(name)
        probe = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}}
        request = Request("POST", "/api/v1/namespaces/default/configmaps", {"dryRun": "All"}, JSON, probe)
        deadline = time.monotonic() + 60
        while f"refused by {name}" not in str(self.send(request).body):
            assert time.monotonic() < deadline, "the server does not heed a new policy"
            time.sleep(0.1)
        for plural in ("validatingadmissionpolicybindings", "validatingadmissionpolicies"):
            assert self.send(Request("DELETE", f"{POLICIES}/{plural}/{name}")).status == 200

    def _write(self, name: str) -> None:
        rule = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["configmaps"]}
        policy = {
            "matchConstraints": {"resourceRules": [{**rule, "resourceNames": [name]}]},
            "validations": [{"expression": f"object.metadata.name != '{name}'", "message": f"refused by {name}"}],
        }
        _write_policy(self.send, name, policy, {"policyName": name, "validationActions": ["Deny"]})


def _write_policy(send: Send, name: str, policy: dict[str, Any], binding: dict[str, Any]) -> None:
    """Create a policy and its binding, unless they exist."""
    for plural, kind, spec in (
        ("validatingadmissionpolicies", "ValidatingAdmissionPolicy", policy),
        ("validatingadmissionpolicybindings", "ValidatingAdmissionPolicyBinding", binding),
    ):
        body = {"apiVersion": POLICIES[6:], "kind": kind, "metadata": {"name": name}, "spec": spec}
        assert send(Request("POST", f"{POLICIES}/{plural}", {}, JSON, body)).status in (201, 409)


def _keep_parameters(send: Send) -> None:
    """Keep one policy with parameters, so that the server goes on reading ConfigMaps for policies.

    When the last one goes, the server ends its informer and never starts it again: then it finds no parameters.
    """
    rule = {"apiGroups": ["none.example.com"], "apiVersions": ["*"], "operations": ["CREATE"], "resources": ["*"]}
    policy = {
        "paramKind": {"apiVersion": "v1", "kind": "ConfigMap"},
        "matchConstraints": {"resourceRules": [rule]},
        "validations": [{"expression": "true"}],
    }
    reference = {"name": "none", "namespace": "default", "parameterNotFoundAction": "Allow"}
    _write_policy(send, "kept", policy, {"policyName": "kept", "validationActions": ["Deny"], "paramRef": reference})


@pytest.mark.core(1)
@pytest.mark.parametrize("name", list_stories())
def test_server_keeps_the_contract(control_plane, name):
    story, send = load_story(name), make_sender(control_plane)
    _keep_parameters(send)
    if os.environ.get("APPLYVIZ_RECORD_CONTRACT"):
        save_story(name, record_story(story, send, f"n-{name}", PolicyWaiter(send)))
        return

    assert judge_story(story, send, f"n-{name}", PolicyWaiter(send)) == []


@pytest.mark.long
def test_policies_are_told_again_on_the_same_server(control_plane):
    story, send = load_story("policies"), make_sender(control_plane)
    _keep_parameters(send)

    told = [judge_story(story, send, f"again-{number}", PolicyWaiter(send)) for number in range(2)]

    assert told == [[], []]


@pytest.mark.long
@pytest.mark.parametrize("name", list_stories(CONTROLLED))
def test_controllers_keep_the_contract(managed_plane, name):
    story, send, namespace = load_story(name, CONTROLLED), make_sender(managed_plane), f"c-{name}"
    if os.environ.get("APPLYVIZ_RECORD_CONTRACT"):
        save_story(name, record_story(story, send, namespace, _wait_for_controllers), CONTROLLED)
        return

    assert judge_story(story, send, namespace, _wait_for_controllers) == []
