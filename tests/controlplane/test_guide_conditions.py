"""The conditions that the guide names are those of the real kubectl and API server."""

from __future__ import annotations

import json
import urllib.parse
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from applyviz.engine.planning.model import placeholders
from applyviz.guide import playground
from applyviz.guide.given import PlaygroundQuery
from tests.controlplane.controlplane import ControlPlane
from tests.controlplane.fixed_fields import Asker
from tests.controlplane.proxying import JSONObject, Recorder
from tests.controlplane.test_guide_statements import APPLY, MERGE, WIDGETS, Person, config, workload

pytestmark = pytest.mark.controlplane
GROUP = "conditions.example.com"


@pytest.fixture(scope="module")
def recorder(control_plane: ControlPlane) -> Iterator[Recorder]:
    with Recorder(control_plane) as proxy:
        yield proxy


@pytest.fixture
def person(control_plane: ControlPlane, recorder: Recorder, request: pytest.FixtureRequest) -> Person:
    name = request.node.name.removeprefix("test_").partition("[")[0].replace("_", "-")[:45]
    return Person(control_plane, recorder, f"if-{name}-{abs(hash(request.node.name)) % 999}")


@pytest.fixture(scope="module")
def custom(control_plane: ControlPlane) -> JSONObject:
    """An object of a custom kind without a subresource; its path is `custom_path`."""
    definition = yaml.safe_load(WIDGETS.replace("statements.example.com", GROUP))
    del definition["spec"]["versions"][0]["subresources"]
    control_plane.kubectl("apply", "-f", "-", stdin=json.dumps(definition))
    control_plane.kubectl("wait", "--for=condition=Established", f"crd/trinkets.{GROUP}")
    return {"apiVersion": f"{GROUP}/v1", "kind": "Trinket", "metadata": {"name": "one"}}


custom_path = f"{GROUP}:v1/trinkets/one"


@pytest.mark.core(1)
@pytest.mark.parametrize(
    ("broken", "told"),
    [("apiVersion: v1\n kind: [", "error converting YAML to JSON"), ("kind: ConfigMap", "apiVersion not set")],
    ids=("syntax", "version"),
)
def test_document_that_cannot_be_read_ends_its_file(person, tmp_path, broken, told):
    """sources.md."""
    first, last = (yaml.safe_dump({**config(), "metadata": {"name": name}}) for name in ("first", "last"))
    file = Path(tmp_path, "set.yaml")
    file.write_text(f"{first}---\n{broken}\n---\n{last}")

    text, _writes = person.run("apply", "-f", str(file))

    assert "configmap/first created" in text
    assert told in text
    assert [person.ask("GET", f"v1/configmaps/{name}")[0] for name in ("first", "last")] == [200, 404]


@pytest.mark.long
def test_key_on_becomes_true_and_a_label_with_this_value_is_refused(person, tmp_path):
    """reading.md."""
    head = "apiVersion: v1\nkind: ConfigMap\n"
    file = Path(tmp_path, "flags.yaml")
    file.write_text(f"{head}metadata: {{name: flags, labels: {{a: on}}}}\n")
    refused, _writes = person.run("apply", "-f", str(file))
    file.write_text(f"{head}metadata: {{name: flags}}\ndata: {{on: a}}\n")
    person.run("apply", "-f", str(file))

    assert "cannot unmarshal bool" in refused
    assert person.ask("GET", "v1/configmaps/flags")[1]["data"] == {"true": "a"}


@pytest.mark.long
def test_patch_without_a_target_names_the_namespace_of_the_base(person, tmp_path):
    """rendering.md."""
    kustomization = Path(tmp_path, "kustomization.yaml")
    Path(tmp_path, "base.yaml").write_text(json.dumps(config(a="1")))
    patch = {**config(b="1"), "metadata": {"name": "flags", "namespace": "shop"}}
    Path(tmp_path, "patch.yaml").write_text(json.dumps(patch))

    def build(target: str) -> str:
        kustomization.write_text(f"namespace: shop\nresources: [base.yaml]\npatches: [{{path: patch.yaml{target}}}]\n")
        return person.run("kustomize", str(tmp_path))[0]

    assert "failed to find unique target for patch" in build("")
    assert yaml.safe_load(build(", target: {kind: ConfigMap}"))["data"] == {"a": "1", "b": "1"}


