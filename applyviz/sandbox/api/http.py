"""Serve a sandbox cluster over plain HTTP, so that kubectl can use it: bytes in, bytes out.

Rule: https://kubernetes.io/docs/reference/using-api/api-concepts/ (content negotiation, warnings). JSON, YAML and
protobuf bodies; answers are JSON, as an object, a table or metadata only. A bearer token identifies the user, through a
function of the caller. `kubectl --as` changes the user that the server reports; every user may do everything here. A
watch is answered in parts: the owner of the connection requests the next part when something has changed.
"""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import datetime
from typing import Any, NamedTuple
from urllib.parse import parse_qsl, unquote

from applyviz.engine.objects.exchange import APPLY_PATCH, JSON, Answer, Request
from applyviz.engine.objects.values import JSONObject
from applyviz.kubernetes.parity.json_text import simplify
from applyviz.kubernetes.parity.payloads import Payload, UnreadableError, read_yaml
from applyviz.kubernetes.parity.status import StatusError, bad_request
from applyviz.kubernetes.v1_36.warnings.common import ALL_WARNINGS, CUT_WARNING
from applyviz.sandbox.api import openapi_v2
from applyviz.sandbox.api.access_reviews import RequestUser
from applyviz.sandbox.api.list_options import is_set
from applyviz.sandbox.api.representations import find_form, shape_body, shape_event
from applyviz.sandbox.api.server import Sandbox
from applyviz.sandbox.api.watches import read_timeout
from applyviz.sandbox.storage.routing import parse_path
from applyviz.sandbox.workloads.pods import read_log

BODY_LIMIT = 3 * 1024 * 1024
WATCH_SECONDS = 300.0
"""The longest that a watch stays open; clients begin a new one where it ended."""
_AGGREGATED = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
_EXTRA = "impersonate-extra-"
_LOG = "/log"
_NO_PAGE = b"404 page not found\n"
_HEALTH = frozenset({"/healthz", "/livez", "/readyz"})


class Response(NamedTuple):
    """The response to send."""

    status: int
    headers: list[tuple[str, str]]
    body: bytes


class WatchPosition(NamedTuple):
    """The position of a watch: the revision, and whether an event was sent (the first names the table columns)."""

    revision: int
    is_begun: bool


class WatchPart(NamedTuple):
    """Some lines of a watch, the position to continue from, and the number of seconds that it may stay open.

    - `is_ended`: the watch was refused, or nothing can follow.
    """

    response: Response
    position: WatchPosition
    seconds: float
    is_ended: bool


def refuse_watch(response: Response) -> WatchPart:
    """Return the answer to a watch that is refused at its start or later."""
    return WatchPart(response, WatchPosition(0, is_begun=False), 0.0, is_ended=True)


