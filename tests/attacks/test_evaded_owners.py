"""The owners of a file are not evaded by another name, another folder, or by removing its objects."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from django.contrib.auth.models import User
from pytest_django import DjangoDbBlocker

from applyviz.engine.objects.errors import SourceError
from applyviz.engine.requests.options import ApplyMode, Prune, PruneMode
from applyviz.records.enums import Role
from applyviz.records.models import Plan
from applyviz.sources.upload import clean_name, collect
from applyviz.workflow import policies
from applyviz.workflow.approvals import approving, quorum
from applyviz.workflow.foundation import sentences
from applyviz.workflow.people import teams
from applyviz.workflow.plans import planner
from applyviz.workflow.policies.owners import OwnedObject, OwnerOf, OwnerRule, owns
from tests.builders import acknowledge_all, make_person, make_policy, open_dangers
from tests.shared_stories import SharedStory, share_story
from tests.stories import Team, config_map

pytestmark = [pytest.mark.attacks, pytest.mark.django_db]
FILE = "deploy/payments/app.yaml"
PAYMENTS = OwnerRule(OwnerOf.FILE, "deploy/payments/", "payments")
PRUNE = {"prune": Prune(PruneMode.ALLOWLIST, ("core/v1/ConfigMap",), is_all=True), "mode": ApplyMode.CLIENT}


def make_plan(team: Team, name: str, text: str, **options: object) -> Plan:
    review = team.review({name: text}, **options)
    planner.make_plan(review.plans.get().pk)
    return review.plans.get()


def name_demands(plan: Plan) -> list[str]:
    return [one.team for one in policies.find_demands(plan, policies.find_policy(plan)) if one.team]


def play(team: Team) -> None:
    """Objects were applied from a folder of the team payments, whose approval its files need since."""
    texts = config_map(a="1"), config_map("other", a="1")
    assert team.work(team.start(make_plan(team, FILE, "---\n".join(texts), **PRUNE))).state == "applied"
    root = make_person("root", Role.ADMINISTRATOR)
    teams.add_member(
        teams.create_team(by=root, slug="payments", name="Payments"), make_person("pay", Role.APPROVER), by=root
    )
    make_policy("owned", approvals=1, owners=(PAYMENTS,))


@pytest.fixture(scope="module")
def played(django_db_setup: None, django_db_blocker: DjangoDbBlocker) -> Iterator[SharedStory]:
    """The story, played once."""
    yield from share_story(django_db_blocker, play)


@pytest.fixture
def owned(played: SharedStory, db: None, monkeypatch: pytest.MonkeyPatch) -> Team:
    """The same for one test."""
    return played.go_on(monkeypatch)


@pytest.mark.core(1)
@pytest.mark.parametrize(
    "name", ["app.yaml", "Deploy/payments/app.yaml", "deploy/payments-2/app.yaml", "deploy/payments/../../app.yaml"]
)
def test_renamed_file_needs_its_owners(owned: Team, name: str) -> None:
    plan = make_plan(owned, name, config_map(a="2"))
    acknowledge_all(plan, owned.bob)
    open_dangers(plan, owned.bob)

    assert name_demands(plan) == ["payments"]
    approving.approve_plan(plan, by=owned.bob, digest=plan.digest)
    assert sentences.describe_all(quorum.count_quorum(plan).lacking) == ("1 approval from team payments missing",)


def test_object_that_is_left_out_and_pruned_needs_its_owners(owned: Team) -> None:
    plan = make_plan(owned, "mine.yaml", config_map("third", a="1"), **PRUNE)

    assert {row.operation for row in plan.changes.all()} == {"create", "prune"}
    assert name_demands(plan) == ["payments"]


def test_object_that_is_applied_in_another_group_needs_the_owners_of_its_file(owned: Team) -> None:
    fields = (
        "type: Normal, action: Pull, reason: Pulled, reportingInstance: node-a,"
        ' eventTime: "2026-11-20T09:00:00.000000Z", reporting'
    )
    about = "{kind: Pod, name: a, namespace: default}"
    first = f"{{apiVersion: v1, kind: Event, metadata: {{name: e}}, involvedObject: {about}, {fields}Component: a}}"
    named = "metadata: {name: e, labels: {a: b}}"
    again = f"{{apiVersion: events.k8s.io/v1, kind: Event, {named}, regarding: {about}, {fields}Controller: a}}"
    plan = make_plan(owned, FILE, first)
    for who in (owned.bob, User.objects.get(username="pay")):
        acknowledge_all(plan, who)
        open_dangers(plan, who)
        approving.approve_plan(plan, by=who, digest=plan.digest)
    assert owned.work(owned.start(plan)).state == "applied"

    assert name_demands(make_plan(owned, "mine.yaml", again)) == ["payments"]


def test_owners_of_the_old_file_are_asked_until_it_has_moved(owned: Team) -> None:
    plan = make_plan(owned, "app.yaml", config_map(a="2"))
    assert name_demands(plan) == ["payments"]
    acknowledge_all(plan, owned.bob)
    for who in (owned.bob, User.objects.get(username="pay")):
        open_dangers(plan, who)
        approving.approve_plan(plan, by=who, digest=plan.digest)
    assert owned.work(owned.start(plan)).state == "applied"

    assert name_demands(make_plan(owned, "app.yaml", config_map(a="3"))) == []


def test_new_object_in_another_file_needs_no_owners(owned: Team) -> None:
    assert name_demands(make_plan(owned, "mine.yaml", config_map("third", a="1"))) == []


@pytest.mark.parametrize("name", ["../a.yaml", "a/../../a.yaml", "/etc/a.yaml", "c:/a.yaml", "..\\a.yaml"])
def test_name_of_an_upload_leads_nowhere(name: str) -> None:
    with pytest.raises(SourceError):
        collect([(name, b"a: 1")])


@pytest.mark.parametrize("name", [f"./{FILE}", "deploy//payments/app.yaml", "deploy\\payments\\app.yaml"])
def test_other_spellings_of_a_file_have_its_owners(name: str) -> None:
    assert owns(PAYMENTS, OwnedObject("core/ConfigMap", clean_name(name)))
