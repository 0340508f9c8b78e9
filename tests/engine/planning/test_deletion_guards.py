"""Deletions of objects in use, of other tools and of critical kinds carry a high risk."""

from __future__ import annotations

import pytest

from applyviz.engine.objects.exchange import JSON, Request
from applyviz.engine.requests.options import ApplyMode, ApplyOptions, Prune, PruneMode, Replacement, SetAction
from applyviz.engine.risks.deletions import FINALIZERS, IN_USE
from applyviz.engine.risks.model import RiskKind, RiskLevel
from applyviz.engine.risks.planning.dangling import DANGLING_REFERENCE
from applyviz.engine.risks.pruning import PRUNE_SHARE
from applyviz.engine.risks.sentences import describe_risk
from applyviz.engine.risks.set_context import BELONGS_TO_OTHER
from tests.engine.planning.cluster import Box

KEPT = "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: kept, labels: {app: shop}}\n"
CONFIG = KEPT.replace("kept", "settings") + "data: {a: x}\n"
POD = """---
apiVersion: v1
kind: Pod
metadata: {name: reader, namespace: default}
spec: {containers: [{name: c, image: i, envFrom: [{configMapRef: {name: settings}}]}]}
"""
SERVICE = """---
apiVersion: v1
kind: Service
metadata: {name: web, labels: {app: shop}}
spec: {clusterIP: None, ports: [{port: 80}], selector: {app: web}}
"""
SLICE = """---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {name: web-1, namespace: default, labels: {kubernetes.io/service-name: web}}
addressType: IPv4
endpoints:
- {addresses: [10.1.0.1], conditions: {ready: true}}
- {addresses: [10.1.0.2]}
- {addresses: [10.1.0.3], conditions: {ready: false}}
"""
CLAIM = """---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: data, labels: {app: shop}}
spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}, volumeName: pv-1}
"""
VOLUME = """---
apiVersion: v1
kind: PersistentVolume
metadata: {name: pv-1}
spec:
  accessModes: [ReadWriteOnce]
  capacity: {storage: 1Gi}
  hostPath: {path: /data}
  persistentVolumeReclaimPolicy: POLICY
"""
CLIENT = ApplyOptions(mode=ApplyMode.CLIENT)
KINDS = ("core/v1/ConfigMap", "core/v1/Service", "core/v1/PersistentVolumeClaim")
WAYS = {
    "prune": ApplyOptions(mode=ApplyMode.CLIENT, selector="app=shop", prune=Prune(PruneMode.ALLOWLIST, KINDS)),
    "delete": ApplyOptions(action=SetAction.DELETE),
}


def remove(box: Box, text: str, way: str):
    """The planned deletion of the last object of a text: it left the set, or the set is deleted."""
    plan = box.plan(KEPT if way == "prune" else text, WAYS[way])
    return next(change for change in plan.changes if change.operation.value == way)


def say(change, kind: RiskKind) -> list[tuple[RiskLevel, str]]:
    return [(risk.level, describe_risk(risk)) for risk in change.risks if risk.kind is kind]


@pytest.mark.parametrize("way", WAYS)
def test_object_that_a_pod_reads_is_in_use(way):
    box = Box()
    box.apply(KEPT + CONFIG, CLIENT)
    box.apply(POD)

    (found,) = say(remove(box, CONFIG, way), DANGLING_REFERENCE)

    assert found[0] is RiskLevel.HIGH
    assert found[1] == "Pod/reader refers to ConfigMap/settings, which this plan deletes: its pods cannot start."


@pytest.mark.parametrize("way", WAYS)
def test_service_with_ready_endpoints_is_in_use(way):
    box = Box()
    box.apply(KEPT + SERVICE, CLIENT)
    box.apply(SLICE)

    assert say(remove(box, SERVICE, way), IN_USE) == [
        (RiskLevel.HIGH, "Service web has ready endpoints (2): clients cannot reach them by it any more.")
    ]


def test_service_that_is_replaced_is_in_use_until_it_is_back():
    box = Box()
    box.apply(SERVICE)
    box.apply(SLICE)
    options = ApplyOptions(replacement=Replacement(kinds=("core/Service",)))

    (change,) = box.plan(SERVICE.replace("clusterIP: None", "clusterIP: 10.96.3.4"), options).changes

    assert change.operation.value == "replace"
    assert say(change, IN_USE) == [
        (RiskLevel.HIGH, "Service web has ready endpoints (2): clients cannot reach them until it is created again.")
    ]


def test_service_without_ready_endpoints_is_not_in_use():
    box = Box()
    box.apply(KEPT + SERVICE, CLIENT)
    box.apply(SLICE.replace("true", "false").replace("10.1.0.2]", "10.1.0.2], conditions: {ready: false}"))
    box.apply(SLICE.replace("web", "other"))

    assert say(remove(box, SERVICE, "delete"), IN_USE) == []


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(
    ("policy", "after"),
    [
        ("Delete", ", whose reclaim policy is Delete: the volume and its data go with it."),
        ("Retain", ", whose reclaim policy is Retain: the data stays, but a new claim does not bind to this volume."),
        ("", "."),
    ],
)
def test_bound_claim_is_in_use_and_names_what_its_volume_does(way, policy, after):
    box = Box()
    box.apply(KEPT + CLAIM, CLIENT)
    if policy:
        box.apply(VOLUME.replace("POLICY", policy))
    bound = box.get("/api/v1/namespaces/default/persistentvolumeclaims/data")
    bind(box, bound)

    assert say(remove(box, CLAIM, way), IN_USE) == [
        (RiskLevel.HIGH, f"PersistentVolumeClaim data is bound to volume pv-1{after}")
    ]


