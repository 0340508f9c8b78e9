"""Large manifests are read by the worker: the review is in the state Reading, then says what is wrong, and where."""

import html
import json
import re
from datetime import timedelta

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.urls import reverse

from applyviz import clock
from applyviz.engine.objects.errors import ClusterError
from applyviz.engine.planning.digest.serialize import options_from_json
from applyviz.records.enums import PlanState, Role, TokenScope
from applyviz.records.models import Plan, Review
from applyviz.sources import sandboxed
from applyviz.workflow.approvals.plan_facts import find_plan_facts
from applyviz.workflow.people import tokens
from applyviz.workflow.plans import calculation, intake, planner
from applyviz.workflow.plans.reviews import close_review
from tests.builders import grant_role, make_person
from tests.channels import simple
from tests.stories import SETTINGS, Killed, config_map

pytestmark = pytest.mark.django_db
NEW, PADDING = reverse("reviews:add-review"), "# a comment\n" * 12_000
BROKEN = config_map(a="1") + "---\nkind: ConfigMap\n  name: [\n"
CHANNEL = "kind: Addons\nmetadata: {name: bootstrap}\nspec: {addons: []}\n"


@pytest.fixture
def alice(team):
    grant_role(team.alice, Role.AUTHOR)
    browser = Client()
    browser.force_login(team.alice)
    return browser


@pytest.fixture
def parsed(monkeypatch):
    """The sources that were read before the request was answered."""
    found = []

    def note(bundle):
        found.append(bundle)
        return sandboxed.read_files(bundle)

    monkeypatch.setattr(intake, "read_files", note)
    return found


def fill(*texts, **values):
    form = {"title": "Large", "cluster": "box", "namespace": "default", "mode": "server", "field_manager": "applyviz"}
    files = [SimpleUploadedFile(f"{n}.yaml", text.encode()) for n, text in enumerate(texts)]
    return {**form, "manifests": files, **values}


def test_many_files_open_no_file_of_the_machine(team, alice, monkeypatch):
    """Of 4 MB together: Django would write each to a temporary file, and end where a process may open 1,024."""

    def refuse(*args, **kwargs):
        raise OSError(24, "Too many open files")

    monkeypatch.setattr("django.core.files.uploadedfile.TemporaryUploadedFile.__init__", refuse)
    texts = [config_map(f"c-{n}", a="1") + PADDING[:100_000] for n in range(40)]

    answer = alice.post(NEW, fill(*texts))

    assert answer.status_code == 302
    stored = [file.content.open_bytes().decode() for file in Review.objects.get().plans.get().revision.files.all()]
    assert sorted(stored) == sorted(texts)


def show(browser, address):
    return html.unescape(browser.get(address, follow=True).content.decode())


def read_outlines(browser):
    """The state and the notices of the latest review, on its page."""
    text = show(browser, reverse("reviews:show-review", args=[Review.objects.latest("pk").number]))
    return re.sub(r"\s+", " ", re.sub(r"<[^>]*>", " ", text))


def ask(team, path, body):
    _, text = tokens.make_token(by=team.alice, account=team.alice, name="ci", scope=TokenScope.PLAN, days=7)
    headers = {"authorization": f"Bearer {text}"}
    return Client().post(f"/api/v1/{path}", json.dumps(body), "application/json", headers=headers)


def body(*texts, **values):
    files = [{"name": f"{n}.yaml", "content": text} for n, text in enumerate(texts)]
    return {"title": "Large", "cluster": "box", "namespace": "default", "files": files, **values}


