"""A Secret whose ownership moves, read by people who may not read it: a guess of its value tells nothing.

The same two worlds as in `test_identical_pages`: in one the manifest has the live value, in the other it has not.
"""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
import time_machine

from applyviz.engine.requests.options import ApplyMode, Handover, SetAction, TakenField
from applyviz.workflow.live import scans
from applyviz.workflow.notifications import events
from tests.attacks.test_identical_pages import MODES, RIGHT, WRONG, World, compare, prepare, tell
from tests.builders import open_dangers
from tests.stories import Team, config_map, secret

pytestmark = [pytest.mark.attacks, pytest.mark.django_db]
KEY = ("", "Secret", "default", "login")
PASSWORD = ("f:stringData", "f:password")
CHOICES = {
    "handed over": {"handovers": (Handover(KEY, PASSWORD, "vault"),)},
    "taken": {"taken_fields": (TakenField(KEY, ("f:data", "f:password"), "kubectl-edit", is_live=True),)},
    "from managers": {"takes_from": ("kubectl-edit", "helm")},
    "last-applied set": {"action": SetAction.SET_LAST_APPLIED},
    "managedFields cleared": {"action": SetAction.CLEAR_OWNERSHIP},
}


@pytest.mark.long
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("choice", CHOICES)
def test_nobody_learns_from_a_move_of_ownership_whether_the_value_is_live(
    monkeypatch: pytest.MonkeyPatch, choice: str, mode: ApplyMode
) -> None:
    def move_it(team: Team, value: str, mode: ApplyMode) -> World:
        world = World(team)
        texts = (secret(password=value), config_map(b="2"))
        options = {"mode": mode, "takes_over": True, **CHOICES[choice]}
        world.plans += [team.plan(*texts, **options), team.plan(*texts, **options)]
        open_dangers(world.plans[1], team.bob)
        world.runs.append(team.work(team.start(world.plans[1])))
        assert world.runs[0].state == "applied", world.runs[0].error
        scans.scan_cluster(scans.request_scan(team.cluster, by=None).pk)
        events.send_pending()
        return world

    with time_machine.travel(datetime(2026, 11, 21, 10, tzinfo=UTC), tick=False):
        team, readers, token = prepare(monkeypatch, mode)

        right, wrong = (tell(team, value, mode, readers, token, move_it) for value in (RIGHT, WRONG))

    compare(right, wrong)
