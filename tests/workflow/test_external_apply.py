"""Reviews of what another tool applies: planned as its field manager, never applied here, verified afterwards."""

from datetime import timedelta

import pytest
from django.utils import timezone

from applyviz.engine.requests.options import ApplyOptions
from applyviz.records.enums import Applier, AuditAction, VerificationState
from applyviz.records.models import ApplyRun, AuditEntry, Verification
from applyviz.sources.bundle import BundledFile, SourceBundle
from applyviz.workflow import runs
from applyviz.workflow.approvals import approving
from applyviz.workflow.foundation.errors import NotPossibleError, NotVisibleError
from applyviz.workflow.live import external_apply
from applyviz.workflow.plans import plan_details, planner, reviews
from tests.blockers import name_blockers
from tests.builders import make_person
from tests.stories import SETTINGS, config_map, secret

pytestmark = pytest.mark.django_db


def plan_as(team, applier, *texts, **options):
    given = ApplyOptions(**options)
    review = reviews.create_review(
        by=team.alice,
        title="Upgrade",
        reason="",
        ticket="",
        cluster=team.cluster,
        options=external_apply.as_tool(given, applier, is_manager_given=False),
        bundle=SourceBundle(tuple(BundledFile(f"{n}.yaml", text.encode()) for n, text in enumerate(texts))),
        applied_by=applier,
    )
    planner.make_plan(review.plans.get().pk)
    return review.plans.get()


def verify(team, plan):
    made = external_apply.verify_now(plan, by=team.alice)
    external_apply.verify_plan(made.pk)
    return Verification.objects.get(pk=made.pk)


def verdicts(found):
    return [result["verdict"] for result in found.results]


@pytest.mark.parametrize(
    ("applier", "manager", "takes_over"),
    [
        (Applier.HELM, "helm", False),
        (Applier.ARGO, "argocd-controller", False),
        (Applier.FLUX, "kustomize-controller", True),
        (Applier.OTHER, "applyviz", False),
    ],
)
def test_plan_is_made_as_the_field_manager_of_the_tool(applier, manager, takes_over):
    options = external_apply.as_tool(ApplyOptions(), applier, is_manager_given=False)

    assert (options.field_manager, options.takes_over) == (manager, takes_over)
    assert (
        external_apply.as_tool(ApplyOptions(field_manager="mine"), applier, is_manager_given=True).field_manager
        == "mine"
    )


def test_it_is_never_applied_here(team):
    plan = plan_as(team, Applier.HELM, config_map(a="1"))
    blocker = "applied by Helm, not applyviz: verify it afterwards"

    assert blocker in name_blockers(plan)
    for attempt in (
        lambda: approving.approve_plan(plan, by=team.bob, digest=plan.digest),
        lambda: runs.start_run(plan, by=team.bob, digest=plan.digest),
        lambda: runs.approve_and_run(plan, by=team.bob, digest=plan.digest),
    ):
        with pytest.raises(NotPossibleError, match="applied by Helm, not applyviz"):
            attempt()
    assert ApplyRun.objects.count() == 0


def test_conflicts_of_the_next_run_are_foretold(team):
    team.apply_as("somebody", config_map(a="1", b="1", c="1"))

    told = plan_details.read_forecast(plan_as(team, Applier.HELM, config_map(a="2", b="2")))

    assert (told.conflicts, told.conflicting, told.managers) == (2, 1, ("somebody",))


def test_what_self_heal_reverts_is_foretold(team):
    team.apply_as("kustomize-controller", config_map(a="1"))
    team.edit(SETTINGS, {"data": {"a": "by hand"}})

    told = plan_details.read_forecast(plan_as(team, Applier.FLUX, config_map(a="1")))

    assert (told.conflicts, told.reverted, told.managers) == (0, 1, ("kubectl-edit",))


def test_plan_of_our_own_has_no_forecast(team):
    assert plan_details.read_forecast(team.plan(config_map(a="1"))) is None


def test_verdicts_before_and_after_the_tool_ran(team):
    team.apply_as("helm", config_map("old", a="1"))
    plan = plan_as(team, Applier.HELM, config_map("old", a="2"), config_map("new", a="1"))
    assert verdicts(verify(team, plan)) == ["not-yet", "not-yet"]

    team.apply_as("helm", config_map("old", a="2"))
    assert verdicts(verify(team, plan)) == ["as-reviewed", "not-yet"]

    team.apply_as("helm", config_map("new", a="3"))
    found = verify(team, plan)
    assert (found.state, verdicts(found)) == (VerificationState.DONE, ["as-reviewed", "differs"])
    assert found.results[1]["differences"] == [{"path": ".data.a", "promised": "1", "got": "3"}]
    assert AuditEntry.objects.filter(action=AuditAction.LIVE_VERIFIED).count() == 3
    assert team.wire.writes == []


def test_differences_show_no_value_of_a_secret(team):
    plan = plan_as(team, Applier.HELM, secret(password="canary-one"))
    team.apply(secret(password="canary-two"))

    found = verify(team, plan)

    assert verdicts(found) == ["differs"]
    assert "canary" not in str(found.results)
    assert "Y2FuYXJ5" not in str(found.results)


def test_one_look_at_a_time_by_who_takes_part(team):
    plan = plan_as(team, Applier.HELM, config_map(a="1"))
    external_apply.verify_now(plan, by=team.bob)

    with pytest.raises(NotPossibleError, match="already"):
        external_apply.verify_now(plan, by=team.alice)
    with pytest.raises(NotVisibleError):
        external_apply.verify_now(plan, by=make_person("charlie"))
    with pytest.raises(NotPossibleError, match="applyviz applies this review itself"):
        external_apply.verify_now(team.plan(config_map("mine", a="1")), by=team.alice)


def test_lost_look_is_taken_up_and_given_up_in_the_end(team):
    plan = plan_as(team, Applier.HELM, config_map(a="1"))
    made = external_apply.verify_now(plan, by=team.alice)
    past = timezone.now() - timedelta(minutes=1)
    Verification.objects.filter(pk=made.pk).update(created_at=past, lease_until=past, attempts=1)
    assert external_apply.find_unfinished(now=timezone.now()) == [made.pk]
    Verification.objects.filter(pk=made.pk).update(attempts=3)

    external_apply.verify_plan(made.pk)

    made.refresh_from_db()
    assert (made.state, made.error) == (VerificationState.FAILED, "it was interrupted several times")


def test_other_cluster_behind_the_name_fails_the_look(team):
    plan = plan_as(team, Applier.HELM, config_map(a="1"))
    made = external_apply.verify_now(plan, by=team.alice)
    from applyviz.workflow.clusters import registration as clusters  # noqa: PLC0415 - used here alone

    team.wire.leads_to = clusters.create_sandbox(slug="other", name="Other")

    external_apply.verify_plan(made.pk)

    made.refresh_from_db()
    assert (made.state, "a different cluster" in made.error) == (VerificationState.FAILED, True)
