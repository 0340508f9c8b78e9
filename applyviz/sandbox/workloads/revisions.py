"""ControllerRevisions: the templates that a StatefulSet or DaemonSet had, numbered.

Rule: k8s.io/kubernetes `pkg/controller/history`. Left out: collisions of hashes.
"""

from __future__ import annotations

from applyviz.engine.objects.values import JSONObject, clone, is_same_json
from applyviz.sandbox.storage.store import ObjectKey
from applyviz.sandbox.workloads.controller_client import ControllerClient, make_owner
from applyviz.sandbox.workloads.pod_sets import hash_template


def ensure_revision(client: ControllerClient, owner: JSONObject, label: str) -> tuple[JSONObject, list[JSONObject]]:
    """Return the revision of the template of an owner, created or renumbered if needed, and all, oldest first."""
    revisions = [revision for _, revision in client.list_owned(owner, "controllerrevisions")]
    template = owner["spec"]["template"]
    data = {"spec": {"template": {"$patch": "replace", **clone(dict(template))}}}
    newest = max((int(r["revision"]) for r in revisions), default=0)
    same = next((r for r in revisions if is_same_json(r["data"], data)), None)
    if same is None:
        same = client.create("controllerrevisions", _make(owner, data, newest + 1, label))
        revisions = [*revisions, same]
    elif same["revision"] < newest:
        renewed = client.replace("controllerrevisions", {**clone(dict(same)), "revision": newest + 1})
        revisions = [renewed if r is same else r for r in revisions]
        same = renewed
    return same, sorted(revisions, key=lambda r: int(r["revision"]))


def _make(owner: JSONObject, data: JSONObject, number: int, label: str) -> JSONObject:
    meta, template = owner["metadata"], owner["spec"]["template"]
    digest = hash_template(template)
    return {
        "apiVersion": "apps/v1",
        "kind": "ControllerRevision",
        "metadata": {
            "name": f"{meta['name']}-{digest}",
            "namespace": meta["namespace"],
            "labels": {**((template.get("metadata") or {}).get("labels") or {}), label: digest},
            "ownerReferences": make_owner(owner),
        },
        "data": data,
        "revision": number,
    }


def forget_revisions(client: ControllerClient, owner: JSONObject, revisions: list[JSONObject], used: set[str]) -> None:
    """Delete the oldest revisions beyond `revisionHistoryLimit` that no Pod uses."""
    limit = owner["spec"].get("revisionHistoryLimit", 10)
    free = [r for r in revisions if r["metadata"]["name"] not in used]
    for revision in free[: max(len(free) - limit, 0)]:
        meta = revision["metadata"]
        client.delete(ObjectKey("apps", "controllerrevisions", meta["namespace"], meta["name"]), None)
