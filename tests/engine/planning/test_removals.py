"""A set whose objects are deleted: one row each, in reverse order, with what goes, what stays and what hangs."""

from __future__ import annotations

import pytest

from applyviz.engine.objects.exchange import Answer
from applyviz.engine.planning.digest.effects import effect
from applyviz.engine.planning.model.plan import Certainty, Operation
from applyviz.engine.references.resolving import EdgeState
from applyviz.engine.requests.options import ApplyMode, ApplyOptions, Propagation, SetAction
from applyviz.engine.risks.deletions import DEPENDENTS, TERMINATING, UNFILED_DATA
from applyviz.engine.risks.model import RiskKind
from applyviz.engine.risks.planning.dangling import DANGLING_REFERENCE
from applyviz.engine.risks.sentences import describe_risk
from tests.engine.planning.cluster import Box

NAMESPACE = "---\napiVersion: v1\nkind: Namespace\nmetadata: {name: shop}\n"
CONFIG = "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings, namespace: shop}\ndata: {a: x, b: z}\n"
POD = """---
apiVersion: v1
kind: Pod
metadata: {name: reader, namespace: shop}
spec:
  containers: [{name: c, image: i, envFrom: [{configMapRef: {name: settings}}]}]
"""
CRD = """---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: toys.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {plural: toys, singular: toy, kind: Toy, listKind: ToyList}
  versions:
    - name: v1
      served: true
      storage: true
      schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
"""
TOY = "---\napiVersion: example.com/v1\nkind: Toy\nmetadata: {name: bear, namespace: default}\n"


def deleting(**options: object) -> ApplyOptions:
    return ApplyOptions(action=SetAction.DELETE, **options)


def filled(*texts: str) -> Box:
    box = Box()
    for text in texts:
        box.apply(text)
    return box


def rows(plan) -> list[tuple[str, str]]:
    return [(change.ref.name, change.operation.value) for change in plan.changes]


def told(change) -> dict[RiskKind, str]:
    return {risk.kind: describe_risk(risk) for risk in change.risks}


def test_objects_go_in_reverse_order_and_nothing_else_of_the_manifests_counts():
    box = filled(NAMESPACE, CONFIG, POD)

    plan = box.plan(NAMESPACE + CONFIG.replace("a: x", "a: other") + POD, deleting())
    box.run(plan)

    assert rows(plan) == [("reader", "delete"), ("settings", "delete"), ("shop", "delete")]
    assert [change.step for change in plan.changes] == [0, 1, 2]
    assert {(c.certainty, c.method, c.versions.manifest) for c in plan.changes} == {
        (Certainty.CONFIRMED, "delete", None)
    }
    assert rows(box.plan(CONFIG + POD, deleting())) == [("reader", "not-found"), ("settings", "not-found")]


@pytest.mark.parametrize("propagation", list(Propagation))
def test_request_is_bound_to_what_was_read(propagation):
    box = filled(NAMESPACE, CONFIG)

    (change,) = box.plan(CONFIG, deleting(propagation=propagation)).changes

    (request,) = change.requests
    assert (request.method, request.body["propagationPolicy"]) == ("DELETE", propagation.value)
    assert request.body["preconditions"] == {
        name: change.versions.live["metadata"][name] for name in ("uid", "resourceVersion")
    }


def test_absent_object_is_a_row_without_a_request():
    plan = Box().plan(CONFIG, deleting())

    (change,) = plan.changes
    assert (change.operation, change.certainty, change.requests) == (Operation.NOT_FOUND, Certainty.CONFIRMED, ())


def test_absent_object_does_not_stop_the_others():
    plan = filled(NAMESPACE, CONFIG).plan(CONFIG + POD, deleting())

    assert {change.operation for change in plan.changes} == {Operation.DELETE, Operation.NOT_FOUND}


