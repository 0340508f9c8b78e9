"""Find out whether a server refuses to change each field that a risk calls immutable.

The live object is written with that field alone as the plan asks for it. A server that accepts this does not call the
field immutable, whatever else it refuses about the object.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from applyviz.conformance import covering
from applyviz.conformance.covering import NOTHING
from applyviz.conformance.inputs import Planned
from applyviz.engine.objects.exchange import JSON, Request
from applyviz.engine.objects.paths import FieldPath, render_path
from applyviz.engine.objects.values import JSONObject, JSONValue, MutableObject, clone

_KIND = "immutable-field"


def find_free(planned: Planned) -> Iterator[str]:
    """Yield each field of a refused object that a risk calls immutable, and that the server would change alone.

    - Only fields outside lists and metadata are tried; what a deletion writes is no field of an update.
    """
    live, merged = planned.change.versions.live, planned.change.versions.merged
    resource = planned.given.catalog.find_resource(planned.change.ref.gvk)
    if live is None or merged is None or resource is None:
        return
    path = resource.path(planned.change.ref.namespace, planned.change.ref.name)
    for risk in planned.change.risks:
        if risk.kind.slug != _KIND or risk.path[:1] == ("f:metadata",) or any(step[0] != "f" for step in risk.path):
            continue
        body = _replace(live, risk.path, covering.find(merged, risk.path))
        if planned.cluster.handle(Request("PUT", path, {"dryRun": "All"}, JSON, body)).is_ok:
            yield f"{render_path(risk.path)} is not immutable"


def _replace(obj: JSONObject, path: FieldPath, value: JSONValue) -> JSONObject:
    """Return an object with another value at a path, or without one."""
    changed: MutableObject = clone(obj)
    holder = changed
    for step in path[:-1]:
        below = holder.get(step[2:])
        holder[step[2:]] = holder = dict(below) if isinstance(below, Mapping) else {}
    if value is NOTHING:
        holder.pop(path[-1][2:], None)
    else:
        holder[path[-1][2:]] = value
    return changed
