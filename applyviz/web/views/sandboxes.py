"""The API server of a sandbox over HTTP, for kubectl: a bearer token opens it, no session, no cookie."""

from __future__ import annotations

from django.http import Http404, HttpRequest, HttpResponse
from django.views.decorators.csrf import csrf_exempt

from applyviz.workflow import errands, sandboxes


@csrf_exempt
def answer_kubectl(request: HttpRequest, slug: str, path: str = "") -> HttpResponse:
    """Hand one request to the sandbox; a wrong token learns nothing but that."""
    found = sandboxes.find_sandbox(slug)
    if found is None:
        raise Http404
    answered = errands.answer_kubectl(
        found,
        method=request.method or "GET",
        path="/" + path,
        query=request.META.get("QUERY_STRING", ""),
        headers=dict(request.headers),
        body=request.body,
    )
    response = HttpResponse(answered.body, status=answered.status)
    del response.headers["Content-Type"]
    for name, value in answered.headers:
        response.headers[name] = value
    return response