def test_object_of_an_unknown_kind_is_in_error():
    (change,) = Box().plan("apiVersion: nowhere.io/v1\nkind: Thing\nmetadata: {name: a}\n", deleting()).changes

    assert (change.operation, change.requests) == (Operation.ERROR, ())
    assert change.error.startswith('no matches for kind "Thing"')


def test_unreadable_object_is_in_error():
    box = filled(NAMESPACE, CONFIG)
    box.intercept = lambda request: Answer(403, {"kind": "Status", "message": "no"})

    (change,) = box.plan(CONFIG, deleting()).changes

    assert (change.operation, change.certainty, change.refusal.status) == (Operation.ERROR, Certainty.UNKNOWN, 403)


def test_refused_deletion_is_in_error():
    box = filled(NAMESPACE, CONFIG)
    refusal = Answer(403, {"kind": "Status", "reason": "Forbidden", "message": "denied the request: keep it"})
    box.intercept = lambda request: refusal if request.method == "DELETE" else None

    (change,) = box.plan(CONFIG, deleting()).changes

    assert (change.operation, change.requests) == (Operation.ERROR, ())


def test_deletion_counts_what_a_namespace_takes_with_it():
    box = filled(NAMESPACE, CONFIG, POD)

    (change,) = box.plan(NAMESPACE, deleting()).changes

    assert told(change)[DEPENDENTS] == (
        "Everything in Namespace shop is deleted with it: currently 1 ConfigMap, 1 Pod."
    )


def test_deletion_counts_the_objects_of_a_deleted_kind():
    box = filled(CRD)
    box.run(box.plan(CRD + TOY))

    plan, alone = box.plan(CRD + TOY, deleting()), box.plan(CRD, deleting())

    assert rows(plan) == [("bear", "delete"), ("toys.example.com", "delete")]
    assert told(plan.changes[1])[DEPENDENTS] == (
        "Every Toy in the cluster is deleted with its definition: currently 1 Toy."
    )
    assert told(alone.changes[0])[DEPENDENTS].startswith("Every Toy in the cluster")


def test_definition_that_serves_no_version_says_that_its_objects_are_unknown():
    box = filled(CRD)
    unserved = {"spec": {"versions": [{"name": "v1", "served": False, "storage": True, "schema": {}}]}}
    read, hidden = box.handle, box.intercept

    def unserve(request):
        if request.method != "GET" or not request.path.endswith("/toys.example.com"):
            return hidden(request)
        found = read(request).body
        return Answer(200, {**found, "spec": {**found["spec"], **unserved["spec"]}})

    box.intercept = unserve
    (change,) = box.plan(CRD, deleting()).changes

    assert told(change)[DEPENDENTS].endswith("currently unknown.")


def test_object_that_is_being_deleted_says_since_when():
    box = filled(NAMESPACE, CONFIG.replace("namespace: shop", "namespace: shop, finalizers: [example.com/hold]"))
    box.run(box.plan(CONFIG, deleting()))

    (change,) = box.plan(CONFIG, deleting()).changes

    assert told(change)[TERMINATING] == (
        "ConfigMap settings has been terminating since 2026-06-01T00:00:00Z: the run only waits until it is gone."
    )


@pytest.mark.parametrize("mode", list(ApplyMode))
@pytest.mark.parametrize("value", ["x", "changed"])
def test_apply_does_not_keep_an_object_that_is_being_deleted(mode: ApplyMode, value: str):
    held = CONFIG.replace("namespace: shop", "namespace: shop, finalizers: [example.com/hold, example.com/wait]")
    box = filled(NAMESPACE, held)
    text, options = held.replace("a: x", f"a: {value}"), ApplyOptions(mode)
    before = effect(box.plan(text, options).changes[0])
    box.run(box.plan(CONFIG, deleting()))

    (change,) = box.plan(text, options).changes

    assert told(change)[TERMINATING] == (
        "ConfigMap settings has been terminating since 2026-06-01T00:00:00Z: no write keeps it. It stays "
        "until example.com/hold, example.com/wait are removed. Once it is gone, an apply creates it again."
    )
    assert effect(change) == {**before, "goes": True}


