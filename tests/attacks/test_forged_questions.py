"""A worker answers no request that was forged in the database, and no page shows a forged answer.

A worker acts with the rights of the person who asks: a forged request for a revert would create a review in an author's
name, with every MAC, and the person who forged it could approve it.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import timedelta

import pytest
from django.contrib.auth.models import User

from applyviz import clock, sealing_keys
from applyviz.engine.objects.values import JSONObject, JSONValue
from applyviz.records.models import ApplyRun, Review, WorkerRequest
from applyviz.records.sealing import Sealed
from applyviz.records.worker_enums import WorkerRequestKind, WorkerRequestState
from applyviz.workflow import worker_requests
from applyviz.workflow.foundation import worker_questions
from applyviz.workflow.foundation.worker_questions import RefusedError, WorkerQuestion
from applyviz.workflow.worker_requests import handlers
from applyviz.workflow.worker_requests.sealed_answers import ask_sealed
from tests.builders import make_person
from tests.stories import Team, config_map

pytestmark = [pytest.mark.attacks, pytest.mark.django_db]
ANSWER = {"version": "v9", "forged": True}
FORGED = "the question is forged: it was not made by this installation"
DONE = WorkerRequestState.DONE


@pytest.fixture
def run(team: Team) -> ApplyRun:
    return team.apply(config_map(a="1"))


def insert(kind: WorkerRequestKind, by: User, content: JSONObject, **columns: object) -> WorkerRequest:
    """Insert the row that the web process would store, without its key."""
    now = clock.now()
    return WorkerRequest.objects.create(
        kind=kind,
        key=WorkerQuestion(kind, by, None, content).key,
        asked_by=by,
        question=content,
        created_at=now,
        expires_at=now + timedelta(minutes=1),
        **columns,
    )


def ask_undo(run: ApplyRun, by: User) -> WorkerRequest:
    return worker_questions.store_question(WorkerQuestion(WorkerRequestKind.UNDO, by, None, {"run": run.number}))


def during(monkeypatch: pytest.MonkeyPatch, happens: Callable[[], object]) -> None:
    """Let something happen in the database when a worker has claimed a question and before it acts."""
    prepare = handlers.prepare

    def prepare_late(kind: WorkerRequestKind, asked: handlers.Asked) -> handlers.Act:
        happens()
        return prepare(kind, asked)

    monkeypatch.setattr(handlers, "prepare", prepare_late)


def work(request: WorkerRequest) -> WorkerRequest:
    worker_requests.answer_worker_request(request.pk)
    request.refresh_from_db()
    return request


@pytest.mark.parametrize("mac", ["", "0" * 64])
def test_a_revert_that_was_inserted_opens_no_review(team: Team, run: ApplyRun, mac: str) -> None:
    request = work(insert(WorkerRequestKind.UNDO, team.alice, {"run": run.number}, mac=mac))

    assert (request.state, Review.objects.count()) == (WorkerRequestState.REFUSED, 1)
    assert request.reasons == [FORGED]


CHANGES: dict[str, Callable[[Team], dict[str, object]]] = {
    "another person": lambda team: {"asked_by": team.alice},
    "another question": lambda team: {"question": {"run": 1, "only_lost": True}},
    "another kind": lambda team: {"kind": WorkerRequestKind.RUN_HEALTH},
    "another origin": lambda team: {"origin": {"session": "s", "address": "10.0.0.1", "agent": ""}},
    "another secret": lambda team: {"sealed": Sealed(b"another")},
    "another reader": lambda team: {"reply_to": "x" * 40},
    "another cluster": lambda team: {"cluster": team.cluster},
    "another key": lambda team: {"key": "0" * 64},
    "another time": lambda team: {"created_at": clock.now() - timedelta(seconds=9)},
    "a later end": lambda team: {"expires_at": clock.now() + timedelta(days=1)},
}


@pytest.mark.parametrize("name", CHANGES)
def test_a_question_that_was_changed_is_not_answered(team: Team, run: ApplyRun, name: str) -> None:
    request = ask_undo(run, make_person("ina"))
    WorkerRequest.objects.filter(pk=request.pk).update(**CHANGES[name](team))

    request = work(request)

    assert (request.state, Review.objects.count()) == (WorkerRequestState.REFUSED, 1)
    assert request.reasons == [FORGED]


RACES: dict[str, Callable[[Team], dict[str, object]]] = {
    **CHANGES,
    "another person": lambda team: {"asked_by": team.bob},
    "another MAC": lambda team: {"mac": "0" * 64},
    "an answer beside it": lambda team: {"result": {"detail": "as you like"}, "sealed_result": b"x"},
}


@pytest.mark.parametrize("name", RACES)
def test_an_answer_is_not_stored_for_a_question_that_changed_meanwhile(
    team: Team, run: ApplyRun, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    request = ask_undo(run, team.alice)
    during(monkeypatch, lambda: WorkerRequest.objects.filter(pk=request.pk).update(**RACES[name](team)))

    request = work(request)

    assert (request.state, request.result, request.sealed_result) == (WorkerRequestState.REFUSED, None, None)
    assert request.reasons == [FORGED]
    assert Review.objects.count() == 1  # what the worker did for the first question is undone


def test_a_refusal_is_not_stored_for_a_question_that_changed_meanwhile(
    team: Team, run: ApplyRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    request = ask_undo(run, make_person("vic"))
    during(monkeypatch, lambda: WorkerRequest.objects.filter(pk=request.pk).update(asked_by=team.alice))

    assert work(request).reasons == [FORGED]


def test_an_answer_is_not_stored_for_another_question_that_took_its_number(
    team: Team, run: ApplyRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    request, other = ask_undo(run, team.alice), ask_undo(run, team.bob)

    def replace() -> None:
        """Number the other question like the first one, as a sequence that was set back would, and vouch for it."""
        WorkerRequest.objects.filter(pk=request.pk).delete()
        WorkerRequest.objects.filter(pk=other.pk).update(id=request.pk, attempts=1)
        worker_questions.vouch_stored(request.pk)

    during(monkeypatch, replace)

    assert work(request).reasons == ["the question is forged: another question took its number"]
    assert Review.objects.count() == 1


def test_a_question_is_not_asked_again_by_a_copy(team: Team, run: ApplyRun) -> None:
    first = ask_undo(run, team.alice)
    copy = WorkerRequest.objects.get(pk=first.pk)
    copy.pk = None
    copy.save()

    assert work(first).state == WorkerRequestState.DONE
    assert work(copy).state == WorkerRequestState.REFUSED
    assert Review.objects.count() == 2


def test_an_answer_that_was_inserted_is_not_used(team: Team) -> None:
    question = WorkerQuestion(WorkerRequestKind.STATE, team.alice, team.cluster)
    now = clock.now()
    WorkerRequest.objects.create(
        kind=question.kind,
        key=question.key,
        asked_by=team.alice,
        cluster=team.cluster,
        state=WorkerRequestState.DONE,
        result=ANSWER,
        created_at=now,
        finished_at=now,
        expires_at=now + timedelta(minutes=1),
    )

    assert worker_questions.peek(question) is None  # it is asked for, and no worker is there
    assert WorkerRequest.objects.count() == 2


@pytest.mark.parametrize("changed", [ANSWER, None])
def test_an_answer_that_was_changed_is_not_shown(team: Team, changed: JSONValue) -> None:
    question = WorkerQuestion(WorkerRequestKind.STATE, team.alice, team.cluster)
    request = work(worker_questions.store_question(question))
    assert worker_questions.read_answer(request)
    WorkerRequest.objects.filter(pk=request.pk).update(result=changed)
    request.refresh_from_db()

    with pytest.raises(RefusedError, match="changed in the database"):
        worker_questions.read_answer(request)
    assert worker_questions.peek(question) is None


@pytest.mark.parametrize("is_answered", [False, True])
def test_a_sealed_answer_of_another_is_not_used(team: Team, monkeypatch: pytest.MonkeyPatch, is_answered: bool) -> None:
    """Whoever reads the key of a reply can encrypt for it: what git sent, or the versions of a cluster."""

    def forge(_seconds: float) -> None:
        row = WorkerRequest.objects.get()
        answer = sealing_keys.seal(json.dumps(ANSWER).encode(), row.reply_to, row.answer_location)
        WorkerRequest.objects.filter(pk=work(row).pk if is_answered else row.pk).update(
            sealed_result=answer, **({} if is_answered else {"state": DONE, "finished_at": clock.now()})
        )

    monkeypatch.setattr(worker_questions, "pause", forge)
    question = WorkerQuestion(WorkerRequestKind.STATE, team.alice, team.cluster)

    with pytest.raises(RefusedError, match="changed in the database"):
        ask_sealed(question, patience=timedelta(seconds=5))


def test_a_refusal_is_genuine_too(team: Team, run: ApplyRun) -> None:
    request = work(ask_undo(run, make_person("vic")))
    assert request.state == WorkerRequestState.REFUSED

    with pytest.raises(RefusedError) as genuine:
        worker_questions.read_answer(request)

    assert genuine.value.status in (403, 404)
    stored = {name: getattr(request, name) for name in ("reasons", "status", "state", "finished_at")}
    changed = {"reasons": ["call the number below"], "status": 202, "state": DONE, "finished_at": clock.now()}
    for name, value in changed.items():
        WorkerRequest.objects.filter(pk=request.pk).update(**{**stored, name: value})
        request.refresh_from_db()
        with pytest.raises(RefusedError, match="changed in the database"):
            worker_questions.read_answer(request)
