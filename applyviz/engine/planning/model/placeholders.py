"""Convert requests to templates, and fill their placeholders when they are sent.

Rule: only placeholders are filled. `uid` and `resourceVersion` come from the object just read; managedFields of a
migration are computed from it. A template has null at each placeholder.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from applyviz.engine.objects.errors import StalePlanError
from applyviz.engine.objects.exchange import Placeholder, Request
from applyviz.engine.objects.paths import FieldPath, element_value, render_path
from applyviz.engine.objects.structs import replace
from applyviz.engine.objects.values import JSONObject, JSONValue, get_at
from applyviz.engine.ownership import migrate
from applyviz.engine.requests import handback, takeover
from applyviz.engine.requests.calls import CLIENT_SIDE_FIELDS, MANAGED_FIELDS, RESOURCE_VERSION, UID


def _put(body: JSONValue, path: FieldPath, value: JSONValue) -> Any:
    """Return the body with one value replaced; all other parts are shared."""
    if not path:
        return value
    step = element_value(path[0])
    if path[0].startswith("i:"):
        if not isinstance(body, list) or not 0 <= step < len(body):
            raise StalePlanError(f"no place {render_path(path)} in the request")
        return [_put(item, path[1:], value) if n == step else item for n, item in enumerate(body)]
    if not isinstance(body, Mapping):
        raise StalePlanError(f"no place {render_path(path)} in the request")
    return {**body, step: _put(body.get(step), path[1:], value)}


def template(request: Request) -> Request:
    """Return the request with null at each of its placeholders."""
    body = request.body
    for placeholder in request.placeholders:
        body = _put(body, placeholder.path, None)
    return replace(request, body=body)


def show(request: Request) -> Request:
    """Return the request with the names of its placeholders, for people; it cannot be sent."""
    body = request.body
    for placeholder in request.placeholders:
        body = _put(body, placeholder.path, f"\u27e8{placeholder.rule}\u27e9")
    return replace(request, body=body)


def _find_value(placeholder: Placeholder, live: JSONObject, manager: str) -> Any:
    if placeholder.rule in (UID, RESOURCE_VERSION):
        value = get_at(live, ("metadata", placeholder.rule))
        if not value:
            raise StalePlanError(f"the live object has no {placeholder.rule} to bind the write to")
        return value
    if placeholder.rule == MANAGED_FIELDS:
        if placeholder.managers is None:
            return migrate.upgrade(live, manager=manager)
        moved, handed, taken = placeholder.managers, placeholder.handed, placeholder.taken
        return takeover.list_entries(live, manager=manager, managers=moved, handed=handed, taken=taken)
    if placeholder.rule == CLIENT_SIDE_FIELDS:
        return handback.list_entries(live, manager=manager, managers=placeholder.managers or ())
    raise StalePlanError(f"nothing fills a hole of rule {placeholder.rule!r}")


def fill(request: Request, live: JSONObject | None) -> Request:
    """Return the request to send: each placeholder is filled from the object as last read or answered.

    - A request without placeholders needs no object.
    - Raises `StalePlanError` if a placeholder cannot be filled.
    """
    body = request.body
    for placeholder in request.placeholders:
        if live is None:
            raise StalePlanError(f"{request.ref or request.path}: planned against an object that is not there")
        body = _put(body, placeholder.path, _find_value(placeholder, live, request.query.get("fieldManager", "")))
    return replace(request, body=body)
