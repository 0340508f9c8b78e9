"""Does every piece of advice do what it says, followed on a real API server?"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import pytest

from applyviz.clusters import live
from applyviz.clusters.kubeconfig import read_kubeconfig
from applyviz.engine.objects.exchange import Answer, Request
from tests.engine.planning import resolving  # noqa: F401 - its cases register themselves
from tests.engine.planning.advice import CASES
from tests.engine.planning.cluster import Box
from tests.engine.planning.told_advice import TOLD

pytestmark = pytest.mark.controlplane


@dataclass
class RealBox(Box):
    """The box of the planning tests over a real API server."""

    transport: Callable[[Request], Answer] | None = None

    def handle(self, request: Request) -> Answer:
        assert self.transport is not None
        return self.transport(request)


@pytest.fixture(scope="module")
def send(control_plane) -> Iterator[Callable[[Request], Answer]]:
    """Requests to the real server."""
    transport = live.from_credential(read_kubeconfig(control_plane.kubeconfig.read_bytes(), context="test"))
    yield transport.send
    transport.close()


@pytest.mark.core(1)
@pytest.mark.parametrize("case", dict.fromkeys((*CASES.values(), *TOLD.values())), ids=lambda case: case.__name__)
def test_advice_does_what_it_says(case, send):
    case(RealBox(transport=send))