def test_large_manifests_are_read_after_the_answer(alice, team, parsed):
    answer = alice.post(NEW, fill(config_map(a="1") + PADDING, config_map("more", a="1"), reason="why", ticket="T-1"))
    reading = read_outlines(alice)
    listed = show(alice, reverse("reviews:list-reviews"))
    planner.make_plan(Plan.objects.get().pk)

    review = Review.objects.get()
    assert (answer.status_code, parsed, review.reason, review.ticket) == (302, [], "why", "T-1")
    assert ("Plan reading" in reading, "Reading 2 files and the cluster…" in reading) == (True, True)
    assert "Reading" in listed
    assert (Plan.objects.get().state, Plan.objects.get().counts) == (PlanState.COMPLETE, {"create": 2})
    assert team.live(SETTINGS) is None


def test_problems_of_large_manifests_have_file_and_line(alice, team, parsed):
    alice.post(NEW, fill(BROKEN + PADDING))
    planner.make_plan(Plan.objects.get().pk)

    page = read_outlines(alice)
    (problem,) = Plan.objects.get().problems
    assert (parsed, problem["file"], problem["line"]) == ([], "0.yaml", 9)
    assert f"1 document could not be read 0.yaml:9:{problem['column']}: {problem['reason']}" in page
    assert "1 problem in the manifests: fix or remove it and re-plan" in page


def test_problems_are_stored_before_the_cluster_answers(alice, team, monkeypatch):
    alice.post(NEW, fill(BROKEN + PADDING))

    def fail(claim):
        assert Plan.objects.get().problems[0]["line"] == 9
        raise ClusterError("the cluster does not answer")

    monkeypatch.setattr(planner, "_fix_account", fail)
    planner.make_plan(Plan.objects.get().pk)

    page = read_outlines(alice)
    assert Plan.objects.get().state == PlanState.FAILED
    assert "0.yaml:9:" in page
    assert "the cluster does not answer" in page


@pytest.mark.parametrize("text", [PADDING, f"---\n{PADDING}---\n"])
def test_large_manifests_without_an_object_fail_their_plan(alice, team, text):
    alice.post(NEW, fill(text))
    planner.make_plan(Plan.objects.get().pk)

    plan = Plan.objects.get()
    assert (plan.state, plan.error.partition(":")[0]) == (PlanState.FAILED, "no objects passed to apply")


def test_next_manifests_are_read_after_the_answer(alice, team, parsed):
    plan = team.plan(config_map(a="1"))
    address = reverse("reviews:replace-manifests", args=[plan.review.number])

    answer = alice.post(address, fill(config_map(a="2") + PADDING, seen=plan.number))
    status = Plan.objects.get(number=2).state
    planner.make_plan(Plan.objects.get(number=2).pk)

    assert (answer.status_code, status, parsed) == (302, PlanState.PLANNING, [])
    assert Plan.objects.get(number=2).state == PlanState.COMPLETE


@pytest.mark.parametrize(
    ("given", "count"),
    [
        (fill(config_map(a="1")), 1),
        (fill(config_map(a="1") + PADDING, text=config_map("pasted", a="1")), 1),
        (fill(config_map(a="1") + PADDING, CHANNEL), 1),
        (fill(config_map(a="1") + PADDING, title=""), 1),
        (fill(text=config_map(a="1") + PADDING), 0),
    ],
    ids=["small", "two sources", "channel", "refused form", "paste"],
)
def test_manifests_are_read_at_once_where_the_answer_depends_on_them(alice, team, parsed, given, count):
    alice.post(NEW, given)

    assert len(parsed) == count


def test_kustomizations_and_charts_are_named_at_once(alice, team, parsed):
    for name in ("kustomization.yaml", "Chart.yaml"):
        files = [SimpleUploadedFile("a.yaml", PADDING.encode()), SimpleUploadedFile(name, b"a: b\n")]
        answer = alice.post(NEW, {**fill(), "manifests": files})
        assert (answer.status_code, "To render it, enter" in html.unescape(answer.content.decode())) == (422, True)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "utf-16-be"])
