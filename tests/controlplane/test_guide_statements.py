"""The statements of the guide about kubectl and the server hold for the real ones."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from applyviz.engine.objects.known_names import LAST_APPLIED
from tests.controlplane.controlplane import ControlPlane, run_kubectl
from tests.controlplane.fixed_fields import Asker
from tests.controlplane.proxying import JSONObject, Recorder
from tests.controlplane.record import render_config

pytestmark = pytest.mark.controlplane
STRATEGIC, MERGE, JSON = (f"application/{name}+json" for name in ("strategic-merge-patch", "merge-patch", "json-patch"))
APPLY = "application/apply-patch+yaml"
TEMPLATE = {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [{"name": "web", "image": "shop/web:1"}]}}
WIDGETS = """
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: trinkets.statements.example.com}
spec:
  group: statements.example.com
  names: {plural: trinkets, kind: Trinket}
  scope: Namespaced
  versions:
  - name: v1
    served: true
    storage: true
    subresources: {status: {}}
    schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
"""


class Person:
    """One person with kubectl in a namespace of their own; every request is recorded."""

    def __init__(self, plane: ControlPlane, recorder: Recorder, namespace: str) -> None:
        self._plane, self._recorder, self.namespace = plane, recorder, namespace
        self._asker = Asker(plane)
        plane.kubectl("create", "namespace", namespace)

    def run(self, *arguments: str, obj: Any = None) -> tuple[str, list[JSONObject]]:
        """Run kubectl; return what it prints and the writes that it sends."""
        self._recorder.take()
        with tempfile.TemporaryDirectory() as folder:
            config = Path(folder, "config")
            config.write_text(render_config(self._recorder.url, self.namespace))
            stdin = None if obj is None else yaml.safe_dump(obj)
            done = run_kubectl(self._plane.binaries.kubectl, config, *arguments, stdin=stdin, check=False)
        writes = [e for e in self._recorder.take()[1] if e["method"] in ("POST", "PUT", "PATCH")]
        return done.stdout + done.stderr, writes

    def apply(self, obj: Any, *flags: str) -> tuple[str, list[JSONObject]]:
        """Run `kubectl apply`."""
        return self.run("apply", *flags, "-f", "-", obj=obj)

    def ask(self, method: str, path: str, body: Any = None, content_type: str = "application/json") -> tuple[int, Any]:
        """Send one request below the namespace."""
        root, _slash, rest = path.partition("/")
        group = "/api/v1" if root == "v1" else f"/apis/{root.replace(':', '/')}"
        return self._asker.ask(method, f"{group}/namespaces/{self.namespace}/{rest}", body, content_type)

    def list_owners(self, path: str) -> dict[str, JSONObject]:
        """Return the field owners of an object: name, operation and subresource, with fieldsV1."""
        _status, found = self.ask("GET", path)
        entries = found["metadata"].get("managedFields", ())
        return {f"{e['manager']} {e['operation']} {e.get('subresource', '')}".strip(): e["fieldsV1"] for e in entries}


@pytest.fixture(scope="module")
def recorder(control_plane: ControlPlane) -> Iterator[Recorder]:
    with Recorder(control_plane) as proxy:
        yield proxy


@pytest.fixture
def person(control_plane: ControlPlane, recorder: Recorder, request: pytest.FixtureRequest) -> Person:
    name = request.node.name.removeprefix("test_").partition("[")[0].replace("_", "-")[:50]
    return Person(control_plane, recorder, f"says-{name}-{abs(hash(request.node.name)) % 999}")


def config(**data: str) -> JSONObject:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "flags"}, "data": data}


def workload(kind: str = "Deployment", **spec: Any) -> JSONObject:
    selector = {"matchLabels": {"app": "web"}}
    return {
        "apiVersion": "apps/v1",
        "kind": kind,
        "metadata": {"name": "web"},
        "spec": {"selector": selector, "template": TEMPLATE, **spec},
    }


def test_change_of_sides_takes_four_requests(person):
    """requests.md; migration.md: kubectl keeps last-applied for the manager kubectl."""
    person.apply(config(theme="dark", banner="on"))

    _text, writes = person.apply(config(theme="dark"), "--server-side")

    sent = [(w["content_type"].partition("+")[0], w["query"].get("fieldManager")) for w in writes]
    assert sent == [
        ("application/apply-patch", "kubectl"),
        ("application/apply-patch", "kubectl-last-applied"),
        ("application/json-patch", "kubectl"),
        ("application/apply-patch", "kubectl"),
    ]
    assert set(person.list_owners("v1/configmaps/flags")) == {"kubectl Apply", "kubectl-last-applied Apply"}
    found = person.ask("GET", "v1/configmaps/flags")[1]
    assert (found["data"], LAST_APPLIED in found["metadata"]["annotations"]) == ({"theme": "dark"}, True)


@pytest.mark.long
def test_another_manager_of_kubectl_moves_fields_too_and_loses_last_applied(person):
    """migration.md: whatever the name in --field-manager."""
    person.apply(config(theme="dark"))

    person.apply(config(theme="dark"), "--server-side", "--field-manager=ci")

    assert set(person.list_owners("v1/configmaps/flags")) == {"ci Apply"}
    assert "annotations" not in person.ask("GET", "v1/configmaps/flags")[1]["metadata"]


@pytest.mark.long
def test_default_that_the_manifest_changes_stops_kubectl(person):
    """migration.md, defaults.md: last-applied has no defaults, and a conflict stops kubectl before it moves."""
    person.apply(workload())

    text, writes = person.apply(workload(strategy={"type": "Recreate"}), "--server-side")

    assert 'conflict with "kubectl-client-side-apply" using apps/v1: .spec.strategy.type' in text
    assert len(writes) == 1
    assert set(person.list_owners("apps:v1/deployments/web")) == {"kubectl-client-side-apply Update"}


@pytest.mark.long
def test_switch_back_removes_by_the_annotation_and_not_by_owners(person):
    """downgrade.md: nothing at first, then what is dropped, and the Apply entry loses it."""
    person.apply(config(theme="dark", banner="on", season="winter"), "--server-side")

    text, _writes = person.apply(config(theme="dark", banner="on"))
    kept = person.ask("GET", "v1/configmaps/flags")[1]["data"]
    later, _writes = person.apply(config(theme="dark"))

    assert "is missing the kubectl.kubernetes.io/last-applied-configuration annotation" in text
    assert kept == {"theme": "dark", "banner": "on", "season": "winter"}
    assert "missing" not in later
    assert person.ask("GET", "v1/configmaps/flags")[1]["data"] == {"theme": "dark", "season": "winter"}
    assert "f:banner" not in json.dumps(person.list_owners("v1/configmaps/flags"))


@pytest.mark.long
def test_switch_back_with_a_kept_annotation_removes_at_once(person):
    """downgrade.md: there is no warning."""
    person.apply(config(theme="dark", banner="on"))
    person.apply(config(theme="dark", banner="on"), "--server-side")

    text, _writes = person.apply(config(theme="dark"))

    assert "missing" not in text
    assert person.ask("GET", "v1/configmaps/flags")[1]["data"] == {"theme": "dark"}


@pytest.mark.long
def test_client_side_patch_names_no_version(person):
    """requests.md: the server merges it into a newer object; only a version in the manifest leads to 409."""
    person.apply(config(theme="dark"))

    _text, writes = person.apply(config(theme="light"))
    stale = config(theme="gray")
    stale["metadata"]["resourceVersion"] = "1"
    text, refused = person.apply(stale)

    assert [w["body"]["metadata"].get("resourceVersion") for w in writes] == [None]
    assert [w["status"] for w in refused] == [409] * 6
    assert "the object has been modified" in text


@pytest.mark.long
def test_null_of_an_absent_field_is_sent_every_time(person):
    """fields.md."""
    obj = workload(paused=None)
    person.apply(obj)

    assert [person.apply(obj)[0] for _ in range(2)] == ["deployment.apps/web configured\n"] * 2


@pytest.mark.long
def test_scale_without_an_owner_leaves_none(person):
    """subresources.md: and the next apply resets the number without a conflict."""
    person.apply(workload(), "--server-side")

    person.run("scale", "deployment/web", "--replicas=6")
    owners = person.list_owners("apps:v1/deployments/web")
    person.apply(workload(replicas=1), "--server-side")

    assert set(owners) == {"kubectl Apply"}
    assert person.ask("GET", "apps:v1/deployments/web")[1]["spec"]["replicas"] == 1


@pytest.mark.long
def test_status_is_dropped_by_an_apply_of_the_object_and_written_by_one_of_status(person, control_plane):
    """subresources.md."""
    control_plane.kubectl("apply", "-f", "-", stdin=WIDGETS)
    control_plane.kubectl("wait", "--for=condition=Established", "crd/trinkets.statements.example.com")
    obj = {"apiVersion": "statements.example.com/v1", "kind": "Trinket", "metadata": {"name": "one"}}
    obj |= {"spec": {"a": 1}, "status": {"ready": True}}
    path = "statements.example.com:v1/trinkets/one"

    person.apply(obj, "--server-side")
    dropped = person.ask("GET", path)[1]
    person.apply(obj, "--server-side", "--subresource=status", "--field-manager=ctl")

    assert "status" not in dropped
    assert person.ask("GET", path)[1]["status"] == {"ready": True}
    assert person.list_owners(path)["ctl Apply status"] == {"f:status": {".": {}, "f:ready": {}}}
    # patch-types.md: no strategic merge patch for custom resources
    assert person.ask("PATCH", path, {"spec": {"a": 2}}, STRATEGIC)[0] == 415
    assert person.ask("PATCH", path, {"spec": {"a": 2}}, MERGE)[0] == 200


@pytest.mark.core(1)
@pytest.mark.parametrize("cleared", [[], [{}]])
def test_both_spellings_clear_managed_fields(person, cleared):
    """clearing.md: also in a write that changes fields, no field has an owner afterwards."""
    person.apply(config(theme="dark"), "--server-side")
    person.ask("PATCH", "v1/configmaps/flags", {"metadata": {"managedFields": cleared}}, MERGE)
    silent = person.list_owners("v1/configmaps/flags")

    person.apply(config(theme="dark"), "--server-side")
    body = {"metadata": {"managedFields": cleared}, "data": {"banner": "on"}}
    person.ask("PATCH", "v1/configmaps/flags?fieldManager=me", body, MERGE)

    assert silent == {}
    assert person.ask("GET", "v1/configmaps/flags")[1]["data"] == {"theme": "dark", "banner": "on"}
    assert person.list_owners("v1/configmaps/flags") == {}


def test_before_first_apply_moves_where_it_owns_last_applied(person):
    """before-first-apply.md."""
    person.apply(config(theme="dark"))
    person.ask("PATCH", "v1/configmaps/flags", {"metadata": {"managedFields": [{}]}}, MERGE)

    person.apply(config(theme="dark"), "--server-side")

    assert set(person.list_owners("v1/configmaps/flags")) == {"kubectl Apply", "kubectl-last-applied Apply"}


@pytest.mark.core(1)
@pytest.mark.parametrize("version", ["1", "999"])
def test_any_version_creates_what_is_absent(person, version):
    """binding.md."""
    obj = config(theme="dark")
    obj["metadata"]["resourceVersion"] = version
    path = "v1/configmaps/flags?fieldManager=shop"

    assert person.ask("PATCH", path, obj, APPLY)[0] == 201
    assert person.ask("PATCH", path, obj, APPLY)[0] == 409


@pytest.mark.core(1)
@pytest.mark.parametrize(("kind", "refused"), [("StatefulSet", True), ("DaemonSet", False)])
def test_strategies_without_retain_keys(person, kind, refused):
    """retain-keys.md: a DaemonSet keeps the block of the other strategy."""
    extra = {"serviceName": "web"} if kind == "StatefulSet" else {}
    rolling = {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": 1}}
    person.apply(workload(kind, updateStrategy={"type": "RollingUpdate"} if refused else rolling, **extra))
    person.ask(
        "PATCH",
        f"apps:v1/{kind.lower()}s/web",
        {"spec": {"updateStrategy": {"rollingUpdate": {"partition": 1} if refused else {"maxUnavailable": 2}}}},
        MERGE,
    )

    text, _writes = person.apply(workload(kind, updateStrategy={"type": "OnDelete"}, **extra))

    assert ("is invalid" in text) is refused, text


def test_container_without_a_name_is_refused_by_validation(person):
    """server-side.md: the key name has an empty default, so it is no error of the schema."""
    template = {**TEMPLATE, "spec": {"containers": [{"image": "shop/web:1"}]}}
    path = "apps:v1/deployments/web?fieldManager=shop"

    assert person.ask("PATCH", path, workload(template=template), APPLY)[0] == 422
    assert person.ask("PATCH", path, workload(replicas="two"), APPLY)[0] == 500


@pytest.mark.long
def test_granular_to_atomic_conflicts_with_every_former_owner(person, control_plane):
    """topology.md."""
    definition = yaml.safe_load(WIDGETS.replace("trinket", "bauble").replace("Trinket", "Bauble"))
    listed: JSONObject = {"type": "array", "items": {"type": "string"}, "x-kubernetes-list-type": "set"}
    schema = {"type": "object", "properties": {"spec": {"type": "object", "properties": {"codes": listed}}}}
    definition["spec"]["versions"][0]["schema"] = {"openAPIV3Schema": schema}
    control_plane.kubectl("apply", "-f", "-", stdin=json.dumps(definition))
    control_plane.kubectl("wait", "--for=condition=Established", "crd/baubles.statements.example.com")
    path = "statements.example.com:v1/baubles/one?fieldManager={}"
    obj: JSONObject = {"apiVersion": "statements.example.com/v1", "kind": "Bauble", "metadata": {"name": "one"}}
    for manager, code in (("shop", "ten"), ("partner", "twenty")):
        assert person.ask("PATCH", path.format(manager), {**obj, "spec": {"codes": [code]}}, APPLY)[0] in (200, 201)

    listed["x-kubernetes-list-type"] = "atomic"
    control_plane.kubectl("apply", "-f", "-", stdin=json.dumps(definition))
    answer: JSONObject = {}
    for _attempt in range(100):  # until the server uses the new schema
        _status, answer = person.ask(
            "PATCH", f"{path.format('new')}&dryRun=All", {**obj, "spec": {"codes": ["x"]}}, APPLY
        )
        if {c["field"] for c in answer.get("details", {}).get("causes", ())} == {".spec.codes"}:
            break

    told = sorted(cause["message"] for cause in answer["details"]["causes"])
    assert told == ['conflict with "partner"', 'conflict with "shop"']


@pytest.mark.long
def test_names_of_writers(person):
    """managers.md."""
    obj, path = config(theme="dark"), "v1/configmaps/flags"

    def names() -> set[str]:
        return set(person.list_owners(path))

    person.run("create", "-f", "-", obj=obj)
    assert names() == {"kubectl-create Update"}
    person.run("patch", "configmap", "flags", "--type=merge", "-p", '{"data": {"a": "1"}}')
    assert "kubectl-patch Update" in names()
    person.ask("PATCH", path, {"data": {"b": "1"}}, MERGE)
    assert any(name.startswith("Python-urllib Update") for name in names())
    person.run("replace", "-f", "-", obj=config(theme="gray"))
    assert "kubectl-replace Update" in names()
    assert person.ask("PATCH", path, obj, APPLY)[0] == 422

    person.run("create", "-f", "-", obj=workload(replicas=1))
    person.run("scale", "deployment/web", "--replicas=3")
    person.run("set", "image", "deployment/web", "web=shop/web:9")
    owners = set(person.list_owners("apps:v1/deployments/web"))
    assert {"kubectl Update scale", "kubectl-set Update"} <= owners


@pytest.mark.long
def test_replace_removes_what_others_set_and_the_annotation(person):
    """ways.md; an object that create made has no annotation, and the first apply removes nothing."""
    person.apply(config(theme="dark"))
    person.ask("PATCH", "v1/configmaps/flags", {"data": {"other": "1"}}, MERGE)

    person.run("replace", "-f", "-", obj=config(theme="dark", banner="on"))
    found = person.ask("GET", "v1/configmaps/flags")[1]
    person.apply(config(theme="dark"))

    assert found["data"] == {"theme": "dark", "banner": "on"}
    assert "annotations" not in found["metadata"]
    assert person.ask("GET", "v1/configmaps/flags")[1]["data"] == {"theme": "dark", "banner": "on"}


@pytest.mark.long
def test_patch_of_a_kustomization_changes_the_manifest_alone(person, tmp_path):
    """rendering.md: directives and null end in kustomize; what only the live object has stays."""
    base = workload(minReadySeconds=5)
    spec: JSONObject = {"minReadySeconds": None, "progressDeadlineSeconds": None}
    spec["template"] = {"spec": {"containers": [{"name": "log", "image": "shop/log:1"}]}}
    Path(tmp_path, "kustomization.yaml").write_text("resources: [base.yaml]\npatches: [{path: patch.yaml}]\n")
    Path(tmp_path, "base.yaml").write_text(json.dumps(base))
    Path(tmp_path, "patch.yaml").write_text(json.dumps({**base, "spec": spec}))
    person.apply(base)
    path = "apps:v1/deployments/web"
    person.ask("PATCH", path, {"spec": {"progressDeadlineSeconds": 300}}, MERGE)

    _text, (write,) = person.run("apply", "-k", str(tmp_path))

    live = person.ask("GET", path)[1]["spec"]
    assert (write["body"]["spec"]["minReadySeconds"], "progressDeadlineSeconds" in write["body"]["spec"]) == (
        None,
        False,
    )
    assert ("minReadySeconds" in live, live["progressDeadlineSeconds"]) == (False, 300)
    assert {container["name"] for container in live["template"]["spec"]["containers"]} == {"web", "log"}
