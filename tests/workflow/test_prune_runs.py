"""Runs that prune: the parent of an ApplySet is written around its members, and changed choices are risks."""

import pytest
import yaml

from applyviz.engine.objects.exchange import Request
from applyviz.engine.requests.options import ApplyMode, Prune, PruneMode
from applyviz.engine.risks.pruning import PRUNE_CHANGED
from applyviz.records.enums import RunState
from applyviz.records.models import ApplyRun, Undo
from applyviz.workflow.plans import changes, planner, revert
from tests.stories import SETTINGS, config_map

pytestmark = pytest.mark.django_db
PARENT = "/api/v1/namespaces/default/secrets/parent"
SET = {"prune": Prune(PruneMode.APPLYSET, applyset="parent")}
ACCOUNT = yaml.safe_dump({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "robot"}})


def kinds_of(team):
    return team.live(PARENT)["metadata"]["annotations"]["applyset.kubernetes.io/contains-group-kinds"]


def operations(plan):
    return list(plan.changes.order_by("position").values_list("operation", "name"))


def risks_of(plan, kind=PRUNE_CHANGED):
    found = map(changes.read_masked, plan.changes.order_by("position"))
    return [dict(risk.facts) for change in found for risk in change.risks if risk.kind is kind]


def test_parent_is_written_before_the_members_and_after_them(team):
    team.apply(config_map(a="1"), **SET)

    run = team.apply(ACCOUNT, **SET)

    assert (run.state, run.error) == (RunState.APPLIED, "")
    assert team.outcomes(run) == ["applied", "applied", "deleted", "applied"]
    assert (kinds_of(team), team.live()) == ("ServiceAccount", None)
    assert [request.ref.name for request in team.wire.effective[-4:]] == ["parent", "robot", "settings", "parent"]


@pytest.mark.long
def test_member_that_a_controller_touches_meanwhile_keeps_its_label(team):
    team.apply(config_map(a="1"), **SET)
    touched = []

    def touch(request, number):
        if request.ref.name == "parent" and not touched:
            touched.append(number)
            team.edit(SETTINGS, {"metadata": {"annotations": {"controller/seen": "1"}}}, manager="some-controller")
        return ""

    team.wire.fault = touch
    run = team.apply(config_map(a="2"), ACCOUNT, **SET)

    assert (run.state, run.error, len(touched)) == (RunState.APPLIED, "", 1)
    assert team.live()["metadata"]["labels"] == {
        "applyset.kubernetes.io/part-of": team.live(PARENT)["metadata"]["labels"]["applyset.kubernetes.io/id"]
    }


@pytest.mark.long
def test_parent_that_moved_meanwhile_is_written_again_from_what_it_is(team):
    team.apply(config_map(a="1"), **SET)
    touched = []

    def touch(request, number):
        if request.method == "DELETE" and not touched:
            touched.append(number)
            team.edit(PARENT, {"metadata": {"annotations": {"controller/seen": "1"}}}, manager="some-controller")
        return ""

    team.wire.fault = touch
    run = team.apply(ACCOUNT, **SET)

    assert (run.state, run.error, kinds_of(team)) == (RunState.APPLIED, "", "ServiceAccount")


def test_parent_keeps_the_larger_set_when_a_member_fails(team):
    team.apply(config_map(a="1"), **SET)
    started = team.start(team.plan(ACCOUNT, **SET))
    ApplyRun.objects.filter(pk=started.pk).update(rules={**started.rules, "carries_on": True})
    started = ApplyRun.objects.get(pk=started.pk)

    def lose(request, number):
        return "refuse connection" if request.ref.name == "robot" else ""

    team.wire.fault = lose
    run = team.work(started)

    assert (run.state, team.outcomes(run)) == (RunState.FAILED, ["applied", "failed", "left-out", "left-out"])
    assert kinds_of(team) == "ConfigMap,ServiceAccount"
    assert team.live() is not None


