"""The Graph tab: its picture, its table, what is folded, and what a reader may not see."""

from __future__ import annotations

import re

import pytest
from django.contrib.auth.models import User
from django.urls import reverse

from applyviz.engine.manifests.parse import parse_manifests
from applyviz.engine.objects.structs import replace
from applyviz.engine.planning.graph.facts import list_facts
from applyviz.engine.planning.graph.graph import relate
from applyviz.engine.planning.model.graph import GraphNode
from applyviz.engine.planning.model.plan import Operation, PlannedObject, Versions
from applyviz.engine.references.resolving import Knowledge
from applyviz.engine.risks.model import RelatedObjects
from applyviz.records.models import Plan
from applyviz.web.reviews.pages.graph.choice import GraphChoice
from applyviz.web.reviews.pages.graph.nodes import WORKLOAD, NodeNames, ShownNode
from applyviz.web.reviews.pages.graph.text_width import fit, measure
from applyviz.web.reviews.pages.graph.words import fit_line
from applyviz.workflow.plans import plan_details, planner
from tests.web import reading, rows

POD = """
spec:
  selector: {matchLabels: {app: NAME}}
  template:
    metadata: {labels: {app: NAME}}
    spec:
      containers:
        - name: main
          image: shop/NAME:TAG
          env: [{name: A, valueFrom: {configMapKeyRef: {name: settings, key: a}}}]
          envFrom: [{secretRef: {name: keys}}]
"""


def deployment(name: str, tag: str) -> str:
    head = f"apiVersion: apps/v1\nkind: Deployment\nmetadata: {{name: {name}, namespace: shop}}"
    return head + POD.replace("NAME", name).replace("TAG", tag)


def config(value: str, kind: str = "ConfigMap", name: str = "settings") -> str:
    return f"apiVersion: v1\nkind: {kind}\nmetadata: {{name: {name}, namespace: shop}}\ndata: {{a: '{value}'}}\n"


def service(name: str, selects: str) -> str:
    head = f"apiVersion: v1\nkind: Service\nmetadata: {{name: {name}, namespace: shop}}\n"
    return f"{head}spec: {{selector: {{app: {selects}}}, ports: [{{port: 80}}]}}\n"


def change(text: str, operation: Operation = Operation.UPDATE, live: str = "") -> PlannedObject:
    def read(source: str):
        return parse_manifests(source.encode(), "app.yaml").documents[0] if source else None

    document, before = read(text), read(live)
    versions = Versions(manifest=document.obj, live=before.obj if before else None, after=document.obj)
    return PlannedObject(document.ref, operation, versions)


def make_plan(author, changes, related: RelatedObjects | None = None) -> Plan:
    found, graph = relate(changes, related or RelatedObjects())
    return rows.make_plan(author, found, graph=graph)


def address(plan: Plan, query: str = "") -> str:
    return reverse("reviews:show-graph", args=[plan.review.number, plan.number]) + query


def labels(page) -> list[str]:
    links = reading.find_all(page, "a", has="data-node")
    return [reading.attribute(link, "aria-label") or "" for link in links]


@pytest.fixture
def shop(alice):
    knowledge = Knowledge(unmatched=frozenset({("shop", "app=gone")}))
    return make_plan(
        alice,
        [
            change(config("2"), live=config("1")),
            change(config("2", "Secret", "keys"), live=config("1", "Secret", "keys")),
            change(service("web", "web"), Operation.UNCHANGED, service("web", "web")),
            change(service("lost", "gone"), Operation.CREATE),
            change(deployment("web", "1"), Operation.UNCHANGED, deployment("web", "1")),
            change(deployment("shop", "2"), Operation.CREATE),
            change(config("1", name="one"), Operation.UNCHANGED, config("1", name="one")),
            change(config("1", name="two"), Operation.UNCHANGED, config("1", name="two")),
        ],
        RelatedObjects(knowledge=knowledge),
    )