def bind(box: Box, claim: dict) -> None:
    """Bind a claim, as the controller of volumes does."""
    path = "/api/v1/namespaces/default/persistentvolumeclaims/data/status"
    answer = box.handle(Request("PUT", path, body={**claim, "status": {"phase": "Bound"}}))
    assert answer.is_ok, answer


@pytest.mark.parametrize("way", WAYS)
def test_object_of_another_tool_must_be_acknowledged(way):
    box = Box()
    annotated = CONFIG.replace("labels:", "annotations: {meta.helm.sh/release-name: web}, labels:")
    box.apply(KEPT + annotated, CLIENT)

    assert say(remove(box, annotated, way), BELONGS_TO_OTHER) == [
        (RiskLevel.HIGH, "Helm release web manages this object and may create it again.")
    ]
    (update,) = box.plan(annotated.replace("a: x", "a: y")).changes
    assert say(update, BELONGS_TO_OTHER) == [
        (RiskLevel.MEDIUM, "Helm release web manages this object and may revert the change.")
    ]


@pytest.mark.parametrize(
    ("api", "kind", "says"),
    [
        ("v1", "Node", "Prune would delete Node old and everything in it or dependent on it."),
        (
            "admissionregistration.k8s.io/v1",
            "ValidatingWebhookConfiguration",
            "Prune would delete ValidatingWebhookConfiguration old: the API server then accepts requests that it "
            "refused or changed.",
        ),
    ],
)
def test_node_and_webhook_are_critical(api, kind, says):
    box = Box()
    old = f"---\napiVersion: {api}\nkind: {kind}\nmetadata: {{name: old, labels: {{app: shop}}}}\n"
    box.apply(KEPT + old, CLIENT)
    entry = f"{'core/v1' if api == 'v1' else api}/{kind}"
    options = ApplyOptions(mode=ApplyMode.CLIENT, selector="app=shop", prune=Prune(PruneMode.ALLOWLIST, (entry,)))

    change = next(c for c in box.plan(KEPT, options).changes if c.operation.value == "prune")

    assert say(change, PRUNE_SHARE) == [(RiskLevel.HIGH, says)]


SPACE = "apiVersion: v1\nkind: Namespace\nmetadata: {name: shop}\n"
DEFINITION = """apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: crates.example.com}
spec:
  group: example.com
  names: {plural: crates, singular: crate, kind: Crate, listKind: CrateList}
  scope: Namespaced
  versions:
  - name: v1
    served: true
    storage: true
    schema: {openAPIV3Schema: {type: object}}
"""


def hold(box: Box, plural: str, name: str, *finalizers: str) -> None:
    is_crate = plural == "crates"
    body = {"kind": {"crates": "Crate", "configmaps": "ConfigMap", "secrets": "Secret"}[plural]}
    body |= {"apiVersion": "example.com/v1" if is_crate else "v1"}
    body |= {"metadata": {"name": name, "namespace": "shop", "finalizers": list(finalizers)}}
    path = f"{'/apis/example.com/v1' if is_crate else '/api/v1'}/namespaces/shop/{plural}"
    assert box.handle(Request("POST", path, {}, JSON, body)).is_ok


def test_finalizers_of_what_goes_with_a_namespace_or_a_definition_are_named() -> None:
    box = Box()
    box.apply(SPACE + "---\n" + DEFINITION, CLIENT)
    hold(box, "crates", "one", "example.com/a", "example.com/b")
    hold(box, "configmaps", "one", "example.com/b")
    hold(box, "configmaps", "two", "example.com/b", "batch.kubernetes.io/job-tracking")
    hold(box, "secrets", "one", "example.com/secret")

    definition, space = box.plan(SPACE + "---\n" + DEFINITION, WAYS["delete"]).changes

    waits = "Controllers have to remove them: if one is not running, the deletion never ends."
    stays = "stays until the finalizers of what goes with it are removed"
    crates = "example.com/a (1 Crate), example.com/b (1 Crate)"
    assert [text for _level, text in say(definition, FINALIZERS) if stays in text] == [
        f"CustomResourceDefinition crates.example.com {stays}: {crates}. {waits}"
    ]
    assert [text for _level, text in say(space, FINALIZERS)] == [
        f"Namespace shop {stays}: {crates}, example.com/b (2 ConfigMap). {waits}"
    ]


def test_only_eight_finalizers_of_what_goes_with_a_namespace_are_named() -> None:
    box = Box()
    box.apply(SPACE, CLIENT)
    hold(box, "configmaps", "one", *(f"example.com/{letter}" for letter in "abcdefghij"))

    (space,) = box.plan(SPACE, WAYS["delete"]).changes

    ((_level, text),) = say(space, FINALIZERS)
    assert "example.com/h (1 ConfigMap) and 2 more." in text
