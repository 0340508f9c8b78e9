"""Kinds that no upgrade has: applied by kubectl, changed by hand, and resolved in each way; are the pages true?

The rows of the plan that a conflict blocks are those of the plan that overwrites, besides the fields in conflict.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import pytest
from django.test import Client

from applyviz.engine.explain.fields import CHANGING
from applyviz.engine.explain.reasons import FieldOperation, Reason
from applyviz.engine.objects.paths import render_path
from applyviz.engine.planning.conflicts.resolutions import ResolutionKind
from applyviz.engine.planning.model.plan import Operation, PlannedObject
from applyviz.engine.requests.options import ApplyMode, ApplyOptions
from applyviz.records.models import Plan
from applyviz.workflow.plans import changes, planner, resolutions, reviews
from tests.controlplane.controlplane import ControlPlane
from tests.controlplane.page_owners import judge_owners
from tests.controlplane.page_summary import judge_risks, judge_summary
from tests.controlplane.pages import (
    Pages,
    judge_counts,
    judge_fields,
    judge_requests,
    judge_run,
    judge_scroll,
    tell,
)
from tests.controlplane.product import Product
from tests.controlplane.takeover import Takeover, install, name_change
from tests.controlplane.test_pages import exists, has_pods, read_observed
from tests.yaml_files import read_yaml

pytestmark = [pytest.mark.controlplane, pytest.mark.django_db, pytest.mark.long]
CASES = {case["kind"]: case for case in read_yaml(Path(__file__).parent / "kinds.yaml")}
CLIENT_SIDE = "client-side"
HOWS = [*ResolutionKind, CLIENT_SIDE]


def write(case: dict[str, Any], name: str) -> tuple[str, str]:
    """Both versions of the manifest."""
    old = new = case["manifest"]
    for before, after in case["changed"]:
        assert before in new, before
        new = new.replace(before, after)
    return old.replace("NAME", name), new.replace("NAME", name)


def list_rows(change: PlannedObject, *, without: set[str] = frozenset()) -> set[tuple[str, str]]:
    """The rows that say that a value changes."""
    said = [one for one in change.fields if one.operation in CHANGING and one.reason is not Reason.BOOKKEEPING]
    found = {(render_path(one.path), one.operation.value) for one in said}
    return {(path, operation) for path, operation in found if path not in without}


def judge(product: Product, plan: Plan, namespace: str) -> Pages:
    """Read everything that pages say of a plan, run it, and judge it."""
    takeover, client = Takeover(product), Client()
    client.force_login(product.bob)
    keys = [name_change(changes.open_sealed(row)) for row in plan.changes.order_by("position")]
    before = read_observed(product.plane, keys, namespace)
    run = takeover.run(plan)
    pages = Pages(client, plan, partial(exists, product.plane), partial(has_pods, product.plane))
    after = read_observed(product.plane, keys, namespace)
    all_told = tell(pages, before, after, lambda gvk: getattr(takeover.catalog.find_kind(gvk), "root", None))
    judge_counts(pages)
    judge_summary(pages, all_told)
    judge_risks(pages, all_told)
    for told in all_told:
        judge_fields(pages, told)
    judge_scroll(pages, all_told, most=20)
    judge_owners(pages, all_told)
    judge_requests(pages, run)
    judge_run(pages, run)
    return pages


@pytest.mark.parametrize("how", HOWS)
@pytest.mark.parametrize("kind", CASES)
def test_pages_of_a_kind_come_true(control_plane: ControlPlane, kind: str, how: str):
    product, case = Product(control_plane), CASES[kind]
    name = f"{kind.lower()[:12]}-{how[:5]}".replace("-", "x" if kind == "CustomResourceDefinition" else "-").strip("-")
    namespace = f"kinds-{kind.lower()[:20]}-{how}"
    control_plane.kubectl("create", "namespace", namespace)
    old, new = write(case, name)
    install(control_plane, {"a.yaml": old}, namespace)
    for command in case["by_hand"]:
        control_plane.kubectl("-n", namespace, *[word.replace("NAME", name) for word in command])
    mode = ApplyMode.CLIENT if how == CLIENT_SIDE else ApplyMode.SERVER
    plan = product.plan({"a.yaml": new}, ApplyOptions(mode, namespace=namespace))
    (blocked,) = map(changes.open_sealed, plan.changes.all())
    if mode is ApplyMode.SERVER:
        assert blocked.operation is Operation.BLOCKED, (blocked.operation, blocked.error)
        choices = resolutions.choose_everywhere(plan, ResolutionKind(how))
        planner.make_plan(reviews.replan_review(plan.review, by=product.alice, choices=choices, note="").pk)
        plan = plan.review.plans.get(number=2)
        (resolved,) = map(changes.open_sealed, plan.changes.all())
        fields = {render_path(one.path) for one in blocked.fields if one.operation is FieldOperation.CONFLICT}
        rows = list_rows(blocked, without=fields), list_rows(resolved, without=fields)
        assert rows[0] == rows[1], (rows[0] - rows[1], rows[1] - rows[0])

    pages = judge(product, plan, namespace)

    assert pages.false == []