def test_large_channel_has_the_field_manager_of_kops(alice, team, encoding):
    mark = "\ufeff" if encoding == "utf-16-be" else ""
    text = simple()["bootstrap-channel.yaml"] + PADDING
    listed = SimpleUploadedFile("bootstrap-channel.yaml", (mark + text).encode(encoding))
    addon = SimpleUploadedFile("v1.yaml", config_map(a="1").encode())
    alice.post(NEW, fill(manifests=[listed, addon]))

    assert options_from_json(Plan.objects.get().options).field_manager == "kops"


def test_program_learns_of_problems_with_the_plan(alice, team, parsed):
    answer = ask(team, "reviews/", body(BROKEN + PADDING))
    planner.make_plan(Plan.objects.get().pk)
    number = answer.json()["review"]["number"]
    _, text = tokens.make_token(by=team.alice, account=team.alice, name="more", scope=TokenScope.READ, days=7)
    found = Client().get(f"/api/v1/reviews/{number}/", headers={"authorization": f"Bearer {text}"}).json()

    assert (answer.status_code, answer.json()["status"], parsed) == (201, "reading", [])
    assert (found["status"], [(p["file"], p["line"]) for p in found["problems"]]) == ("blocked", [("0.yaml", 9)])


def test_program_that_names_fields_is_answered_after_reading(alice, team, parsed):
    field = "ConfigMap/default/settings .data.missing"

    refused = ask(team, "reviews/", body(config_map(a="1") + PADDING, hand_over=field))
    small = ask(team, "reviews/", body(BROKEN))
    wrong = ask(team, "reviews/", body(BROKEN + PADDING, cluster="unknown"))

    assert [one.status_code for one in (refused, small, wrong)] == [422] * 3
    assert {problem.get("line") for problem in wrong.json()["error"]["problems"]} >= {9}
    assert (len(parsed), Review.objects.count()) == (3, 0)


def test_lost_worker_leaves_the_reading_to_the_next(alice, team, monkeypatch):
    alice.post(NEW, fill(BROKEN + PADDING))
    plan, read = Plan.objects.get(), calculation.read_source

    def die(revision):
        read(revision)
        raise Killed

    monkeypatch.setattr(calculation, "read_source", die)
    with pytest.raises(Killed):
        planner.make_plan(plan.pk)
    monkeypatch.setattr(calculation, "read_source", read)
    lost = find_plan_facts([Plan.objects.get()], team.alice)[plan.pk].status
    Plan.objects.update(lease_until=clock.now() - timedelta(seconds=1))
    for number in planner.find_unfinished():
        planner.make_plan(number)

    found = Plan.objects.get()
    assert (lost, found.state, found.epoch) == ("reading", PlanState.COMPLETE, 2)
    assert [problem["line"] for problem in found.problems] == [9]


def test_review_in_the_state_reading_is_for_its_readers(alice, team):
    alice.post(NEW, fill(config_map(a="1") + PADDING))
    outsider, viewer = Client(), Client()
    outsider.force_login(make_person("zoe"))
    viewer.force_login(make_person("vera", Role.VIEWER))
    address = reverse("reviews:show-plan", args=[Review.objects.get().number, 1])

    assert [one.get(address).status_code for one in (alice, viewer, outsider)] == [200, 200, 404]


def test_closing_ends_the_state_reading(alice, team):
    alice.post(NEW, fill(config_map(a="1") + PADDING))
    close_review(Review.objects.get(), by=team.alice)

    assert "closed" in show(alice, reverse("reviews:list-reviews"))
    page = read_outlines(alice)
    assert "Closed Approve" in page
    assert "This review is closed." in page
    assert [text for text in ("Reading…", "Plan reading", "and the cluster…") if text in page] == []


def test_failed_plan_of_a_closed_review_offers_no_next_plan(alice, team):
    alice.post(NEW, fill(PADDING))
    planner.make_plan(Plan.objects.get().pk)
    close_review(Review.objects.get(), by=team.alice)

    page = read_outlines(alice)

    assert "This review is closed." in page
    assert [text for text in ("Re-plan", "An author can") if text in page] == []
