"""Errors of a real API server that need more than one request: other accounts, webhooks, quotas, a full store.

Each function arranges the error and returns the message that the server, kubectl or kustomize gave for it.
"""

from __future__ import annotations

import base64
import json
import socket
import ssl
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from applyviz.engine.explain.server_refusals import find_refusal
from applyviz.engine.objects.values import JSONObject
from tests.controlplane.controlplane import ADMIN_TOKEN, ControlPlane
from tests.sources.servers import make_authority, reply, serving

SPACE = "error-settings"
SECONDS = 30
ADMISSION = "/apis/admissionregistration.k8s.io/v1"


@dataclass(frozen=True)
class Setting:
    """A control plane with a namespace of its own, and a folder for files."""

    plane: ControlPlane
    folder: Path

    def send(
        self,
        method: str,
        path: str,
        body: JSONObject | bytes | None = None,
        *,
        token: str = ADMIN_TOKEN,
        **headers: str,
    ) -> str:
        """Send one request; return the message of a refusal, "" of a success."""
        data = body if isinstance(body, bytes) or body is None else json.dumps(body).encode()
        kind = "application/merge-patch+json" if method == "PATCH" else "application/json"
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        call = urllib.request.Request(
            self.plane.url + path,
            data=data,
            method=method,
            headers={"Authorization": f"Bearer {token}", "Content-Type": kind, "Accept": "application/json", **named},
        )
        context = ssl.create_default_context(cadata=self.plane.authority.decode())
        try:
            with urllib.request.urlopen(call, context=context):
                return ""
        except urllib.error.HTTPError as error:
            with error:
                text = error.read().decode()
            return str(json.loads(text)["message"]) if text.startswith("{") else text

    def create(self, path: str, **body: object) -> str:
        """Create one object; return the message of a refusal."""
        return self.send("POST", path, body)

    def config_map(self, name: str = "one", **query: str) -> str:
        """Create a ConfigMap without keeping it."""
        body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}}
        return self.send("POST", f"/api/v1/namespaces/{SPACE}/configmaps?dryRun=All", body)

    def until(self, kind: str, ask: Callable[[], str]) -> str:
        """Ask until the message is of a kind: the server reads its own configuration with a delay."""
        end = time.monotonic() + SECONDS
        while True:
            message = ask()
            found = find_refusal(message)
            if (found is not None and found.kind == kind) or time.monotonic() > end:
                return message
            time.sleep(0.2)

    def kubectl_error(self, *arguments: str, stdin: str | None = None) -> str:
        """Run the real kubectl and return what it says on its error output."""
        return self.plane.kubectl(*arguments, stdin=stdin, check=False).stderr.strip()


def _webhook(setting: Setting, name: str, url: str, authority: bytes | None = None) -> str:
    """The message of a request that a webhook of a kind of its own decides."""
    client = {"url": url, **({"caBundle": base64.b64encode(authority).decode()} if authority else {})}
    rule = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["endpoints"]}
    hook = {
        "name": f"{name}.example.com", "clientConfig": client, "rules": [rule], "sideEffects": "None",
        "admissionReviewVersions": ["v1"], "timeoutSeconds": 1,
        "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": SPACE}},
    }  # fmt: skip
    path = f"{ADMISSION}/validatingwebhookconfigurations"
    body = {
        "apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingWebhookConfiguration",
        "metadata": {"name": name}, "webhooks": [hook],
    }  # fmt: skip
    assert setting.send("POST", path, body) == ""
    one = {"apiVersion": "v1", "kind": "Endpoints", "metadata": {"name": "one"}}
    try:
        return setting.until(
            f"webhook-{name}", lambda: setting.send("POST", f"/api/v1/namespaces/{SPACE}/endpoints?dryRun=All", one)
        )
    finally:
        setting.send("DELETE", f"{path}/{name}")