@pytest.mark.long
def test_revert_brings_the_pruned_member_back_and_leaves_the_parent(team):
    team.apply(config_map(a="1"), **SET)
    run = team.apply(ACCOUNT, **SET)

    review = revert.prepare_revert(run, by=team.alice)()
    planner.make_plan(review.plans.get().pk)
    done = team.work(team.start(review.plans.get()))

    assert (done.state, done.error) == (RunState.APPLIED, "")
    assert team.live()["data"] == {"a": "1"}
    assert "applyset.kubernetes.io/part-of" in team.live()["metadata"]["labels"]
    assert kinds_of(team) == "ServiceAccount"
    assert [note for note in Undo.objects.get().notes if "Secret default/parent" in note] == [
        "Secret default/parent keeps its record of the ApplySet: apply the set again to correct it"
    ]


ALL = Prune(PruneMode.ALLOWLIST, ("core/v1/ConfigMap",), is_all=True)
SELECTED = {"selector": "app in (a, b)", "prune": Prune(PruneMode.ALLOWLIST, ("core/v1/ConfigMap",))}
CLIENT = {"mode": ApplyMode.CLIENT}


def labelled(name, app="a"):
    metadata = {"name": name, "labels": {"app": app}}
    return yaml.safe_dump({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {"x": "1"}})


def test_changed_selector_is_a_risk_of_the_first_deletion(team):
    team.apply(labelled("kept"), labelled("dropped"), labelled("too"), **CLIENT, **SELECTED)

    plan = team.plan(labelled("kept"), **CLIENT, prune=ALL)

    assert operations(plan)[1:] == [("prune", "dropped"), ("prune", "too")]
    assert risks_of(plan) == [{"choice": "The selector", "before": "app in (a, b)", "now": "empty (--all)", "run": "1"}]


@pytest.mark.long
def test_same_choices_are_no_risk(team):
    team.apply(labelled("kept"), labelled("dropped"), **CLIENT, **SELECTED)

    plan = team.plan(labelled("kept"), **CLIENT, **SELECTED)

    assert (len(operations(plan)), risks_of(plan)) == (2, [])


@pytest.mark.long
def test_choices_of_another_set_do_not_count(team):
    team.apply(labelled("theirs", "b"), **CLIENT, selector="app=b", prune=SELECTED["prune"])
    team.apply(labelled("dropped"), **CLIENT)

    plan = team.plan(labelled("kept"), **CLIENT, selector="app=a", prune=SELECTED["prune"])

    assert (operations(plan)[1:], risks_of(plan)) == ([("prune", "dropped")], [])


def plan_files(team, files, **options):
    review = team.review(files, **options)
    planner.make_plan(review.plans.get().pk)
    return review.plans.get()


@pytest.mark.long
def test_set_from_a_folder_inside_the_earlier_one_is_a_risk(team):
    files = {"web/a.yaml": labelled("kept"), "web/b.yaml": labelled("also"), "db/a.yaml": labelled("dropped")}
    team.work(team.start(plan_files(team, files, **CLIENT, prune=ALL)))

    plan = plan_files(team, {"a.yaml": labelled("kept"), "b.yaml": labelled("also")}, **CLIENT, prune=ALL)

    assert risks_of(plan) == [{"folder": "web", "run": "1"}]


def test_source_that_the_selector_empties_prunes_nothing_and_cannot_be_approved(team):
    team.apply(labelled("a"), **CLIENT, **SELECTED)

    plan = team.plan(labelled("a"), **CLIENT, selector="app=none", prune=SELECTED["prune"])

    assert operations(plan) == []
    assert [problem["reason"] for problem in plan.problems] == ["no objects passed to apply: nothing is pruned"]


@pytest.mark.long
def test_deleted_object_outside_review_is_no_longer_pruned(team):
    team.apply(labelled("kept"), labelled("dropped"), **CLIENT, **SELECTED)
    plan = team.plan(labelled("kept"), **CLIENT, **SELECTED)
    started = team.start(plan)
    team.send(Request("DELETE", "/api/v1/namespaces/default/configmaps/dropped"))

    run = team.work(started)

    assert run.state == RunState.STALE
