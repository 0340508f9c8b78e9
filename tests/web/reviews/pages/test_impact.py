"""The impact of a plan: what stops comes first, and what has no room is counted."""

from types import SimpleNamespace

from applyviz.engine.planning.digest.serialize import options_to_json
from applyviz.engine.requests.options import ApplyOptions
from applyviz.records.models import Plan
from applyviz.web.reviews.pages.plan_summary import present_impact
from applyviz.web.reviews.pages.strip import _describe_impact

WEB = [["apps", "v1", "Deployment"], "shop", "web"]
SUMMARY = {
    "stopped": [WEB],
    "scaled_down": [WEB],
    "restarts": [{"ref": WEB, "pods": 2}],
    "images": [WEB],
    "ownership_moves": 3,
    "moves_from": ["kubectl-client-side-apply"],
    "records_removed": 3,
}
LINES = (
    "Downtime: Deployment/web",
    "Scaled to 0: Deployment/web",
    "2 pods restart: Deployment/web",
    "1 image changes",
    "Field ownership of 3 objects migrates from kubectl-client-side-apply first, which changes no values",
    "The last-applied annotation of 3 objects is removed: a later client-side apply keeps what it drops",
)


def test_what_stops_is_named_before_what_only_moves():
    assert present_impact(Plan(summary=SUMMARY, options=options_to_json(ApplyOptions()))) == LINES


def test_strip_counts_the_lines_that_it_has_no_room_for():
    plan = Plan(summary=SUMMARY, options=options_to_json(ApplyOptions()), counts={"update": 1})
    context = SimpleNamespace(plan=plan, is_complete=True)

    assert _describe_impact(context) == (*LINES[:3], "3 more")

    plan.summary = {}
    assert _describe_impact(context) == ("No pods restart",)
