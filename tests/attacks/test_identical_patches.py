"""A Secret that a review patches, read by people who may not read it: the patch as a guess tells them nothing.

The same two worlds as in `test_identical_pages`: the value that the patch sets is the live one, or it is not. Approvers
and exports are no readers here, as in `test_identical_replacements`.
"""

from __future__ import annotations

from base64 import b64encode
from datetime import UTC, datetime
from functools import partial

import pytest
import time_machine
import yaml

from applyviz.engine.requests.options import ApplyMode, SetAction
from applyviz.workflow.live import scans
from applyviz.workflow.notifications import events
from tests.attacks.test_identical_pages import RIGHT, WRONG, World, compare, prepare, tell
from tests.attacks.test_identical_replacements import choose_readers
from tests.builders import open_dangers
from tests.stories import Team

pytestmark = [pytest.mark.attacks, pytest.mark.django_db]
BODIES = {
    "merge": lambda value: {"stringData": {"password": value}},
    "json": lambda value: [{"op": "replace", "path": "/data/password", "value": b64encode(value.encode()).decode()}],
}


def write(patch_type: str, value: str) -> str:
    """A patch of the Secret, and one of another object that changes in both worlds."""
    target = {"apiVersion": "v1", "kind": "Secret", "name": "login"}
    other = {"apiVersion": "v1", "kind": "ConfigMap", "name": "settings"}
    documents = [
        {"kind": "Patch", "target": target, "type": patch_type, "patch": BODIES[patch_type](value)},
        {"kind": "Patch", "target": other, "type": "merge", "patch": {"data": {"b": "2"}}},
    ]
    return yaml.safe_dump_all(documents)


def patch_it(team: Team, value: str, mode: ApplyMode, *, patch_type: str) -> World:
    """Two plans that patch a Secret with a guess, and a run of the second."""
    world = World(team)
    world.plans += [team.plan(write(patch_type, value), mode=mode, action=SetAction.PATCH) for _ in range(2)]
    open_dangers(world.plans[-1], team.bob)
    world.runs.append(team.work(team.start(world.plans[-1])))
    assert world.runs[0].state == "applied", world.runs[0].error
    scans.scan_cluster(scans.request_scan(team.cluster, by=None).pk)
    events.send_pending()
    return world


@pytest.mark.long
@pytest.mark.parametrize("patch_type", BODIES)
def test_nobody_learns_from_a_patch_whether_it_sets_the_live_value(monkeypatch, patch_type) -> None:
    mode = ApplyMode.CLIENT
    with time_machine.travel(datetime(2026, 11, 21, 10, tzinfo=UTC), tick=False):
        team, readers, token = prepare(monkeypatch, mode)
        play = partial(patch_it, patch_type=patch_type)

        right, wrong = (tell(team, value, mode, readers, token, play) for value in (RIGHT, WRONG))

    compare(choose_readers(right), choose_readers(wrong))