def test_picture_names_objects_references_and_what_leads_nowhere(as_alice, shop):
    page = reading.read(as_alice, address(shop))

    named = labels(page)
    assert "create Deployment shop: new · 2" in named
    assert "unchanged Deployment web: unchanged" in named
    assert [text for text in named if "no pod" in text] == ["no pod: matches nothing"]
    looks = [reading.attribute(line, "class") or "" for line in reading.find_all(page, "path", has="data-ends")]
    assert [sum(look in found for found in looks) for look in ("is-dangling", "is-stale", "is-new")] == [1, 2, 2]
    assert any("+2 unchanged: ConfigMap" in reading.text_of(text) for text in reading.find_all(page, "text"))


def test_chosen_node_shows_its_reach_and_what_it_refers_to(as_alice, shop):
    page = reading.read(as_alice, address(shop, "?node=deployment/web"))

    (panel,) = reading.find_all(page, "aside")
    text = reading.text_of(panel)
    assert [
        word for word in ("Deployment/web", "Reached through", "Refers to", "keeps old value") if word not in text
    ] == []
    reached = [
        reading.attribute(g, "class")
        for g in reading.find_all(page, "g")
        if "is-reached" in (reading.attribute(g, "class") or "")
    ]
    assert len(reached) == 3


def test_table_has_a_row_for_each_reference(as_alice, shop):
    page = reading.read(as_alice, address(shop, "?view=table"))

    found = [reading.text_of(row) for row in reading.find_all(page, "tr")][1:]
    assert len(found) == 6
    assert any("environment" in row and "new" in row for row in found)
    assert any("matches nothing" in row for row in found)


def test_unfolded_picture_shows_every_object(as_alice, shop):
    named = labels(reading.read(as_alice, address(shop, "?fold=0&live=0")))

    assert [text for text in named if text.startswith("unchanged ConfigMap")] == [
        "unchanged ConfigMap one: unchanged",
        "unchanged ConfigMap two: unchanged",
    ]


def test_reader_who_may_not_read_a_secret_is_not_told_that_pods_keep_its_old_value(as_viewer, shop):
    seen = planner.get_plan(1, review_number=shop.review.number, for_user=User.objects.get(username="vera"))

    graph = plan_details.read_graph(seen)

    assert {graph.nodes[edge.target].kind for edge in graph.edges if edge.is_stale} == {"ConfigMap"}
    assert [dict(node.facts) for node in graph.nodes if node.kind == "Secret"] == [{}]


def test_plan_without_a_graph_says_so(as_alice, plan):
    page = as_alice.get(address(plan)).content.decode()

    assert "No graph" in page
    assert as_alice.get(reverse("reviews:export-graph", args=[plan.review.number, 1])).status_code == 404


def test_plan_that_is_being_made_says_when_the_graph_comes(as_alice, alice):
    plan = rows.make_plan(alice, [change(config("1"))], state="planning")

    assert "drawn when all objects are planned" in as_alice.get(address(plan)).content.decode()


def test_export_is_a_picture_without_links(as_alice, shop):
    answer = as_alice.get(reverse("reviews:export-graph", args=[shop.review.number, 1]))

    text = answer.content.decode()
    assert (answer["Content-Type"], "<a " in text, "web" in text) == ("image/svg+xml", False, True)
    assert ".svg" in answer["Content-Disposition"]


@pytest.mark.long
def test_large_plan_shows_groups_and_opens_one(as_alice, alice):
    many = [change(deployment(f"web-{n}", "1"), Operation.CREATE) for n in range(160)]
    plan = make_plan(alice, [change(config("2"), Operation.CREATE), *many])

    closed, opened = (labels(reading.read(as_alice, address(plan, query))) for query in ("", "?open=shop/deployment"))

    assert any(text.startswith("create 160 Deployment") for text in closed)
    assert len(closed) <= 4
    assert len([text for text in opened if re.match("create Deployment web-", text)]) == 100
    assert any("60 Deployment" in text for text in opened)


def test_reads_that_were_forbidden_are_said(as_alice, alice):
    key = ("", "ConfigMap", "shop", "settings")
    related = RelatedObjects(knowledge=Knowledge(refused={key: 403, ("", "Secret", "shop", "keys"): 403}))
    plan = make_plan(alice, [change(deployment("web", "1"), Operation.CREATE)], related)

    assert "2 references were not checked" in as_alice.get(address(plan)).content.decode()
    assert "not checked (403)" in as_alice.get(address(plan, "?view=table")).content.decode()


