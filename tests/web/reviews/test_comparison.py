"""The page that says what moved between two plans, and the notice that leads to it."""

import re

import pytest
from django.template.loader import render_to_string
from django.test import Client
from django.urls import reverse

from applyviz.engine.objects.exchange import Request
from applyviz.engine.objects.paths import fields
from applyviz.engine.objects.structs import replace
from applyviz.engine.planning.digest.serialize import options_from_json, options_to_json
from applyviz.engine.planning.model.plan import Operation
from applyviz.engine.requests.options import ApplyOptions, Handover, Order, Prune, PruneMode, Replacement
from applyviz.records import triggers
from applyviz.sources.bundle import BundledFile, SourceBundle
from applyviz.web.reviews.pages import comparison
from applyviz.web.reviews.pages.sources.option_words import LABELS, compare_options, list_values
from applyviz.workflow.approvals import approving
from applyviz.workflow.plans import comparisons, planner, reviews
from tests.shared_stories import share_story
from tests.stories import SETTINGS, config_map, secret
from tests.web import builders, rows

pytestmark = pytest.mark.django_db


def begin(team):
    """A run has applied a ConfigMap and a Secret."""
    team.apply(config_map(colour="red"), secret(password="canary-1"))


@pytest.fixture(scope="module")
def played(django_db_setup, django_db_blocker):
    yield from share_story(django_db_blocker, begin)


@pytest.fixture
def team(played, db, monkeypatch):
    return played.go_on(monkeypatch)


@pytest.fixture
def bobs(team) -> Client:
    found = Client()
    found.force_login(team.bob)
    return found


def replan(team, plan, **more):
    made = reviews.replan_review(plan.review, by=team.alice, **more)
    planner.make_plan(made.pk)
    made.refresh_from_db()
    return made


def bundle(*texts):
    files = (BundledFile(f"{n}.yaml", text.encode()) for n, text in enumerate(texts))
    return SourceBundle(tuple(files))


def read(answer):
    return answer.content.decode().replace("<wbr>", "")


def show(bobs, plan, query=""):
    return bobs.get(reverse("reviews:compare-plans", args=[plan.review.number]) + query)


def test_comparison_names_field_values_and_mover(team, bobs):
    first = team.plan(config_map(colour="blue"), secret(password="canary-1"))
    team.edit(SETTINGS, {"data": {"colour": "green"}})
    replan(team, first)

    html = read(show(bobs, first, "?from=1&to=2"))

    assert "1 of 2 objects differ" in html
    assert "canary" not in html
    assert "masked" not in html
    for word in ("data.colour", "red", "green", "kubectl-edit"):
        assert word in html


def test_equal_changes_of_manifest_and_result_are_one_line(team, bobs):
    first = team.plan(config_map(name="added", colour="blue"))
    replan(team, first, bundle=bundle(config_map(name="added", colour="green")))

    html = read(show(bobs, first))

    assert len(re.findall(r'<span class="dim">manifest, after apply</span>', html)) == 1
    assert "Field owners in the cluster" not in html  # a new object has none


def test_object_whose_request_alone_differs_says_so(team, bobs):
    stamped = config_map(colour="blue").replace("metadata:\n", "metadata:\n  creationTimestamp: null\n")
    first = team.plan(stamped)
    replan(team, first, bundle=bundle(config_map(colour="blue")))

    html = read(show(bobs, first))

    assert "1 of 1 object differs" in html
    assert "same fields; the request, a conflict, a rule or an ignored field differs, or the live object" in html


def test_object_whose_error_alone_differs_says_so(team):
    """Nothing of it is sent, so it is no request that differs."""
    change = replace(builders.build_change(), operation=Operation.ERROR, conflicts=(), requests=(), error="no quota")
    first, second = (rows.make_plan(team.alice, [replace(change, error=text)]) for text in ("no quota", "no namespace"))
    triggers.lift("default")
    second.changes.update(effect="another")

    (found,) = comparison.present_comparison(first, second).objects

    assert (found.has_other_error, found.is_sent_otherwise) == (True, False)
    assert "another error" in render_to_string("reviews/_compared_object.html", {"object": found})


