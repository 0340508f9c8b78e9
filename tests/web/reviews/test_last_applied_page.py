"""Viewing and editing last-applied on the page of an object, and records in the form of a new review."""

import pytest
from django.test import Client
from django.urls import reverse

from applyviz.engine.planning.digest.serialize import options_from_json
from applyviz.engine.requests.options import ApplyMode, ClearPatch, SetAction
from applyviz.records.models import Plan, Review
from applyviz.web.components.object_links import link_alone
from applyviz.web.reviews.pane.object_content import ObjectView
from applyviz.workflow.plans import planner
from tests.stories import SETTINGS, config_map, secret

pytestmark = pytest.mark.django_db
ANNOTATION = "kubectl.kubernetes.io/last-applied-configuration"
CLIENT = {"mode": ApplyMode.CLIENT, "field_manager": "kubectl-client-side-apply"}


def open_browser(person):
    browser = Client()
    browser.force_login(person)
    return browser


def address(plan, position=0):
    return reverse("reviews:edit-last-applied", args=[plan.review.number, plan.number, position])


def test_annotation_is_shown_and_an_edit_opens_a_review_that_sets_it(team):
    team.apply(config_map(a="1", b="1"), **CLIENT)
    plan = team.plan(config_map(a="1", b="1"), **CLIENT)
    browser = open_browser(team.alice)
    shown = browser.get(link_alone(plan, 0))
    assert address(plan) in shown.content.decode()

    page = browser.get(address(plan)).content.decode()
    assert ("b: &#x27;1&#x27;" in page, "Create review" in page) == (True, True)
    answer = browser.post(address(plan), {"text": config_map(a="1")})

    review = Review.objects.order_by("pk").last()
    assert answer.headers["Location"] == reverse("reviews:show-review", args=[review.number])
    assert review.title == "Edit last-applied of ConfigMap/settings"
    made = review.plans.get()
    planner.make_plan(made.pk)
    made.refresh_from_db()
    assert options_from_json(made.options).action is SetAction.SET_LAST_APPLIED
    header = browser.get(reverse("reviews:show-plan", args=[review.number, 1])).content.decode()
    assert "set last-applied" in header
    assert "The last-applied annotation of 1 object is set, which changes no other values" in header
    for view in ObjectView:
        shown = browser.get(link_alone(made, 0, view.value))
        assert (shown.status_code, "Hand over fields" in shown.content.decode()) == (200, False)
    run = team.work(team.start(made))
    assert (run.state, '"b"' in team.live()["metadata"]["annotations"][ANNOTATION]) == ("applied", False)


@pytest.mark.core(1)
@pytest.mark.parametrize("action", [SetAction.SET_LAST_APPLIED, SetAction.CLEAR_OWNERSHIP])
def test_record_is_not_compared_with_an_apply_that_kubectl_would_send(team, action):
    team.apply(config_map(a="old"), **CLIENT)
    plan = team.plan(config_map(a="new"), action=action)

    page = open_browser(team.alice).get(link_alone(plan, 0, ObjectView.REQUESTS.value)).content.decode()

    assert "/api/v1/namespaces/default/configmaps/settings" in page
    assert [text for text in ("Compared with kubectl", "different body", "As kubectl") if text in page] == []


def test_value_that_changes_in_last_applied_alone_is_shown(team):
    team.apply(config_map(a="old"), **CLIENT)
    plan = team.plan(config_map(a="new"), action=SetAction.SET_LAST_APPLIED)
    browser = open_browser(team.alice)

    pages = [
        browser.get(address).content.decode()
        for address in (link_alone(plan, 0), reverse("reviews:show-changes", args=[plan.review.number, 1]))
    ]

    for page in pages:
        assert "Only field ownership changes" not in page
        assert "last-applied-configuration" in page
        assert all(word in page for word in ("old", "new"))


def test_long_value_that_goes_is_called_removed(team):
    """`-2 lines` reads as if something of it stays."""
    team.apply(config_map(a="1", note="x" * 300 + "\n"), **CLIENT)
    plan = team.plan(config_map(a="1"), **CLIENT)

    page = open_browser(team.alice).get(reverse("reviews:show-changes", args=[plan.review.number, 1]))

    assert "removed: 1 line<" in page.content.decode()


@pytest.mark.core(1)
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (config_map("other", a="1"), "write exactly one object"),
        (config_map(a="1") + "---\n" + config_map(a="1"), "write exactly one object"),
        ("a: [", "pasted.yaml"),
        ("", "required"),
    ],
)
def test_text_that_is_not_the_object_is_refused(team, text, expected):
    team.apply(config_map(a="1"), **CLIENT)
    plan = team.plan(config_map(a="1"), **CLIENT)

    answer = open_browser(team.alice).post(address(plan), {"text": text})

    assert (answer.status_code, expected in answer.content.decode()) == (422, True)
    assert Review.objects.count() == 2


@pytest.mark.core(1)
@pytest.mark.parametrize("annotation", [None, "{broken"])
def test_manifest_is_proposed_where_there_is_no_annotation(team, annotation):
    team.apply(config_map(a="1"))
    if annotation:
        team.edit(SETTINGS, {"metadata": {"annotations": {ANNOTATION: annotation}}})
    plan = team.plan(config_map(a="1"))

    page = open_browser(team.alice).get(address(plan)).content.decode()

    assert "This is the manifest of the plan." in page
    assert "a: &#x27;1&#x27;" in page


def test_nothing_is_shown_of_a_secret_or_of_an_object_that_is_not_there(team):
    team.apply(secret(password="canary"), **CLIENT)
    plan = team.plan(secret(password="canary"), config_map("new", a="1"), **CLIENT)
    browser = open_browser(team.alice)
    positions = {row.kind: row.position for row in plan.changes.all()}

    of_secret = browser.get(address(plan, positions["Secret"])).content.decode()
    of_absent = browser.get(address(plan, positions["ConfigMap"])).content.decode()

    assert ("repeats its values" in of_secret, "canary" in of_secret, "textarea" in of_secret) == (True, False, False)
    assert "does not exist yet" in of_absent
    assert browser.post(address(plan, positions["Secret"]), {"text": secret(password="x")}).status_code == 422
    assert Review.objects.count() == 2
    assert open_browser(team.bob).get(address(plan)).status_code == 403


@pytest.mark.core(1)
@pytest.mark.parametrize("operation", ["set-last-applied", "clear-managed-fields"])
def test_operation_is_chosen_in_the_form_of_a_new_review(team, operation):
    team.apply(config_map(a="1"))
    browser = open_browser(team.alice)
    assert f'value="{operation}"' in browser.get(reverse("reviews:add-review")).content.decode()
    given = {
        "title": "Records",
        "cluster": "box",
        "namespace": "default",
        "text": config_map(a="1"),
        "mode": "server",
        "field_manager": "applyviz",
        "operation": operation,
        "clear_patch": "json",
    }

    answer = browser.post(reverse("reviews:add-review"), given)

    assert answer.status_code == 302, answer.content.decode()
    options = options_from_json(Plan.objects.order_by("pk").last().options)
    is_clearing = operation == "clear-managed-fields"
    assert (options.action.value, options.clear_patch is ClearPatch.JSON) == (operation, is_clearing)
