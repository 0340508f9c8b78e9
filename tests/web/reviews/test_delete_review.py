"""Delete reviews from the form to the run page: every page speaks of deletions, and of nothing that an apply has."""

import pytest
from django.test import Client

from applyviz.engine.planning.digest.serialize import options_from_json
from applyviz.engine.requests.options import Propagation, SetAction
from applyviz.records.enums import AuditAction, PlanState, Role, RunState
from applyviz.records.models import AuditEntry, Review
from applyviz.web.components.object_links import link_alone
from applyviz.workflow.plans import planner
from tests.builders import make_person
from tests.stories import config_map, secret
from tests.web.api.test_api import Program

pytestmark = pytest.mark.django_db
DELETE = {"action": SetAction.DELETE}


def sign_in(person):
    client = Client()
    client.force_login(person)
    return client


@pytest.fixture
def page(team):
    return sign_in(team.alice)


def read(client, address):
    answer = client.get(address)
    assert answer.status_code == 200, address
    return " ".join(answer.content.decode().split())


def send_form(page, **fields):
    given = {
        "title": "Remove the shop", "cluster": "box", "namespace": "default", "mode": "server",
        "field_manager": "applyviz", "text": config_map(a="1"), "operation": "delete", **fields,
    }  # fmt: skip
    answer = page.post("/reviews/new/", given)
    assert answer.status_code == 302, answer.content.decode()
    return Review.objects.latest("number")


def test_form_offers_both_and_applies_by_default(page):
    text = read(page, "/reviews/new/")

    assert 'name="operation" value="apply" checked' in text
    assert 'name="operation" value="delete"' in text


def test_form_makes_a_plan_of_deletions(team, page):
    team.apply(config_map(a="1"))

    review = send_form(page, propagation="Foreground", deletion_seconds="7")
    planner.make_plan(review.plans.get().pk)

    plan = review.plans.get()
    options = options_from_json(plan.options)
    assert (options.action, options.propagation, options.deletion_seconds) == (
        SetAction.DELETE, Propagation.FOREGROUND, 7,
    )  # fmt: skip
    assert (plan.state, dict(plan.counts)) == (PlanState.COMPLETE, {"delete": 1})


def test_choices_of_an_apply_do_not_count(page):
    review = send_form(page, prune="applyset", applyset="secrets/shop", replace="batch/Job")

    options = options_from_json(review.plans.get().options)
    assert (options.prune.mode.value, options.replacement.kinds) == ("none", ())


@pytest.mark.core(1)
@pytest.mark.parametrize("tab", ["", "changes/", "graph/", "owners/", "requests/", "activity/"])
def test_pages_speak_of_a_deletion(team, page, tab):
    team.apply(config_map(a="1"), secret(password="p"))
    plan = team.plan(config_map(a="1"), secret(password="p"), config_map("nothing", a="1"), **DELETE)

    text = read(page, f"/reviews/{plan.review.number}/plans/{plan.number}/{tab}")

    assert "· delete" in text
    for word in ("server-side", "as <span", "Field manager", "Re-plan client-side", "already matches the manifest"):
        assert word not in text, word


@pytest.mark.long
def test_overview_states_what_goes_and_how(team, page):
    team.apply(config_map(a="1"))
    plan = team.plan(config_map(a="1"), config_map("nothing", a="1"), **DELETE)

    text = read(page, f"/reviews/{plan.review.number}/plans/{plan.number}/")

    assert "1 to delete, 1 not found" in text
    assert "dependents are deleted after it (background); waits up to 60 seconds" in text


def test_plan_without_any_object_has_nothing_to_delete(team, page):
    plan = team.plan(config_map("nothing", a="1"), **DELETE)

    text = read(page, f"/reviews/{plan.review.number}/plans/{plan.number}/")

    assert "Nothing to delete · 1 not found" in text


