"""What would undo a run: an ordinary plan, field by field, that says what cannot come back."""

import pytest
import yaml

from applyviz.engine.objects.exchange import Request
from applyviz.engine.requests.options import ApplyMode, Prune, PruneMode
from applyviz.records.enums import RunState
from applyviz.records.models import Undo
from applyviz.workflow import runs
from applyviz.workflow.foundation.errors import NotAllowedError, NotPossibleError
from applyviz.workflow.plans import planner, revert
from tests.stories import SETTINGS, config_map, secret

pytestmark = pytest.mark.django_db


def plan_undo(team, run):
    review = revert.prepare_revert(run, by=team.alice)()
    planner.make_plan(review.plans.get().pk)
    return review.plans.get()


def undo(team, run):
    return team.work(team.start(plan_undo(team, run)))


def without_server_fields(obj):
    metadata = {k: obj["metadata"].get(k) for k in ("name", "labels", "annotations")}
    return {**{k: v for k, v in obj.items() if k != "metadata"}, "metadata": metadata}


@pytest.mark.core(1)
@pytest.mark.parametrize("mode", ApplyMode)
def test_changed_object_goes_back_field_by_field(team, mode):
    team.apply(config_map(a="1", b="2", gone="3"), mode=mode)
    before = team.live()
    team.edit(SETTINGS, {"data": {"other": "somebody's"}})
    run = team.apply(config_map(a="9", b="2", new="4"), mode=mode)

    done = undo(team, run)

    assert (done.state, done.error) == (RunState.APPLIED, "")
    assert team.live()["data"] == {"a": "1", "b": "2", "gone": "3", "other": "somebody's"}
    ours = [e for e in team.live()["metadata"]["managedFields"] if e["manager"] == "applyviz"]
    was = [e for e in before["metadata"]["managedFields"] if e["manager"] == "applyviz"]
    assert [e["fieldsV1"] for e in ours] == [e["fieldsV1"] for e in was]


@pytest.mark.core(1)
@pytest.mark.parametrize("mode", ApplyMode)
def test_created_object_is_deleted(team, mode):
    run = team.apply(config_map(a="1"), config_map("other", b="1"), mode=mode)

    done = undo(team, run)

    assert (done.state, team.outcomes(done), team.live()) == (RunState.APPLIED, ["deleted"] * 2, None)


@pytest.mark.long
def test_object_that_was_made_anew_is_left_alone(team):
    run = team.apply(config_map(a="1"), config_map("other", b="1"))
    team.send(Request("DELETE", SETTINGS))
    team.apply_as("somebody", config_map(a="1"))

    plan = plan_undo(team, run)

    assert [str(change) for change in plan.changes.all()] == ["prune ConfigMap default/other"]
    assert [p["reason"] for p in plan.problems] == [
        "ConfigMap default/settings is not deleted: it was created again since"
    ]


@pytest.mark.long
def test_pruned_object_is_created_again(team):
    prune = Prune(PruneMode.ALLOWLIST, ("core/v1/ConfigMap",), is_all=True)
    team.apply(config_map("a", x="1"), config_map("z", x="1"), mode=ApplyMode.CLIENT)
    run = team.apply(config_map("a", x="1"), mode=ApplyMode.CLIENT, prune=prune)

    undo(team, run)

    assert team.live("/api/v1/namespaces/default/configmaps/z")["data"] == {"x": "1"}
    assert "created again with another uid" in Undo.objects.get().notes[0]


@pytest.mark.long
def test_value_taken_from_somebody_goes_back_to_theirs(team):
    team.apply_as("somebody", config_map(a="theirs"))
    run = team.apply(config_map(a="ours", b="new"), takes_over=True)

    undo(team, run)

    assert team.live()["data"] == {"a": "theirs"}


@pytest.mark.long
def test_list_entries_go_back_by_their_names(team):
    def deployment(*env):
        container = {"name": "web", "image": "web:1", "env": [{"name": n, "value": v} for n, v in env]}
        pod = {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [container]}}
        spec = {"selector": {"matchLabels": {"app": "web"}}, "template": pod}
        return yaml.safe_dump(
            {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"}, "spec": spec}
        )

    path = "/apis/apps/v1/namespaces/default/deployments/web"
    team.apply(deployment(("A", "1"), ("B", "2")))
    before = team.live(path)
    run = team.apply(deployment(("A", "9"), ("C", "3")))

    undo(team, run)

    found = team.live(path)
    assert found["spec"] == before["spec"]
    assert [e["fieldsV1"] for e in found["metadata"]["managedFields"] if e["manager"] == "applyviz"] == [
        e["fieldsV1"] for e in before["metadata"]["managedFields"] if e["manager"] == "applyviz"
    ]


def test_values_of_secrets_go_back_and_are_shown_nowhere(team):
    team.apply(secret(password="canary-one"))
    run = team.apply(secret(password="canary-two"))
    path = "/api/v1/namespaces/default/secrets/login"

    plan = plan_undo(team, run)
    team.work(team.start(plan))

    assert team.live(path)["data"] == {"password": "Y2FuYXJ5LW9uZQ=="}
    shown = str(list(plan.changes.values_list("document", flat=True))) + plan.review.reason
    assert [word for word in ("canary", "Y2FuYXJ5") if word in shown] == []


@pytest.mark.long
def test_what_moved_since_the_run_is_said(team):
    team.apply(config_map(a="1", b="1"))
    run = team.apply(config_map(a="2", b="2"))
    team.apply(config_map(a="3", b="2"))

    plan = plan_undo(team, run)

    assert Undo.objects.get().moved == {str(plan.number): ["ConfigMap default/settings: .data.a"]}


@pytest.mark.long
def test_deleted_object_is_not_said_to_be_reset(team):
    run = team.apply(config_map(a="1"))
    team.apply(config_map(a="2"))

    plan = plan_undo(team, run)

    assert (plan.counts, Undo.objects.get().moved) == ({"prune": 1}, {str(plan.number): []})


def test_undoing_needs_an_approval_of_its_own(team):
    run = team.apply(config_map(a="1"))
    plan = plan_undo(team, run)

    with pytest.raises(NotPossibleError, match="1 approval missing"):
        runs.start_run(plan, by=team.bob, digest=plan.digest)
    with pytest.raises(NotAllowedError):
        runs.approve_and_run(plan, by=team.alice, digest=plan.digest)


def test_undo_is_for_authors_and_for_finished_runs_that_changed_something(team):
    run = team.start(team.plan(config_map(a="1")))
    assert revert.find_undo_blockers(run, for_user=team.alice) == ("the run is not finished",)
    team.work(run)

    assert revert.find_undo_blockers(run, for_user=team.alice) == ()
    assert revert.find_undo_blockers(run, for_user=team.bob) == ("only authors can do this",)
    with pytest.raises(NotAllowedError):
        revert.prepare_revert(run, by=team.bob)


def test_whether_a_run_can_be_reverted_reads_no_whole_changes(team, django_assert_max_num_queries):
    run = team.apply(config_map(a="1"))

    with django_assert_max_num_queries(2) as asked:
        assert revert.can_be_reverted(run)

    columns = ("document", "found_risks", "sealed")
    assert [name for one in asked.captured_queries for name in columns if f'"{name}"' in one["sql"]] == []


@pytest.mark.long
def test_undo_of_an_undo_is_what_was_undone(team):
    team.apply(config_map(a="1", b="1"))
    run = team.apply(config_map(a="2", c="2"))
    first = undo(team, run)

    undo(team, first)

    assert team.live()["data"] == {"a": "2", "c": "2"}