def test_empty_map_conflicts_where_the_server_does_not_store_it(person, custom):
    """empty-values.md."""
    template = workload()["spec"]["template"]
    empty = workload(template={**template, "spec": {**template["spec"], "nodeSelector": {}, "securityContext": {}}})
    more = {**template["spec"], "nodeSelector": {"disk": "ssd"}, "securityContext": {"runAsUser": 1}}
    deployment, group = "apps:v1/deployments/web?fieldManager={}", f"{custom_path}?fieldManager={{}}"

    assert person.ask("PATCH", deployment.format("platform"), empty, APPLY)[0] == 201
    status, answer = person.ask(
        "PATCH", deployment.format("shop"), workload(template={**template, "spec": more}), APPLY
    )
    assert person.ask("PATCH", group.format("platform"), {**custom, "spec": {"tags": {}}}, APPLY)[0] == 201

    assert (status, [cause["field"] for cause in answer["details"]["causes"]]) == (
        409,
        [".spec.template.spec.nodeSelector"],
    )
    assert person.ask("PATCH", group.format("shop"), {**custom, "spec": {"tags": {"a": "1"}}}, APPLY)[0] == 200


@pytest.mark.long
@pytest.mark.parametrize(("kind", "refused"), [("Deployment", True), ("StatefulSet", True), ("DaemonSet", False)])
def test_default_block_stays_beside_a_new_strategy_server_side(person, kind, refused):
    """retain-keys.md."""
    extra = {"serviceName": "web"} if kind == "StatefulSet" else {}
    name, new = ("strategy", "Recreate") if kind == "Deployment" else ("updateStrategy", "OnDelete")
    person.apply(workload(kind, **extra), "--server-side")

    text, _writes = person.apply(workload(kind, **extra, **{name: {"type": new}}), "--server-side")

    stored = person.ask("GET", f"apps:v1/{kind.lower()}s/web")[1]["spec"][name]
    assert ("is invalid" in text) is refused, text
    assert (stored["type"], "rollingUpdate" in stored) == ("RollingUpdate" if refused else new, True)


@pytest.mark.long
@pytest.mark.parametrize("address", ["None", None])
def test_only_a_headless_service_may_lose_both_ports(person, address):
    """duplicates.md."""
    ports = [{"name": name, "port": 53, "protocol": name.upper()} for name in ("tcp", "udp")]
    spec = {"clusterIP": address} if address else {}
    service = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "dns"}}
    person.apply({**service, "spec": {**spec, "ports": ports}})

    text, _writes = person.apply({**service, "spec": {**spec, "ports": ports[1:]}})

    left = person.ask("GET", "v1/services/dns")[1]["spec"].get("ports", [])
    assert ("spec.ports: Required value" in text, len(left)) == ((False, 0) if address else (True, 2))


@pytest.mark.long
def test_forced_replacement_that_fails_leaves_the_old_object_with_another_uid(person):
    """immutable.md."""
    person.apply(workload(replicas=2))
    path = "apps:v1/deployments/web"
    before = person.ask("GET", path)[1]

    text, _writes = person.apply(workload(selector={"matchLabels": {"app": "other"}}), "--force")

    after = person.ask("GET", path)[1]
    assert "is invalid" in text
    assert (after["spec"], after["metadata"]["uid"] == before["metadata"]["uid"]) == (before["spec"], False)


def test_status_of_a_kind_without_the_subresource_is_a_field_like_any_other(person, custom):
    """subresources.md."""
    person.apply({**custom, "status": {"ready": True}}, "--server-side")

    assert person.ask("GET", custom_path)[1]["status"] == {"ready": True}
    assert person.list_owners(custom_path)["kubectl Apply"]["f:status"] == {".": {}, "f:ready": {}}


