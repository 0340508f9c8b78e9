"""Each move of the API there and back again on a real API server, beside a twin that the real kubectl moves.

After every step, managedFields are those of the twin, and those that the answer of the run in the API has. Where
kubectl has no command for a step, it patches managedFields of the twin.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pytest

from applyviz.engine.objects.known_names import LAST_APPLIED
from applyviz.records.models import Plan
from applyviz.workflow.plans import planner
from tests.controlplane.product import Product
from tests.controlplane.takeover import install
from tests.controlplane.test_ownership_moves import CLIENT_MANAGER, WEB, read
from tests.web.api.test_api import Program, body

pytestmark = [pytest.mark.controlplane, pytest.mark.django_db]
Entry = tuple[str, str, str]
SHORT = WEB.replace("  replicas: 3\n", "")
EDITED = {"spec": {"progressDeadlineSeconds": 300}}
DEADLINE, REPLICAS = ".spec.progressDeadlineSeconds", ".spec.replicas"
CLEAR = '{"metadata":{"managedFields":[{}]}}'


class Twins:
    """One Deployment in two namespaces: the product moves the first, kubectl the second."""

    def __init__(self, product: Product, name: str) -> None:
        self.product, self.plane = product, product.plane
        self.program = Program(product.alice)
        self.ours, self.theirs = f"{name}-ours", f"{name}-theirs"
        for namespace in (self.ours, self.theirs):
            self.plane.kubectl("create", "namespace", namespace)

    def kubectl(self, *words: str, text: str = "", both: bool = False) -> None:
        """Run the same command of kubectl on the twin, or on both."""
        for namespace in (self.ours, self.theirs) if both else (self.theirs,):
            self.plane.kubectl(*words, "-n", namespace, stdin=text or None)

    def apply(self, text: str, manager: str, *words: str, both: bool = False) -> None:
        """Apply server-side with kubectl."""
        command = ("apply", "--server-side", f"--field-manager={manager}", *words, "-f", "-")
        self.kubectl(*command, text=text, both=both)

    def move(self, *texts: str, moves: Sequence[dict[str, Any]], **more: object) -> None:
        """Let the product move ours by the API; the answer of the run shows what is live then."""
        given = body(*texts, cluster="real", namespace=self.ours, moves=list(moves), **more)
        made = self.program.post("reviews/", {name: value for name, value in given.items() if value or name != "files"})
        assert made.status_code == 201, made.json()
        plan = Plan.objects.order_by("pk").last()
        assert plan is not None
        planner.make_plan(plan.pk)
        plan.refresh_from_db()
        run = self.product.run(plan)
        (shown,) = self.program.get(f"runs/{run.number}/?count=5").json()["objects"]
        live = read(self.product, self.ours)["metadata"].get("managedFields", [])
        assert shown["managed_fields"]["after"] == [{n: v for n, v in one.items() if n != "time"} for one in live]

    @property
    def target(self) -> str:
        return f"Deployment/{self.ours}/web"

    def entries(self, namespace: str) -> list[Entry]:
        """Managers, operations and fields of one of them."""
        found = read(self.product, namespace)["metadata"].get("managedFields", ())
        return sorted((one["manager"], one["operation"], json.dumps(one["fieldsV1"], sort_keys=True)) for one in found)

    def compare(self) -> list[Entry]:
        """Both have the same owners and the same record of what was applied; return the owners."""
        ours, theirs = self.entries(self.ours), self.entries(self.theirs)
        assert ours == theirs
        records = [
            read(self.product, namespace)["metadata"]
            .get("annotations", {})
            .get(LAST_APPLIED, "")
            .replace(namespace, "NS")
            for namespace in (self.ours, self.theirs)
        ]
        assert records[0] == records[1]
        return ours


@pytest.fixture
def product(control_plane) -> Product:
    return Product(control_plane)


def minimal(spec: str = "") -> str:
    """A manifest with nothing but the name, and perhaps one field."""
    return f"apiVersion: apps/v1\nkind: Deployment\nmetadata: {{name: web}}\n{spec}"


def test_replicas_are_handed_over_as_the_documentation_does_and_taken_back(product):
    twins = Twins(product, "handed")
    twins.apply(WEB, "applyviz", both=True)
    before = twins.compare()
    change = {"target": twins.target, "fields": [REPLICAS], "managers": ["hpa"]}

    twins.move(WEB, moves=[{"what": "hand-over", **change}])
    twins.apply(minimal("spec: {replicas: 3}\n"), "hpa", "--validate=false")
    twins.apply(SHORT, "applyviz")
    there = twins.compare()
    assert {(name, how) for name, how, _ in there} == {("applyviz", "Apply"), ("hpa", "Apply")}

    twins.move(WEB, moves=[{"what": "take", **change}])
    twins.apply(WEB, "applyviz")
    twins.apply(minimal(), "hpa", "--validate=false")
    assert twins.compare() == before


@pytest.mark.long
def test_hand_edit_is_taken_and_given_to_an_imperative_writer(product):
    twins = Twins(product, "taken")
    twins.apply(WEB, "applyviz", both=True)
    edit = ("patch", "deployment", "web", "--type=merge", "--field-manager=kubectl-edit", "-p", json.dumps(EDITED))
    twins.kubectl(*edit, both=True)
    taken = WEB.replace("  replicas: 3\n", "  replicas: 3\n  progressDeadlineSeconds: 300\n")
    change = {"target": twins.target, "fields": [DEADLINE], "managers": ["kubectl-edit"]}

    twins.move(WEB, moves=[{"what": "take", **change}])
    twins.apply(taken, "applyviz", "--force-conflicts")
    found = read(product, twins.theirs)["metadata"]["managedFields"]
    index = next(n for n, one in enumerate(found) if one["manager"] == "kubectl-edit")
    remove = [{"op": "remove", "path": f"/metadata/managedFields/{index}"}]
    twins.kubectl("patch", "deployment", "web", "--type=json", "-p", json.dumps(remove))
    assert {(name, how) for name, how, _ in twins.compare()} == {("applyviz", "Apply")}

    twins.move(taken, moves=[{"what": "give", **change}])
    twins.apply(minimal("spec: {progressDeadlineSeconds: 300}\n"), "kubectl-edit", "--validate=false")
    twins.apply(WEB, "applyviz")
    assert {(name, how) for name, how, _ in twins.compare()} == {("applyviz", "Apply"), ("kubectl-edit", "Apply")}


@pytest.mark.long
def test_field_is_given_client_side_by_last_applied_and_set_again(product):
    twins = Twins(product, "given")
    for namespace in (twins.ours, twins.theirs):
        install(product.plane, {"web.yaml": WEB}, namespace)
    before = twins.compare()
    client = {"mode": "client", "field_manager": CLIENT_MANAGER}

    twins.move(WEB, moves=[{"what": "give", "target": twins.target, "fields": [REPLICAS]}], **client)
    made = ("create", "--dry-run=client", "--save-config", "-o", "json", "-n", twins.theirs, "-f", "-")
    said = product.plane.kubectl(*made, stdin=SHORT)
    record = {
        "metadata": {"annotations": {LAST_APPLIED: json.loads(said.stdout)["metadata"]["annotations"][LAST_APPLIED]}}
    }
    patch = ("patch", "deployment", "web", "--type=merge", f"--field-manager={CLIENT_MANAGER}", "-p")
    twins.kubectl(*patch, json.dumps(record))
    twins.compare()
    assert read(product, twins.ours)["spec"]["replicas"] == 3

    twins.move(WEB, moves=[], **client)
    twins.kubectl("apply", "-f", "-", text=WEB)
    assert twins.compare() == before


def test_client_side_becomes_server_side_as_with_kubectl_and_comes_back(product):
    twins = Twins(product, "sides")
    for namespace in (twins.ours, twins.theirs):
        install(product.plane, {"web.yaml": WEB}, namespace)
    before = twins.compare()

    twins.move(WEB, moves=[{"what": "to-server-side", "managers": [CLIENT_MANAGER]}])
    twins.apply(WEB, "applyviz", "--force-conflicts")
    assert {(name, how) for name, how, _ in twins.compare()} == {("applyviz", "Apply")}

    back = [{"what": "to-client-side", "managers": ["applyviz"]}]
    twins.move(WEB, moves=back, mode="client", field_manager=CLIENT_MANAGER)
    # No command of kubectl drops what was applied server-side: its entry is renamed by hand, then kubectl applies.
    found = read(product, twins.theirs)["metadata"]["managedFields"]
    index = next(n for n, one in enumerate(found) if one["operation"] == "Apply")
    renamed = {"manager": CLIENT_MANAGER, "operation": "Update"}
    patch = [{"op": "replace", "path": f"/metadata/managedFields/{index}/{k}", "value": v} for k, v in renamed.items()]
    twins.kubectl("patch", "deployment", "web", "--type=json", "-p", json.dumps(patch))
    twins.kubectl("apply", "-f", "-", text=WEB)
    # The creator owns the defaults of the server too, which nobody applied; whoever comes back owns what it applies.
    assert {(name, how) for name, how, _ in twins.compare()} == {(name, how) for name, how, _ in before}


@pytest.mark.long
@pytest.mark.parametrize("how", ["merge", "json"])
def test_managed_fields_are_cleared_and_apply_credits_the_same_managers_again(product, how):
    twins = Twins(product, f"cleared-{how}")
    twins.apply(WEB, "applyviz", both=True)
    patches = {"merge": CLEAR, "json": '[{"op":"replace","path":"/metadata/managedFields","value":[{}]}]'}

    twins.move(moves=[{"what": "clear-managed-fields", "target": twins.target}], clear_patch=how)
    twins.kubectl("patch", "deployment", "web", f"--type={how}", "-p", patches[how])
    assert twins.compare() == []

    twins.move(SHORT, moves=[])
    twins.apply(SHORT, "applyviz")
    assert {(name, how) for name, how, _ in twins.compare()} == {
        ("applyviz", "Apply"),
        ("before-first-apply", "Update"),
    }


@pytest.mark.long
def test_last_applied_is_set_and_set_back(product):
    twins = Twins(product, "recorded")
    for namespace in (twins.ours, twins.theirs):
        install(product.plane, {"web.yaml": WEB}, namespace)

    for text in (SHORT, WEB):
        twins.kubectl("apply", "set-last-applied", "-f", "-", text=text)
        known = {CLIENT_MANAGER}
        (manager,) = {name for name, _, _ in twins.entries(twins.theirs)} - known or known
        twins.move(text, moves=[{"what": "set-last-applied", "target": twins.target}], field_manager=manager)
        twins.compare()