def deny_by_webhook(setting: Setting) -> str:
    """A webhook that answers, and says no."""
    authority = make_authority(setting.folder)

    def deny(request: bytes, connection: socket.socket) -> None:
        while b"\r\n\r\n" not in request or not request.rstrip().endswith(b"}"):
            request += connection.recv(65536)
        uid = json.loads(request.split(b"\r\n\r\n", 1)[1])["request"]["uid"]
        answer = {"uid": uid, "allowed": False, "status": {"message": "images need a digest"}}
        review = {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": answer}
        reply(200, json.dumps(review).encode(), Content_Type="application/json")(request, connection)

    with serving({"/deny?timeout=1s": deny}, authority.context("127.0.0.1")) as server:
        return _webhook(setting, "denied", server.url("127.0.0.1", "/deny"), authority.file.read_bytes())


def distrust_webhook(setting: Setting) -> str:
    """A webhook whose certificate nobody vouches for: the API server's own address."""
    return _webhook(setting, "certificate", f"{setting.plane.url}/")


def time_out_webhook(setting: Setting) -> str:
    """A webhook that accepts connections and stays silent."""
    with socket.create_server(("127.0.0.1", 0)) as silent:
        return _webhook(setting, "timeout", f"https://127.0.0.1:{silent.getsockname()[1]}/")


def deny_by_policy(setting: Setting) -> str:
    """A validating admission policy that refuses ConfigMaps of this namespace."""
    rule = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["configmaps"]}
    policy = {"matchConstraints": {"resourceRules": [rule]}, "validations": [{"expression": "false"}]}
    space = {"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": SPACE}}}
    binding = {"policyName": "closed", "validationActions": ["Deny"], "matchResources": space}
    for plural, kind, spec in (
        ("validatingadmissionpolicies", "ValidatingAdmissionPolicy", policy),
        ("validatingadmissionpolicybindings", "ValidatingAdmissionPolicyBinding", binding),
    ):
        body = {"apiVersion": "admissionregistration.k8s.io/v1", "kind": kind, "metadata": {"name": "closed"}}
        assert setting.send("POST", f"{ADMISSION}/{plural}", {**body, "spec": spec}) == ""
    try:
        return setting.until("policy-denied", setting.config_map)
    finally:
        setting.send("DELETE", f"{ADMISSION}/validatingadmissionpolicybindings/closed")
        setting.send("DELETE", f"{ADMISSION}/validatingadmissionpolicies/closed")


def _limit(setting: Setting, kind: str, hard: JSONObject, ask: Callable[[], str]) -> str:
    """The message under a quota; its status, which a controller writes elsewhere, says that nothing is used."""
    path = f"/api/v1/namespaces/{SPACE}/resourcequotas"
    body = {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "full"}, "spec": {"hard": hard}}
    assert setting.send("POST", path, body) == ""
    status = {"status": {"hard": hard, "used": dict.fromkeys(hard, "0")}}
    assert setting.send("PATCH", f"{path}/full/status", status) == ""
    try:
        return setting.until(kind, ask)
    finally:
        setting.send("DELETE", f"{path}/full")


def exceed_quota(setting: Setting) -> str:
    """A quota that allows no ConfigMap."""
    return _limit(setting, "quota-exceeded", {"count/configmaps": "0"}, setting.config_map)


def leave_limits_out(setting: Setting) -> str:
    """A quota of CPU, and a pod that names none."""
    spec = {"containers": [{"name": "app", "image": "a"}]}
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "web"}, "spec": spec}
    return _limit(
        setting,
        "quota-unspecified",
        {"limits.cpu": "4"},
        lambda: setting.send("POST", f"/api/v1/namespaces/{SPACE}/pods?dryRun=All", pod),
    )


def ask_without_permission(setting: Setting) -> str:
    """An account without any role."""
    return setting.send("GET", f"/api/v1/namespaces/{SPACE}/secrets", token="alice-token")


