"""What goes with a deleted object: data, addresses, the objects that belong to it; and what its deletion waits for."""

from __future__ import annotations

import pytest

from applyviz.engine.objects.exchange import Answer
from applyviz.engine.objects.refs import GroupVersionKind, ObjectRef
from applyviz.engine.requests.dependents import DependentList, find_dependents, list_dependents, list_kinds
from applyviz.engine.risks.deletions import DELETED, DEPENDENTS, find_losses, find_terminating
from applyviz.engine.risks.model import Risk, RiskLevel
from applyviz.engine.risks.sentences import describe_risk
from applyviz.engine.schema.builtin import bundled

POD = bundled().find_resource(GroupVersionKind("", "v1", "Pod"))
BALANCED = {"loadBalancer": {"ingress": [{"ip": "203.0.113.7"}, {"hostname": "lb.example"}, {}]}}


def tell(kind: str, live: dict, manifest: dict | None = None, *, is_foreground: bool = False) -> list[tuple]:
    group, _, name = kind.rpartition("/")
    ref = ObjectRef(GroupVersionKind(group, "v1", name), "default", "a")
    found = find_losses(ref, {"kind": name, **live}, manifest, is_foreground=is_foreground, seconds=30)
    return [(risk.kind.slug, risk.level.value, describe_risk(risk)) for risk in found]


@pytest.mark.parametrize(
    ("kind", "live", "lost"),
    [
        ("Namespace", {}, "everything in it"),
        ("PersistentVolumeClaim", {}, "the data of its volume, unless the reclaim policy keeps it"),
        (
            "apps/StatefulSet",
            {"spec": {"volumeClaimTemplates": [{}], "persistentVolumeClaimRetentionPolicy": {"whenDeleted": "Delete"}}},
            "the volume claims of its pods",
        ),
    ],
)
def test_data_is_lost(kind, live, lost):
    name = kind.rpartition("/")[2]
    assert tell(kind, live) == [("data-lost", "high", f"Deleting {name} a also deletes {lost}.")]


@pytest.mark.parametrize("spec", [{}, {"volumeClaimTemplates": [{}]}])
def test_claims_of_a_stateful_set_stay_by_default(spec):
    assert tell("apps/StatefulSet", {"spec": spec}) == []


def test_addresses_of_a_service_are_lost_unless_its_manifest_states_them():
    live = {"spec": {"clusterIP": "10.0.0.1", "ports": [{"nodePort": 30001}, {"port": 1}]}, "status": BALANCED}

    (lost,) = tell("Service", live)
    (replaced,) = tell("Service", live, {"spec": {"clusterIP": "10.0.0.1", "ports": [{"nodePort": 30001}]}})

    addresses = "external address 203.0.113.7, external address lb.example"
    own = "cluster IP 10.0.0.1, node port 30001"
    assert lost == (
        "address-lost",
        "high",
        f"Service a gives up {own}, {addresses}: clients that keep using it fail.",
    )
    assert replaced[2].startswith(f"Service a gives up {addresses} and gets another one")
    assert tell("Service", {"spec": {"clusterIP": "None"}}) == []
    assert tell("Service", {"spec": {"clusterIP": "10.0.0.1"}})[0][1] == "medium"
    assert tell("networking.k8s.io/Ingress", {"status": BALANCED})[0][0] == "address-lost"


def test_both_cluster_addresses_and_the_health_check_port_are_lost_unless_the_manifest_states_them():
    live = {"spec": {"clusterIP": "10.0.0.1", "clusterIPs": ["10.0.0.1", "fd00::1", {}], "healthCheckNodePort": 30009}}
    stated = {"spec": {"clusterIPs": ["10.0.0.1", "fd00::1"], "healthCheckNodePort": 30009}}

    (lost,) = tell("Service", live)

    assert "gives up cluster IP 10.0.0.1, cluster IP fd00::1, health check node port 30009:" in lost[2]
    assert tell("Service", live, stated) == []
    assert "gives up cluster IP fd00::1, health" in tell("Service", live, {"spec": {"clusterIP": "10.0.0.1"}})[0][2]


@pytest.mark.parametrize(
    ("spec", "again"),
    [
        ({"type": "LoadBalancer", "externalTrafficPolicy": "Local"}, " and gets another one"),
        ({"type": "LoadBalancer", "externalTrafficPolicy": "Cluster"}, ""),
        ({"type": "NodePort", "externalTrafficPolicy": "Local"}, ""),
    ],
)
def test_replaced_service_gets_another_health_check_port_only_if_its_load_balancer_routes_locally(spec, again):
    live = {"spec": {"type": "LoadBalancer", "externalTrafficPolicy": "Local", "healthCheckNodePort": 30009}}

    (lost,) = tell("Service", live, {"kind": "Service", "spec": spec})

    assert lost[2].startswith(f"Service a gives up health check node port 30009{again}: clients")


def test_finalizers_delay_a_deletion():
    one = {"metadata": {"finalizers": ["example.com/hold"]}}

    assert tell("ConfigMap", one)[0][2] == (
        "ConfigMap a stays until example.com/hold is removed; the run waits up to 30 seconds. "
        "A controller has to remove example.com/hold: if none is running, the deletion never ends."
    )
    assert "example.com/hold, foregroundDeletion are removed" in tell("ConfigMap", one, is_foreground=True)[0][2]
    held = {"metadata": {"finalizers": ["foregroundDeletion"]}}
    assert "until foregroundDeletion is removed" in tell("ConfigMap", held, is_foreground=True)[0][2]


