"""kill -9 of a worker at every request of a run that patches: the next worker patches once.

Each trial kills the process once the request has reached the API server: a write is lost there, or it acts and nobody
hears the answer. A JSON patch that appends to a list would append twice if it were simply sent again.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest
import yaml

from applyviz.engine.objects.exchange import APPLY_PATCH, Request
from applyviz.engine.requests.options import SetAction
from tests.faults.checker import find_violations
from tests.faults.kill_trials import Kill, Stage, kill_at, list_kills

pytestmark = pytest.mark.faults
ROLE = "/apis/rbac.authorization.k8s.io/v1/namespaces/default/roles/patched"
WEB = "/apis/apps/v1/namespaces/default/deployments/patched"
READ = {"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}
WRITE = {**READ, "verbs": ["update"]}
CONTAINER = {"name": "web", "image": "web:1"}
OBJECTS = {
    ROLE: {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role", "rules": [READ]},
    WEB: {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "spec": {
            "replicas": 2,
            "selector": {"matchLabels": {"app": "web"}},
            "template": {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [CONTAINER]}},
        },
    },
}


@dataclass(frozen=True)
class Case:
    """One patch, and how its object is judged afterwards: before, and after it."""

    name: str
    path: str
    kind: str
    patch: Any
    read: Callable[[Any], Any]
    before: Any
    after: Any
    subresource: str = ""


def _read_rules(live: Any) -> list[str]:
    return [rule["verbs"][0] for rule in live["rules"]]


def _read_images(live: Any) -> dict[str, str]:
    return {each["name"]: each["image"] for each in live["spec"]["template"]["spec"]["containers"]}


SIDE = {"spec": {"template": {"spec": {"containers": [{"name": "side", "image": "side:1"}]}}}}
CASES = (
    Case("strategic", WEB, "Deployment", SIDE, _read_images, {"web": "web:1"}, {"web": "web:1", "side": "side:1"}),
    Case("merge", ROLE, "Role", {"rules": [WRITE]}, _read_rules, ["get"], ["update"]),
    Case(
        "json",
        ROLE,
        "Role",
        [{"op": "add", "path": "/rules/-", "value": WRITE}],
        _read_rules,
        ["get"],
        ["get", "update"],
    ),
    Case(
        "merge",
        WEB,
        "Deployment",
        {"spec": {"replicas": 5}},
        lambda live: live["spec"]["replicas"],
        2,
        5,
        subresource="scale",
    ),
)


def _write_patch(case: Case) -> str:
    target = {"apiVersion": OBJECTS[case.path]["apiVersion"], "kind": case.kind, "name": "patched"}
    chosen = {"subresource": case.subresource} if case.subresource else {}
    patch: dict[str, Any] = {"kind": "Patch", "target": target, "type": case.name, "patch": case.patch, **chosen}
    return yaml.safe_dump(patch)


def _begin(stage: Stage, case: Case) -> int:
    stage.api.begin()
    body = {**OBJECTS[case.path], "metadata": {"name": "patched"}}
    assert stage.api.act(Request("PATCH", case.path, {"fieldManager": "applyviz"}, APPLY_PATCH, body)).is_ok
    run: int = stage.forge.call("stage", texts=[_write_patch(case)], action=SetAction.PATCH)
    stage.listen()
    return run


def _list_points(stage: Stage, case: Case) -> list[Kill]:
    run = _begin(stage, case)
    stage.forge.wait(stage.forge.fork("work", run_id=run))
    seen = list(stage.api.exchanges)
    _judge(stage, run, case, "nothing goes wrong")
    return list_kills(seen)


def _judge(stage: Stage, run: int, case: Case, about: Any) -> None:
    history = stage.tell(run)
    assert [str(violation) for violation in find_violations(history)] == [], about
    (told,) = history.runs
    assert (told.state, told.items[0].outcome) == ("applied", "applied"), (about, told.items[0].detail)
    assert [one.method for one in history.exchanges if one.is_effective] == ["PATCH"], about
    assert case.read(stage.api.find(case.path)) == case.after, about


@pytest.mark.long
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.subresource or case.name)
def test_next_worker_finishes_a_patch_that_a_killed_one_began_at_any_request(stage, case):
    points = _list_points(stage, case)
    assert sum(point.is_lost for point in points) == 1
    for point in points:
        run = _begin(stage, case)
        assert case.read(stage.api.find(case.path)) == case.before
        assert kill_at(stage, run, point), point
        stage.forge.call("finish", run_id=run)
        _judge(stage, run, case, point)