def impersonate_without_permission(setting: Setting) -> str:
    """An account that may not act as another one."""
    path = f"/api/v1/namespaces/{SPACE}/configmaps"
    return setting.send("GET", path, token="alice-token", Impersonate_User="bob")


def escalate(setting: Setting) -> str:
    """An account that writes roles, and grants more than it has."""
    group = "rbac.authorization.k8s.io"
    rule = {"apiGroups": [group], "resources": ["roles"], "verbs": ["create"]}
    writer = {"apiVersion": f"{group}/v1", "kind": "Role", "metadata": {"name": "writer"}, "rules": [rule]}
    subject = {"apiGroup": group, "kind": "User", "name": "alice"}
    binding = {
        "apiVersion": f"{group}/v1", "kind": "RoleBinding", "metadata": {"name": "writer"}, "subjects": [subject],
        "roleRef": {"apiGroup": group, "kind": "Role", "name": "writer"},
    }  # fmt: skip
    path = f"/apis/{group}/v1/namespaces/{SPACE}"
    assert setting.send("POST", f"{path}/roles", writer) == setting.send("POST", f"{path}/rolebindings", binding) == ""
    more = {"apiGroups": [""], "resources": ["secrets"], "verbs": ["get"]}
    wanted = {**writer, "metadata": {"name": "more"}, "rules": [more]}
    return setting.until("escalation", lambda: setting.send("POST", f"{path}/roles", wanted, token="alice-token"))


def refuse_credential(setting: Setting) -> str:
    """A token that the server does not know."""
    return setting.send("GET", "/api/v1/namespaces", token="nobody-has-this")


def fill_store(setting: Setting) -> str:
    """An etcd that reports that its space is used up."""
    etcd = f"http://127.0.0.1:{setting.plane.etcd_port}/v3/maintenance/alarm"

    def alarm(action: str) -> None:
        body = json.dumps({"action": action, "alarm": "NOSPACE"}).encode()
        urllib.request.urlopen(urllib.request.Request(etcd, data=body), timeout=SECONDS).close()

    alarm("ACTIVATE")
    try:
        body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "full"}}
        return setting.send("POST", f"/api/v1/namespaces/{SPACE}/configmaps", body)
    finally:
        alarm("DEACTIVATE")


def run_out_of_time(setting: Setting) -> str:
    """A request with less time than the server needs."""
    body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "late"}}
    return setting.until(
        "timeout",
        lambda: setting.send("POST", f"/api/v1/namespaces/{SPACE}/configmaps?dryRun=All&timeout=1us", body),
    )


def repeat_a_field(setting: Setting) -> str:
    """A body that sets one field twice, under strict validation."""
    body = b'{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"one"},"data":{"a":"1"},"data":{"a":"2"}}'
    return setting.send("POST", f"/api/v1/namespaces/{SPACE}/configmaps?fieldValidation=Strict", body)


def lose_aggregated_api(setting: Setting) -> str:
    """An API whose server is a Service that does not exist, asked by kubectl."""
    service = {"namespace": SPACE, "name": "away", "port": 443}
    spec = {"group": "away.example.com", "version": "v1", "groupPriorityMinimum": 100, "versionPriority": 100}
    path = "/apis/apiregistration.k8s.io/v1/apiservices"
    body = {
        "apiVersion": "apiregistration.k8s.io/v1",
        "kind": "APIService",
        "metadata": {"name": "v1.away.example.com"},
    }
    tls = {"insecureSkipTLSVerify": True, "service": service}
    assert setting.send("POST", path, {**body, "spec": {**spec, **tls}}) == ""
    try:
        return setting.until(
            "unavailable", lambda: setting.kubectl_error("get", "--raw", "/apis/away.example.com/v1/x")
        )
    finally:
        setting.send("DELETE", f"{path}/v1.away.example.com")