def test_column_of_movers_is_there_only_if_one_is_named(team, bobs):
    team.apply(config_map(colour="blue"))
    first = team.plan(config_map(colour="green"))
    replan(team, first, bundle=bundle(config_map(colour="red")))

    html = read(show(bobs, first))

    assert "Field owners in the cluster" in html
    assert "Changed in the cluster by" not in html


def test_long_values_are_compared_line_by_line(team, bobs):
    lines = [f"line {number}" for number in range(400)]
    first = team.plan(config_map(page="\n".join(lines)))
    replan(team, first, bundle=bundle(config_map(page="\n".join([*lines[:200], "other", *lines[201:]]))))

    html = read(show(bobs, first))

    assert "line 200" in html
    assert "other" in html
    assert "line 100" not in html
    assert "see the diff" not in html, "this page has no diff view"


def test_first_objects_are_open_and_all_others_are_one_line_each(team, bobs):
    def make(value):
        return [config_map(name=f"m{n:02}", **{f"key-{k}": value for k in range(7)}) for n in range(42)]

    first = team.plan(*make("1"))
    replan(team, first, bundle=bundle(*make("2")))

    html = read(show(bobs, first))

    assert "42 of 42 objects differ" in html
    assert html.count('<details class="moved" open>') == comparison.OPEN_LINES // 7
    assert html.count('<details class="moved"') == comparisons.MOST_DETAILED
    assert html.count("Open one of these objects to see its fields:") == 1


def test_objects_that_only_the_first_plan_has_are_counted(team, bobs):
    first = team.plan(config_map(name="a", colour="blue"), config_map(name="b", colour="blue"))
    replan(team, first, bundle=bundle(config_map(name="a", colour="blue")))

    html = read(show(bobs, first))

    assert "1 of 2 objects differ" in html
    assert "not in the second plan" in html


def test_secrets_that_stayed_do_not_look_moved(team, bobs):
    first = team.plan(config_map(colour="red"), secret(password="canary-2"))
    path = "/api/v1/namespaces/default/secrets/login"
    team.edit(path, {"metadata": {"labels": {"tier": "gold"}}})
    replan(team, first)
    team.edit(path, {"stringData": {"password": "canary-3"}})
    replan(team, first)

    calm = read(show(bobs, first, "?from=1&to=2"))
    moved = read(show(bobs, first, "?from=2&to=3"))

    assert "data.password" not in calm
    assert "data.password" in moved
    assert "canary" not in moved


def test_plan_says_what_its_forerunner_did_otherwise(team, bobs):
    first = team.plan(config_map(colour="blue"), secret(password="canary-1"))
    approving.approve_plan(first, by=team.bob, digest=first.digest)
    team.edit(SETTINGS, {"data": {"colour": "green"}})
    second = replan(team, first)

    html = (
        bobs.get(reverse("reviews:show-plan", args=[first.review.number, second.number]))
        .content.decode()
        .replace("<wbr>", "")
    )

    assert "Changed since plan 1" in html
    assert "The approvals of bob do not apply to this plan." in html
    assert "ConfigMap settings: data.colour: green → blue" in html or "data.colour: blue → " in html
    assert "changed by kubectl-edit" in html
    assert f"/reviews/{first.review.number}/compare/?from=1&amp;to=2" in html


def test_object_that_was_created_anew_is_named_without_its_uid(team, bobs):
    first = team.plan(config_map(colour="blue"), secret(password="canary-1"))
    assert team.send(Request("DELETE", SETTINGS)).is_ok
    team.apply_as("applyviz", config_map(colour="red"))
    second = replan(team, first)

    compared = read(show(bobs, first, "?from=1&to=2"))
    shown = read(bobs.get(reverse("reviews:show-plan", args=[first.review.number, second.number])))

    assert "deleted and re-created between the plans" in compared
    assert "ConfigMap settings: deleted and re-created since" in shown
    assert "metadata.uid" not in compared + shown