def test_object_shows_what_is_lost_and_the_command_of_kubectl(team, page):
    team.apply(config_map(a="1"))
    plan = team.plan(config_map(a="1"), **DELETE)
    position = plan.changes.get().position

    assert "The object is deleted." in read(page, link_alone(plan, position))
    text = read(page, link_alone(plan, position, "requests"))
    assert "kubectl delete configmap settings --namespace=default --ignore-not-found --cascade=background" in text


def test_absent_object_says_that_nothing_is_sent(team, page):
    plan = team.plan(config_map("nothing", a="1"), **DELETE)

    assert "Not found: nothing to delete." in read(page, link_alone(plan, 0))


def test_approver_deletes_and_the_author_brings_back(team, page):
    team.apply(config_map(a="1"))
    plan = team.plan(config_map(a="1"), **DELETE)
    approver = sign_in(team.bob)

    sheet = read(approver, f"/reviews/{plan.review.number}/plans/{plan.number}/confirm/")
    run = team.work(team.start(plan))

    assert "Approve and delete 1 object" in sheet
    assert "re-creates the objects" in sheet
    assert run.state == RunState.APPLIED
    told = read(page, f"/runs/{run.number}/")
    assert "DELETE 200" in told
    assert "1 of 1 object deleted" in told
    assert "rollouts not watched" not in told
    page.post(f"/runs/{run.number}/undo/")
    assert Review.objects.latest("number").title.startswith("Revert run")


def test_history_says_what_was_deleted(team, page):
    team.apply(config_map(a="1"))
    team.apply(config_map(a="1"), **DELETE)

    entry = AuditEntry.objects.filter(action=AuditAction.OBJECT_RESULT).latest("sequence")

    assert (entry.detail["operation"], entry.detail["detail"]) == ("delete", "it is gone")
    assert entry.detail["outcome"] == "deleted"


def test_every_page_and_the_api_call_a_deleted_object_deleted(team, page):
    team.apply(config_map(a="1"))
    run = team.apply(config_map(a="1"), **DELETE)
    review, position = run.plan.review.number, run.results.get().position
    pages = (
        f"/runs/{run.number}/",
        f"/runs/{run.number}/objects/{position}/",
        f"/reviews/{review}/plans/1/record/",
        "/history/objects/box/core/ConfigMap/default/settings/",
    )

    texts = {address: read(page, address).partition("<main")[2] for address in pages}

    assert [address for address, text in texts.items() if "deleted" not in text] == []
    assert "1 of 1 object deleted" in texts[pages[0]]
    assert "Deleted." in texts[pages[0]]
    auditor = sign_in(make_person("ann", Role.AUDITOR))
    for address in ("/history/", "/history/evidence/?since=2026-01-01&section=changed-objects"):
        assert "deleted" in read(auditor, address).partition("<main")[2], address
    for address in ("/history/export/jsonl/", "/history/evidence/export/csv/?since=2020-01-01"):
        assert "deleted" in b"".join(auditor.get(address).streaming_content).decode(), address
    told = Program(team.alice).get(f"runs/{run.number}/").json()
    assert [(one["outcome"], one["outcome_text"]) for one in told["objects"]] == [("deleted", "deleted")]
    assert told["outcomes"] == {"deleted": 1}


@pytest.mark.long
def test_deletion_alone_has_a_before_and_nothing_after(team, page):
    team.apply(config_map(a="1"))
    plan = team.plan(config_map(a="1"), **DELETE)
    position = plan.changes.get().position

    alone = read(page, link_alone(plan, position))
    scroll = read(page, f"/reviews/{plan.review.number}/plans/{plan.number}/changes/")
    owners = read(page, link_alone(plan, position, "owners"))

    assert "<dt>Before</dt>" in alone
    assert "<dt>After</dt><dd>The object is deleted.</dd>" in alone
    for head in ("live → after", "Live → after apply", "strip-heads", "Compare values"):
        assert head not in alone, head
        assert head not in scroll, head
    assert "No manager owns fields" not in owners
