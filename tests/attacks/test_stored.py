"""Whoever reads the database without the opening key: no value of a Secret is in it (threats A2, A9, A10)."""

from __future__ import annotations

from secrets import token_hex

import pytest

from applyviz.engine.requests.options import ApplyMode
from applyviz.workflow.live import scans
from applyviz.workflow.plans.changes import open_sealed, read_masked
from tests.attacks.conftest import find_leaks, list_stored
from tests.stories import SETTINGS, Team, config_map, secret

pytestmark = [pytest.mark.attacks, pytest.mark.django_db]
CANARY = "fv8Qz1TgWm4Ry7Kd"


@pytest.mark.parametrize("mode", ApplyMode)
def test_no_column_holds_a_value_of_a_secret_that_was_applied(team: Team, mode: ApplyMode) -> None:
    run = team.apply(secret(password=CANARY), mode=mode)

    assert team.outcomes(run) == ["applied"]
    assert find_leaks(CANARY) == []


@pytest.mark.core(1)
@pytest.mark.parametrize("mode", ApplyMode)
def test_nul_of_a_live_object_stays_out_of_every_column(team: Team, mode: ApplyMode) -> None:
    """No database keeps a NUL in text: one in a live object must not end the plan, the run or the scan of it."""
    team.apply(config_map(a="1"), mode=mode)
    assert team.edit(SETTINGS, {"data": {"b": "x\0y"}, "metadata": {"annotations": {"note": "\0"}}}).is_ok

    plan = team.plan(config_map(a="2", b="z"), mode=mode, takes_over=mode is ApplyMode.SERVER)
    scans.scan_cluster(scans.request_scan(team.cluster, by=None).pk)
    run = team.work(team.start(plan))

    assert (run.state, team.outcomes(run)) == ("applied", ["applied"])
    assert {where for where, text in list_stored() if "\0" in text or "\\u0000" in text} <= {"SandboxObject.body"}
    row = plan.changes.get()
    assert read_masked(row).versions.live["data"]["b"] == "x␀y"
    assert open_sealed(row).versions.live["data"]["b"] == "x\0y"


def test_size_of_a_row_does_not_depend_on_the_text_of_a_secret(team: Team) -> None:
    """A compressed text is short if it repeats what is beside it: its size would confirm a guess."""
    equal, random = "a" * 2000, token_hex(1000)

    hidden = [len(team.plan(secret(password=text)).changes.get().sealed.token) for text in (equal, random)]
    public = [len(team.plan(config_map(text=text)).changes.get().sealed.token) for text in (equal, random)]

    assert hidden[0] == hidden[1]
    assert public[0] < public[1], "what is in the clear beside it is compressed"


def test_nul_that_several_objects_have_stays_out_of_the_overview(team: Team) -> None:
    """Equal changes are shown once for the whole plan, with the live value that they replace."""
    names = [f"settings-{n}" for n in range(3)]
    team.apply(*(config_map(name, a="1") for name in names))
    for name in names:
        path = f"/api/v1/namespaces/default/configmaps/{name}"
        assert team.edit(path, {"data": {"b": "x\0y"}}, manager="applyviz").is_ok

    plan = team.plan(*(config_map(name, a="1", b="z") for name in names), takes_over=True)

    assert plan.details.overview["alike"][0]["before"] == ["x␀y"]
    assert {where for where, text in list_stored() if "\0" in text or "\\u0000" in text} <= {"SandboxObject.body"}
    assert team.work(team.start(plan)).state == "applied"
