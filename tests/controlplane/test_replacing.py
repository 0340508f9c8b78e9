"""Objects whose change a real API server refuses as immutable, replaced through a review as `kubectl --force` does."""

from __future__ import annotations

import time

import pytest
from django.urls import reverse

from applyviz.engine.objects.structs import replace
from applyviz.engine.planning.model.plan import Operation
from applyviz.engine.requests.options import ApplyMode, ApplyOptions, Replacement
from applyviz.records.enums import Outcome, RunState
from applyviz.records.models import ApplyRun
from applyviz.workflow import runs
from applyviz.workflow.plans import changes, planner, revert
from tests.builders import acknowledge_all, open_dangers
from tests.controlplane.comparison import JSONObject, compare, make_comparable, read_objects
from tests.controlplane.controlplane import ControlPlane
from tests.controlplane.product import Product

pytestmark = [pytest.mark.controlplane, pytest.mark.django_db]
CASES = {
    "batch/Job": """apiVersion: batch/v1
kind: Job
metadata: {name: hook, namespace: NAMESPACE}
spec:
  template:
    spec:
      restartPolicy: OnFailure
      containers: [{name: create, image: "hook:VALUE"}]
""",
    "apps/Deployment": """apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: NAMESPACE}
spec:
  selector: {matchLabels: {app: "vVALUE"}}
  template:
    metadata: {labels: {app: "vVALUE"}}
    spec: {containers: [{name: a, image: a}]}
""",
    "apps/StatefulSet": """apiVersion: apps/v1
kind: StatefulSet
metadata: {name: db, namespace: NAMESPACE}
spec:
  serviceName: "dbVALUE"
  selector: {matchLabels: {app: db}}
  template:
    metadata: {labels: {app: db}}
    spec: {containers: [{name: a, image: a}]}
""",
    "core/Service": """apiVersion: v1
kind: Service
metadata: {name: front, namespace: NAMESPACE}
spec: {clusterIP: 10.0.0.SIDEVALUE, ports: [{port: 80}]}
""",
    "rbac.authorization.k8s.io/RoleBinding": """apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: reads, namespace: NAMESPACE}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: "viewVALUE"}
subjects: [{kind: ServiceAccount, name: default, namespace: NAMESPACE}]
""",
    "core/ConfigMap": """apiVersion: v1
kind: ConfigMap
metadata: {name: sealed, namespace: NAMESPACE}
immutable: true
data: {x: "VALUE"}
""",
    "core/Secret": """apiVersion: v1
kind: Secret
metadata: {name: sealed, namespace: NAMESPACE}
immutable: true
stringData: {x: "VALUE"}
""",
    "core/PersistentVolumeClaim": """apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: data, namespace: NAMESPACE}
spec: {storageClassName: classVALUE, accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}
""",
    "apps/StatefulSet-claims": """apiVersion: apps/v1
kind: StatefulSet
metadata: {name: store, namespace: NAMESPACE}
spec:
  serviceName: store
  selector: {matchLabels: {app: store}}
  template:
    metadata: {labels: {app: store}}
    spec: {containers: [{name: a, image: a}]}
  volumeClaimTemplates:
  - metadata: {name: data}
    spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: "VALUEGi"}}}
""",
    "rbac.authorization.k8s.io/ClusterRoleBinding": """apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: NAMESPACE}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: "viewVALUE"}
subjects: [{kind: ServiceAccount, name: default, namespace: default}]
""",
    "core/PersistentVolume": """apiVersion: v1
kind: PersistentVolume
metadata: {name: NAMESPACE}
spec:
  accessModes: [ReadWriteOnce]
  capacity: {storage: 1Gi}
  csi: {driver: disks.example.com, volumeHandle: "disk-VALUE"}
  persistentVolumeReclaimPolicy: Retain
""",
    "storage.k8s.io/StorageClass": """apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: {name: NAMESPACE}
provisioner: disks.example.com
parameters: {kind: "fastVALUE"}
""",
    "storage.k8s.io/CSIDriver": """apiVersion: storage.k8s.io/v1
kind: CSIDriver
metadata: {name: NAMESPACE}
spec: {attachRequired: true, volumeLifecycleModes: [MODEVALUE]}
""",
    "scheduling.k8s.io/PriorityClass": """apiVersion: scheduling.k8s.io/v1
kind: PriorityClass
metadata: {name: NAMESPACE}
value: 100VALUE
""",
    "replace.example.com/Disk": """apiVersion: replace.example.com/v1
kind: Disk
metadata: {name: first, namespace: NAMESPACE}
spec: {size: VALUE}
""",
    "replace.example.com/Disk-shrinks": """apiVersion: replace.example.com/v1
kind: Disk
metadata: {name: second, namespace: NAMESPACE}
spec: {size: 1, pieces: -VALUE}
""",
}
DISKS = """apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: disks.replace.example.com}
spec:
  group: replace.example.com
  names: {plural: disks, singular: disk, kind: Disk, listKind: DiskList}
  scope: Namespaced
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            properties:
              size: {type: integer, x-kubernetes-validations: [{rule: self == oldSelf, message: size is immutable}]}
              pieces: {type: integer, x-kubernetes-validations: [{rule: self >= oldSelf, message: it only grows}]}
"""
# A claim is protected by a finalizer, which only its controller removes.
OF_CONTROLLERS = ("core/PersistentVolumeClaim", "core/PersistentVolume")
MANAGERS = {ApplyMode.CLIENT: "kubectl-client-side-apply", ApplyMode.SERVER: "applyviz"}


