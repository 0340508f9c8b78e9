"""A name that leads elsewhere: no request of planning leaves the object that it is about.

The API server decodes a path before it splits it, so "/", "%", "." and ".." in a name, a namespace or a kind lead to
another object, a subresource such as `proxy`, or another namespace, with the rights of the cluster's credential.
"""

from __future__ import annotations

from contextlib import suppress
from urllib.parse import unquote

import pytest
import yaml

from applyviz.clusters.errors import NotSentError
from applyviz.clusters.live import LiveTransport
from applyviz.clusters.reader import ClusterReader
from applyviz.clusters.request_guard import is_built
from applyviz.clusters.sandbox import SandboxTransport
from applyviz.engine.objects.exchange import JSON, Request
from applyviz.engine.objects.refs import GroupVersionKind, ObjectRef
from applyviz.engine.requests.options import Prune, PruneMode, SetAction
from applyviz.sandbox.storage.routing import parse_path
from applyviz.workflow.foundation.errors import NotAllowedError, NotPossibleError, NotValidError, NotVisibleError
from applyviz.workflow.live import adoption
from tests.stories import Team

pytestmark = [pytest.mark.attacks, pytest.mark.django_db]

NAMES = (
    "../../shop/configmaps/canary",
    "web/proxy/canary",
    "../../../nodes/n1/proxy/canary",
    "..%2f..%2fshop%2fconfigmaps%2fcanary",
    "%2e%2e",
    "..",
    ".",
)
CONFIG_MAP = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "settings"}, "data": {"a": "1"}}
DEFINITION = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "widgets.example.com"},
    "spec": {
        "group": "example.com",
        "scope": "Namespaced",
        "names": {"kind": "Widget", "plural": "widgets"},
        "versions": [
            {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": {"type": "object"}}}
        ],
    },
}


def _named(name: str) -> list[dict]:
    return [{**CONFIG_MAP, "metadata": {"name": name}}]


def _placed(name: str) -> list[dict]:
    return [{**CONFIG_MAP, "metadata": {"name": "canary", "namespace": name}}]


def _namespace(name: str) -> list[dict]:
    return [{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}]


def _listed(name: str) -> list[dict]:
    return [{"apiVersion": "v1", "kind": "List", "items": _named(name)}]


def _of_group(name: str) -> list[dict]:
    return [{**CONFIG_MAP, "apiVersion": f"{name}/v1"}]


def _defined(name: str, **changed: object) -> list[dict]:
    spec = {**DEFINITION["spec"], **changed}
    api_version = f"{spec['group']}/{spec['versions'][0]['name']}"
    widget = {"apiVersion": api_version, "kind": "Widget", "metadata": {"name": "canary"}}
    return [{**DEFINITION, "spec": spec}, widget]


def _with_plural(name: str) -> list[dict]:
    return _defined(name, names={"kind": "Widget", "plural": name})


def _with_group(name: str) -> list[dict]:
    return _defined(name, group=name)


def _with_version(name: str) -> list[dict]:
    return _defined(name, versions=[{**DEFINITION["spec"]["versions"][0], "name": name}])


def _patched(name: str) -> list[dict]:
    target = {"apiVersion": "v1", "kind": "ConfigMap", "name": name}
    return [{"kind": "Patch", "target": target, "type": "merge", "patch": {"data": {"a": "2"}}}]


def _patched_at(name: str) -> list[dict]:
    target = {"apiVersion": "v1", "kind": "ConfigMap", "name": "canary", "namespace": name}
    return [{"kind": "Patch", "target": target, "type": "merge", "patch": {"data": {"a": "2"}}}]


WRITTEN = (_named, _placed, _namespace, _listed, _of_group, _with_plural, _with_group, _with_version)


def lead_elsewhere(team: Team) -> list[str]:
    """The paths of all requests that the API server would read as another object than that of the manifest."""
    paths = [unquote(request.path) for _, request in team.wire.identities]
    return [p for p in paths if "canary" in p or "/proxy" in p or "/../" in f"{p}/" or "/./" in f"{p}/" or "%" in p]


@pytest.mark.core(8)
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("write", WRITTEN)
def test_a_name_in_a_manifest_leads_nowhere_else(team, monkeypatch, write, name) -> None:
    team.wire_up(monkeypatch)
    documents = write(name)
    plan = team.plan(yaml.safe_dump_all(documents))

    assert lead_elsewhere(team) == []
    refused = [problem for problem in plan.problems if "may not" in problem["reason"]]
    assert [problem["file"] for problem in refused] == ["0.yaml"] * len(refused)
    assert refused
    assert all(problem["line"] > 0 for problem in refused)


