"""One broken object does not hold the rest: the next plan leaves it out by choice, and a later one takes it back in."""

from __future__ import annotations

import pytest

from applyviz.engine.planning.digest.serialize import options_from_json
from applyviz.engine.planning.model.plan import Operation
from applyviz.engine.requests.options import ApplyMode
from applyviz.records.enums import AuditAction, Outcome, ReviewState, RunState
from applyviz.records.models import AuditEntry, Plan, Review
from applyviz.sources.bundle import BundledFile, SourceBundle
from applyviz.workflow import runs
from applyviz.workflow.approvals.quorum import list_valid_approvals
from applyviz.workflow.foundation.errors import NotValidError
from applyviz.workflow.plans import object_choices, planner, reviews
from applyviz.workflow.plans.changes import ref_of
from tests.blockers import name_blockers
from tests.stories import SETTINGS, config_map

pytestmark = pytest.mark.django_db
BROKEN = "apiVersion: v1\nkind: Service\nmetadata: {name: web}\nspec: {ports: [{port: 99999999}]}\n"
SERVICE = "/api/v1/namespaces/default/services/web"


def leave_out(plan: Plan, *names: str, reason: str = "its port is wrong") -> Plan:
    """The next plan without some objects."""
    refs = [ref_of(row) for row in plan.changes.filter(name__in=names)]
    options = object_choices.leave_out(plan, refs, reason)
    return replan(plan, options=options)


def replan(plan: Plan, **more: object) -> Plan:
    made = reviews.replan_review(plan.review, by=plan.review.author, **more)
    planner.make_plan(made.pk)
    return plan.review.plans.get(number=made.number)


def operations(plan: Plan) -> dict[str, str]:
    return dict(plan.changes.values_list("name", "operation"))


@pytest.mark.core(1)
@pytest.mark.parametrize("mode", ApplyMode)
def test_others_are_planned_approved_and_applied_without_the_broken_object(team, mode):
    blocked = team.plan(BROKEN, config_map(a="1"), mode=mode)
    assert operations(blocked)["web"] == Operation.ERROR
    assert name_blockers(blocked)

    plan = leave_out(blocked, "web")

    assert operations(plan) == {"web": Operation.LEFT_OUT, "settings": Operation.CREATE}
    assert plan.digest not in ("", blocked.digest)
    assert not list_valid_approvals(plan)
    run = team.work(team.start(plan))
    assert run.state == RunState.APPLIED, run.error
    assert dict(run.results.values_list("change__name", "outcome")) == {
        "web": Outcome.LEFT_OUT,
        "settings": Outcome.VERIFIED,
    }
    assert run.results.get(change__name="web").detail == "left out by the plan: its port is wrong"
    assert team.live(SETTINGS)["data"] == {"a": "1"}
    assert team.live(SERVICE) is None
    assert [request.ref.name for request in team.wire.effective] == ["settings"]
    told = AuditEntry.objects.filter(action=AuditAction.OBJECT_RESULT)
    assert sorted(entry.detail["outcome"] for entry in told) == ["applied", "left-out"]


@pytest.mark.long
def test_change_of_a_left_out_object_does_not_stop_the_run(team):
    plan = leave_out(team.plan(BROKEN, config_map(a="1")), "web")
    run = team.start(plan)
    other = team.plan(BROKEN.replace("99999999", "80"))
    team.work(team.start(other))

    assert team.work(run).state == RunState.APPLIED


def test_plan_with_new_manifests_and_a_plan_without_the_choice_take_it_back_in(team):
    plan = leave_out(team.plan(BROKEN, config_map(a="1")), "web")
    assert operations(replan(plan))["web"] == Operation.LEFT_OUT  # the same choices

    none = replan(plan, options=object_choices.leave_out(plan, [], ""))
    assert operations(none)["web"] == Operation.ERROR

    again = leave_out(none, "web")
    files = {"0.yaml": BROKEN.replace("99999999", "80"), "1.yaml": config_map(a="1")}
    bundle = SourceBundle(tuple(BundledFile(name, text.encode()) for name, text in files.items()))
    mended = replan(again, bundle=bundle)

    assert operations(mended) == {"web": Operation.CREATE, "settings": Operation.CREATE}
    assert options_from_json(mended.options).left_out_reason == ""


def test_choice_needs_a_reason_and_something_that_is_left(team):
    plan = team.plan(BROKEN, config_map(a="1"))

    with pytest.raises(NotValidError, match="say why"):
        leave_out(plan, "web", reason=" ")
    with pytest.raises(NotValidError, match="every object"):
        leave_out(plan, "web", "settings")


def test_name_that_is_not_in_the_set_is_a_problem_of_the_plan(team):
    plan = team.plan(BROKEN, config_map(a="1"), left_out=("core/ConfigMap/default/z",), left_out_reason="gone")

    assert [one["reason"] for one in plan.problems] == [
        "core/ConfigMap/default/z is to be left out, but is not in this set"
    ]
    assert name_blockers(plan)


@pytest.mark.long
def test_run_that_fails_elsewhere_does_not_count_what_was_left_out(team):
    plan = leave_out(team.plan(BROKEN, config_map(a="1")), "web")
    run = team.start(plan)
    team.wire.fault = lambda request, number: "refuse connection"

    team.work(run)

    assert run.state != RunState.APPLIED
    assert "web" not in run.error


@pytest.mark.long
def test_retry_that_applies_the_rest_ends_applied(team):
    plan = leave_out(team.plan(BROKEN, config_map(a="1")), "web")
    run = team.start(plan)
    team.wire.fault = lambda request, number: "refuse connection" if request.method != "GET" else ""
    team.work(run)
    assert run.state == RunState.FAILED
    team.wire.fault = lambda request, number: ""

    runs.retry_run(runs.get_run(run.number, for_user=team.bob), by=team.bob, attempt=1)
    team.work(run)

    assert (run.state, run.error, team.outcomes(run)[0]) == (RunState.APPLIED, "", "applied")
    assert Review.objects.get(pk=run.plan.review_id).state == ReviewState.APPLIED
