"""Whoever may not read a Secret guesses its value by plans: no page, count, file or API says whether a guess fits.

Threat N2: "same" and "changed" answer one guess per plan.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from datetime import timedelta
from difflib import unified_diff
from pathlib import Path

import pytest
import time_machine
import yaml
from django.core.cache import cache
from django.http import HttpResponse
from django.test import Client
from django.utils import timezone

from applyviz.clusters import connect
from applyviz.engine.objects.errors import ClusterError
from applyviz.engine.requests.options import ApplyMode
from applyviz.records.enums import PlanState, Role
from applyviz.records.models import AuditEntry, Comment, Plan
from applyviz.records.worker_enums import WorkerRequestKind
from applyviz.web.components.object_links import link_alone
from applyviz.web.frame import streams
from applyviz.web.reviews.pane.object_content import ObjectView
from applyviz.web.reviews.views.tabs import COOKIE
from applyviz.workflow.evidence import history
from applyviz.workflow.foundation import worker_questions
from applyviz.workflow.plans import guess_limit, live_history, live_values, planner
from applyviz.workflow.plans.changes import read_masked
from tests.builders import make_person, map_person, open_dangers
from tests.keyless import go_without_keys
from tests.stories import Team, config_map, secret

pytestmark = [pytest.mark.attacks, pytest.mark.django_db]
VERIFIER = Path(__file__).parents[2] / "scripts" / "verify_export.py"
RIGHT, WRONG = "q7Rz0xWv-right", "q7Rz0xWv-wrong"


@pytest.fixture(autouse=True)
def _no_answers_of_before() -> None:
    cache.clear()


def taken_over(value: str) -> str:
    """The Secret as another person set it, by another tool."""
    return yaml.safe_dump(
        {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "login"}, "stringData": {"password": value}}
    )


def scene(team: Team, monkeypatch, mode: ApplyMode) -> None:
    team.wire_up(monkeypatch)
    team.apply(secret(password="the-first-one"), mode=mode)
    live = {"stringData": {"password": RIGHT}}
    assert team.edit("/api/v1/namespaces/default/secrets/login", live).is_ok


TABS = ("overview", "changes", "graph", "owners", "requests", "activity", "risks")


def addresses(plan: Plan) -> list[str]:
    base = f"/reviews/{plan.review.number}/plans/{plan.number}/"
    return [
        base,
        *(link_alone(plan, 0, view.value) for view in ObjectView),
        f"{base}record/",
        *(f"{base}{tab}/" for tab in TABS),
    ]


def read(client: Client, plan: Plan) -> dict[str, list[str]]:
    """The words that a reader is shown of a plan, page by page, without numbers, times and hashes."""
    found = {}
    for number, address in enumerate(addresses(plan)):
        client.cookies.pop(COOKIE, None)  # a review opens in the tab that was used last
        answer = client.get(address)
        text = answer.content.decode()
        text = re.sub(r"[0-9a-f]{12,64}|<[^>]*>", " ", text[max(text.find("<main"), 0) :])
        found[str(number)] = [str(answer.status_code), *re.findall(r"[^\W\d]+", text)]
    assert {page[0] for page in found.values()} == {"200"}
    return found


def two_plans(team: Team, mode: ApplyMode) -> tuple[Plan, Plan]:
    right, wrong = (team.plan(taken_over(value), mode=mode, takes_over=True) for value in (RIGHT, WRONG))
    return right, wrong


def told_by(plan: Plan) -> list[tuple[object, object]]:
    """What the plan itself says of each field: there is something to hide."""
    (row,) = plan.changes.all()
    return [(field.path, field.operation) for field in read_masked(row).fields]


@pytest.mark.core(1)
@pytest.mark.parametrize("mode", ApplyMode)
def test_a_viewer_reads_the_same_of_a_right_and_a_wrong_guess(team: Team, monkeypatch, mode: ApplyMode) -> None:
    scene(team, monkeypatch, mode)
    right, wrong = two_plans(team, mode)
    assert told_by(right) != told_by(wrong)
    viewer = Client()
    viewer.force_login(make_person("vera", Role.VIEWER))

    first, second = read(viewer, right), read(viewer, wrong)

    assert "not shown" in " ".join(first["0"])
    assert {
        page: list(unified_diff(words, second[page], n=3)) for page, words in first.items() if words != second[page]
    } == {}
    assert "not shown" in viewer.get("/reviews/").content.decode()


@pytest.mark.core(1)
@pytest.mark.parametrize("mode", ApplyMode)
def test_authors_and_approvers_of_the_place_see_it(team: Team, monkeypatch, mode: ApplyMode) -> None:
    scene(team, monkeypatch, mode)
    _, wrong = two_plans(team, mode)

    for person in (team.alice, team.bob):
        shown = planner.get_plan(wrong.number, review_number=wrong.review.number, for_user=person)
        assert live_values.hidden_positions(shown) == frozenset()
        assert shown.counts == wrong.counts


def test_a_viewer_comments_on_no_field_of_a_secret_that_is_hidden_from_them(team: Team, monkeypatch) -> None:
    scene(team, monkeypatch, ApplyMode.SERVER)
    right, wrong = two_plans(team, ApplyMode.SERVER)
    viewer = Client()
    viewer.force_login(make_person("vera", Role.VIEWER))

    for plan in (right, wrong):
        address = f"/reviews/{plan.review.number}/plans/{plan.number}/comments/"
        for field in range(len(told_by(plan))):
            answer = viewer.post(address, {"text": "a guess", "position": "0", "field": str(field)})
            assert answer.status_code == 422

    assert not Comment.objects.exists()


def map_alice(team: Team) -> None:
    map_person(team.cluster, team.alice, "alice@example")


@pytest.mark.core(1)
@pytest.mark.parametrize("is_allowed", [True, False])
def test_mapped_people_see_what_their_own_access_review_allows(team: Team, monkeypatch, is_allowed: bool) -> None:
    scene(team, monkeypatch, ApplyMode.CLIENT)
    map_alice(team)
    _, wrong = two_plans(team, ApplyMode.CLIENT)
    team.wire.denied = set() if is_allowed else {"get"}

    shown = planner.get_plan(wrong.number, review_number=wrong.review.number, for_user=team.alice)

    assert (shown.counts == wrong.counts) is is_allowed
    asked = [(who, request) for who, request in team.wire.identities if request.purpose == "access"]
    who, request = asked[-1]
    attributes = request.body["spec"]["resourceAttributes"]
    assert who.user == "alice@example"
    assert attributes == {"resource": "secrets", "verb": "get", "namespace": "default", "name": "login"}
    planner.get_plan(wrong.number, review_number=wrong.review.number, for_user=team.alice)
    assert len([r for _, r in team.wire.identities if r.purpose == "access"]) == len(asked)  # kept for a moment


@pytest.mark.core(1)
@pytest.mark.parametrize("is_allowed", [True, False])
def test_a_web_process_without_keys_asks_through_a_worker(team: Team, monkeypatch, settings, is_allowed: bool) -> None:
    scene(team, monkeypatch, ApplyMode.CLIENT)
    map_alice(team)
    _, wrong = two_plans(team, ApplyMode.CLIENT)
    team.wire.denied = set() if is_allowed else {"get"}
    team.wire.identities.clear()
    web = go_without_keys(settings, monkeypatch)

    shown = planner.get_plan(wrong.number, review_number=wrong.review.number, for_user=team.alice)

    assert (shown.counts == wrong.counts) is is_allowed
    assert web.served == [WorkerRequestKind.SECRET_ACCESS]
    assert [who.user for who, request in team.wire.identities if request.purpose == "access"] == ["alice@example"]


def test_without_a_worker_nothing_is_readable(team: Team, monkeypatch, settings) -> None:
    scene(team, monkeypatch, ApplyMode.CLIENT)
    map_alice(team)
    _, wrong = two_plans(team, ApplyMode.CLIENT)
    web = go_without_keys(settings, monkeypatch)
    web.works = False
    monkeypatch.setattr(
        worker_questions, "wait", lambda worker_request, seconds=0: worker_questions.refresh(worker_request)
    )

    shown = planner.get_plan(wrong.number, review_number=wrong.review.number, for_user=team.alice)

    assert shown.counts == {"not-shown": 1}


def test_a_cluster_that_does_not_answer_allows_nothing(team: Team, monkeypatch) -> None:
    scene(team, monkeypatch, ApplyMode.CLIENT)
    map_alice(team)
    _, wrong = two_plans(team, ApplyMode.CLIENT)

    def refuse(*_: object) -> None:
        raise ClusterError("nobody is there")

    monkeypatch.setattr(connect, "open_transport", refuse)
    shown = planner.get_plan(wrong.number, review_number=wrong.review.number, for_user=team.alice)

    assert shown.counts == {"not-shown": 1}


def test_history_does_not_count_what_a_plan_hides(team: Team, monkeypatch) -> None:
    scene(team, monkeypatch, ApplyMode.CLIENT)
    two_plans(team, ApplyMode.CLIENT)

    told = [e.detail["counts"] for e in AuditEntry.objects.filter(action="plan.completed").order_by("id")]

    assert told[-2] == told[-1] == {"not-shown": 1}


def test_a_run_does_not_tell_a_viewer_whether_a_secret_was_written(team: Team, monkeypatch) -> None:
    scene(team, monkeypatch, ApplyMode.CLIENT)
    config = yaml.safe_dump({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}, "data": {"a": "1"}})
    viewer = Client()
    viewer.force_login(make_person("vera", Role.VIEWER))
    words = []
    for value, number in ((RIGHT, "2"), (WRONG, "3")):
        plan = team.plan(taken_over(value), config.replace("'1'", f"'{number}'"), mode=ApplyMode.CLIENT)
        open_dangers(plan, team.bob)
        run = team.work(team.start(plan))
        secret_result = run.results.get(change__kind="Secret")
        page = viewer.get(f"/runs/{run.number}/objects/{secret_result.position}/").content.decode()
        words.append(re.findall(r"[^\W\d]+", re.sub(r"[0-9a-f]{12,64}|<[^>]*>", " ", page[page.index("<main") :])))

    assert words[0] == words[1]


@pytest.mark.parametrize("mode", list(ApplyMode))
def test_the_events_of_a_run_do_not_tell_a_viewer_whether_a_secret_was_written(
    team: Team, monkeypatch, mode: ApplyMode
) -> None:
    team.wire_up(monkeypatch)
    team.apply(secret(password=RIGHT), mode=mode)
    viewer = Client()
    viewer.force_login(make_person("vera", Role.VIEWER))
    monkeypatch.setattr(streams, "stream_events", lambda request, look: HttpResponse(str(look(""))))
    events, outcomes = [], []
    for value in (RIGHT, WRONG):
        live = {"stringData": {"password": value}}
        assert team.edit("/api/v1/namespaces/default/secrets/login", live).is_ok
        plan = team.plan(secret(password=RIGHT), config_map("beside", a=value), mode=mode, takes_over=True)
        open_dangers(plan, team.bob)
        run = team.work(team.start(plan))
        outcomes.append(run.results.get(change__kind="Secret").outcome)
        events.append(viewer.get(f"/runs/{run.number}/events/").content.decode())

    assert outcomes[0] != outcomes[1]
    assert events[0] == events[1]


@pytest.mark.parametrize("most", [5, pytest.param(20, marks=pytest.mark.long)])
def test_twenty_values_a_day_are_planned_and_no_more(team: Team, monkeypatch, most: int) -> None:
    assert guess_limit.MOST_A_DAY == 20
    monkeypatch.setattr(guess_limit, "MOST_A_DAY", most)
    with time_machine.travel(timezone.now().replace(hour=1), tick=False) as moment:
        team.apply(secret(password=RIGHT))
        for number in range(most - 1):
            assert team.plan(secret(password=f"guess-{number}")).state == PlanState.COMPLETE

        over = team.plan(secret(password="one-more"))
        again = team.plan(secret(password="guess-3"))

        assert over.state == PlanState.FAILED
        assert f"{most} values" in over.error
        assert again.state == PlanState.COMPLETE
        assert team.plan(secret("other", password="one-more")).state == PlanState.COMPLETE
        moment.shift(timedelta(days=1))
        assert team.plan(secret(password="one-more")).state == PlanState.COMPLETE


def test_an_export_without_the_secrets_still_verifies(team: Team, monkeypatch, tmp_path) -> None:
    scene(team, monkeypatch, ApplyMode.CLIENT)
    auditor = make_person("audrey", Role.AUDITOR)

    lines = "".join(history.export_for(auditor, {}, history.ExportFormat.JSONL))
    whole = "".join(history.export_entries({}, history.ExportFormat.JSONL))

    hidden = f'"detail":{json.dumps(live_history.NOT_SHOWN, separators=(",", ":"))}'
    assert lines.count(hidden) == AuditEntry.objects.filter(live_history.TELLING).count() > 0
    assert hidden not in whole
    file = tmp_path / "history.jsonl"
    for text, status in ((lines, 0), (lines.replace('"kind":"Secret"', '"kind":"Sekret"', 1), 1)):
        file.write_text(text)
        assert subprocess.run([sys.executable, VERIFIER, file], capture_output=True, check=False).returncode == status
