"""The pages that move field ownership: managers by tick, live fields by tick, and who may choose."""

import pytest
import yaml
from django.test import Client
from django.urls import reverse

from applyviz.engine.planning.digest.serialize import options_from_json
from applyviz.engine.requests.options import ApplyMode, TakenField, TakenManager
from applyviz.records.models import Plan
from applyviz.web.components.object_links import link_alone
from applyviz.workflow.plans import planner
from tests.builders import make_person
from tests.stories import SECRETS_OF_A_VAULT, SETTINGS, config_map, secret, vault_secret
from tests.web.reviews.test_hand_over import WEB

pytestmark = pytest.mark.django_db
KEY = ("", "ConfigMap", "default", "settings")
CLIENT = {"mode": ApplyMode.CLIENT, "field_manager": "kubectl-client-side-apply"}


def open_browser(person):
    browser = Client()
    browser.force_login(person)
    return browser


def move_url(plan):
    return reverse("reviews:move-ownership", args=[plan.review.number, plan.number])


def take_url(plan, position=0):
    return reverse("reviews:take-fields", args=[plan.review.number, plan.number, position])


def made_plan(review, number):
    plan = Plan.objects.get(review=review, number=number)
    planner.make_plan(plan.pk)
    return Plan.objects.get(pk=plan.pk)


def owners_of(live):
    return {(e["manager"], e["operation"]) for e in live["metadata"]["managedFields"]}


def test_managers_are_ticked_and_the_next_plan_moves_their_fields(team):
    team.apply(config_map(a="1", b="1", c="1"), **CLIENT)
    team.edit(SETTINGS, {"data": {"b": "2"}}, manager="helm")
    team.edit(SETTINGS, {"data": {"c": "2"}}, manager="kubectl-edit")
    text = config_map(a="1", b="3", c="3")
    plan = team.plan(text)
    assert plan.changes.get().operation == "blocked"
    browser = open_browser(team.alice)
    tab = browser.get(reverse("reviews:show-owners", args=[plan.review.number, plan.number])).content.decode()
    assert move_url(plan) in tab

    page = browser.get(move_url(plan)).content.decode()
    assert all(f'name="managers" value="{name}"' in page for name in ("helm", "kubectl-edit"))
    answer = browser.post(move_url(plan), {"moves_own": "on", "managers": ["helm", "kubectl-edit"]})

    following = made_plan(plan.review, 2)
    assert answer.headers["Location"] == reverse("reviews:show-plan", args=[plan.review.number, 2])
    options = options_from_json(following.options)
    assert (options.takes_from, options.takes_client_side) == (("helm", "kubectl-edit"), True)
    again = browser.get(move_url(following)).content.decode()
    assert 'value="helm" checked' in again
    run = team.work(team.start(following))
    live = team.live()
    assert (run.state, live["data"], owners_of(live)) == (
        "applied",
        {"a": "1", "b": "3", "c": "3"},
        {("applyviz", "Apply")},
    )


def test_manager_of_one_object_stays_ticked_and_is_kept_until_it_is_unticked(team):
    texts = (config_map(a="1"), config_map("other", a="1"))
    team.apply(*texts)
    for path in (SETTINGS, SETTINGS.replace("settings", "other")):
        team.edit(path, {"data": {"b": "2"}}, manager="helm")
    plan = team.plan(*texts, taken_managers=(TakenManager(KEY, "helm"), TakenManager(KEY, "kubectl-edit")))
    browser = open_browser(team.alice)

    page = browser.get(move_url(plan)).content.decode()
    assert ('name="managers" value="helm">' in page, page.count("only in ConfigMap/settings")) == (True, 2)
    assert [f'name="singles" value="{number}" checked' in page for number in (0, 1, 2)] == [True, True, False]
    browser.post(move_url(plan), {"moves_own": "on", "singles": ["0"]})

    kept = made_plan(plan.review, 2)
    options = options_from_json(kept.options)
    assert (options.takes_from, options.taken_managers) == ((), (TakenManager(KEY, "helm"),))
    assert browser.post(move_url(kept), {"singles": ["1"]}).status_code == 422
    browser.post(move_url(kept), {"moves_own": "on", "managers": ["helm"], "singles": ["0"]})

    everywhere = made_plan(plan.review, 3)
    options = options_from_json(everywhere.options)
    assert (options.takes_from, options.taken_managers) == (("helm",), ())
    assert "singles" not in browser.get(move_url(everywhere)).content.decode()


