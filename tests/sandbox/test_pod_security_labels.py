"""Unknown Pod Security levels in labels of a Namespace; recorded from kube-apiserver v1.36.3."""

from __future__ import annotations

from datetime import UTC, datetime

from applyviz.engine.objects.exchange import JSON, Request
from applyviz.sandbox.api.server import Sandbox
from applyviz.sandbox.storage.store import MemoryStore

LABEL = "pod-security.kubernetes.io/"
PATH = "/api/v1/namespaces"


def make_sandbox():
    return Sandbox(MemoryStore(), lambda: datetime(2026, 6, 1, tzinfo=UTC))


def create(sandbox, labels):
    body = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "space", "labels": labels}}
    return sandbox.handle(Request("POST", PATH, {}, JSON, body))


def relabel(sandbox, labels):
    found = sandbox.handle(Request("GET", f"{PATH}/space")).body
    body = {**found, "metadata": {**found["metadata"], "labels": labels}}
    return sandbox.handle(Request("PUT", f"{PATH}/space", {}, JSON, body))


def test_label_that_names_no_level_is_refused():
    answer = create(make_sandbox(), {f"{LABEL}enforce": "strict"})

    assert answer.status == 422
    assert answer.message == (
        'Namespace "space" is invalid: metadata.labels[pod-security.kubernetes.io/enforce]: Invalid value: "strict": '
        "must be one of privileged, baseline, restricted"
    )


def test_label_that_names_no_version_is_refused():
    sandbox = make_sandbox()
    assert create(sandbox, {f"{LABEL}enforce": "baseline", f"{LABEL}enforce-version": "v1.31"}).status == 201

    answer = relabel(sandbox, {f"{LABEL}warn-version": "1.31"})

    assert answer.status == 422
    assert 'Invalid value: "1.31": must be "latest" or "v1.x"' in answer.message