def test_many_missing_entries_are_cut():
    names = "abcdefg"
    box = filled(NAMESPACE, CONFIG.replace("{a: x, b: z}", "{" + ", ".join(f"{n}{n}: x" for n in names) + "}"))

    (change,) = box.plan(CONFIG.replace("{a: x, b: z}", "{}"), deleting()).changes

    assert told(change)[UNFILED_DATA].startswith(
        "7 live entries are not in the manifest: aa, bb, cc, dd, ee and 2 more"
    )


def test_object_of_a_kind_that_is_not_served_but_defined_here_is_not_found():
    assert rows(Box().plan(CRD + TOY, deleting())) == [("bear", "not-found"), ("toys.example.com", "not-found")]


def test_definition_that_is_only_named_is_deleted():
    named = CRD.partition("spec:")[0]

    assert rows(filled(CRD).plan(named, deleting())) == [("toys.example.com", "delete")]


def test_reference_that_stays_is_a_high_risk_and_a_neighbor():
    box = filled(NAMESPACE, CONFIG, POD)

    plan = box.plan(CONFIG, deleting())

    (risk,) = [risk for risk in plan.changes[0].risks if risk.kind is DANGLING_REFERENCE]
    assert (risk.level.value, risk.facts["source"], risk.facts["target"]) == (
        "high",
        "Pod/reader",
        "ConfigMap/settings",
    )
    assert [node.name for node in plan.graph.nodes] == ["settings", "reader"]


@pytest.mark.parametrize("together", [POD, NAMESPACE])
def test_reference_that_goes_too_is_no_risk(together):
    plan = filled(NAMESPACE, CONFIG, POD).plan(CONFIG + together, deleting())

    assert DANGLING_REFERENCE not in {risk.kind for change in plan.changes for risk in change.risks}


def test_data_that_the_manifest_lacks_is_named():
    box = filled(NAMESPACE, CONFIG)

    one, two = box.plan(CONFIG.replace(", b: z", ""), deleting()), box.plan(CONFIG, deleting())

    assert told(one.changes[0])[UNFILED_DATA] == (
        "The live entry b is not in the manifest: applying it again does not restore it."
    )
    assert UNFILED_DATA not in told(two.changes[0])


def test_left_out_object_is_not_deleted():
    box = filled(NAMESPACE, CONFIG, POD)

    plan = box.plan(CONFIG + POD, deleting(left_out=("core/Pod/shop/reader",), left_out_reason="in use"))

    assert ("reader", "left-out") in rows(plan)
    assert ("settings", "delete") in rows(plan)


def test_runner_that_needs_no_notes_gets_the_same_requests():
    box = filled(NAMESPACE, CONFIG)

    with_notes, without = box.plan(CONFIG, deleting()), box.plan(CONFIG, deleting(), has_notes=False)

    assert with_notes.changes[0].requests == without.changes[0].requests


SERVICE = """---
apiVersion: v1
kind: Service
metadata: {name: web, namespace: shop}
spec: {selector: {app: web}, ports: [{port: 80}]}
"""
BUDGET = """---
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: web, namespace: shop}
spec: {minAvailable: 1, selector: {matchLabels: {app: web}}}
"""
POLICY = """---
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: {name: web, namespace: shop}
spec: {podSelector: {matchLabels: {app: web}}}
"""
SCALER = """---
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: web, namespace: shop}
spec: {maxReplicas: 3, scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}}
"""


def workload(name: str = "web", spec: str = "") -> str:
    return f"""---
apiVersion: apps/v1
kind: Deployment
metadata: {{name: {name}, namespace: shop}}
spec:
  selector: {{matchLabels: {{app: web, name: {name}}}}}
  template:
    metadata: {{labels: {{app: web, name: {name}}}}}
    spec: {{containers: [{{name: c, image: i}}]{spec}}}
"""


