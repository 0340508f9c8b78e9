"""A Secret that a review deletes or prunes, read by people who may not read it: its live value tells them nothing.

The same two worlds as in `test_identical_pages`. In a delete review the manifest is a guess of the live value, right or
wrong. In a review that prunes, the live value is the one that was applied last, or another one. Approvers and exports
are no readers here, as in `test_identical_replacements`.
"""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
import time_machine

from applyviz.engine.requests.options import ApplyMode, ApplyOptions, Prune, PruneMode, SetAction
from applyviz.workflow.live import scans
from applyviz.workflow.notifications import events
from tests.attacks.test_identical_pages import RIGHT, WRONG, World, compare, prepare, tell
from tests.attacks.test_identical_replacements import choose_readers
from tests.builders import open_dangers
from tests.stories import Team, config_map, secret

pytestmark = [pytest.mark.attacks, pytest.mark.django_db]
LOGIN = "/api/v1/namespaces/default/secrets/login"
SET = Prune(PruneMode.APPLYSET, applyset="parent")


def finish(world: World, team: Team) -> World:
    """Run the last plan, scan the cluster, and send every message."""
    open_dangers(world.plans[-1], team.bob)
    world.runs.append(team.work(team.start(world.plans[-1])))
    assert (world.runs[0].state, team.live(LOGIN)) == ("applied", None), world.runs[0].error
    scans.scan_cluster(scans.request_scan(team.cluster, by=None).pk)
    events.send_pending()
    return world


def delete_it(team: Team, value: str, mode: ApplyMode) -> World:
    """Two plans that delete a Secret whose manifest guesses its value, and a run of the second."""
    world, texts = World(team), (secret(password=value), config_map(b="2"))
    world.plans += [team.plan(*texts, mode=mode, action=SetAction.DELETE) for _ in range(2)]
    return finish(world, team)


BY_ALLOWLIST = Prune(PruneMode.ALLOWLIST, ("core/v1/Secret",), is_all=True)


def prune_it(team: Team, value: str, mode: ApplyMode) -> World:
    """Two plans that prune a Secret with a live value, and a run of the second."""
    for live in ("in-between", value):  # both worlds see as many versions of the object
        assert team.edit(LOGIN, {"stringData": {"password": live}}).is_ok
    world = World(team)
    prune = BY_ALLOWLIST if mode is ApplyMode.CLIENT else SET
    world.plans += [team.plan(config_map(b="2"), mode=mode, prune=prune) for _ in range(2)]
    assert {"prune"} == set(
        world.plans[1].changes.filter(kind="Secret", name="login").values_list("operation", flat=True)
    )
    return finish(world, team)


@pytest.mark.long
def test_nobody_learns_from_a_deletion_whether_the_manifest_holds_the_live_value(monkeypatch) -> None:
    mode = ApplyOptions().mode
    with time_machine.travel(datetime(2026, 11, 21, 10, tzinfo=UTC), tick=False):
        team, readers, token = prepare(monkeypatch, mode)

        right, wrong = (tell(team, value, mode, readers, token, delete_it) for value in (RIGHT, WRONG))

    compare(choose_readers(right), choose_readers(wrong))


@pytest.mark.long
@pytest.mark.parametrize("mode", ApplyMode, ids=["allowlist", "applyset"])
def test_nobody_learns_from_a_pruned_secret_whether_it_changed_since_it_was_applied(monkeypatch, mode) -> None:
    with time_machine.travel(datetime(2026, 11, 21, 10, tzinfo=UTC), tick=False):
        team, readers, token = prepare(monkeypatch, mode)
        prune = BY_ALLOWLIST if mode is ApplyMode.CLIENT else SET
        done = team.apply(secret(password=WRONG), config_map(b="1"), mode=mode, prune=prune, takes_over=True)
        assert done.state == "applied", done.error

        same, other = (tell(team, value, mode, readers, token, prune_it) for value in (WRONG, "quite-another"))

    compare(choose_readers(same), choose_readers(other))