def _convert(setting: Setting, kind: str, plural: str, url: str) -> str:
    """The message for a custom object whose conversion webhook cannot be asked."""
    group = "errors.example.com"
    schema = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
    versions = [{"name": v, "served": True, "storage": v == "v1", "schema": schema} for v in ("v1", "v2")]
    webhook = {"conversionReviewVersions": ["v1"], "clientConfig": {"url": url}}
    spec = {
        "group": group, "scope": "Cluster", "versions": versions, "names": {"plural": plural, "kind": plural.title()},
        "conversion": {"strategy": "Webhook", "webhook": webhook},
    }  # fmt: skip
    path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
    body = {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition"}
    assert setting.send("POST", path, {**body, "metadata": {"name": f"{plural}.{group}"}, "spec": spec}) == ""
    one = {"apiVersion": f"{group}/v2", "kind": plural.title(), "metadata": {"name": "one"}}
    try:
        return setting.until(kind, lambda: setting.send("POST", f"/apis/{group}/v2/{plural}", one))
    finally:
        setting.send("DELETE", f"{path}/{plural}.{group}")


def distrust_server(setting: Setting) -> str:
    """A conversion webhook whose certificate nobody vouches for."""
    return _convert(setting, "certificate", "trusts", f"{setting.plane.url}/")


def refuse_connection(setting: Setting) -> str:
    """A conversion webhook at a port where nothing listens."""
    return _convert(setting, "connection-refused", "ports", "https://127.0.0.1:1/")


def lose_name(setting: Setting) -> str:
    """A conversion webhook whose host has no address."""
    return _convert(setting, "unknown-host", "hosts", "https://nowhere.invalid/")


def apply_unknown_kind(setting: Setting) -> str:
    """kubectl with a kind that the cluster does not serve."""
    manifest = "apiVersion: nobody-defines.example.com/v1\nkind: Absent\nmetadata:\n  name: one\n"
    return setting.kubectl_error("apply", "--validate=false", "-f", "-", stdin=manifest)


def _render(setting: Setting, name: str, **files: str) -> str:
    folder = setting.folder / name
    folder.mkdir()
    for file, text in files.items():
        (folder / f"{file}.yaml").write_text(text)
    return setting.kubectl_error("kustomize", str(folder)).replace(str(folder), "/k")


_ONE = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: one\n"


def miss_a_file(setting: Setting) -> str:
    """A kustomization that names a file that is not there."""
    return _render(setting, "missing", kustomization="resources: [web.yaml]\n")


def name_an_object_twice(setting: Setting) -> str:
    """A kustomization whose two files hold the same object."""
    return _render(setting, "twice", kustomization="resources: [a.yaml, b.yaml]\n", a=_ONE, b=_ONE)


def patch_nothing(setting: Setting) -> str:
    """A kustomization whose patch names an object that is not there."""
    patch = "patches:\n- patch: |-\n    apiVersion: v1\n    kind: ConfigMap\n    metadata: {name: other}\n"
    return _render(setting, "patch", kustomization=f"resources: [a.yaml]\n{patch}", a=_ONE)


SETTINGS: dict[str, Callable[[Setting], str]] = {
    "certificate": distrust_server,
    "connection-refused": refuse_connection,
    "duplicate-field": repeat_a_field,
    "escalation": escalate,
    "forbidden": ask_without_permission,
    "impersonation": impersonate_without_permission,
    "kustomize-duplicate": name_an_object_twice,
    "kustomize-file": miss_a_file,
    "kustomize-patch": patch_nothing,
    "overloaded-storage": fill_store,
    "policy-denied": deny_by_policy,
    "quota-exceeded": exceed_quota,
    "quota-unspecified": leave_limits_out,
    "timeout": run_out_of_time,
    "unauthorized": refuse_credential,
    "unavailable": lose_aggregated_api,
    "unknown-host": lose_name,
    "unknown-kind": apply_unknown_kind,
    "webhook-certificate": distrust_webhook,
    "webhook-denied": deny_by_webhook,
    "webhook-timeout": time_out_webhook,
}