class HttpFace:
    """The HTTP interface of one sandbox cluster.

    - `find_user(token)` returns the user of a bearer token, None if there is none.
    - `clock()` returns aware datetimes, for the ages in tables.
    """

    def __init__(self, sandbox: Sandbox, find_user: Callable[[str], str | None], clock: Callable[[], datetime]) -> None:
        self._sandbox, self._find_user, self._clock = sandbox, find_user, clock

    def handle(
        self, method: str, path: str, query: str = "", headers: Mapping[str, str] | None = None, body: bytes = b""
    ) -> Response:
        """Answer one request; `path` and `query` are in wire format, header names in any case."""
        given = {k.lower(): v for k, v in (headers or {}).items()}
        try:
            if not self._authenticate(given):
                raise StatusError(401, "Unauthorized", "Unauthorized")
            caller = _read_caller(given)
            request, payload = _read_request(method, path, query, given, body)
            if is_watch(method, path, query):
                return self._watch(request, given, None, has_bookmark=True).response
            return self._answer(request, payload, given, caller)
        except StatusError as error:
            return _render(Answer(error.code, error.render(), error.warnings))

    def watch(
        self,
        path: str,
        query: str,
        headers: Mapping[str, str],
        position: WatchPosition | None = None,
        *,
        has_bookmark: bool = False,
    ) -> WatchPart:
        """Return a part of a watch: the changes since a position, None for the position that the client names.

        - The caller calls again until the seconds are over; the token is checked each time.
        - `has_bookmark`: end the part with a bookmark, if the client wants bookmarks.
        """
        given = {k.lower(): v for k, v in headers.items()}
        try:
            if not self._authenticate(given):
                raise StatusError(401, "Unauthorized", "Unauthorized")
            request, _ = _read_request("GET", path, query, given, b"")
            return self._watch(request, given, position, has_bookmark=has_bookmark)
        except StatusError as error:
            return refuse_watch(_render(Answer(error.code, error.render(), error.warnings)))

    def _authenticate(self, headers: Mapping[str, str]) -> bool:
        token = read_token(headers.get("authorization", ""))
        return bool(token) and self._find_user(token) is not None

    def _answer(self, request: Request, payload: Payload, headers: Mapping[str, str], caller: RequestUser) -> Response:
        accept = headers.get("accept", "")
        if request.path in ("/api", "/apis") and "as=APIGroupDiscoveryList" in accept:
            return _render(Answer(200, self._sandbox.discover(request.path)), _AGGREGATED)
        if request.path in _HEALTH:
            return Response(200, [("Content-Type", "text/plain; charset=utf-8")], b"ok")
        if request.path == openapi_v2.PATH and request.method == "GET" and openapi_v2.is_protobuf(accept):
            return Response(200, [("Content-Type", openapi_v2.PROTOBUF)], openapi_v2.encode_document())
        if request.method == "GET" and _is_log(request.path):
            return self._read_log(request)
        user = _manager(headers.get("user-agent", ""))
        answer = self._sandbox.handle(request, user=user, payload=payload, caller=caller)
        if answer.is_ok and isinstance(answer.body, Mapping):
            answer = Answer(answer.status, self._shape(request, accept, answer.body), answer.warnings)
        return _render(answer)

    def _read_log(self, request: Request) -> Response:
        """Answer `kubectl logs`: one line, which says that no container runs; nothing of a Pod without a node."""
        answer = self._sandbox.handle(Request("GET", request.path.rstrip("/").removesuffix(_LOG)))
        if not answer.is_ok or not isinstance(answer.body, Mapping):
            return _render(answer)
        text, refused = read_log(answer.body, request.query.get("container", ""))
        if refused:
            return _render(Answer(400, bad_request(refused).render()))
        return Response(200, [("Content-Type", "text/plain")], text.encode())

    def _shape(self, request: Request, accept: str, body: JSONObject) -> JSONObject:
        """Return the body in the requested form."""
        route = parse_path(request.path)
        target = self._sandbox.registry.find(route) if route else None
        if route is None or target is None or request.method != "GET":
            return body
        form, subresource = find_form(accept), route.subresource
        return shape_body(target, body, form, request.query, self._clock(), subresource=subresource)

    def _watch(
        self, request: Request, headers: Mapping[str, str], position: WatchPosition | None, *, has_bookmark: bool
    ) -> WatchPart:
        step = self._sandbox.watch(request, position.revision if position else None, has_bookmark=has_bookmark)
        is_begun, form, lines = bool(position and position.is_begun), find_form(headers.get("accept", "")), []
        route = parse_path(request.path)
        target = self._sandbox.registry.find(route) if route else None
        for event in step.events:
            if target is not None:
                shaped = shape_event(target, event, form, request.query, self._clock(), has_columns=is_begun)
                lines.append(json.dumps(shaped) + "\n")
                is_begun = True
        response = Response(200, [("Content-Type", JSON), *_list_warnings(step.warnings)], "".join(lines).encode())
        seconds = read_timeout(request.query, WATCH_SECONDS)
        return WatchPart(response, WatchPosition(step.position, is_begun), seconds, step.is_ended)


def _is_log(path: str) -> bool:
    """Return whether a path is that of the log of a Pod, and not of an object whose name is `log`."""
    route = parse_path(path)
    return route is not None and (route.group, route.plural, route.subresource) == ("", "pods", _LOG[1:])


