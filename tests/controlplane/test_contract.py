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

import pytest

from applyviz.engine.objects.exchange import JSON, Answer, Request
from tests.controlplane.controlplane import ADMIN_TOKEN, ControlPlane
from tests.sandbox.contract import CONTROLLED, Send, judge_story, list_stories, load_story, record_story, save_story

pytestmark = pytest.mark.controlplane
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


def _settle() -> None:
    """Until the server has read the policies that were just written; it looks for them every second."""
    time.sleep(9)


def _keep_parameters(send: Send) -> None:
    """Keep one policy with parameters, so that the server goes on reading ConfigMaps for policies.

    When the last one goes, the server ends its informer and never starts it again: then it finds no parameters.
    """
    root = "/apis/admissionregistration.k8s.io/v1"
    rule = {"apiGroups": ["none.example.com"], "apiVersions": ["*"], "operations": ["CREATE"], "resources": ["*"]}
    policy = {
        "paramKind": {"apiVersion": "v1", "kind": "ConfigMap"},
        "matchConstraints": {"resourceRules": [rule]},
        "validations": [{"expression": "true"}],
    }
    reference = {"name": "none", "namespace": "default", "parameterNotFoundAction": "Allow"}
    binding = {"policyName": "kept", "validationActions": ["Deny"], "paramRef": reference}
    for kind, spec in (("ValidatingAdmissionPolicy", policy), ("ValidatingAdmissionPolicyBinding", binding)):
        plural = f"{kind.lower()}s" if kind.endswith("Binding") else "validatingadmissionpolicies"
        body = {"apiVersion": root[6:], "kind": kind, "metadata": {"name": "kept"}, "spec": spec}
        assert send(Request("POST", f"{root}/{plural}", {}, JSON, body)).status in (201, 409)


@pytest.mark.parametrize("name", list_stories())
def test_server_keeps_the_contract(control_plane, name):
    story, send = load_story(name), make_sender(control_plane)
    _keep_parameters(send)
    if os.environ.get("APPLYVIZ_RECORD_CONTRACT"):
        save_story(name, record_story(story, send, f"n-{name}", _settle))
        return

    assert judge_story(story, send, f"n-{name}", _settle) == []


def test_policies_are_told_again_on_the_same_server(control_plane):
    story, send = load_story("policies"), make_sender(control_plane)
    _keep_parameters(send)

    told = [judge_story(story, send, f"again-{number}", _settle) for number in range(2)]

    assert told == [[], []]


@pytest.fixture(scope="module")
def managed_plane(binaries):
    """A real control plane with its controllers."""
    with ControlPlane(binaries, has_manager=True) as plane:
        yield plane


@pytest.mark.parametrize("name", list_stories(CONTROLLED))
def test_controllers_keep_the_contract(managed_plane, name):
    story, send, namespace = load_story(name, CONTROLLED), make_sender(managed_plane), f"c-{name}"
    if os.environ.get("APPLYVIZ_RECORD_CONTRACT"):
        save_story(name, record_story(story, send, namespace, _settle), CONTROLLED)
        return

    assert judge_story(story, send, namespace, _settle) == []
