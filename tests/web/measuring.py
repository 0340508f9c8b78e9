"""The processor time of an answer of the product alone."""

from __future__ import annotations

from django.core.handlers.base import BaseHandler
from django.test import Client, RequestFactory

from tests.pace import measure

ANSWERS = 9


def measure_answer(client: Client, address: str, **headers: str) -> float:
    """Return the least processor time of several answers, in seconds of the reference machine."""
    return measure_answers(client, address, **headers)[0]


def measure_answers(client: Client, *addresses: str, **headers: str) -> list[float]:
    """Return the least processor time of several answers of each address, in seconds of the reference machine.

    They take turns, so that whatever slows the machine slows all of them. A request of the test client would also copy
    each context and rewrite each page.
    """
    handler, taken = BaseHandler(), [[] for _ in addresses]
    handler.load_middleware()
    for _ in range(ANSWERS):
        for address, times in zip(addresses, taken, strict=True):
            request = RequestFactory(headers=headers).get(address)
            request.COOKIES = {name: cookie.value for name, cookie in client.cookies.items()}
            answer, seconds = measure(handler.get_response, request)
            times.append(seconds)
            assert answer.status_code == 200
    return [min(times) for times in taken]
