"""Replacing an object through a review: chosen by a person, by a policy or an annotation; run, resumed, restored."""

from __future__ import annotations

import pytest
import yaml

from applyviz.clusters.sandbox import SandboxTransport
from applyviz.engine.objects.exchange import JSON, Answer, Request
from applyviz.engine.planning.digest.serialize import options_from_json
from applyviz.engine.planning.model.plan import Operation
from applyviz.engine.requests.options import ApplyMode, Propagation, Replacement
from applyviz.engine.risks.deletions import TERMINATING
from applyviz.engine.risks.sentences import describe_risk
from applyviz.records.enums import Role, RunState
from applyviz.records.models import Plan
from applyviz.web.api import responses
from applyviz.workflow import runs
from applyviz.workflow.foundation.errors import NotValidError
from applyviz.workflow.foundation.grant_scopes import Scope
from applyviz.workflow.plans import changes, object_choices, planner, revert, reviews
from applyviz.workflow.plans.changes import ref_of
from applyviz.workflow.plans.object_choices import ObjectChoice
from applyviz.workflow.policies import Rules, editing
from tests.builders import make_person

pytestmark = pytest.mark.django_db
JOB_PATH = "/apis/batch/v1/namespaces/default/jobs/migrate"
JOB = """apiVersion: batch/v1
kind: Job
metadata: {name: migrate, annotations: {example.com/replace: "true"}}
spec:
  template:
    spec:
      restartPolicy: Never
      containers: [{name: migrate, image: IMAGE}]
"""
FIRST, SECOND = JOB.replace("IMAGE", "a:1"), JOB.replace("IMAGE", "a:2")


def choose(plan: Plan, choice: ObjectChoice, propagation: Propagation | None = None) -> Plan:
    """The next plan after a choice about all objects of a plan."""
    refs = [ref_of(row) for row in plan.changes.all()]
    options = object_choices.choose(plan, refs, choice, propagation)
    made = reviews.replan_review(plan.review, by=plan.review.author, options=options)
    planner.make_plan(made.pk)
    return plan.review.plans.get(number=made.number)


def image_of(live: dict) -> str:
    return live["spec"]["template"]["spec"]["containers"][0]["image"]


@pytest.mark.core(1)
@pytest.mark.parametrize("mode", ApplyMode)
def test_refused_job_is_replaced_after_a_choice_and_an_approval(team, mode):
    team.apply(FIRST, mode=mode)
    before = team.live(JOB_PATH)
    refused = team.plan(SECOND, mode=mode)
    assert [row.operation for row in refused.changes.all()] == [Operation.ERROR]

    chosen = choose(refused, ObjectChoice.REPLACE)
    assert [row.operation for row in chosen.changes.all()] == [Operation.REPLACE]
    assert chosen.digest != refused.digest
    run = team.work(team.start(chosen))

    assert (run.state, team.outcomes(run)) == (RunState.APPLIED, ["applied"])
    after = team.live(JOB_PATH)
    assert image_of(after) == "a:2"
    assert after["metadata"]["uid"] != before["metadata"]["uid"]
    assert team.wire.effective[-2].method == "DELETE"


@pytest.mark.long
def test_choice_can_be_taken_back(team):
    team.apply(FIRST)
    chosen = choose(team.plan(SECOND), ObjectChoice.REPLACE, Propagation.ORPHAN)
    assert options_from_json(chosen.options).propagation is Propagation.ORPHAN

    back = choose(chosen, ObjectChoice.UPDATE)

    assert [row.operation for row in back.changes.all()] == [Operation.ERROR]
    assert options_from_json(back.options).replacement == Replacement()


BY_KIND, BY_ANNOTATION = Rules(replaced_kinds=("batch/Job",)), Rules(replace_annotation="example.com/replace")


@pytest.mark.long
@pytest.mark.parametrize("rules", [BY_KIND, BY_ANNOTATION])
def test_policy_chooses_kinds_and_annotated_objects(team, rules):
    admin = make_person("root", Role.ADMINISTRATOR)
    team.apply(FIRST)
    editing.save_policy("jobs", by=admin, scope=Scope(), rules=rules)

    plan = team.plan(SECOND)
    assert [row.operation for row in plan.changes.all()] == [Operation.REPLACE]
    run = team.work(team.start(plan))
    assert run.state == RunState.APPLIED

    editing.archive_policy("jobs", by=admin)
    again = team.plan(FIRST)
    assert [row.operation for row in again.changes.all()] == [Operation.ERROR]


def test_policy_says_what_is_no_kind_and_no_annotation(team):
    admin = make_person("root", Role.ADMINISTRATOR)
    rules = Rules(replaced_kinds=("Job",), replace_annotation="two words")

    with pytest.raises(NotValidError, match=r"'Job' is not a kind.*'two words' is not the name of an annotation"):
        editing.save_policy("jobs", by=admin, scope=Scope(), rules=rules)


@pytest.mark.long
def test_object_that_changed_after_the_plan_is_not_deleted(team):
    team.apply(FIRST)
    run = team.start(choose(team.plan(SECOND), ObjectChoice.REPLACE))
    team.edit(JOB_PATH, {"spec": {"suspend": True}})

    run = team.work(run)

    assert run.state == RunState.STALE
    assert image_of(team.live(JOB_PATH)) == "a:1"


