"""Making plans: progressive, complete, masked, and safe to be asked for twice."""

from datetime import timedelta

import pytest
import yaml
from django.utils import timezone

from applyviz.engine.risks.restarts import PODS_RESTART
from applyviz.records.enums import AuditAction, PlanState
from applyviz.records.models import AuditEntry, ObjectChange, OutboxMessage, Plan
from applyviz.workflow.foundation.errors import NotAllowedError, NotPossibleError, NotValidError, NotVisibleError
from applyviz.workflow.plans import changes, planner, reviews
from tests.builders import make_person
from tests.stories import SECRETS_OF_A_VAULT, Team, config_map, secret, vault_secret

pytestmark = pytest.mark.django_db


@pytest.fixture
def team():
    return Team()


def test_plan_says_what_happens_to_each_object(team):
    plan = team.plan(config_map("one", a="1"), config_map("two", b="2"))

    assert (plan.state, plan.error, plan.problems) == (PlanState.COMPLETE, "", [])
    assert plan.counts == {"create": 2}
    assert [(c.name, c.operation, c.certainty) for c in plan.changes.all()] == [
        ("one", "create", "confirmed"),
        ("two", "create", "confirmed"),
    ]
    assert len(plan.digest) == 64
    assert plan.cluster_uid == team.cluster.uid != ""


def test_one_broken_document_does_not_stop_the_others(team):
    plan = team.plan(config_map("one", a="1") + "---\na: [\n", config_map("two", b="2"))

    assert plan.counts == {"create": 2}
    assert [(p["file"], p["line"] > 0) for p in plan.problems] == [("0.yaml", True)]


def test_values_of_secrets_are_nowhere_in_clear(team):
    plan = team.plan(secret(password="canary-7f3a91"))

    change = plan.changes.get()
    shown = str(change.document) + str(vars(plan)) + str(vars(plan.details)) + str(list(AuditEntry.objects.values()))
    assert "canary-7f3a91" not in shown
    assert "Y2FuYXJ5LTdmM2E5M" not in shown
    assert "canary-7f3a91" in str(change.sealed.open_json())
    assert changes.read_masked(change).ref.name == "login"


def test_history_counts_all_but_comparisons_of_secrets_with_live(team):
    team.apply(SECRETS_OF_A_VAULT)
    team.apply(secret(password="x"), vault_secret(password="x"))

    plan = team.plan(secret(password="canary-1"), vault_secret(password="canary-2"))

    assert plan.counts == {"update": 2}
    entry = AuditEntry.objects.filter(action=AuditAction.PLAN_COMPLETED).latest("pk")
    assert entry.detail["counts"] == {"update": 1, "not-shown": 1}
    assert "canary" not in str([change.document for change in plan.changes.all()])


def test_same_manifests_give_the_same_digest_within_a_review(team):
    """Approvals hold for equal plans of one review; a digest does not reveal that another review has the same plan."""
    first, other = team.plan(config_map(a="1")), team.plan(config_map(a="1"))
    made = reviews.replan_review(first.review, by=team.alice)
    planner.make_plan(made.pk)
    second = first.review.plans.get(number=2)

    assert first.digest == second.digest
    assert first.digest != other.digest


def test_plan_that_is_asked_for_twice_is_made_once(team):
    plan = team.plan(config_map(a="1"))

    planner.make_plan(plan.pk)

    assert plan.changes.count() == 1
    assert AuditEntry.objects.filter(action=AuditAction.PLAN_COMPLETED).count() == 1


def test_lost_planning_is_found_and_made_anew(team):
    review = team.review({"a.yaml": config_map(a="1")})
    plan = review.plans.get()
    past = timezone.now() - timedelta(minutes=1)
    Plan.objects.filter(pk=plan.pk).update(epoch=1, lease_until=past)
    assert planner.find_unfinished() == [plan.pk]

    planner.make_plan(plan.pk)

    assert planner.find_unfinished() == []
    assert review.plans.get().state == PlanState.COMPLETE


def test_plan_of_another_worker_is_left_alone(team):
    plan = team.review({"a.yaml": config_map(a="1")}).plans.get()
    Plan.objects.filter(pk=plan.pk).update(epoch=1, lease_until=timezone.now() + timedelta(minutes=1))

    planner.make_plan(plan.pk)

    assert not ObjectChange.objects.exists()


def test_planning_that_dies_again_and_again_fails(team):
    plan = team.review({"a.yaml": config_map(a="1")}).plans.get()
    Plan.objects.filter(pk=plan.pk).update(epoch=3)

    planner.make_plan(plan.pk)

    plan.refresh_from_db()
    assert plan.state == PlanState.FAILED
    assert "interrupted several times" in plan.error


def test_unexpected_error_fails_the_plan_without_its_text(team, monkeypatch):
    def break_down(*_args):
        raise RuntimeError("password=canary")

    monkeypatch.setattr("applyviz.clusters.connect.open_transport", break_down)
    plan = team.plan(config_map(a="1"))

    assert plan.state == PlanState.FAILED
    assert plan.error == "an unexpected error stopped the calculation (RuntimeError)"


def test_replan_makes_the_next_plan(team):
    first = team.plan(config_map(a="1"))

    second = reviews.replan_review(first.review, by=team.alice)

    assert (second.number, second.state, second.revision_id) == (2, PlanState.PLANNING, first.revision_id)
    with pytest.raises(NotPossibleError, match="already being created"):
        reviews.replan_review(first.review, by=team.alice)


def test_message_is_kept_until_it_is_sent(team, django_capture_on_commit_callbacks):
    review = team.review({"a.yaml": config_map(a="1")})

    message = OutboxMessage.objects.get()

    assert (message.task, message.ids, message.sent_at) == (
        "applyviz.make_plan",
        {"plan_id": review.plans.get().pk},
        None,
    )


def test_review_needs_title_and_manifests(team):
    with pytest.raises(NotValidError, match="at least one manifest"):
        team.review({})


def test_roles_decide_who_opens_and_sees(team):
    review = team.review({"a.yaml": config_map(a="1")})
    charlie = make_person("charlie")

    with pytest.raises(NotVisibleError):
        reviews.get_review(review.number, for_user=charlie)
    with pytest.raises(NotVisibleError):
        planner.get_plan(1, review_number=review.number, for_user=charlie)
    with pytest.raises(NotAllowedError):
        reviews.replan_review(review, by=team.bob)
    assert list(reviews.list_reviews(for_user=team.bob)) == [review]


WEB = {
    "apiVersion": "apps/v1",
    "kind": "Deployment",
    "metadata": {"name": "web"},
    "spec": {
        "replicas": 2,
        "selector": {"matchLabels": {"app": "web"}},
        "template": {
            "metadata": {"labels": {"app": "web"}},
            "spec": {"containers": [{"name": "web", "image": "shop/web:1"}]},
        },
    },
}
BUDGET = {
    "apiVersion": "policy/v1",
    "kind": "PodDisruptionBudget",
    "metadata": {"name": "keep-web"},
    "spec": {"minAvailable": 2, "selector": {"matchLabels": {"app": "web"}}},
}


def test_disruption_budget_is_not_said_to_hold_up_a_rollout(team):
    team.apply(yaml.safe_dump(WEB), yaml.safe_dump(BUDGET))
    newer = yaml.safe_dump(WEB).replace("shop/web:1", "shop/web:2")

    plan = team.plan(newer)

    risks = [(h.kind, h.facts) for h in changes.read_masked(plan.changes.get()).risks]
    assert [(kind, "keep-web" in str(facts)) for kind, facts in risks] == [(PODS_RESTART, False)]
