"""Questions whose answers are sealed for the asking process alone: replies of sandboxes, files of repositories."""

from __future__ import annotations

import json
from datetime import timedelta
from functools import lru_cache

from applyviz import sealing_keys
from applyviz.engine.objects.structs import replace
from applyviz.engine.objects.values import JSONValue
from applyviz.records.models import WorkerRequest
from applyviz.records.worker_enums import WorkerRequestState
from applyviz.workflow.foundation.worker_questions import WorkerQuestion, is_forged, read_answer, store_question, wait


@lru_cache(maxsize=1)
def _reply_key() -> str:
    """Return the decryption key of this process, for answers to itself; it is stored nowhere."""
    return sealing_keys.make_opening_key()


def ask_sealed(question: WorkerQuestion, *, patience: timedelta) -> JSONValue:
    """Return the answer of a worker, which is deleted then; raises as `worker_questions.read_answer` does."""
    sealed = replace(question, reply_to=sealing_keys.sealing_key_of(_reply_key()))
    worker_request = wait(store_question(sealed, patience=patience), patience.total_seconds())
    is_whole = worker_request.state == WorkerRequestState.DONE and not is_forged(worker_request)
    if not is_whole or worker_request.sealed_result is None:
        read_answer(worker_request)
        return {}
    answer = sealing_keys.unseal(bytes(worker_request.sealed_result), [_reply_key()], worker_request.answer_location)
    received: JSONValue = json.loads(answer)
    WorkerRequest.objects.filter(pk=worker_request.pk).delete()
    return received
