"""Reads one live object of a run, and removes texts from it that may repeat a masked value."""

from __future__ import annotations

from applyviz.clusters.reader import ClusterReader
from applyviz.engine.objects.exchange import Request
from applyviz.engine.objects.refs import ObjectRef
from applyviz.engine.objects.request_paths import join_path
from applyviz.engine.objects.values import JSONObject
from applyviz.engine.planning.objects.withheld_messages import without_messages
from applyviz.records.enums import Outcome
from applyviz.workflow.runs.request_sender import StopError, is_the_object


def read_object(reader: ClusterReader, ref: ObjectRef, path: str) -> JSONObject | None:
    """Return the live object at a path, None when there is none; raises `StopError`. Touches no database."""
    answer = reader.try_send(Request("GET", path, purpose="read"))
    if answer.status == 404 and answer.reason == "NotFound":  # any other 404 comes from a proxy in between
        return None
    if not answer.is_ok or not is_the_object(answer.body, ref, {}):
        raise StopError(Outcome.FAILED, f"the live object could not be read ({answer.status or 'no answer'})")
    found: JSONObject = answer.body
    return found


def withhold_texts(live: JSONObject | None) -> JSONObject | None:
    """Return an object without the free text of its status; reasons stay."""
    if live is None or "status" not in live:
        return live
    return {**live, "status": without_messages(live["status"])}


def find_object_path(ref: ObjectRef, method: str, path: str) -> str:
    """Return the path of an object from that of a write to it, which may lead to its collection or a subresource."""
    if method == "POST":
        return path + join_path(ref.name)
    parts = path.split("/")
    start = 3 if parts[1] == "api" else 4
    return "/".join(parts[: start + (4 if ref.namespace else 2)])