def test_object_that_is_left_out_is_not_said_to_be_removed_from_live(team, bobs):
    first = team.plan(config_map(colour="blue"), secret(password="canary-1"))
    options = replace(options_from_json(first.options), left_out=("core/ConfigMap/default/settings",))
    second = replan(team, first, options=options)

    compared = read(show(bobs, first, "?from=1&to=2"))
    shown = read(bobs.get(reverse("reviews:show-plan", args=[first.review.number, second.number])))

    assert "ConfigMap settings: update → left out" in shown
    assert re.search(r'<dd>\s*none\s*<span class="arrow"', compared)  # in words, so it is no code
    assert "removed" not in compared
    assert "data.colour" not in compared + shown


def test_every_option_that_differs_between_plans_is_named_in_words(team):
    first, second = (team.plan(config_map(color="blue")) for _ in range(2))
    options = options_from_json(second.options)
    changed = replace(
        options,
        order=Order.AS_GIVEN,
        prune=Prune(PruneMode.ALLOWLIST, ("core/v1/ConfigMap",)),
        replacement=Replacement(("batch/Job/default/migrate",)),
        handovers=(Handover(("apps", "Deployment", "shop", "web"), fields("spec", "replicas")),),
        takes_from=("helm",),
        has_preconditions=False,
    )
    second.options = options_to_json(changed)

    assert [(str(one.label), one.first, one.second) for one in comparison._compare_frames(first, second)] == [
        ("Ownership from", "none", "helm"),
        ("Prune", "nothing", "by allowlist"),
        ("Kinds to prune", "none", "core/v1/ConfigMap"),
        ("Order", "by dependencies", "as in the files"),
        ("Check uid and resourceVersion", "on", "off"),
        ("Fields given up", "none", "Deployment/web in shop .spec.replicas to handover-to-hpa"),
        ("Objects to replace", "none", "Job/migrate in default"),
    ]


def test_long_lists_of_options_say_what_each_plan_has_alone():
    jobs = tuple(f"batch/Job/default/j{n}" for n in range(9))
    first = ApplyOptions(left_out=jobs[:8])
    (told,) = compare_options(first, replace(first, left_out=(*jobs[1:8], jobs[8])))
    (turned,) = compare_options(first, replace(first, left_out=jobs[7::-1]))

    assert (told.first, told.second) == (
        "Job/j0 in default, 7 in both plans",
        "Job/j8 in default, 7 in both plans",
    )
    assert turned.second == "same entries, but details or order differ"


def test_every_option_has_a_label():
    assert {name for name, _value in list_values(ApplyOptions())} == set(LABELS)


@pytest.mark.long
def test_plan_that_does_the_same_says_so(team, bobs):
    first = team.plan(config_map(colour="blue"))
    second = replan(team, first)

    html = (
        bobs.get(reverse("reviews:show-plan", args=[first.review.number, second.number]))
        .content.decode()
        .replace("<wbr>", "")
    )

    assert "Identical to plan 1" in html
    assert "No differences" in read(show(bobs, first))


@pytest.mark.core(1)
@pytest.mark.parametrize("query", ["", "?from=1&to=9", "?from=9&to=1"])
def test_plans_that_are_not_there_are_not_found(team, bobs, query):
    plan = team.plan(config_map(colour="blue"))

    assert show(bobs, plan, query).status_code == 404


@pytest.mark.long
def test_namesakes_are_compared_in_their_order(team):
    once, twice = (team.plan(config_map(colour="blue")) for _ in range(2))
    triggers.lift("default")
    row = twice.changes.get()
    row.pk, row.position = None, 1
    row.save(force_insert=True)

    (more,), (less,) = comparisons.find_differing(once, twice), comparisons.find_differing(twice, once)

    assert (more.first, more.second.position) == (None, 1)
    assert (less.first.position, less.second) == (1, None)
