"""After a CustomResourceDefinition was applied: wait until the server serves its kind, with a deadline.

Rule: condition `Established` of the definition, then a list of its resource that is no longer 404.
"""

from __future__ import annotations

from applyviz.engine.objects.exchange import Request
from applyviz.engine.objects.values import JSONObject, get_at
from applyviz.records.enums import Outcome
from applyviz.records.models import ObjectResult
from applyviz.workflow import changes
from applyviz.workflow.runs.objects import Access

_SECONDS = 30.0
_GROUP, _KIND = "apiextensions.k8s.io", "CustomResourceDefinition"


def _served_path(crd: JSONObject) -> str:
    spec = crd.get("spec") or {}
    versions = [v.get("name") for v in spec.get("versions") or [] if v.get("served")]
    plural = get_at(spec, ("names", "plural"), "")
    return f"/apis/{spec.get('group')}/{versions[0]}/{plural}" if versions and plural else ""


def wait_until_served(around: Access, result: ObjectResult) -> bool:
    """Wait for the kind of a definition just applied; False when it is not served within the time.

    - Not being served in time stops nothing here: the objects of that kind will say so themselves.
    """
    row = result.change
    if (row.group, row.kind) != (_GROUP, _KIND) or row.operation == Outcome.UNCHANGED.value:
        return True
    change = changes.open_sealed(row)
    path = _served_path(change.versions.after or change.versions.manifest or {})
    deadline = around.clock() + _SECONDS
    while path:
        answer = around.reader.try_send(Request("GET", path, {"limit": "1"}, purpose="list"))
        if answer.is_ok:
            return True
        if around.clock() >= deadline:
            return False
        around.claim.keep()
        around.sleep(0.3)
    return True
