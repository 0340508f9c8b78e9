"""An addon that kOps skips is planned by choice, with a risk, and the choice is part of what is approved."""

from __future__ import annotations

import pytest

from applyviz.engine.channels.sentences import list_duties
from applyviz.engine.objects.exchange import Request
from applyviz.engine.planning.digest.serialize import options_from_json
from applyviz.engine.risks.planning.addons import ADDON_SKIPPED
from applyviz.records.enums import AuditAction, PlanState, RunState
from applyviz.records.models import AuditEntry, Undo
from applyviz.sources.bundle import BundledFile, SourceBundle
from applyviz.workflow import policies
from applyviz.workflow.foundation.errors import NotValidError
from applyviz.workflow.plans import object_choices, planner, revert, reviews
from applyviz.workflow.plans.object_choices import AddonChoice
from applyviz.workflow.policies.rules import RiskDemand
from tests.builders import make_policy
from tests.channels import config, simple
from tests.stories import config_map
from tests.workflow.test_channels import CONFIGS, apply, choices, plan, record, rows

pytestmark = pytest.mark.django_db
LOWER = {"dns": {"version": "1.0.0"}}


@pytest.fixture
def lower(team):
    """A plan of a channel with an older dns than the one that is installed."""
    apply(team, simple("2", dns={"version": "2.0.0"}))
    return plan(team, simple("1", **LOWER, web={"kubernetesVersion": "<1.20.0"}))


def choose(made, name="dns", choice=AddonChoice.PLAN):
    options = object_choices.choose_addon(made, name, choice)
    return replan(made, options=options)


def replan(made, **more):
    following = reviews.replan_review(made.review, by=made.review.author, **more)
    planner.make_plan(following.pk)
    following.refresh_from_db()
    return following


def list_risks(made):
    found = ((row.name, *risk) for row in made.changes.all() for risk in row.risk_levels)
    return {name: level for name, kind, level in found if kind == ADDON_SKIPPED.slug}


def test_lower_version_is_planned_run_and_recorded_by_choice(team, lower):
    assert (choices(lower)["dns"], rows(lower)) == (("skip", "lower-version"), [])

    made = choose(lower)

    assert (made.state, made.problems) == (PlanState.COMPLETE, [])
    assert choices(made) == {"dns": ("update", "lower-version"), "web": ("skip", "other-kubernetes")}
    assert [row[:3] for row in rows(made)] == [("update", "ConfigMap", "dns"), ("update", "Namespace", "kube-system")]
    assert list_risks(made) == {"dns": "high", "kube-system": "high"}
    assert made.digest != lower.digest
    run = team.work(team.start(made))
    assert (run.state, run.error) == (RunState.APPLIED, "")
    assert team.live(f"{CONFIGS}/dns")["data"] == {"value": "1"}
    assert record(team, "dns")["version"] == "1.0.0"
    asked = AuditEntry.objects.filter(action=AuditAction.PLAN_REQUESTED).latest("sequence")
    assert asked.detail["options"]["addons_anyway"] == ["dns"]


@pytest.mark.long
def test_addon_for_another_kubernetes_is_installed_by_choice(team):
    made = choose(plan(team, simple(web={"kubernetesVersion": "<1.20.0"})), "web")

    assert choices(made)["web"] == ("install", "other-kubernetes")
    assert list_risks(made) == {"web": "high", "web-1": "high", "kube-system": "high"}


@pytest.mark.long
def test_choice_stays_in_the_next_plan_and_ends_when_it_is_taken_back_or_with_new_manifests(lower):
    made = choose(lower)

    assert choices(replan(made))["dns"] == ("update", "lower-version")
    assert choices(choose(made.review.latest_plan, choice=AddonChoice.SKIP))["dns"] == ("skip", "lower-version")
    again = choose(made.review.latest_plan)
    files = simple("1", **LOWER)
    new = SourceBundle(tuple(BundledFile(name, text.encode()) for name, text in files.items()))
    assert choices(replan(again, bundle=new))["dns"] == ("skip", "lower-version")


@pytest.mark.long
def test_policy_may_ask_for_more_approvals_of_an_addon_that_kops_skips(team, lower):
    make_policy(for_risks=(RiskDemand(ADDON_SKIPPED, 2),))

    made = choose(lower)

    needed = policies.find_demands(made, policies.find_policy(made))
    assert max(demand.approvals for demand in needed) == 2