def test_object_that_is_made_anew_meanwhile_is_left_alone(team):
    """Somebody creates the object between the deletion and the creation: theirs stays."""
    team.apply(FIRST)
    run = team.start(choose(team.plan(SECOND), ObjectChoice.REPLACE))

    theirs = yaml.safe_load(JOB.replace("IMAGE", "b:1"))

    def interfere(request, number):
        if request.method == "PATCH":
            team.send(Request("POST", JOB_PATH.removesuffix("/migrate"), {}, JSON, theirs))
        return ""

    team.wire.fault = interfere
    run = team.work(run)

    assert run.state == RunState.STALE or team.outcomes(run) == ["stale"]
    assert image_of(team.live(JOB_PATH)) == "b:1"


def refuse_creation(patch: pytest.MonkeyPatch) -> None:
    """The server deletes, and then does not create: the quota is used up by somebody else."""
    send = SandboxTransport.send

    def answer(self, request):
        if request.path.startswith(JOB_PATH) and request.method == "PATCH" and not request.is_dry_run:
            status = {"kind": "Status", "apiVersion": "v1", "code": 403, "reason": "Forbidden"}
            return Answer(403, {**status, "message": "exceeded quota"})
        return send(self, request)

    patch.setattr(SandboxTransport, "send", answer)


def test_failed_creation_offers_the_stored_object_back(team, monkeypatch):
    team.apply(FIRST)
    run = team.start(choose(team.plan(SECOND), ObjectChoice.REPLACE))
    with monkeypatch.context() as patch:
        refuse_creation(patch)
        run = team.work(run)
    assert (run.state, team.outcomes(run), team.live(JOB_PATH)) == (RunState.FAILED, ["refused"], None)
    assert [result.pk for result in revert.find_lost(run.results.select_related("change"))] == [run.results.get().pk]
    told = responses.present_run_with_results(run, for_user=team.alice, root="")
    assert [(one["outcome"], one["is_gone"]) for one in told["objects"]] == [("refused", True)]
    assert revert.find_undo_blockers(run, for_user=team.alice) == ()

    review = revert.prepare_revert(run, by=team.alice, only_lost=True)()
    planner.make_plan(review.plans.get().pk)
    restored = team.work(team.start(review.plans.get()))

    assert (review.title, restored.state) == (f"Restore from run {run.number}: Change", RunState.APPLIED)
    assert image_of(team.live(JOB_PATH)) == "a:1"


@pytest.mark.long
def test_next_plan_after_a_failed_creation_creates_the_object(team, monkeypatch):
    team.apply(FIRST)
    plan = choose(team.plan(SECOND), ObjectChoice.REPLACE)
    run = team.start(plan)
    with monkeypatch.context() as patch:
        refuse_creation(patch)
        team.work(run)

    made = reviews.replan_review(plan.review, by=team.alice)
    planner.make_plan(made.pk)

    assert [row.operation for row in made.changes.all()] == [Operation.CREATE]
    assert team.work(team.start(plan.review.plans.get(number=made.number))).state == RunState.APPLIED


def test_deletion_that_takes_too_long_ends_unknown_and_creates_nothing(team):
    held = FIRST.replace("{name: migrate,", "{name: migrate, finalizers: [example.com/hold],", 1)
    team.apply(held)
    plan = team.plan(held.replace("a:1", "a:2"), deletion_seconds=1, replacement=Replacement(kinds=("batch/Job",)))

    run = team.work(team.start(plan))

    assert (run.state, team.outcomes(run)) == (RunState.FAILED, ["unknown"])
    assert "still there after 1 s" in run.results.get().detail
    assert team.live(JOB_PATH)["metadata"]["deletionTimestamp"]


@pytest.mark.long
def test_object_that_is_being_deleted_is_awaited_and_created_again(team):
    held = FIRST.replace("{name: migrate,", "{name: migrate, finalizers: [example.com/hold],", 1)
    team.apply(held)
    team.send(Request("DELETE", JOB_PATH))
    plan = team.plan(SECOND, replacement=Replacement(kinds=("batch/Job",)))
    (change,) = map(changes.read_masked, plan.changes.all())
    run = team.start(plan)

    runs.execute_run(run.pk, sleep=lambda _: team.edit(JOB_PATH, {"metadata": {"finalizers": None}}))

    run.refresh_from_db()
    assert (run.state, run.error) == (RunState.APPLIED, "")
    (risk,) = [one for one in change.risks if one.kind is TERMINATING]
    assert describe_risk(risk).endswith("the run waits until it is gone, and re-creates it.")
    assert "deletionTimestamp" not in team.live(JOB_PATH)["metadata"]


@pytest.mark.core(1)
@pytest.mark.parametrize("mode", ApplyMode)
def test_replacing_an_object_of_another_tool_is_a_risk_to_acknowledge(team, mode):
    held = [text.replace("{example.com", "{meta.helm.sh/release-name: shop, example.com") for text in (FIRST, SECOND)]
    team.apply(held[0], mode=mode)

    plan = team.plan(held[1], mode=mode, replacement=Replacement(kinds=("Job",)))

    levels = dict(plan.changes.get().risk_levels)
    assert (levels["replace"], levels["belongs-to-other"]) == ("high", "high")
