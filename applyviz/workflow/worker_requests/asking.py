"""Asking where this process may decrypt: it answers at once, with the same result and the same refusals as a worker."""

from __future__ import annotations

from applyviz.engine.objects.errors import ApplyVizError
from applyviz.engine.objects.values import JSONValue
from applyviz.records.sealing import can_open
from applyviz.workflow.foundation import worker_questions
from applyviz.workflow.foundation.errors import WorkflowError
from applyviz.workflow.foundation.worker_questions import WAIT_SECONDS, RefusedError, WorkerQuestion
from applyviz.workflow.worker_requests import handlers


def _answer_here(question: WorkerQuestion) -> JSONValue:
    try:
        return handlers.prepare(
            question.kind, handlers.Asked(question.by, question.cluster, question.content, question.secret)
        )()
    except WorkflowError:
        raise
    except ApplyVizError as error:
        raise RefusedError.of(error) from error


def ask(question: WorkerQuestion, *, after: int = 0) -> JSONValue:
    """Return the answer to a question without side effects; in this process where it can decrypt.

    - Raises `WaitingError` when it takes longer than a moment, `UnansweredError`, or the refusal of the use case.
    """
    return _answer_here(question) if can_open() else worker_questions.ask_worker(question, after=after)


def send(question: WorkerQuestion, *, seconds: float = WAIT_SECONDS) -> JSONValue:
    """Return the answer to a question with side effects, sent every time; waits so long. Raises as `ask` does."""
    if can_open():
        return _answer_here(question)
    sent = worker_questions.store_question(question)
    return worker_questions.read_answer(worker_questions.wait(sent, seconds))


def peek(question: WorkerQuestion) -> JSONValue | None:
    """Return the answer if it exists; else ask a worker and wait only briefly."""
    return _answer_here(question) if can_open() else worker_questions.peek(question)
