"""A sandbox cluster over plain HTTP, so that kubectl can talk to it: bytes in, bytes out.

Rule: https://kubernetes.io/docs/reference/using-api/api-concepts/ (content negotiation, warnings). JSON, YAML and
protobuf bodies; answers are JSON, as an object, a table or metadata only. A bearer token names the user, by a function
of the caller's; whom `kubectl --as` acts as is what a server says it is, and may do everything as everybody may here.
A watch is answered in parts: whoever keeps the connection asks for the next one when something has changed.
"""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import NamedTuple
from urllib.parse import parse_qsl, unquote

from applyviz.engine.objects.exchange import APPLY_PATCH, JSON, Answer, Request
from applyviz.engine.objects.values import JSONObject, JSONValue
from applyviz.sandbox.api.access_reviews import RequestUser
from applyviz.sandbox.api.representations import find_form, shape_body, shape_event
from applyviz.sandbox.api.server import Sandbox
from applyviz.sandbox.api.watches import read_timeout
from applyviz.sandbox.parity.json_text import simplify
from applyviz.sandbox.parity.payloads import Payload, UnreadableError, read_yaml
from applyviz.sandbox.parity.status import StatusError
from applyviz.sandbox.storage.routing import parse_path

BODY_LIMIT = 3 * 1024 * 1024
WATCH_SECONDS = 300.0
"""The longest that a watch stays open; clients begin a new one where it ended."""
_AGGREGATED = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
_EXTRA = "impersonate-extra-"


class Response(NamedTuple):
    """What goes back over the wire."""

    status: int
    headers: list[tuple[str, str]]
    body: bytes


class WatchPosition(NamedTuple):
    """How far a watch is: the revision, and whether an event was sent (the first one names the columns of a table)."""

    revision: int
    is_begun: bool


class WatchPart(NamedTuple):
    """Some lines of a watch, the position to go on from, and for how many seconds it may stay open altogether.

    - `is_ended`: it was refused, or nothing can come after it.
    """

    response: Response
    position: WatchPosition
    seconds: float
    is_ended: bool


def refuse_watch(response: Response) -> WatchPart:
    """Return the answer to a watch that does not begin, or does not go on."""
    return WatchPart(response, WatchPosition(0, is_begun=False), 0.0, is_ended=True)


class HttpFace:
    """The HTTP side of one sandbox cluster.

    - `find_user(token)` gives the user of a bearer token, None when there is none.
    - `clock()` gives aware datetimes, for the ages in tables.
    """

    def __init__(self, sandbox: Sandbox, find_user: Callable[[str], str | None], clock: Callable[[], datetime]) -> None:
        self._sandbox, self._find_user, self._clock = sandbox, find_user, clock

    def handle(
        self, method: str, path: str, query: str = "", headers: Mapping[str, str] | None = None, body: bytes = b""
    ) -> Response:
        """Answer one request; `path` and `query` are as on the wire, header names in any case."""
        given = {k.lower(): v for k, v in (headers or {}).items()}
        try:
            if not self._authenticate(given):
                raise StatusError(401, "Unauthorized", "Unauthorized")
            caller = _read_caller(given)
            request, payload = _read_request(method, unquote(path), query, given, body)
            if is_watch(method, path, query):
                return self._watch(request, given, None, has_bookmark=True).response
            return self._answer(request, payload, given, caller)
        except StatusError as error:
            return _render(Answer(error.code, error.render()))

    def watch(
        self,
        path: str,
        query: str,
        headers: Mapping[str, str],
        position: WatchPosition | None = None,
        *,
        has_bookmark: bool = False,
    ) -> WatchPart:
        """Return a part of a watch: what happened since a position, None: from where the client says.

        - The caller asks again, until the seconds are over; the token counts each time.
        - `has_bookmark`: the part ends with a bookmark, where the client wants some.
        """
        given = {k.lower(): v for k, v in headers.items()}
        try:
            if not self._authenticate(given):
                raise StatusError(401, "Unauthorized", "Unauthorized")
            request, _ = _read_request("GET", unquote(path), query, given, b"")
            return self._watch(request, given, position, has_bookmark=has_bookmark)
        except StatusError as error:
            return refuse_watch(_render(Answer(error.code, error.render())))

    def _authenticate(self, headers: Mapping[str, str]) -> bool:
        token = read_token(headers.get("authorization", ""))
        return bool(token) and self._find_user(token) is not None

    def _answer(self, request: Request, payload: Payload, headers: Mapping[str, str], caller: RequestUser) -> Response:
        accept = headers.get("accept", "")
        if request.path in ("/api", "/apis") and "as=APIGroupDiscoveryList" in accept:
            return _render(Answer(200, self._sandbox.discover(request.path)), _AGGREGATED)
        user = _manager(headers.get("user-agent", ""))
        answer = self._sandbox.handle(request, user=user, payload=payload, caller=caller)
        if answer.is_ok and isinstance(answer.body, Mapping):
            answer = Answer(answer.status, self._shape(request, accept, answer.body), answer.warnings)
        return _render(answer)

    def _shape(self, request: Request, accept: str, body: JSONObject) -> JSONObject:
        """Return the body in the form that was asked for."""
        route = parse_path(request.path)
        target = self._sandbox.registry.find(route) if route else None
        if target is None or request.method != "GET" or (route and route.subresource):
            return body
        return shape_body(target, body, find_form(accept), request.query, self._clock())

    def _watch(
        self, request: Request, headers: Mapping[str, str], position: WatchPosition | None, *, has_bookmark: bool
    ) -> WatchPart:
        seconds = read_timeout(request.query, WATCH_SECONDS)
        step = self._sandbox.watch(request, position.revision if position else None, has_bookmark=has_bookmark)
        is_begun, form, lines = bool(position and position.is_begun), find_form(headers.get("accept", "")), []
        route = parse_path(request.path)
        target = self._sandbox.registry.find(route) if route else None
        for event in step.events:
            if target is not None:
                shaped = shape_event(target, event, form, request.query, self._clock(), has_columns=is_begun)
                lines.append(json.dumps(shaped) + "\n")
                is_begun = True
        response = Response(200, [("Content-Type", JSON)], "".join(lines).encode())
        return WatchPart(response, WatchPosition(step.position, is_begun), seconds, step.is_ended)