def number_side(namespace: str) -> str:
    """A number for each namespace, because two Services cannot have one address."""
    return str(1 + 2 * ("mine" in namespace) + ("client" in namespace))


def write(kind: str, value: str, namespace: str) -> dict[str, str]:
    """One version of the object of a kind, as a file."""
    mode = {"1": "Persistent", "2": "Ephemeral"}[value]
    text = CASES[kind].replace("SIDE", number_side(namespace)).replace("MODEVALUE", mode).replace("VALUE", value)
    return {"object.yaml": text.replace("NAMESPACE", namespace)}


def read_comparable(plane: ControlPlane, files: dict[str, str], namespace: str) -> dict[str, JSONObject]:
    """The object without what must differ: its namespace and address, and its uid in labels."""
    found = read_objects(plane, files, namespace)
    uids = {each["metadata"]["uid"]: "uid" for each in found.values()}
    for each in found.values():
        each.get("status", {}).pop("lastPhaseTransitionTime", None)
    return make_comparable(found, {namespace: "same", f"10.0.0.{number_side(namespace)}2": "address", **uids})


def replace_with_kubectl(plane: ControlPlane, kind: str, mode: ApplyMode, namespace: str) -> dict[str, JSONObject]:
    """What kubectl makes of both versions: by force client-side; server-side it can only delete and apply.

    - Force does not wait for a finalizer: `kubectl apply --force` of a claim ends with `context deadline exceeded`.
    """
    plane.kubectl("create", "namespace", namespace)
    first, second = (write(kind, value, namespace)["object.yaml"] for value in ("1", "2"))
    if mode is ApplyMode.CLIENT:
        plane.kubectl("apply", "-f", "-", stdin=first)
        if kind in OF_CONTROLLERS:
            plane.kubectl("delete", "-f", "-", stdin=second)
        plane.kubectl("apply", "--force", "-f", "-", stdin=second)
    else:
        server_side = ("apply", "--server-side", f"--field-manager={MANAGERS[mode]}", "-f", "-")
        plane.kubectl(*server_side, stdin=first)
        plane.kubectl("delete", "-f", "-", stdin=second)
        plane.kubectl(*server_side, stdin=second)
    return read_comparable(plane, {"object.yaml": second}, namespace)


def find_plane(request: pytest.FixtureRequest, kind: str) -> ControlPlane:
    """A server on which objects of the kind can be deleted, and which serves it."""
    plane: ControlPlane = request.getfixturevalue("managed_plane" if kind in OF_CONTROLLERS else "control_plane")
    if kind.startswith("replace.example.com/Disk"):
        plane.kubectl("apply", "-f", "-", stdin=DISKS)
        plane.kubectl("wait", "--for=condition=Established", "crd/disks.replace.example.com")
    return plane


