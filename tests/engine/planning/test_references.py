"""Risks of references, by cases that are planned on a sandbox (`tests/cases/references/risks.yaml`)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from applyviz.engine.manifests.parse import parse_manifests
from applyviz.engine.objects.errors import Conflict
from applyviz.engine.objects.exchange import Answer, Request
from applyviz.engine.objects.paths import render_path
from applyviz.engine.objects.refs import ObjectRef
from applyviz.engine.objects.structs import replace
from applyviz.engine.planning.graph.facts import list_facts
from applyviz.engine.planning.graph.graph import relate
from applyviz.engine.planning.graph.pod_risks import count_evictions
from applyviz.engine.planning.graph.reference_risks import locate
from applyviz.engine.planning.model.plan import Operation, PlannedObject, PlannedSet, Versions
from applyviz.engine.references.resolving import Knowledge, may_be_made_by
from applyviz.engine.references.selectors import LabelSelector
from applyviz.engine.requests.options import ApplyOptions
from applyviz.engine.risks.model import RelatedObjects
from applyviz.engine.risks.planning.dangling import DANGLING_REFERENCE, MATCHES_NOTHING, MISSING_KEY, MISSING_PORT
from applyviz.engine.risks.planning.pods import NO_EVICTION, STALE_PODS, UNREAD_KEY
from applyviz.engine.risks.reference_reads import list_reference_reads, read_references
from applyviz.engine.risks.sentences import render_risk
from applyviz.engine.schema.builtin import bundled
from applyviz.engine.schema.discovery import ResourceTable
from tests.engine.planning.cluster import Box
from tests.yaml_files import read_yaml

CASES = read_yaml(Path(__file__).parents[2] / "cases" / "references" / "risks.yaml")
KINDS = {
    DANGLING_REFERENCE,
    MISSING_KEY,
    MISSING_PORT,
    MATCHES_NOTHING,
    STALE_PODS,
    NO_EVICTION,
    UNREAD_KEY,
}
CONFIG = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings}\n"


def plan(box: Box, text: str, *, forbidden: tuple[str, ...] = (), options: ApplyOptions | None = None) -> PlannedSet:
    """Plan a set with the reads that a worker makes."""
    objects = [document.obj for document in parse_manifests(text.encode(), "app.yaml").documents]

    def answer(request: Request) -> Answer:
        return Answer(403, {"reason": "Forbidden"}) if request.path in forbidden else box.handle(request)

    reads = list_reference_reads(objects, bundled())
    neighbors, knowledge = read_references(reads, [answer(read.request) for read in reads])
    return box.plan(text, options, related=RelatedObjects(neighbors=neighbors, knowledge=knowledge))


def prepare(live: str = "") -> Box:
    box = Box()
    if live:
        box.apply(live)
    return box


def list_risks(found: PlannedSet) -> list[list[str]]:
    rows = []
    for change in found.changes:
        for risk in change.risks:
            if risk.kind in KINDS:
                where, sentence = render_path(risk.path), render_risk(risk)
                name = f"{change.ref.gvk.kind}/{change.ref.name}"
                rows.append([name, risk.kind.slug, risk.level.value, where, sentence.removeprefix(f"{where}: ")])
    return rows


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["about"])
def test_set_has_the_risks_of_its_case(case: dict[str, Any]) -> None:
    found = plan(prepare(case.get("live", "")), case["set"], forbidden=tuple(case.get("forbidden", ())))

    assert sorted(list_risks(found)) == sorted(case["expect"])


def test_pods_of_the_set_do_not_answer_for_a_selector_and_others_do() -> None:
    text = "apiVersion: v1\nkind: Service\nmetadata: {name: web}\nspec: {selector: {app: web}, ports: [{port: 80}]}\n"
    text += "---\napiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\n"
    (service, web) = (document.obj for document in parse_manifests(text.encode(), "app.yaml").documents)
    reads = [read for read in list_reference_reads([service, web], bundled()) if read.selector]
    owned = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web-5c9"}
    pods = [
        {
            "metadata": {
                "name": "web-5c9-x",
                "namespace": "default",
                "labels": {"app": "web"},
                "ownerReferences": [owned],
            }
        },
        {"metadata": {"name": "other", "namespace": "default", "labels": {"app": "web"}}},
    ]

    def read(items: list[dict[str, Any]], **metadata: str) -> tuple[int, int]:
        live, knowledge = read_references(reads, [Answer(200, {"items": items, "metadata": metadata})])
        return len(live), len(knowledge.unmatched)

    assert [found.request.query for found in reads] == [{"labelSelector": "app=web", "limit": "50"}]
    assert [read([]), read(pods[:1]), read(pods), read([], **{"continue": "x"})] == [(0, 1), (0, 1), (1, 0), (0, 0)]


def test_only_namespaces_of_the_set_are_read_and_no_value_of_a_secret_is_kept() -> None:
    text = "apiVersion: v1\nkind: Pod\nmetadata: {name: web}\nspec:\n"
    text += "  containers: [{name: a, envFrom: [{secretRef: {name: keys}}]}]\n"
    text += "---\napiVersion: rbac.authorization.k8s.io/v1\nkind: RoleBinding\nmetadata: {name: web}\n"
    text += "roleRef: {kind: Role, name: r}\nsubjects: [{kind: ServiceAccount, name: s, namespace: other}]\n"
    text += "---\napiVersion: v1\nkind: Namespace\nmetadata: {name: odd, namespace: odd}\n"
    text += "---\napiVersion: keda.sh/v1\nkind: ScaledObject\nmetadata: {name: s}\n"
    text += "spec: {scaleTargetRef: {kind: Odd, name: o}}\n"
    objects = [document.obj for document in parse_manifests(text.encode(), "app.yaml").documents]
    reads = [read for read in list_reference_reads(objects, bundled()) if read.key]
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "keys", "uid": "u"}, "data": {"a": "eA=="}}

    live, knowledge = read_references(reads, [Answer(200, secret), Answer(500, "odd")])

    assert [read.request.path for read in reads] == [
        "/api/v1/namespaces/default/secrets/keys",
        "/apis/rbac.authorization.k8s.io/v1/namespaces/default/roles/r",
    ]
    assert live[0]["data"] == {"a": ""}
    assert list(knowledge.refused.values()) == [500]


def _read(text: str) -> dict[str, Any]:
    (document,) = parse_manifests(text.encode(), "app.yaml").documents
    return {**document.obj, "metadata": {"namespace": "default", **document.obj["metadata"]}}


def test_deleted_secret_that_another_object_makes_may_be_there_again() -> None:
    secret = _read("apiVersion: v1\nkind: Secret\nmetadata: {name: tls}\n")
    maker = _read("apiVersion: cert-manager.io/v1\nkind: Certificate\nmetadata: {name: tls}\nspec: {secretName: tls}\n")
    pod = "apiVersion: v1\nkind: Pod\nmetadata: {name: web}\nspec:\n  containers: [{name: a, image: a}]\n"
    pod += "  volumes: [{name: tls, secret: {secretName: tls}}]\n"
    objects = [(maker, Operation.UNCHANGED), (secret, Operation.PRUNE)]
    changes = [PlannedObject(ObjectRef.from_object(o), how, Versions(live=o, after=o if how == "unchanged" else None))
               for o, how in objects]  # fmt: skip

    (_, pruned), _ = relate(changes, RelatedObjects(neighbors=(_read(pod),)))

    assert [render_risk(risk) for risk in pruned.risks] == [
        "Pod/web refers to Secret/tls, which this plan deletes; Certificate/tls may create it again."
    ]


def test_prune_that_takes_what_a_neighbor_reads_is_a_risk_of_what_is_pruned() -> None:
    pod = "apiVersion: v1\nkind: Pod\nmetadata: {name: web}\nspec:\n"
    pod += "  containers: [{name: main, image: 'web:1', envFrom: [{configMapRef: {name: settings}}]}]\n"
    config = _read(CONFIG)
    change = PlannedObject(ObjectRef.from_object(config), Operation.PRUNE, Versions(live=config))

    (pruned,), graph = relate([change], RelatedObjects(neighbors=(_read(pod),)))

    assert [render_risk(risk) for risk in pruned.risks] == [
        "Pod/web refers to ConfigMap/settings, which this plan deletes: its pods cannot start."
    ]
    assert [(node.name, node.position, node.is_missing) for node in graph.nodes] == [
        ("settings", 0, False),
        ("web", -1, False),
    ]


def test_neighbor_that_lost_nothing_has_no_risk() -> None:
    service = (
        "apiVersion: v1\nkind: Service\nmetadata: {name: web}\nspec: {selector: {app: web}, ports: [{port: 80}]}\n"
    )
    config = _read(CONFIG)
    change = PlannedObject(ObjectRef.from_object(config), Operation.ERROR, Versions(manifest=config))
    knowledge = Knowledge(unmatched=frozenset({("default", "app=web")}))

    changes, graph = relate([change], RelatedObjects(neighbors=(_read(service),), knowledge=knowledge))

    assert changes == (change,)
    assert len(graph.nodes) == 1


def test_many_custom_resources_without_a_hint_make_no_pods() -> None:
    resource = {"metadata": {"name": "a", "labels": {"x": "y"}}}

    assert may_be_made_by(LabelSelector((("app", "a"),)), resource)
    assert may_be_made_by(LabelSelector((("x", "y"),)), resource)
    assert not may_be_made_by(LabelSelector((("app", "b"),)), resource)


def test_everything_of_a_namespace_that_the_set_makes_is_known() -> None:
    knowledge = Knowledge(namespaces_created=frozenset({"new"}), listed=frozenset({("Deployment", "")}))

    assert knowledge.knows_all(["CronJob"], "new")
    assert knowledge.knows_all(["Deployment"], "old")
    assert not knowledge.knows_all(["Deployment", "CronJob"], "old")


@pytest.mark.parametrize(
    ("spec", "wanted"),
    [
        ({"minAvailable": 2}, 1),
        ({"minAvailable": "50%"}, 1),
        ({"minAvailable": 5}, 0),
        ({"maxUnavailable": "10%"}, 1),
        ({"maxUnavailable": 0}, 0),
        ({"minAvailable": "many"}, None),
        ({"minAvailable": "\xb2%"}, None),
        ({"minAvailable": "9" * 5000 + "%"}, None),
        ({"minAvailable": True}, None),
        ({}, None),
    ],
)
def test_evictions_are_counted_as_the_cluster_counts_them(spec: dict[str, Any], wanted: int | None) -> None:
    assert count_evictions({"spec": spec}, 3) == wanted


def test_place_of_an_entry_that_has_no_name_or_is_gone_is_its_position() -> None:
    obj = {"spec": {"containers": [{"image": "a"}], "env": "odd"}}

    assert render_path(locate(obj, ("spec", "containers", 0, "env", 1, "name"))) == ".spec.containers[0].env[1].name"


def test_plan_without_notes_has_no_graph() -> None:
    assert prepare().plan(CONFIG, has_notes=False).graph.nodes == ()


def test_graph_names_what_is_new_missing_and_live() -> None:
    live = "apiVersion: v1\nkind: Pod\nmetadata: {name: old, labels: {app: web}}\nspec:\n"
    live += "  containers: [{name: main, image: 'web:1', envFrom: [{configMapRef: {name: settings}}]}]\n"
    box = prepare(live)
    text = CONFIG + "data: {a: '1'}\n---\n" + live.replace("old", "new").replace("name: settings", "name: gone")
    text += (
        "---\napiVersion: v1\nkind: Service\nmetadata: {name: web}\nspec: {selector: {app: x}, ports: [{port: 80}]}\n"
    )

    graph = plan(box, text).graph

    names = [f"{node.kind}/{node.name}{' missing' if node.is_missing else ''}" for node in graph.nodes]
    assert names == ["ConfigMap/settings", "Service/web", "Pod/new", "Pod/ missing", "ConfigMap/gone missing"]
    assert [(edge.state.value, edge.is_new) for edge in graph.edges] == [("no match", True), ("missing", True)]
    assert graph.nodes[0].key == ("", "ConfigMap", "default", "settings")


def test_nothing_is_related_in_an_empty_set() -> None:
    changes, graph = relate((), RelatedObjects())

    assert (changes, graph.nodes, graph.edges) == ((), (), ())


def test_references_that_were_there_are_not_new_and_a_conflict_is_a_fact() -> None:
    service = "apiVersion: v1\nkind: Service\nmetadata: {name: web, labels: {a: '%s'}}\n"
    service += "spec: {selector: {app: web}, ports: [{name: a, port: 80, targetPort: 80}]}\n"
    pod = "---\napiVersion: v1\nkind: Pod\nmetadata: {name: web, labels: {app: web}}\n"
    pod += "spec: {containers: [{name: main, image: 'web:1', ports: [{name: http, containerPort: 80}]}]}\n"
    box = prepare(service % "1" + pod)
    text = service % "2" + pod
    text = text.replace("targetPort: 80", "targetPort: http")

    found = plan(box, text)

    assert [(edge.state.value, edge.is_new) for edge in found.graph.edges] == [("exists", False)]
    assert dict(found.graph.nodes[0].facts) == {"fields": "2", "field": "a label"}
    blocked = replace(found.changes[0], conflicts=(Conflict("kubectl-set", "Update", "v1", "", (), ""),))
    assert list_facts(blocked)["conflicts"] == "1"


def test_custom_resource_that_restarts_nothing_keeps_what_it_does_not_read_once() -> None:
    live = CONFIG + "data: {a: '1'}\n---\napiVersion: batch/v1\nkind: CronJob\nmetadata: {name: web}\nspec:\n"
    live += "  schedule: '* * * * *'\n  jobTemplate: {spec: {template: {spec: {restartPolicy: Never, containers: "
    live += "[{name: main, image: 'web:1', envFrom: [{configMapRef: {name: settings}}]}]}}}}\n"

    found = plan(prepare(live), CONFIG + "data: {a: '2'}\n")

    assert list_risks(found) == []
    assert [edge.is_stale for edge in found.graph.edges] == [False]


def test_kinds_that_the_cluster_does_not_serve_and_refused_lists_are_left_out() -> None:
    few = ResourceTable([r for r in bundled().list_resources() if r.gvk.kind == "ConfigMap" or r.gvk.kind == "Service"])
    reads = list_reference_reads([_read(CONFIG)], few)

    live, knowledge = read_references(reads, [Answer(403) for _ in reads])

    assert [read.request.path for read in reads] == ["/api/v1/namespaces/default/services"]
    assert (live, knowledge.listed) == ((), frozenset())


def test_name_that_no_object_can_have_is_not_asked_for():
    def list_asked(name):
        spec = {"containers": [{"name": "a", "envFrom": [{"configMapRef": {"name": name}}]}]}
        pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "web"}, "spec": spec}
        return [read.request.path for read in list_reference_reads([pod], bundled()) if read.key]

    assert list_asked("settings") == ["/api/v1/namespaces/default/configmaps/settings"]
    assert list_asked("../secrets/x") == []
