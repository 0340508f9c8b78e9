"""A fresh sandbox cluster whose clock stands still, and a short way to talk to it."""

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest

from applyviz.engine.objects.exchange import JSON, Answer, Request
from applyviz.sandbox.api.server import Sandbox
from applyviz.sandbox.storage.store import MemoryStore

NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
Ask = Callable[..., Answer]


@pytest.fixture
def store() -> MemoryStore:
    return MemoryStore()


@pytest.fixture
def sandbox(store) -> Sandbox:
    return Sandbox(store, lambda: NOW)


@pytest.fixture
def ask(sandbox) -> Ask:
    def send(method: str, path: str, body: Any = None, content_type: str = JSON, **query: str) -> Answer:
        return sandbox.handle(Request(method, path, query, content_type, body), user="tester")

    return send
