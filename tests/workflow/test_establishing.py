"""A definition of a kind is done when its kind is served: the objects of it wait, but not for ever."""

from __future__ import annotations

import pytest
import yaml

from applyviz.engine.objects.exchange import Answer, Request
from applyviz.records.enums import Outcome, RunState
from applyviz.workflow.runs import establish
from tests.memory import Memory, named, start, wire_up
from tests.stories import Team

pytestmark = pytest.mark.django_db
SERVED = "/apis/shop.example/v1/lamps"
_VERSION = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": {"type": "object"}}}
DEFINITION = yaml.safe_dump(
    {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "lamps.shop.example"},
        "spec": {
            "group": "shop.example",
            "scope": "Namespaced",
            "names": {"plural": "lamps", "singular": "lamp", "kind": "Lamp", "listKind": "LampList"},
            "versions": [_VERSION],
        },
    }
)
LAMP = yaml.safe_dump({"apiVersion": "shop.example/v1", "kind": "Lamp", "metadata": {"name": "desk"}})


class Late(Memory):
    """A cluster that serves a new kind only after it was asked for it so many times."""

    def __init__(self, times: int) -> None:
        super().__init__()
        self.times, self.asked = times, 0

    def send(self, request: Request) -> Answer:
        if request.method == "GET" and request.path == SERVED:
            self.asked += 1
            if self.asked <= self.times:
                return Answer(404, {"kind": "Status", "code": 404})
        return super().send(request)


def test_next_step_waits_until_the_kind_is_served(monkeypatch):
    memory, told = Late(3), {}
    team = wire_up(Team(), memory, monkeypatch)
    memory.before = lambda request: told.update({named(request): memory.asked})

    run = team.work(start(team, LAMP, DEFINITION))

    assert (run.state, memory.sent) == (RunState.APPLIED, ["lamps.shop.example", "desk"])
    assert told["desk"] == 4


@pytest.mark.long
def test_kind_that_is_never_served_is_said_by_its_object(monkeypatch):
    memory = Late(10**9)
    team = wire_up(Team(), memory, monkeypatch)
    monkeypatch.setattr(establish, "_SECONDS", 0.05)
    memory.before = lambda request: (
        Answer(404, {"kind": "Status", "code": 404, "message": "the server could not find the requested resource"})
        if named(request) == "desk"
        else None
    )

    run = team.work(start(team, LAMP, DEFINITION))

    told = dict(run.results.values_list("change__kind", "outcome"))
    assert told == {"CustomResourceDefinition": Outcome.VERIFIED, "Lamp": Outcome.STALE}
    assert "the server no longer finds it" in run.error
