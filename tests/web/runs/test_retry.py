"""Retry on the page of a run and for programs: who is offered what, why not, and what the attempts were."""

import pytest
from django.test import Client
from django.urls import reverse

from applyviz.records.enums import Outcome, Role, RunState
from applyviz.records.models import ApplyRun, ObjectResult
from applyviz.workflow.approvals import approving
from applyviz.workflow.policies import OnFailure
from tests.builders import grant_role, make_person, make_policy
from tests.shared_stories import share_story
from tests.stories import config_map
from tests.web import reading
from tests.web.api.test_api import Program

pytestmark = pytest.mark.django_db


def is_other(request) -> bool:
    return "other" in (request.path + str((request.body or {}).get("metadata", {}).get("name")))


def break_network(team) -> None:
    team.wire.fault = lambda request, number: "refuse connection" if is_other(request) else ""


def mend_network(team) -> None:
    team.wire.fault = lambda request, number: ""


def fail(team) -> None:
    """Two objects of a run meet a network that is broken."""
    make_policy(on_failure=OnFailure.CONTINUE)
    break_network(team)
    run = team.work(team.start(team.plan(config_map(a="1"), config_map("other", b="1"), config_map("other-2", b="1"))))
    mend_network(team)
    assert (run.state, sorted(team.outcomes(run))) == (RunState.FAILED, ["applied", "failed", "failed"])


@pytest.fixture(scope="module")
def played(django_db_setup, django_db_blocker):
    yield from share_story(django_db_blocker, fail)


@pytest.fixture
def team(played, db, monkeypatch):
    return played.go_on(monkeypatch)


@pytest.fixture
def failed(team):
    return ApplyRun.objects.get()


def browser(person) -> Client:
    found = Client()
    found.force_login(person)
    return found


def address(run) -> str:
    return reverse("runs:show-run", args=[run.number])


def test_page_offers_all_objects_and_each(team, failed):
    bob = browser(team.bob)
    page = reading.read(bob, address(failed))
    text = bob.get(address(failed)).content.decode()

    assert "Retry 2 objects" in reading.text_of(page)
    assert "sends 2 objects again, after checking each for the approved effect" in reading.text_of(page)
    assert text.count('name="object"') == 2
    position = failed.results.filter(outcome="failed").first().position
    one = bob.get(reverse("runs:show-result", args=[failed.number, position])).content.decode()
    assert "Retry this object" in one

    retry = reverse("runs:retry-run", args=[failed.number])
    answer = bob.post(retry, {"attempt": 1, "object": position}, follow=True)
    assert "Retrying: each object is checked" in answer.content.decode()
    team.work(failed)
    assert sorted(team.outcomes(failed)) == ["applied", "applied", "failed"]
    told = reading.text_of(reading.read(bob, address(failed)))
    assert "Attempt 2, by bob at" in told
    assert "for 1 object." in told
    assert "continued the run" not in told, "a next attempt is no other worker of the same one"
    assert "Retry 1 object" in told


def test_old_page_and_no_attempt_are_refused(team, failed):
    bob, retry = browser(team.bob), reverse("runs:retry-run", args=[failed.number])

    assert bob.get(retry).status_code == 405
    assert bob.post(retry, {}).status_code == 409
    assert bob.post(retry, {"attempt": "x"}).status_code == 409
    assert bob.post(retry, {"attempt": 1}).status_code == 302
    assert bob.post(retry, {"attempt": 1}).status_code == 409


def test_people_without_the_right_read_why(team, failed):
    retry = reverse("runs:retry-run", args=[failed.number])
    alice = browser(team.alice)

    text = reading.text_of(reading.read(alice, address(failed)))
    assert "A retry is not possible: only approvers and operators can retry runs." in text
    assert "Retry 2 objects" not in text
    assert alice.post(retry, {"attempt": 1}).status_code == 403
    outsider = make_person("charlie")
    assert browser(outsider).post(retry, {"attempt": 1}).status_code in (403, 404)


@pytest.mark.long
def test_blocked_retry_says_everything_that_blocks(team, failed):
    approving.request_changes(failed.plan, by=team.bob, digest=failed.plan.digest, note="no")

    text = reading.text_of(reading.read(browser(team.bob), address(failed)))

    assert "A retry is not possible: bob requests changes." in text
    assert 'name="attempt"' not in browser(team.bob).get(address(failed)).content.decode()


def test_program_retries_what_can_be(team, failed):
    grant_role(team.alice, Role.OPERATOR)
    program = Program(team.alice)
    told = program.get(f"runs/{failed.number}/").json()
    positions = [one["position"] for one in told["objects"] if one["outcome"] == "failed"]
    assert (told["attempt"], told["retry"]) == (1, {"objects": positions, "blockers": []})
    path = f"runs/{failed.number}/retry/"

    wrong = [{}, {"attempt": "1"}, {"attempt": True}, {"attempt": 1, "objects": 3}, {"attempt": 1, "objects": ["0"]}]
    assert [program.post(path, body).status_code for body in wrong] == [422] * len(wrong)
    assert program.post(path, {"attempt": 1, "odd": 1}).status_code == 422
    assert program.post(path, {"attempt": 1, "objects": [0, 1, 2]}).status_code == 409
    answer = program.post(path, {"attempt": 1, "objects": positions[:1]})
    assert (answer.status_code, answer.json()["state"], answer.json()["attempt"]) == (200, "queued", 2)
    assert program.post(path, {"attempt": 1}).status_code == 409


@pytest.mark.core(1)
@pytest.mark.parametrize("scope", ["read", "plan"])
def test_token_of_a_smaller_scope_retries_nothing(team, failed, scope):
    grant_role(team.alice, Role.OPERATOR)
    assert Program(team.alice, scope).post(f"runs/{failed.number}/retry/", {"attempt": 1}).status_code == 403


@pytest.mark.long
def test_run_whose_retry_left_objects_says_so(team, failed):
    ObjectResult.objects.filter(run=failed, outcome=Outcome.VERIFIED).update(outcome=Outcome.SKIPPED, step=9)
    bob = browser(team.bob)
    bob.post(reverse("runs:retry-run", args=[failed.number]), {"attempt": 1})
    team.work(failed)

    text = reading.text_of(reading.read(bob, address(failed)))

    assert "The retry succeeded. Objects that were not attempted need a new plan." in text
    assert "The run stopped on an error" not in text
