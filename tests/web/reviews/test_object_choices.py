"""Choosing on the page what the next plan does with a refused object."""

from __future__ import annotations

import html

import pytest
from django.urls import reverse

from applyviz.engine.planning.digest.serialize import options_from_json
from applyviz.engine.planning.model.plan import Operation
from applyviz.engine.requests.options import Propagation, Replacement
from applyviz.records.enums import AuditAction
from applyviz.records.models import AuditEntry
from applyviz.web.components.object_links import link_alone
from applyviz.web.components.server_text import fold, leave_out_value
from applyviz.workflow.plans import planner, reviews
from tests.stories import Team

pytestmark = pytest.mark.django_db
JOB = """apiVersion: batch/v1
kind: Job
metadata: {name: migrate}
spec:
  template:
    spec:
      restartPolicy: Never
      containers: [{name: migrate, image: IMAGE}]
"""
KEY = "batch/Job/default/migrate"


@pytest.fixture
def team():
    return Team()


@pytest.fixture
def refused(team):
    team.apply(JOB.replace("IMAGE", "a:1"))
    return team.plan(JOB.replace("IMAGE", "a:2"))


@pytest.fixture
def author(client, team):
    client.force_login(team.alice)
    return client


def address(plan, name="choose-object"):
    return reverse(f"reviews:{name}", args=[plan.review.number, plan.number, 0])


def read(browser, plan):
    return browser.get(link_alone(plan, 0)).content.decode()


def test_refused_object_offers_its_replacement_and_the_choice_makes_the_next_plan(author, refused):
    page = read(author, refused)
    assert "Replace Job/migrate" in page
    assert address(refused) in page
    changes = author.get(f"{reverse('reviews:show-changes', args=[refused.review.number, 1])}?at=0").content.decode()
    assert ("Replace Job/migrate" in changes, address(refused) in changes) == (True, True)
    assert "Dependents" in changes
    assert "Background: dependents are deleted after their owner" in changes
    assert "does not let this field change after creation" in changes

    answer = author.post(address(refused), {"choice": "replace", "propagation": "Foreground"})

    made = refused.review.plans.get(number=2)
    assert answer.headers["Location"] == reverse("reviews:show-plan", args=[refused.review.number, 2])
    options = options_from_json(made.options)
    assert (options.replacement, options.propagation) == (Replacement(objects=(KEY,)), Propagation.FOREGROUND)


def test_refusal_names_the_immutable_field_and_folds_its_value(author, refused):
    page = html.unescape(read(author, refused))
    main, _summary, behind = page.partition("Server message")

    assert "spec.template: Kubernetes does not let this field change after creation" in main
    assert "spec.template: field is immutable" in main
    assert "Invalid value" not in main
    assert 'spec.template: Invalid value: {"' in behind


@pytest.mark.parametrize(
    ("message", "shown"),
    [
        ('Invalid value: {"a": {"b": "}: x"}}: field is immutable', "field is immutable"),
        ("Invalid value: core.PodTemplateSpec{ObjectMeta:v1.ObjectMeta{}}: field is immutable", "field is immutable"),
        ("Invalid value: []core.Volume{}: must be named", "must be named"),
        ('Unsupported value: {"a": 1}: supported values: "b"', 'Unsupported value: supported values: "b"'),
        ("Invalid value: 99999999: must be between 1 and 65535", None),
        ('Invalid value: "a b": must be a label', None),
        ("Required value", None),
    ],
)
def test_values_of_many_parts_are_left_out_of_main_texts(message, shown):
    assert leave_out_value(message) == (shown or message)


def test_fields_that_are_immutable_are_named_at_most_three():
    one = "%s: Invalid value: {}: field is immutable"
    text = f'Job "x" is invalid: [{", ".join(one % f"spec.f{n}" for n in range(5))}]'

    assert fold(text).sentence.startswith("spec.f0, spec.f1, spec.f2: Kubernetes does not let this field change")
    assert fold("field is immutable").sentence.startswith("Kubernetes does not let this field change")


@pytest.mark.long
def test_replaced_object_names_what_is_lost_and_can_be_updated_again(author, refused):
    author.post(address(refused), {"choice": "replace"})
    planner.make_plan(refused.review.plans.get(number=2).pk)
    made = refused.review.plans.get(number=2)
    assert made.changes.get().operation == Operation.REPLACE

    page = read(author, made)
    assert "The server refuses to change spec.template." in page
    assert "Don&#x27;t replace Job/migrate" in page
    author.post(address(made), {"choice": "update"})

    assert options_from_json(refused.review.plans.get(number=3).options).replacement == Replacement()


def test_only_authors_of_the_latest_plan_are_offered_a_choice(client, author, team, refused):
    client.force_login(team.bob)
    assert "Replace Job/migrate" not in read(client, refused)
    assert client.post(address(refused), {"choice": "replace"}).status_code == 403

    client.force_login(team.alice)
    made = reviews.replan_review(refused.review, by=team.alice)
    planner.make_plan(made.pk)
    assert "Replace Job/migrate" not in read(client, refused)
    assert client.post(address(refused), {"choice": "replace"}).status_code == 409


