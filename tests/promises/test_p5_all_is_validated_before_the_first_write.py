"""P5: all objects are validated before the first write; the first failure stops the rest, which is listed."""

from __future__ import annotations

import pytest

from applyviz.engine.objects.exchange import Answer, Request
from applyviz.workflow.foundation.errors import NotPossibleError
from tests.builders import make_policy
from tests.promises.conftest import Scene
from tests.stories import config_map

pytestmark = [pytest.mark.promises, pytest.mark.django_db]
COUNT = 5


def _many(scene: Scene) -> list[str]:
    for n in range(COUNT):
        scene.give(f"n{n}", x="1")
    return [config_map(f"n{n}", x="2") for n in range(COUNT)]


@pytest.mark.core(2)
@pytest.mark.parametrize("moved", range(COUNT))
def test_one_object_that_moved_keeps_all_from_being_written(scene: Scene, moved):
    run = scene.start(scene.change(*_many(scene)))
    scene.world.edit(f"n{moved}", {"data": {"x": "by hand"}})
    scene.work(run)

    (told,) = scene.judge(run)
    assert (told.state, scene.writes) == ("stale", [])
    outcomes = [item.outcome for item in sorted(told.items, key=lambda item: item.key)]
    assert outcomes == ["stale" if n == moved else "not-attempted" for n in range(COUNT)]


@pytest.mark.core(2)
@pytest.mark.parametrize("refused", range(COUNT))
def test_one_object_whose_dry_run_is_refused_keeps_all_from_being_written(scene: Scene, monkeypatch, refused):
    run = scene.start(scene.change(*_many(scene)))
    send = scene.world.send

    def refuse(request: Request) -> Answer:
        if request.is_dry_run and request.path.endswith(f"n{refused}"):
            return Answer(403, {"kind": "Status", "code": 403, "message": "denied by a webhook"})
        return send(request)

    monkeypatch.setattr(scene.world, "send", refuse)
    scene.work(run)

    assert (run.state, scene.writes) == ("stale", [])


def test_plan_with_an_unresolved_conflict_is_not_approved(scene: Scene):
    scene.world.apply_as("somebody", "owned", {"x": "1"})
    plan = scene.change(config_map("owned", x="2"), config_map("fresh", a="1"))

    with pytest.raises(NotPossibleError, match="unresolved conflict"):
        scene.start(plan)


def test_first_failure_stops_and_the_rest_is_listed(scene: Scene):
    make_policy(concurrency=1)
    run = scene.start(scene.change(*_many(scene)))
    scene.world.fault = lambda request, number: "refuse connection" if request.path.endswith("n2") else ""
    scene.work(run)

    (told,) = scene.judge(run)
    assert (told.state, scene.effective) == ("failed", 2)
    assert sorted(item.outcome for item in told.items) == [
        "applied",
        "applied",
        "failed",
        "not-attempted",
        "not-attempted",
    ]
