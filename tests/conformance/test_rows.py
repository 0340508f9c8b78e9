"""Does the family `rows` notice what it is there to notice? Each test plants one mistake into what is shown."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path

import pytest
import yaml

from applyviz.conformance import covering, reasons, rows
from applyviz.conformance.inputs import ApplyInput, Planned, plan_all, read_documents
from applyviz.conformance.shown import ShownObject
from applyviz.engine.objects.paths import key, render_path
from applyviz.engine.objects.structs import replace
from applyviz.engine.planning.model.plan import PlannedObject
from applyviz.engine.requests.options import ApplyMode, ApplyOptions, Replacement
from applyviz.web.management.presenting import present
from tests.controlplane.refusal_sides import load_objects

DATA = Path(__file__).parent / "data"
BEFORE = """
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, labels: {tier: a}}
spec:
  replicas: 1
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      imagePullSecrets: [{name: old}]
      containers: [{name: web, image: 'web:1', env: [{name: A, value: '1'}, {name: EMPTY}]}]
"""
AFTER = (
    BEFORE.replace("web:1", "web:2")
    .replace("tier: a", "level: a")
    .replace("name: old", "name: new")
    # an entry that holds nothing but its key
    .replace("{name: EMPTY}", "{name: OTHER}")
)


DEFINITION = """
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.example.com}
spec:
  group: example.com
  names: {kind: Widget, listKind: WidgetList, plural: widgets, singular: widget}
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
            properties: {size: {type: string}}
            x-kubernetes-validations: [{rule: self == oldSelf}]
          status: {type: object, x-kubernetes-preserve-unknown-fields: true}