def test_pages_of_the_table_lead_to_each_other(as_alice, alice):
    plan = make_plan(alice, [change(deployment(f"web-{n}", "1"), Operation.CREATE) for n in range(60)])

    first, second = (as_alice.get(address(plan, f"?view=table&page={n}")).content.decode() for n in (1, 2))

    assert ("page=2" in first, "101 to 120 of 120 references" in second, "page=1" in second) == (True, True, True)


def test_names_of_nodes_are_short_where_they_are_enough():
    nodes = [ShownNode(n, GraphNode("", "ConfigMap", space, "a")) for n, space in enumerate(("one", "two"))]

    names = NodeNames(nodes)

    assert [names.name(0), names.name(1)] == ["configmap/a", "configmap./two/a"]
    assert [names.find("ConfigMap/a"), names.find("configmap./two/a"), names.find("x")] == [0, 1, None]


def test_addresses_leave_out_what_is_as_by_default():
    choice = GraphChoice.read({"node": "a/b", "fold": "0", "live": "0", "view": "table", "open": "s/d"})

    assert choice.link() == "?view=table&fold=0&live=0&open=s/d&node=a/b"
    assert replace(choice, node="").link(is_table=False, is_folded=True, has_neighbors=True, opened="") == "?"


@pytest.mark.long
def test_plan_of_many_namespaces_shows_kinds_and_opens_one_level_at_a_time(as_alice, alice):
    def place(text: str, n: int) -> str:
        return text.replace("namespace: shop", f"namespace: shop-{n}")

    many = [change(place(deployment("web", "1"), n), Operation.CREATE) for n in range(90)]
    many += [change(place(config("1"), n), Operation.CREATE) for n in range(90)]
    plan = make_plan(alice, many)

    def read(query: str) -> list[str]:
        return labels(reading.read(as_alice, address(plan, query)))

    assert any(text.startswith("create 90 Deployment") for text in read(""))
    assert len(read("")) <= 4
    opened = read("?open=*/deployment")
    assert 40 < len(opened) <= 150
    assert len([text for text in opened if text.startswith("create 1 Deployment")]) > 30
    assert any(text.startswith("create Deployment web") for text in read("?open=shop-7/deployment"))


def test_similar_objects_are_one_group_and_open(as_alice, alice):
    names = [f"board-{n}" for n in range(5)]
    volumes = "".join(f"        - {{name: {name}, configMap: {{name: {name}}}}}\n" for name in names)
    text = deployment("grafana", "1") + "      volumes:\n" + volumes
    boards = [change(config("1", name=name), Operation.CREATE) for name in names]
    plan = make_plan(alice, [change(text, Operation.CREATE), *boards])

    closed, opened, flat = (
        labels(reading.read(as_alice, address(plan, query))) for query in ("", "?open=shop/configmap", "?fold=0")
    )

    assert [text for text in closed if "ConfigMap" in text and "board" in text] == [
        "create 5 ConfigMap: board-0, board-1, board-2, board-3, board-4"
    ]
    for found in (opened, flat):
        assert len([text for text in found if text.startswith("create ConfigMap board-")]) == 5


def test_objects_stand_together_by_namespace(as_alice, alice):
    other = [text.replace("namespace: shop", "namespace: other") for text in (deployment("b", "1"), config("1"))]
    plan = make_plan(alice, [change(deployment("a", "1")), change(config("1")), *map(change, other)])

    page = reading.read(as_alice, address(plan))
    single = reading.read(as_alice, address(make_plan(alice, [change(deployment("a", "1"))])))

    def headings(of) -> list[str]:
        texts = reading.find_all(of, "text")
        return [reading.text_of(text) for text in texts if reading.attribute(text, "class") == "group"]

    assert headings(page) == ["other", "shop"]
    assert headings(single) == []


def test_selector_whose_pods_are_unknown_is_no_line(as_alice, alice):
    plan = make_plan(alice, [change(service("web", "made-by-an-operator"), Operation.CREATE)])

    assert [text for text in labels(reading.read(as_alice, address(plan))) if "no pod" in text] == []
    assert "not checked" in as_alice.get(address(plan, "?view=table")).content.decode()