ACCOUNT = "---\napiVersion: v1\nkind: ServiceAccount\nmetadata: {name: robot, namespace: shop}\n"
CREDENTIAL = "---\napiVersion: v1\nkind: Secret\nmetadata: {name: login, namespace: shop}\ndata: {a: eA==}\n"
CLAIM = """---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: data, namespace: shop}
spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}
"""
REFERENCES = ("dangling-reference", "matches-nothing")


def hanging(plan) -> list[tuple[str, str, str]]:
    """The references to what goes: level, risk and the object that stays."""
    found = (risk for change in plan.changes for risk in change.risks if risk.kind.slug in REFERENCES)
    return sorted((risk.level.value, risk.kind.slug, risk.facts["source"]) for risk in found)


@pytest.mark.parametrize(
    ("staying", "level", "kind"),
    [
        (SERVICE, "high", "matches-nothing"),
        (BUDGET, "high", "matches-nothing"),
        (POLICY, "info", "matches-nothing"),
        (SCALER, "high", "dangling-reference"),
    ],
    ids=["Service", "PodDisruptionBudget", "NetworkPolicy", "HorizontalPodAutoscaler"],
)
def test_what_loses_its_last_pods_or_its_target_is_a_risk(staying, level, kind):
    box = filled(NAMESPACE, workload(), staying)

    alone = box.plan(workload(), deleting())
    together = box.plan(workload() + staying, deleting())

    name = staying.partition("kind: ")[2].partition("\n")[0]
    assert hanging(alone) == [(level, kind, f"{name}/web")]
    assert hanging(together) == []
    box.apply(workload("other"))
    left = [] if kind == "matches-nothing" else [(level, kind, f"{name}/web")]
    assert hanging(box.plan(workload(), deleting())) == left


@pytest.mark.parametrize(
    ("going", "spec"),
    [
        (CREDENTIAL, ", volumes: [{name: v, secret: {secretName: login}}]"),
        (ACCOUNT, ", serviceAccountName: robot"),
        (CLAIM, ", volumes: [{name: v, persistentVolumeClaim: {claimName: data}}]"),
        (CONFIG, ", volumes: [{name: v, configMap: {name: settings}}]"),
    ],
    ids=["Secret", "ServiceAccount", "PersistentVolumeClaim", "ConfigMap"],
)
def test_what_workloads_that_stay_refer_to_is_a_high_risk(going, spec):
    box = filled(NAMESPACE, going, workload(spec=spec))

    assert hanging(box.plan(going, deleting())) == [("high", "dangling-reference", "Deployment/web")]
    assert hanging(box.plan(going + workload(spec=spec), deleting())) == []


def test_graph_shows_what_dangles_after_the_deletion():
    box = filled(NAMESPACE, CREDENTIAL, workload(spec=", volumes: [{name: v, secret: {secretName: login}}]"), SERVICE)

    plan = box.plan(CREDENTIAL, deleting())

    node = {n: (one.kind, one.name) for n, one in enumerate(plan.graph.nodes)}
    edges = {(node[e.source], node[e.target], e.state) for e in plan.graph.edges}
    assert (("Deployment", "web"), ("Secret", "login"), EdgeState.MISSING) in edges


def test_each_object_that_loses_its_pods_is_named():
    plan = filled(NAMESPACE, workload(), SERVICE, BUDGET).plan(workload(), deleting())

    assert [source for _, _, source in hanging(plan)] == ["PodDisruptionBudget/web", "Service/web"]


def test_nothing_is_said_of_selectors_where_not_all_pods_are_known():
    box = filled(NAMESPACE, workload(), SERVICE)

    refusal = Answer(403, {"kind": "Status", "reason": "Forbidden", "message": "no"})
    box.intercept = lambda request: refusal if request.path.endswith("/pods") else None

    assert hanging(box.plan(workload(), deleting())) == []
