"""Handing fields over from the page of an object: who may, which fields, and what the next plan does."""

import pytest
import yaml
from django.test import Client
from django.urls import reverse

from applyviz.engine.planning.digest.serialize import options_from_json
from applyviz.engine.requests.options import ApplyMode, Handover
from applyviz.records.models import Plan
from applyviz.web.components.object_links import link_alone
from applyviz.workflow.plans import changes, handovers, planner
from tests.builders import make_person

pytestmark = pytest.mark.django_db
KEY = ("apps", "Deployment", "default", "web")
REPLICAS = ("f:spec", "f:replicas")
WEB = yaml.safe_dump(
    {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "web"},
        "spec": {
            "replicas": 3,
            "selector": {"matchLabels": {"app": "web"}},
            "template": {
                "metadata": {"labels": {"app": "web"}},
                "spec": {"containers": [{"name": "web", "image": "nginx:1"}]},
            },
        },
    }
)
SCALER = yaml.safe_dump(
    {
        "apiVersion": "autoscaling/v2",
        "kind": "HorizontalPodAutoscaler",
        "metadata": {"name": "web"},
        "spec": {"maxReplicas": 9, "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}},
    }
)


def open_browser(person):
    browser = Client()
    browser.force_login(person)
    return browser


def position_of(plan, kind="Deployment"):
    return plan.changes.get(kind=kind).position


def address(plan, kind="Deployment"):
    return reverse("reviews:hand-over", args=[plan.review.number, plan.number, position_of(plan, kind)])


def read_object(browser, plan):
    url = link_alone(plan, position_of(plan))
    return browser.get(url).content.decode()


def number_of(plan, path=REPLICAS):
    change = changes.read_masked(plan.changes.get(kind="Deployment"))
    return str(handovers.list_fields(plan, change).index(path))


@pytest.mark.core(1)
@pytest.mark.parametrize("mode", ApplyMode)
def test_risk_leads_to_a_plan_that_keeps_replicas(team, mode):
    team.apply(WEB, SCALER, mode=mode)
    plan = team.plan(WEB, SCALER, mode=mode)
    browser = open_browser(team.alice)
    link = f"{address(plan)}?field=.spec.replicas"
    assert link in read_object(browser, plan)

    page = browser.get(link).content.decode()
    number = number_of(plan)
    assert f'value="{number}" id="id_fields_given_{number}" checked' in page
    answer = browser.post(link, {"fields_given": [number], "manager": "handover-to-hpa"})

    following = Plan.objects.get(review=plan.review, number=2)
    assert answer.headers["Location"] == reverse("reviews:show-plan", args=[plan.review.number, 2])
    assert options_from_json(following.options).handovers == (Handover(KEY, REPLICAS, "handover-to-hpa"),)
    planner.make_plan(following.pk)
    following = Plan.objects.get(pk=following.pk)
    shown = read_object(browser, following)
    assert ("Hand over replicas…" in shown, "-  replicas: 3" in shown) == (False, True)
    assert ("Last applied is shown as this plan writes it" in shown) == (mode is ApplyMode.CLIENT)
    run = team.work(team.start(following))
    live = team.live("/apis/apps/v1/namespaces/default/deployments/web")
    assert (run.state, run.error, live["spec"]["replicas"]) == ("applied", "", 3)


def test_fields_that_go_to_two_managers_keep_theirs(team):
    image = ("f:spec", "f:template", "f:spec", "f:containers", 'k:{"name":"web"}', "f:image")
    team.apply(WEB)
    given = (Handover(KEY, REPLICAS, "scaler"), Handover(KEY, image, "updater"))
    plan = team.plan(WEB, handovers=given)
    browser = open_browser(team.alice)
    ticked = [number_of(plan), number_of(plan, image)]

    page = browser.get(address(plan)).content.decode()
    assert ("(to updater)" in page.replace("<wbr>", ""), 'value="scaler"' in page) == (True, True)
    browser.post(address(plan), {"fields_given": ticked, "manager": "scaler"})
    following = Plan.objects.get(review=plan.review, number=2)
    assert options_from_json(following.options).handovers == given

    planner.make_plan(following.pk)
    following = Plan.objects.get(pk=following.pk)
    browser.post(address(following), {"fields_given": ticked, "manager": "other"})
    last = options_from_json(Plan.objects.get(review=plan.review, number=3).options)
    assert {(one.path, one.manager) for one in last.handovers} == {(REPLICAS, "other"), (image, "other")}


DROPPED = yaml.safe_dump({**yaml.safe_load(WEB), "spec": {**yaml.safe_load(WEB)["spec"], "replicas": None}})
DROPPED = DROPPED.replace("  replicas: null\n", "")
KUBECTL = {"mode": ApplyMode.CLIENT, "field_manager": "kubectl-client-side-apply"}
# How the object was applied, and how the plan applies the manifest that no longer sets the count.
WAYS = {
    "server-side": ({}, {}),
    "client-side": (KUBECTL, KUBECTL),
    "to server-side": (KUBECTL, {}),
    "to client-side": ({}, {**KUBECTL, "takes_from": ("applyviz",)}),
    "to client-side by kubectl": ({"field_manager": "kubectl"}, KUBECTL),
    "from another manager": (
        {"mode": ApplyMode.CLIENT, "field_manager": "helm"},
        {"takes_from": ("helm",)},
    ),
}


@pytest.mark.core(1)
@pytest.mark.parametrize("way", WAYS)
def test_dropped_count_of_a_sole_owner_is_offered_and_kept(team, way):
    before, then = WAYS[way]
    team.apply(WEB, **before)
    plan = team.plan(DROPPED, **then)
    browser = open_browser(team.alice)
    assert "Hand over replicas…" in read_object(browser, plan)

    link = f"{address(plan)}?field=.spec.replicas"
    page = browser.get(link).content.decode()
    number = number_of(plan)
    assert f'value="{number}" id="id_fields_given_{number}" checked' in page
    browser.post(link, {"fields_given": [number], "manager": "handover-to-hpa"})

    following = Plan.objects.get(review=plan.review, number=2)
    planner.make_plan(following.pk)
    run = team.work(team.start(Plan.objects.get(pk=following.pk)))
    live = team.live("/apis/apps/v1/namespaces/default/deployments/web")
    assert (run.state, run.error, live["spec"]["replicas"]) == ("applied", "", 3)


@pytest.mark.long
def test_form_keeps_what_was_given_up_and_can_take_it_back(team):
    team.apply(WEB)
    plan = team.plan(WEB)
    browser = open_browser(team.alice)
    browser.post(address(plan), {"fields_given": [number_of(plan)], "manager": "other"})
    second = Plan.objects.get(review=plan.review, number=2)
    planner.make_plan(second.pk)

    page = browser.get(address(second)).content.decode()
    browser.post(address(second), {"manager": "other"})

    assert 'value="0" id="id_fields_given_0" checked' in page
    assert 'value="other"' in page
    assert options_from_json(Plan.objects.get(review=plan.review, number=3).options).handovers == ()


def test_only_an_author_of_the_latest_plan_may(team):
    team.apply(WEB)
    plan = team.plan(WEB)
    authors, approvers, stranger = (open_browser(p) for p in (team.alice, team.bob, make_person("eve")))

    assert [b.get(address(plan)).status_code for b in (authors, approvers)] == [200, 403]
    assert stranger.get(address(plan)).status_code in (403, 404)
    assert "hand-over" not in read_object(approvers, plan)


@pytest.mark.core(1)
@pytest.mark.parametrize(
    ("given", "status"),
    [({"fields_given": ["99"], "manager": "x"}, 422), ({"fields_given": ["0"], "manager": "a b"}, 422)],
)
def test_form_refuses_what_it_did_not_offer(team, given, status):
    team.apply(WEB)
    plan = team.plan(WEB)

    assert open_browser(team.alice).post(address(plan), given).status_code == status
    assert Plan.objects.filter(review=plan.review).count() == 1


def test_new_object_has_nothing_to_keep(team):
    plan = team.plan(WEB)
    browser = open_browser(team.alice)

    assert "does not exist yet" in browser.get(address(plan)).content.decode()
    assert browser.post(address(plan), {"fields_given": ["0"], "manager": "x"}).status_code == 409


def test_manager_of_the_plan_cannot_hand_over_to_itself(team):
    team.apply(WEB)
    plan = team.plan(WEB)

    answer = open_browser(team.alice).post(address(plan), {"fields_given": ["0"], "manager": "applyviz"})

    assert answer.status_code in (409, 422)