def is_watch(method: str, path: str, query: str) -> bool:
    """Return whether a request asks for a watch: of a collection, for the object of a name is given at once."""
    wanted = dict(parse_qsl(query, keep_blank_values=True)).get("watch")
    route = parse_path(unquote(path))
    return method == "GET" and wanted in ("true", "1") and route is not None and not route.name


def render_status(code: int, reason: str, message: str) -> Response:
    """Return a refusal as the API server writes it, for who refuses before a sandbox is asked."""
    error = StatusError(code, reason, message)
    return _render(Answer(error.code, error.render()))


def read_token(authorization: str) -> str:
    """Return the token of a Bearer header, or the password of a Basic one.

    kubectl sends its user's token over https only; over http it sends what the address of the server holds
    (`http://token:<token>@host`), as Basic.
    """
    scheme, _, text = authorization.partition(" ")
    if scheme.lower() == "basic":
        try:
            return base64.b64decode(text.strip(), validate=True).decode().partition(":")[2]
        except (ValueError, binascii.Error):
            return ""
    return text.strip() if scheme.lower() == "bearer" else ""


def _split(text: str) -> tuple[str, ...]:
    """Values of several headers with one name, as what stands between the servers joins them."""
    return tuple(value.strip() for value in text.split(",") if value.strip())


def _read_caller(headers: Mapping[str, str]) -> RequestUser:
    """Whom `kubectl --as` acts as, with groups, uid and what else is known of them."""
    user = headers.get("impersonate-user", "")
    extra = {unquote(name.removeprefix(_EXTRA)): text for name, text in headers.items() if name.startswith(_EXTRA)}
    told = [headers.get("impersonate-group", ""), headers.get("impersonate-uid", ""), *extra.values()]
    if not user and any(told):
        message = f"requested {next(filter(None, told))!r} without impersonating a user"
        raise StatusError(500, "InternalError", f"Internal error occurred: {message}")
    known = tuple((key, _split(text)) for key, text in sorted(extra.items()))
    return RequestUser(user, _split(told[0]), told[1], known)


def _manager(agent: str) -> str:
    """Return the field manager that a client gets when it names none: its program's name."""
    name = agent.partition("/")[0]
    return "".join(c for c in name if c.isprintable())[:128] or "unknown"


def _read_request(
    method: str, path: str, query: str, headers: Mapping[str, str], body: bytes
) -> tuple[Request, Payload]:
    if len(body) > BODY_LIMIT:
        message = f"Request entity too large: limit is {BODY_LIMIT}"
        raise StatusError(413, "RequestEntityTooLarge", message)
    payload = Payload(headers.get("content-type", ""), body)
    content_type = payload.media_type if method == "PATCH" else JSON
    value = _read_value(payload) if body and method not in ("GET", "HEAD", "PATCH") else None
    if content_type == APPLY_PATCH or (method == "PATCH" and path.endswith("/scale")):
        value = _read_patch(payload)
    query_map = dict(parse_qsl(query, keep_blank_values=True))
    return Request(method, path, query_map, content_type, value), payload


def _read_value(payload: Payload) -> JSONValue:
    """The body for those who need no more than its value; writers read the payload themselves and say what is wrong."""
    try:
        return simplify(payload.read())
    except (UnreadableError, StatusError):
        return None


def _read_patch(payload: Payload) -> JSONValue:
    try:
        return read_yaml(payload.text or b"")
    except UnreadableError:
        return None


def _quote_warning(text: str) -> str:
    plain = "".join(c if c.isprintable() else " " for c in text)
    escaped = plain.replace("\\", "\\\\").replace('"', '\\"')
    return f'299 - "{escaped}"'


def _render(answer: Answer, content_type: str = JSON) -> Response:
    headers = [("Content-Type", content_type)]
    headers += [("Warning", _quote_warning(w)) for w in answer.warnings]
    return Response(answer.status, headers, json.dumps(answer.body).encode())