def test_way_back_names_what_moves_and_what_stays(team):
    team.apply(config_map(a="1"))
    team.apply_as("other", config_map(b="1"))
    team.edit(SETTINGS, {"data": {"c": "1"}}, manager="helm")
    plan = team.plan(config_map(a="1", b="1"), **CLIENT)
    browser = open_browser(team.alice)

    page = browser.get(move_url(plan)).content.decode()
    staying = page.partition("Unchanged")[2]
    assert 'name="managers" value="applyviz"' in page
    assert 'name="managers" value="other"' in page
    assert "helm" in staying
    browser.post(move_url(plan), {"moves_own": "on", "managers": ["applyviz", "other"]})

    run = team.work(team.start(made_plan(plan.review, 2)))
    live = team.live()
    assert (run.state, owners_of(live)) == ("applied", {("kubectl-client-side-apply", "Update"), ("helm", "Update")})
    assert "kubectl.kubernetes.io/last-applied-configuration" in live["metadata"]["annotations"]


def test_managers_that_are_not_offered_are_refused(team):
    team.apply(config_map(a="1"))
    plan = team.plan(config_map(a="1"))

    assert "No other field manager" in open_browser(team.alice).get(move_url(plan)).content.decode()
    assert open_browser(team.alice).post(move_url(plan), {"managers": ["helm"]}).status_code == 422
    assert Plan.objects.filter(review=plan.review).count() == 1


@pytest.mark.core(1)
@pytest.mark.parametrize("url_of", [move_url, take_url])
def test_only_an_author_may_and_only_for_the_latest_plan(team, url_of):
    team.apply(config_map(a="1"))
    team.edit(SETTINGS, {"data": {"a": "2"}})
    plan = team.plan(config_map(a="1"))
    author, approver = open_browser(team.alice), open_browser(team.bob)
    assert [one.get(url_of(plan)).status_code for one in (author, approver)] == [200, 403]
    assert open_browser(make_person("eve")).get(url_of(plan)).status_code in (403, 404)
    shown = link_alone(plan, 0)
    assert ("Take live fields" in author.get(shown).content.decode()) is True
    assert ("Take live fields" in approver.get(shown).content.decode()) is False

    author.post(url_of(plan), {"fields_given": ["0"]})

    assert author.post(url_of(plan), {"fields_given": ["0"]}).status_code == 409


@pytest.mark.core(1)
@pytest.mark.parametrize("mode", ApplyMode)
def test_hand_edits_are_taken_into_the_manifest_with_the_edit_of_the_file(team, mode):
    how = CLIENT if mode is ApplyMode.CLIENT else {}
    team.apply(config_map(a="1", b="1"), **how)
    team.edit(SETTINGS, {"data": {"a": "by hand", "new": "x"}})
    plan = team.plan(config_map(a="1", b="1"), **how)
    browser = open_browser(team.alice)

    page = browser.get(take_url(plan)).content.decode()
    assert page.count('name="fields_given"') == page.count(" checked>") == 2
    assert ("by hand" in page, "not in the manifest" in page, "kubectl-edit" in page) == (True, True, True)
    answer = browser.post(take_url(plan), {"fields_given": ["0", "1"]})

    following = made_plan(plan.review, 2)
    assert answer.status_code == 302
    manager = "" if mode is ApplyMode.CLIENT else "kubectl-edit"
    assert set(options_from_json(following.options).taken_fields) == {
        TakenField(KEY, ("f:data", name), manager, is_live=True) for name in ("f:a", "f:new")
    }
    shown = browser.get(link_alone(following, 0)).content.decode()
    assert ("a: &#x27;by hand&#x27;" in shown, "new: x" in shown) == (True, True)
    patch = browser.get(reverse("reviews:show-patch", args=[plan.review.number, 2, 0, "all", 0, 0])).content.decode()
    assert "-  a: &#x27;1&#x27;" in patch or "-  a: '1'" in patch
    edited_url = reverse("reviews:show-edited", args=[plan.review.number, 2, 0, "all", 0])
    assert ("Download edited file" in shown, edited_url in shown) == (True, True)
    edited = browser.get(edited_url)
    wanted = yaml.safe_load(config_map(a="by hand", b="1", new="x"))
    assert yaml.safe_load(edited.content) == wanted
    assert edited.headers["Content-Disposition"].startswith("attachment; filename=")
    assert browser.get(edited_url.replace("/all/", "/answers/")).status_code == 404
    assert browser.get(take_url(following)).content.decode().count(" checked>") == 2
    run = team.work(team.start(following))
    assert (run.state, run.error, team.live()["data"]) == ("applied", "", {"a": "by hand", "b": "1", "new": "x"})
    done = team.plan(config_map(a="by hand", b="1", new="x"), **how)
    assert done.changes.get().operation == "unchanged"


