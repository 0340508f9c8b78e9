"""`audit verify` notices changes of what pages show of a run, and of comments, past the triggers."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from applyviz.records import triggers
from applyviz.records.models import ApplyRun, Comment, JournalEntry, ObjectResult
from applyviz.workflow.approvals import comments
from tests.attacks.test_forged_rights import verify
from tests.stories import Team, config_map, secret

pytestmark = [pytest.mark.attacks, pytest.mark.django_db]


@pytest.fixture
def run(team: Team) -> ApplyRun:
    """A run with a comment; the attacker holds the database, without any key."""
    run = team.apply(config_map(a="1"), secret(password="one"))
    comment = comments.add_comment(run.plan, by=team.bob, text="looks good")
    comments.edit_comment(comment, by=team.bob, text="looks very good")
    team.apply(config_map(a="2"), secret(password="two"))
    assert "refused" not in verify()
    triggers.lift("default")
    return run


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
    "comment": (lambda run: Comment.objects.update(text="I object"), "it was not made by this installation"),
    "who commented": (lambda run: Comment.objects.update(by=run.plan.requested_by), "it was not made"),
    "earlier text": (change_earlier_text, "it was not made by this installation"),
    "comment is gone": (lambda run: Comment.objects.all().delete(), "it is missing"),
}


@pytest.mark.core(6)
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
