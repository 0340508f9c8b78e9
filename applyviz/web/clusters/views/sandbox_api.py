"""The API server of a sandbox over HTTP, for kubectl: it requires a bearer token and ignores sessions."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.views.decorators.csrf import csrf_exempt

from applyviz.sandbox.api.http import Response, is_watch
from applyviz.web.clusters.sandbox_watch import WatchQuestion, watch
from applyviz.workflow import worker_requests
from applyviz.workflow.clusters import sandboxes


@csrf_exempt
def answer_kubectl(request: HttpRequest, slug: str, path: str = "") -> HttpResponseBase:
    """Pass one request to the sandbox; a wrong token learns only that it is wrong, not which sandboxes exist."""
    found = sandboxes.find_sandbox(slug)
    if found is None:
        return _render(sandboxes.STRANGER)
    query, method = request.META.get("QUERY_STRING", ""), request.method or "GET"
    if is_watch(method, f"/{path}", query):
        return watch(request, WatchQuestion(slug, f"/{path}", query, dict(request.headers)))
    answered = worker_requests.answer_kubectl(
        found,
        method=method,
        path=f"/{path}",
        query=query,
        headers=dict(request.headers),
        body=request.body,
    )
    return _render(answered)


def _render(answered: Response) -> HttpResponse:
    response = HttpResponse(answered.body, status=answered.status)
    del response.headers["Content-Type"]
    for name, value in answered.headers:
        response.headers[name] = value
    return response