"""
SERVICE = "{apiVersion: v1, kind: Service, metadata: {name: s, namespace: shop}, spec: {ADDRESSports: [{port: 80}]}}"
WIDGET = "{apiVersion: example.com/v1, kind: Widget, metadata: {name: one, namespace: shop}, spec: {size: large}}"
LIVE_WIDGET = """
apiVersion: example.com/v1
kind: Widget
metadata: {name: one, namespace: shop, labels: {team: a}}
spec: {size: small}
status: {phase: Ready, conditions: [{type: Ready, status: 'True'}]}
"""


def plan(before: str, after: str, mode: ApplyMode = ApplyMode.CLIENT) -> Planned:
    given = ApplyInput("x", read_documents(after), before=((read_documents(before), mode),))
    return next(one for one in plan_all(given) if one.mode is mode)


@pytest.fixture(scope="module")
def planned() -> Planned:
    return plan(BEFORE, AFTER)


@pytest.fixture
def shown(planned) -> ShownObject:
    return present(planned.change, planned.options)


def find_wrong(planned: Planned, shown: ShownObject) -> str:
    return rows.judge(planned, shown).reason


def test_rows_that_are_right_agree(planned, shown):
    told = {render_path(row.path) for row in shown.changes}

    assert find_wrong(planned, shown) == ""
    assert {'.spec.template.spec.containers[name="web"].env[name="OTHER"].name', ".metadata.labels.tier"} <= told


@pytest.mark.parametrize("index", range(7))
def test_row_that_is_hidden_is_noticed(planned, shown, index):
    path = shown.changes[index].path
    hidden = replace(shown, changes=tuple(row for row in shown.changes if row.path != path))

    assert "no row: " in find_wrong(planned, hidden)


def test_row_of_a_field_that_stays_is_noticed(planned, shown):
    more = replace(shown.changes[0], path=("f:spec", "f:replicas"), operation="changed", live="1", after="1")

    assert ".spec.replicas changed, and it stays" in find_wrong(planned, replace(shown, changes=(*shown.changes, more)))


@pytest.mark.parametrize("operation", ["not-removed", "conflict", "set", "cleared"])
def test_row_that_says_another_operation_is_noticed(planned, shown, operation):
    mistold = [replace(r, operation=operation) if r.operation == "changed" else r for r in shown.changes]

    assert find_wrong(planned, replace(shown, changes=tuple(mistold)))


@pytest.mark.parametrize("written", [None, "", "10.96.0.9"])
def test_field_that_the_server_chooses_was_left_empty(written):
    address = "" if written is None else f"clusterIP: '{written}', "
    made = next(one for one in plan_all(ApplyInput("x", read_documents(SERVICE.replace("ADDRESS", address)))))
    shown = present(made.change, made.options)
    chosen = [render_path(row.path) for row in shown.defaults if row.operation == "allocated"]
    row = replace(shown.defaults[0], path=("f:spec", "f:clusterIP"), operation="allocated", live=None, after=None)

    assert find_wrong(made, shown) == ""
    assert chosen == ([".spec.clusterIP"] if written == "" else [])
    said = find_wrong(made, replace(shown, defaults=(*shown.defaults, row)))
    assert ("allocated, and it is not left to the server" in said) is (written != "")


@pytest.mark.parametrize("side", ["live", "after"])
@pytest.mark.parametrize("text", ["other", None])
def test_row_with_another_value_is_noticed(planned, shown, side, text):
    mistold = [replace(r, **{side: text}) if r.operation == "changed" else r for r in shown.changes]

    assert f"shown {text}" in find_wrong(planned, replace(shown, changes=tuple(mistold)))


def test_row_without_a_sentence_and_a_row_shown_twice_are_noticed(planned, shown):
    silent = tuple(replace(row, why="") for row in shown.changes)
    twice = (*shown.changes, replace(shown.changes[0], why="again"))

    assert "has no sentence" in find_wrong(planned, replace(shown, changes=silent))
    assert "has 2 rows" in find_wrong(planned, replace(shown, changes=twice))


def test_count_the_scroll_and_the_api_that_differ_are_noticed(planned, shown):
    assert "the tab counts 3" in find_wrong(planned, replace(shown, tab=3))
    assert "3 changes counted" in find_wrong(planned, replace(shown, counts={**shown.counts, "changes": 3}))
    assert "the scroll" in find_wrong(planned, replace(shown, scroll=shown.scroll[1:]))
    assert "the API" in find_wrong(planned, replace(shown, answered=shown.answered[1:]))


def test_operation_that_is_another_is_noticed(planned, shown):
    unchanged = replace(planned, change=replace(planned.change, operation=planned.change.operation.UNCHANGED))

    assert "really update" in find_wrong(unchanged, replace(shown, operation="unchanged"))
    assert "the page says create" in find_wrong(planned, replace(shown, operation="create"))


def test_sentence_without_rows_is_noticed():
    planned = plan(BEFORE, BEFORE)
    shown = present(planned.change, planned.options)

    assert find_wrong(planned, shown) == ""
    for text in ("Only field ownership changes; no values change.", "The object is deleted.", ""):
        assert "without rows" in find_wrong(planned, replace(shown, empty_text=text))


@pytest.mark.parametrize("name", ["manifest", "live", "after", "last_applied"])
def test_document_that_is_another_is_noticed(planned, shown, name):
    text = shown.documents[name].text.replace("web:", "net:")
    documents = {**shown.documents, name: replace(shown.documents[name], text=text)}
    unmarked = {n: replace(d, marked=0) for n, d in shown.documents.items()}

    assert f"the document {name} is another" in find_wrong(planned, replace(shown, documents=documents))
    assert "no line of the documents is marked" in find_wrong(planned, replace(shown, documents=unmarked))


@pytest.mark.parametrize(
    ("place", "live", "wanted", "is_noticed"),
    [
        ("tier: a", "tier: 60s", "tier: 1m", True),
        ("image: 'web:1'", "resources: {limits: {memory: 1Gi}}", "resources: {limits: {memory: '1073741824'}}", False),
    ],
)
def test_only_amounts_in_another_spelling_are_not_marked(place, live, wanted, is_noticed):
    planned = plan(
        *(BEFORE.replace(place, f"{place}, {text}" if "image" in place else text) for text in (live, wanted))
    )
    shown = present(planned.change, planned.options)
    unmarked = {n: replace(d, marked=0) for n, d in shown.documents.items()}

    assert shown.changes
    wrong = find_wrong(planned, replace(shown, documents=unmarked))
    assert ("no line of the documents is marked" in wrong) is is_noticed


def test_rows_of_an_object_that_is_refused_are_noticed(planned, shown):
    refused: PlannedObject = replace(planned.change, operation=planned.change.operation.ERROR)

    assert "not written" in find_wrong(replace(planned, change=refused), replace(shown, operation="error"))


def test_object_that_is_created_again_has_no_row_of_its_old_status(monkeypatch):
    definition = yaml.safe_load(DEFINITION)
    chosen = partial(ApplyOptions, replacement=Replacement(kinds=("Widget",)))
    monkeypatch.setattr("applyviz.conformance.inputs.ApplyOptions", chosen)
    given = ApplyInput("x", read_documents(WIDGET), (yaml.safe_load(LIVE_WIDGET),), definitions=(definition,))
    planned = next(one for one in plan_all(given) if one.mode is ApplyMode.CLIENT)
    shown = present(planned.change, planned.options)

    assert (shown.operation, find_wrong(planned, shown), reasons.judge(planned, shown).reason) == ("replace", "", "")
    told = {render_path(row.path): row.why for row in shown.changes}
    lost = "Lost with the deleted object: your manifest does not set it"
    assert told == {".spec.size": "your manifest changes it", ".metadata.labels.team": lost}
    kept = replace(shown.changes[-1], why=lost)
    blamed = replace(shown, changes=(replace(shown.changes[0], why=lost), kept))
    assert "the manifest has it" in reasons.judge(planned, blamed).reason
    silent = replace(shown, changes=shown.changes[:1])
    assert "no row: " in find_wrong(planned, silent) + find_wrong(planned, replace(shown, changes=shown.changes[1:]))


def test_two_entries_of_one_name_are_one_row_with_both():
    before = BEFORE.replace("{name: EMPTY}", "{name: A, value: '2'}")
    planned = plan(before, AFTER)
    shown = present(planned.change, planned.options)
    (row,) = (row for row in shown.changes if row.path[-1] == 'k:{"name":"A"}')

    assert find_wrong(planned, shown) == ""
    assert (row.operation, row.live, row.after) == ("cleared", '[{name: A, value: "1"}, {name: A, value: "2"}]', None)


def test_empty_map_in_place_of_fields_is_new():
    before = BEFORE.replace("image: 'web:1'", "image: 'web:1', resources: {limits: {cpu: '1'}}")
    planned = plan(before, before.replace("{limits: {cpu: '1'}}", "{}"))
    shown = present(planned.change, planned.options)
    told = {render_path(r.path).rpartition("]")[2]: (r.operation, r.live, r.after) for r in shown.changes}

    assert find_wrong(planned, shown) == ""
    assert told[".resources"] == ("set", None, "{}")


@pytest.mark.parametrize("mode", ApplyMode)
def test_string_data_of_a_secret_sets_its_data(mode):
    before = "{apiVersion: v1, kind: Secret, metadata: {name: s}, data: {a: eA==}}"
    planned = plan(before, before.replace("}}", "}, stringData: {b: x}}"), mode)
    shown = present(planned.change, planned.options)

    assert find_wrong(planned, shown) == ""
    assert [(r.path, r.operation, r.why) for r in shown.changes] == [(("f:data", "f:b"), "set", "set in your manifest")]


@pytest.mark.parametrize(("protocol", "found"), [("TCP", "b"), ("UDP", covering.NOTHING)])
def test_entry_without_a_key_that_has_a_default_is_that_of_the_default(protocol, found):
    path = ("f:ports", key({"port": 53, "protocol": protocol}), "f:name")

    assert covering.find({"ports": [{"port": 53, "name": "b"}]}, path) == found


def test_manifest_that_the_server_ignores_is_not_called_equal():
    request = next(obj for obj in load_objects() if obj["kind"] == "CertificateSigningRequest")
    asked = ({**request, "spec": {**request["spec"], "usages": [usage]}} for usage in ("client auth", "server auth"))
    first, second = (read_documents(json.dumps(one)) for one in asked)
    before = ((first, ApplyMode.CLIENT), (second, ApplyMode.CLIENT))
    planned = next(one for one in plan_all(ApplyInput("x", second, before=before)) if one.mode is ApplyMode.CLIENT)
    shown = present(planned.change, planned.options)

    assert planned.change.operation.value == "unchanged"
    assert shown.empty_text == "No changes: the server keeps the live values, although the manifest sets others."
    assert find_wrong(planned, shown) == ""
    assert "without rows" in find_wrong(planned, replace(shown, empty_text=rows._NO_CHANGE))


def test_order_of_the_fields_of_a_map_is_no_other_value(planned, shown):
    turned = replace(shown, print_value=lambda value: "{b: 1, a: yes}")

    assert rows._prints("{a: yes, b: 1}", {"a": "yes", "b": 1}, turned)
    assert not rows._prints("{a: yes, b: 2}", {"a": "yes", "b": 1}, turned)
    assert not rows._prints("{a: 1, b: yes}", {"a": "yes", "b": 1}, turned)
    assert not rows._prints("{a: yes, b: 1", {"a": "yes", "b": 1}, turned)
