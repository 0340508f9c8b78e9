"""kubectl requests to a sandbox, answered by a worker and encrypted in both directions.

A watch is answered in parts, each its own question, sent when there is something to report: no worker is occupied while
nothing happens.
"""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Mapping
from datetime import timedelta

import msgspec
from django.utils.translation import gettext as _

from applyviz.clusters import sandbox
from applyviz.engine.objects.accessors import as_mapping, as_text
from applyviz.engine.objects.values import JSONObject, JSONValue
from applyviz.records.models import Cluster
from applyviz.records.sealing import can_open
from applyviz.records.worker_enums import WorkerRequestKind
from applyviz.sandbox.api.http import Response, WatchPart, WatchPosition, refuse_watch
from applyviz.workflow.clusters import sandboxes
from applyviz.workflow.foundation.access import Person
from applyviz.workflow.foundation.errors import NotPossibleError
from applyviz.workflow.foundation.worker_questions import RefusedError, UnfinishedError, WorkerQuestion
from applyviz.workflow.worker_requests.sealed_answers import ask_sealed

_PATIENCE = timedelta(seconds=30)


def _ask_worker(cluster: Cluster, content: JSONObject, *, by: Person | None = None) -> JSONValue:
    """Return the answer of a worker, None when none answered in time."""
    question = WorkerQuestion(WorkerRequestKind.SANDBOX, by=by, cluster=cluster, secret=json.dumps(content).encode())
    try:
        return ask_sealed(question, patience=_PATIENCE)
    except (UnfinishedError, RefusedError):
        return None


def read_kubeconfig(cluster: Cluster, *, address: str, by: Person) -> str:
    """Return the kubeconfig of a sandbox for a person who may apply to all of it.

    - A web process checks the right, and a worker checks it again; the answer is encrypted for this process alone.
    - Raises `NotVisibleError` for another kind of cluster, `NotAllowedError`, and `NotPossibleError` without a worker.
    """
    sandboxes.require_kubeconfig(cluster, for_user=by)
    if can_open():
        return sandboxes.make_kubeconfig(cluster, address=address, for_user=by)
    received = _ask_worker(cluster, {"address": address}, by=by)
    if received is None:
        raise NotPossibleError(_("No worker answered in time. Check that a worker is running."))
    return as_text(as_mapping(received)["kubeconfig"])


def answer_kubectl(
    cluster: Cluster, *, method: str, path: str, query: str, headers: Mapping[str, str], body: bytes
) -> Response:
    """Answer one HTTP request as a sandbox's API server.

    - A web process checks the token and forwards the rest encrypted; the answer is encrypted for this process alone.
    """
    if can_open():
        return sandbox.open_face(cluster).handle(method, path, query, headers, body)
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
    return sandboxes.NO_WORKER if received is None else msgspec.convert(received, Response)


def answer_watch(
    cluster: Cluster,
    *,
    path: str,
    query: str,
    headers: Mapping[str, str],
    position: WatchPosition | None = None,
    has_bookmark: bool = False,
) -> WatchPart:
    """Answer a part of a watch, as `answer_kubectl` answers a request; see `HttpFace.watch`."""
    if can_open():
        return sandbox.open_face(cluster).watch(path, query, headers, position, has_bookmark=has_bookmark)
    refused = sandboxes.refuse_stranger(cluster, headers)
    if refused is not None:
        return refuse_watch(refused)
    given = list(position) if position is not None else None
    question = {
        "path": path, "query": query, "headers": dict(headers), "position": given, "has_bookmark": has_bookmark,
    }  # fmt: skip
    received = _ask_worker(cluster, question)
    return refuse_watch(sandboxes.NO_WORKER) if received is None else msgspec.convert(received, WatchPart)
