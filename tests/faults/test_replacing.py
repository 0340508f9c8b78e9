"""kill -9 of a worker at every request of a run that replaces an object: the next worker finishes the replacement.

Each trial kills the process once the request has reached the API server: a write is lost there, or it acts and nobody
hears the answer. Whatever happens, the object is deleted once and created once.
"""

from __future__ import annotations

from typing import Any

import pytest

from applyviz.engine.objects.exchange import APPLY_PATCH, Request
from applyviz.engine.requests.options import Replacement
from tests.faults.checker import find_violations
from tests.faults.kill_trials import MAPS, Kill, Stage, config_map, kill_at, list_kills

pytestmark = pytest.mark.faults
PATH = f"{MAPS}/sealed"
MANIFEST = config_map("sealed", x="2") + "immutable: true\n"
CHOSEN = Replacement(kinds=("core/ConfigMap",))
MODES = pytest.mark.parametrize("is_client", [False, True], ids=["server-side", "client-side"])


def _begin(stage: Stage, is_client: bool) -> int:
    stage.api.begin()
    made = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "sealed"}, "data": {"x": "1"}}
    request = Request("PATCH", PATH, {"fieldManager": "applyviz"}, APPLY_PATCH, {**made, "immutable": True})
    assert stage.api.act(request).is_ok
    run: int = stage.forge.call("stage", texts=[MANIFEST], is_client=is_client, replacement=CHOSEN)
    stage.listen()
    return run


def _list_points(stage: Stage, is_client: bool) -> list[Kill]:
    run = _begin(stage, is_client)
    stage.forge.wait(stage.forge.fork("work", run_id=run))
    seen = list(stage.api.exchanges)
    _judge(stage, run, "nothing goes wrong")
    return list_kills(seen)


def _judge(stage: Stage, run: int, about: Any) -> None:
    history = stage.tell(run)
    assert [str(violation) for violation in find_violations(history)] == [], about
    (told,) = history.runs
    assert (told.state, told.items[0].outcome) == ("applied", "applied"), (about, told.items[0].detail)
    assert next(one.method for one in history.exchanges if one.is_effective) == "DELETE", about
    assert sum(one.is_effective for one in history.exchanges) == 2, about
    assert stage.api.find(PATH)["data"] == {"x": "2"}, about


@pytest.mark.long
@MODES
def test_next_worker_finishes_a_replacement_that_a_killed_one_began_at_any_request(stage, is_client):
    points = _list_points(stage, is_client)
    assert sum(point.is_lost for point in points) == 2
    for point in points:
        run = _begin(stage, is_client)
        assert kill_at(stage, run, point), point
        stage.forge.call("finish", run_id=run)
        _judge(stage, run, point)