def test_object_is_found_by_a_part_of_its_name(as_alice, shop):
    page = reading.read(as_alice, address(shop, "?find=two"))
    (panel,) = reading.find_all(page, "aside")
    assert "ConfigMap/two" in reading.text_of(panel)

    nothing = as_alice.get(address(shop, "?find=nowhere")).content.decode()
    assert "No object matches “nowhere”." in nothing


@pytest.mark.parametrize(
    ("annotation", "named", "line"),
    [("", "web", "1 → 2"), ("", "other", "1 → 2"), ("side", "web", "7 → 8"), ("", "main-stays", "side 7 → 8")],
)
def test_version_is_that_of_the_main_container(annotation, named, line):
    def workload(tag: str, side: str) -> str:
        first = "web" if named in ("web", "main-stays") else "app"
        note = f"annotations: {{kubectl.kubernetes.io/default-container: {annotation}}}, " if annotation else ""
        containers = f"{{name: side, image: 'mesh:{side}'}}, {{name: {first}, image: 'shop:{tag}'}}"
        if named == "other":
            containers = f"{{name: app, image: 'shop:{tag}'}}, {{name: a-side, image: 'mesh:{side}'}}"
        return (
            "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web, namespace: shop}\nspec:\n"
            f"  template: {{metadata: {{{note}labels: {{app: web}}}}, spec: {{containers: [{containers}]}}}}\n"
        )

    tag = "1" if named == "main-stays" else "2"
    facts = list_facts(change(workload(tag, "8"), live=workload("1", "7")))

    of = f"{facts['image_of']} " if "image_of" in facts else ""
    assert f"{of}{facts['image_before']} → {facts['image_after']}" == line


@pytest.mark.parametrize(
    ("kind", "before", "after", "line"),
    [
        ("Deployment", "1.4.2", "1.5.0", "1.4.2 → 1.5.0 · restarts 2"),
        ("Deployment", "v0.11.1", "v0.12.0", "→ v0.12.0 · restarts 2"),
        ("DaemonSet", "v1.6.1", "v1.12.1", "v1.6.1 → v1.12.1 · restarts 2"),
        ("DaemonSet", "1.6.1", "1.6.1", "1.6.1 → 1.6.1 · restarts 2"),
        ("StatefulSet", "1", "2-with-a-very-long-suffix", "restarts 2"),
    ],
)
def test_restart_of_a_workload_is_never_cut(kind, before, after, line):
    facts = {"image_before": before, "image_after": after, "restarts": "2"}
    shown = ShownNode(0, GraphNode("apps", kind, "shop", "web", facts=facts), Operation.UPDATE, column=WORKLOAD)

    assert fit_line(shown) == line


@pytest.mark.parametrize(
    ("kind", "field", "line"),
    [
        ("Role", "app.kubernetes.io/version label", "Role · version label"),
        ("ServiceAccount", "app.kubernetes.io/version label", "ServiceAccount · label"),
        ("ClusterRoleBinding", "app.kubernetes.io/version label", "ClusterRoleBinding · label"),
        ("ServiceAccount", "automountServiceAccountToken", "ServiceAccount · 1 field"),
    ],
)
def test_line_of_an_identity_is_not_cut_in_a_word(kind, field, line):
    node = GraphNode("", kind, "shop", "web", facts={"fields": "1", "field": field})

    assert fit_line(ShownNode(0, node, Operation.UPDATE, column=4)) == line


def test_line_of_what_is_missing_is_not_cut():
    def line_of(kind: str) -> str:
        return fit_line(ShownNode(0, GraphNode("", kind, "", "web", is_missing=True), column=4))

    assert [line_of("Role"), line_of("ClusterRole")] == ["Role · does not exist", "ClusterRole · missing"]


def test_texts_are_cut_where_their_box_ends():
    assert fit("restarts 2", 11, 142) == "restarts 2"
    cut = fit("W" * 40, 11, 142)
    assert (cut.endswith("…"), measure(cut, 11) <= 142) == (True, True)
    assert fit("界" * 40, 12, 60, is_mono=True) == "界界界界…"
