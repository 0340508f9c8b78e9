"""Outside of status, real controllers and the API server write into objects that others made only what is listed."""

from __future__ import annotations

import json
from typing import Any

import pytest

from applyviz.engine.diff.structural import diff_objects
from applyviz.engine.objects.controller_fields import CONTROLLER_FIELDS, is_controller_written
from applyviz.engine.objects.paths import FieldPath, render_path
from applyviz.engine.objects.refs import GroupVersionKind
from applyviz.engine.planning.model.server_managed import drop_server_managed, is_same_object
from applyviz.engine.schema.builtin import bundled
from tests.controlplane.controlplane import ControlPlane

pytestmark = pytest.mark.controlplane
SPACE = "controller-fields"
OBJECTS = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: web, image: "registry.example/web:1"}]}
---
apiVersion: v1
kind: PersistentVolume
metadata: {name: controller-fields}
spec:
  capacity: {storage: 1Gi}
  accessModes: [ReadWriteOnce]
  storageClassName: by-hand
  hostPath: {path: /data}
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: data}
spec:
  accessModes: [ReadWriteOnce]
  storageClassName: by-hand
  resources: {requests: {storage: 1Gi}}
---
apiVersion: v1
kind: ServiceAccount
metadata: {name: robot}
---
apiVersion: v1
kind: Secret
metadata: {name: token, annotations: {kubernetes.io/service-account.name: robot}}
type: kubernetes.io/service-account-token
---
apiVersion: v1
kind: Service
metadata: {name: web}
spec: {selector: {app: web}, ports: [{port: 80}]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: controller-fields-part, labels: {part-of: controller-fields}}
rules: [{apiGroups: [""], resources: [pods], verbs: [get]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: controller-fields-sum}
aggregationRule: {clusterRoleSelectors: [{matchLabels: {part-of: controller-fields}}]}
"""
DEFINITION = """\
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: things.written.example.com}
spec:
  group: written.example.com
  scope: Namespaced
  names: {plural: things, kind: Thing}
  versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}]
"""
# The API server watches both: no server serves the APIService, and the level of the FlowSchema does not exist.
WATCHED = """\
apiVersion: apiregistration.k8s.io/v1
kind: APIService
metadata: {name: v1.nobody.example.com}
spec:
  group: nobody.example.com
  version: v1
  groupPriorityMinimum: 100
  versionPriority: 10
  insecureSkipTLSVerify: true
  service: {namespace: default, name: nobody}
---
apiVersion: flowcontrol.apiserver.k8s.io/v1
kind: FlowSchema
metadata: {name: controller-fields}
spec:
  priorityLevelConfiguration: {name: nobody}
  matchingPrecedence: 9000
  rules:
  - subjects: [{kind: User, user: {name: nobody}}]
    nonResourceRules: [{verbs: [get], nonResourceURLs: [/nothing]}]