def test_unknown_choice_makes_no_plan(author, refused):
    assert author.post(address(refused), {"choice": "burn"}).status_code == 422
    assert author.get(address(refused)).status_code == 405
    assert refused.review.plans.count() == 1


SEALED = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: sealed}\nimmutable: true\ndata: {a: 'VALUE'}\n"
BROKEN = "apiVersion: v1\nkind: Service\nmetadata: {name: web}\nspec: {ports: [{port: 99999999}]}\n"


def test_history_says_that_the_object_was_deleted_and_re_created(author, team):
    team.apply(SEALED.replace("VALUE", "1"))
    team.apply(SEALED.replace("VALUE", "2"), replacement=Replacement(kinds=("ConfigMap",)))

    entries = AuditEntry.objects.filter(action=AuditAction.OBJECT_RESULT).order_by("sequence")

    assert [one.detail.get("operation") for one in entries] == [None, "replace"]
    for address in (reverse("history:list-entries"), reverse("history:show-entry", args=[entries[1].pk])):
        assert "deleted and re-created" in author.get(address).content.decode(), address


def address_all(plan, name="replace-objects"):
    return reverse(f"reviews:{name}", args=[plan.review.number, plan.number])


@pytest.fixture
def many(team):
    """Two objects that a replacement would help, one that is broken, and one that can be applied."""
    other = SEALED.replace("sealed", "other").replace("immutable: true\n", "")
    team.apply(JOB.replace("IMAGE", "a:1"), SEALED.replace("VALUE", "1"))
    return team.plan(JOB.replace("IMAGE", "a:2"), SEALED.replace("VALUE", "2"), BROKEN, other)


def position(plan, name):
    return plan.changes.get(name=name).position


def test_overview_replaces_all_objects_that_a_replacement_helps_in_one_plan(author, many):
    page = author.get(address_all(many, "show-overview")).content.decode()
    assert "3 objects block the others" in page
    assert "The server refuses to change 2 of them." in page
    assert "Replace 2 objects" in page
    offered = {position(many, "migrate"), position(many, "sealed")}
    assert all(f'name="objects" value="{one}"' in page for one in offered)

    answer = author.post(address_all(many), {"objects": sorted(offered), "propagation": "Orphan"})

    made = many.review.plans.get(number=2)
    assert answer.headers["Location"] == reverse("reviews:show-plan", args=[many.review.number, 2])
    options = options_from_json(made.options)
    assert set(options.replacement.objects) == {KEY, "core/ConfigMap/default/sealed"}
    assert options.propagation is Propagation.ORPHAN


def test_overview_offers_the_replacement_where_no_other_object_waits(client, author, team, refused):
    page = author.get(address_all(refused, "show-overview")).content.decode()
    assert [text for text in ("The server refuses to change 1 object", "Replace Job/migrate") if text not in page] == []
    assert "Plan the other" not in page

    assert author.post(address_all(refused), {"objects": [0]}).status_code == 302
    client.force_login(team.bob)
    assert "Replace Job/migrate" not in client.get(address_all(refused, "show-overview")).content.decode()


def test_overview_offers_the_replacement_beside_what_is_left_out(author, many):
    data = {"objects": [position(many, name) for name in ("web", "sealed")], "reason": "later"}
    assert author.post(address_all(many, "plan-others"), data).status_code == 302
    planner.make_plan(many.review.plans.get(number=2).pk)

    page = author.get(address_all(many.review.plans.get(number=2), "show-overview")).content.decode()

    assert [text for text in ("2 objects are left out", "Replace Job/migrate") if text not in page] == []


def test_number_of_any_length_is_no_object(author, many):
    assert (
        author.post(address_all(many, "plan-others"), {"objects": ["9" * 5_000], "reason": "later"}).status_code == 422
    )


@pytest.mark.core(1)
@pytest.mark.parametrize("chosen", [[], ["web"]], ids=["none", "one that is broken"])
def test_objects_that_a_replacement_does_not_help_cannot_be_replaced_together(author, many, chosen):
    data = {"objects": [position(many, name) for name in chosen]}
    assert author.post(address_all(many), data).status_code == 422
    assert many.review.plans.count() == 1


@pytest.mark.long
def test_only_authors_of_the_latest_plan_replace_several_objects(client, author, team, many):
    data = {"objects": [position(many, "sealed")]}
    client.force_login(team.bob)
    assert "Replace 2 objects" not in client.get(address_all(many, "show-overview")).content.decode()
    assert client.post(address_all(many), data).status_code == 403
    client.force_login(team.alice)
    reviews.replan_review(many.review, by=team.alice)
    assert client.post(address_all(many), data).status_code == 409
    assert author.get(address_all(many)).status_code == 405
