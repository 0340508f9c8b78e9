"""The address that git hosts call after a push. It needs no token: a worker verifies each delivery by its signature.

The answer reveals nothing: it is the same for a webhook that does not exist, a wrong signature and a push that no
review follows. Only a body that is too large and a rate that is too high are refused, whatever the address.
"""

from __future__ import annotations

from django.core.exceptions import RequestDataTooBig
from django.http import HttpRequest, HttpResponse
from django.http.request import UnreadablePostError
from django.views.decorators.csrf import csrf_exempt

from applyviz.engine.objects.golang import is_digits
from applyviz.web.frame import client_address
from applyviz.workflow.following import deliveries
from applyviz.workflow.following.payloads import HEADERS

_LONGEST_HEADER = 400


def _answer(text: str, status: int) -> HttpResponse:
    response = HttpResponse(f"{text}\n", "text/plain", status)
    response["Cache-Control"] = "no-store"
    return response


def _read_body(request: HttpRequest) -> bytes | None:
    """Return the body; None if it is larger than what is taken, or broke off."""
    length = request.headers.get("Content-Length", "")
    if is_digits(length) and int(length[:20]) > deliveries.MOST_BYTES:
        return None
    try:
        body = request.read(deliveries.MOST_BYTES + 1)
    except (RequestDataTooBig, UnreadablePostError):
        return None
    return body if len(body) <= deliveries.MOST_BYTES else None


@csrf_exempt
def take_push(request: HttpRequest, identifier: str) -> HttpResponse:
    """Take one delivery of a git host."""
    if request.method != "POST":
        response = _answer("send POST", 405)
        response["Allow"] = "POST"
        return response
    if not deliveries.may_take(identifier, client_address.find_address(request)):
        response = _answer("too many deliveries", 429)
        response["Retry-After"] = "60"
        return response
    body = _read_body(request)
    if body is None:
        return _answer(f"the body is larger than {deliveries.MOST_BYTES} bytes", 413)
    headers = {name: request.headers[name][:_LONGEST_HEADER] for name in HEADERS if name in request.headers}
    deliveries.take_delivery(identifier, headers, body)
    return _answer("received", 202)
