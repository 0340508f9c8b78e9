"""The sentences for errors of a server are chosen by what a real API server says.

`APPLYVIZ_RECORD_REFUSALS=1` writes its messages into `tests/cases/explain/server-refusals.yaml` for the engine's tests.
"""

import os
from pathlib import Path

import pytest
import yaml

from applyviz.engine.explain.server_refusals import find_refusal
from applyviz.engine.explain.server_sentences import SENTENCES
from applyviz.engine.objects.exchange import APPLY_PATCH, JSON, MERGE_PATCH, Request
from tests.controlplane import error_settings
from tests.controlplane.controlplane import ControlPlane
from tests.controlplane.error_settings import SETTINGS, Setting
from tests.controlplane.test_contract import make_sender
from tests.yaml_files import read_yaml

pytestmark = pytest.mark.controlplane
CASES = Path(__file__).parents[1] / "cases" / "explain" / "server-refusals.yaml"
SPACE = "refusals"
CORE, APPS = f"/api/v1/namespaces/{SPACE}", f"/apis/apps/v1/namespaces/{SPACE}"
RBAC, ADMISSION = "/apis/rbac.authorization.k8s.io/v1", "/apis/admissionregistration.k8s.io/v1"
NAMED = {"name": "web", "namespace": SPACE}


def post(path, body, **query):
    return Request("POST", path, tuple(query.items()), JSON, body)


def config_map(name="one", **more):
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": {"a": "1"}, **more}


def pod(name="web", **container):
    spec = {"containers": [{"name": "app", "image": "a", **container}]}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": spec}


def deployment(label="web", **spec):
    template = {"metadata": {"labels": {"app": label}}, "spec": {"containers": [{"name": "app", "image": "a"}]}}
    spec = {"selector": {"matchLabels": {"app": "web"}}, "template": template, **spec}
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"}, "spec": spec}


def webhook(url, name):
    rule = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["endpoints"]}
    hook = {
        "name": f"{name}.example.com", "clientConfig": {"url": url}, "rules": [rule], "sideEffects": "None",
        "admissionReviewVersions": ["v1"], "timeoutSeconds": 1,
    }  # fmt: skip
    return {
        "apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingWebhookConfiguration",
        "metadata": {"name": name}, "webhooks": [hook],
    }  # fmt: skip


def apply(path, body, manager="ci"):
    return Request("PATCH", path, (("fieldManager", manager),), APPLY_PATCH, body)