def is_watch(method: str, path: str, query: str) -> bool:
    """Return whether a request is a watch of a collection; a watch of a named object is answered at once."""
    is_wanted = is_set(dict(parse_qsl(query, keep_blank_values=True)), "watch")
    route = parse_path(path)
    return method == "GET" and is_wanted and route is not None and not route.name


def render_status(code: int, reason: str, message: str) -> Response:
    """Return a refusal in the format of the API server, for callers that refuse before they call a sandbox."""
    error = StatusError(code, reason, message)
    return _render(Answer(error.code, error.render()))


def read_token(authorization: str) -> str:
    """Return the token of a Bearer header, or the password of a Basic one.

    kubectl sends its user's token over https only; over http it sends the credentials in the server's address
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
    """Return the values of several headers with one name, which proxies may have joined."""
    return tuple(value.strip() for value in text.split(",") if value.strip())


def _read_caller(headers: Mapping[str, str]) -> RequestUser:
    """Return the user that `kubectl --as` impersonates, with groups, uid and extra."""
    user = headers.get("impersonate-user", "")
    extra = {unquote(name.removeprefix(_EXTRA)): text for name, text in headers.items() if name.startswith(_EXTRA)}
    impersonated = [headers.get("impersonate-group", ""), headers.get("impersonate-uid", ""), *extra.values()]
    if not user and any(impersonated):
        message = f"requested {next(filter(None, impersonated))!r} without impersonating a user"
        raise StatusError(500, "InternalError", f"Internal error occurred: {message}")
    known = tuple((key, _split(text)) for key, text in sorted(extra.items()))
    return RequestUser(user, _split(impersonated[0]), impersonated[1], known)


def _manager(agent: str) -> str:
    """Return the default field manager of a client: the name of its program."""
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
    if method == "DELETE" and body and not isinstance(value, dict):
        value = {}  # a body, even an empty one, makes the server ignore the query
    if content_type == APPLY_PATCH:
        value = _read_patch(payload)
    query_map = dict(parse_qsl(query, keep_blank_values=True))
    return Request(method, path, query_map, content_type, value), payload


def _read_value(payload: Payload) -> Any:
    """Return the value of the body for callers that need no more; writers read the payload themselves."""
    try:
        return simplify(payload.read())
    except (UnreadableError, StatusError):
        return None


def _read_patch(payload: Payload) -> Any:
    try:
        return read_yaml(payload.text or b"")
    except UnreadableError:
        return None


def _quote_warning(text: str) -> str:
    plain = "".join(c if c.isprintable() else " " for c in text)
    escaped = plain.replace("\\", "\\\\").replace('"', '\\"')
    return f'299 - "{escaped}"'


def limit_warnings(warnings: Iterable[str]) -> list[str]:
    """Return each warning once; if they are too long together, each is cut, and the last ones are left out.

    - Rule: `pkg/endpoints/filters/warning.go` of k8s.io/apiserver.
    """
    found: list[str] = []
    is_cut, written = False, 0
    for text in dict.fromkeys(filter(None, warnings)):
        if is_cut and written >= ALL_WARNINGS:
            break
        found.append(text[:CUT_WARNING] if is_cut else text)
        written += len(found[-1])
        if written > ALL_WARNINGS and not is_cut:
            is_cut, found = True, [known[:CUT_WARNING] for known in found]
            written = sum(map(len, found))
    return found


def _is_page(answer: Answer) -> bool:
    """Return whether a 404 is a page of text: one of a path of no group, which names nothing."""
    return answer.status == 404 and isinstance(answer.body, Mapping) and "details" not in answer.body


def _render(answer: Answer, content_type: str = JSON) -> Response:
    if _is_page(answer):
        return Response(404, [("Content-Type", "text/plain; charset=utf-8")], _NO_PAGE)
    headers = [("Content-Type", content_type), *_list_warnings(answer.warnings)]
    return Response(answer.status, headers, json.dumps(answer.body).encode())


def _list_warnings(warnings: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    return (("Warning", _quote_warning(warning)) for warning in limit_warnings(warnings))
