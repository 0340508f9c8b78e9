"""A Secret with workloads that read it, read by people who may not read it: a guess of its value tells them nothing.

Whether pods restart, whether they keep an old value, what depends on the Secret, whether a quota fits and what a run
changed beside it must not depend on whether the manifest equals what is live. The same two worlds as in
`test_identical_pages`, with Deployments that read the Secret in every way: variables, `envFrom`, volumes, `subPath`,
projected volumes and `imagePullSecrets`, beside a ResourceQuota and a PodDisruptionBudget.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
import time_machine
import yaml

from applyviz.engine.requests.options import ApplyMode
from applyviz.workflow.live import scans
from applyviz.workflow.notifications import events
from tests.attacks.test_identical_pages import RIGHT, WRONG, World, compare, prepare, replan, tell
from tests.attacks.test_identical_replacements import choose_readers
from tests.builders import open_dangers
from tests.stories import Team, config_map, secret

pytestmark = [pytest.mark.attacks, pytest.mark.django_db]
PODS: dict[str, dict[str, Any]] = {
    "variable": {
        "env": [{"name": "LOGIN", "valueFrom": {"secretKeyRef": {"name": "login", "key": "password"}}}],
    },
    "whole": {"envFrom": [{"secretRef": {"name": "login"}}]},
    "mounted": {"volumeMounts": [{"name": "v", "mountPath": "/v"}], "volume": {"secret": {"secretName": "login"}}},
    "part": {
        "volumeMounts": [{"name": "v", "mountPath": "/v/password", "subPath": "password"}],
        "volume": {"secret": {"secretName": "login"}},
    },
    "projected": {
        "volumeMounts": [{"name": "v", "mountPath": "/v"}],
        "volume": {"projected": {"sources": [{"secret": {"name": "login"}}]}},
    },
    "pulled": {"imagePullSecrets": [{"name": "login"}]},
}


def deployment(name: str, image: str) -> dict[str, Any]:
    """A Deployment whose pods read the Secret in one way."""
    how = PODS[name]
    container: dict[str, Any] = {
        "name": "app",
        "image": image,
        "resources": {"requests": {"cpu": "100m", "memory": "64Mi"}},
        **{part: how[part] for part in ("env", "envFrom", "volumeMounts") if part in how},
    }
    pod: dict[str, Any] = {
        "containers": [container],
        **{part: how[part] for part in ("imagePullSecrets",) if part in how},
    }
    if "volume" in how:
        pod["volumes"] = [{"name": "v", **how["volume"]}]
    labels = {"app": name}
    spec = {"selector": {"matchLabels": labels}, "template": {"metadata": {"labels": labels}, "spec": pod}}
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name}, "spec": spec}


def write_consumers(image: str) -> str:
    """All workloads, a quota that two of them fill, and a budget."""
    quota = {"hard": {"requests.cpu": "250m", "pods": "4"}}
    budget = {"minAvailable": 1, "selector": {"matchLabels": {"app": "variable"}}}
    return yaml.safe_dump_all(
        [
            *(deployment(name, image) for name in PODS),
            {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "few"}, "spec": quota},
            {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": {"name": "one"}, "spec": budget},
        ]
    )


def play(team: Team, value: str, mode: ApplyMode) -> World:
    """Plans with workloads that stay, with some that change and with none, and a run."""
    world = World(team)
    login, other = secret(password=value), config_map(b="2")
    first = team.plan(login, other, write_consumers("shop:1"), mode=mode, takes_over=True)
    world.plans += [first, replan(team, first)]
    world.plans.append(team.plan(login, other, mode=mode, takes_over=True))
    applied = team.plan(login, other, write_consumers("shop:2"), mode=mode, takes_over=True)
    open_dangers(applied, team.bob)
    world.plans.append(applied)
    world.runs.append(team.work(team.start(applied)))
    assert world.runs[0].state == "applied", world.runs[0].error
    scans.scan_cluster(scans.request_scan(team.cluster, by=None).pk)
    events.send_pending()
    return world


@pytest.mark.long
@pytest.mark.parametrize("mode", [ApplyMode.SERVER, pytest.param(ApplyMode.CLIENT, marks=pytest.mark.long)])
def test_nobody_learns_from_workloads_whether_their_secret_changes(monkeypatch, mode: ApplyMode) -> None:
    with time_machine.travel(datetime(2026, 11, 21, 10, tzinfo=UTC), tick=False):
        team, readers, token = prepare(monkeypatch, mode)
        assert team.apply(write_consumers("shop:1"), mode=mode).state == "applied"

        right, wrong = (tell(team, value, mode, readers, token, play) for value in (RIGHT, WRONG))

    compare(choose_readers(right), choose_readers(wrong))