def test_managers_that_were_named_for_a_taken_field_stay_so_when_another_is_ticked(team):
    team.apply(config_map(a="1", b="1"))
    for name in ("kubectl-edit", "helm"):
        team.edit(SETTINGS, {"data": {"a": "2", "c": name}}, manager=name)
    named = TakenField(KEY, ("f:data", "f:a"), "helm", is_live=True)
    reverted = TakenField(KEY, ("f:data", "f:b"), "handover-to-hpa")
    plan = team.plan(config_map(a="1", b="1"), taken_fields=(named, reverted))
    browser = open_browser(team.alice)

    assert browser.get(take_url(plan)).content.decode().count('name="fields_given"') == 2
    browser.post(take_url(plan), {"fields_given": ["0", "1"]})

    following = Plan.objects.get(review=plan.review, number=2)
    new = TakenField(KEY, ("f:data", "f:c"), "helm", is_live=True)
    assert set(options_from_json(following.options).taken_fields) == {named, reverted, new}


def test_nothing_is_taken_from_a_live_secret_or_where_there_is_nothing(team):
    team.apply(secret(password="x"), config_map(a="1"))
    team.edit("/api/v1/namespaces/default/secrets/login", {"stringData": {"password": "canary", "b": "canary"}})
    plan = team.plan(secret(password="x"), config_map(a="1"), takes_over=True)
    new = team.plan(config_map("other", a="1"))
    browser = open_browser(team.alice)
    positions = {row.kind: row.position for row in plan.changes.all()}

    pages = [
        browser.get(take_url(plan, positions["Secret"])).content.decode(),
        browser.get(take_url(plan, positions["ConfigMap"])).content.decode(),
        browser.get(take_url(new)).content.decode(),
    ]

    reasons = ("are not taken from the cluster", "No other manager set a field", "does not exist yet")
    assert [reason in page for reason, page in zip(reasons, pages, strict=True)] == [True] * 3
    assert "canary" not in "".join(pages)
    assert browser.post(take_url(plan, positions["Secret"]), {"fields_given": ["0"]}).status_code == 422


def test_a_kind_of_another_group_that_is_named_secret_is_treated_as_one(team):
    team.apply(SECRETS_OF_A_VAULT)
    team.apply(vault_secret(password="x"))
    path = "/apis/vault.example.com/v1/namespaces/default/secrets/login"
    assert team.edit(path, {"data": {"password": "canary", "b": "canary"}}).is_ok
    plan = team.plan(vault_secret(password="x"), takes_over=True)
    browser = open_browser(team.alice)
    diff = reverse("reviews:scroll-objects", args=[plan.review.number, plan.number]) + "?only=0&view=diff"

    taken, shown = (browser.get(address).content.decode() for address in (take_url(plan), diff))

    assert "are not taken from the cluster" in taken
    assert "Values of Secrets are masked" in shown
    assert "canary" not in taken + shown


@pytest.mark.core(1)
@pytest.mark.parametrize("mode", ApplyMode)
def test_replicas_that_the_manifest_dropped_can_still_be_handed_over(team, mode):
    how = CLIENT if mode is ApplyMode.CLIENT else {}
    team.apply(WEB, **how)
    dropped = WEB.replace("  replicas: 3\n", "")
    plan = team.plan(dropped, **how)
    browser = open_browser(team.alice)
    link = f"{reverse('reviews:hand-over', args=[plan.review.number, plan.number, 0])}?field=.spec.replicas"
    assert plan.changes.get().risk_levels[0] == ["autoscaled-field", "high"]
    shown = browser.get(link_alone(plan, 0))
    assert link in shown.content.decode()

    page = browser.get(link).content.decode()
    number = page.partition(" checked")[0].rpartition('value="')[2].partition('"')[0]
    assert browser.post(link, {"fields_given": [number], "manager": "handover-to-hpa"}).status_code == 302

    run = team.work(team.start(made_plan(plan.review, 2)))
    live = team.live("/apis/apps/v1/namespaces/default/deployments/web")
    assert (run.state, live["spec"]["replicas"]) == ("applied", 3)
