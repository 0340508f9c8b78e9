"""Which earlier run a plan that prunes is compared with: the last one of the same set, whether it pruned or not."""

from __future__ import annotations

import pytest
import yaml
from django.contrib.auth.models import User

from applyviz.engine.requests.options import ApplyMode, Prune, PruneMode, SetAction
from applyviz.engine.risks.pruning import PRUNE_CHANGED
from applyviz.records.enums import Role
from applyviz.workflow.plans import changes, planner, prune_history, revert
from tests.builders import grant_role

pytestmark = pytest.mark.django_db
CLIENT = {"mode": ApplyMode.CLIENT}
MAPS = {**CLIENT, "prune": Prune(PruneMode.ALLOWLIST, ("core/v1/ConfigMap",))}
ALL = {**CLIENT, "prune": Prune(PruneMode.ALLOWLIST, ("core/v1/ConfigMap",), is_all=True)}
SPACE = "apiVersion: v1\nkind: Namespace\nmetadata: {name: shop, labels: {app: a, also: b}}\n"
NO_PRUNE = {"choice": "The prune method", "before": "none", "now": "allowlist", "run": "1"}


def labelled(name, x="1", **labels):
    metadata = {"name": name, "labels": labels or {"app": "a"}}
    return yaml.safe_dump({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {"x": x}})


def plan(team, *names, x="1", **options):
    files = {name: labelled(name.rpartition("/")[2].removesuffix(".yaml"), x=x) for name in names}
    review = team.review(files, **options)
    planner.make_plan(review.plans.get().pk)
    return review.plans.get()


def apply(team, *names, **options):
    return team.work(team.start(plan(team, *names, **options)))


def changed(found):
    rows = map(changes.read_masked, found.changes.order_by("position"))
    return [dict(risk.facts) for row in rows for risk in row.risks if risk.kind is PRUNE_CHANGED]


def test_first_prune_of_a_set_and_of_one_of_its_folders_are_risks(team):
    apply(team, "web/kept.yaml", "web/also.yaml", "db/dropped.yaml", **CLIENT)

    assert changed(plan(team, "kept.yaml", "also.yaml", **ALL)) == [NO_PRUNE, {"folder": "web", "run": "1"}]
    assert changed(plan(team, "web/kept.yaml", "web/also.yaml", **ALL)) == [
        NO_PRUNE,
        {"folder": "web", "run": "1", "outside": "yes"},
    ]
    assert changed(plan(team, "web/kept.yaml", "web/also.yaml", "db/other.yaml", **ALL)) == [NO_PRUNE]


def test_choices_are_those_of_the_last_prune_and_files_those_of_the_last_run(team):
    apply(team, "web/kept.yaml", "web/also.yaml", **ALL)
    apply(team, "web/kept.yaml", "web/also.yaml", "db/dropped.yaml", **CLIENT)

    assert changed(plan(team, "kept.yaml", "also.yaml", **ALL)) == [{"folder": "web", "run": "2"}]
    assert changed(plan(team, "kept.yaml", "also.yaml", selector="app=a", **MAPS)) == [
        {"choice": "The selector", "before": "empty (--all)", "now": "app=a", "run": "1"},
        {"folder": "web", "run": "2"},
    ]


def test_run_of_another_set_in_the_same_namespace_does_not_count(team):
    team.apply(SPACE, labelled("a1"), labelled("a2"), labelled("a3"), selector="app=a", **MAPS)
    team.apply(SPACE, labelled("b1", also="b"), selector="also=b", **MAPS)

    pruning = team.plan(SPACE, labelled("a1"), labelled("a2"), selector="app=a", **MAPS)

    assert list(pruning.changes.filter(operation="prune").values_list("name", flat=True)) == ["a3"]
    assert changed(pruning) == []