LIMITS = {
    "apiVersion": "v1", "kind": "LimitRange", "metadata": {"name": "limits"},
    "spec": {"limits": [{"type": "Container", "max": {"memory": "1Gi"}}]},
}  # fmt: skip
SERVICE = {
    "apiVersion": "v1", "kind": "Service", "metadata": {"name": "web"},
    "spec": {"type": "NodePort", "ports": [{"port": 80, "nodePort": 30080}]},
}  # fmt: skip
# What is sent for each kind of error; the last request is the one that is refused.
STORIES = {
    "already-exists": [post(f"{CORE}/configmaps", config_map()), post(f"{CORE}/configmaps", config_map())],
    "apply-conflict": [
        apply(f"{CORE}/configmaps/owned", config_map("owned"), "first"),
        apply(f"{CORE}/configmaps/owned", config_map("owned", data={"a": "2"})),
    ],
    "changed-meanwhile": [
        post(f"{CORE}/configmaps", config_map("moved")),
        Request("PUT", f"{CORE}/configmaps/moved", (), JSON, config_map("moved", metadata={
            "name": "moved", "resourceVersion": "1"})),
    ],
    "duplicate-key": [
        apply(f"{APPS}/deployments/web", deployment(template={
            "metadata": {"labels": {"app": "web"}},
            "spec": {"containers": [{"name": "app", "image": "a"}, {"name": "app", "image": "b"}]}})),
    ],
    "immutable": [
        post(f"{APPS}/deployments", deployment()),
        Request("PATCH", f"{APPS}/deployments/web", (), MERGE_PATCH, {
            "spec": {"selector": {"matchLabels": {"app": "other"}},
                     "template": {"metadata": {"labels": {"app": "other"}}}}}),
    ],
    "invalid-label": [post(f"{CORE}/configmaps", config_map("two", metadata={
        "name": "two", "labels": {"app": "not valid!"}}))],
    "invalid-name": [post(f"{CORE}/configmaps", config_map("Upper_Case"))],
    "invalid-value": [post(f"{APPS}/deployments", deployment(replicas=-1))],
    "limit-range": [
        post(f"{CORE}/limitranges", LIMITS),
        post(f"{CORE}/pods", pod(resources={"requests": {"memory": "2Gi"}, "limits": {"memory": "2Gi"}})),
    ],
    "managed-fields": [apply(f"{CORE}/configmaps/held", config_map("held", metadata={
        "name": "held", "managedFields": [{"manager": "x", "operation": "Apply", "apiVersion": "v1"}]}))],
    "namespace-not-found": [post("/api/v1/namespaces/nowhere/configmaps", config_map())],
    "namespace-terminating": [
        post("/api/v1/namespaces", {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "ending"}}),
        Request("DELETE", "/api/v1/namespaces/ending"),
        post("/api/v1/namespaces/ending/configmaps", config_map()),
    ],
    "not-found": [Request("PATCH", f"{CORE}/configmaps/none", (), MERGE_PATCH, {"data": {"a": "2"}})],
    "pod-security": [
        post("/api/v1/namespaces", {"apiVersion": "v1", "kind": "Namespace", "metadata": {
            "name": "strict", "labels": {"pod-security.kubernetes.io/enforce": "restricted"}}}),
        post("/api/v1/namespaces/strict/pods", pod()),
    ],
    "port-allocated": [
        post(f"{CORE}/services", SERVICE),
        post(f"{CORE}/services", {**SERVICE, "metadata": {"name": "other"}}),
    ],
    "quantity": [post(f"{CORE}/pods", pod("big", resources={"limits": {"memory": "much"}}))],
    "required": [post(f"{CORE}/pods", {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "empty"}, "spec": {
        "containers": [{"image": "a"}]}})],
    "selector-mismatch": [post(f"{APPS}/deployments", deployment(label="other"))],
    "too-large": [post(f"{CORE}/configmaps", config_map("huge", data={"a": "x" * 1_100_000}))],
    "unknown-field": [post(f"{CORE}/configmaps", config_map("odd", colour="red"), fieldValidation="Strict")],
    "unsupported-value": [post(f"{CORE}/pods", pod("odd", imagePullPolicy="Sometimes"))],
    "webhook-unreachable": [
        post(f"{ADMISSION}/validatingwebhookconfigurations", webhook("https://127.0.0.1:1/", "gone")),
        post(f"{CORE}/endpoints", {"apiVersion": "v1", "kind": "Endpoints", "metadata": {"name": "one"}}),
    ],
    "wrong-type": [post(f"{CORE}/configmaps", config_map("typed", data={"a": 1}))],
}  # fmt: skip
WAITS = {"webhook-unreachable", "limit-range"}


def ask(send, kind, requests):
    """The message of the last answer; caches of admission plugins are waited for."""
    *before, last = requests
    for request in before:
        send(request)
    answer = send(last)
    for _attempt in range(40 if kind in WAITS else 0):
        found = find_refusal(answer.message)
        if found is not None and found.kind == kind:
            break
        if answer.is_ok:
            send(Request("DELETE", f"{last.path}/{last.body['metadata']['name']}"))
        answer = send(last)
    return answer.message


def test_every_sentence_has_an_answer_of_a_real_server():
    # A server limits requests under a load that a test does not make; that message is from its source.
    assert set(STORIES) | set(SETTINGS) == set(SENTENCES) - {"too-many-requests"}


@pytest.mark.long
def test_messages_of_a_real_server_are_understood(control_plane: ControlPlane, tmp_path: Path):
    send = make_sender(control_plane)
    for name in (SPACE, error_settings.SPACE):
        send(post("/api/v1/namespaces", {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}))
    setting = Setting(control_plane, tmp_path)

    told = {kind: ask(send, kind, requests) for kind, requests in STORIES.items()}
    send(Request("DELETE", f"{ADMISSION}/validatingwebhookconfigurations/gone"))
    told |= {kind: arrange(setting) for kind, arrange in SETTINGS.items()}
    found = {kind: getattr(find_refusal(message), "kind", "") for kind, message in told.items()}

    if os.environ.get("APPLYVIZ_RECORD_REFUSALS"):
        rows = [{"kind": kind, "message": message} for kind, message in sorted(told.items()) if len(message) < 4000]
        known = read_yaml(CASES)
        CASES.write_text(yaml.safe_dump({**known, "recorded": rows}, sort_keys=False, width=118, allow_unicode=True))
    assert {kind: (got, told[kind]) for kind, got in found.items() if got != kind} == {}
