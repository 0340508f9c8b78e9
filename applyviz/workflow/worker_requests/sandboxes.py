"""kubectl requests to a sandbox, answered by a worker and encrypted in both directions.

A watch is answered in parts, each its own question, sent when there is something to report: no worker is occupied while
nothing happens.
"""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Mapping
from datetime import timedelta
from functools import lru_cache

from applyviz import hpke
from applyviz.engine.objects.values import JSONObject
from applyviz.records.enums import WorkerRequestKind, WorkerRequestState
from applyviz.records.models import Cluster, WorkerRequest
from applyviz.records.sealing import can_open
from applyviz.sandbox.api.http import Response, WatchPart, WatchPosition, refuse_watch
from applyviz.workflow.clusters import sandboxes
from applyviz.workflow.worker_requests.asking import WorkerQuestion, store_question, wait
from applyviz.workflow.worker_requests.wire import read_part, read_response

_PATIENCE = timedelta(seconds=30)


@lru_cache(maxsize=1)
def _reply_key() -> str:
    """Return the decryption key of this process, for answers to itself; it is stored nowhere."""
    return hpke.make_opening_key()


def _ask_worker(cluster: Cluster, content: JSONObject) -> JSONObject | None:
    """Return the answer of a worker, None when none answered in time."""
    question = WorkerQuestion(
        WorkerRequestKind.SANDBOX,
        cluster=cluster,
        secret=json.dumps(content).encode(),
        reply_to=hpke.sealing_key_of(_reply_key()),
    )
    worker_request = wait(store_question(question, patience=_PATIENCE), _PATIENCE.total_seconds())
    if worker_request.state != WorkerRequestState.DONE or worker_request.sealed_result is None:
        return None
    received: JSONObject = json.loads(hpke.unseal(bytes(worker_request.sealed_result), [_reply_key()]))
    WorkerRequest.objects.filter(pk=worker_request.pk).delete()
    return received


def answer_kubectl(
    cluster: Cluster, *, method: str, path: str, query: str, headers: Mapping[str, str], body: bytes
) -> Response:
    """Answer one HTTP request as a sandbox's API server.

    - A web process checks the token and forwards the rest encrypted; the answer is encrypted for this process alone.
    """
    if can_open():
        return sandboxes.answer_http(cluster, method=method, path=path, query=query, headers=headers, body=body)
    refused = sandboxes.refuse_stranger(cluster, headers)
    if refused is not None:
        return refused
    question = {
        "method": method,
        "path": path,
        "query": query,
        "headers": dict(headers),
        "body": b64encode(body).decode(),
    }
    received = _ask_worker(cluster, question)
    return sandboxes.NO_WORKER if received is None else read_response(received)


def answer_watch(
    cluster: Cluster,
    *,
    path: str,
    query: str,
    headers: Mapping[str, str],
    position: WatchPosition | None = None,
    has_bookmark: bool = False,
) -> WatchPart:
    """Answer a part of a watch, as `answer_kubectl` answers a request; see `clusters.sandboxes.answer_watch`."""
    if can_open():
        return sandboxes.answer_watch(
            cluster, path=path, query=query, headers=headers, position=position, has_bookmark=has_bookmark
        )
    refused = sandboxes.refuse_stranger(cluster, headers)
    if refused is not None:
        return refuse_watch(refused)
    given = list(position) if position is not None else None
    question = {
        "path": path, "query": query, "headers": dict(headers), "position": given, "has_bookmark": has_bookmark,
    }  # fmt: skip
    received = _ask_worker(cluster, question)
    return refuse_watch(sandboxes.NO_WORKER) if received is None else read_part(received)