@pytest.mark.long
@pytest.mark.parametrize(
    ("name", "choice"),
    [
        ("web", AddonChoice.PLAN),
        ("gone", AddonChoice.PLAN),
        ("dns", AddonChoice.SKIP),
        ("web", AddonChoice.MARK),
        ("web", AddonChoice.DO_NOT_MARK),
    ],
)
def test_only_addons_with_that_choice_can_be_chosen(team, name, choice):
    apply(team, simple())
    made = plan(team, simple("1", web={"id": "other"}))

    with pytest.raises(NotValidError, match="choose an addon of this plan"):
        object_choices.choose_addon(made, name, choice)


@pytest.mark.parametrize(
    ("files", "error"),
    [
        (simple(), "addon gone is to be planned anyway, but is not in this channel"),
        ({"a.yaml": config_map(a="1")}, "addons are chosen, but these manifests are no kOps channel"),
    ],
)
def test_name_that_nothing_lists_fails_the_plan(team, files, error):
    made = plan(team, files, addons_anyway=("gone",))

    assert (made.state, made.error) == (PlanState.FAILED, error)


def test_plan_of_other_manifests_has_no_addon_to_choose(team):
    made = team.plan(config("plain"))

    assert options_from_json(made.options).channel is None
    with pytest.raises(NotValidError):
        object_choices.choose_addon(made, "dns", AddonChoice.PLAN)


def add_nodes(team):
    for name, labels in (("n1", {"node-role.kubernetes.io/node": ""}), ("n2", {})):
        body = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": labels}}
        team.send(Request("POST", "/api/v1/nodes", {"fieldManager": "kubelet"}, body=body))


def marks(team):
    nodes = (team.live(f"/api/v1/nodes/{name}") for name in ("n1", "n2"))
    return ["kops.k8s.io/needs-update" in node["metadata"].get("annotations", {}) for node in nodes]


def test_nodes_are_marked_only_by_choice_before_the_record(team):
    apply(team, simple())
    add_nodes(team)
    files = simple("2", web={"needsRollingUpdate": "workers"})

    without = plan(team, files)
    made = choose(without, "web", AddonChoice.MARK)

    assert "Node" not in {row[1] for row in rows(without)}
    assert [row[:3] for row in rows(made)][-2:] == [("update", "Node", "n1"), ("update", "Namespace", "kube-system")]
    assert rows(made)[-2][3] < rows(made)[-1][3]
    assert choices(made)["web"] == ("update", "other-manifest")
    (web,) = [one for one in options_from_json(made.options).channel.addons if one.addon.name == "web"]
    assert list(list_duties(web)) == [
        "Needs a rolling update of the worker nodes: the plan marks n1 with the annotation kops.k8s.io/needs-update, "
        "as kOps does."
    ]
    run = team.work(team.start(made))
    assert (run.state, run.error, marks(team)) == (RunState.APPLIED, "", [True, False])
    assert rows(plan(team, files)) == []


@pytest.mark.long
def test_reverted_run_says_that_its_nodes_stay_marked(team):
    apply(team, simple())
    add_nodes(team)
    made = choose(plan(team, simple("2", web={"needsRollingUpdate": "all"})), "web", AddonChoice.MARK)
    run = team.work(team.start(made))

    review = revert.prepare_revert(run, by=team.alice)()

    notes = Undo.objects.get(review=review).notes
    assert [note for note in notes if note.startswith("node ")] == [
        "node n1 stays marked for a rolling update",
        "node n2 stays marked for a rolling update",
    ]


@pytest.mark.long
def test_choice_to_marking_addons_is_taken_back(team):
    apply(team, simple())
    add_nodes(team)
    made = choose(plan(team, simple("2", web={"needsRollingUpdate": "all"})), "web", AddonChoice.MARK)

    assert "Node" not in {row[1] for row in rows(choose(made, "web", AddonChoice.DO_NOT_MARK))}


@pytest.mark.long
def test_failed_addon_marks_no_node(team):
    apply(team, simple())
    add_nodes(team)
    made = choose(plan(team, simple("2", web={"needsRollingUpdate": "all"})), "web", AddonChoice.MARK)
    started = team.start(made)
    team.wire.fault = lambda request, number: "lose request" if request.ref.name == "web-2" else ""

    run = team.work(started)

    assert (run.state, marks(team)) == (RunState.FAILED, [False, False])


def test_nodes_that_cannot_be_read_are_not_marked_silently(team):
    apply(team, simple())
    add_nodes(team)
    team.wire.unreadable.add("/api/v1/nodes")

    made = plan(team, simple("2", web={"needsRollingUpdate": "all"}), marking_addons=("web",))

    assert made.error == "addon web is to mark nodes, and the nodes could not be read"
