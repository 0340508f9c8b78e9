"""Sixty objects and what they do: the class of danger that each has."""

import pytest

from applyviz.engine.objects.exchange import Request
from applyviz.engine.objects.refs import GroupVersionKind, ObjectRef
from applyviz.engine.planning.dangers import DangerClass, classify
from applyviz.engine.planning.plan import ObjectChange, Operation, Versions

RBAC, CRD, WEBHOOK = DangerClass.RBAC, DangerClass.CRD, DangerClass.WEBHOOK
PRUNE, RECREATE, TAKE_OVER = DangerClass.PRUNE, DangerClass.RECREATE, DangerClass.TAKE_OVER
WIDE, SYSTEM, NAMESPACE = DangerClass.CLUSTER_SCOPED, DangerClass.SYSTEM, DangerClass.NAMESPACE
HARMLESS = (
    ("", "ConfigMap"), ("", "Secret"), ("", "Service"), ("", "Pod"), ("", "ServiceAccount"), ("", "Endpoints"),
    ("", "PersistentVolumeClaim"), ("", "ReplicationController"), ("", "LimitRange"), ("", "ResourceQuota"),
    ("apps", "Deployment"), ("apps", "StatefulSet"), ("apps", "DaemonSet"), ("apps", "ReplicaSet"),
    ("batch", "Job"), ("batch", "CronJob"), ("networking.k8s.io", "Ingress"), ("networking.k8s.io", "NetworkPolicy"),
    ("policy", "PodDisruptionBudget"), ("autoscaling", "HorizontalPodAutoscaler"), ("example.org", "Role"),
    ("example.org", "Namespace"),
)  # fmt: skip
OF_CLUSTER = (
    ("", "Node", ()), ("", "PersistentVolume", ()), ("storage.k8s.io", "StorageClass", ()),
    ("scheduling.k8s.io", "PriorityClass", ()), ("networking.k8s.io", "IngressClass", ()),
    ("node.k8s.io", "RuntimeClass", ()), ("certificates.k8s.io", "CertificateSigningRequest", ()),
    ("flowcontrol.apiserver.k8s.io", "FlowSchema", ()),
    ("rbac.authorization.k8s.io", "ClusterRole", (RBAC,)), ("rbac.authorization.k8s.io", "ClusterRoleBinding", (RBAC,)),
    ("apiextensions.k8s.io", "CustomResourceDefinition", (CRD,)), ("apiregistration.k8s.io", "APIService", (CRD,)),
    ("admissionregistration.k8s.io", "ValidatingWebhookConfiguration", (WEBHOOK,)),
    ("admissionregistration.k8s.io", "MutatingWebhookConfiguration", (WEBHOOK,)),
    ("admissionregistration.k8s.io", "ValidatingAdmissionPolicy", (WEBHOOK,)),
    ("admissionregistration.k8s.io", "ValidatingAdmissionPolicyBinding", (WEBHOOK,)),
)  # fmt: skip
PATCH = Request("PATCH", "/x", {"fieldManager": "me"}, "application/apply-patch+yaml", {})
FORCED = Request("PATCH", "/x", {"fieldManager": "me", "force": "true"}, "application/apply-patch+yaml", {})


def change(group, kind, namespace="shop", name="it", operation=Operation.UPDATE, request=PATCH):
    ref = ObjectRef(GroupVersionKind(group, "v1", kind), namespace, name)
    return ObjectChange(ref, operation, Versions(), requests=(request,))


@pytest.mark.parametrize(("group", "kind"), HARMLESS)
def test_workloads_of_a_namespace_are_no_danger(group, kind):
    assert classify(change(group, kind)) == ()


@pytest.mark.parametrize(("group", "kind", "classes"), OF_CLUSTER)
def test_objects_of_no_namespace_are_dangers(group, kind, classes):
    assert set(classify(change(group, kind, namespace=""))) == {WIDE, *classes}


@pytest.mark.parametrize("kind", ["Role", "RoleBinding"])
def test_rights_of_a_namespace_are_a_danger(kind):
    assert classify(change("rbac.authorization.k8s.io", kind)) == (RBAC,)


@pytest.mark.parametrize(("name", "classes"), [("shop", ()), ("kube-system", (SYSTEM,)), ("kube-public", (SYSTEM,))])
def test_namespaces_are_dangers(name, classes):
    found = classify(change("", "Namespace", namespace="", name=name))

    assert set(found) == {NAMESPACE, WIDE, *classes}


@pytest.mark.parametrize("namespace", ["kube-system", "kube-public", "kube-node-lease"])
def test_what_kubernetes_keeps_for_itself_is_a_danger(namespace):
    assert classify(change("apps", "Deployment", namespace=namespace)) == (SYSTEM,)


@pytest.mark.parametrize(("operation", "danger"), [(Operation.PRUNE, PRUNE), (Operation.RECREATE, RECREATE)])
@pytest.mark.parametrize(("group", "kind"), HARMLESS[:4])
def test_deleting_is_a_danger_whatever_it_is(group, kind, operation, danger):
    assert classify(change(group, kind, operation=operation)) == (danger,)


def test_taking_over_is_read_from_the_request():
    assert classify(change("apps", "Deployment", request=FORCED)) == (TAKE_OVER,)


@pytest.mark.parametrize("operation", [Operation.UNCHANGED, Operation.ERROR])
def test_what_writes_nothing_is_no_danger(operation):
    assert classify(change("rbac.authorization.k8s.io", "ClusterRole", namespace="", operation=operation)) == ()


def test_refused_change_is_judged_as_what_it_would_be():
    found = classify(change("rbac.authorization.k8s.io", "Role", operation=Operation.REFUSED))

    assert found == (RBAC,)
