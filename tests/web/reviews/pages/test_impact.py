"""The impact of a plan: what stops comes first, and what has no room is counted."""

from types import SimpleNamespace

import pytest

from applyviz.engine.objects.refs import GroupVersionKind, ObjectRef
from applyviz.engine.planning.digest.serialize import options_to_json, to_json
from applyviz.engine.planning.model.summary import ImageChange, PlanSummary, Restart
from applyviz.engine.requests.options import ApplyOptions
from applyviz.records.models import Plan, PlanDetails
from applyviz.web.reviews.pages.plan_summary import present_impact
from applyviz.web.reviews.pages.restarts import SHOWN, count_pods, list_restarts
from applyviz.web.reviews.pages.strip import RiskCounts, Strip, _describe_impact

WEB = ObjectRef(GroupVersionKind("apps", "v1", "Deployment"), "shop", "web")
IMPACT = PlanSummary(
    stopped=(WEB,),
    scaled_down=(WEB,),
    restarts=(Restart(WEB, 2, "Recreate"),),
    images=(ImageChange(WEB, "main", "web:1", "web:2"),),
    ownership_moves=3,
    moves_from=("kubectl-client-side-apply",),
    ownership_starts=2,
    records_removed=3,
)
LINES = (
    "Downtime: Deployment/web",
    "Scaled to 0: Deployment/web",
    "2 pods restart: Deployment/web",
    "1 image changes",
    "Field ownership of 3 objects migrates from kubectl-client-side-apply first, which changes no values",
    "2 objects have no field owners: their last-applied fields get one first, which changes no values",
    "The last-applied annotation of 3 objects is removed: a later client-side apply keeps what it drops",
)


def make_plan(impact: PlanSummary) -> Plan:
    plan = Plan(options=options_to_json(ApplyOptions()), counts={"update": 1})
    plan.details = PlanDetails(plan=plan, impact=to_json(impact))
    return plan


def test_what_stops_is_named_before_what_only_moves():
    assert present_impact(make_plan(IMPACT)) == LINES


def test_strip_counts_the_lines_that_it_has_no_room_for():
    plan = make_plan(IMPACT)
    context = SimpleNamespace(plan=plan, is_complete=True)

    assert _describe_impact(context) == (*LINES[:3], "4 more")
    strip = Strip((), "", _describe_impact(context), "", RiskCounts(0, 0, 0, 0), "")
    assert (
        strip.impact_text
        == "Downtime: Deployment/web · Scaled to 0: Deployment/web · 2 pods restart: Deployment/web · 4 more"
    )

    context.plan = make_plan(PlanSummary())
    assert _describe_impact(context) == ("No pods restart",)


def test_pods_that_stop_with_their_workload_do_not_restart():
    impact = PlanSummary(stopped=(WEB,), restarts=(Restart(WEB, 3, "", stops_all=True, is_new=True),))

    assert present_impact(make_plan(impact)) == (
        "Downtime: Deployment/web",
        "3 pods stop with the replaced workload, which starts new ones: Deployment/web",
    )
    assert [row.note for row in list_restarts(impact)] == ["replaced"]


def test_pods_of_unknown_number_stop_with_their_workload():
    impact = PlanSummary(restarts=(Restart(WEB, 0, "", is_new=True),))

    assert present_impact(make_plan(impact)) == (
        "All pods stop with the replaced workload, which starts new ones: Deployment/web",
    )


def test_unknown_numbers_of_pods_are_not_counted_as_none():
    agent = ObjectRef(GroupVersionKind("apps", "v1", "DaemonSet"), "shop", "agent")
    other = ObjectRef(agent.gvk, "shop", "other")
    replaced = PlanSummary(restarts=(Restart(WEB, 3, "", is_new=True), Restart(agent, 0, "", is_new=True)))
    pending = PlanSummary(pending=(Restart(WEB, 3, ""), Restart(agent, 0, "")))
    restarting = PlanSummary(restarts=(Restart(agent, 2, ""), Restart(other, 0, "")))

    assert present_impact(make_plan(replaced)) == (
        "3 pods stop with the replaced workload, which starts new ones: Deployment/web",
        "All pods stop with the replaced workload, which starts new ones: DaemonSet/agent",
    )
    assert present_impact(make_plan(pending)) == (
        "+3 pods (web) once their conflicts are resolved",
        "more pods restart once conflicts are resolved: agent",
    )
    assert present_impact(make_plan(restarting)) == (
        "2 pods restart: DaemonSet/agent",
        "All pods of DaemonSet/other restart",
    )


@pytest.mark.parametrize(("pods", "text"), [(1, "2 pods stop"), (2, "3 pods stop")])
def test_replaced_workloads_are_counted_apart_from_their_pods(pods, text):
    other = ObjectRef(WEB.gvk, WEB.namespace, "api")
    impact = PlanSummary(restarts=(Restart(WEB, 1, "", is_new=True), Restart(other, pods, "", is_new=True)))

    (line,) = present_impact(make_plan(impact))

    assert line == f"{text} with the replaced workloads, which start new ones: Deployment/web, Deployment/api"


def workload(name: str, pods: int) -> Restart:
    return Restart(ObjectRef(GroupVersionKind("apps", "v1", "DaemonSet"), "shop", name), pods, "")


@pytest.mark.parametrize(
    ("restarts", "pending", "text"),
    [
        ((), (), "0"),
        ((3, 2), (), "5"),
        ((3,), (2,), "3 · 5 once resolved"),
        ((0,), (), "all of 1 workload"),
        ((3, 0, 0), (), "3, and all of 2 workloads"),
        ((1,) * SHOWN, (1, 1), f"{SHOWN} · {SHOWN + 2} once resolved"),
    ],
)
def test_card_counts_pods_as_the_strip_does(restarts, pending, text):
    summary = PlanSummary(
        restarts=tuple(workload(f"now-{n}", pods) for n, pods in enumerate(restarts)),
        pending=tuple(workload(f"later-{n}", pods) for n, pods in enumerate(pending)),
    )

    assert count_pods(summary) == text


@pytest.mark.parametrize(("last", "pods"), [(1, 3), (0, 0)])
def test_row_of_the_rest_claims_no_sum_of_unknown_numbers(last, pods):
    restarts = tuple(workload(f"agent-{n}", 1) for n in range(SHOWN + 2))

    rest = list_restarts(PlanSummary(restarts=(*restarts, workload("other", last))))[-1]

    assert (rest.name, rest.pods) == ("3 more", pods)
