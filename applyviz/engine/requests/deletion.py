"""Delete an object so that it can be created again: delete, then read until it is gone.

Rule: `kubectl apply --force`. The driver of the flow paces the reads, one per second; there are as many reads as
seconds to wait, so the loop ends.
"""

from __future__ import annotations

from applyviz.engine.objects.values import JSONObject
from applyviz.engine.requests.calls import RequestTarget
from applyviz.engine.requests.flow import AnswerError, Deletion, Flow, is_not_found, refusal, send


def _is_gone(target: RequestTarget, deletion: Deletion) -> Flow[bool]:
    for _ in range(1 + max(deletion.timeout, 0)):
        answer = yield target.read()
        if is_not_found(answer):
            return True
        if not answer.is_ok:
            raise refusal(target.read(), answer)
    return False


def delete_and_wait(target: RequestTarget, live: JSONObject, deletion: Deletion) -> Flow[None]:
    """Delete the object and wait until it is gone.

    - Raises `AnswerError` if the server refuses, or if the object still exists when the time is over.
    """
    request = target.delete(deletion, live)
    yield from send(request)
    if not (yield from _is_gone(target, deletion)):
        raise AnswerError(f"{target.ref} is still there: context deadline exceeded", 0, request)
