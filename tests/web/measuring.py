"""The processor time of an answer of the product alone."""

from __future__ import annotations

from django.core.handlers.base import BaseHandler
from django.test import Client, RequestFactory

from tests.pace import measure

ANSWERS = 9


def measure_answer(client: Client, address: str, **headers: str) -> float:
    """Return the least processor time of several answers, in seconds of the reference machine.

    A request of the test client would also copy each context and rewrite each page.
    """
    handler, taken = BaseHandler(), []
    handler.load_middleware()
    for _ in range(ANSWERS):
        request = RequestFactory(headers=headers).get(address)
        request.COOKIES = {name: cookie.value for name, cookie in client.cookies.items()}
        answer, seconds = measure(handler.get_response, request)
        taken.append(seconds)
        assert answer.status_code == 200
    return min(taken)