@pytest.mark.core(3)
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("write", [_patched, _patched_at])
def test_the_target_of_a_patch_leads_nowhere_else(team, monkeypatch, write, name) -> None:
    team.wire_up(monkeypatch)

    team.plan(yaml.safe_dump_all(write(name)), action=SetAction.PATCH)

    assert lead_elsewhere(team) == []


@pytest.mark.core(2)
@pytest.mark.parametrize("name", NAMES)
def test_a_deleted_object_leads_nowhere_else(team, monkeypatch, name) -> None:
    team.wire_up(monkeypatch)

    team.plan(yaml.safe_dump_all(_named(name)), action=SetAction.DELETE)

    assert lead_elsewhere(team) == []


@pytest.mark.core(2)
@pytest.mark.parametrize("name", NAMES)
def test_the_parent_of_an_applyset_leads_nowhere_else(team, monkeypatch, name) -> None:
    team.wire_up(monkeypatch)

    prune = Prune(mode=PruneMode.APPLYSET, applyset=f"configmaps/{name}")
    team.plan(yaml.safe_dump(CONFIG_MAP), prune=prune)

    assert lead_elsewhere(team) == []


@pytest.mark.core(2)
@pytest.mark.parametrize("name", NAMES)
def test_what_an_object_refers_to_leads_nowhere_else(team, monkeypatch, name) -> None:
    """A Deployment names a ConfigMap, which planning looks for."""
    team.wire_up(monkeypatch)
    container = {"name": "web", "image": "web:1", "envFrom": [{"configMapRef": {"name": name}}]}
    template = {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [container]}}
    spec = {"selector": {"matchLabels": {"app": "web"}}, "template": template}
    deployment = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"}, "spec": spec}

    team.plan(yaml.safe_dump(deployment))

    assert lead_elsewhere(team) == []


def _with_pod(**spec: object) -> dict:
    template = {
        "metadata": {"labels": {"app": "web"}},
        "spec": {"containers": [{"name": "web", "image": "web:1"}], **spec},
    }
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "web"},
        "spec": {"selector": {"matchLabels": {"app": "web"}}, "template": template},
    }


def _of_networking(kind: str, spec: dict) -> dict:
    return {"apiVersion": "networking.k8s.io/v1", "kind": kind, "metadata": {"name": "web"}, "spec": spec}


REFERENCES = {
    "claim": lambda name: _with_pod(volumes=[{"name": "a", "persistentVolumeClaim": {"claimName": name}}]),
    "Secret": lambda name: _with_pod(volumes=[{"name": "a", "secret": {"secretName": name}}]),
    "account": lambda name: _with_pod(serviceAccountName=name),
    "class": lambda name: _with_pod(priorityClassName=name),
    "pull secret": lambda name: _with_pod(imagePullSecrets=[{"name": name}]),
    "service": lambda name: _of_networking(
        "Ingress", {"defaultBackend": {"service": {"name": name, "port": {"number": 80}}}}
    ),
    "TLS": lambda name: _of_networking("Ingress", {"tls": [{"secretName": name}]}),
    "role": lambda name: {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "RoleBinding",
        "metadata": {"name": "web"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": name},
        "subjects": [{"kind": "ServiceAccount", "name": name, "namespace": name}],
    },
    "target": lambda name: {
        "apiVersion": "autoscaling/v2",
        "kind": "HorizontalPodAutoscaler",
        "metadata": {"name": "web"},
        "spec": {"maxReplicas": 2, "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": name}},
    },
    "group of the target": lambda name: {
        "apiVersion": "autoscaling/v2",
        "kind": "HorizontalPodAutoscaler",
        "metadata": {"name": "web"},
        "spec": {"maxReplicas": 2, "scaleTargetRef": {"apiVersion": f"{name}/v1", "kind": "Widget", "name": "canary"}},
    },
    "volume": lambda name: {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": "web"},
        "spec": {"volumeName": name, "storageClassName": name, "resources": {"requests": {"storage": "1Gi"}}},
    },
    "owner": lambda name: {
        **CONFIG_MAP,
        "metadata": {
            "name": "settings",
            "ownerReferences": [{"apiVersion": "v1", "kind": "ConfigMap", "name": name, "uid": "u"}],
        },
    },
}


@pytest.mark.core(4)
@pytest.mark.parametrize("what", REFERENCES)
@pytest.mark.parametrize("name", [NAMES[0], NAMES[1], NAMES[3], NAMES[5]])
def test_every_reference_leads_nowhere_else(team, monkeypatch, what, name) -> None:
    team.wire_up(monkeypatch)

    team.plan(yaml.safe_dump(REFERENCES[what](name)))

    assert lead_elsewhere(team) == []