def test_run_of_one_object_is_no_run_of_the_whole_set(team):
    apply(team, "web/a.yaml", "web/b.yaml", "web/c.yaml", "db/dropped.yaml", **ALL)
    apply(team, "hot-fix/a.yaml", x="2", **CLIENT)

    assert changed(plan(team, "a.yaml", "b.yaml", "c.yaml", **ALL)) == [{"folder": "web", "run": "1"}]


def test_revert_is_no_run_of_the_set(team):
    apply(team, "web/a.yaml", "web/b.yaml", "db/dropped.yaml", **ALL)
    run = apply(team, "web/a.yaml", "web/b.yaml", "db/dropped.yaml", x="2", **ALL)
    review = revert.prepare_revert(run, by=team.alice)()
    planner.make_plan(review.plans.get().pk)
    team.work(team.start(review.plans.get()))

    assert changed(plan(team, "a.yaml", "b.yaml", **ALL)) == [{"folder": "web", "run": "2"}]


@pytest.mark.core(1)
@pytest.mark.parametrize("action", [SetAction.DELETE, SetAction.SET_LAST_APPLIED])
def test_other_operations_are_no_runs_of_the_set(team, action):
    apply(team, "web/a.yaml", "web/b.yaml", "db/dropped.yaml", **ALL)
    team.apply(labelled("a"), action=action)

    assert changed(plan(team, "a.yaml", "b.yaml", **ALL)) == [{"folder": "web", "run": "1"}]


def test_runs_of_many_other_sets_do_not_hide_the_last_one(team, monkeypatch):
    monkeypatch.setattr(prune_history, "_MOST_RUNS", 2)
    team.apply(labelled("a1"), labelled("dropped"), selector="app in (a)", **MAPS)
    for name in ("b", "c"):
        team.apply(labelled(name, app=name), selector=f"app={name}", **MAPS)

    assert changed(team.plan(labelled("a1"), selector="app=a", **MAPS)) == [
        {"choice": "The selector", "before": "app in (a)", "now": "app=a", "run": "1"}
    ]


def placed(name, namespace, **labels):
    return labelled(name, **labels).replace("metadata:\n", f"metadata:\n  namespace: {namespace}\n", 1)


def test_same_names_in_another_namespace_are_another_set(team, monkeypatch):
    monkeypatch.setattr(prune_history, "_MOST_RUNS", 1)
    team.apply(*(f"apiVersion: v1\nkind: Namespace\nmetadata: {{name: {name}}}\n" for name in ("one", "two")))
    team.apply(placed("a", "one"), placed("dropped", "one"), selector="app=a", namespace="one", **MAPS)
    team.apply(placed("a", "two"), placed("dropped", "two"), selector="app in (a)", namespace="two", **MAPS)

    assert changed(team.plan(placed("a", "one"), selector="app=a", namespace="one", **MAPS)) == []


def test_set_that_moves_to_another_namespace_is_compared_with_its_last_run(team):
    team.apply("apiVersion: v1\nkind: Namespace\nmetadata: {name: one}\n")
    team.apply(placed("a", "one"), selector="app in (a)", **MAPS)
    team.apply(labelled("dropped"), **CLIENT)

    assert changed(team.plan(labelled("a"), selector="app=a", **MAPS)) == [
        {"choice": "The selector", "before": "app in (a)", "now": "app=a", "run": "2"}
    ]


def test_run_that_the_requester_may_not_view_is_not_compared(team):
    team.apply(*(f"apiVersion: v1\nkind: Namespace\nmetadata: {{name: {name}}}\n" for name in ("one", "two")))
    team.apply(placed("a", "one"), selector="app in (a)", namespace="one", **MAPS)
    team.apply(placed("dropped", "two"), **CLIENT)
    team.alice = User.objects.create_user("erin")
    grant_role(team.alice, Role.AUTHOR, namespace="two")

    pruning = team.plan(placed("a", "two"), selector="app=a", namespace="two", **MAPS)

    assert list(pruning.changes.filter(operation="prune").values_list("name", flat=True)) == ["dropped"]
    assert changed(pruning) == []
