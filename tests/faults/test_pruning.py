"""kill -9 of a worker at every request of a run that prunes: the next worker prunes what was approved, and no more.

Each trial kills the process once the request has reached the API server: a write is lost there, or it acts and nobody
hears the answer. Members that stay are applied once, what left the set is deleted once, the parent of an ApplySet
names in the end what remains, and an object that was never applied by the set stays.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import pytest

from applyviz.engine.objects.exchange import JSON, Request
from applyviz.engine.requests.options import Prune, PruneMode
from tests.faults.checker import find_violations
from tests.faults.kill_trials import MAPS, Kill, Stage, config_map, kill_at, list_kills

pytestmark = pytest.mark.faults
SECRETS, ACCOUNTS = MAPS.replace("configmaps", "secrets"), MAPS.replace("configmaps", "serviceaccounts")
PARENT, BESIDE = f"{SECRETS}/parent", "beside"
KINDS = "applyset.kubernetes.io/contains-group-kinds"
ACCOUNT = "apiVersion: v1\nkind: ServiceAccount\nmetadata: {name: gone, namespace: default}\n"
SECRET = "apiVersion: v1\nkind: Secret\nmetadata: {name: made, namespace: default}\nstringData: {a: '1'}\n"
FIRST = [config_map("kept", x="1"), config_map("gone", x="1"), ACCOUNT]
SECOND = [config_map("kept", x="2"), SECRET]
DELETED = [("DELETE", f"{MAPS}/gone"), ("DELETE", f"{ACCOUNTS}/gone")]


@dataclass(frozen=True)
class Way:
    """How a set is pruned, and which writes have an effect beside the deletions."""

    name: str
    options: Mapping[str, Any]
    writes: tuple[tuple[str, str], ...]
    is_client: bool = False
    kinds: str = ""
    deleted: list[tuple[str, str]] = field(default_factory=lambda: DELETED)


BY_ALLOWLIST = Prune(PruneMode.ALLOWLIST, ("core/v1/ConfigMap", "core/v1/ServiceAccount"), is_all=True)
BY_APPLYSET = Prune(PruneMode.APPLYSET, applyset="secrets/parent")
IN_SET = (("PATCH", PARENT), ("PATCH", f"{SECRETS}/made"), ("PATCH", f"{MAPS}/kept"), ("PATCH", PARENT))
WAYS = (
    Way("allowlist", {"prune": BY_ALLOWLIST}, (("POST", SECRETS), ("PATCH", f"{MAPS}/kept")), is_client=True),
    Way("applyset", {"prune": BY_APPLYSET}, IN_SET, kinds="ConfigMap,Secret"),
)


def _begin(stage: Stage, way: Way) -> int:
    stage.api.begin()
    first: int = stage.forge.call("stage", texts=FIRST, is_client=way.is_client, **way.options)
    stage.forge.call("finish", run_id=first)
    body = {"metadata": {"name": BESIDE}, "data": {"x": "1"}}
    assert stage.api.act(Request("POST", MAPS, {}, JSON, body)).is_ok
    run: int = stage.forge.call("stage", texts=SECOND, is_client=way.is_client, **way.options)
    stage.listen()
    return run


def _list_points(stage: Stage, way: Way) -> list[Kill]:
    run = _begin(stage, way)
    stage.forge.wait(stage.forge.fork("work", run_id=run))
    seen = list(stage.api.exchanges)
    _judge(stage, run, way, "nothing goes wrong")
    return list_kills(seen)


def _judge(stage: Stage, run: int, way: Way, about: Any) -> None:
    history = stage.tell(run)
    assert [str(violation) for violation in find_violations(history)] == [], about
    (told,) = history.runs
    outcomes = [(item.outcome, item.detail) for item in told.items]
    assert (told.state, {outcome for outcome, _ in outcomes}) == ("applied", {"applied", "deleted"}), (about, outcomes)
    effective = [(one.method, one.path) for one in history.exchanges if one.is_effective]
    assert sorted(effective) == sorted([*way.writes, *way.deleted]), about
    assert stage.api.find(f"{MAPS}/kept")["data"] == {"x": "2"}, about
    assert stage.api.find(f"{MAPS}/{BESIDE}")["data"] == {"x": "1"}, about
    assert [stage.api.find(path) for _, path in way.deleted] == [None, None], about
    if way.kinds:
        assert stage.api.find(PARENT)["metadata"]["annotations"][KINDS] == way.kinds, about


@pytest.mark.long
@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.name)
def test_next_worker_finishes_what_a_killed_one_pruned_at_any_request(stage, way):
    points = _list_points(stage, way)
    assert sum(point.is_lost for point in points) == len(way.writes) + len(way.deleted)
    for point in points:
        run = _begin(stage, way)
        assert kill_at(stage, run, point), point
        stage.forge.call("finish", run_id=run)
        _judge(stage, run, way, point)
