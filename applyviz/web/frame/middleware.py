"""Middleware of every request: health, concurrency, proxy headers, request id, caches, content security policy.

The policy comes from `SECURE_CSP`, the name and shape of Django 6, so that its own middleware can take over. Health
checks need neither a host nor a session, because a kubelet has neither.
"""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Callable
from urllib.parse import unquote
from uuid import uuid4

from django.conf import settings
from django.db import DatabaseError, connection
from django.db.migrations.executor import MigrationExecutor
from django.http import HttpRequest, HttpResponse, HttpResponseBadRequest, JsonResponse

from applyviz import audit_origin, request_ids
from applyviz.web.frame import client_address, shares

Handler = Callable[[HttpRequest], HttpResponse]
_REQUEST_ID = re.compile(r"[0-9A-Za-z._-]{8,64}")
TURN_SECONDS = 20


class HealthMiddleware:
    """Answers `/livez`, `/healthz` (the process lives) and `/readyz` (it can do its work).

    Migrations only ever go forward: once none is pending, `/readyz` asks the database for nothing but an answer.
    """

    def __init__(self, get_response: Handler) -> None:
        self.get_response = get_response
        self._is_migrated = False

    def __call__(self, request: HttpRequest) -> HttpResponse:
        """Answer health paths, pass on all others."""
        if request.path_info in ("/livez", "/healthz"):
            return JsonResponse({"status": "ok"})
        if request.path_info == "/readyz":
            problem = self._find_problem()
            return JsonResponse({"status": problem or "ok"}, status=503 if problem else 200)
        return self.get_response(request)

    def _find_problem(self) -> str:
        try:
            if self._is_migrated:
                with connection.cursor() as cursor:
                    cursor.execute("SELECT 1")
                return ""
            executor = MigrationExecutor(connection)
            self._is_migrated = not executor.migration_plan(executor.loader.graph.leaf_nodes())
        except DatabaseError:
            return "the database does not answer"
        return "" if self._is_migrated else "migrations are pending"


class ConcurrencyMiddleware:
    """Answers a bounded number of requests at once; others wait in a queue, and get 503 after too long.

    Without a limit, a burst of requests opens a database connection each and slows all of them down. The body of a
    request was read before, so a slow sender blocks nothing; a stream releases its slot when it starts to answer.
    One person has at most half of the slots (`shares`), whatever their sessions and tokens.
    """

    def __init__(self, get_response: Handler) -> None:
        self.get_response = get_response
        self._turns = threading.BoundedSemaphore(settings.APPLYVIZ_CONCURRENT_REQUESTS)
        self._shares = shares.Shares(max(1, settings.APPLYVIZ_CONCURRENT_REQUESTS // 2))

    def __call__(self, request: HttpRequest) -> HttpResponse:
        """Wait for a turn, then answer."""
        until = time.monotonic() + TURN_SECONDS
        with self._shares.hold(request, TURN_SECONDS) as has_share:
            if not has_share or not self._turns.acquire(timeout=max(0.0, until - time.monotonic())):
                response = HttpResponse("applyviz is busy. Try again in a few seconds.\n", "text/plain", 503)
                response["Retry-After"] = "5"
                return response
            try:
                response = self.get_response(request)
            finally:
                self._turns.release()
            self._shares.learn(request, response)
            return response


class RequestIdMiddleware:
    """Accepts or creates `X-Request-ID`, stores it for log and audit, and returns it."""

    def __init__(self, get_response: Handler) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        """Store the id while the request is answered."""
        given = request.headers.get("X-Request-ID", "")
        request_id = given if _REQUEST_ID.fullmatch(given) else uuid4().hex
        token = request_ids.current.set(request_id)
        try:
            response = self.get_response(request)
        finally:
            request_ids.current.reset(token)
        response["X-Request-ID"] = request_id
        return response


class OriginMiddleware:
    """Stores the origin of a request for the audit: address, shortened user agent, session or token."""

    def __init__(self, get_response: Handler) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        """Store it while the request is answered."""
        session = audit_origin.TOKEN if "Authorization" in request.headers else audit_origin.WEB
        agent = audit_origin.shorten_agent(request.headers.get("User-Agent", ""))
        token = audit_origin.current.set(audit_origin.Origin(session, client_address.find_address(request), agent))
        try:
            return self.get_response(request)
        finally:
            audit_origin.current.reset(token)


class ProxyMiddleware:
    """Removes forwarded headers (`X-Forwarded-…`) unless a trusted proxy sent them."""

    def __init__(self, get_response: Handler) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        """Remove such headers before any code reads them."""
        if not client_address.is_trusted(str(request.META.get("REMOTE_ADDR") or "")):
            for name in client_address.FORWARDED:
                if request.META.pop(name, None) is not None:
                    request.META[client_address.CAME_BY_PROXY] = True
        return self.get_response(request)


class NulMiddleware:
    """Refuses requests with a NUL character in address, query or cookies, because PostgreSQL cannot store it."""

    def __init__(self, get_response: Handler) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        """Answer 400, or pass on."""
        given = (request.path_info, unquote(request.META.get("QUERY_STRING") or ""), *request.COOKIES.values())
        if any("\0" in text for text in given):
            return HttpResponseBadRequest("The address holds a NUL character.", content_type="text/plain")
        return self.get_response(request)


class NoStoreMiddleware:
    """Keeps signed-in pages out of every cache, so that the back button of a shared machine shows nothing."""

    def __init__(self, get_response: Handler) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        """Mark each answer within a session, and the one that starts it."""
        response = self.get_response(request)
        name = settings.SESSION_COOKIE_NAME
        if name in request.COOKIES or name in response.cookies:
            response["Cache-Control"] = "no-store"
        return response


class ContentSecurityPolicyMiddleware:
    """Sends the policy of `SECURE_CSP`; no page has inline script or style."""

    def __init__(self, get_response: Handler) -> None:
        self.get_response = get_response
        self.policy = "; ".join(f"{name} {' '.join(sources)}" for name, sources in settings.SECURE_CSP.items())

    def __call__(self, request: HttpRequest) -> HttpResponse:
        """Add the header."""
        response = self.get_response(request)
        response["Content-Security-Policy"] = self.policy
        return response