@pytest.mark.core(1)
@pytest.mark.parametrize("mode", ApplyMode)
@pytest.mark.parametrize("kind", CASES)
def test_replaced_object_is_what_kubectl_makes_of_it(request, kind, mode):
    control_plane = find_plane(request, kind)
    word = f"{kind.rpartition('/')[2].lower()}-{mode.value}"
    theirs = replace_with_kubectl(control_plane, kind, mode, f"theirs-{word}")
    product, namespace = Product(control_plane), f"mine-{word}"
    control_plane.kubectl("create", "namespace", namespace)
    options = ApplyOptions(mode=mode, field_manager=MANAGERS[mode], namespace=namespace)
    product.apply(write(kind, "1", namespace), options)

    refused = product.plan(write(kind, "2", namespace), options)
    (row,) = refused.changes.all()
    change = changes.read_masked(row)
    assert (change.operation, change.can_be_replaced) == (Operation.ERROR, True)
    assert change.refused_fields
    chosen = Replacement(kinds=(kind.partition("-")[0],))
    product.apply(write(kind, "2", namespace), replace(options, replacement=chosen))

    ours = read_comparable(control_plane, write(kind, "2", namespace), namespace)
    assert compare(ours, theirs) == []


@pytest.mark.core(1)
@pytest.mark.parametrize("mode", ApplyMode)
def test_nothing_is_deleted_for_an_object_that_is_invalid_anyway(control_plane, mode):
    product, namespace = Product(control_plane), f"invalid-{mode.value}"
    control_plane.kubectl("create", "namespace", namespace)
    options = ApplyOptions(mode=mode, namespace=namespace, replacement=Replacement(kinds=("batch/Job",)))
    product.apply(write("batch/Job", "1", namespace), options)

    text = write("batch/Job", "2", namespace)["object.yaml"].replace("OnFailure", "Sometimes")
    (row,) = product.plan({"object.yaml": text}, options).changes.all()

    assert (row.operation, row.has_effect) == (Operation.ERROR, False)
    assert "restartPolicy" in row.error


# A dry run passes, as when a quota is used up or a policy starts to hold between plan and run.
REFUSING = """apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: refuse-creations}
spec:
  failurePolicy: Fail
  matchConstraints:
    namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: NAMESPACE}}
    resourceRules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [configmaps]}]
  validations: [{expression: request.dryRun == true, message: no more objects today}]
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: refuse-creations}
spec: {policyName: refuse-creations, validationActions: [Deny]}
"""


def wait_until_created(plane: ControlPlane, namespace: str, *, is_refused: bool) -> None:
    """Until the server refuses to create an object in the namespace, or no longer does."""
    deadline = time.monotonic() + 60
    while True:
        done = plane.kubectl("create", "configmap", "probe", "-n", namespace, check=False)
        plane.kubectl("delete", "configmap", "probe", "-n", namespace, "--ignore-not-found")
        if is_refused == ("no more objects today" in done.stderr):
            return
        assert time.monotonic() < deadline, done.stderr
        time.sleep(0.2)


@pytest.mark.long
@pytest.mark.parametrize("mode", ApplyMode)
def test_object_whose_creation_fails_after_its_deletion_is_offered_back_at_once(control_plane, client, mode):
    product, namespace, kind = Product(control_plane), f"refused-{mode.value}", "core/ConfigMap"
    control_plane.kubectl("create", "namespace", namespace)
    options = ApplyOptions(mode=mode, namespace=namespace)
    product.apply(write(kind, "1", namespace), options)
    before = read_comparable(control_plane, write(kind, "1", namespace), namespace)
    policy = REFUSING.replace("NAMESPACE", namespace)
    control_plane.kubectl("apply", "-f", "-", stdin=policy)
    wait_until_created(control_plane, namespace, is_refused=True)

    plan = product.plan(write(kind, "2", namespace), replace(options, replacement=Replacement(kinds=(kind,))))
    acknowledge_all(plan, product.bob)
    open_dangers(plan, product.bob)
    started = runs.approve_and_run(plan, by=product.bob, digest=plan.digest)
    runs.execute_run(started.pk)

    run = ApplyRun.objects.get(pk=started.pk)
    assert (run.state, run.results.get().outcome) == (RunState.FAILED, Outcome.REFUSED)
    assert control_plane.kubectl("get", "configmap", "sealed", "-n", namespace, "--ignore-not-found").stdout == ""
    client.force_login(product.alice)
    page = client.get(reverse("runs:show-run", args=[run.number])).content.decode()
    assert "Restore" in page
    control_plane.kubectl("delete", "-f", "-", stdin=policy)
    wait_until_created(control_plane, namespace, is_refused=False)

    review = revert.prepare_revert(run, by=product.alice, only_lost=True)()
    planner.make_plan(review.plans.get().pk)
    product.run(review.plans.get())

    assert compare(read_comparable(control_plane, write(kind, "1", namespace), namespace), before) == []
