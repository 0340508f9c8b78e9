"""Inputs like those of public bug reports, applied and changed by kubectl: are the pages true in both modes?"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from applyviz.engine.planning.conflicts.resolutions import ResolutionKind
from applyviz.engine.planning.model.plan import Operation, PlannedObject
from applyviz.engine.requests.options import PRODUCT_MANAGER, ApplyMode, ApplyOptions
from applyviz.records.models import Plan
from applyviz.workflow.plans import changes, planner, resolutions, reviews
from tests.controlplane.controlplane import ControlPlane
from tests.controlplane.product import Product
from tests.controlplane.takeover import install
from tests.controlplane.test_kinds import judge
from tests.yaml_files import read_yaml

pytestmark = [pytest.mark.controlplane, pytest.mark.django_db, pytest.mark.long]
CASES = read_yaml(Path(__file__).parent / "odd-inputs.yaml")
BOTH = [(number, mode) for number, case in enumerate(CASES) for mode in case.get("modes", ["client", "server"])]


def resolve_all(product: Product, plan: Plan) -> Plan:
    """The next plan, which overwrites every conflict."""
    choices = resolutions.choose_everywhere(plan, ResolutionKind.OVERWRITE)
    planner.make_plan(reviews.replan_review(plan.review, by=product.alice, choices=choices, note="").pk)
    return plan.review.plans.get(number=2)


def read_one(plan: Plan) -> PlannedObject:
    """The only object of a plan."""
    (change,) = map(changes.read_masked, plan.changes.all())
    return change


def define(plane: ControlPlane, definition: str) -> None:
    """Define a kind, and wait until it is served."""
    install(plane, {"a.yaml": definition})
    plane.kubectl("wait", "--for=condition=Established", "customresourcedefinitions", "--all")


@pytest.mark.parametrize(("number", "mode"), BOTH, ids=[f"{CASES[n]['about']}, {mode}" for n, mode in BOTH])
def test_pages_of_an_odd_input_come_true(request: pytest.FixtureRequest, number: int, mode: str):
    case: dict[str, Any] = CASES[number]
    plane: ControlPlane = request.getfixturevalue("managed_plane" if case.get("managed") else "control_plane")
    name = namespace = f"odd{number}{mode}"
    product = Product(plane)
    plane.kubectl("create", "namespace", namespace)

    def fill(text: str) -> str:
        return text.replace("NAME", name).replace("KIND", name.capitalize())

    old = new = case["first"]
    for before, after in case["changed"]:
        assert before in new, before
        new = new.replace(before, after)
    if "definition" in case:
        define(plane, fill(case["definition"]))
    flags = ("--server-side", f"--field-manager={PRODUCT_MANAGER}") if case.get("by") == "server" else ()
    plane.kubectl("apply", "-n", namespace, *flags, "-f", "-", stdin=fill(old))
    for command in case.get("by_hand", ()):
        plane.kubectl("-n", namespace, *map(fill, command))
    plan = product.plan({"a.yaml": fill(new)}, ApplyOptions(ApplyMode(mode), namespace=namespace))
    if read_one(plan).operation is Operation.BLOCKED:
        plan = resolve_all(product, plan)

    if mode in case.get("refused", ()):
        flags = ["--server-side", "--force-conflicts", f"--field-manager={PRODUCT_MANAGER}"] if mode == "server" else []
        tried = plane.kubectl("apply", "-n", namespace, *flags, "-f", "-", stdin=fill(new), check=False)
        assert read_one(plan).operation is Operation.ERROR
        assert case["refused"][mode] in read_one(plan).error
        assert case["refused"][mode] in tried.stderr
    else:
        assert judge(product, plan, namespace).false == []