@pytest.mark.long
def test_patch_of_a_custom_object_needs_a_type(person, custom):
    """patch-types.md."""
    person.apply({**custom, "spec": {"a": 1}})
    words = ("patch", f"trinkets.{GROUP}", "one", "-p", '{"spec": {"a": 2}}')

    text, refused = person.run(*words)
    person.run(*words, "--type=merge")

    assert ([w["status"] for w in refused], "is not supported by" in text) == ([415], True), text
    assert person.ask("GET", custom_path)[1]["spec"] == {"a": 2}


@pytest.mark.long
def test_deletion_of_an_absent_object_is_reported_and_the_others_go_on(person):
    """deletions.md."""
    person.apply(config(a="1"))
    absent = {**config(), "metadata": {"name": "absent"}}
    both = {"apiVersion": "v1", "kind": "List", "items": [absent, config()]}

    text, _writes = person.run("delete", "-f", "-", obj=both)

    assert 'configmaps "absent" not found' in text
    assert person.ask("GET", "v1/configmaps/flags")[0] == 404
    assert person.run("delete", "--ignore-not-found", "-f", "-", obj=both)[0] == ""


def test_orphaning_deletion_waits_for_the_garbage_collector(person):
    """deletions.md: this server has no controllers."""
    person.apply(config(a="1"))
    options = {"apiVersion": "v1", "kind": "DeleteOptions", "propagationPolicy": "Orphan"}

    person.ask("DELETE", "v1/configmaps/flags", options)

    status, found = person.ask("GET", "v1/configmaps/flags")
    assert (status, found["metadata"]["finalizers"]) == (200, ["orphan"])
    person.ask("PATCH", "v1/configmaps/flags", {"metadata": {"finalizers": None}}, MERGE)


@pytest.mark.long
def test_teams_that_share_one_annotation_remove_the_fields_of_each_other(person):
    """comparison.md."""
    person.apply(config(theme="dark"))
    person.apply(config(banner="on"))

    assert person.ask("GET", "v1/configmaps/flags")[1]["data"] == {"banner": "on"}


def test_fields_of_another_version_stay_with_kubectl_and_go_with_applyviz(person, control_plane):
    """migration.md: `behavior` is a field of autoscaling/v2 alone."""
    target = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}
    new, old = ({"apiVersion": f"autoscaling/{v}", "kind": "HorizontalPodAutoscaler"} for v in ("v2", "v1"))
    spec = {"scaleTargetRef": target, "maxReplicas": 5}
    behavior = {"scaleDown": {"stabilizationWindowSeconds": 60}}
    named = {name: {"name": name, "namespace": person.namespace} for name in ("kubectl", "applyviz")}
    for metadata in named.values():
        person.apply({**new, "metadata": metadata, "spec": {**spec, "behavior": behavior}})

    person.apply({**old, "metadata": named["kubectl"], "spec": spec}, "--server-side")
    manifest = json.dumps({**old, "metadata": named["applyviz"], "spec": spec})
    _status, live = person.ask("GET", "autoscaling:v1/horizontalpodautoscalers/applyviz")
    change = playground.estimate(PlaygroundQuery(manifest=manifest, live=json.dumps(live)), now="2026-01-01T00:00:00Z")
    for one in change.requests:
        _status, live = person.ask("GET", "autoscaling:v1/horizontalpodautoscalers/applyviz")
        request = placeholders.fill(one, live)
        path = f"{request.path}?{urllib.parse.urlencode(request.query)}"
        status, answer = Asker(control_plane).ask(request.method, path, request.body, request.content_type)
        assert status == 200, answer

    left = {name: person.ask("GET", f"autoscaling:v2/horizontalpodautoscalers/{name}")[1] for name in named}
    assert left["kubectl"]["spec"]["behavior"]["scaleDown"]["stabilizationWindowSeconds"] == 60
    assert "f:behavior" not in json.dumps(left["kubectl"]["metadata"]["managedFields"])
    assert "behavior" not in left["applyviz"]["spec"]
    assert "autoscaling.alpha.kubernetes.io/behavior" not in (change.versions.after or {})["metadata"]["annotations"]
