"""The processor time of an answer of the product alone."""

from __future__ import annotations

import time

from django.core.handlers.base import BaseHandler
from django.test import Client, RequestFactory

ANSWERS = 9


def measure_answer(client: Client, address: str, **headers: str) -> float:
    """Return the least processor time of several answers, in seconds; others may use the machine meanwhile.

    A request of the test client would also copy each context and rewrite each page.
    """
    handler, taken = BaseHandler(), []
    handler.load_middleware()
    for _ in range(ANSWERS):
        request = RequestFactory(headers=headers).get(address)
        request.COOKIES = {name: cookie.value for name, cookie in client.cookies.items()}
        start = time.process_time()
        answer = handler.get_response(request)
        taken.append(time.process_time() - start)
        assert answer.status_code == 200
    return min(taken)
