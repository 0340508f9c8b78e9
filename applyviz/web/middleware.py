"""What surrounds every request: health answers, a request id, the content security policy.

Health is answered before hosts are checked (a kubelet asks by IP address), without session and log line.
The policy reads `SECURE_CSP`, the name that Django 6 gives it, so that moving there is a deletion.
"""

from __future__ import annotations

import logging
import re
import uuid
from collections.abc import Callable
from contextvars import ContextVar

from django.conf import settings
from django.db import DatabaseError, connection
from django.db.migrations.executor import MigrationExecutor
from django.http import HttpRequest, HttpResponse, HttpResponseBase, JsonResponse

GetResponse = Callable[[HttpRequest], HttpResponseBase]
_request_id: ContextVar[str] = ContextVar("request_id", default="-")
_GIVEN_ID = re.compile(r"[A-Za-z0-9._-]{8,64}")


def _readiness() -> JsonResponse:
    try:
        connection.ensure_connection()
        executor = MigrationExecutor(connection)
        is_migrated = not executor.migration_plan(executor.loader.graph.leaf_nodes())
    except DatabaseError:
        return JsonResponse({"database": "unreachable"}, status=503)
    return JsonResponse(
        {"database": "ok", "migrations": "ok" if is_migrated else "missing"}, status=200 if is_migrated else 503
    )


class HealthMiddleware:
    """Answers `/livez`, `/healthz` (this process lives) and `/readyz` (database there and migrated)."""

    def __init__(self, get_response: GetResponse) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        if request.path in ("/livez", "/healthz"):
            return HttpResponse("ok", content_type="text/plain")
        if request.path == "/readyz":
            return _readiness()
        return self.get_response(request)


class RequestIdMiddleware:
    """Names every request: the caller's `X-Request-ID` when it is a plain one, else a new one."""

    def __init__(self, get_response: GetResponse) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        given = request.headers.get("X-Request-ID", "")
        name = given if _GIVEN_ID.fullmatch(given) else uuid.uuid4().hex
        token = _request_id.set(name)
        try:
            response = self.get_response(request)
        finally:
            _request_id.reset(token)
        response["X-Request-ID"] = name
        return response


class RequestIdFilter(logging.Filter):
    """Puts the request id on every log record."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Add the id; keep the record."""
        record.request_id = _request_id.get()
        return True


class ContentSecurityPolicyMiddleware:
    """Sends `SECURE_CSP` with every answer that does not bring a policy of its own."""

    def __init__(self, get_response: GetResponse) -> None:
        self.get_response = get_response
        self.policy = "; ".join(" ".join([name, *values]) for name, values in settings.SECURE_CSP.items())

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        response = self.get_response(request)
        response.headers.setdefault("Content-Security-Policy", self.policy)
        return response
