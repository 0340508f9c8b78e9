"""Find out whether a server refuses to change each field that a risk calls immutable.

The live object is written with that field alone as the plan asks for it. A server that accepts this does not call the
field immutable, whatever else it refuses about the object. A field that the plan leaves as it is, and that a default
changes when other fields go, cannot be written alone: the server names it when it refuses the whole object.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from applyviz.conformance import covering
from applyviz.conformance.covering import NOTHING
from applyviz.conformance.inputs import Planned
from applyviz.engine.objects.exchange import JSON, Answer, Request
from applyviz.engine.objects.paths import FieldPath, render_path
from applyviz.engine.objects.values import JSONObject, JSONValue, MutableObject, clone, get_at

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
        asked = covering.find(merged, risk.path)
        is_changed = covering.differs(covering.find(live, risk.path), asked)
        body = _replace(live, risk.path, asked) if is_changed else {**merged, "metadata": live["metadata"]}
        answer = planned.cluster.handle(Request("PUT", path, {"dryRun": "All"}, JSON, body))
        if answer.is_ok or not (is_changed or _is_named(answer, risk.path)):
            yield f"{render_path(risk.path)} is not immutable"


def _is_named(answer: Answer, path: FieldPath) -> bool:
    """Return whether a refusal calls a field immutable."""
    causes = get_at(answer.body, ("details", "causes")) or ()
    named = {cause.get("field") for cause in causes if "immutable" in cause.get("message", "")}
    return render_path(path).removeprefix(".") in named


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
