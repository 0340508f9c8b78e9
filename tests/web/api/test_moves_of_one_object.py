"""Managers that give up their fields in one object of several."""

from __future__ import annotations

import pytest

from applyviz.engine.requests.options import TakenManager
from applyviz.records.models import Plan
from tests.stories import SETTINGS, config_map
from tests.web.api.test_api import body
from tests.web.api.test_moves import MAP, SETTINGS_MAP, move, name_owners, options, post

pytestmark = pytest.mark.django_db


def test_managers_give_up_their_fields_in_one_object_of_several(team, program):
    texts = config_map(a="1") + "---\n" + config_map("other", a="1")
    team.apply(texts)
    for path in (SETTINGS, SETTINGS.replace("settings", "other")):
        team.edit(path, {"data": {"b": "2"}}, manager="helm")

    plan = post(program, body(texts, moves=[move("to-server-side", SETTINGS_MAP, managers=["helm"])]))

    assert (options().takes_from, options().taken_managers) == ((), (TakenManager(MAP, "helm"),))
    after = {one["name"]: name_owners(one["managed_fields"]["after"]) for one in plan["objects"]}
    assert after == {
        "settings": {("applyviz", "Apply")},
        "other": {("applyviz", "Apply"), ("helm", "Update")},
    }
    assert "Fields taken from helm: ConfigMap/settings" in plan["impact"]
    assert (run := team.work(team.start(Plan.objects.order_by("pk").last()))).state == "applied", run
