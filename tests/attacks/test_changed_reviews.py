"""A resolution, author or scope of a review that is changed in the database, even past triggers, is noticed."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
import yaml
from django.db import DatabaseError, transaction
from django.utils import timezone
from pytest_django import DjangoDbBlocker

from applyviz.engine.planning.conflicts.resolutions import ResolutionKind
from applyviz.records import triggers
from applyviz.records.enums import AuditAction
from applyviz.records.models import AuditEntry, Cluster, Plan, Resolution, Review, ReviewScope
from applyviz.workflow.audit import recorded_reviews
from applyviz.workflow.audit.entries import stream_entries
from applyviz.workflow.plans import changes, planner, resolutions, reviews
from tests.attacks.test_forged_rights import verify
from tests.shared_stories import SharedStory, share_story
from tests.stories import SETTINGS, Team, config_map

pytestmark = [pytest.mark.attacks, pytest.mark.django_db]
SHARE = ResolutionKind.SHARE
SPACE = "apiVersion: v1\nkind: Namespace\nmetadata: {name: shop}\n"


def play(team: Team) -> None:
    """A conflict is resolved, the resolution undone and made again, and another review is in two namespaces."""
    team.apply(config_map(a="1"))
    team.edit(SETTINGS, {"data": {"a": "by hand"}})
    first = team.plan(config_map(a="2"))
    made = decide(team, first.review)
    reviews.replan_review(made.review, by=team.alice, undone=0)
    planner.make_plan(made.review.plans.get(number=3).pk)
    decide(team, first.review)
    team.plan(
        SPACE, yaml.safe_dump({**yaml.safe_load(config_map(a="3")), "metadata": {"name": "a", "namespace": "shop"}})
    )
    assert "refused" not in verify()


def decide(team: Team, review: Review) -> Plan:
    latest = review.plans.order_by("-number")[0]
    choices = resolutions.choose_everywhere(latest, ResolutionKind.OVERWRITE)
    following = reviews.replan_review(review, by=team.alice, choices=choices, note="agreed")
    planner.make_plan(following.pk)
    following.refresh_from_db()
    return following


@pytest.fixture(scope="module")
def played(django_db_setup: None, django_db_blocker: DjangoDbBlocker) -> Iterator[SharedStory]:
    yield from share_story(django_db_blocker, play)


@pytest.fixture
def team(played: SharedStory, db: None, monkeypatch: pytest.MonkeyPatch) -> Team:
    return played.go_on(monkeypatch)


def resolve_another(team: Team, review: Review) -> None:
    latest = review.plans.order_by("-number")[0]
    made = resolutions.Choice(changes.ref_of(latest.changes.get()), ("f:data", "f:a"), "kubectl-edit", SHARE)
    resolutions._record(latest, made.ref, [made], by=team.alice, note="meanwhile")


def change(**fields: object) -> Callable[[Team], object]:
    return lambda team: Resolution.objects.filter(undone_at=None).update(**fields)


def insert(team: Team) -> None:
    row = Resolution.objects.latest("pk")
    row.pk, row.by = None, team.bob
    row.save()


CHANGES: dict[str, tuple[Callable[[Team], object], str]] = {
    "another person resolved it": (lambda team: Resolution.objects.update(by=team.bob), "no audit entry records it"),
    "another resolution": (change(choice="share"), "no audit entry records it"),
    "another note": (change(note="ordered by Bob"), "no audit entry records it"),
    "another manager": (change(manager="helm"), "no audit entry records it"),
    "another field": (change(elements=["f:data", "f:b"]), "no audit entry records it"),
    "no field": (change(elements=["data", 1]), "no audit entry records it"),
    "inserted": (insert, "no audit entry records it"),
    "removed": (lambda team: Resolution.objects.latest("pk").delete(), "it is missing or differs"),
    "put back": (
        lambda team: Resolution.objects.update(undone_at=None, undone_by=None),
        "the audit log says that it was undone",
    ),
    "undone": (
        lambda team: Resolution.objects.update(undone_at=timezone.now(), undone_by=team.bob),
        "no audit entry records that it was undone",
    ),
    "another author": (lambda team: Review.objects.update(author=team.bob), "says that alice created it"),
    "a scope is another": (
        lambda team: ReviewScope.objects.filter(namespace="shop").update(namespace="dev"),
        "(namespace shop): it is missing",
    ),
    "a scope of another cluster": (
        lambda team: ReviewScope.objects.update(
            cluster=Cluster.objects.create(slug="other", name="Other", kind="sandbox", created_at=timezone.now())
        ),
        "they are missing",
    ),
    "a scope is removed": (
        lambda team: ReviewScope.objects.filter(namespace="").delete(),
        "(cluster-scoped objects): it is missing",
    ),
    "all scopes are removed": (lambda team: ReviewScope.objects.all().delete(), "they are missing"),
}


@pytest.mark.parametrize("name", CHANGES)
def test_verification_names_what_was_changed(team: Team, name: str) -> None:
    act, said = CHANGES[name]
    triggers.lift("default")

    act(team)

    assert said in verify()


def test_what_people_do_during_the_verification_is_no_fault(team: Team, monkeypatch: pytest.MonkeyPatch) -> None:
    """Entries and rows are read one after the other: between them, a conflict is resolved."""
    waiting = [Review.objects.earliest("pk")]

    def stream(action: AuditAction) -> Iterator[AuditEntry]:
        yield from stream_entries(action)
        if action == AuditAction.CONFLICT_RESOLVED and waiting:
            resolve_another(team, waiting.pop())

    monkeypatch.setattr(recorded_reviews, "stream_entries", stream)

    assert "refused" not in verify()
    assert not waiting


def test_a_fault_is_named_whatever_people_do(team: Team, monkeypatch: pytest.MonkeyPatch) -> None:
    triggers.lift("default")
    Resolution.objects.filter(undone_at=None).update(note="ordered by Bob")

    assert verify().count("no audit entry records it") == 1


@pytest.mark.parametrize("name", sorted(CHANGES.keys() - {"inserted", "another author", "undone"}))
def test_the_database_refuses_it(team: Team, name: str) -> None:
    with pytest.raises(DatabaseError), transaction.atomic():
        CHANGES[name][0](team)