@pytest.mark.core(2)
@pytest.mark.parametrize("action", SetAction)
@pytest.mark.parametrize("name", NAMES)
def test_the_namespace_of_a_review_leads_nowhere_else(team, monkeypatch, name, action) -> None:
    team.wire_up(monkeypatch)
    target = {"apiVersion": "v1", "kind": "ConfigMap", "name": "canary"}
    patch = {"kind": "Patch", "target": target, "type": "merge", "patch": {"data": {"a": "2"}}}
    documents = [patch] if action is SetAction.PATCH else [{**CONFIG_MAP, "metadata": {"name": "canary"}}]

    with suppress(NotValidError, NotAllowedError, NotPossibleError):
        team.plan(yaml.safe_dump_all(documents), namespace=name, action=action)

    assert lead_elsewhere(team) == []


@pytest.mark.core(2)
@pytest.mark.parametrize("part", ["group", "kind", "namespace", "name"])
@pytest.mark.parametrize("name", NAMES)
def test_what_is_brought_under_review_leads_nowhere_else(team, monkeypatch, name, part) -> None:
    team.wire_up(monkeypatch)
    where = {"group": "", "kind": "ConfigMap", "namespace": "default", "name": "settings", part: name}

    with pytest.raises((NotAllowedError, NotVisibleError, NotPossibleError, NotValidError)):
        adoption.read_adoption(team.cluster, **where, by=team.alice)

    assert lead_elsewhere(team) == []


REF = ObjectRef(GroupVersionKind("", "v1", "ConfigMap"), "default", "settings")
FOREIGN = (
    Request("GET", "/api/v1/namespaces/default/configmaps/../../shop/configmaps/x", ref=REF),
    Request("GET", "/api/v1/namespaces/shop/configmaps/settings", ref=REF),
    Request("PATCH", "/api/v1/namespaces/default/configmaps/other", {}, JSON, {}, REF),
    Request("POST", "/api/v1/namespaces/shop/configmaps", {}, JSON, {}, REF),
    Request("GET", "/api/v1/namespaces/default/services/web/proxy"),
    Request("GET", "/api/v1/namespaces/default/services/web/proxy/admin"),
    Request("GET", "/api/v1/namespaces/default/configmaps/..%2Fx"),
    Request("GET", "/api/v1/namespaces/default/configmaps/%2e%2e"),
    Request("GET", "/api/v1/namespaces/default/configmaps/%2E%2E"),
    Request("GET", "/api/v1/namespaces/default/configmaps/a%252Fb"),
    Request("GET", "/api/v1//namespaces/default/configmaps/x"),
    Request("GET", "/logs/kube-apiserver.log"),
    Request("GET", "/metrics"),
    Request("POST", "/version", {}, JSON, {}),
    Request("GET", "http://elsewhere/api/v1/pods"),
    Request("GET", "/api/v1/pods?watch=true"),
)


class _Configuration:
    host = "https://127.0.0.1:1"


@pytest.mark.parametrize("request_", FOREIGN, ids=lambda request: f"{request.method} {request.path}")
def test_no_client_sends_a_path_that_it_did_not_build(team, request_) -> None:
    assert not is_built(request_)
    with pytest.raises(NotSentError):
        SandboxTransport(team.cluster).send(request_)
    with pytest.raises(NotSentError):
        LiveTransport.send(object.__new__(LiveTransport), request_)


def test_the_sandbox_takes_no_encoded_slash_as_a_part_of_a_name(team) -> None:
    assert parse_path("/api/v1/namespaces/default/configmaps/..%2F..%2Fshop") is None
    assert parse_path("/api/v1/namespaces/default/configmaps/%2E%2E") is None
    assert parse_path("/api/v1/namespaces/default/configmaps/a%20b").name == "a b"


def test_names_of_other_alphabets_still_lead_to_their_object(team) -> None:
    """The names of roles are free: spaces, colons and other letters are encoded."""
    ref = ObjectRef(GroupVersionKind("rbac.authorization.k8s.io", "v1", "ClusterRole"), "", "team: Zürich?#1")
    role = {"apiVersion": ref.gvk.api_version, "kind": ref.gvk.kind, "metadata": {"name": ref.name}, "rules": []}

    plan = team.plan(yaml.safe_dump(role))
    run = team.work(team.start(plan))

    assert run.state == "applied", run.error
    path = "/apis/rbac.authorization.k8s.io/v1/clusterroles/team:%20Z%C3%BCrich%3F%231"
    answer = ClusterReader(SandboxTransport(team.cluster)).send(Request("GET", path, ref=ref))
    assert answer.body["metadata"]["name"] == ref.name
