"""A web process of a team in a test: it holds no key of workers, and a worker works while it waits."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from applyviz.records import sealing
from applyviz.records.models import WorkerRequest
from applyviz.records.worker_enums import WorkerRequestState
from applyviz.workflow import worker_requests
from applyviz.workflow.audit import checkpoints
from applyviz.workflow.foundation import worker_questions


@dataclass
class KeylessWeb:
    """The settings of a web process; `works` says whether there is a worker, `served` what it was asked for."""

    settings: Any
    works: bool = True
    served: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._opening, self._digest = list(self.settings.APPLYVIZ_OPENING_KEYS), self.settings.APPLYVIZ_DIGEST_KEY
        self.settings.APPLYVIZ_SEALING_KEY = sealing.sealing_key()
        self.settings.APPLYVIZ_CHECKPOINT_PUBLIC_KEY = checkpoints.public_key()
        self._hold([], "")
        assert not sealing.can_open()

    def _hold(self, opening: list[str], digest: str) -> None:
        self.settings.APPLYVIZ_OPENING_KEYS, self.settings.APPLYVIZ_DIGEST_KEY = opening, digest

    @contextmanager
    def as_worker(self) -> Iterator[None]:
        """What a worker does, with its keys."""
        self._hold(self._opening, self._digest)
        try:
            yield
        finally:
            self._hold([], "")

    def work(self) -> None:
        """Answer everything that waits."""
        for worker_request in WorkerRequest.objects.filter(state=WorkerRequestState.WAITING).order_by("pk"):
            self.served.append(worker_request.kind)
            with self.as_worker():
                worker_requests.answer_worker_request(worker_request.pk)

    def pause(self, _seconds: float) -> None:
        """Time passes."""
        if self.works:
            self.work()


def go_without_keys(settings: Any, monkeypatch: Any) -> KeylessWeb:
    """From now on this process is a web process of a team."""
    web = KeylessWeb(settings)
    pause: Callable[[float], None] = web.pause
    monkeypatch.setattr(worker_questions, "pause", pause)
    return web
