"""`audit verify` notices changes of what pages show of a run, and of comments, past the triggers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from copy import deepcopy

import pytest
from django.db.models import JSONField, Value
from pytest_django import DjangoDbBlocker

from applyviz.records import triggers
from applyviz.records.enums import Role
from applyviz.records.models import ApplyRun, AuditEntry, Comment, JournalEntry, ObjectResult
from applyviz.workflow.approvals import comments
from applyviz.workflow.foundation.errors import NotPossibleError
from applyviz.workflow.foundation.grant_scopes import Scope
from applyviz.workflow.people import teams
from applyviz.workflow.policies import Rules, editing
from tests.attacks.test_forged_rights import verify
from tests.builders import make_person
from tests.shared_rows import share_rows
from tests.stories import Team, config_map, secret

pytestmark = [pytest.mark.attacks, pytest.mark.django_db]


def play() -> tuple[Team, ApplyRun]:
    """A run with a comment; another one follows it."""
    team = Team()
    run = team.apply(config_map(a="1"), secret(password="one"))
    comment = comments.add_comment(run.plan, by=team.bob, content=comments.check_content("looks good"))
    comments.edit_comment(comment, by=team.bob, text="looks very good")
    team.apply(config_map(a="2"), secret(password="two"))
    assert "refused" not in verify()
    return team, run


@pytest.fixture(scope="module")
def played(django_db_setup: None, django_db_blocker: DjangoDbBlocker) -> Iterator[tuple[Team, ApplyRun]]:
    """The team and its runs, made once."""
    yield from share_rows(django_db_blocker, play)


@pytest.fixture
def story(played: tuple[Team, ApplyRun], db: None) -> tuple[Team, ApplyRun]:
    """The same for one test."""
    return deepcopy(played)


@pytest.fixture
def team(story: tuple[Team, ApplyRun]) -> Team:
    return story[0]


@pytest.fixture
def run(story: tuple[Team, ApplyRun]) -> ApplyRun:
    """The first run; the attacker holds the database, without any key."""
    triggers.lift("default")
    return story[1]


def change_answer(run: ApplyRun) -> None:
    JournalEntry.objects.filter(result__run=run).update(answer={"kind": "ConfigMap", "data": {"a": "2"}})


def change_earlier_text(run: ApplyRun) -> None:
    Comment.objects.update(earlier=[])


CHANGES: dict[str, tuple[Callable[[ApplyRun], object], str]] = {
    "outcome": (lambda run: run.results.update(outcome="failed"), "records applied"),
    "detail": (lambda run: run.results.update(detail="it was another one"), "records applied"),
    "differences": (lambda run: run.results.update(differences=[{"path": "data.a"}]), "records applied"),
    "request": (
        lambda run: JournalEntry.objects.filter(result__run=run).update(request={"data": {"a": "2"}}),
        "no audit entry records this request",
    ),
    "path": (lambda run: JournalEntry.objects.update(path="/api/v1/nodes"), "no audit entry records this request"),
    "answer": (change_answer, "its answer is not the recorded one"),
    "status": (lambda run: JournalEntry.objects.update(status=403), "its answer is not the recorded one"),
    "request is gone": (lambda run: JournalEntry.objects.filter(result__run=run).delete(), "is missing"),
    "state": (lambda run: ApplyRun.objects.filter(pk=run.pk).update(state="failed"), "records applied"),
    "error": (lambda run: ApplyRun.objects.filter(pk=run.pk).update(error="no"), "records another error"),
    "rollout": (lambda run: run.results.update(rollout="ready"), "records other rollouts"),
    "summary": (
        lambda run: ApplyRun.objects.filter(pk=run.pk).update(summary={"unchanged": 2}),
        "its summary is not that of its results",
    ),
    "comment": (lambda run: Comment.objects.update(text="I object"), "it was not made by this installation"),
    "who commented": (lambda run: Comment.objects.update(by=run.plan.requested_by), "it was not made"),
    "earlier text": (change_earlier_text, "it was not made by this installation"),
    "comment is gone": (lambda run: Comment.objects.all().delete(), "it is missing"),
}


@pytest.mark.core(3)
@pytest.mark.parametrize("what", CHANGES)
def test_what_was_changed_is_named(run: ApplyRun, what: str) -> None:
    change, told = CHANGES[what]
    change(run)

    said = verify()
    assert said.startswith("refused")
    assert told in said


def test_inserted_request_is_named(run: ApplyRun) -> None:
    row = JournalEntry.objects.filter(result__run=run).first()
    assert row is not None
    content = row.sealed_request.open_bytes()
    assert content
    row.pk, row.sequence = None, 9
    row.save(force_insert=True)

    assert "no audit entry records this request" in verify()


def test_result_of_an_object_that_was_never_written_is_named(team: Team) -> None:
    run = team.start(team.plan(config_map(a="1")))
    ApplyRun.objects.filter(pk=run.pk).update(finished_at=run.created_at)
    triggers.lift("default")
    ObjectResult.objects.update(outcome="applied")

    said = verify()
    assert "no audit entry records it" in said
    assert "no audit entry records its end" in said


def empty(entry: AuditEntry) -> object:
    return {}


def take_for_a_list(entry: AuditEntry) -> object:
    return list(entry.detail)


def take_for_nothing(entry: AuditEntry) -> object:
    return Value(None, JSONField())


def nest(entry: AuditEntry) -> object:
    """Every value is of another type."""
    return {name: [{"of": "another type"}] for name in entry.detail}


@pytest.mark.core(1)
@pytest.mark.parametrize("change", [empty, take_for_a_list, take_for_nothing, nest])
def test_details_of_other_entries_end_in_findings_never_in_an_error(
    run: ApplyRun, change: Callable[[AuditEntry], object]
) -> None:
    """Verification reads them: results, requests, ends of runs, comments, rights, accounts and policies."""
    ida = make_person("ida", Role.ADMINISTRATOR)
    editing.save_policy("prod", by=ida, scope=Scope(), rules=Rules())
    teams.add_member(teams.create_team(by=ida, slug="ops", name="Ops"), run.plan.requested_by, by=ida)
    for entry in AuditEntry.objects.order_by("pk"):
        AuditEntry.objects.filter(pk=entry.pk).update(detail=change(entry))

    said = verify()
    assert said.startswith("refused")
    assert "its body is not what was written" in said


@pytest.mark.core(1)
@pytest.mark.parametrize("forged", ["text", "by"])
def test_edit_confirms_no_comment_that_was_changed(run: ApplyRun, forged: str) -> None:
    """Else a person who changed it in the database would have its author, or themselves, confirm it."""
    mallory = run.plan.requested_by
    Comment.objects.update(**{"by": mallory} if forged == "by" else {"text": "I object"})
    comment = Comment.objects.get()

    with pytest.raises(NotPossibleError, match="outside of this installation"):
        comments.edit_comment(comment, by=comment.by, text="fine")
    assert "comment" in verify()
