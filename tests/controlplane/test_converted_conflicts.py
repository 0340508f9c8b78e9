"""A conflict that stays without the field, because the server converts the object: are its options true?"""

from __future__ import annotations

import json

import pytest

from applyviz.engine.planning.conflicts.resolutions import ResolutionKind
from applyviz.engine.planning.model.plan import Operation
from applyviz.engine.requests.options import ApplyMode, ApplyOptions
from applyviz.workflow.plans import changes, planner, resolutions, reviews
from tests.controlplane.controlplane import ControlPlane
from tests.controlplane.product import Product
from tests.engine.planning.test_converted_conflicts import V1, use

pytestmark = [pytest.mark.controlplane, pytest.mark.django_db]


@pytest.mark.parametrize("names", [("cpu", "memory"), ("memory", "cpu")])
@pytest.mark.parametrize("how", ResolutionKind)
def test_resolution_is_possible_where_the_server_accepts_it(
    control_plane: ControlPlane, how: ResolutionKind, names: tuple[str, str]
):
    product, namespace = Product(control_plane), f"converted-{how.value}-{names[0]}"
    control_plane.kubectl("create", "namespace", namespace)
    product.apply({"a.yaml": V1}, ApplyOptions(ApplyMode.SERVER, namespace=namespace))
    other = ApplyOptions(ApplyMode.SERVER, namespace=namespace, field_manager="other", takes_over=True)
    product.apply({"a.yaml": use(*names)}, other)

    plan = product.plan({"a.yaml": use("cpu", percent=60)}, ApplyOptions(ApplyMode.SERVER, namespace=namespace))
    (blocked,) = map(changes.open_sealed, plan.changes.all())
    (option,) = [o for field in blocked.open_fields for o in field.options if o.resolution is how]
    choices = resolutions.choose_everywhere(plan, how)
    planner.make_plan(reviews.replan_review(plan.review, by=product.alice, choices=choices, note="").pk)
    again = plan.review.plans.get(number=2)
    (resolved,) = map(changes.open_sealed, again.changes.all())

    assert (resolved.operation is not Operation.BLOCKED) is option.is_possible
    if option.is_possible:
        product.run(again)
        live = json.loads(control_plane.kubectl("get", "hpa.v2.autoscaling/web", "-n", namespace, "-o", "json").stdout)
        assert [one["resource"]["name"] for one in live["spec"]["metrics"]] == (
            ["cpu"] if how is ResolutionKind.OVERWRITE else list(names)
        )
