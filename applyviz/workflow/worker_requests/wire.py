"""Sandbox answers as JSON, on the way from the worker to the process that received the HTTP request."""

from __future__ import annotations

from base64 import b64decode, b64encode

from applyviz.engine.objects.values import JSONObject, MutableObject
from applyviz.sandbox.api.http import Response, WatchPart, WatchPosition


def render_response(response: Response) -> MutableObject:
    """Return a response as JSON."""
    return {
        "status": response.status,
        "headers": [list(header) for header in response.headers],
        "body": b64encode(response.body).decode(),
    }


def read_response(stored: JSONObject) -> Response:
    """Return the response that `render_response` wrote."""
    return Response(stored["status"], [(name, value) for name, value in stored["headers"]], b64decode(stored["body"]))


def render_part(part: WatchPart) -> MutableObject:
    """Return a part of a watch as JSON."""
    return {
        "response": render_response(part.response),
        "position": list(part.position),
        "seconds": part.seconds,
        "is_ended": part.is_ended,
    }


def read_part(stored: JSONObject) -> WatchPart:
    """Return the part that `render_part` wrote."""
    return WatchPart(
        read_response(stored["response"]), WatchPosition(*stored["position"]), stored["seconds"], stored["is_ended"]
    )