"""
WRITTEN = {
    "Deployment .metadata.annotations.deployment.kubernetes.io/revision",
    "PersistentVolume .metadata.annotations.pv.kubernetes.io/bound-by-controller",
    "PersistentVolume .spec.claimRef",
    "PersistentVolumeClaim .metadata.annotations.pv.kubernetes.io/bind-completed",
    "PersistentVolumeClaim .metadata.annotations.pv.kubernetes.io/bound-by-controller",
    "PersistentVolumeClaim .spec.volumeName",
    "Secret .data.ca.crt",
    "Secret .data.namespace",
    "Secret .data.token",
    "Secret .metadata.annotations.kubernetes.io/service-account.uid",
    "ClusterRole .rules",
}


def _find_written(before: dict[str, Any], after: dict[str, Any]) -> list[FieldPath]:
    kind = bundled().find_kind(GroupVersionKind.from_object(after))
    old, new = (
        {name: value for name, value in drop_server_managed(obj).items() if name != "status"} for obj in (before, after)
    )
    for one in (old, new):
        one["metadata"] = {name: value for name, value in one["metadata"].items() if name != "managedFields"}
    return [one.path for one in diff_objects(old, new, root=kind.root)]


@pytest.mark.long
def test_controllers_write_what_is_listed(managed_plane: ControlPlane) -> None:
    def kubectl(*arguments: str, **options: Any) -> str:
        return managed_plane.kubectl("-n", SPACE, *arguments, **options).stdout

    managed_plane.kubectl("create", "namespace", SPACE)
    made = [json.loads(kubectl("create", "-f", "-", "-o", "json", stdin=one)) for one in OBJECTS.split("---\n")]
    for path, name in (
        (r"{.metadata.annotations.deployment\.kubernetes\.io/revision}=1", "deployment/web"),
        ("{.status.phase}=Bound", "pvc/data"),
        ("{.status.phase}=Bound", "pv/controller-fields"),
        ("{.data.namespace}", "secret/token"),
        ("{.rules[0].verbs[0]}=get", "clusterrole/controller-fields-sum"),
        ("{.metadata.name}=web", "endpoints/web"),
    ):
        kubectl("wait", f"--for=jsonpath={path}", name, "--timeout=60s")

    written, unlisted = set(), []
    for before in made:
        kind, name = before["kind"], before["metadata"]["name"]
        after = json.loads(kubectl("get", kind, name, "-o", "json", "--show-managed-fields"))
        for path in _find_written(before, after):
            found = [str(one) for one in CONTROLLER_FIELDS if one.kind == kind and one.covers(path, after)]
            written.update(found)
            unlisted += [] if is_controller_written(path, after) else [f"{kind}/{name} {render_path(path)}"]

    assert unlisted == []
    assert written == WRITTEN


@pytest.mark.long
def test_a_status_that_the_api_server_writes_is_no_difference(managed_plane: ControlPlane) -> None:
    reasons = []
    for one in WATCHED.split("---\n"):
        before = json.loads(managed_plane.kubectl("create", "-f", "-", "-o", "json", stdin=one).stdout)
        name = f"{before['kind']}/{before['metadata']['name']}"
        managed_plane.kubectl("wait", "--for=jsonpath={.status.conditions[0].reason}", name, "--timeout=60s")
        after = json.loads(managed_plane.kubectl("get", name, "-o", "json").stdout)
        reasons.append(after["status"]["conditions"][0]["reason"])

        assert before["metadata"]["resourceVersion"] != after["metadata"]["resourceVersion"]
        assert is_same_object(before, after)

    assert reasons == ["ServiceNotFound", "NotFound"]


@pytest.mark.long
def test_what_the_api_server_manages_itself_it_writes_back(managed_plane: ControlPlane) -> None:
    managed_plane.kubectl("create", "-f", "-", stdin=DEFINITION)
    managed_plane.kubectl("wait", "--for=condition=Available", "apiservice/v1.written.example.com", "--timeout=60s")
    found = set()
    for name, path, value in (
        ("apiservice/v1.written.example.com", "versionPriority", 50),
        ("flowschema/service-accounts", "matchingPrecedence", 9100),
        ("prioritylevelconfiguration/workload-low", "limited.lendablePercent", 12),
    ):
        kept = managed_plane.kubectl("get", name, "-o", f"jsonpath={{.spec.{path}}}").stdout
        *above, last = path.split(".")
        spec: dict[str, Any] = {last: value}
        for part in above:
            spec = {part: spec}
        patch = json.dumps({"spec": spec})
        changed = managed_plane.kubectl("patch", name, "--type=merge", "-p", patch, "-o", "json").stdout
        managed_plane.kubectl("wait", f"--for=jsonpath={{.spec.{path}}}={kept}", name, "--timeout=120s")
        after = json.loads(managed_plane.kubectl("get", name, "-o", "json").stdout)
        written = _find_written(json.loads(changed), after)
        assert [render_path(one) for one in written] == [f".spec.{path}"]
        assert all(is_controller_written(one, after) for one in written)
        found.add(after["kind"])

    assert found == {"APIService", "FlowSchema", "PriorityLevelConfiguration"}