def read(answer: Answer) -> DependentList:
    flow = list_dependents(POD, "default")
    assert next(flow).path == "/api/v1/namespaces/default/pods"
    with pytest.raises(StopIteration) as stop:
        flow.send(answer)
    return stop.value.value


def item(name: str, *owners: str) -> dict:
    return {"metadata": {"name": name, "uid": name, "ownerReferences": [{"uid": uid} for uid in owners]}}


def test_objects_go_with_their_last_owner_directly_or_through_others():
    shared, both = item("shared", "web", "other"), item("both", "web", "b")
    items = [item("pod", "set"), item("set", "web"), shared, item("free"), both]
    found = read(Answer(200, {"items": items, "metadata": {}}))

    assert found.is_whole
    assert {d.ref.name for d in find_dependents("web", {"web", "b"}, [found])} == {"set", "pod", "both"}
    assert find_dependents("nobody", set(), [found]) == []


@pytest.mark.parametrize(
    ("answer", "is_whole"),
    [(Answer(403, {}), False), (Answer(404, {}), True), (Answer(200, {"metadata": {"continue": "x"}}), False)],
)
def test_lists_that_cannot_be_read_are_not_whole(answer, is_whole):
    assert read(answer).is_whole is is_whole


def test_events_are_not_listed_and_each_kind_once():
    kinds = [(r.gvk.group, r.gvk.kind) for r in list_kinds(bundled())]

    assert ("", "Pod") in kinds
    assert not [kind for kind in kinds if kind[1] == "Event"]
    assert len(kinds) == len(set(kinds))


@pytest.mark.parametrize(
    ("facts", "told"),
    [
        (
            {"reach": "cluster"},
            "Objects of any namespace that belong to Node a are deleted with it; they are not listed.",
        ),
        (
            {"count": "1", "objects": "Pod p", "propagation": "Background"},
            "Pod p belongs to Node a and is deleted with it.",
        ),
        (
            {"count": "1", "objects": "Pod p", "propagation": "Orphan", "unread": "jobs"},
            "Pod p belongs to Node a and stays, without an owner. Not checked, because they could not be listed: jobs.",
        ),
    ],
)
def test_dependents_are_told(facts, told):
    risk = Risk(DEPENDENTS, RiskLevel.MEDIUM, facts={"kind": "Node", "name": "a", **facts})
    assert describe_risk(risk) == told


@pytest.mark.parametrize(
    ("why", "told"),
    [
        ({}, "ConfigMap a is deleted."),
        (
            {"applyset": "shop"},
            "ConfigMap a is deleted: it is a member of ApplySet shop, and the set no longer contains it.",
        ),
        (
            {"selector": "app=shop"},
            "ConfigMap a is deleted: it was applied, app=shop selects it, and the set no longer contains it.",
        ),
        (
            {"finalizers": "", "count": "0"},
            "ConfigMap a is deleted: its deletion has begun, and this write ends it.",
        ),
        (
            {"finalizers": "example.com/a", "count": "1"},
            "ConfigMap a is deleted: its deletion only waits for example.com/a, and this write removes it.",
        ),
        (
            {"finalizers": "a.io/x, b.io/y", "count": "2"},
            "ConfigMap a is deleted: its deletion only waits for a.io/x, b.io/y, and this write removes them.",
        ),
    ],
)
def test_deletion_says_why_the_object_goes(why, told):
    risk = Risk(DELETED, RiskLevel.HIGH, facts={"kind": "ConfigMap", "name": "a", **why})

    assert describe_risk(risk) == told


@pytest.mark.parametrize(
    ("ends", "seconds", "since"),
    [
        ("2026-06-01T00:00:30Z", 30, "2026-06-01T00:00:00Z"),
        ("2026-06-01T00:00:30Z", None, "2026-06-01T00:00:30Z"),
        ("2026-06-01T00:00:30Z", 10**18, "2026-06-01T00:00:30Z"),
        ("0001-01-01T00:00:00Z", 30, "0001-01-01T00:00:00Z"),
        ("soon", 30, "soon"),
    ],
)
def test_deletion_began_before_its_grace_period_whatever_the_cluster_answers(ends, seconds, since):
    live = {"metadata": {"deletionTimestamp": ends, "deletionGracePeriodSeconds": seconds}}
    ref = ObjectRef(GroupVersionKind("", "v1", "Pod"), "n", "p")

    (risk,) = find_terminating(ref, live, "apply")

    assert risk.facts["since"] == since


@pytest.mark.parametrize(
    ("how", "told"),
    [
        ("deletion", "the run only waits until it is gone."),
        ("replacement", "the run waits until it is gone, and re-creates it."),
        ("ending", "this write ends its deletion. Once it is gone, an apply creates it again."),
        (
            "apply",
            "no write keeps it. It stays until a.io/x is removed. Once it is gone, an apply creates it again.",
        ),
    ],
)
def test_object_that_is_being_deleted_is_told_by_what_the_run_does_with_it(how, told):
    live = {"metadata": {"deletionTimestamp": "2026-06-01T00:00:00Z"}}
    ref = ObjectRef(GroupVersionKind("", "v1", "Pod"), "n", "p")

    (risk,) = find_terminating(ref, live, how, ["a.io/x"])

    assert describe_risk(risk) == f"Pod p has been terminating since 2026-06-01T00:00:00Z: {told}"
