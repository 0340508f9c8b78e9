"""Moves of entries of maps and lists, of whole lists and of custom resources, each beside the real kubectl."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pytest

from applyviz.engine.objects.known_names import LAST_APPLIED
from applyviz.records.models import Plan
from applyviz.workflow.plans import planner
from tests.controlplane.product import Product
from tests.controlplane.test_odd_patches import DEFINITION
from tests.web.api.test_api import Program, body

pytestmark = [pytest.mark.controlplane, pytest.mark.django_db, pytest.mark.long]
MAP = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: moved}\n"
FULL = MAP + "data: {level: info, theme: dark}\n"
LESS = MAP + "data: {theme: dark}\n"
LEVEL = MAP + "data: {level: info}\n"
WIDGET = "apiVersion: patching.example.com/v1\nkind: Widget\nmetadata: {name: moved}\n"
WORDS = WIDGET + "spec: {count: 2, words: [one, two], parts: [{name: p, weight: 1}, {name: q, weight: 2}]}\n"
WEB = """apiVersion: apps/v1
kind: Deployment
metadata: {name: moved}
spec:
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: web, image: "web:1", args: [a], env: [{name: A, value: "1"}]}]}
"""
FIRST, CLIENT = "first-manager", "kubectl-client-side-apply"
ARGS = '.spec.template.spec.containers[name="web"].args'
VALUE = '.spec.template.spec.containers[name="web"].env[name="A"].value'


class Pair:
    """One object in two namespaces: the product moves the first, kubectl the second."""

    def __init__(self, plane, kind: str, word: str) -> None:
        self.product, self.plane, self.kind = Product(plane), plane, kind
        self.program = Program(self.product.alice)
        self.ours, self.theirs = f"odd-{word}-ours", f"odd-{word}-theirs"
        for space in (self.ours, self.theirs):
            plane.kubectl("create", "namespace", space)

    def kubectl(self, *words: str, text: str = "", both: bool = False) -> None:
        for space in (self.ours, self.theirs) if both else (self.theirs,):
            self.plane.kubectl(*words, "-n", space, stdin=text or None)

    def apply(self, text: str, manager: str = FIRST, *words: str, both: bool = False) -> None:
        command = ("apply", "--server-side", f"--field-manager={manager}", "--validate=false", *words, "-f", "-")
        self.kubectl(*command, text=text, both=both)

    def move(self, text: str, what: str, fields: Sequence[str], *managers: str, is_next: bool = False, **more: object):
        """Move fields by the API, in the first plan of a review or in its next one."""
        target = {"target": f"{self.kind}/{self.ours}/moved", "fields": list(fields), "managers": list(managers)}
        given = body(text, cluster="real", namespace=self.ours, **{"field_manager": FIRST, **more})
        moves = [{"what": what, **target}]
        made = self.program.post("reviews/", given if is_next else {**given, "moves": moves})
        assert made.status_code == 201, made.json()
        if is_next:
            number = self.plan().review.number
            asked = self.program.post(f"reviews/{number}/plans/", {"moves": moves})
            assert asked.status_code == 201, asked.json()
        self.product.run(self.plan())

    def plan(self) -> Plan:
        """Make the newest plan."""
        plan = Plan.objects.latest("pk")
        planner.make_plan(plan.pk)
        plan.refresh_from_db()
        return plan

    def read(self, space: str) -> dict[str, Any]:
        command = ("get", self.kind, "moved", "-n", space, "-o", "json", "--show-managed-fields")
        return json.loads(self.plane.kubectl(*command).stdout)

    def compare(self) -> dict[str, str]:
        """Both have the same values, owners and record; return the fields of each manager."""
        sides = []
        for space in (self.ours, self.theirs):
            found = self.read(space)
            owners = {
                f"{one['manager']} {one['operation']}": json.dumps(one["fieldsV1"], sort_keys=True)
                for one in found["metadata"].get("managedFields", ())
            }
            record = found["metadata"].get("annotations", {}).get(LAST_APPLIED, "").replace(space, "NS")
            sides.append((owners, record, found.get("spec"), found.get("data")))
        assert sides[0] == sides[1]
        return sides[0][0]


def test_entry_of_a_map_is_handed_over_and_taken_back(control_plane):
    pair = Pair(control_plane, "ConfigMap", "map")
    pair.apply(FULL, both=True)
    before = pair.compare()

    pair.move(FULL, "hand-over", [".data.level"], "second")
    pair.apply(LEVEL, "second")
    pair.apply(LESS)
    assert set(pair.compare()) == {f"{FIRST} Apply", "second Apply"}

    pair.move(FULL, "take", [".data.level"], "second")
    pair.apply(FULL)
    pair.apply(MAP, "second")
    assert pair.compare() == before


def test_live_value_of_another_is_taken_although_the_file_has_another(control_plane):
    pair = Pair(control_plane, "ConfigMap", "other")
    pair.apply(FULL, both=True)
    changed = LEVEL.replace("info", "debug")
    pair.apply(changed, "second", "--force-conflicts", both=True)

    pair.move(FULL, "take", [".data.level"], "second")
    pair.apply(FULL.replace("info", "debug"))
    pair.apply(MAP, "second")

    assert set(pair.compare()) == {f"{FIRST} Apply"}
    assert pair.read(pair.ours)["data"]["level"] == "debug"


def test_entry_is_given_client_side_and_taken_back(control_plane):
    pair = Pair(control_plane, "ConfigMap", "given")
    pair.kubectl("apply", "-f", "-", text=FULL, both=True)
    before = pair.compare()

    pair.move(FULL, "give", [".data.level"], mode="client", field_manager=CLIENT)
    pair.kubectl("apply", "set-last-applied", "-f", "-", text=LESS)
    ours, theirs = (pair.read(space)["metadata"]["annotations"][LAST_APPLIED] for space in (pair.ours, pair.theirs))
    assert json.loads(ours)["data"] == json.loads(theirs)["data"] == {"theme": "dark"}

    pair.move(FULL, "take", [".data.level"], mode="client", field_manager=CLIENT)
    assert json.loads(pair.read(pair.ours)["metadata"]["annotations"][LAST_APPLIED])["data"]["level"] == "info"
    assert pair.read(pair.ours)["data"] == {"level": "info", "theme": "dark"}
    assert f"{CLIENT} Update" in before


@pytest.mark.parametrize(("field", "alone", "rest"), [
    (".spec.words", "spec: {words: [one, two]}\n",
     "spec: {count: 2, parts: [{name: p, weight: 1}, {name: q, weight: 2}]}\n"),
    ('.spec.parts[name="q"].weight', "spec: {parts: [{name: q, weight: 2}]}\n",
     "spec: {count: 2, words: [one, two], parts: [{name: p, weight: 1}, {name: q}]}\n"),
    ('.spec.parts[name="q"]', "spec: {parts: [{name: q, weight: 2}]}\n",
     "spec: {count: 2, words: [one, two], parts: [{name: p, weight: 1}]}\n"),
], ids=["list", "field-of-entry", "entry"])  # fmt: skip
def test_lists_of_a_custom_resource_are_handed_over_and_taken_back(control_plane, field, alone, rest, request):
    control_plane.kubectl("apply", "-f", "-", stdin=DEFINITION)
    control_plane.kubectl("wait", "--for=condition=Established", "crd/widgets.patching.example.com")
    pair = Pair(control_plane, "Widget", request.node.callspec.id)
    pair.apply(WORDS, both=True)
    before = pair.compare()

    pair.move(WORDS, "hand-over", [field], "second", is_next=True)
    pair.apply(WIDGET + alone, "second")
    pair.apply(WIDGET + rest)
    pair.compare()

    pair.move(WORDS, "take", [field], "second", is_next=True)
    pair.apply(WORDS)
    pair.apply(WIDGET, "second")
    assert pair.compare() == before


@pytest.mark.parametrize(("field", "alone", "rest"), [
    (ARGS, ["args: [a]", ""], 'args: [a], '),
    (VALUE, ['env: [{name: A, value: "1"}]', ""], ', value: "1"'),
], ids=["args", "value"])  # fmt: skip
def test_fields_of_a_container_are_handed_over_and_taken_back(control_plane, field, alone, rest, request):
    pair = Pair(control_plane, "Deployment", request.node.callspec.id)
    pair.apply(WEB, both=True)
    before = pair.compare()
    head = WEB.partition("spec:")[0]
    single = head + "spec: {template: {spec: {containers: [{name: web, " + alone[0] + "}]}}}\n"

    pair.move(WEB, "hand-over", [field], "second", is_next=True)
    pair.apply(single, "second")
    pair.apply(WEB.replace(rest, ""))
    pair.compare()

    pair.move(WEB, "take", [field], "second", is_next=True)
    pair.apply(WEB)
    pair.apply(head, "second")
    assert pair.compare() == before
