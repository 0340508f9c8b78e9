"""Waits after applying a CustomResourceDefinition until the server serves its kind, with a deadline.

Rule: condition `Established` of the definition, then a list of its resource that is no longer 404.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from applyviz.clusters.reader import ClusterReader
from applyviz.engine.objects.exchange import Answer, Request
from applyviz.engine.objects.kinds import CRD
from applyviz.engine.objects.request_paths import make_path
from applyviz.engine.objects.values import JSONObject, get_at
from applyviz.engine.planning.model.plan import DELETIONS, Operation, PlannedObject
from applyviz.workflow.runs.flows import CallCluster, ObjectFlow, Sleep

_SECONDS = 30.0
_NOT_APPLIED = (Operation.UNCHANGED, Operation.NOT_FOUND, *DELETIONS)


def _served_path(crd: JSONObject) -> str:
    spec = crd.get("spec") or {}
    versions = [v.get("name") for v in spec.get("versions") or [] if v.get("served")]
    plural = get_at(spec, ("names", "plural"), "")
    return make_path(str(spec.get("group")), str(versions[0]), plural) if versions and plural else ""


def wait_until_served(reader: ClusterReader, change: PlannedObject, *, clock: Callable[[], float]) -> ObjectFlow[bool]:
    """Wait for the kind of a definition that was just applied; return False when the deadline passes.

    - A missed deadline stops nothing here: the objects of that kind will fail with their own reason.
    """
    gvk = change.ref.gvk
    if (gvk.group, gvk.kind) != CRD or change.operation in _NOT_APPLIED:
        return True
    path = _served_path(change.versions.after or change.versions.manifest or {})
    deadline = clock() + _SECONDS
    while path:
        answer: Answer = yield CallCluster(
            partial(reader.try_send, Request("GET", path, {"limit": "1"}, purpose="list"))
        )
        if answer.is_ok:
            return True
        if clock() >= deadline:
            return False
        yield Sleep(0.3)
    return True
